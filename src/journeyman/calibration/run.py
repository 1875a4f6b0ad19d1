"""Runs: many replications, on one or several processes, kept in a file that a later run continues.

The file is append-only JSON Lines: a header with the spec, then one line per replication.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from journeyman.calibration.replication import Replication, quantity_names, replicate
from journeyman.calibration.spec import CalibrationSpec
from journeyman.checks import whole_number
from journeyman.progress import progress_bar
from journeyman.storage.jsonl import Lines, appended, broken_line, read_lines
from journeyman.storage.workers import run_each
from journeyman.wording import counted

FORMAT = "journeyman-calibration-1"


class CalibrationRun(NamedTuple):
    """What a file holds: the spec as plain data, names of the quantities, and replications by index."""

    spec: Mapping[str, Any]
    names: tuple[str, ...]
    replications: tuple[Replication, ...]

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.replications), 'replication')} of {len(self.names)} quantities"
        return f"CalibrationRun({sizes}, {self.num_draws} draws)"

    @property
    def num_draws(self) -> int:
        """Draws that the truth was ranked among."""
        return int(self.spec["num_draws"])


def load_run(path: str | Path) -> CalibrationRun:
    """Return what a file holds; an unfinished last line is left out, and so are repeated indices."""
    lines = read_lines(Path(path), FORMAT)
    done = _replications(lines, Path(path))
    ordered = tuple(done[index] for index in sorted(done))
    return CalibrationRun(lines.header["spec"], tuple(lines.header["quantities"]), ordered)


def run_calibration(
    spec: CalibrationSpec,
    num_replications: int,
    path: str | Path | None = None,
    *,
    num_workers: int = 1,
    progress: bool | None = None,
) -> tuple[Replication, ...]:
    """Return replications 0..num_replications - 1 in order, doing those that the file does not hold yet.

    Parameters
    ----------
    path
        File to keep them in (JSON Lines), which must be of this spec; run again to resume after any interruption. None
        keeps nothing.
    num_workers
        Processes, one core each; replications do not depend on it.
    progress
        Whether to show how far it is, and how long it will take.
    """
    total = whole_number(num_replications, "num_replications", 1)
    whole_number(num_workers, "num_workers", 1)
    opened = nullcontext() if path is None else appended(Path(path), header_of(spec), "spec")
    with opened as kept:
        done: dict[int, Replication] = {}
        if kept is not None:
            done = _replications(kept[0], Path(str(path)))
        missing = [index for index in range(total) if index not in done]
        begun = len(done)
        with progress_bar(f"{len(missing)} of {total} replications", is_shown=progress) as report:

            def take(replication: Replication) -> None:
                done[replication.index] = replication
                if kept is not None:
                    kept[1]({name: value for name, value in asdict(replication).items() if value not in ((), None)})
                report((len(done) - begun) / len(missing))

            run_each(replicate, [(spec, index) for index in missing], take, num_workers=num_workers)
    return tuple(done[index] for index in range(total))


def header_of(spec: CalibrationSpec) -> dict[str, Any]:
    """Return the first line of a file as plain data."""
    from importlib.metadata import version

    assert spec.parameters is not None
    return {
        "format": FORMAT,
        "journeyman": version("journeyman"),
        "id": spec.id,
        "quantities": list(quantity_names(spec.assumed(spec.example_problem()), spec.parameters)),
        "spec": spec.record(),
    }


def _replications(lines: Lines, path: Path) -> dict[int, Replication]:
    """Return replications by index."""
    found: dict[int, Replication] = {}
    for number, record in lines.records:
        try:
            lists = {name: tuple(record.get(name, ())) for name in ("ranks", "levels", "warnings")}
            worth, error = record.get("effective_draws"), record.get("error")
            replication = Replication(
                int(record["index"]), effective_draws=worth, seconds=float(record["seconds"]), error=error, **lists
            )
        except (ValueError, KeyError, TypeError):
            raise broken_line(path, number, record) from None
        found.setdefault(replication.index, replication)
    return found
