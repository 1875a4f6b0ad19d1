"""What a step costs: seconds for the posterior and for choosing the query, and core-hours in all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from journeyman.experiment.statistics.table import CELL, GROUP, LINE, checked_table, numbers

if TYPE_CHECKING:
    from pandas import DataFrame, Series

PARTS = ("posterior", "acquisition", "cpu")


def seconds_per_step(table: "DataFrame", by: Sequence[str] = LINE) -> "DataFrame":
    """Return the seconds that a step took, by some columns: median, mean and 95th percentile over all steps but step 0.

    Returns
    -------
    A table with `by`, `num_cells`, `num_steps`, and `<part>_median`, `<part>_mean`, `<part>_p95` for the parts
    posterior (learning from the answer) and acquisition (choosing the query), both by the clock, and cpu (what the
    thread worked for the whole step, measuring included). Missing times are left out.
    """
    table = checked_table(table, *(f"{part}_seconds" for part in PARTS), *by)
    steps = table[table["step"] >= 1]
    times = steps[list(dict.fromkeys([*CELL, *by]))].assign(
        **{part: numbers(steps, f"{part}_seconds") for part in PARTS}
    )
    times["cell"] = times.groupby(list(CELL), observed=True).ngroup()
    grouped = times.groupby(list(by), observed=True, sort=True)
    found = grouped.agg(num_cells=("cell", "nunique"), num_steps=("cell", "size"))
    for part in PARTS:
        found[f"{part}_median"] = grouped[part].median()
        found[f"{part}_mean"] = grouped[part].mean()
        found[f"{part}_p95"] = grouped[part].quantile(0.95)
    return found.reset_index()


def core_hours(table: "DataFrame") -> float:
    """Return the time that cores worked on all steps, measuring included, in hours.

    It is the time of the threads themselves, so that it does not depend on what else ran on the machine.
    """
    return float(np.nansum(numbers(checked_table(table, "cpu_seconds"), "cpu_seconds"))) / 3600.0


def core_hours_by(table: "DataFrame", by: Sequence[str] = GROUP) -> "Series":
    """Return `core_hours` for each value of some columns, which index it; they add up to the whole."""
    table = checked_table(table, "cpu_seconds", *by)
    hours = table[list(by)].assign(core_hours=np.nan_to_num(numbers(table, "cpu_seconds")) / 3600.0)
    return hours.groupby(list(by), observed=True, sort=True)["core_hours"].sum()
