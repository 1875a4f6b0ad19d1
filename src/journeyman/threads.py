"""Threads over independent work.

Kernels release the GIL and never share what they write, so results do not
depend on the number of threads.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from threading import Lock
from typing import Any, cast

from journeyman.checks import whole_number


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
    evens out work of uneven length.
    """
    num_threads = max(1, min(num_threads, total))
    num_parts = num_threads if chunk_size <= 0 else max(num_threads, -(-total // chunk_size))
    parts: Sequence[range] = chunks(total, num_parts)
    if num_threads == 1 or len(parts) <= 1:
        for part in parts:
            work_fn(part)
        return
    with ThreadPoolExecutor(num_threads) as pool:
        list(pool.map(work_fn, parts))


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
