"""Curves: mean and standard error over instances, per step, and averages over groups of steps; and what is drawn so.

Regret is normalised, since instances differ in scale and difficulty: each is divided by its own average. Of the
estimates of entropy, nearest neighbours and a Gaussian fit are biased in many dimensions, and the bias changes as the
posterior narrows; the one from the evidence has none to speak of, but only sequential Monte Carlo and sums over a
discrete prior give it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from journeyman.checks import one_of, whole_number
from journeyman.errors import InputError
from journeyman.experiment.statistics.table import (
    CELL,
    GROUP,
    INSTANCE,
    LINE,
    by_step,
    checked_methods,
    checked_table,
    method_names,
    numbers,
    with_methods,
)
from journeyman.extras import require
from journeyman.types import FloatArray

if TYPE_CHECKING:
    from pandas import DataFrame, Series

FIRST_STEPS = 32  # whose mean regret is 1
ESTIMATES = {
    "entropy_evidence": "from the evidence",
    "entropy_knn": "5 nearest neighbours",
    "entropy_gaussian": "Gaussian",
}
GROUP_ENDS = (10, 20, 30, 50, 75, 100, 150)


def curves(table: "DataFrame", column: str) -> "DataFrame":
    """Return the mean of a column over instances, with its standard error, per group, method and step.

    Missing values are left out, step by step; an infinite one makes the mean infinite.

    Returns
    -------
    A table with `mean`, `standard_error` (of n - 1 degrees of freedom, NaN for a single instance) and `n`, the number
    of instances at that step, which may be 0; sorted by group, method and step.
    """
    table = checked_table(table, column)
    values = table[[*LINE, "step"]].assign(value=numbers(table, column))
    grouped = values.groupby([*LINE, "step"], observed=True, sort=True)["value"]
    return grouped.agg(mean="mean", standard_error="sem", n="count").reset_index()


def step_groups(
    table: "DataFrame", column: str, ends: Sequence[int] | None = None, *, limit: float = 0.0
) -> "DataFrame":
    """Return the mean of a column over groups of steps, and how many instances stay within a limit in a whole group.

    Parameters
    ----------
    ends
        Last step of each group of steps, increasing; the first group begins at step 1. Default: 10, 20, 30, 50, 75,
        100, 150, those within the results, and their last step.
    limit
        What values may be at most, for an instance to count as within it.

    Returns
    -------
    A table with `first_step`, `last_step`, `mean` and `standard_error` of the averages of `n` instances, and
    `num_within` of them with all values at most `limit`. An instance counts in groups of steps that it has wholly.
    """
    table = checked_table(table, column)
    wide = by_step(table, column)
    ends = _checked_ends(ends, int(wide.columns.max()))
    parts = []
    for first, last in zip([1, *(end + 1 for end in ends)], ends, strict=False):
        values = wide.reindex(columns=range(first, last + 1)).to_numpy()
        is_known = ~np.isnan(values).any(axis=1)
        part = wide.index.to_frame(index=False)[is_known].assign(
            first_step=first,
            last_step=last,
            value=values[is_known].mean(axis=1),
            is_within=(values[is_known] <= limit).all(axis=1),
        )
        parts.append(part)
    averages = require("pandas", "tables").concat(parts)
    grouped = averages.groupby([*LINE, "first_step", "last_step"], observed=True, sort=True)
    found = grouped.agg(
        mean=("value", "mean"), standard_error=("value", "sem"), n=("value", "count"), num_within=("is_within", "sum")
    )
    return found.reset_index()


def _checked_ends(ends: Sequence[int] | None, last_step: int) -> tuple[int, ...]:
    """Return the last steps of groups of steps, if they increase and lie within the results."""
    if last_step < 1:
        raise InputError(f"a table of results must have steps after 0, got {last_step} as its last. Run more steps.")
    if ends is None:
        return (*(end for end in GROUP_ENDS if end < last_step), last_step)
    if len(ends) == 0 or any(b <= a for a, b in zip([0, *ends], ends, strict=False)) or ends[-1] > last_step:
        raise InputError(
            f"ends of groups of steps must increase from 1 to at most {last_step}, got {list(ends)}. Sort them."
        )
    return tuple(ends)


def normalised_regret(
    table: "DataFrame", methods: Sequence[str] | None = None, first_steps: int = FIRST_STEPS
) -> "Series":
    """Return the true regret divided, per instance, by its mean over the reference methods and steps 1 to 32.

    Where that mean is 0, because no reference method ever had regret there, the normalised regret is 0 where the
    regret is 0, and infinite elsewhere: no number would be large enough, and leaving the row out would hide a failure.
    That can happen to other methods, and to reference methods at step 0 and after the first 32.

    Parameters
    ----------
    methods
        Reference methods, the paper's for its figures; default: all of the table. In a group those count which it
        has: trajectories have fewer than annotations.
    first_steps
        How many steps the mean is over; fewer if the group has fewer.

    Returns
    -------
    A number per row of the table, with its index: non-negative. NaN in groups without any reference method, and on
    instances that are incomplete: where a reference method of the group, or one of its first steps, is missing.
    """
    table = checked_table(table, "true_regret")
    reference = method_names(table) if methods is None else checked_methods(table, methods, "reference methods")
    first_steps = whole_number(first_steps, "first_steps", 1)
    scale = _scales(table, reference, first_steps)
    regret = numbers(table, "true_regret")
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where((regret == 0.0) & (scale == 0.0), 0.0, regret / scale)
    return require("pandas", "tables").Series(ratio, index=table.index, name="normalised_regret")


def _scales(table: "DataFrame", reference: Sequence[str], first_steps: int) -> FloatArray:
    """Return the mean that each row is divided by `[rows]`; NaN where an instance is incomplete."""
    in_group = table.groupby(list(GROUP), observed=True)
    num_steps = in_group["step"].transform("max").clip(upper=first_steps)
    marked = table[list(INSTANCE)].assign(
        method=table["method"],
        regret=numbers(table, "true_regret"),
        counts=table["method"].isin(reference) & table["step"].between(1, num_steps),
        expected=num_steps,
    )
    counted = marked[marked["counts"] & marked["regret"].notna()]
    mean = counted.groupby(list(INSTANCE), observed=True)["regret"].mean().rename("scale")
    found = counted.groupby(list(INSTANCE), observed=True).size().rename("found")
    present = with_methods(marked, reference).groupby(list(GROUP), observed=True)["method"].nunique().rename("present")
    joined = marked.join(mean, on=list(INSTANCE)).join(found, on=list(INSTANCE)).join(present, on=list(GROUP))
    is_complete = joined["found"] == joined["present"] * joined["expected"]
    scales: FloatArray = joined["scale"].where(is_complete).to_numpy(dtype=np.float64)
    return scales


def entropy_column(table: "DataFrame", estimates: Sequence[str] = tuple(ESTIMATES)) -> str | None:
    """Return the first of some columns of entropies (keys of `ESTIMATES`) that every cell has, at some step at least.

    Default: all of them, the least biased first. None if there is no such column.
    """
    table = checked_table(table, *ESTIMATES)
    for column in estimates:
        one_of(column, ESTIMATES, "an estimate of entropy")
    known = table[list(CELL)].assign(**{column: np.isfinite(numbers(table, column)) for column in estimates})
    is_everywhere = known.groupby(list(CELL), observed=True).any().all()
    return next((column for column in estimates if is_everywhere[column]), None)
