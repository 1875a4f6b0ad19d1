"""Where cells run: in this process, in local processes, or on a Dask cluster.

All of them are `concurrent.futures` executors behind one small class. What they run is `advance`, which needs nothing
but its arguments; results come back to the process that started it, and it alone writes. So workers need no shared
folder, and a worker that dies loses no more than its steps since the last checkpoint.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection
from typing import Any

from journeyman.errors import InputError
from journeyman.experiment.course import Checkpoint, advance
from journeyman.extras import require
from journeyman.threads import one_thread

EXECUTORS = ("local", "dask")
CONNECT_SECONDS = 20.0


def task(*arguments: Any, **options: Any) -> Checkpoint:
    """Advance a cell on one core: libraries that would use more are told not to."""
    with one_thread():
        return advance(*arguments, **options)


class Workers:
    """Workers that take tasks. Lost ones are replaced."""

    def submit(self, *arguments: Any, **options: Any) -> Future[Checkpoint]:
        """Hand out a task."""
        raise NotImplementedError

    @property
    def num_slots(self) -> int:
        """How many tasks run at once."""
        raise NotImplementedError

    def is_lost(self, error: BaseException) -> bool:
        """Whether an error says that a worker was lost, and not that its task is wrong; replaces the lost."""
        return False


class ThisProcess(Workers):
    """One worker: this process. A task is done when it is handed out."""

    num_slots = 1

    def submit(self, *arguments: Any, **options: Any) -> Future[Checkpoint]:
        """Do a task now."""
        future: Future[Checkpoint] = Future()
        try:
            future.set_result(task(*arguments, **options))
        except Exception as error:
            future.set_exception(error)
        return future


class LocalProcesses(Workers):
    """Processes on this machine, one core each."""

    def __init__(self, num_workers: int) -> None:
        self._num_workers = num_workers
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        # Fresh processes: threads of this one, and what they hold, must not be copied.
        return ProcessPoolExecutor(
            self._num_workers, mp_context=multiprocessing.get_context("spawn"), initializer=prepare_process
        )

    @property
    def num_slots(self) -> int:
        """How many tasks run at once."""
        return self._num_workers

    def submit(self, *arguments: Any, **options: Any) -> Future[Checkpoint]:
        """Hand out a task; a broken pool is replaced by a new one."""
        try:
            return self._pool.submit(task, *arguments, **options)
        except BrokenProcessPool:
            self._pool.shutdown(wait=False)
            self._pool = self._new_pool()
            return self._pool.submit(task, *arguments, **options)

    def is_lost(self, error: BaseException) -> bool:
        """Whether a process died."""
        return isinstance(error, BrokenProcessPool)

    def close(self) -> None:
        """End all processes."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class DaskCluster(Workers):
    """Workers of a Dask scheduler, wherever they are; Dask hands a task of a lost worker to another one."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor: Executor = client.get_executor(pure=False, retries=0)

    @property
    def num_slots(self) -> int:
        """Threads of all workers there are now, at least one: a task that waits for a worker does no harm."""
        return max(1, sum(int(count) for count in self._client.nthreads().values()))

    def submit(self, *arguments: Any, **options: Any) -> Future[Checkpoint]:
        """Hand out a task."""
        future: Future[Checkpoint] = self._executor.submit(task, *arguments, **options)
        return future


def prepare_process() -> None:
    """Leave interruptions to the parent, and end with it, even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


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
    if executor not in EXECUTORS:
        raise InputError(f"executor must be one of {', '.join(EXECUTORS)}, got {executor!r}. Leave it out for 'local'.")
    if executor == "dask":
        with _dask_client(scheduler) as client:
            yield DaskCluster(client)
        return
    if scheduler is not None:
        raise InputError(f"a scheduler must come with executor 'dask', got {scheduler!r} with {executor!r}. Add it.")
    if num_workers == 1:
        yield ThisProcess()
        return
    pool = LocalProcesses(num_workers)
    try:
        yield pool
    finally:
        pool.close()


def _dask_client(scheduler: str | None) -> Any:
    distributed = require("distributed", "cluster")
    if scheduler is None:
        raise InputError(
            "executor 'dask' must know its scheduler, got none. Start one with `dask scheduler`, and give its address: "
            "--scheduler tcp://HOST:8786"
        )
    try:
        return distributed.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, ImportError) as error:
        raise InputError(
            f"the scheduler must answer, got nothing from {scheduler!r} ({error}). Is it running, and is that its "
            "address?"
        ) from None
