"""New particles by importance: independent draws of a mixture fitted to the old ones, each worth its weight.

In a world of a million states a solve takes a good part of a second, and a chain wastes most of what it proposes. Here
every solve counts. N points are drawn from the mixture q of all weighted particles (see `proposals`), solved side by
side, and weighted by p / q. While too few of them are effective, a mixture fitted to these weighted points draws N
more, and all of them are weighted by p over the average of the mixtures so far (Cornuet et al. 2012). Then N of them
are resampled: a point that occurs more than once was solved once.

As with any importance sampling the particles are draws of the posterior in the limit of many, and the effective size of
the weights says how many independent ones they are worth.

To choose draws first by a likelihood that is interpolated between known points was no better than this: with features
that differ from cell to cell, what is best in a state does not change smoothly with the reward.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from journeyman.inference.metropolis import log_density_of
from journeyman.inference.proposals import Mixture, fitted, is_worth_it
from journeyman.inference.target import MAX_EXACT_STATES, solved_at
from journeyman.inference.weights import effective_size, normalised, systematic_resample
from journeyman.problem import Problem
from journeyman.threads import one_thread
from journeyman.types import AnyArray, FloatArray, IntArray

WANTED_SHARE = 0.35  # of N draws that are effective: below, more are drawn
MAX_ROUNDS = 6


class Draws(NamedTuple):
    """Points `[n, D]` with values and policies `[n, S]`, the log of p / q `[n]`, and the mixtures that they are of."""

    positions: FloatArray
    values: FloatArray
    policies: AnyArray
    log_weights: FloatArray
    mixtures: tuple[Mixture, ...]

    @property
    def effective_size(self) -> float:
        """How many independent draws of the posterior they are worth."""
        return effective_size(self.log_weights)


def is_affordable(problem: Problem, dimension: int) -> bool:
    """Return whether particles are drawn anew: in large worlds with few parameters."""
    return problem.mdp.num_states > MAX_EXACT_STATES and is_worth_it(problem, dimension)


def drawn_anew(
    rng: np.random.Generator,
    target: Any,
    positions: FloatArray,
    log_weights: FloatArray,
    size: int,
    num_threads: int | None,
) -> Draws:
    """Return weighted draws of the posterior `target`, from points that resemble draws of it by their weights `[N]`."""
    draws = _drawn(rng, target, (_mixture_of(positions, log_weights),), None, size, num_threads)
    while draws.effective_size < WANTED_SHARE * size and len(draws.mixtures) < MAX_ROUNDS:
        draws = more_draws(rng, target, draws, size, num_threads)
    return draws


def more_draws(rng: np.random.Generator, target: Any, draws: Draws, size: int, num_threads: int | None) -> Draws:
    """Return the draws and `size` others, of a mixture fitted to them."""
    better = _mixture_of(draws.positions, draws.log_weights)
    return _drawn(rng, target, (*draws.mixtures, better), draws, size, num_threads)


def resampled(rng: np.random.Generator, draws: Draws, size: int) -> IntArray:
    """Return the numbers `[size]` of draws, by their weights; those of one that occurs again stand together."""
    return systematic_resample(rng, normalised(draws.log_weights), size)


def _mixture_of(positions: FloatArray, log_weights: FloatArray) -> Mixture:
    return fitted(positions, normalised(log_weights), np.arange(len(positions)))


def _drawn(
    rng: np.random.Generator,
    target: Any,
    mixtures: tuple[Mixture, ...],
    before: Draws | None,
    size: int,
    num_threads: int | None,
) -> Draws:
    """Add draws of the last mixture to those before, and weight all of them by the average of all mixtures."""
    positions, _ = mixtures[-1].draw(rng, size)
    values, policies = solved_at(target, positions, num_threads)
    if before is not None:
        positions, values = np.concatenate([before.positions, positions]), np.concatenate([before.values, values])
        policies = np.broadcast_to(policies[:1], values.shape)
    with one_thread():
        densities = np.stack([mixture.log_density(positions) - mixture.log_size for mixture in mixtures])
    log_weights = log_density_of(target, positions, values) - logsumexp(densities, axis=0)
    return Draws(positions, values, policies, log_weights, mixtures)
