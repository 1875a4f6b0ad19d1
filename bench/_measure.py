"""What benchmarks share. Import it before NumPy: it keeps the libraries underneath to one thread each.

Times are compared by taking turns: in each repeat every task runs once, in an order that turns around from repeat to
repeat, so that whatever else the machine does hits all of them. Ratios are taken within a repeat.
"""

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, NamedTuple

if "numpy" in sys.modules:
    raise RuntimeError("_measure must be imported before numpy, which reads its number of threads only once.")
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[_variable] = "1"

# isort: split
import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

CAN_PIN = hasattr(os, "sched_setaffinity")
CORES = sorted(os.sched_getaffinity(0)) if CAN_PIN else list(range(os.cpu_count() or 1))
LOAD = os.getloadavg()[0] if hasattr(os, "getloadavg") else None  # before we add to it: who else is busy here
console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)


class Spread(NamedTuple):
    """Median and range over repeats."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.low:.3g}..{self.high:.3g})"


class Times(NamedTuple):
    """Seconds per call `[num_repeats]`: on the clock, and of processor time over all threads."""

    wall: np.ndarray
    cpu: np.ndarray

    @property
    def cores(self) -> float:
        """Cores that we had on average; less than there are busy threads: others took the rest."""
        return float(self.cpu.sum() / self.wall.sum())


@contextmanager
def pinned(num_cores: int) -> Iterator[None]:
    """Keep this thread, and those that it starts, on the last `num_cores` cores; no effect where CAN_PIN is False."""
    if num_cores > len(CORES):
        raise ValueError(f"num_cores must be at most {len(CORES)}, got {num_cores}.")
    if CAN_PIN:
        os.sched_setaffinity(0, CORES[-num_cores:])
    try:
        yield
    finally:
        if CAN_PIN:
            os.sched_setaffinity(0, CORES)


def take_turns(
    tasks: Mapping[str, Callable[[], Any]], num_repeats: int, num_calls: Mapping[str, int] | None = None
) -> dict[str, Times]:
    """Time each task `num_repeats` times.

    A task runs `num_calls[name]` times in a row (default 1): more for a short one, so that it sees as much noise as the
    long ones. Warm up first: nothing is left out here.
    """
    times = {name: Times(np.empty(num_repeats), np.empty(num_repeats)) for name in tasks}
    for repeat in range(num_repeats):
        for name in list(tasks)[:: 1 if repeat % 2 == 0 else -1]:
            calls = (num_calls or {}).get(name, 1)
            start, cpu_start = time.perf_counter(), time.process_time()
            for _ in range(calls):
                tasks[name]()
            times[name].wall[repeat] = (time.perf_counter() - start) / calls
            times[name].cpu[repeat] = (time.process_time() - cpu_start) / calls
    return times


def spread(numbers: np.ndarray) -> Spread:
    """Return the median and range of one number per repeat, such as a ratio of times."""
    return Spread(float(np.median(numbers)), float(np.min(numbers)), float(np.max(numbers)))


def duration(seconds: float) -> str:
    """Return a time in a readable unit."""
    unit, factor = next((u for u in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)) if seconds >= u[1]), ("us", 1e-6))
    return f"{seconds / factor:.3g} {unit}"


def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> None:
    """Print a table; the first column is to the left, the others to the right."""
    table = Table(title=title, title_justify="left", caption=caption or None, caption_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*map(str, row))
    console.print(table)


def environment(*packages: str) -> dict[str, Any]:
    """Return what the numbers depend on: versions, cores, whether we could pin to them, and the load before."""
    found = {"python": platform.python_version()} | {package: version(package) for package in packages}
    return found | {"machine": platform.machine(), "cores": len(CORES), "pinned": CAN_PIN, "load": LOAD}


def finish(result: Mapping[str, Any]) -> None:
    """Print the result as the last line, one JSON object; a Spread becomes `[median, low, high]`."""
    print(json.dumps(result), flush=True)
