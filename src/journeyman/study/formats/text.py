"""Demonstrations as JSON, JSON Lines, and tables with one line per step (CSV, TSV, Parquet, DataFrame), lossless."""

import csv
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from journeyman.demonstrations import Demonstration, as_demonstrations
from journeyman.errors import InputError
from journeyman.extras import require
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.storage.tables import (
    file_bytes,
    file_text,
    json_lines,
    parsed_json,
    read_table,
    table_of_parquet,
    table_of_records,
    table_of_text,
)
from journeyman.study.formats.recorded import Recorded, read_recorded, recorded_demonstrations
from journeyman.study.writing import write_whole

COLUMNS = ("demonstration", "state", "action", "final_state", "ended", "query_id", "annotator", "timestamp")
ABOUT_ALL = COLUMNS[3:]  # the same on every line of a demonstration
WHAT = "demonstrations"


def write_jsonl(demonstrations: Sequence[Demonstration], path: Path, problem: Problem | None = None) -> None:
    """Write one JSON object per demonstration, on a line of its own; states and actions are numbers."""
    lines = [json.dumps(item.to_record(), ensure_ascii=False) + "\n" for item in demonstrations]
    _write(path, "".join(lines))


def write_json(demonstrations: Sequence[Demonstration], path: Path, problem: Problem | None = None) -> None:
    """Write one list of JSON objects, one per demonstration; states and actions are numbers."""
    lines = [json.dumps(item.to_record(), ensure_ascii=False) for item in demonstrations]
    _write(path, "[\n" + ",\n".join(lines) + "\n]\n")


def step_rows(demonstrations: Sequence[Demonstration], mdp: FiniteMDP | None) -> list[dict[str, Any]]:
    """Return one row per step, by label where there are labels; without any step, one row without an action.

    Numbers are for problems without labels: where labels look like numbers, nobody could tell which of them is meant.
    """
    state_labels, action_labels = (None, None) if mdp is None else (mdp.state_labels, mdp.action_labels)

    def named(number: int | None, labels: tuple[str, ...] | None) -> Any:
        return number if number is None or labels is None or number >= len(labels) else labels[number]

    rows = []
    for number, item in enumerate(demonstrations):
        who = None if item.annotator is None else item.annotator.encode("utf-8", "backslashreplace").decode("utf-8")
        record = item.to_record() | {"annotator": who, "final_state": named(item.final_state, state_labels)}
        shared = {name: record.get(name) for name in ABOUT_ALL}
        for state, action in item.steps or ((item.start_state, None),):
            rows.append(
                {"demonstration": number, "state": named(state, state_labels), "action": named(action, action_labels)}
                | shared
            )
    return rows


