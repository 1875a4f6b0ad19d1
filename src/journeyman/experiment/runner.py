"""Run a sweep: do the cells that are not finished yet, and keep everything as it comes."""

import logging
import time
import traceback
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from journeyman.checks import check_options, real_number, whole_number
from journeyman.errors import InputError
from journeyman.experiment.cell_run import Checkpoint, Job, advance
from journeyman.experiment.progress import Display, shown
from journeyman.experiment.spec import Sweep
from journeyman.experiment.store import Store, open_store
from journeyman.extras import require
from journeyman.logs import log_event
from journeyman.storage.processes import check_script
from journeyman.storage.workers import (
    POLL_SECONDS,
    Outcome,
    Tasks,
    Workers,
    check_executor,
    first_interruption,
    workers,
)


@dataclass(frozen=True)
class SweepReport:
    """How a run of a sweep ended.

    num_cells: of the sweep; num_finished: that have their results now; num_new: that this run finished; failed: ids of
    failed cells that have no results, those of earlier runs too; seconds: that it took.
    """

    num_cells: int
    num_finished: int
    num_new: int
    failed: tuple[str, ...]
    seconds: float

    @property
    def is_complete(self) -> bool:
        """Whether every cell has its results."""
        return self.num_finished == self.num_cells


@dataclass
class CellInHand:
    """A cell that is run here: its lock, and where it stands."""

    job: Job
    lock: IO[str]
    checkpoint: Checkpoint
    begin: float = field(default_factory=time.perf_counter)


@dataclass(frozen=True)
class RunOptions:
    """How cells are run; nothing but time depends on it.

    Parameters
    ----------
    num_workers
        Local processes, one core each.
    executor, scheduler
        "local", or "dask" with the address of a scheduler.
    retry_failed
        Whether to try cells again that failed in an earlier run.
    checkpoint_seconds
        How often cells are kept, at the end of a step.
    progress
        Whether to show how far it is, on the error stream.
    """

    num_workers: int = 1
    executor: str = "local"
    scheduler: str | None = None
    retry_failed: bool = False
    checkpoint_seconds: float = 10.0
    progress: bool = True

    def __post_init__(self) -> None:
        """Check all that can be checked before any work."""
        whole_number(self.num_workers, "the number of workers", 1)
        check_executor(self.executor, self.scheduler)
        if not real_number(self.checkpoint_seconds, "checkpoint_seconds") >= 0.0:
            raise InputError(
                f"checkpoint_seconds must be at least 0, got {self.checkpoint_seconds}. 0 keeps every step."
            )
        require("pyarrow", "tables")
        if self.num_workers > 1:
            check_script()


def run_sweep(sweep: Sweep | Sequence[Sweep], out: str | Path, **options: Any) -> SweepReport:
    """Run the cells of a sweep, or of several, that are not finished yet.

    Whatever is killed, a later call resumes from the last checkpoints and repeats no finished cell. Several calls may
    work on one folder at once: they share the cells. Of several sweeps, all cells of one seed come before the next.

    Parameters
    ----------
    out
        Folder of the results; that of an older version of the sweep will do, and only what is new is run.
    options
        As in `RunOptions`: num_workers, executor, scheduler, retry_failed, checkpoint_seconds, progress.

    Returns
    -------
    A report; cells that fail are recorded with their traceback, and do not stop the others.
    """
    sweeps = [sweep] if isinstance(sweep, Sweep) else list(sweep)
    check_options(options, RunOptions.__dataclass_fields__, "run_sweep")
    return run_jobs(jobs_of(sweeps), out, RunOptions(**options), name=", ".join(item.name for item in sweeps))


def run_jobs(jobs: Sequence[Job], out: str | Path, options: RunOptions, *, name: str = "sweep") -> SweepReport:
    """Run jobs that are not done yet, in their order; `name` is shown with the progress."""
    store, begin = open_store(out), time.perf_counter()
    if options.retry_failed:
        for job in jobs:
            store.forget_failure(job.cell.id)
    missing = [job for job in jobs if not is_settled(store, job)]
    num_new = 0
    if missing:
        with (
            workers(options.executor, min(options.num_workers, len(missing)), options.scheduler) as team,
            shown(name, missing, len(jobs), is_shown=options.progress) as display,
        ):
            num_new = Runner(store, team, display, options.checkpoint_seconds).run(missing)
    unfinished = [job.cell.id for job in jobs if not store.is_finished(job)]
    failed = tuple(dict.fromkeys(cell_id for cell_id in unfinished if store.has_failed(cell_id)))
    return SweepReport(len(jobs), len(jobs) - len(unfinished), num_new, failed, time.perf_counter() - begin)


