"""Local workers: processes on this machine, one core each.

Each is a pool of its own, so that one that dies takes no other with it, and it is known which task killed it.
"""

import multiprocessing
import os
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext
from typing import Any

from journeyman.errors import InputError
from journeyman.experiment.course import Checkpoint, Job
from journeyman.experiment.executors import Workers, prepare_process, process_task

MAX_STILLBORN = 3  # processes that may die in a row before they are ready
GUARD = "In a script, put what runs the sweep under `if __name__ == '__main__':`"


def check_script() -> None:
    """Refuse to run a sweep in a new worker that only imports the script of its parent, and would wait for it."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise InputError(f"a sweep must be run by one process, got a worker that begins to run it too. {GUARD}.")


class Slot:
    """One process, the task that it does, and the cell that it had last."""

    def __init__(self, context: SpawnContext, flag: Any) -> None:
        self.pool = ProcessPoolExecutor(1, mp_context=context, initializer=prepare_process, initargs=(flag,))
        self.ready: Future[int] = self.pool.submit(os.getpid)
        self.task: Future[Checkpoint] | None = None
        self.cell_id = ""

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

    def submit(self, job: Job, checkpoint: Checkpoint, seconds: float) -> Future[Checkpoint]:
        """Hand out a task."""
        self.cell_id = job.cell.id
        self.task = self.pool.submit(process_task, job, checkpoint, seconds=seconds)
        return self.task

    def end(self) -> None:
        """Let the process end; at once if it is at work, since nobody waits for that any more."""
        if not (self.is_free and self.ready.done()):
            for process in list((self.pool._processes or {}).values()):
                process.kill()
        self.pool.shutdown(wait=False, cancel_futures=True)


class LocalProcesses(Workers):
    """Processes on this machine: started when they are needed, replaced when they die."""

    def __init__(self, num_workers: int) -> None:
        # Fresh processes: threads of this one, and what they hold, must not be copied.
        self._context = multiprocessing.get_context("spawn")
        self._flag = self._context.RawValue("b", 0)  # without a lock, which a killed process could keep
        self._num_workers = num_workers
        self._slots: list[Slot] = []
        self._num_stillborn = 0

    @property
    def num_slots(self) -> int:
        """How many tasks run at once."""
        return self._num_workers

    def submit(self, job: Job, checkpoint: Checkpoint, *, seconds: float) -> Future[Checkpoint]:
        """Hand out a task, to the process that had its cell last if it is free."""
        free = [slot for slot in self._slots if slot.is_free]
        for slot in free:
            if slot.is_dead:
                self._bury(slot)
        free = [slot for slot in free if slot in self._slots]
        if not free:
            free = [Slot(self._context, self._flag)]
            self._slots += free
        slot = next((slot for slot in free if slot.cell_id == job.cell.id), free[0])
        try:
            return slot.submit(job, checkpoint, seconds)
        except BrokenProcessPool:  # it died with nothing to do, or just now
            self._bury(slot)
            return self.submit(job, checkpoint, seconds=seconds)

    def _bury(self, slot: Slot) -> None:
        """Forget a process that died; if none lives long enough to be ready, there is no use in going on."""
        self._slots.remove(slot)
        slot.pool.shutdown(wait=False)
        self._num_stillborn = self._num_stillborn + 1 if slot.is_stillborn else 0
        if self._num_stillborn >= MAX_STILLBORN:
            raise InputError(
                f"local workers must be able to start, got {self._num_stillborn} that ended before they did anything. "
                f"{GUARD}; else look at their errors."
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
