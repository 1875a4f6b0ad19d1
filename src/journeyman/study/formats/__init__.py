"""Formats of demonstrations: how they leave a study and come into one, by name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from journeyman.checks import known_name
from journeyman.demonstrations import Demonstration, as_demonstrations
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.storage.tables import file_kind, separator_of
from journeyman.study.formats import text
from journeyman.study.formats.arrays import read_npz, write_npz
from journeyman.study.formats.recorded import ROLES, Recorded, recorded_demonstrations
from journeyman.study.formats.splitting import Examined, ImportReport, ImpossibleStep, SubjectCounts, split
from journeyman.study.formats.text import demonstrations_to_frame
from journeyman.study.formats.trajectories import (
    StateFunction,
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
    """A format of demonstrations.

    Parameters
    ----------
    summary
        What it is, in a few words.
    endings
        Of the names of its files.
    write_fn
        write_fn(demonstrations, place, problem) writes.
    read_fn
        Reads what was recorded.
    is_table
        Whether its columns have names.
    needs_last
        Whether T + 1 states are needed.
    is_file
        Whether its place is a file; else an id.
    """

    summary: str
    endings: tuple[str, ...]
    write_fn: Callable[..., None]
    read_fn: Callable[..., Recorded]
    is_table: bool = True
    needs_last: bool = False
    is_file: bool = True


def _read_whole(read_fn: Callable[..., tuple[Demonstration, ...]]) -> Callable[..., Recorded]:
    """Return what reads a format that holds nothing but whole demonstrations, of states or of other observations."""

    def read(place: Path | str, mdp: FiniteMDP | None, _: object, __: object, **options: Any) -> Recorded:
        records = enumerate(item.to_record() for item in read_fn(place, mdp, **options))
        return recorded_demonstrations(Path(place).name, records, mdp, unit="entry")

    return read


_plain = partial(Format, is_table=False)
FORMATS: dict[str, Format] = {
    "csv": Format("a table with one line per step", (".csv",), text.write_csv, text.read_text),
    "tsv": Format("the same with tabs", (".tsv", ".tab"), text.write_tsv, text.read_tsv),
    "json": Format("a JSON list of demonstrations or of rows", (".json",), text.write_json, text.read_json),
    "jsonl": Format("JSON Lines, one on each", (".jsonl", ".ndjson"), text.write_jsonl, text.read_jsonl),
    "parquet": Format(
        "a Parquet table with one row per step", (".parquet", ".pq"), text.write_parquet, text.read_parquet
    ),
    "npz": _plain("NumPy arrays", (".npz",), write_npz, _read_whole(lambda path, mdp: read_npz(path))),
    "imitation": _plain(
        "trajectories of the imitation library, as .npz", (), write_imitation, _read_whole(read_imitation),
        needs_last=True,
    ),
    "minari": _plain(
        "a Minari dataset, by its id", (), write_minari, _read_whole(read_minari), needs_last=True, is_file=False
    ),
}  # fmt: skip
SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")
ALSO_READ = {".txt": "csv"}  # endings that say too little about what to write


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
        A key of `FORMATS`; default: by the ending of the file. Tables and JSON are packed if it ends in .gz.
    repeat_last
        For formats that need a state after the last action: repeat the state before where none was seen.
    """
    chosen = find_format(format, place)
    listed = as_demonstrations(demonstrations)
    if repeat_last and not chosen.needs_last:
        raise InputError("repeat_last must go with imitation or minari, got another format. Leave it out.")
    options: dict[str, Any] = {"repeat_last": repeat_last} if chosen.needs_last else {}
    if chosen.is_table or not chosen.is_file:
        options["problem"] = problem
    chosen.write_fn(listed, Path(place) if chosen.is_file else str(place), **options)


