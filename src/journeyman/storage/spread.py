"""One large computation on many machines: its independent parts, such as chains or rewards, go to a Dask cluster.

    with on_cluster("tcp://HOST:8786"):
        posterior = infer(problem, demonstrations)

Parts are pure functions of their arguments, with all randomness drawn before: results are those of one machine. What
they share, such as the problem, is sent to each worker once.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from journeyman.errors import InferenceError, InputError, JourneymanError
from journeyman.storage.workers import Tasks, Workers
from journeyman.threads import chunks
from journeyman.types import AnyArray

MAX_SENT = 4  # objects that workers keep
POLL_SECONDS = 0.1
PARTS_PER_SLOT = 2  # so that a worker that is done early gets more
PartFn = Callable[..., tuple[AnyArray, ...]]


class Spreader:
    """Workers of a cluster, and what was sent to all of them last."""

    def __init__(self, team: Workers) -> None:
        self.team = team
        self._sent: list[tuple[Any, Any]] = []  # objects, and what stands for them there; the last few

    def run(
        self, part_fn: PartFn, shared: Any, arrays: Sequence[AnyArray], extra: tuple[Any, ...]
    ) -> tuple[AnyArray, ...]:
        """Return the results of part_fn(shared, *extra, *parts of the arrays), joined along their first axis."""
        parts = chunks(len(arrays[0]), PARTS_PER_SLOT * self._num_slots())
        stand_in, tasks = self._shared(shared), Tasks(self.team)
        found: dict[int, tuple[AnyArray, ...]] = {}
        waiting = list(enumerate(parts))[::-1]
        while waiting or len(tasks):
            while waiting and (tasks.has_room or not len(tasks)):
                number, part = waiting.pop()
                cut = [array[part.start : part.stop] for array in arrays]
                tasks.submit(str(number), part_fn, stand_in, *extra, *cut)
            for outcome in tasks.ended():
                if isinstance(outcome.error, JourneymanError):
                    raise outcome.error
                if outcome.error is not None:
                    raise InferenceError(
                        f"a part of the work must end well on the cluster, got {outcome.words}. "
                        "Run it on this machine to see why."
                    ) from outcome.error
                found[int(outcome.key)] = outcome.result
            self._check()
        return tuple(np.concatenate(columns) for columns in zip(*(found[i] for i in range(len(parts))), strict=True))

    def _num_slots(self) -> int:
        """Return how many parts can be done at once, as soon as there are workers."""
        while self.team.num_slots == 0:
            self._check()
            time.sleep(POLL_SECONDS)
        return self.team.num_slots

    def _check(self) -> None:
        trouble = self.team.trouble()
        if trouble:
            raise InputError(f"a cluster must have workers, but {trouble}")

    def _shared(self, shared: Any) -> Any:
        """Return what stands for an object in tasks; it is sent if it was not lately."""
        for known, stand_in in self._sent:
            if known is shared:
                return stand_in
        self._sent = [*self._sent[1 - MAX_SENT :], (shared, self.team.share(shared))]
        return self._sent[-1][1]


_spreader: ContextVar[Spreader | None] = ContextVar("spreader", default=None)


@contextmanager
def on_cluster(scheduler: str) -> Iterator[None]:
    """Let inference in this block use the workers of the Dask scheduler at an address such as `tcp://10.0.0.1:8786`.

    Rewards are solved for, and particles and chains are moved, where the workers are; results are the same. It is for
    single posteriors that take minutes or more: a sweep of many runs is spread by `run_sweep(executor="dask")`.
    """
    from journeyman.storage.dask_cluster import dask_cluster

    with dask_cluster(scheduler) as cluster:
        token = _spreader.set(Spreader(cluster))
        try:
            yield
        finally:
            _spreader.reset(token)


def spread(part_fn: PartFn, shared: Any, arrays: Sequence[AnyArray], *extra: Any) -> tuple[AnyArray, ...] | None:
    """Return part_fn(shared, *extra, *arrays), done in parts on a cluster, in a block `on_cluster`; else None.

    Parameters
    ----------
    part_fn
        A function of a module, which works on each entry of the first axis alone, and returns arrays `[N, ...]`.
    shared
        What it needs besides: large, and never changed. Sent once, while it is the same object.
    arrays
        `[N, ...]` each.
    extra
        What else it needs: small, sent with every part.
    """
    spreader = _spreader.get()
    return None if spreader is None else spreader.run(part_fn, shared, arrays, extra)


def is_spread() -> bool:
    """Whether this is in a block `on_cluster`."""
    return _spreader.get() is not None
