"""Coverage: how often central credible intervals hold the truth."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from journeyman.types import FloatArray

CHANCES = (0.5, 0.8, 0.95)
CONFIDENCE = 0.95


class Coverage(NamedTuple):
    """Share of replications whose interval of posterior chance `chance` held the truth, with a 95 % interval."""

    chance: float
    share: float
    low: float
    high: float

    @property
    def is_nominal(self) -> bool:
        """Whether the promised chance lies in the interval."""
        return self.low <= self.chance <= self.high


def is_covered(levels: FloatArray, chance: float) -> FloatArray:
    """Return 1 where a level lies in the central interval of a chance, else 0; of the shape of `levels`."""
    return (np.abs(levels - 0.5) <= chance / 2.0).astype(np.float64)


def coverage(levels: FloatArray, chance: float) -> Coverage:
    """Return the coverage of one quantity from its levels `[N]`, with Clopper and Pearson's exact interval."""
    hits = int(is_covered(levels, chance).sum())
    return Coverage(chance, hits / len(levels), *_exact_interval(hits, len(levels)))


def _exact_interval(hits: int, total: int) -> tuple[float, float]:
    tail = (1.0 - CONFIDENCE) / 2.0
    low = 0.0 if hits == 0 else float(stats.beta.ppf(tail, hits, total - hits + 1))
    high = 1.0 if hits == total else float(stats.beta.isf(tail, hits + 1, total - hits))
    return low, high


def pooled_coverage(levels: FloatArray, chance: float) -> Coverage:
    """Return the coverage over several quantities from their levels `[N, Q]`.

    Quantities of one replication depend on each other, replications do not: the interval is that of the mean of N
    shares, by their standard error (Student's t), and holds the exact binomial one of all N Q answers: where all of few
    intervals hold the truth, the standard error is 0.
    """
    covered = is_covered(levels, chance)
    shares = covered.mean(axis=1)
    share, size = float(shares.mean()), len(shares)
    low, high = _exact_interval(int(covered.sum()), covered.size)
    half = 1.0
    if size > 1:
        error = float(shares.std(ddof=1)) / np.sqrt(size)
        half = float(stats.t.isf((1.0 - CONFIDENCE) / 2.0, size - 1)) * error
    return Coverage(chance, share, max(0.0, min(low, share - half)), min(1.0, max(high, share + half)))
