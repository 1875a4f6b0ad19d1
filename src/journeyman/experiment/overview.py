"""What there is of a sweep: how each of its cells stands, and the table of its results, as its own spec labels them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from journeyman.experiment import results
from journeyman.experiment.cell import Cell
from journeyman.experiment.cell_run import Job
from journeyman.experiment.metrics import METRICS, columns_of
from journeyman.experiment.spec import Sweep
from journeyman.experiment.store import Store
from journeyman.extras import require

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

STATUSES = ("finished", "running", "begun", "waiting", "failed")


@dataclass(frozen=True)
class CellStatus:
    """How a cell stands.

    status: one of `STATUSES`; num_steps: how many answers it has; error: why it failed, else empty.
    """

    cell: Cell
    status: str
    num_steps: int
    error: str = ""


def sweep_status(sweep: Sweep, out: str | Path) -> tuple[CellStatus, ...]:
    """Return how each cell of a sweep stands, in the order in which they are run."""
    store = Store(Path(out))
    return tuple(_status(store, Job(cell, sweep.steps, sweep.metrics)) for cell in sweep.cells())


def _status(store: Store, job: Job) -> CellStatus:
    cell = job.cell
    stored = store.found(job)
    if stored is not None:
        return CellStatus(cell, "finished", stored.num_steps)
    num_steps = max(0, store.checkpoint(job).num_steps)
    if store.has_failed(cell.id):
        return CellStatus(cell, "failed", num_steps, str(store.failure(cell.id)["error"]))
    if store.is_claimed(cell.id):
        return CellStatus(cell, "running", num_steps)
    return CellStatus(cell, "begun" if num_steps else "waiting", num_steps)


def sweep_table(sweep: Sweep, out: str | Path) -> "pd.DataFrame":
    """Return one row per finished cell and step 0..steps, cells in the order of the sweep.

    Labels are those of the sweep, whatever they were when a cell was run, and so are metrics: others are missing, even
    if they were measured.
    """
    frame = results.to_frame(arrow_table(sweep, Store(Path(out))))
    frame.insert(1, "sweep", sweep.name)
    return frame


def arrow_table(sweep: Sweep, store: Store, *, is_compact: bool = False, has_shorter: bool = False) -> "pa.Table":
    """Return the same as an Arrow table, without the name of the sweep.

    has_shorter: whether cells count that were finished with fewer steps than the sweep asks for.
    """
    parts = (_part(store, Job(cell, sweep.steps, sweep.metrics), has_shorter) for cell in sweep.cells())
    return results.joined((part for part in parts if part is not None), is_compact=is_compact)


def _part(store: Store, job: Job, has_shorter: bool) -> "pa.Table | None":
    stored = store.found(job) or (store.longest(job) if has_shorter else None)
    if stored is None:
        return None
    pa = require("pyarrow", "tables")
    table = store.table(job.cell.id, stored).slice(0, job.num_steps + 1)
    values = dict.fromkeys(columns_of(set(METRICS) - set(job.metrics))) | results.labels_of(job.cell)
    for name, value in values.items():
        index = table.schema.get_field_index(name)
        kind = pa.string() if isinstance(value, str) else table.schema.field(index).type
        table = table.set_column(index, name, pa.array([value] * table.num_rows, kind))
    return table
