"""Methods compared on the same instances: differences to a baseline, and what a handful of them tell.

Two intervals of the mean difference, because sixteen instances are few. Student's assumes that the mean is nearly
normal. The bootstrap (BCa) assumes nothing about the shape, but is too narrow for very few instances. The test needs
neither: if two methods are alike, each difference is as likely to have the other sign, and all signs can be tried.
"""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import stats

from journeyman.checks import whole_number
from journeyman.errors import InputError
from journeyman.experiment.statistics.table import GROUP, by_step, checked_methods, checked_table, groups
from journeyman.extras import require
from journeyman.types import FloatArray

if TYPE_CHECKING:
    from pandas import DataFrame

STEPS = (10, 20, 30, 50, 100, 150)
CONFIDENCE = 0.95
MIN_BOOTSTRAP = 6  # with fewer, no pattern of signs has a chance below 5 %, so no shape-free statement at 95 % exists
NUM_RESAMPLES = 9999
MAX_EXACT = 20  # differences whose 2^n signs are gone through one by one
NUM_FLIPS = 20_000
TIE_TOLERANCE = 1e-9


class Span(NamedTuple):
    """Steps that values are averaged over, first and last included."""

    first_step: int
    last_step: int

    @property
    def words(self) -> str:
        """The span in words."""
        if self.first_step == self.last_step:
            return f"step {self.last_step}"
        return f"average of steps {self.first_step} to {self.last_step}"


def paired_differences(
    table: "DataFrame",
    column: str,
    baseline: str,
    *,
    methods: Sequence[str] | None = None,
    steps: Sequence[int] = STEPS,
    average_to: int | None = None,
    lower_is_better: bool = True,
    num_resamples: int = NUM_RESAMPLES,
) -> "DataFrame":
    """Compare methods with a baseline on the instances that both have met.

    Per method there is a row for the average over steps 1 to T (the area under its curve, divided by T), and one for
    each of `steps` that the group has. An instance counts where both values are finite, at all steps of the row.

    Parameters
    ----------
    column
        What to compare, such as "failure_chance".
    baseline
        Method that the others are compared with; groups without it are left out.
    methods
        Which to compare; default: all others.
    average_to
        T; default: the last step of the group. Cells that do not reach it do not count in the average.
    lower_is_better
        Whether a smaller value is a win.
    num_resamples
        Of the bootstrap.

    Returns
    -------
    A table with the labels of group and method, `baseline`, `first_step`, `last_step`, `span` (in words), and

    - `n`: instances; `num_infinite`: those left out because a value is infinite; `method_mean`, `baseline_mean`,
      and `difference`, the mean of method minus baseline;
    - `student_low`, `student_high`: 95 % interval of the difference by Student's t (NaN for n < 2);
    - `bootstrap_low`, `bootstrap_high`: the same by BCa bootstrap over instances (NaN for n < 6);
    - `p`: two-sided p-value of random signs, exact for n <= 20, so never below 2 / 2^n; `p_holm`: corrected for
      the number of methods in the same group and span;
    - `wins`, `ties`, `losses`: instances on which the method is better than, equal to (but for rounding), or worse
      than the baseline.

    Where all differences are equal, both intervals have no width: then the number of instances says how sure it is.
    """
    table = checked_table(table, column)
    checked_methods(table, [baseline], "the baseline")
    chosen = [name for name in checked_methods(table, methods) if name != baseline]
    last_step = int(table["step"].max())
    if average_to is not None and whole_number(average_to, "average_to", 1) > last_step:
        raise InputError(f"average_to must be at most {last_step}, the last step, got {average_to}. Make it smaller.")
    rows: list[dict[str, Any]] = []
    for group, part in groups(table):
        wide = by_step(part, column).droplevel(list(GROUP))
        present = wide.index.get_level_values("method")
        if baseline not in present:
            continue
        for span in _spans(wide, steps, average_to):
            values = wide.reindex(columns=range(span.first_step, span.last_step + 1)).mean(axis=1, skipna=False)
            found = [
                {
                    **group._asdict(),
                    "method": method,
                    "baseline": baseline,
                    **span._asdict(),
                    "span": span.words,
                    **_compare(_pairs(values, method, baseline), lower_is_better, num_resamples),
                }
                for method in chosen
                if method in present
            ]
            for row, p in zip(found, holm([row["p"] for row in found]), strict=True):
                row["p_holm"] = float(p)
            rows.extend(found)
    if not rows:
        raise InputError(
            f"a comparison must have another method beside the baseline {baseline!r}, got none. Run more methods."
        )
    return require("pandas", "tables").DataFrame(rows)


def _spans(wide: "DataFrame", steps: Sequence[int], average_to: int | None) -> Iterator[Span]:
    """Yield the spans that a group of results has."""
    last = int(wide.columns.max())
    end = last if average_to is None else average_to
    if 1 <= end <= last:
        yield Span(1, end)
    for step in steps:
        if whole_number(step, "each of steps", 0) <= last:
            yield Span(step, step)


def _pairs(values: Any, method: str, baseline: str) -> FloatArray:
    """Return the values of method and baseline `[instances, 2]` where both are known; they may be infinite."""
    both = values.xs(method, level="method").to_frame("method").join(values.xs(baseline, level="method").rename("base"))
    pairs: FloatArray = both.to_numpy(dtype=np.float64)
    return pairs[~np.isnan(pairs).any(axis=1)]


def _compare(pairs: FloatArray, lower_is_better: bool, num_resamples: int) -> dict[str, float]:
    """Return what paired values `[instances, 2]` tell about their difference, where both are finite."""
    is_finite = np.isfinite(pairs).all(axis=1)
    ours, theirs = pairs[is_finite].T
    differences = ours - theirs
    rounding = TIE_TOLERANCE * (1.0 + np.maximum(np.abs(ours), np.abs(theirs)))
    differences = np.where(np.abs(differences) <= rounding, 0.0, differences)
    gains = -differences if lower_is_better else differences
    student, bootstrap = student_interval(differences), bootstrap_interval(differences, num_resamples)
    has_some = len(differences) > 0
    return {
        "n": len(differences),
        "num_infinite": int(np.count_nonzero(~is_finite)),
        "method_mean": float(ours.mean()) if has_some else np.nan,
        "baseline_mean": float(theirs.mean()) if has_some else np.nan,
        "difference": float(differences.mean()) if has_some else np.nan,
        "student_low": student.low,
        "student_high": student.high,
        "bootstrap_low": bootstrap.low,
        "bootstrap_high": bootstrap.high,
        "p": sign_flip_p(differences),
        "wins": int(np.count_nonzero(gains > 0)),
        "ties": int(np.count_nonzero(gains == 0)),
        "losses": int(np.count_nonzero(gains < 0)),
    }


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
