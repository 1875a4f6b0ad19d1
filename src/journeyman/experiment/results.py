"""Results as tidy tables in Parquet: one row per cell and step.

Columns: labels of the cell, the step, those of all metrics, and what was asked; empty where a metric was not measured.
Files have a hash of their values, whatever the form that these are stored in, by which damage is noticed.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from journeyman.errors import InputError
from journeyman.experiment.cell import Cell, all_world_options
from journeyman.experiment.cell_run import Row
from journeyman.experiment.metrics import METRICS
from journeyman.extras import require
from journeyman.storage.files import whole_file

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

T = TypeVar("T")
WORDS, NUMBERS, WHOLE, TRUTHS = "words", "numbers", "whole", "truths"
LABELS = ("cell", "world", "world_name", "world_options", "seed", "query", "inference", "method", "acquisition")
TIMINGS = ("posterior_seconds", "acquisition_seconds", "cpu_seconds")
BEFORE = dict.fromkeys(LABELS, WORDS) | {"seed": WHOLE, "step": WHOLE}  # the columns before those of metrics
AFTER = {
    "state": WHOLE,
    "occupancy": NUMBERS,
    "num_shown": WHOLE,
    "score": NUMBERS,
    **dict.fromkeys(TIMINGS, NUMBERS),
    "warnings": WORDS,
}
SWEEP = "sweep"  # a column that tables of several sweeps have besides
METRICS_KEY, HASH_KEY = b"journeyman.metrics", b"journeyman.digest"


class StoredResult(NamedTuple):
    """Results of a cell: how many answers, which metrics, and the file that they are in."""

    num_steps: int
    metrics: tuple[str, ...]
    path: Path

    def has(self, num_steps: int, metrics: Iterable[str]) -> bool:
        """Whether all that is asked for is there."""
        return self.num_steps >= num_steps and set(metrics) <= set(self.metrics)


def columns() -> dict[str, str]:
    """Return the names of all columns and what each holds, those of metrics from outside the package too."""
    found = dict(BEFORE)
    for name, metric in METRICS.usable():
        for column in metric.columns:
            if column in found or column in AFTER or column == SWEEP:
                raise InputError(f"columns of metric {name!r} must be its own, got {column!r}. Choose another name.")
            found[column] = TRUTHS if column in metric.truths else NUMBERS
    return found | AFTER


def schema(*, is_compact: bool = False) -> "pa.Schema":
    """Return the columns of results; compact ones keep half the digits of numbers, which is enough to plot."""
    pa = require("pyarrow", "tables")
    types = {
        WORDS: pa.dictionary(pa.int32(), pa.string()),
        NUMBERS: pa.float32() if is_compact else pa.float64(),
        WHOLE: pa.int32(),
        TRUTHS: pa.bool_(),
    }
    return pa.schema([(name, types[kind]) for name, kind in columns().items()])


def labels_of(cell: Cell) -> dict[str, Any]:
    """Return the columns that say which cell a row belongs to."""
    return {
        "cell": cell.id,
        "world": cell.world.label,
        "world_name": cell.world.name,
        "world_options": json.dumps(all_world_options(cell.world), sort_keys=True),
        "seed": cell.seed,
        "query": cell.query.label,
        "inference": cell.inference.label,
        "method": cell.acquisition.label,
        "acquisition": cell.acquisition.name,
    }


def write_rows(path: Path, cell: Cell, rows: Sequence[Row], metrics: Sequence[str]) -> None:
    """Write the rows of a cell, whole or not at all."""
    pa = require("pyarrow", "tables")
    labels = labels_of(cell)
    write_table(path, pa.Table.from_pylist([labels | row for row in rows], schema=schema()), metrics)


def write_table(path: Path, table: "pa.Table", metrics: Sequence[str]) -> None:
    """Write a table of results with the names of its metrics, whole or not at all."""
    parquet = require("pyarrow.parquet", "tables")
    about = {METRICS_KEY: json.dumps(list(metrics)), HASH_KEY: values_hash(table)}
    with whole_file(path, "results", advice="Make room, or choose another folder; run again to resume.") as temporary:
        parquet.write_table(
            table.replace_schema_metadata(about), temporary, compression="zstd", write_page_checksum=True
        )


def read_table(path: Path) -> "pa.Table":
    """Return a table of results; refuses other files, and damaged ones.

    Columns of metrics that the file lacks are empty; those that nobody knows here are left out.
    """
    pa = require("pyarrow", "tables")
    table = _read(path, lambda file: file.read())
    expected = (table.schema.metadata or {}).get(HASH_KEY)
    try:
        is_whole = expected is None or expected.decode() == values_hash(table)
    except (ValueError, pa.ArrowException):  # words that it says are in its dictionary, and are not
        is_whole = False
    if not is_whole:
        raise _refusal(path, "its values are not those that were written")
    for field in schema():
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table.select(list(columns()))


def values_hash(table: "pa.Table") -> str:
    """Return a hash of the names and values of all columns in their order, but for the name of the sweep."""
    found = hashlib.sha256()
    for name in table.column_names:
        if name != SWEEP:
            found.update(f"{name} {table.num_rows} ".encode())
            for part in _column_bytes(table[name]):
                found.update(part)
    return found.hexdigest()


def _column_bytes(column: Any) -> list[bytes]:
    """Return what a column holds as bytes: which values are missing, and the others; words once, and where they are."""
    pa = require("pyarrow", "tables")
    kind, parts = column.type, []
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind):
        column = column.cast(pa.string()).combine_chunks().dictionary_encode()
        parts = ["\0".join(str(word) for word in column.dictionary.to_pylist()).encode()]
        column = column.indices
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    missing, values = column.is_null().cast(pa.int8()), column.fill_null(0)
    return [*parts, missing.to_numpy().tobytes(), values.to_numpy().tobytes()]


def results_in(path: Path) -> dict[str, StoredResult]:
    """Return what a file holds of each cell; one whose rows are not its steps from 0 on, each once, counts as absent.

    Only two columns are read.
    """
    ways = [("step", "count"), ("step", "count_distinct"), ("step", "min"), ("step", "max")]
    metrics, cells = _read(
        path, lambda file: (_metrics_of(file), file.read(["cell", "step"]).group_by("cell").aggregate(ways).to_pylist())
    )
    return {
        cell["cell"]: StoredResult(cell["step_max"], metrics, path)
        for cell in cells
        if cell["step_min"] == 0 and cell["step_count"] == cell["step_count_distinct"] == cell["step_max"] + 1
    }


def _metrics_of(file: Any) -> tuple[str, ...]:
    return tuple(json.loads((file.schema_arrow.metadata or {}).get(METRICS_KEY, b"[]")))


def _read(path: Path, read_fn: Callable[[Any], T]) -> T:
    """Return what a function reads from a file of results; refuses any other file."""
    parquet, pa = require("pyarrow.parquet", "tables"), require("pyarrow", "tables")
    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            missing = [name for name in (*BEFORE, *AFTER) if name not in file.schema_arrow.names]
            if not missing:
                return read_fn(file)
            reason = f"it has no column {missing[0]!r}"
    except (OSError, ValueError, TypeError, RecursionError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
    raise _refusal(path, reason)


def _refusal(path: Path, reason: str) -> InputError:
    return InputError(
        f"results must be Parquet files as a sweep writes them, got {str(path)!r}: {reason}. "
        "Remove that file; its cells will be run again."
    )


def only_cell(table: "pa.Table", cell_id: str) -> "pa.Table":
    """Return the part of a table that belongs to a cell."""
    return table.filter(require("pyarrow.compute", "tables").equal(table["cell"], cell_id))


def rows_of(table: "pa.Table") -> tuple[Row, ...]:
    """Return the rows of the table of a cell, without its labels."""
    kept = [name for name in columns() if name not in LABELS]
    return tuple(table.select(kept).to_pylist())


def joined(tables: Iterable["pa.Table"], *, is_compact: bool = False) -> "pa.Table":
    """Return tables one below the other."""
    pa = require("pyarrow", "tables")
    wanted = schema(is_compact=is_compact)
    plain = pa.schema([(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in wanted])
    parts = [table.replace_schema_metadata(None).cast(plain) for table in tables]
    return (pa.concat_tables(parts) if parts else plain.empty_table()).cast(wanted)


def to_frame(table: "pa.Table") -> "pd.DataFrame":
    """Return results as a data frame: words as text, whole numbers that may be missing as Int64."""
    pd = require("pandas", "tables")
    pa = require("pyarrow", "tables")
    types = {pa.int32(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype(), pa.float32(): None}
    frame = table.to_pandas(types_mapper=types.get)
    for name, kind in columns().items():
        if kind == WORDS:
            frame[name] = frame[name].astype(object)
    return frame.astype({"seed": "int64", "step": "int64"})
