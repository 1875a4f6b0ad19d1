"""Workers: what does tasks, in this process, in local ones, or on a Dask cluster.

A task is a function and its arguments, and needs nothing else. Its result comes back to the process that handed it out,
which alone writes: workers need no shared folder, and one that dies loses no more than its task. A task uses one core;
one that takes long asks `is_stop_wanted` between its steps, and ends early if somebody wants to stop.
"""

import logging
import signal
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from journeyman.checks import one_of
from journeyman.errors import InputError
from journeyman.logs import log_event
from journeyman.threads import one_thread

EXECUTORS = ("local", "dask")
MAX_LOSSES = 3  # workers that a task may lose before it counts as failed
POLL_SECONDS = 0.5
_stop_fn: ContextVar[Callable[[], bool]] = ContextVar("stop_fn", default=lambda: False)

TaskFn = Callable[..., Any]


def is_stop_wanted() -> bool:
    """Whether the task that asks should end after the step that it is in."""
    return _stop_fn.get()()


def do_task(task_fn: TaskFn, *arguments: Any, stop_fn: Callable[[], bool] = lambda: False) -> Any:
    """Do a task on one core: libraries that would use more are told not to."""
    token = _stop_fn.set(stop_fn)
    try:
        with one_thread():
            return task_fn(*arguments)
    finally:
        _stop_fn.reset(token)


class Workers(ABC):
    """Workers that take tasks. Lost ones are replaced."""

    @property
    @abstractmethod
    def num_slots(self) -> int:
        """How many tasks run at once."""

    @abstractmethod
    def submit(self, task_fn: TaskFn, *arguments: Any, key: str = "") -> Future[Any]:
        """Hand out a task; `key` says what it belongs to, so that the worker that had it last may get it again."""

    def share(self, value: Any) -> Any:
        """Return what stands for a large value as an argument of tasks, so that it is sent once and not with each."""
        return value

    def error_of(self, future: Future[Any]) -> BaseException | None:
        """Return the error that a task ended with, None if it ended well."""
        return future.exception()

    def is_lost(self, error: BaseException) -> bool:
        """Whether an error says that a worker was lost, and not that its task is wrong."""
        return False

    def stop(self) -> None:  # noqa: B027
        """Let tasks end after the step that they are in; nothing happens where they cannot be told."""

    def trouble(self) -> str:
        """Say why tasks have to wait, and what would help; "" if all is well."""
        return ""


class ThisProcess(Workers):
    """One worker: this process. A task is done when it is handed out."""

    num_slots = 1
    _is_stopped = False

    def submit(self, task_fn: TaskFn, *arguments: Any, key: str = "") -> Future[Any]:
        """Do a task now."""
        future: Future[Any] = Future()
        try:
            future.set_result(do_task(task_fn, *arguments, stop_fn=lambda: self._is_stopped))
        except Exception as error:
            future.set_exception(error)
        return future

    def stop(self) -> None:
        """Let the task end after its step."""
        self._is_stopped = True


def check_executor(executor: str, scheduler: str | None) -> None:
    """Refuse an executor that does not exist, and one that does not go with its scheduler."""
    one_of(executor, EXECUTORS, "executor", "Leave it out for 'local'.")
    if executor == "dask" and scheduler is None:
        raise InputError(
            "executor 'dask' must know its scheduler, got none. Start one with `dask scheduler`, and give its address: "
            "--scheduler tcp://HOST:8786"
        )
    if executor != "dask" and scheduler is not None:
        raise InputError(
            f"a scheduler must come with executor 'dask', got {scheduler!r} with {executor!r}. Say --executor dask."
        )


@contextmanager
def workers(executor: str, num_workers: int, scheduler: str | None = None) -> Iterator[Workers]:
    """Give workers, and let them go at the end.

    executor "local": so many processes on this machine, and this one alone for one worker; "dask": the workers of the
    scheduler at an address such as "tcp://10.0.0.1:8786".
    """
    check_executor(executor, scheduler)
    if executor == "dask":
        from journeyman.storage.dask_cluster import dask_cluster

        assert scheduler is not None
        with dask_cluster(scheduler) as cluster:
            yield cluster
    elif num_workers == 1:
        with one_thread():  # once for all tasks
            yield ThisProcess()
    else:
        from journeyman.storage.processes import LocalProcesses

        pool = LocalProcesses(num_workers)
        try:
            yield pool
        finally:
            pool.close()