def read_demonstrations(
    source: Any,
    problem: Problem | None = None,
    *,
    format: str | None = None,
    columns: Mapping[str, str | None] | None = None,
    separator: str | None = None,
    skip_impossible: bool = False,
    state_fn: StateFunction | None = None,
) -> tuple[Demonstration, ...]:
    """Read demonstrations from a file, a DataFrame, a mapping of columns or a Minari dataset.

    A table has one row per step. Trajectories are split where a state or an action is missing, where step numbers are
    left out, and at impossible steps; who did them is kept for each piece. `examine_demonstrations` also says what was
    found.

    Parameters
    ----------
    source
        Path of a file (its ending says what it is, also with .gz after it), a pandas DataFrame, a mapping of columns,
        or the id of a Minari dataset.
    problem
        Says what the names of states and actions mean, and which steps are possible. Without it they are numbers, and
        nothing is checked.
    format
        A key of `FORMATS`; default: by the ending of the file.
    columns
        Which column means what, such as `{"state": "node", "action": "move", "annotator": "animal"}`; keys are those
        of `ROLES`. Columns that bear the name of a role need not be given; None leaves one out. Others are ignored.
    separator
        Of a text: ",", ";" or a tab; by default the one that fits the header and the lines after it.
    skip_impossible
        Leave out steps that the problem's dynamics cannot make, and split there, where they would be refused.
    state_fn
        For Minari and imitation: state_fn(observation) returns the state that an observation shows, by number or label.

    Returns
    -------
    Demonstrations that can occur in the problem, in the order of the table.

    Raises
    ------
    InputError
        That names file, line, subject and label.
    """
    options: dict[str, Any] = {"format": format, "columns": columns, "separator": separator, "state_fn": state_fn}
    found, report = examine_demonstrations(source, problem, **options)
    if not skip_impossible:
        report.check_possible()
    return found


def examine_demonstrations(
    source: Any,
    problem: Problem | None = None,
    *,
    format: str | None = None,
    columns: Mapping[str, str | None] | None = None,
    separator: str | None = None,
    state_fn: StateFunction | None = None,
) -> Examined:
    """Return what `read_demonstrations` reads without impossible steps, and a report of what was found.

    Parameters are those of `read_demonstrations`. `report.impossible` lists the steps that were left out;
    `report.check_possible()` refuses them.
    """
    mdp = None if problem is None else problem.mdp
    if not isinstance(source, str | Path):
        if format is not None:
            raise InputError(f"a format must go with a file, got {format!r} for {type(source).__name__}. Leave it out.")
        recorded = text.read_columns(source, mdp, columns)
    else:
        chosen = find_format(format or ALSO_READ.get(file_kind(source)), source)
        if columns and not chosen.is_table:
            raise InputError(f"columns must go with a table, got them for {str(source)!r}. Leave them out.")
        if state_fn is not None and not chosen.needs_last:
            raise InputError(
                f"state_fn must go with minari or imitation, got it for {str(source)!r}. Leave it out: states are "
                "named by label or number."
            )
        options = {} if state_fn is None else {"state_fn": state_fn}
        place = Path(source) if chosen.is_file else str(source)
        recorded = chosen.read_fn(place, mdp, columns, separator_of(separator), **options)
    return split(recorded, problem)


def find_format(name: str | None, place: str | Path) -> Format:
    """Return a format by its name, or by the ending of a file."""
    if name is not None:
        return FORMATS[known_name(name, FORMATS, "format")]
    kind = file_kind(place)
    for chosen in FORMATS.values():
        if kind in chosen.endings:
            return chosen
    endings = ", ".join(ending for chosen in FORMATS.values() for ending in chosen.endings)
    advice = f"Use {endings}, or name it: {', '.join(FORMATS)}."
    if kind in SPREADSHEETS:
        advice = "Spreadsheets read and write CSV: use that."
    raise InputError(f"the format must be clear from the ending of the file, got {str(place)!r}. {advice}")


__all__ = [
    "FORMATS",
    "ROLES",
    "Examined",
    "Format",
    "ImportReport",
    "ImpossibleStep",
    "SubjectCounts",
    "TrajectoryArrays",
    "demonstrations_to_frame",
    "examine_demonstrations",
    "find_format",
    "from_trajectories",
    "read_demonstrations",
    "to_trajectories",
    "write_demonstrations",
]
