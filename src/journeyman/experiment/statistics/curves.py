"""Curves: mean and standard error over instances, per step; and averages over groups of steps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from journeyman.errors import InputError
from journeyman.experiment.statistics.table import GROUP, by_step, checked_table, numbers
from journeyman.extras import require

if TYPE_CHECKING:
    from pandas import DataFrame

LINE = (*GROUP, "method")
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
    found = grouped.agg(mean="mean", standard_error="sem", n="count")
    return found.reset_index()


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
