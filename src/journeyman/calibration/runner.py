"""Runs: many replications, on one or several processes, kept in a file that a later run continues."""

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import TextIO

from journeyman.calibration.replication import Replication, replicate
from journeyman.calibration.spec import CalibrationSpec
from journeyman.calibration.storage import append, appended, replication_record
from journeyman.checks import whole_number
from journeyman.inference.progress import progress_bar


def run(
    spec: CalibrationSpec,
    num_replications: int,
    path: str | Path | None = None,
    *,
    num_workers: int = 1,
    progress: bool = False,
) -> tuple[Replication, ...]:
    """Return replications 0..num_replications - 1, doing those that the file does not hold yet.

    Parameters
    ----------
    path
        File to keep them in (JSON Lines); run again to go on after any interruption. None keeps nothing.
    num_workers
        Processes, one thread each; replications do not depend on it.
    progress
        Whether to show how far it is, and how long it will take.

    Returns
    -------
    The replications in order, `num_replications` of them, whatever else the file holds.

    Raises
    ------
    InputError
        If the file belongs to another spec.
    """
    total = whole_number(num_replications, "num_replications", 1)
    whole_number(num_workers, "num_workers", 1)
    opened = nullcontext((dict[int, Replication](), None)) if path is None else appended(spec, Path(path))
    with opened as (done, file):
        missing = [index for index in range(total) if index not in done]
        _do(spec, missing, done, file, total, num_workers, progress)
    return tuple(done[index] for index in range(total))


def _do(
    spec: CalibrationSpec,
    missing: Sequence[int],
    done: dict[int, Replication],
    file: TextIO | None,
    total: int,
    num_workers: int,
    progress: bool,
) -> None:
    """Do the missing replications; each is kept as soon as it is done."""
    with progress_bar(f"{len(missing)} of {total} replications", is_shown=progress) as report:
        for count, replication in enumerate(_replications(spec, missing, num_workers), start=1):
            done[replication.index] = replication
            if file is not None:
                append(file, replication_record(replication))
            report(count / len(missing))


def _replications(spec: CalibrationSpec, indices: Sequence[int], num_workers: int) -> Iterator[Replication]:
    """Yield replications as they are done: in order on one worker, else as they come."""
    if num_workers == 1 or len(indices) <= 1:
        for index in indices:
            yield replicate(spec, index)
        return
    waiting = iter(indices)
    # Fresh processes: threads of this one, and what they hold, must not be copied.
    with ProcessPoolExecutor(num_workers, mp_context=get_context("spawn")) as pool:
        # Few at a time, so that an interruption does not have to wait for all.
        running = {pool.submit(replicate, spec, index) for index in itertools.islice(waiting, 2 * num_workers)}
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(replicate, spec, index) for index in itertools.islice(waiting, len(finished))}
            for future in finished:
                yield future.result()
