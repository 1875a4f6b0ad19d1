"""Normalised regret: instances differ in scale and difficulty, so each is divided by its own average."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from journeyman.checks import whole_number
from journeyman.experiment.statistics.table import (
    GROUP,
    INSTANCE,
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

FIRST_STEPS = 32  # as in the paper


def normalised_regret(
    table: "DataFrame", methods: Sequence[str] | None = None, first_steps: int = FIRST_STEPS
) -> "Series":
    """Return the true regret divided, per instance, by its mean over the reference methods and steps 1 to 32.

    Where that mean is 0, because no reference method ever had regret there, the normalised regret is 0 where the
    regret is 0, and infinite elsewhere: no number would be large enough, and leaving the row out would hide a failure.
    That can happen to other methods, and to reference methods at step 0 and after the first 32.

    Parameters
    ----------
    table
        Tidy results.
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
