"""Status of a sweep: what is finished, running, begun, waiting or failed."""

from dataclasses import dataclass
from pathlib import Path

from journeyman.experiment.cell import Cell
from journeyman.experiment.cell_run import Job
from journeyman.experiment.spec import Sweep
from journeyman.experiment.store import Store

STATUSES = ("finished", "running", "begun", "waiting", "failed")


@dataclass(frozen=True)
class CellStatus:
    """A cell, one of `STATUSES`, how many answers it has, and why it failed."""

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
    held = store.found(job)
    if held is not None:
        return CellStatus(cell, "finished", held.num_steps)
    num_steps = max(0, store.checkpoint(job).num_steps)
    if store.has_failed(cell.id):
        return CellStatus(cell, "failed", num_steps, str(store.failure(cell.id)["error"]))
    if store.is_claimed(cell.id):
        return CellStatus(cell, "running", num_steps)
    return CellStatus(cell, "begun" if num_steps else "waiting", num_steps)