def write_csv(
    demonstrations: Sequence[Demonstration], path: Path, problem: Problem | None = None, *, separator: str = ","
) -> None:
    """Write a table with one line per step."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n", delimiter=separator)
    writer.writeheader()
    writer.writerows(step_rows(demonstrations, None if problem is None else problem.mdp))
    _write(path, buffer.getvalue())


def write_tsv(demonstrations: Sequence[Demonstration], path: Path, problem: Problem | None = None) -> None:
    """Write a table with one line per step, and tabs between its columns."""
    write_csv(demonstrations, path, problem, separator="\t")


def demonstrations_to_frame(
    demonstrations: Sequence[Demonstration] | Demonstration, problem: Problem | None = None
) -> Any:
    """Return demonstrations as a pandas DataFrame with one row per step, which `read_demonstrations` reads back.

    Columns: demonstration, state, action, final_state, ended, query_id, annotator, timestamp. States and actions are
    labels if the problem is given and has labels, else numbers. Needs the extra `tables`.
    """
    pandas = require("pandas", "tables")
    rows = step_rows(as_demonstrations(demonstrations), None if problem is None else problem.mdp)
    frame = pandas.DataFrame(rows, columns=list(COLUMNS))
    for name in ("state", "action", "final_state", "query_id"):
        if all(row[name] is None or isinstance(row[name], int) for row in rows):
            frame[name] = frame[name].astype("Int64")
    return frame


def write_parquet(demonstrations: Sequence[Demonstration], path: Path, problem: Problem | None = None) -> None:
    """Write a Parquet table with one row per step."""
    require("pyarrow", "tables")
    frame = demonstrations_to_frame(demonstrations, problem)
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    _write(path, buffer.getvalue())


def _write(path: Path, content: str | bytes) -> None:
    # Half of a character in a name of an old study is written as JSON does it, whatever the format.
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    write_whole(path, gzip.compress(data, mtime=0) if path.suffix.lower() == ".gz" else data)


def read_text(
    path: Path, mdp: FiniteMDP | None, columns: Mapping[str, str | None] | None, separator: str | None
) -> Recorded:
    """Read a table in which text stands between commas, semicolons or tabs."""
    table = table_of_text(path.name, file_text(path, WHAT), separator=separator)
    return read_recorded(table, columns, mdp)


def read_tsv(
    path: Path, mdp: FiniteMDP | None, columns: Mapping[str, str | None] | None, separator: str | None
) -> Recorded:
    """Read a table with tabs between its columns, unless another separator is said."""
    table = table_of_text(path.name, file_text(path, WHAT), separator=separator, usual="\t")
    return read_recorded(table, columns, mdp)


def read_parquet(path: Path, mdp: FiniteMDP | None, columns: Mapping[str, str | None] | None, _: Any) -> Recorded:
    """Read a Parquet table."""
    return read_recorded(table_of_parquet(path.name, file_bytes(path, WHAT)), columns, mdp)


def read_columns(source: Any, mdp: FiniteMDP | None, columns: Mapping[str, str | None] | None) -> Recorded:
    """Read a DataFrame or a mapping of columns."""
    return read_recorded(read_table(source, what=WHAT), columns, mdp)


def read_json(path: Path, mdp: FiniteMDP | None, columns: Mapping[str, str | None] | None, _: Any) -> Recorded:
    """Read a JSON list of rows or of demonstrations, or what `--json` of a command printed."""
    data = parsed_json(file_text(path, WHAT), path.name)
    items = data
    if isinstance(data, dict):
        items = data["demonstrations"] if isinstance(data.get("demonstrations"), list) else [data]
    if not isinstance(items, list):
        raise InputError(
            f"{path.name} must be a list of rows or of demonstrations, got {type(data).__name__}. Example: "
            '[{"state": "home", "action": "left"}]'
        )
    return _records(path.name, items, None, mdp, columns)


def read_jsonl(path: Path, mdp: FiniteMDP | None, columns: Mapping[str, str | None] | None, _: Any) -> Recorded:
    """Read JSON Lines: a row or a demonstration on each."""
    records, lines = json_lines(file_text(path, WHAT), path.name)
    return _records(path.name, records, lines, mdp, columns)


def _records(
    name: str,
    records: list[Any],
    lines: list[int] | None,
    mdp: FiniteMDP | None,
    columns: Mapping[str, str | None] | None,
) -> Recorded:
    """Read demonstrations if the first record is one, else rows of a table."""
    items = [_unwrapped(record) for record in records]
    is_table = bool(columns) or (items and isinstance(items[0], dict) and not {"steps", "start_state"} & set(items[0]))
    if is_table and not (items and items[0] == {}):
        return read_recorded(table_of_records(name, records, lines, what="a table of steps"), columns, mdp)
    places = range(len(items)) if lines is None else lines
    unit = "entry" if lines is None else "line"
    return recorded_demonstrations(name, zip(places, items, strict=True), mdp, unit=unit)


def _unwrapped(record: Any) -> Any:
    """Return the demonstration in what `study tell --json` and `study attach --json` print, else what was given."""
    inner = record.get("demonstration") if isinstance(record, dict) else None
    return inner if isinstance(inner, dict) else record
