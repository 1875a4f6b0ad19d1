"""Search for the policy that is least likely to have a regret of epsilon or more.

Changing a policy pi in one state s, to action a, changes the expected return of every sample by

    nu'(s) (Q^pi(s, a) - V^pi(s)),   nu'(s) = nu(s) / (1 - d . B^-1 e_s),   d = discount (p(. | s, a) - p(. | s, pi(s)))

with nu the discounted occupancy and B = I - discount P_pi (performance difference lemma and Sherman-Morrison). So one
factorisation prices all changes of one state under all samples.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from journeyman.apprentice.regret import regret_contributions, regrets, sample_values
from journeyman.inference.posterior import Posterior
from journeyman.mdp.policies import action_probabilities, occupancy, policy_matrix, solve_linear
from journeyman.types import BoolArray, FloatArray, IntArray


class Risk(NamedTuple):
    """Posterior chance of a regret of epsilon or more, and the mean regret; compared in this order."""

    chance: float
    mean_regret: float


def is_failing(posterior: Posterior, regret: FloatArray, epsilon: float) -> BoolArray:
    """Return which of regrets `[M, ...]` reach epsilon; one that rounding keeps just below counts as well."""
    margins = posterior.tie_margins.reshape(-1, *(1,) * (regret.ndim - 1))
    return np.asarray(regret >= epsilon - np.minimum(margins, 0.5 * epsilon))


def risk_of(posterior: Posterior, policy: IntArray, epsilon: float) -> Risk:
    """Return the risk of a policy."""
    return _risk(posterior, regrets(posterior, policy), epsilon)


def _risk(posterior: Posterior, regret: FloatArray, epsilon: float) -> Risk:
    return Risk(float(posterior.mean(is_failing(posterior, regret, epsilon))), float(posterior.mean(regret)))


def candidate_policies(posterior: Posterior, max_candidates: int) -> list[IntArray]:
    """Return distinct optimal policies `[S]` of the samples, those of largest total weight, the first ones on ties."""
    if max_candidates == 0:
        return []
    policies = np.concatenate([_greedy(posterior, q) for _, q in posterior.q_chunks()], axis=1)
    distinct, first, index = np.unique(policies, axis=0, return_index=True, return_inverse=True)
    totals = np.bincount(index.ravel(), weights=posterior.weights, minlength=len(distinct))
    order = np.lexsort((first, -totals))[:max_candidates]
    return list(distinct[order])


def _greedy(posterior: Posterior, q: FloatArray) -> IntArray:
    """Return the lowest optimal action `[M, N]` of action values `[M, N, A]`."""
    near = q >= q.max(axis=2, keepdims=True) - posterior.tie_margins[:, None, None]
    return np.asarray(np.argmax(near, axis=2))


def improved(
    posterior: Posterior, policy: IntArray, epsilon: float, max_improvements: int, max_states: int
) -> IntArray:
    """Change a policy one state at a time, each time where that lowers the risk most, while it does."""
    best = risk_of(posterior, policy, epsilon)
    for _ in range(max_improvements):
        if best.chance == 0.0:
            break
        trial = _best_change(posterior, policy, epsilon, max_states)
        if trial is None:
            break
        risk = risk_of(posterior, trial, epsilon)
        if not (risk.chance < best.chance - 1e-12):  # smaller steps could go round in circles
            break
        policy, best = trial, risk
    return policy


def _best_change(posterior: Posterior, policy: IntArray, epsilon: float, max_states: int) -> IntArray | None:
    """Return the policy changed in the one state where that lowers the risk most, or None if nothing can be changed."""
    regret = regrets(posterior, policy)
    failing = posterior.weights * is_failing(posterior, regret, epsilon)
    nu = occupancy(posterior.problem.mdp, policy)
    blame = np.where(nu > 0.0, failing @ regret_contributions(posterior, policy), 0.0)
    states = np.argsort(-blame, kind="stable")[: min(max_states, int((blame > 0.0).sum()))]
    if states.size == 0:
        return None
    after = regret[:, None, None] - return_changes(posterior, policy, states)
    chances = posterior.mean(is_failing(posterior, after, epsilon))
    is_change = posterior.problem.mdp.available[states]
    is_change[np.arange(len(states)), policy[states]] = False
    if not is_change.any():
        return None
    chances = np.where(is_change, chances, np.inf)
    is_best = chances <= chances.min() + 1e-12
    index, action = np.unravel_index(np.argmin(np.where(is_best, posterior.mean(after), np.inf)), chances.shape)
    changed = policy.copy()
    changed[states[index]] = action
    return changed


def return_changes(posterior: Posterior, policy: IntArray, states: IntArray) -> FloatArray:
    """Return how the expected return of each sample changes `[M, len(states), A]` by doing a in one state s, always.

    Exact. Actions that do not exist give numbers without meaning.
    """
    mdp = posterior.problem.mdp
    values = sample_values(posterior, policy)
    matrix = policy_matrix(mdp, action_probabilities(mdp, policy))
    columns = solve_linear(matrix, np.eye(mdp.num_states)[states])  # [N, S]: column s of B^-1 each
    nu = occupancy(mdp, policy)[states]
    rows = states[:, None] * mdp.num_actions + np.arange(mdp.num_actions)
    entries = (mdp.rows.probabilities, mdp.rows.next_states, mdp.rows.indptr)
    shape = (mdp.num_states * mdp.num_actions, mdp.num_states)
    transitions: Any = sparse.csr_array(entries, shape=shape)[rows.ravel()]
    size = (len(states), mdp.num_actions)
    expected = (transitions @ values.T).T.reshape(len(values), *size)
    rewards = posterior.rewards[:, states, None] if posterior.rewards.ndim == 2 else posterior.rewards[:, states]
    advantage = rewards + mdp.discount * expected - values[:, states, None]
    own = np.arange(len(states))
    reached = (transitions @ columns.T).reshape(*size, len(states))[own, :, own]  # p(. | s, a) . B^-1 e_s
    share = mdp.discount * (reached - reached[own, policy[states]][:, None])
    return np.asarray(advantage * (nu[:, None] / (1.0 - share)))
