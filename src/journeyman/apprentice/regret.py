"""Regret: what a policy loses against the best one, under every sample of a posterior.

    regret(s) = V*(s) - V^pi(s),   immediate regret(s) = V*(s) - sum over a of pi(a | s) Q*(s, a)

V^pi = B^-1 r_pi with B = I - discount P_pi, which is the same for all samples: one factorisation serves them all. The
total regret, from the initial distribution rho, is the sum over states of nu(s) * immediate regret(s), with nu the
discounted occupancy of the policy from rho (the performance difference lemma). A policy is `[S]` actions or `[S, A]`
probabilities throughout.
"""

import numpy as np
from numpy.typing import ArrayLike

from journeyman.inference.posterior import Posterior
from journeyman.mdp.policies import action_probabilities, evaluate_policy_batch, occupancy
from journeyman.types import FloatArray


def sample_values(posterior: Posterior, policy: ArrayLike) -> FloatArray:
    """Return V^pi `[M, S]` of a policy under every sample, with one factorisation."""
    return evaluate_policy_batch(posterior.problem.mdp, policy, posterior.rewards)


def state_regrets(posterior: Posterior, policy: ArrayLike) -> FloatArray:
    """Return V* - V^pi `[M, S]`: not negative, and exactly 0 within `posterior.tie_margins`."""
    regret = posterior.values - sample_values(posterior, policy)
    return np.where(regret <= posterior.tie_margins[:, None], 0.0, regret)


def regrets(posterior: Posterior, policy: ArrayLike) -> FloatArray:
    """Return the total regret `[M]` of a policy, from the initial distribution: the average of its state regrets.

    Not negative, and exactly 0 within `posterior.tie_margins`. By nu . r_pi, the expected return, which takes the
    occupancy nu once and no values: cheap enough to try many policies.
    """
    mdp, rewards = posterior.problem.mdp, posterior.rewards
    nu = occupancy(mdp, policy)
    if rewards.ndim == 2:
        returns = rewards @ nu
    else:
        returns = np.einsum("sa,msa->m", nu[:, None] * action_probabilities(mdp, policy), rewards)
    regret = posterior.values @ mdp.initial - returns
    return np.where(regret <= posterior.tie_margins, 0.0, regret)


def action_gaps(posterior: Posterior, states: ArrayLike | None = None) -> FloatArray:
    """Return V*(s) - Q*(s, a) `[M, len(states), A]`: the immediate regret of each action.

    Exactly 0 for optimal actions, ties within `posterior.tie_margins` included; plus infinity where an action does not
    exist. Holds them all at once: for many states go through `posterior.q_chunks` and `gaps_of`.
    """
    return gaps_of(posterior, posterior.q(states))


def gaps_of(posterior: Posterior, q: FloatArray) -> FloatArray:
    """Return the action gaps `[M, N, A]` of optimal action values `[M, N, A]` of this posterior."""
    gaps = q.max(axis=2, keepdims=True) - q
    return np.where(gaps <= posterior.tie_margins[:, None, None], 0.0, gaps)


def immediate_regrets(posterior: Posterior, policy: ArrayLike, states: ArrayLike | None = None) -> FloatArray:
    """Return V*(s) - sum over a of pi(a | s) Q*(s, a) `[M, len(states)]`; default all states.

    What following the policy for one step only would cost: not negative, exactly 0 where only optimal actions are done.
    """
    mdp = posterior.problem.mdp
    probabilities = action_probabilities(mdp, policy)
    if states is not None:
        chosen = mdp.state_indices(states)
        return _expected_gaps(probabilities[chosen], action_gaps(posterior, chosen))
    parts = [_expected_gaps(probabilities[chunk], gaps_of(posterior, q)) for chunk, q in posterior.q_chunks()]
    return np.concatenate(parts, axis=1)


def _expected_gaps(probabilities: FloatArray, gaps: FloatArray) -> FloatArray:
    finite = np.where(probabilities > 0.0, gaps, 0.0)  # gaps of actions that do not exist are infinite
    return np.asarray(np.einsum("sa,msa->ms", probabilities, finite))


def regret_contributions(posterior: Posterior, policy: ArrayLike) -> FloatArray:
    """Return nu(s) * immediate regret(s) `[M, S]`: how much each state adds to the total regret of each sample.

    Sums to `regrets` over states, up to rounding.
    """
    return np.asarray(occupancy(posterior.problem.mdp, policy) * immediate_regrets(posterior, policy))
