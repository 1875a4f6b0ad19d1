"""Threads over independent work, work that is done ahead of its need, and how either is ended early.

Kernels release the GIL and never share what they write, so results do not depend on the number of threads. A main
thread that waits for others can be interrupted, one that is inside compiled code cannot: so it always waits, and Ctrl-C
tells the others to end, between parts of their work (`check_stop`) and inside of long kernels (`stop_mark`).
"""

import atexit
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from multiprocessing import parent_process
from threading import Lock, Thread, current_thread, local, main_thread
from typing import Any, Generic, TypeVar, cast

import numpy as np

from journeyman.checks import whole_number
from journeyman.types import IntArray

T = TypeVar("T")
PATIENCE_AT_EXIT = 5.0  # seconds that the end of the process waits for threads to notice it


def default_num_threads() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def resolve_num_threads(num_threads: int | None) -> int:
    """Return `num_threads`, or all the cores of this process for None."""
    if num_threads is None:
        return default_num_threads()
    return whole_number(num_threads, "num_threads", 1, "Leave it out to use all cores.")


def chunks(total: int, num_chunks: int) -> list[range]:
    """Split range(total) into at most `num_chunks` contiguous parts of nearly equal size, none of them empty."""
    bounds = [total * i // max(num_chunks, 1) for i in range(num_chunks + 1)]
    return [range(low, high) for low, high in pairwise(bounds) if high > low]


def run_chunks(work_fn: Callable[[range], None], total: int, num_threads: int, chunk_size: int = 0) -> None:
    """Call `work_fn` on contiguous parts of range(total), on up to `num_threads` threads.

    With `chunk_size`, parts have about that size and are handed out as threads become free, which
    evens out work of uneven length. Ctrl-C ends the work within the time of a part, or sooner where that asks whether
    it is still wanted.
    """
    stop: Stop | None = getattr(_here, "stop", None)
    num_threads = max(1, min(num_threads, total))
    num_parts = num_threads if chunk_size <= 0 else max(num_threads, -(-total // chunk_size))
    parts: Sequence[range] = chunks(total, num_parts)
    is_one_after_the_other = num_threads == 1 or len(parts) <= 1
    if is_one_after_the_other and (stop is not None or not _is_interruptible()):
        for part in parts:
            work_fn(part)
            check_stop()
        return
    shared = stop or Stop()
    with ThreadPoolExecutor(1 if is_one_after_the_other else num_threads) as pool:
        try:
            list(pool.map(_stoppable(work_fn, shared), parts))
        except BaseException:  # Ctrl-C, or an error in a part: nobody wants the others
            if stop is None:
                shared.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _is_interruptible() -> bool:
    """Whether Ctrl-C reaches this thread: the main one, except in worker processes, which are ended in other ways."""
    return current_thread() is main_thread() and parent_process() is None


class Stopped(Exception):
    """Raised inside of work that nobody wants any more."""


class Stop:
    """Says that nobody wants some work any more, to Python and to compiled code."""

    def __init__(self) -> None:
        self._marks: list[IntArray] = [np.zeros(1, dtype=np.int64)]

    @property
    def is_set(self) -> bool:
        """Whether it was said."""
        return bool(self._marks[0][0])

    def set(self) -> None:
        """Say it: the last entry of every mark becomes 1."""
        for mark in list(self._marks):
            mark[-1] = 1

    def mark(self, array: IntArray) -> IntArray:
        """Return the array, whose last entry will tell."""
        self._marks.append(array)
        if self.is_set:  # it may have been said meanwhile
            array[-1] = 1
        return array


_here = local()  # `stop` is set in threads that work for others: whether somebody still wants what they do


def check_stop() -> None:
    """End this work if nobody wants it any more; long Python code calls it now and then."""
    stop: Stop | None = getattr(_here, "stop", None)
    if stop is not None and stop.is_set:
        raise Stopped


def stop_mark(array: IntArray) -> IntArray:
    """Return `array`, whose last entry becomes 1 when nobody wants any more what this thread does, for kernels to see.

    What a kernel then returns does not matter, as long as it returns soon: `run_chunks` ends with an exception.
    """
    stop: Stop | None = getattr(_here, "stop", None)
    return array if stop is None else stop.mark(array)


def _stoppable(work_fn: Callable[[range], None], stop: Stop) -> Callable[[range], None]:
    """Return the work as a thread of its own does it, which ends when nobody wants it."""

    def work(part: range) -> None:
        before, _here.stop = getattr(_here, "stop", None), stop
        try:
            check_stop()
            work_fn(part)
            check_stop()
        finally:
            _here.stop = before

    return work


class _Limit:
    """A limit on the threads of linear algebra that several blocks can want at once: the last to end lifts it."""

    def __init__(self) -> None:
        self.lock, self.num_users, self.limits = Lock(), 0, cast(Any, None)

    @contextmanager
    def __call__(self) -> Iterator[None]:
        from threadpoolctl import threadpool_limits

        with self.lock:
            if self.num_users == 0:
                self.limits = threadpool_limits(1)
            self.num_users += 1
        try:
            yield
        finally:
            with self.lock:
                self.num_users -= 1
                if self.num_users == 0:
                    self.limits.restore_original_limits()


_limit = _Limit()


def one_thread() -> AbstractContextManager[None]:
    """Give a block in which linear algebra uses one thread, so that N processes use N cores.

    Blocks of several threads of a process may overlap.
    """
    return _limit()


class Ahead(Generic[T]):
    """A value that is computed once: by whoever needs it first, or before that in the background.

    Parameters
    ----------
    compute_fn
        compute_fn(num_threads) must always give the same, so that it does not matter who computes it, or when. A copy
        by pickle has the function, and computes the value again.
    """

    def __init__(self, compute_fn: Callable[[int], T]) -> None:
        self._compute_fn, self._lock = compute_fn, Lock()
        self._job: _Job | None = None
        self._found: T | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Ahead, (self._compute_fn,)

    @property
    def is_ready(self) -> bool:
        """Whether `value` would not have to wait."""
        job = self._job
        return self._found is not None or (job is not None and not job.is_alive())

    def begin(self, num_threads: int) -> None:
        """Begin to compute the value in the background, unless that was done already.

        The thread ends soon after this object is gone, or the process ends.
        """
        if not self._lock.acquire(blocking=False):
            return  # somebody waits for it, and computes it
        try:
            if self._job is None and self._found is None:
                job = _Job(self._compute_fn, num_threads)
                weakref.finalize(self, job.stop.set).atexit = False
                job.start()
                self._job = job  # only now: a thread that could not be started cannot be waited for
        finally:
            self._lock.release()

    def value(self, num_threads: int) -> T:
        """Return the value: wait for what is missing of it, or compute it here.

        An error in the background is raised here, once: the next call computes again.
        """
        with self._lock:
            if self._job is not None:
                self._job.join()
                job, self._job = self._job, None
                if job.error is not None:
                    raise job.error
                self._found = job.found
            if self._found is None:
                self._found = self._compute_fn(num_threads)
            return self._found


class _Job(Thread):
    """A thread that computes a value; it does not keep a process alive."""

    def __init__(self, compute_fn: Callable[[int], Any], num_threads: int) -> None:
        super().__init__(name="journeyman-ahead", daemon=True)
        self.compute_fn, self.num_threads, self.stop = compute_fn, num_threads, Stop()
        self.found: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Compute the value; parts of `run_chunks` look whether it is wanted still."""
        _here.stop = self.stop
        _jobs.add(self)
        try:
            self.found = self.compute_fn(self.num_threads)
        except Stopped:
            pass
        except BaseException as error:
            self.error = error
        finally:
            _jobs.discard(self)


_jobs: set[_Job] = set()


@atexit.register
def _stop_all() -> None:
    """End what nobody will want any more: a thread must not be inside compiled code when the interpreter goes."""
    jobs = list(_jobs)
    for job in jobs:
        job.stop.set()
    for job in jobs:
        job.join(PATIENCE_AT_EXIT)
