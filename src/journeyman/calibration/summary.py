"""CalibrationSummary: what replications say about a method."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from journeyman.calibration.replication import DERIVED, Replication
from journeyman.calibration.run import CalibrationRun
from journeyman.calibration.uniformity import chi_square_p_value, ecdf_p_value
from journeyman.errors import InputError
from journeyman.types import FloatArray, IntArray
from journeyman.wording import counted

SIGNIFICANCE = 0.01  # chance that a method without fault is called miscalibrated, at most
CHANCES = (0.5, 0.8, 0.95)
CONFIDENCE = 0.95
RECORDED = (
    "num_replications", "num_draws", "is_calibrated", "p_value", "chi_square_p", "ecdf_p", "num_failed", "num_warned",
    "num_short", "mean_seconds", "median_effective_draws",
)  # fmt: skip


class Coverage(NamedTuple):
    """The share of replications whose interval of posterior chance `chance` held the truth, and its 95 % interval.

    low, high: the ends of that.
    """

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
    return Coverage(chance, hits / len(levels), *exact_interval(hits, len(levels)))


def exact_interval(hits: int, total: int) -> tuple[float, float]:
    """Return Clopper and Pearson's 95 % interval of a share; all of [0, 1] if there is nothing to count."""
    if total == 0:
        return 0.0, 1.0
    low, high = stats.binomtest(hits, total).proportion_ci(CONFIDENCE, "exact")
    return float(low), float(high)


def pooled_coverage(levels: FloatArray, chance: float) -> Coverage:
    """Return the coverage over several quantities from their levels `[N, Q]`.

    Quantities of one replication depend on each other, replications do not: the interval is that of the mean of N
    shares, by their standard error (Student's t), and holds the exact binomial one of all N Q answers: where all of few
    intervals hold the truth, the standard error is 0.
    """
    covered = is_covered(levels, chance)
    shares = covered.mean(axis=1)
    share, size = float(shares.mean()), len(shares)
    low, high = exact_interval(int(covered.sum()), covered.size)
    half = 1.0
    if size > 1:
        error = float(shares.std(ddof=1)) / np.sqrt(size)
        half = float(stats.t.isf((1.0 - CONFIDENCE) / 2.0, size - 1)) * error
    return Coverage(chance, share, max(0.0, min(low, share - half)), min(1.0, max(high, share + half)))


@dataclass(frozen=True, eq=False)
class QuantitySummary:
    """One quantity, by name: its ranks `[N]`, and what they say.

    chi_square_p, ecdf_p: p-values of both tests of uniformity; mean_rank: the mean of rank / L; coverage: of its
    intervals.
    """

    name: str
    ranks: IntArray
    chi_square_p: float
    ecdf_p: float
    mean_rank: float
    coverage: tuple[Coverage, ...]

    def __repr__(self) -> str:
        smallest = min(self.chi_square_p, self.ecdf_p)
        return f"QuantitySummary({self.name!r}: {counted(len(self.ranks), 'rank')}, smallest p-value {smallest:.2g})"


