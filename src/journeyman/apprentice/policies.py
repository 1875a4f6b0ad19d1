"""Apprentices: the policies that we may hand out, given what the posterior knows.

`expected_return` loses least on average. `most_likely_optimal` is right in each state as often as can be, and is the
one that information-based questions reason about. `least_risky` looks for the smallest chance of a regret of epsilon or
more, which is what a certificate is about.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from journeyman.apprentice.least_risky import candidate_policies, improved, risk_of
from journeyman.checks import positive, whole_number
from journeyman.inference.posterior import Posterior
from journeyman.registry import Registry
from journeyman.types import IntArray

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
    chosen = []
    for states, q in posterior.q_chunks():
        gaps = posterior.gaps(states, q)
        chances = posterior.mean(gaps == 0.0)
        is_likeliest = chances >= chances.max(axis=1, keepdims=True) - EQUAL_CHANCE
        loss = np.where(is_likeliest, posterior.mean(np.where(np.isfinite(gaps), gaps, 0.0)), np.inf)
        least = loss.min(axis=1, keepdims=True)
        rounding = EQUAL_LOSS * least + (posterior.weights @ posterior.tie_margins[:, states])[:, None]
        chosen.append(np.argmax(loss <= least + rounding, axis=1))
    return np.concatenate(chosen)


def least_risky(
    posterior: Posterior, epsilon: float, *, max_candidates: int = 64, max_improvements: int = 50, max_states: int = 256
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


def checked_epsilon(epsilon: float) -> float:
    """Return the regret that is too much, if it is positive and finite."""
    return positive(epsilon, "epsilon", "It is the regret that would be too much, in units of the reward.")


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
