"""Results as tidy tables in Parquet: one row per cell and step, the same columns always."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from journeyman.errors import InputError
from journeyman.experiment.cell import Cell, world_options
from journeyman.experiment.course import Row
from journeyman.extras import require
from journeyman.files import whole_file

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

LABELS = ("cell", "world", "world_name", "world_options", "seed", "query", "inference", "method", "acquisition")
WORDS, NUMBERS = "words", "numbers"
COLUMNS: Mapping[str, str] = {
    "cell": WORDS,
    "world": WORDS,
    "world_name": WORDS,
    "world_options": WORDS,
    "seed": "whole",
    "query": WORDS,
    "inference": WORDS,
    "method": WORDS,
    "acquisition": WORDS,
    "step": "whole",
    "entropy_evidence": NUMBERS,
    "entropy_knn": NUMBERS,
    "entropy_gaussian": NUMBERS,
    "log_posterior_truth": NUMBERS,
    "true_regret": NUMBERS,
    "expected_regret": NUMBERS,
    "failure_chance": NUMBERS,
    "certificate_bound": NUMBERS,
    "certificate_holds": "truth",
    "state": "whole",
    "occupancy": NUMBERS,
    "num_shown": "whole",
    "score": NUMBERS,
    "posterior_seconds": NUMBERS,
    "acquisition_seconds": NUMBERS,
    "cpu_seconds": NUMBERS,
    "warnings": WORDS,
}
TIMINGS = ("posterior_seconds", "acquisition_seconds", "cpu_seconds")
METRICS_KEY = b"journeyman.metrics"


def schema(*, is_compact: bool = False) -> "pa.Schema":
    """Return the columns of results; compact ones keep half the digits of numbers, which is enough to plot."""
    pa = require("pyarrow", "tables")
    types = {
        WORDS: pa.dictionary(pa.int32(), pa.string()),
        NUMBERS: pa.float32() if is_compact else pa.float64(),
        "whole": pa.int32(),
        "truth": pa.bool_(),
    }
    return pa.schema([(name, types[kind]) for name, kind in COLUMNS.items()])


def labels_of(cell: Cell) -> dict[str, Any]:
    """Return the columns that say which cell a row belongs to."""
    return {
        "cell": cell.id,
        "world": cell.world.label,
        "world_name": cell.world.name,
        "world_options": json.dumps(world_options(cell.world), sort_keys=True),
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
    columns = {
        name: [labels[name]] * len(rows) if name in labels else [row.get(name) for row in rows] for name in COLUMNS
    }
    write_table(path, pa.table(columns, schema=schema()), metrics)


def write_table(path: Path, table: "pa.Table", metrics: Sequence[str]) -> None:
    """Write a table of results with the names of its metrics, whole or not at all."""
    parquet = require("pyarrow.parquet", "tables")
    marked = table.replace_schema_metadata({METRICS_KEY: json.dumps(list(metrics)).encode()})
    with whole_file(path, "results", advice="Make room, or choose another folder; run again to go on.") as temporary:
        parquet.write_table(marked, temporary, compression="zstd")


def read_table(path: Path) -> "pa.Table":
    """Return a table of results, or say that the file is none."""
    parquet = require("pyarrow.parquet", "tables")
    pa = require("pyarrow", "tables")
    try:
        table = parquet.read_table(path)
        missing = [name for name in COLUMNS if name not in table.column_names]
        if not missing:
            return table.select(list(COLUMNS))
        reason = f"it has no column {missing[0]!r}"
    except (OSError, pa.ArrowInvalid) as error:
        reason = str(error).splitlines()[0]
    raise InputError(
        f"results must be Parquet files as a sweep writes them, got {str(path)!r}: {reason}. "
        "Remove that file; its cells will be run again."
    )


def metrics_of(table: "pa.Table") -> tuple[str, ...]:
    """Return the names of the metrics that a table holds."""
    return tuple(json.loads((table.schema.metadata or {}).get(METRICS_KEY, b"[]")))


def only_cell(table: "pa.Table", cell_id: str) -> "pa.Table":
    """Return the part of a table that belongs to a cell."""
    return table.filter(require("pyarrow.compute", "tables").equal(table["cell"], cell_id))


def rows_of(table: "pa.Table", cell_id: str) -> tuple[Row, ...]:
    """Return the rows of a cell, in the order of its steps, without its labels."""
    mine = only_cell(table, cell_id).sort_by("step")
    kept = [name for name in COLUMNS if name not in LABELS]
    return tuple(mine.select(kept).to_pylist())


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
    for name, kind in COLUMNS.items():
        if kind == WORDS:
            frame[name] = frame[name].astype(object)
    return frame.astype({"seed": "int64", "step": "int64"})
