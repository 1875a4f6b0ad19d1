"""Formats of demonstrations: how they leave a study and come into one, by name."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from journeyman.checks import known_name
from journeyman.demonstrations import Demonstration, as_demonstrations
from journeyman.errors import InputError
from journeyman.problem import Problem
from journeyman.study.formats.arrays import read_npz, write_npz
from journeyman.study.formats.text import read_csv, read_jsonl, write_csv, write_jsonl
from journeyman.study.formats.trajectories import (
    TrajectoryArrays,
    from_trajectories,
    read_imitation,
    read_minari,
    to_trajectories,
    write_imitation,
    write_minari,
)


@dataclass(frozen=True)
class Format:
    """A format: how to write (demonstrations, place) and read (place); needs_last: whether T + 1 states are needed."""

    summary: str
    suffix: str
    write_fn: Callable[..., None]
    read_fn: Callable[..., tuple[Demonstration, ...]]
    needs_last: bool = False
    is_file: bool = True


FORMATS: dict[str, Format] = {
    "jsonl": Format("JSON Lines, one demonstration per line", ".jsonl", write_jsonl, read_jsonl),
    "csv": Format("a table with one line per step", ".csv", write_csv, read_csv),
    "npz": Format("NumPy arrays", ".npz", write_npz, read_npz),
    "imitation": Format("trajectories of the imitation library, as .npz", "", write_imitation, read_imitation, True),
    "minari": Format("a Minari dataset, by its id", "", write_minari, read_minari, True, is_file=False),
}


def write_demonstrations(
    demonstrations: Iterable[Demonstration],
    place: str | Path,
    problem: Problem,
    *,
    format: str | None = None,
    repeat_last: bool = False,
) -> None:
    """Write demonstrations to a file (or Minari dataset), whole or not at all.

    Parameters
    ----------
    format
        A key of `FORMATS`; default: by the ending of the file.
    repeat_last
        For formats that need a state after the last action: repeat the state before where none was seen.
    """
    chosen = find_format(format, place)
    listed = as_demonstrations(demonstrations)
    if repeat_last and not chosen.needs_last:
        raise InputError("repeat_last must go with imitation or minari, got another format. Leave it out.")
    options: dict[str, Any] = {"repeat_last": repeat_last} if chosen.needs_last else {}
    if chosen.is_file:
        chosen.write_fn(listed, Path(place), **options)
    else:
        chosen.write_fn(listed, str(place), problem, **options)


def read_demonstrations(
    place: str | Path, problem: Problem | None = None, *, format: str | None = None
) -> tuple[Demonstration, ...]:
    """Read demonstrations from a file or Minari dataset, and check that they can occur in `problem` if it is given."""
    chosen = find_format(format, place)
    found = chosen.read_fn(Path(place) if chosen.is_file else str(place))
    if problem is not None:
        problem.check(found)  # whose they are may be said later
    return found


def find_format(name: str | None, place: str | Path) -> Format:
    """Return a format by its name, or by the ending of a file."""
    if name is not None:
        return FORMATS[known_name(name, FORMATS, "format")]
    suffix = Path(place).suffix.lower()
    for chosen in FORMATS.values():
        if chosen.suffix == suffix != "":
            return chosen
    raise InputError(
        f"the format must be clear from the ending of the file, got {str(place)!r}. "
        f"Use .jsonl, .csv or .npz, or name it: {', '.join(FORMATS)}."
    )


__all__ = [
    "FORMATS",
    "Format",
    "TrajectoryArrays",
    "find_format",
    "from_trajectories",
    "read_demonstrations",
    "to_trajectories",
    "write_demonstrations",
]
