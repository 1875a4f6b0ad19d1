"""Edge tables: one line per (state, action, next_state, probability), as CSV, Parquet or DataFrame."""

import numbers
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from journeyman.checks import any_array
from journeyman.errors import InputError
from journeyman.extras import require
from journeyman.mdp.rows import Rows, checked_counts, rows_from_columns
from journeyman.storage.files import number_table, read_csv

COLUMNS = ("state", "action", "next_state", "probability")
MAX_ROWS_PER_LINE = 10_000  # more states and actions than this, for the lines there are, come from a wrong number


def rows_from_edges(edges: Any, num_states: int | None = None, num_actions: int | None = None) -> Rows:
    """Rows of an edge table: a path to a CSV or Parquet file, a DataFrame, or a mapping of columns.

    States that only occur as `next_state` have no outgoing edges: they are terminal. Where the counts
    are not given, they are one more than the largest number that occurs. Other columns are ignored.
    """
    columns = _read_columns(edges)
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        raise InputError(f"the columns of an edge table must have one length, got {lengths}. Check the table.")
    if not columns["state"].size:
        raise InputError("an edge table must have at least one line, got an empty one. Check the file.")
    is_inferred = num_states is None or num_actions is None
    num_states = 1 + _largest(columns, "state", "next_state") if num_states is None else num_states
    num_actions = 1 + _largest(columns, "action") if num_actions is None else num_actions
    num_states, num_actions = checked_counts(num_states, num_actions)
    if is_inferred and num_states * num_actions > max(10**6, MAX_ROWS_PER_LINE * columns["state"].size):
        raise InputError(
            f"states and actions must be numbered from 0 without wide gaps, got {num_states} states and {num_actions} "
            f"actions from {columns['state'].size} lines. Say num_states= and num_actions= if this is meant."
        )
    return rows_from_columns(num_states, num_actions, *(columns[name] for name in COLUMNS))


def _largest(columns: dict[str, Any], *names: str) -> int:
    return max(0, *(int(columns[name].max()) for name in names))


def _read_columns(edges: Any) -> dict[str, Any]:
    where = "the table"
    if isinstance(edges, str | Path):
        path = Path(edges)
        where = path.name
        if not path.is_file():
            raise InputError(f"the edge table must be an existing file, got {str(path)!r}. Check the path.")
        if path.suffix.lower() in {".parquet", ".pq"}:
            edges = _read_parquet(path)
        elif path.suffix.lower() in {".csv", ".txt", ".tsv"}:
            return _read_csv(path)
        else:
            raise InputError(f"an edge table must be a .csv, .tsv or .parquet file, got {path.name!r}. Convert it.")
    if not (isinstance(edges, Mapping) or hasattr(edges, "columns")):
        raise InputError(
            f"an edge table must be a path, a DataFrame or a mapping of columns, got {reprlib.repr(edges)}. "
            f"Name the columns: {', '.join(COLUMNS)}."
        )
    _check_header([str(name) for name in (edges.columns if hasattr(edges, "columns") else edges)], where)
    return {name: _as_number_column(any_array(edges[name], f"column {name}"), name) for name in COLUMNS}


def _read_parquet(path: Path) -> Any:
    require("pyarrow", "tables")
    pandas = require("pandas", "tables")
    try:
        return pandas.read_parquet(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path.name} must be a Parquet file, but reading it failed: {error}. Write it again."
        ) from error


def _read_csv(path: Path) -> dict[str, Any]:
    lines = read_csv(path, "\t" if path.suffix.lower() == ".tsv" else ",")
    header = [field.strip() for field in lines[0][1]] if lines else []
    _check_header(header, path.name)
    table = number_table(path, lines[1:], len(header), {column: header.index(column) for column in COLUMNS})
    return {column: _as_number_column(table[:, i], column) for i, column in enumerate(COLUMNS)}


def _check_header(present: list[str], where: str) -> None:
    missing = [name for name in COLUMNS if name not in present]
    repeated = [name for name in COLUMNS if present.count(name) > 1]
    if missing or repeated:
        fix = f"Add or rename: {', '.join(missing)}" if missing else f"Remove the second {repeated[0]}"
        raise InputError(
            f"an edge table must have the columns {', '.join(COLUMNS)}, once each, got {', '.join(present) or 'none'} "
            f"in {where}. {fix}."
        )


def _as_number_column(column: Any, name: str) -> Any:
    if column.ndim != 1:
        raise InputError(f"column {name} must be a list of numbers, got shape {column.shape}. Give one per line.")
    if column.dtype.kind == "O" and all(isinstance(value, numbers.Real) for value in column):
        column = column.astype(np.float64)  # as some data frames hold their numbers
    if column.size and column.dtype.kind not in "iuf":
        i = next((i for i, value in enumerate(column) if not isinstance(value, numbers.Real)), 0)
        raise InputError(
            f"column {name} must hold numbers, got {column[i : i + 1].tolist()[0]!r} at entry {i}. "
            "Number states and actions from 0 and keep their names as labels."
        )
    if name != "probability" and column.dtype.kind == "f" and not np.isfinite(column).all():
        i = int(np.argmax(~np.isfinite(column)))
        raise InputError(f"column {name} must hold whole numbers, got {column[i]} at entry {i}. Fill it in.")
    return column


def check_no_action_is_left_out(rows: Rows, advice: str) -> None:
    """Refuse a state where some actions have edges and others none: nobody said what the others do."""
    has_edges = (np.diff(rows.indptr) > 0).reshape(rows.num_states, rows.num_actions)
    left_out = has_edges.any(axis=1, keepdims=True) & ~has_edges
    if left_out.any():
        state, action = (int(i) for i in np.argwhere(left_out)[0])
        raise InputError(
            "an edge table must have edges for every action of a state that is not terminal, "
            f"got none at state {state}, action {action}. Add them, or say {advice}."
        )