class Task(NamedTuple):
    """What is to be done, and what it belongs to."""

    key: str
    task_fn: TaskFn
    arguments: tuple[Any, ...]


class Outcome(NamedTuple):
    """How a task ended: its result, or its error and that in words."""

    key: str
    result: Any
    error: BaseException | None = None
    words: str = ""


class Tasks:
    """Tasks in progress on some workers. Those whose worker was lost are handed out again, a few times."""

    def __init__(self, team: Workers) -> None:
        self.team = team
        self.running: dict[Future[Any], Task] = {}
        self._losses: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self.running)

    @property
    def has_room(self) -> bool:
        """Whether a worker is free."""
        return len(self.running) < self.team.num_slots

    def submit(self, key: str, task_fn: TaskFn, *arguments: Any) -> None:
        """Hand out a task."""
        self.running[self.team.submit(task_fn, *arguments, key=key)] = Task(key, task_fn, arguments)

    def ended(self) -> list[Outcome]:
        """Return the outcomes of tasks that have ended by now, or in half a second."""
        done, _ = wait(self.running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
        found = [self._outcome(future, self.running.pop(future)) for future in done]
        return [outcome for outcome in found if outcome is not None]

    def rest(self) -> list[Outcome]:
        """Wait for all tasks, unless they cannot continue, and return those that ended well: after `team.stop`."""
        while not all(future.done() for future in self.running) and not self.team.trouble():
            wait(self.running, timeout=POLL_SECONDS)
        return [
            Outcome(task.key, future.result())
            for future, task in self.running.items()
            if future.done() and self.team.error_of(future) is None
        ]

    def _outcome(self, future: Future[Any], task: Task) -> Outcome | None:
        """Return how a task ended; None if it is done once more."""
        error = self.team.error_of(future)
        if error is None:
            return Outcome(task.key, future.result())
        words = f"{type(error).__name__}: {error}"
        if self.team.is_lost(error):
            self._losses[task.key] += 1
            log_event("workers", "lost", logging.WARNING, task=task.key, times=self._losses[task.key])
            if self._losses[task.key] < MAX_LOSSES:
                self.submit(task.key, task.task_fn, *task.arguments)
                return None
            words = f"its worker died {self._losses[task.key]} times (out of memory?): {words}"
        return Outcome(task.key, None, error, words)


def run_each(
    task_fn: TaskFn, arguments: Iterable[tuple[Any, ...]], on_result_fn: Callable[[Any], None], *, num_workers: int
) -> None:
    """Do a task for each tuple of arguments on local workers, and take results as they come.

    The first error ends it. After a Ctrl-C, tasks in progress end and are taken before KeyboardInterrupt is raised.
    """
    waiting = list(enumerate(arguments))[::-1]
    if num_workers > 1:
        from journeyman.storage.processes import check_script

        check_script()
    with (
        workers("local", max(1, min(num_workers, len(waiting)))) as team,
        first_interruption(team.stop) as interruption,
    ):
        tasks = Tasks(team)
        while (waiting or len(tasks)) and not interruption.is_wanted:
            while waiting and tasks.has_room and not interruption.is_wanted:
                number, values = waiting.pop()
                tasks.submit(str(number), task_fn, *values)
            for outcome in tasks.ended():
                if outcome.error is not None:
                    raise outcome.error
                on_result_fn(outcome.result)
        if interruption.is_wanted:
            for outcome in tasks.rest():
                on_result_fn(outcome.result)
            raise KeyboardInterrupt


class Interruption:
    """Whether somebody wants to stop."""

    is_wanted = False


@contextmanager
def first_interruption(on_first_fn: Callable[[], None]) -> Iterator[Interruption]:
    """Take the first Ctrl-C in this block as a wish, told to `on_first_fn`; the second one is as usual.

    Where somebody else takes care of it, or in a thread, nothing changes.
    """
    found = Interruption()
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield found
        return

    def take(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        found.is_wanted = True
        on_first_fn()

    signal.signal(signal.SIGINT, take)
    try:
        yield found
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
