"""Are ranks uniform? The chi-square test, and simultaneous bands for the ECDF of ranks.

Chi-square sees ranks in bins and finds any large deviation. The ECDF, compared with its simultaneous band (Sailynoja,
Burkner and Vehtari 2022), finds small ones that go one way over many ranks. Both p-values are for one quantity.

The band. With N ranks on 0..K-1, c_i = number of ranks below i is Binomial(N, i / K) at each i = 1..K-1. The band holds
the counts whose two-sided binomial probability exceeds g, at every i, with g so chosen that all c_i lie in it together
with the wanted chance. That chance is exact: increments of c are multinomial, which is Poisson given their sum, so that
one convolution per i follows the distribution of c within the band.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from journeyman.checks import any_array, share, whole_number
from journeyman.errors import InputError
from journeyman.types import FloatArray, IntArray

MAX_BINS = 20
MIN_PER_BIN = 5  # expected ranks per bin, for the chi-square distribution to hold
SMALLEST_TAIL = 1e-11


class Band(NamedTuple):
    """Bounds `low` and `high` `[K - 1]` of ECDF minus uniform CDF, at `points` i / K."""

    points: FloatArray
    low: FloatArray
    high: FloatArray


def chi_square_p_value(ranks: ArrayLike, num_draws: int, num_bins: int | None = None) -> float:
    """Return the p-value of the chi-square test that ranks are uniform on 0..num_draws.

    Parameters
    ----------
    num_bins
        Must divide num_draws + 1. Default: the most such bins, up to 20, that expect at least 5 ranks each; with
        fewer than 10 ranks there are no two such bins, and the p-value is 1.
    """
    counts = rank_counts(ranks, num_draws)
    if num_bins is None:
        most = min(MAX_BINS, int(counts.sum()) // MIN_PER_BIN)
        num_bins = max((bins for bins in range(1, most + 1) if (num_draws + 1) % bins == 0), default=1)
    elif whole_number(num_bins, "num_bins", 1) > num_draws + 1 or (num_draws + 1) % num_bins:
        raise InputError(f"num_bins must divide num_draws + 1 = {num_draws + 1}, got {num_bins}. Choose a divisor.")
    if num_bins == 1:
        return 1.0
    return float(stats.chisquare(counts.reshape(num_bins, -1).sum(axis=1)).pvalue)


def rank_counts(ranks: ArrayLike, num_draws: int) -> IntArray:
    """Return how often each rank 0..num_draws occurs, `[num_draws + 1]`."""
    array = any_array(ranks, "ranks")
    whole_number(num_draws, "num_draws", 1)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise InputError(f"ranks must be a list of whole numbers, got {array.dtype} of shape {array.shape}. Give one.")
    if array.min() < 0 or array.max() > num_draws:
        wrong = int(array.min() if array.min() < 0 else array.max())
        raise InputError(f"ranks must lie in 0..{num_draws}, got {wrong}. Check the number of draws.")
    return np.bincount(array, minlength=num_draws + 1)


def ecdf_difference(ranks: ArrayLike, num_draws: int) -> FloatArray:
    """Return ECDF minus uniform CDF `[num_draws]` of ranks, at i / (num_draws + 1) for i = 1..num_draws."""
    counts = rank_counts(ranks, num_draws)
    points = np.arange(1, num_draws + 1) / (num_draws + 1)
    return np.asarray(np.cumsum(counts)[:-1] / counts.sum() - points)


def ecdf_p_value(ranks: ArrayLike, num_draws: int) -> float:
    """Return the chance that the ECDF of uniform ranks leaves a band that these ranks just touch.

    Below 0.05 the ranks leave the 95 % band. Exact, but for an upper bound where it is below 1e-8 or so.
    """
    counts = rank_counts(ranks, num_draws)
    below, num_ranks, num_values = np.cumsum(counts)[:-1], int(counts.sum()), num_draws + 1  # ranks below 1, 2, ...
    points = np.arange(1, num_values) / num_values
    binomial = stats.binom(num_ranks, points)
    tail = float(np.minimum(binomial.cdf(below), binomial.sf(below - 1)).min())
    if tail < SMALLEST_TAIL:  # one minus the chance would lose all digits; the union bound is nearly exact here
        return 2.0 * num_draws * tail
    return float(np.clip(1.0 - _chance_inside(num_ranks, num_values, *_bounds(num_ranks, num_values, tail)), 0.0, 1.0))


@lru_cache(maxsize=64)
def ecdf_band(num_ranks: int, num_draws: int, level: float = 0.95) -> Band:
    """Return the band that holds the ECDF difference of uniform ranks everywhere with a chance of at least `level`."""
    whole_number(num_ranks, "num_ranks", 1)
    num_values = whole_number(num_draws, "num_draws", 1) + 1
    share(level, "level", "The default is 0.95.")
    too_low, too_high = np.log(SMALLEST_TAIL), np.log(0.5)  # logs of tails: wide enough, and too narrow
    for _ in range(40):
        middle = 0.5 * (too_low + too_high)
        bounds = _bounds(num_ranks, num_values, float(np.exp(middle)))
        is_wide = _chance_inside(num_ranks, num_values, *bounds) >= level
        too_low, too_high = (middle, too_high) if is_wide else (too_low, middle)
    low, high = _bounds(num_ranks, num_values, float(np.exp(too_low)))
    points = np.arange(1, num_values) / num_values
    return Band(points, low / num_ranks - points, high / num_ranks - points)


def _bounds(num_ranks: int, num_values: int, tail: float) -> tuple[IntArray, IntArray]:
    """Return the smallest and largest counts at each point whose tails both have a chance above `tail`."""
    binomial = stats.binom(num_ranks, np.arange(1, num_values) / num_values)
    above = tail * (1.0 + 1e-9)  # a count whose own chance is `tail`, up to rounding, is outside
    low = binomial.ppf(above).astype(np.int64)
    high = binomial.isf(above).astype(np.int64)
    return low, high


def _chance_inside(num_ranks: int, num_values: int, low: IntArray, high: IntArray) -> float:
    """Return the chance that all counts of uniform ranks lie within bounds `[num_values - 1]`."""
    if (low > high).any():
        return 0.0
    increments = stats.poisson.pmf(np.arange(num_ranks + 1), num_ranks / num_values)
    chances, start = np.ones(1), 0  # of the counts start, start + 1, ...
    for lowest, highest in zip(low.tolist(), high.tolist(), strict=True):
        spread = np.convolve(chances, increments[: highest - start + 1])
        first = max(lowest, start)
        chances, start = spread[first - start : highest - start + 1], first
        if chances.size == 0:
            return 0.0
    rest = increments[num_ranks - start - np.arange(len(chances))]
    return float(chances @ rest / stats.poisson.pmf(num_ranks, num_ranks))