def jobs_of(sweeps: Sequence[Sweep]) -> tuple[Job, ...]:
    """Return the jobs of sweeps, all of one seed before the next: whenever one stops, the rest is a balanced table."""
    jobs = [Job(cell, sweep.steps, sweep.metrics) for sweep in sweeps for cell in sweep.cells()]
    seeds = list(dict.fromkeys(seed for sweep in sweeps for seed in sweep.seeds))
    return tuple(sorted(jobs, key=lambda job: seeds.index(job.cell.seed)))


def is_settled(store: Store, job: Job) -> bool:
    """Whether there is nothing to do for a cell: it is finished, or it failed."""
    return store.has_failed(job.cell.id) or store.is_finished(job)


class Runner:
    """Hands out cells to workers, a checkpoint at a time, and keeps what comes back."""

    def __init__(self, store: Store, team: Workers, display: Display, seconds: float) -> None:
        self.store, self.team, self.display, self.seconds = store, team, display, seconds
        self.tasks = Tasks(team)
        self.in_hand: dict[str, CellInHand] = {}
        self.locks = ExitStack()  # all that were held: whatever ends the run gives them back
        self.num_new = 0

    def run(self, missing: Iterable[Job]) -> int:
        """Do all that is missing, and wait for what other processes do; returns how many cells were finished here.

        After an interruption, steps in progress are kept before KeyboardInterrupt is raised.
        """
        waiting = deque(missing)
        with ExitStack() as self.locks, first_interruption(self._stop) as interruption:
            while waiting or self.in_hand:
                self._fill(waiting)
                if interruption.is_wanted:
                    for outcome in self.tasks.rest():
                        self._keep(outcome)
                    raise KeyboardInterrupt
                if self.in_hand:
                    for outcome in self.tasks.ended():
                        self._take(outcome)
                elif waiting:
                    time.sleep(POLL_SECONDS)  # others are at work on all that is left
                self._show(len(waiting))
        return self.num_new

    def _fill(self, waiting: deque[Job]) -> None:
        """Hand out cells to free workers; those that other processes have go to the end of the line."""
        for _ in range(len(waiting)):
            if not self.tasks.has_room:
                return
            job = waiting.popleft()
            lock = self.store.claim(job.cell.id)
            if lock is None:
                waiting.append(job)
                continue
            self.locks.enter_context(lock)
            if is_settled(self.store, job):
                self.store.release(job.cell.id, lock)
                self.display.finished_elsewhere(job)
                continue
            checkpoint = self.store.checkpoint(job)
            self.display.resumed(min(max(checkpoint.num_steps, 0), job.num_steps))
            self.in_hand[job.cell.id] = CellInHand(job, lock, checkpoint)
            self._submit(job.cell.id)

    def _show(self, num_waiting: int) -> None:
        running = [cell.job.cell.text for cell in self.in_hand.values()]
        self.display.refresh(running, num_waiting, self.team.trouble())

    def _submit(self, cell_id: str) -> None:
        self._show(0)  # a task of this process is done when it is handed out
        cell = self.in_hand[cell_id]
        self.tasks.submit(cell_id, advance, cell.job, cell.checkpoint, self.seconds)

    def _take(self, outcome: Outcome) -> None:
        """Keep what a task gave, and hand out the next one of its cell."""
        if outcome.error is not None:
            self._fail(outcome)
        elif not self._keep(outcome):
            self._submit(outcome.key)

    def _keep(self, outcome: Outcome) -> bool:
        """Keep how far a cell is, and return whether it is finished."""
        cell = self.in_hand[outcome.key]
        before, cell.checkpoint = cell.checkpoint, outcome.result
        self.display.advanced(cell.checkpoint.num_steps - max(before.num_steps, 0))
        if cell.checkpoint.num_steps < cell.job.num_steps:
            self.store.keep(cell.job, cell.checkpoint)
            return False
        self.store.finish(cell.job, cell.checkpoint.rows)
        self._release(outcome.key)
        self.num_new += 1
        seconds = time.perf_counter() - cell.begin
        log_event("sweep", "finished", cell=cell.job.cell.text, seconds=round(seconds, 3))
        self.display.finished(cell.job, seconds)
        return True

    def _fail(self, outcome: Outcome) -> None:
        cell, error = self.in_hand[outcome.key], outcome.error
        self.store.fail(cell.job.cell, outcome.words, "".join(traceback.format_exception(error)))
        log_event("sweep", "failed", logging.ERROR, cell=cell.job.cell.text, words=outcome.words)
        self._release(outcome.key)
        self.display.failed(cell.job, outcome.words, cell.job.num_steps - max(cell.checkpoint.num_steps, 0))

    def _release(self, cell_id: str) -> None:
        self.store.release(cell_id, self.in_hand.pop(cell_id).lock)

    def _stop(self) -> None:
        """Take an interruption."""
        self.team.stop()
        self.display.stopping()
