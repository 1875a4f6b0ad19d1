"""Workers of a Dask scheduler, wherever they are: on Slurm, Kubernetes, machines reached by SSH, or this one.

Dask hands the task of a worker that died to another one. Results come back to this process, which alone writes.
"""

import logging
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from journeyman.errors import InputError
from journeyman.extras import require
from journeyman.registry import PLUGINS
from journeyman.storage.workers import TaskFn, Workers, do_task

CONNECT_SECONDS = 10.0  # for a scheduler to answer, at the beginning and when it was lost
POLL_SECONDS = 0.1
COUNT_SECONDS = 1.0  # how often workers are counted
PATIENCE_SECONDS = 5.0  # without workers, before that is said
DEFAULT_PORT = 8786
ADVICE = "What was kept is safe: run the same command again to resume, with this scheduler or without one."


class OtherVersion(InputError):
    """A worker has another version of journeyman, whose results may differ."""


def own_version() -> str:
    """Return the version of journeyman in this process."""
    return version("journeyman")


def remote_task(wanted_version: str, plugins: str, task_fn: TaskFn, *arguments: Any) -> Any:
    """Do a task on a worker that has the same version as the process that asks, and its plugins."""
    found = own_version()
    if found != wanted_version:
        raise OtherVersion(
            f"workers must have the same version of journeyman as the process that hands out tasks, got {found} on a "
            f"worker and {wanted_version} here. Install the same on both."
        )
    os.environ.setdefault(PLUGINS, plugins)
    return do_task(task_fn, *arguments)


class DaskCluster(Workers):
    """All workers of a scheduler; they may come and go."""

    def __init__(self, client: Any, scheduler: str) -> None:
        self._client, self._scheduler = client, scheduler
        self._executor: Executor = client.get_executor(pure=False, retries=0)
        self._num_slots, self._counted = 0, -COUNT_SECONDS
        self._since = time.monotonic()  # when there was a worker, or the beginning

    @property
    def num_slots(self) -> int:
        """Threads of all workers there are now."""
        now = time.monotonic()
        if now - self._counted >= COUNT_SECONDS:
            self._await_scheduler()
            try:
                threads = self._client.nthreads()
            except (OSError, CancelledError, RuntimeError, TimeoutError) as error:
                raise self._lost_scheduler(error) from None
            self._num_slots, self._counted = sum(int(count) for count in threads.values()), now
            self._since = now if self._num_slots else self._since
        return self._num_slots

    def submit(self, task_fn: TaskFn, *arguments: Any, key: str = "") -> Future[Any]:
        """Hand out a task."""
        self._await_scheduler()
        plugins = os.environ.get(PLUGINS, "")
        future: Future[Any] = self._executor.submit(remote_task, own_version(), plugins, task_fn, *arguments)
        return future

    def share(self, value: Any) -> Any:
        """Send a value to all workers there are now; others get it from them."""
        self._await_scheduler()
        return self._client.scatter(value, broadcast=True, hash=False)

    def error_of(self, future: Future[Any]) -> BaseException | None:
        """Return the error of a task; raises one that concerns all tasks."""
        try:
            error = future.exception()
        except CancelledError as cancelled:  # all are when the connection is lost, even if it comes back
            self._await_scheduler()
            return cancelled
        if isinstance(error, OtherVersion):
            raise error
        return error

    def is_lost(self, error: BaseException) -> bool:
        """Whether a task was cancelled; one that killed several workers is wrong, as Dask's own error says."""
        return isinstance(error, CancelledError)

    def trouble(self) -> str:
        """Say that there are no workers, if there have been none for some seconds."""
        if self.num_slots or time.monotonic() - self._since < PATIENCE_SECONDS:
            return ""
        return (
            f"there are no workers at {self._scheduler}. Start some: dask worker {self._scheduler} --nthreads 1. "
            "If they end at once, is journeyman installed where they run?"
        )

    def _await_scheduler(self) -> None:
        """Give Dask the time to connect again, or say that it could not."""
        while self._client.status == "connecting":
            time.sleep(POLL_SECONDS)
        if self._client.status != "running":
            raise self._lost_scheduler(f"connection {self._client.status}")

    def _lost_scheduler(self, reason: object) -> InputError:
        return InputError(
            f"the scheduler must stay until all tasks are done, got no more answers from {self._scheduler!r} "
            f"({reason}). {ADVICE}"
        )


@contextmanager
def dask_cluster(scheduler: str) -> Iterator[DaskCluster]:
    """Give the workers of the scheduler at an address such as "tcp://10.0.0.1:8786"."""
    distributed = require("distributed", "cluster")
    check_answer(scheduler)
    with _quiet("distributed.client"):  # a lost scheduler is said in our words, once
        try:
            client = distributed.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError, ImportError) as error:
            raise no_answer(scheduler, error) from None
        try:
            yield DaskCluster(client, scheduler)
        finally:
            client.close()


def check_answer(scheduler: str) -> None:
    """Refuse an address where nobody listens: Dask itself takes long to say so."""
    scheme, separator, place = scheduler.rpartition("://")
    if separator and scheme not in ("tcp", "tls"):
        return  # Dask knows
    try:
        address = urlsplit(f"//{place}")
        with socket.create_connection((address.hostname, address.port or DEFAULT_PORT), timeout=CONNECT_SECONDS):
            pass
    except (OSError, ValueError) as error:
        raise no_answer(scheduler, error) from None


def no_answer(scheduler: str, reason: object) -> InputError:
    """Return the error for a scheduler that does not answer."""
    return InputError(
        f"the scheduler must answer, got nothing from {scheduler!r} ({reason}). Is it running, and is that its address?"
    )


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)
