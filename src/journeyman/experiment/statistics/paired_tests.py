"""What a handful of paired differences tell: intervals of their mean, a test, and corrections for many tests.

Two intervals, because sixteen instances are few. Student's assumes that the mean is nearly normal. The bootstrap (BCa)
assumes nothing about the shape, but is too narrow for very few instances. The test needs neither: if two methods are
alike, each difference is as likely to have the other sign, and all signs can be gone through.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from journeyman.types import FloatArray

CONFIDENCE = 0.95
MIN_BOOTSTRAP = 6  # with fewer, no pattern of signs has a chance below 5 %, so no shape-free statement at 95 % exists
NUM_RESAMPLES = 9999
MAX_EXACT = 20  # differences whose 2^n signs are gone through one by one
NUM_FLIPS = 20_000
TIE_TOLERANCE = 1e-9


class Interval(NamedTuple):
    """A 95 % confidence interval; NaN where there is none."""

    low: float
    high: float


def student_interval(differences: FloatArray) -> Interval:
    """Return Student's t interval of the mean of differences `[n]`; NaN for fewer than two."""
    size = len(differences)
    if size < 2:
        return Interval(math.nan, math.nan)
    half = float(stats.t.isf((1.0 - CONFIDENCE) / 2.0, size - 1) * differences.std(ddof=1) / math.sqrt(size))
    mean = float(differences.mean())
    return Interval(mean - half, mean + half)


def bootstrap_interval(differences: FloatArray, num_resamples: int = NUM_RESAMPLES) -> Interval:
    """Return the BCa bootstrap interval of the mean of differences `[n]`; NaN for fewer than six.

    The same differences give the same interval. Equal differences give one without width.
    """
    if len(differences) < MIN_BOOTSTRAP:
        return Interval(math.nan, math.nan)
    if np.ptp(differences) == 0.0:
        return Interval(float(differences[0]), float(differences[0]))
    found = stats.bootstrap(
        (differences,),
        np.mean,
        n_resamples=num_resamples,
        confidence_level=CONFIDENCE,
        method="BCa",
        random_state=np.random.default_rng(0),
    )
    return Interval(float(found.confidence_interval.low), float(found.confidence_interval.high))


def sign_flip_p(differences: FloatArray) -> float:
    """Return the two-sided p-value of the mean of differences `[n]` under random signs.

    Exact for up to 20 differences: the share of all 2^n patterns of signs whose sum is at least as far from 0. Beyond,
    from 20,000 random patterns and the observed one, always the same ones. NaN without differences.
    """
    if len(differences) == 0:
        return math.nan
    observed = abs(float(differences.sum()))
    rounding = TIE_TOLERANCE * float(np.abs(differences).sum())
    if len(differences) <= MAX_EXACT:
        sums = np.zeros(1)
        for difference in differences:
            sums = np.concatenate([sums + difference, sums - difference])
        return float(np.mean(np.abs(sums) >= observed - rounding))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(NUM_FLIPS, len(differences)))
    hits = int(np.count_nonzero(np.abs(signs @ differences) >= observed - rounding))
    return (1 + hits) / (1 + NUM_FLIPS)


def holm(p_values: Sequence[float]) -> FloatArray:
    """Return p-values `[k]` corrected for their number by Holm's step-down rule; NaN stays, and does not count."""
    values = np.asarray(p_values, dtype=np.float64)
    corrected = np.full(len(values), np.nan)
    order = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * factors))
    return corrected
