"""Apprentices: the policies that we may hand out, given what the posterior knows.

`expected_return` loses least on average. `most_likely_optimal` is right in each state as often as can be, and is the
one that information-based questions reason about. `least_risky` looks for the smallest chance of a regret of epsilon or
more, which is what a certificate is about.

Changing a policy pi in one state s, to action a, changes the expected return of every sample by

    nu'(s) (Q^pi(s, a) - V^pi(s)),   nu'(s) = nu(s) / (1 - d . B^-1 e_s),   d = discount (p(. | s, a) - p(. | s, pi(s)))

with nu the discounted occupancy and B = I - discount P_pi (performance difference lemma and Sherman-Morrison). So one
factorisation prices all changes of one state under all samples.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from journeyman.apprentice.epsilon import checked_epsilon
from journeyman.apprentice.regret import (
    is_failing,
    regret_contributions,
    regret_estimates,
    regret_unit,
    sample_values,
)
from journeyman.checks import whole_number
from journeyman.inference.posterior import Posterior
from journeyman.mdp.policies import action_probabilities, occupancy, policy_matrix, solve_linear
from journeyman.registry import Registry
from journeyman.threads import default_num_threads, run_chunks
from journeyman.types import FloatArray, IntArray

EQUAL_CHANCE = 1e-9
EQUAL_LOSS = 1e-12  # relative


def expected_return(posterior: Posterior) -> IntArray:
    """Return the optimal policy `[S]` of the posterior-mean reward: the one of largest expected return."""
    return posterior.mean_solution.policy


def most_likely_optimal(posterior: Posterior) -> IntArray:
    """Return the action `[S]` that is most likely to be optimal in each state.

    Equal chances, within 1e-9, go to the smaller mean immediate regret, which is the larger mean Q, then to the lowest
    index.
    """
    margin, chunks = posterior.mean_tie_margins(), posterior.state_ranges()
    chosen: list[IntArray] = [np.zeros(0, dtype=np.int64)] * len(chunks)

    def choose(numbers: range) -> None:
        for number in numbers:
            states = chunks[number]
            chances, losses = posterior.optimal_chances(states)
            is_likeliest = chances >= chances.max(axis=1, keepdims=True) - EQUAL_CHANCE
            loss = np.where(is_likeliest, losses, np.inf)
            least = loss.min(axis=1, keepdims=True)
            rounding = EQUAL_LOSS * least + margin[states.start : states.stop, None]
            chosen[number] = np.argmax(loss <= least + rounding, axis=1)

    run_chunks(choose, len(chunks), default_num_threads() if posterior.is_large else 1, 1)
    return np.concatenate(chosen)


def least_risky(
    posterior: Posterior,
    epsilon: float | str,
    *,
    max_candidates: int = 64,
    max_improvements: int = 50,
    max_states: int = 256,
) -> IntArray:
    """Return a policy `[S]` with a small posterior chance of a regret of `epsilon` or more.

    Candidates are `expected_return`, `most_likely_optimal` and the optimal policies of the samples. The best of them is
    then changed in one state at a time, always where that lowers the chance most, until no such change does. Equal
    chances are told apart by the mean regret. To find the best of all policies would be hard; this one is at least as
    good as both other apprentices on these samples. It is chosen by looking at the samples: certify it on others.

    Parameters
    ----------
    epsilon
        Regret that is too much.
    max_candidates
        Distinct optimal policies of samples to try, those of largest weight.
    max_improvements
        Changes of one state, at most.
    max_states
        States to consider in one change, those that contribute most to the regret of failing samples.
    """
    epsilon = checked_epsilon(epsilon)
    whole_number(max_candidates, "max_candidates", 0, "0 tries none.")
    whole_number(max_improvements, "max_improvements", 0, "0 leaves the best candidate as it is.")
    whole_number(max_states, "max_states", 1)
    candidates = [expected_return(posterior), most_likely_optimal(posterior)]
    candidates.extend(candidate_policies(posterior, max_candidates))
    risks = [risk_of(posterior, policy, epsilon) for policy in candidates]
    best = min(range(len(risks)), key=risks.__getitem__)
    return improved(posterior, candidates[best], epsilon, max_improvements, max_states)


class Risk(NamedTuple):
    """Posterior chance of a regret of epsilon or more, and the mean regret; compared in this order."""

    chance: float
    mean_regret: float


def risk_of(posterior: Posterior, policy: IntArray, epsilon: float) -> Risk:
    """Return the risk of a policy."""
    found = regret_estimates(posterior, policy).in_units(regret_unit(posterior, epsilon))
    return Risk(float(posterior.mean(is_failing(*found, epsilon))), float(posterior.mean(found.cleaned())))


def candidate_policies(posterior: Posterior, max_candidates: int) -> list[IntArray]:
    """Return distinct optimal policies `[S]` of the samples, those of largest total weight, the first ones on ties."""
    if max_candidates == 0:
        return []
    greedy = (np.argmax(posterior.gaps(states, q) == 0.0, axis=2) for states, q in posterior.q_chunks())
    policies = np.concatenate(list(greedy), axis=1)
    distinct, first, index = np.unique(policies, axis=0, return_index=True, return_inverse=True)
    totals = np.bincount(index.ravel(), weights=posterior.weights, minlength=len(distinct))
    order = np.lexsort((first, -totals))[:max_candidates]
    return list(distinct[order])


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
    unit = regret_unit(posterior, epsilon)
    regret, errors = regret_estimates(posterior, policy).in_units(unit)
    failing = posterior.weights * is_failing(regret, errors, epsilon)
    nu = occupancy(posterior.problem.mdp, policy)
    blame = np.where(nu > 0.0, (failing / unit) @ regret_contributions(posterior, policy), 0.0)
    states = np.argsort(-blame, kind="stable")[: min(max_states, int((blame > 0.0).sum()))]
    if states.size == 0:
        return None
    after = regret[:, None, None] - return_changes(posterior, policy, states) / unit[:, None, None]
    chances = posterior.mean(is_failing(after, errors[:, None, None], epsilon))
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
    transitions = mdp.transition_matrix[rows.ravel()]
    size = (len(states), mdp.num_actions)
    expected = (transitions @ values.T).T.reshape(len(values), *size)
    rewards = posterior.rewards[:, states, None] if posterior.rewards.ndim == 2 else posterior.rewards[:, states]
    advantage = rewards + mdp.discount * expected - values[:, states, None]
    own = np.arange(len(states))
    reached = (transitions @ columns.T).reshape(*size, len(states))[own, :, own]  # p(. | s, a) . B^-1 e_s
    share = mdp.discount * (reached - reached[own, policy[states]][:, None])
    return np.asarray(advantage * (nu[:, None] / (1.0 - share)))


@dataclass(frozen=True)
class Apprentice:
    """A way to choose a policy: policy_fn(posterior, epsilon) gives actions `[S]`; summary says by what."""

    summary: str
    policy_fn: Callable[[Posterior, float], IntArray]


APPRENTICES: Registry[Apprentice] = Registry(
    "an apprentice",
    "journeyman.apprentices",
    Apprentice,
    {
        "expected_return": Apprentice(
            "optimal for the posterior-mean reward: the largest expected return",
            lambda posterior, _: expected_return(posterior),
        ),
        "most_likely_optimal": Apprentice(
            "in each state the action that is most likely to be optimal",
            lambda posterior, _: most_likely_optimal(posterior),
        ),
        "least_risky": Apprentice("the smallest chance found of a regret of epsilon or more", least_risky),
    },
)
