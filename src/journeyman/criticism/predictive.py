"""Posterior predictive frequencies: what was answered in each state, beside what the posterior predicts.

Under the posterior, n answers in a state contain an action N times, with

    mean  n E[pi],   variance  n E[pi (1 - pi)] + n^2 Var[pi],

over samples with policies pi. *z* is the deviation in these standard deviations. Its *chance* is that of a count at
least as far out, on either side, averaged over the samples and times the number of counts looked at. The answers have
been used to fit the posterior, so that real deviations are larger than they look. They say where to look; they make no
verdict.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from journeyman.criticism.policies import available_in, counts_by_place, log_policies, place_name
from journeyman.criticism.surprise import NUM_DRAWS, thinned
from journeyman.inference.posterior import Posterior
from journeyman.types import FloatArray, IntArray
from journeyman.wording import chance_words

NUM_SHOWN = 5
STATES_AT_ONCE = 64


class Deviation(NamedTuple):
    """How often an action was given in a state, and how often it was to be expected."""

    state: int
    action: int
    state_name: str
    action_name: str
    observed: int
    expected: float
    num_answers: int
    z: float
    chance: float

    def __str__(self) -> str:
        """Say it in words."""
        share = "nearly all" if self.chance > 0.995 else f"{chance_words(self.chance)} of all"
        return (
            f"state {self.state_name}, {self.action_name}: {self.observed} of {self.num_answers} answers, expected "
            f"{self.expected:.1f} (by chance, something is as far off as that in {share} cases)"
        )


class Frequencies(NamedTuple):
    """Observed and expected counts `[K, A]` in states `[K]`, standardised deviations, and corrected chances."""

    states: IntArray
    observed: IntArray
    expected: FloatArray
    z: FloatArray
    chance: FloatArray


def predictive_frequencies(posterior: Posterior) -> Frequencies:
    """Return what was answered beside what the posterior predicts, in all states with answers."""
    counts = counts_by_place(posterior.answers)
    states = np.flatnonzero(counts.sum(axis=1) > 0)
    drawn = thinned(posterior, NUM_DRAWS)
    num_actions = counts.shape[1]
    expected, z, chance = np.zeros((3, len(states), num_actions))
    for begin in range(0, len(states), STATES_AT_ONCE):
        part = slice(begin, begin + STATES_AT_ONCE)
        policy = np.exp(log_policies(drawn, states[part]))
        observed, totals = counts[states[part]], counts[states[part]].sum(axis=1)
        expected[part] = totals[:, None] * policy.mean(axis=0)
        variance = totals[:, None] * (policy * (1.0 - policy)).mean(axis=0) + totals[:, None] ** 2 * policy.var(axis=0)
        gap = observed - expected[part]
        with np.errstate(divide="ignore", invalid="ignore"):
            z[part] = np.where(np.abs(gap) <= 1e-9 * totals[:, None], 0.0, gap / np.sqrt(variance))
        above = binom.sf(observed - 1, totals[:, None], policy).mean(axis=0)
        below = binom.cdf(observed, totals[:, None], policy).mean(axis=0)
        chance[part] = np.minimum(1.0, 2.0 * np.minimum(above, below))
    num_looked_at = int(available_in(posterior.problem, states).sum())
    return Frequencies(states, counts[states], expected, z, np.minimum(1.0, num_looked_at * chance))


def largest_deviations(posterior: Posterior, num_shown: int = NUM_SHOWN) -> tuple[Deviation, ...]:
    """Return the least likely deviations, one for each state, the least likely first."""
    found, mdp = predictive_frequencies(posterior), posterior.problem.mdp
    shown = []
    for row, state in enumerate(found.states.tolist()):
        action = int(np.lexsort((-np.abs(found.z[row]), found.chance[row]))[0])
        shown.append(
            Deviation(
                state % mdp.num_states,
                action,
                place_name(posterior.problem, state),
                mdp.action_name(action),
                int(found.observed[row, action]),
                float(found.expected[row, action]),
                int(found.observed[row].sum()),
                float(found.z[row, action]),
                float(found.chance[row, action]),
            )
        )
    return tuple(sorted(shown, key=lambda item: (item.chance, -abs(item.z)))[:num_shown])
