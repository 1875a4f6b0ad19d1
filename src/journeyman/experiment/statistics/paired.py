"""Methods compared on the same instances: differences to a baseline, because sixteen seeds are few."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from journeyman.checks import whole_number
from journeyman.errors import InputError
from journeyman.experiment.statistics.paired_tests import (
    NUM_RESAMPLES,
    TIE_TOLERANCE,
    bootstrap_interval,
    holm,
    sign_flip_p,
    student_interval,
)
from journeyman.experiment.statistics.table import GROUP, by_step, checked_methods, checked_table, groups
from journeyman.extras import require
from journeyman.types import FloatArray

if TYPE_CHECKING:
    from pandas import DataFrame

STEPS = (10, 20, 30, 50, 100, 150)


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
    _check_average_to(average_to, int(table["step"].max()))
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


def _check_average_to(average_to: int | None, last_step: int) -> None:
    """Refuse an average over more steps than any cell has."""
    if average_to is not None and whole_number(average_to, "average_to", 1) > last_step:
        raise InputError(f"average_to must be at most {last_step}, the last step, got {average_to}. Make it smaller.")


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
