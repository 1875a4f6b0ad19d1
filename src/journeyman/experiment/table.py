"""The table of a sweep: the results of its cells, as its own spec labels them."""

from pathlib import Path
from typing import TYPE_CHECKING

from journeyman.experiment import results
from journeyman.experiment.course import Job
from journeyman.experiment.spec import Sweep
from journeyman.experiment.store import Store, open_store
from journeyman.extras import require

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def sweep_table(sweep: Sweep, out: str | Path) -> "pd.DataFrame":
    """Return one row per finished cell and step 0..steps, cells in the order of the sweep.

    Labels are those of the sweep, whatever they were when a cell was run.
    """
    frame = results.to_frame(arrow_table(sweep, open_store(out)))
    frame.insert(1, "sweep", sweep.name)
    return frame


def arrow_table(sweep: Sweep, store: Store, *, is_compact: bool = False) -> "pa.Table":
    """Return the same as an Arrow table, without the name of the sweep."""
    parts = (_part(store, Job(cell, sweep.steps, sweep.metrics)) for cell in sweep.cells())
    return results.joined((part for part in parts if part is not None), is_compact=is_compact)


def _part(store: Store, job: Job) -> "pa.Table | None":
    if not store.is_finished(job):
        return None
    pa, compute = require("pyarrow", "tables"), require("pyarrow.compute", "tables")
    table = store.table(job.cell.id)
    assert table is not None
    table = table.filter(compute.less_equal(table["step"], job.num_steps)).sort_by("step")
    for name, label in results.labels_of(job.cell).items():
        column = pa.array([label] * table.num_rows)
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table
