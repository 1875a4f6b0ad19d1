"""Where cells run: in this process, in local processes, or on a Dask cluster.

What workers run is `advance`, which needs nothing but its arguments; results come back to the process that started it,
and it alone writes. So workers need no shared folder, and one that dies loses no more than its steps since the last
checkpoint.
"""

import multiprocessing
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from multiprocessing import connection
from typing import Any

from journeyman.errors import InputError
from journeyman.experiment.course import Checkpoint, Job, advance
from journeyman.threads import one_thread

EXECUTORS = ("local", "dask")


def task(job: Job, checkpoint: Checkpoint, **options: Any) -> Checkpoint:
    """Advance a cell on one core: libraries that would use more are told not to."""
    with one_thread():
        return advance(job, checkpoint, **options)


_flag: Any = None  # of the parent of this process: not 0 once tasks have to end


def prepare_process(flag: Any = None) -> None:
    """Make a new process a worker: it leaves interruptions to its parent, and ends with it, even if that is killed."""
    global _flag
    _flag = flag
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


def process_task(job: Job, checkpoint: Checkpoint, **options: Any) -> Checkpoint:
    """Do a task in a process that was prepared."""
    return task(job, checkpoint, is_stopped_fn=lambda: bool(_flag.value), **options)


class Workers(ABC):
    """Workers that take tasks. Lost ones are replaced."""

    @property
    @abstractmethod
    def num_slots(self) -> int:
        """How many tasks run at once."""

    @abstractmethod
    def submit(self, job: Job, checkpoint: Checkpoint, *, seconds: float) -> Future[Checkpoint]:
        """Hand out a task: go on with a cell for so long."""

    def error_of(self, future: Future[Checkpoint]) -> BaseException | None:
        """Return the error that a task ended with, None if it ended well."""
        return future.exception()

    def is_lost(self, error: BaseException) -> bool:
        """Whether an error says that a worker was lost, and not that its task is wrong."""
        return False

    def stop(self) -> None:  # noqa: B027
        """Let tasks end after the step that they are in; nothing happens where they cannot be told."""

    def trouble(self) -> str:
        """Say why nothing can go on now, and what would help; "" if all is well."""
        return ""


class ThisProcess(Workers):
    """One worker: this process. A task is done when it is handed out."""

    num_slots = 1
    _is_stopped = False

    def submit(self, job: Job, checkpoint: Checkpoint, *, seconds: float) -> Future[Checkpoint]:
        """Do a task now."""
        future: Future[Checkpoint] = Future()
        try:
            future.set_result(task(job, checkpoint, seconds=seconds, is_stopped_fn=lambda: self._is_stopped))
        except Exception as error:
            future.set_exception(error)
        return future

    def stop(self) -> None:
        """Let the task end after its step."""
        self._is_stopped = True


def check_executor(executor: str, scheduler: str | None) -> None:
    """Refuse an executor that does not exist, and one that does not go with its scheduler."""
    if executor not in EXECUTORS:
        raise InputError(f"executor must be one of {', '.join(EXECUTORS)}, got {executor!r}. Leave it out for 'local'.")
    if executor == "dask" and scheduler is None:
        raise InputError(
            "executor 'dask' must know its scheduler, got none. Start one with `dask scheduler`, and give its address: "
            "--scheduler tcp://HOST:8786"
        )
    if executor != "dask" and scheduler is not None:
        raise InputError(f"a scheduler must come with executor 'dask', got {scheduler!r} with {executor!r}. Add it.")


@contextmanager
def workers(executor: str, num_workers: int, scheduler: str | None) -> Iterator[Workers]:
    """Give workers, and let them go at the end.

    Parameters
    ----------
    executor
        "local": processes on this machine; this one alone for one worker. "dask": workers of a scheduler.
    num_workers
        Local processes.
    scheduler
        Address of a Dask scheduler, such as "tcp://10.0.0.1:8786".
    """
    check_executor(executor, scheduler)
    if executor == "dask":
        from journeyman.experiment.dask_cluster import dask_cluster

        assert scheduler is not None
        with dask_cluster(scheduler) as cluster:
            yield cluster
        return
    if num_workers == 1:
        yield ThisProcess()
        return
    from journeyman.experiment.local_processes import LocalProcesses

    pool = LocalProcesses(num_workers)
    try:
        yield pool
    finally:
        pool.close()
