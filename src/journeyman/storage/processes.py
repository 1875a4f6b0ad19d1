"""Local workers: processes on this machine, one core each.

Each is a pool of its own, so that one that dies takes no other with it, and it is known which task killed it. They are
new processes that import the script that started them, as Python's `spawn` does: what it registers when it is imported
(a world, an acquisition function ...) they have too.
"""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from multiprocessing.context import SpawnContext
from typing import Any

from journeyman.errors import InputError
from journeyman.storage.workers import TaskFn, Workers, do_task

MAX_STILLBORN = 3  # processes that may die in a row before they are ready
GUARD = "In a script, put what starts them under `if __name__ == '__main__':`"
_flag: Any = None  # of the parent of this process: not 0 once tasks have to end


def check_script() -> None:
    """Refuse to hand out tasks in a new worker that only imports the script of its parent, and would wait for it."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise InputError(f"workers must be started by one process, got a worker that starts others. {GUARD}.")


def prepare_process(flag: Any) -> None:
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


def do_in_process(task_fn: TaskFn, *arguments: Any) -> Any:
    """Do a task in a process that was prepared."""
    return do_task(task_fn, *arguments, stop_fn=lambda: bool(_flag.value))


class Slot:
    """One process, the task that it does, and what it did last."""

    def __init__(self, context: SpawnContext, flag: Any) -> None:
        self.pool = ProcessPoolExecutor(1, mp_context=context, initializer=prepare_process, initargs=(flag,))
        self.ready: Future[int] = self.pool.submit(os.getpid)
        self.task: Future[Any] | None = None
        self.key = ""

    @property
    def is_free(self) -> bool:
        """Whether it has nothing to do."""
        return self.task is None or self.task.done()

    @property
    def is_stillborn(self) -> bool:
        """Whether its process died before it was ready."""
        return self.ready.done() and self.ready.exception() is not None

    @property
    def is_dead(self) -> bool:
        """Whether its process died."""
        return self.is_stillborn or (
            self.task is not None and self.task.done() and isinstance(self.task.exception(), BrokenProcessPool)
        )

    def end(self) -> None:
        """Let the process end; at once if it is at work, since nobody waits for that any more."""
        if not (self.is_free and self.ready.done()):
            for process in list((self.pool._processes or {}).values()):
                process.kill()
        self.pool.shutdown(wait=False, cancel_futures=True)


class LocalProcesses(Workers):
    """Processes on this machine: started when they are needed, replaced when they die."""

    def __init__(self, num_workers: int) -> None:
        # New processes: threads of this one, and what they hold, must not be copied.
        self._context = multiprocessing.get_context("spawn")
        self._flag = self._context.RawValue("b", 0)  # without a lock, which a killed process could keep
        self._num_workers = num_workers
        self._slots: list[Slot] = []
        self._num_stillborn = 0

    @property
    def num_slots(self) -> int:
        """How many tasks run at once."""
        return self._num_workers

    def submit(self, task_fn: TaskFn, *arguments: Any, key: str = "") -> Future[Any]:
        """Hand out a task, to the process that had its key last if it is free."""
        for slot in [slot for slot in self._slots if slot.is_free and slot.is_dead]:
            self._bury(slot)
        free = [slot for slot in self._slots if slot.is_free]
        if not free:
            free = [Slot(self._context, self._flag)]
            self._slots += free
        slot = next((slot for slot in free if slot.key == key), free[0])
        try:
            slot.key, slot.task = key, slot.pool.submit(do_in_process, task_fn, *arguments)
        except BrokenProcessPool:  # it died with nothing to do, or just now
            self._bury(slot)
            return self.submit(task_fn, *arguments, key=key)
        return slot.task

    def _bury(self, slot: Slot) -> None:
        """Forget a process that died; if none lives long enough to be ready, give up."""
        self._slots.remove(slot)
        slot.pool.shutdown(wait=False)
        self._num_stillborn = self._num_stillborn + 1 if slot.is_stillborn else 0
        if self._num_stillborn >= MAX_STILLBORN:
            raise InputError(
                f"local workers must be able to start, got {self._num_stillborn} that ended before they did anything. "
                f"{GUARD}; otherwise look at their errors."
            )

    def is_lost(self, error: BaseException) -> bool:
        """Whether a process died."""
        return isinstance(error, BrokenProcessPool)

    def stop(self) -> None:
        """Let tasks end after the step that they are in."""
        self._flag.value = 1

    def close(self) -> None:
        """End all processes, and wait until they have."""
        for slot in self._slots:
            slot.end()
        for slot in self._slots:
            slot.pool.shutdown(wait=True)
