"""A sweep in numbers: how its cells stand, and what its methods reached at some steps. No drawing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from journeyman.errors import InputError
from journeyman.experiment import Cell, CellStatus, Sweep
from journeyman.experiment.overview import STATUSES
from journeyman.experiment.statistics.curves import curves, entropy_column
from journeyman.experiment.statistics.table import Group, checked_table, groups
from journeyman.experiment.store import Store
from journeyman.report.world.summary import without_nonfinite

if TYPE_CHECKING:
    from pandas import DataFrame

MILESTONES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
NUM_MILESTONES = 3
MEANS = ("entropy", "true_regret", "failure_chance")
NEAR = 0.7  # of the last step: what comes later hardly differs from it


class Mean(NamedTuple):
    """Mean over instances and its standard error; NaN where there is none."""

    mean: float = float("nan")
    standard_error: float = float("nan")


@dataclass(frozen=True)
class SummaryRow:
    """What a method reached at a step, on average over the `n` instances that are finished.

    entropy is of the estimate `entropy_estimate`, a column of the results, in nats. num_certified: instances whose
    certificate holds at this step, None if nobody looked.
    """

    world: str
    query: str
    inference: str
    method: str
    step: int
    n: int
    entropy_estimate: str | None
    entropy: Mean
    true_regret: Mean
    failure_chance: Mean
    num_certified: int | None

    def to_record(self) -> dict[str, Any]:
        """Return plain data for JSON, None for what is not known."""
        means = {name: getattr(self, name)._asdict() for name in MEANS}
        record: dict[str, Any] = without_nonfinite(asdict(self) | means)
        return record


def milestones(last_step: int) -> tuple[int, ...]:
    """Return the steps that a summary shows: the last one, and two round numbers before it."""
    return (*(step for step in MILESTONES if step <= NEAR * last_step), last_step)[-NUM_MILESTONES:]


def checked_steps(steps: Sequence[int], last_step: int) -> tuple[int, ...]:
    """Return the steps that are wanted, in order, if the results have them; `milestones` if none are."""
    for step in steps:
        if not 0 <= step <= last_step:
            raise InputError(
                f"a step must be from 0 to {last_step}, the steps of the sweep, got {step}. Choose another."
            )
    return tuple(sorted(set(steps))) or milestones(last_step)


def summary_rows(table: "DataFrame", steps: Sequence[int]) -> list[SummaryRow]:
    """Return what methods reached, by group, then by step, then by method in the order of the table."""
    rows = []
    for group, part in groups(checked_table(table)):
        rows += [row for step in steps for row in _rows_at(group, part, step)]
    return rows


def _rows_at(group: Group, part: "DataFrame", step: int) -> Iterator[SummaryRow]:
    """Yield a row for each method of a group that has this step."""
    here = part[part["step"] == step]
    estimate = entropy_column(part)
    columns = dict(zip(MEANS, MEANS, strict=True)) | {"entropy": estimate}
    means = {name: {} if column is None else _means(here, column) for name, column in columns.items()}
    for method, rows in here.groupby("method", sort=False, observed=True):
        certified = rows["certificate_holds"].dropna()
        reached: dict[str, Any] = {name: found.get(str(method), Mean()) for name, found in means.items()}
        yield SummaryRow(
            *group,
            method=str(method),
            step=step,
            n=len(rows),
            entropy_estimate=estimate,
            num_certified=int(certified.sum()) if len(certified) else None,
            **reached,
        )


def _means(here: "DataFrame", column: str) -> dict[str, Mean]:
    """Return the mean of a column by method, of rows of one group and step."""
    if here.empty:
        return {}
    found = curves(here, column)
    return {
        str(method): Mean(float(mean), float(error))
        for method, mean, error in zip(found["method"], found["mean"], found["standard_error"], strict=True)
    }


def status_counts(statuses: Sequence[CellStatus]) -> dict[str, int]:
    """Return how many cells are in each of `STATUSES`."""
    counts = Counter(item.status for item in statuses)
    return {status: counts[status] for status in STATUSES}


class Progress(NamedTuple):
    """Cells of a method in a group: how many are finished, how many failed, and how many there are."""

    num_finished: int
    num_failed: int
    num_cells: int


def progress_by_method(statuses: Sequence[CellStatus]) -> dict[tuple[Group, str], Progress]:
    """Return how far each method is in each group, in the order of the sweep."""
    found: dict[tuple[Group, str], Progress] = {}
    for item in statuses:
        key = group_of(item.cell), item.cell.acquisition.label
        finished, failed, cells = found.get(key, Progress(0, 0, 0))
        found[key] = Progress(finished + (item.status == "finished"), failed + (item.status == "failed"), cells + 1)
    return found


def group_of(cell: Cell) -> Group:
    """Return the labels of the world, kind of query and inference method of a cell."""
    return Group(cell.world.label, cell.query.label, cell.inference.label)


def status_record(sweep: Sweep, statuses: Sequence[CellStatus], folder: Path, *, lists_all: bool) -> dict[str, Any]:
    """Return the status of a sweep as plain data; all cells, or those only that run now or failed."""
    listed = [item for item in statuses if lists_all or item.status in ("running", "failed")]
    return {
        "name": sweep.name,
        "out": str(folder),
        "steps": sweep.steps,
        "num_cells": len(statuses),
        "counts": status_counts(statuses),
        "methods": [
            group._asdict() | {"method": method} | progress._asdict()
            for (group, method), progress in progress_by_method(statuses).items()
        ],
        "cells": [cell_record(item, folder) for item in listed],
    }


def cell_record(item: CellStatus, folder: Path) -> dict[str, Any]:
    """Return how a cell stands as plain data."""
    has_failed = item.status == "failed"
    return {
        "cell": item.cell.id,
        **group_of(item.cell)._asdict(),
        "method": item.cell.acquisition.label,
        "seed": item.cell.seed,
        "status": item.status,
        "num_steps": item.num_steps,
        "error": item.error if has_failed else None,
        "failure": str(failure_path(folder, item.cell)) if has_failed else None,
    }


def failure_path(folder: Path, cell: Cell) -> Path:
    """Return the file with the traceback of a cell that failed."""
    return Store(folder).failure_path(cell.id)
