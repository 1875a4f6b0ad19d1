"""Steps to a goal: when a cell has reached it, what share has reached it by each step, and the median."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from journeyman.calibration.summary import exact_interval
from journeyman.experiment.statistics.table import CELL, LINE, by_step, checked_table
from journeyman.extras import require
from journeyman.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from pandas import DataFrame

CONFIDENCE = 0.95
ROUNDING = 1e-6  # of a limit: tables may be stored with half the digits, in which 0.1 is a little more than 0.1


class Share(NamedTuple):
    """A share of cells with its exact 95 % interval."""

    share: float
    low: float
    high: float


def steps_to(table: "DataFrame", column: str, limit: float | None, *, stays: bool = True) -> "DataFrame":
    """Return the first step from which each cell has reached a goal.

    Parameters
    ----------
    column
        What has to be at most `limit`, such as "failure_chance"; or a column of truth values, such as
        "certificate_holds", with a limit of None. A missing value does not reach anything.
    stays
        Whether the goal must be kept until the last step of the cell; else the first time counts, however brief. What
        is reached only at the last step counts too: nobody knows whether it would have stayed.

    Returns
    -------
    A table with a row per cell: its labels, `reached`, the step (NaN if there is none), and `last_step`, how far the
    cell went.
    """
    table = checked_table(table, column)
    wide = by_step(table, column)
    last = table.groupby(list(CELL), observed=True)["step"].max().reindex(wide.index).to_numpy()
    values, at = wide.to_numpy(), wide.columns.to_numpy()
    is_reached = values >= 1.0 if limit is None else values <= limit + ROUNDING * abs(limit)
    reached = first_steps(is_reached, at, last, stays=stays)
    return wide.index.to_frame(index=False).assign(reached=reached, last_step=last)


def first_steps(is_reached: BoolArray, steps: FloatArray, last: FloatArray, *, stays: bool) -> FloatArray:
    """Return the first step `[cells]` from which rows of truth values `[cells, steps]` are true; NaN if never.

    Each row counts up to its own `last` step.
    """
    is_over = steps[None, :] > last[:, None]
    if stays:
        backwards = (is_reached | is_over)[:, ::-1]
        is_reached = np.logical_and.accumulate(backwards, axis=1)[:, ::-1]
    is_reached = is_reached & ~is_over
    return np.where(is_reached.any(axis=1), steps[is_reached.argmax(axis=1)], np.nan)


def share_reached(reached: "DataFrame") -> "DataFrame":
    """Return the share of cells that have reached their goal (by `steps_to`) by each step, per group and method.

    Returns
    -------
    A table with `step`, `n` (cells that went at least so far: only those count), `num_reached`, and `share` with its
    exact 95 % interval `low`, `high` (Clopper and Pearson). Cells that all went equally far give a share that never
    falls.
    """
    pandas = require("pandas", "tables")
    parts = []
    for labels, part in reached.groupby(list(LINE), observed=True, sort=True):
        steps = np.arange(int(part["last_step"].max()) + 1)
        counts = part["last_step"].to_numpy()[:, None] >= steps
        is_reached = counts & (part["reached"].to_numpy()[:, None] <= steps)
        n, hits = counts.sum(axis=0), is_reached.sum(axis=0)
        pairs = list(zip(hits.tolist(), n.tolist(), strict=True))
        found = {pair: exact_share(*pair) for pair in set(pairs)}
        shares = pandas.DataFrame([found[pair] for pair in pairs], columns=Share._fields)
        parts.append(shares.assign(**dict(zip(LINE, labels, strict=True)), step=steps, n=n, num_reached=hits))
    return pandas.concat(parts, ignore_index=True)[[*LINE, "step", "n", "num_reached", *Share._fields]]


def exact_share(hits: int, total: int) -> Share:
    """Return a share of at least one cell with Clopper and Pearson's exact 95 % interval."""
    return Share(hits / total, *exact_interval(hits, total))


def median_steps(reached: "DataFrame") -> "DataFrame":
    """Return the median step at which cells reached their goal (by `steps_to`), per group and method.

    Returns
    -------
    A table with `n`, `num_reached`, `median` (a cell that did not reach it counts as infinitely late, so that the
    median is infinite if half of them did not) and its 95 % interval `low`, `high`, free of assumptions (order
    statistics); from 0 to infinity where cells are too few for one.
    """
    rows = []
    for labels, part in reached.groupby(list(LINE), observed=True, sort=True):
        steps = np.sort(part["reached"].fillna(np.inf).to_numpy())
        low, high = stats.quantile_test(steps, p=0.5).confidence_interval(CONFIDENCE)
        row = dict(zip(LINE, labels, strict=True)) | {
            "n": len(steps),
            "num_reached": int(np.isfinite(steps).sum()),
            "median": float(np.median(steps)),
            "low": 0.0 if np.isnan(low) else float(low),
            "high": np.inf if np.isnan(high) else float(high),
        }
        rows.append(row)
    return require("pandas", "tables").DataFrame(rows)
