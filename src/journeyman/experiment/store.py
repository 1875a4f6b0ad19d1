"""The folder of a sweep: what is finished, what has begun, what failed, and who is at work.

    results/<cell>.parquet     finished cells; a file of any other name may hold many of them
    checkpoints/<cell>.npz     cells that have begun
    failures/<cell>.json       cells that failed, with their traceback
    locks/<cell>               held while a process works on a cell

Every file is written whole or not at all, so that killing anything at any time leaves nothing half done. Folders can be
shared: a cell is worked on by one process at a time.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from journeyman.errors import InputError
from journeyman.experiment import results
from journeyman.experiment.cell import ID_LENGTH, Cell
from journeyman.experiment.checkpoints import load_checkpoint, save_checkpoint
from journeyman.experiment.course import Checkpoint, Job, Row
from journeyman.files import lock, whole_file

if TYPE_CHECKING:
    import pyarrow as pa

PARTS = ("results", "checkpoints", "failures", "locks")


@dataclass(frozen=True)
class Held:
    """What the results of a cell hold: answers, and the names of its metrics."""

    num_steps: int
    metrics: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Store:
    """An open folder."""

    path: Path

    def result_path(self, cell_id: str) -> Path:
        """Return where the results of a cell go."""
        return self.path / "results" / f"{cell_id}.parquet"

    def checkpoint_path(self, cell_id: str) -> Path:
        """Return where a cell that has begun is kept."""
        return self.path / "checkpoints" / f"{cell_id}.npz"

    def failure_path(self, cell_id: str) -> Path:
        """Return where the failure of a cell is told."""
        return self.path / "failures" / f"{cell_id}.json"

    # What there is

    @cached_property
    def shared_tables(self) -> tuple["pa.Table", ...]:
        """Tables with many cells, which somebody put among the results."""
        files = sorted(self.path.glob("results/*.parquet"))
        return tuple(results.read_table(file) for file in files if not _is_cell_id(file.stem))

    @cached_property
    def _shared(self) -> dict[str, tuple[int, Held]]:
        """Cells in shared tables: which table, and what it holds."""
        found: dict[str, tuple[int, Held]] = {}
        for number, table in enumerate(self.shared_tables):
            metrics = results.metrics_of(table)
            last = table.group_by("cell").aggregate([("step", "max")])
            for cell_id, step in zip(last["cell"].to_pylist(), last["step_max"].to_pylist(), strict=True):
                if cell_id not in found or found[cell_id][1].num_steps < step:
                    found[cell_id] = number, Held(step, metrics)
        return found

    def held(self, cell_id: str) -> Held | None:
        """Return what the results of a cell hold, None if there are none."""
        path = self.result_path(cell_id)
        if path.exists():
            table = results.read_table(path)
            return Held(table.num_rows - 1, results.metrics_of(table))
        return self._shared[cell_id][1] if cell_id in self._shared else None

    def is_finished(self, job: Job) -> bool:
        """Whether a cell has all that is asked for."""
        held = self.held(job.cell.id)
        return held is not None and held.num_steps >= job.num_steps and set(job.metrics) <= set(held.metrics)

    def table(self, cell_id: str) -> "pa.Table | None":
        """Return the results of a cell, None if there are none."""
        path = self.result_path(cell_id)
        if path.exists():
            return results.read_table(path)
        if cell_id not in self._shared:
            return None
        shared = self.shared_tables[self._shared[cell_id][0]]
        return results.only_cell(shared, cell_id)

    def has_failed(self, cell_id: str) -> bool:
        """Whether a cell failed and was not tried again."""
        return self.failure_path(cell_id).exists()

    def failure(self, cell_id: str) -> dict[str, Any]:
        """Return what is known about the failure of a cell."""
        return dict(json.loads(self.failure_path(cell_id).read_text("utf-8")))

    def checkpoint(self, job: Job) -> Checkpoint:
        """Return where a cell stands: its checkpoint, or results with fewer steps than are asked for now."""
        cell_id = job.cell.id
        begun, held = load_checkpoint(self.checkpoint_path(cell_id), job.metrics), self.held(cell_id)
        if held is None or held.num_steps <= begun.num_steps or not set(job.metrics) <= set(held.metrics):
            return begun
        table = self.table(cell_id)
        assert table is not None
        return Checkpoint(results.rows_of(table, cell_id))

    # Writing

    def keep(self, job: Job, checkpoint: Checkpoint) -> None:
        """Keep a cell that has begun."""
        save_checkpoint(self.checkpoint_path(job.cell.id), checkpoint, job.metrics)

    def finish(self, job: Job, rows: Sequence[Row]) -> None:
        """Keep the results of a cell; what was needed to get them goes."""
        cell_id = job.cell.id
        results.write_rows(self.result_path(cell_id), job.cell, rows, job.metrics)
        for path in (self.checkpoint_path(cell_id), self.failure_path(cell_id)):
            path.unlink(missing_ok=True)

    def fail(self, cell: Cell, error: str, traceback: str) -> None:
        """Keep the failure of a cell; its checkpoint stays, for a later try."""
        record = {"cell": cell.id, "what": cell.text, "error": error, "traceback": traceback, "record": cell.record()}
        with whole_file(self.failure_path(cell.id), "a failure") as temporary:
            temporary.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")

    def forget_failure(self, cell_id: str) -> None:
        """Let a failed cell be tried again."""
        self.failure_path(cell_id).unlink(missing_ok=True)

    # Who is at work

    def claim(self, cell_id: str) -> IO[str] | None:
        """Return a lock on a cell, None if another process has it; close it to give the cell back."""
        path = self.path / "locks" / cell_id
        file = path.open("a", encoding="utf-8")
        try:
            lock(file, path, "a cell")
        except InputError:
            file.close()
            return None
        return file

    def is_claimed(self, cell_id: str) -> bool:
        """Whether a process works on a cell now."""
        if not (self.path / "locks" / cell_id).exists():
            return False
        file = self.claim(cell_id)
        if file is not None:
            file.close()
        return file is None

    def release(self, cell_id: str, held: IO[str]) -> None:
        """Give a cell back that is finished or failed: nobody needs its lock any more."""
        with suppress(OSError):
            (self.path / "locks" / cell_id).unlink()
        held.close()


def open_store(path: str | Path) -> Store:
    """Open the folder of a sweep, made if need be."""
    folder = Path(path)
    try:
        for part in PARTS:
            (folder / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"a sweep must go to a folder that can be written, got {str(folder)!r}: {error.strerror}. "
            "Choose another place."
        ) from None
    return Store(folder)


def _is_cell_id(name: str) -> bool:
    return len(name) == ID_LENGTH and all(letter in "0123456789abcdef" for letter in name)
