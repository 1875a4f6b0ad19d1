"""Other processes that run sweeps, for tests."""

import time

from faults.forking import Forker


class Starter(Forker):
    """Starts processes that run sweeps: see sweep_process.py."""

    def __init__(self):
        super().__init__("experiment.sweep_process")

    def run(self, out, changes=None, *, progress=False, max_file_bytes=None, connect_seconds=None, **options):
        """Start a process that runs a sweep."""
        out.mkdir(exist_ok=True)
        log = out.parent / f"{out.name}-{time.monotonic_ns()}.log"
        arguments = {"out": str(out), "changes": changes or {}, "options": {"progress": progress, **options}}
        arguments |= {"max_file_bytes": max_file_bytes, "connect_seconds": connect_seconds}
        return self.start("experiment.sweep_process", log, **arguments)


def checkpoints(out):
    """Cells of a folder that have begun, by their names."""
    return sorted(path.stem for path in (out / "checkpoints").glob("*.npz"))


def finished(out):
    """Cells of a folder that are finished, and what tells whether they were written again."""
    return {path.stem: (path.stat().st_ino, path.stat().st_mtime_ns) for path in (out / "results").glob("*.parquet")}