@dataclass(frozen=True, eq=False)
class CalibrationSummary:
    """What N replications say about a method.

    Parameters
    ----------
    num_replications
        N: those whose inference did not fail.
    num_draws
        L: ranks are 0..L.
    quantities
        In the order of the replications' ranks.
    parameter_coverage
        Coverage of 50, 80 and 95 % intervals, pooled over the parameters.
    num_failed
        Replications whose inference failed; they count in nothing else, and a single one makes a method miscalibrated.
    num_warned
        Replications whose posterior carried a warning.
    num_short
        Replications worth fewer than L independent draws, whose ranks tend to the ends without fault of the model.
    mean_seconds
        Of inference, per replication.
    median_effective_draws
        Of the replications; None with a Discrete prior.
    """

    num_replications: int
    num_draws: int
    quantities: tuple[QuantitySummary, ...]
    parameter_coverage: tuple[Coverage, ...]
    num_failed: int
    num_warned: int
    num_short: int
    mean_seconds: float
    median_effective_draws: float | None

    def __repr__(self) -> str:
        sizes = f"{counted(self.num_replications, 'replication')}, {self.num_failed} failed"
        end = f", p-value {self.p_value:.2g}" if self.quantities else ""
        return f"CalibrationSummary({sizes}, {len(self.quantities)} quantities{end})"

    @property
    def chi_square_p(self) -> float:
        """Smallest chi-square p-value times the number of quantities (Bonferroni), at most 1."""
        return min(1.0, len(self.quantities) * min(item.chi_square_p for item in self.quantities))

    @property
    def ecdf_p(self) -> float:
        """Smallest ECDF p-value times the number of quantities (Bonferroni), at most 1."""
        return min(1.0, len(self.quantities) * min(item.ecdf_p for item in self.quantities))

    @property
    def p_value(self) -> float:
        """P-value of both tests on all quantities together (Bonferroni), at most 1."""
        return min(1.0, 2.0 * min(self.chi_square_p, self.ecdf_p))

    @property
    def worst(self) -> QuantitySummary:
        """The quantity with the smallest p-value of either test."""
        return min(self.quantities, key=lambda item: min(item.chi_square_p, item.ecdf_p))

    @property
    def is_calibrated(self) -> bool:
        """Whether nothing speaks against calibration: no failure, and a p-value of at least 0.01."""
        return self.num_failed == 0 and self.p_value >= SIGNIFICANCE


def summarise(replications: Sequence[Replication], names: Sequence[str], num_draws: int) -> CalibrationSummary:
    """Return what replications say; `names` are those of their quantities, `num_draws` is L of their spec."""
    whole = [item for item in replications if item.error is None]
    if not whole:
        reason = replications[0].error if replications else "there is none"
        raise InputError(f"a summary must have a replication that did not fail, got none: {reason}")
    ranks = np.array([item.ranks for item in whole], dtype=np.int64)
    levels = np.array([item.levels for item in whole])
    if ranks.shape[1] != len(names):
        raise InputError(f"names must be one per quantity ({ranks.shape[1]}), got {len(names)}. Give those of the run.")
    quantities = tuple(
        QuantitySummary(
            name,
            ranks[:, q],
            chi_square_p_value(ranks[:, q], num_draws),
            ecdf_p_value(ranks[:, q], num_draws),
            float(ranks[:, q].mean() / num_draws),
            tuple(coverage(levels[:, q], chance) for chance in CHANCES),
        )
        for q, name in enumerate(names)
    )
    worths = [item.effective_draws for item in whole if item.effective_draws is not None]
    return CalibrationSummary(
        num_replications=len(whole),
        num_draws=num_draws,
        quantities=quantities,
        parameter_coverage=tuple(pooled_coverage(levels[:, len(DERIVED) :], chance) for chance in CHANCES),
        num_failed=len(replications) - len(whole),
        num_warned=sum(bool(item.warnings) for item in whole),
        num_short=sum(worth < num_draws for worth in worths),
        mean_seconds=float(np.mean([item.seconds for item in whole])),
        median_effective_draws=float(np.median(worths)) if worths else None,
    )


def summarise_run(run: CalibrationRun) -> CalibrationSummary:
    """Return what the replications of a file say, as far as they have come."""
    return summarise(run.replications, run.names, run.num_draws)


def summary_record(summary: CalibrationSummary) -> dict[str, Any]:
    """Return a summary as plain data for JSON."""
    return {
        **{name: getattr(summary, name) for name in RECORDED},
        "worst": summary.worst.name,
        "parameter_coverage": [item._asdict() for item in summary.parameter_coverage],
        "quantities": [
            {
                **{key: value for key, value in asdict(item).items() if key not in ("ranks", "coverage")},
                "coverage": [part._asdict() for part in item.coverage],
            }
            for item in summary.quantities
        ],
    }
