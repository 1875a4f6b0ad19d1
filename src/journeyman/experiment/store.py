"""The folder of a sweep: what is finished, what has begun, what failed, and who is at work.

    results/<cell>.parquet     finished cells; a file of any other name may hold many of them
    checkpoints/<cell>.npz     cells that have begun
    failures/<cell>.json       cells that failed, with their traceback
    locks/<cell>               held while a process works on a cell

Every file is written whole or not at all, so that killing anything at any time leaves nothing half done. Folders can be
shared: a cell is worked on by one process at a time.
"""

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from journeyman.errors import InputError
from journeyman.experiment import results
from journeyman.experiment.cell import ID_LENGTH, Cell
from journeyman.experiment.cell_run import Checkpoint, Job, Row, load_checkpoint, save_checkpoint
from journeyman.experiment.results import StoredResult
from journeyman.storage.files import remove_leftovers, try_lock, whole_file

if TYPE_CHECKING:
    import pyarrow as pa

PARTS = ("results", "checkpoints", "failures", "locks")


@dataclass(frozen=True, eq=False)
class Store:
    """A folder; it need not be there to be looked at."""

    path: Path
    _seen: dict[Path, tuple[Any, dict[str, StoredResult]]] = field(default_factory=dict, repr=False)
    _tables: dict[Path, "pa.Table"] = field(default_factory=dict, repr=False)

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
    def _shared(self) -> dict[str, list[StoredResult]]:
        """Results of cells in files of other names, which may hold many."""
        found: dict[str, list[StoredResult]] = {}
        for file in sorted(self.path.glob("results/*.parquet")):
            if not _is_cell_id(file.stem):
                for cell_id, stored in results.results_in(file).items():
                    found.setdefault(cell_id, []).append(stored)
        return found

    def _own(self, cell_id: str) -> StoredResult | None:
        """Return what the file of a cell holds; it is looked into again only if it is another one."""
        path = self.result_path(cell_id)
        try:
            found = path.stat()
        except OSError:
            return None
        version = found.st_ino, found.st_size, found.st_mtime_ns
        if path not in self._seen or self._seen[path][0] != version:
            self._seen[path] = version, results.results_in(path)
        return self._seen[path][1].get(cell_id)

    def stored(self, cell_id: str) -> list[StoredResult]:
        """Return all results of a cell: mostly none or one."""
        own = self._own(cell_id)
        return [*([] if own is None else [own]), *self._shared.get(cell_id, [])]

    def found(self, job: Job) -> StoredResult | None:
        """Return results of a cell that have all that is asked for, None if there are none."""
        return next((item for item in self.stored(job.cell.id) if item.has(job.num_steps, job.metrics)), None)

    def longest(self, job: Job, at_least: int = 0) -> StoredResult | None:
        """Return the results of a cell with the most answers, however many are asked for; None if all have fewer."""
        usable = [item for item in self.stored(job.cell.id) if item.has(at_least, job.metrics)]
        return max(usable, key=lambda item: item.num_steps, default=None)

    def is_finished(self, job: Job) -> bool:
        """Whether a cell has all that is asked for."""
        return self.found(job) is not None

    def table(self, cell_id: str, stored: StoredResult) -> "pa.Table":
        """Return results of a cell, in the order of its steps."""
        path = stored.path
        whole = self._tables.get(path)
        if whole is None:
            whole = results.read_table(path)
            if not _is_cell_id(path.stem):  # it holds other cells too, which may be wanted next
                self._tables[path] = whole
        return results.only_cell(whole, cell_id).sort_by("step")

    def has_failed(self, cell_id: str) -> bool:
        """Whether a cell failed and was not tried again."""
        return self.failure_path(cell_id).exists()

    def failure(self, cell_id: str) -> dict[str, Any]:
        """Return what is known about the failure of a cell."""
        try:
            return dict(json.loads(self.failure_path(cell_id).read_text("utf-8")))
        except (OSError, ValueError, TypeError, RecursionError) as error:  # tried again at this moment, or damaged
            return {"cell": cell_id, "error": f"unknown, its record cannot be read: {error}", "traceback": ""}

    def checkpoint(self, job: Job) -> Checkpoint:
        """Return where a cell stands: its checkpoint, or results with fewer steps than are asked for now."""
        begun = load_checkpoint(self.checkpoint_path(job.cell.id), job.metrics)
        longer = self.longest(job, begun.num_steps + 1)
        return begun if longer is None else Checkpoint(results.rows_of(self.table(job.cell.id, longer)))

    # Writing

    def keep(self, job: Job, checkpoint: Checkpoint) -> None:
        """Keep a cell that has begun."""
        save_checkpoint(self.checkpoint_path(job.cell.id), checkpoint, job.metrics)

    def finish(self, job: Job, rows: Sequence[Row]) -> None:
        """Keep the results of a cell; what was needed to get them goes."""
        cell_id = job.cell.id
        self._set_aside(job, len(rows) - 1)
        results.write_rows(self.result_path(cell_id), job.cell, rows, job.metrics)
        for path in (self.checkpoint_path(cell_id), self.failure_path(cell_id)):
            path.unlink(missing_ok=True)

    def _set_aside(self, job: Job, num_steps: int) -> None:
        """Keep older results of a cell, under another name, that have what the new ones do not."""
        old = self._own(job.cell.id)
        if old is None or StoredResult(num_steps, job.metrics, old.path).has(old.num_steps, old.metrics):
            return
        aside = old.path.with_stem("-".join([job.cell.id, str(old.num_steps), *old.metrics]))
        with whole_file(aside, "results", advice="Make room; run again to resume.") as temporary:
            shutil.copyfile(old.path, temporary)
        self.__dict__.pop("_shared", None)  # there is a new one

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
        while True:
            try:
                file = path.open("a", encoding="utf-8")
            except OSError as error:
                raise _unwritable(self.path, error) from None
            is_ours = try_lock(file)
            if is_ours and _is_at(file, path):
                return file
            file.close()
            if not is_ours:
                return None
            # else its last owner removed it before we had it: the lock of a file that nobody sees

    def is_claimed(self, cell_id: str) -> bool:
        """Whether a process works on a cell now."""
        path = self.path / "locks" / cell_id
        try:
            with path.open(encoding="utf-8") as file:
                return not try_lock(file)
        except OSError:
            return False

    def release(self, cell_id: str, lock_file: IO[str]) -> None:
        """Give a cell back that is finished or failed: nobody needs its lock any more."""
        with suppress(OSError):
            (self.path / "locks" / cell_id).unlink()
        lock_file.close()


def open_store(path: str | Path) -> Store:
    """Open the folder of a sweep to write to, made if need be."""
    folder = Path(path)
    try:
        for part in PARTS:
            (folder / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from None
    for part in PARTS:
        remove_leftovers(folder / part)
    return Store(folder)


def _unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"a sweep must go to a folder that can be written, got {str(folder)!r}: {error.strerror}. Choose another place."
    )


def _is_at(file: IO[str], path: Path) -> bool:
    """Whether a file that is open is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        return False


def _is_cell_id(name: str) -> bool:
    return len(name) == ID_LENGTH and all(letter in "0123456789abcdef" for letter in name)
