"""Edge tables: one line per (state, action, next_state, probability), as CSV, Parquet or DataFrame."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from journeyman.errors import InputError
from journeyman.extras import require
from journeyman.mdp.rows import Rows, rows_from_columns

COLUMNS = ("state", "action", "next_state", "probability")


def rows_from_edges(edges: Any, num_states: int | None = None, num_actions: int | None = None) -> Rows:
    """Rows of an edge table: a path to a CSV or Parquet file, a DataFrame, or a mapping of columns.

    States that only occur as `next_state` have no outgoing edges: they are terminal. Where the counts
    are not given, they are one more than the largest number that occurs.
    """
    columns = _read_columns(edges)
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        raise InputError(f"the columns of an edge table must have one length, got {lengths}. Check the table.")
    if not columns["state"].size:
        raise InputError("an edge table must have at least one line, got an empty one. Check the file.")
    if num_states is None:
        num_states = 1 + _largest(columns, "state", "next_state")
    if num_actions is None:
        num_actions = 1 + _largest(columns, "action")
    return rows_from_columns(num_states, num_actions, *(columns[name] for name in COLUMNS))


def _largest(columns: dict[str, Any], *names: str) -> int:
    return max(0, *(int(np.nanmax(columns[name])) for name in names))


def _read_columns(edges: Any) -> dict[str, Any]:
    if isinstance(edges, str | Path):
        path = Path(edges)
        if not path.exists():
            raise InputError(f"the edge table must be an existing file, got {str(path)!r}. Check the path.")
        if path.suffix.lower() in {".parquet", ".pq"}:
            edges = require("pandas", "tables").read_parquet(path)
        elif path.suffix.lower() in {".csv", ".txt", ".tsv"}:
            return _read_csv(path)
        else:
            raise InputError(f"an edge table must be a .csv, .tsv or .parquet file, got {path.name!r}. Convert it.")
    present = [str(name) for name in (edges.columns if hasattr(edges, "columns") else edges)]
    _check_header(present, "the table")
    return {name: _as_number_column(np.asarray(edges[name]), name) for name in COLUMNS}


def _read_csv(path: Path) -> dict[str, Any]:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, delimiter=delimiter)
        header = [name.strip() for name in next(reader, [])]
        _check_header(header, path.name)
        positions = [header.index(name) for name in COLUMNS]
        values: list[list[float]] = []
        for line in reader:
            if not any(field.strip() for field in line):
                continue
            try:
                values.append([float(line[position]) for position in positions])
            except (ValueError, IndexError):
                raise InputError(
                    f"every line of an edge table must hold four numbers, got {delimiter.join(line)!r} "
                    f"at line {reader.line_num} of {path.name}. Correct that line."
                ) from None
    table = np.array(values, dtype=np.float64).reshape(-1, len(COLUMNS))
    return {name: _as_number_column(table[:, i], name) for i, name in enumerate(COLUMNS)}


def _check_header(present: list[str], where: str) -> None:
    missing = [name for name in COLUMNS if name not in present]
    if missing:
        raise InputError(
            f"an edge table must have the columns {', '.join(COLUMNS)}, got {', '.join(present) or 'none'} "
            f"in {where}. Add or rename: {', '.join(missing)}."
        )


def _as_number_column(column: Any, name: str) -> Any:
    if column.dtype.kind not in "iuf":
        raise InputError(
            f"column {name} must hold numbers, got values like {column[0]!r}. "
            "Number states and actions from 0 and keep their names as labels."
        )
    if name != "probability" and column.dtype.kind == "f" and not np.isfinite(column).all():
        i = int(np.argmax(~np.isfinite(column)))
        raise InputError(f"column {name} must hold whole numbers, got {column[i]} at entry {i}. Fill it in.")
    return column
