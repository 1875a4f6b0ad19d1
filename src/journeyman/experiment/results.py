"""Results as tidy tables in Parquet: one row per cell and step, the same columns always."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from journeyman.errors import InputError
from journeyman.experiment.cell import Cell, world_options
from journeyman.experiment.cell_run import Row
from journeyman.experiment.digest import digest_of
from journeyman.extras import require
from journeyman.storage.files import whole_file

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

T = TypeVar("T")
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
METRICS_KEY, DIGEST_KEY = b"journeyman.metrics", b"journeyman.digest"


class Held(NamedTuple):
    """Results of a cell: how many answers, which metrics, and the file that they are in."""

    num_steps: int
    metrics: tuple[str, ...]
    path: Path

    def has(self, num_steps: int, metrics: Iterable[str]) -> bool:
        """Whether all that is asked for is there."""
        return self.num_steps >= num_steps and set(metrics) <= set(self.metrics)


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
    marks = {METRICS_KEY: json.dumps(list(metrics)), DIGEST_KEY: digest_of(table.select(list(COLUMNS)))}
    marked = table.replace_schema_metadata(marks)
    with whole_file(path, "results", advice="Make room, or choose another folder; run again to go on.") as temporary:
        parquet.write_table(marked, temporary, compression="zstd", write_page_checksum=True)


def read_table(path: Path) -> "pa.Table":
    """Return a table of results, or say that the file is none; damage is noticed."""
    table = _read(path, lambda file: file.read().select(list(COLUMNS)))
    digest = (table.schema.metadata or {}).get(DIGEST_KEY)
    if digest is not None and digest.decode() != digest_of(table):
        raise _refusal(path, "its values are not those that were written")
    return table


def held_in(path: Path) -> dict[str, Held]:
    """Return what a file holds of each cell; one whose rows are not its steps from 0 on, each once, counts as absent.

    Only two columns are read.
    """
    ways = [("step", "count"), ("step", "count_distinct"), ("step", "min"), ("step", "max")]
    metrics, cells = _read(
        path, lambda file: (_metrics_of(file), file.read(["cell", "step"]).group_by("cell").aggregate(ways).to_pylist())
    )
    return {
        cell["cell"]: Held(cell["step_max"], metrics, path)
        for cell in cells
        if cell["step_min"] == 0 and cell["step_count"] == cell["step_count_distinct"] == cell["step_max"] + 1
    }


def _metrics_of(file: Any) -> tuple[str, ...]:
    return tuple(json.loads((file.schema_arrow.metadata or {}).get(METRICS_KEY, b"[]")))


def _read(path: Path, read_fn: Callable[[Any], T]) -> T:
    """Return what a function reads from a file of results, or say that it is none."""
    parquet, pa = require("pyarrow.parquet", "tables"), require("pyarrow", "tables")
    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            missing = [name for name in COLUMNS if name not in file.schema_arrow.names]
            if not missing:
                return read_fn(file)
            reason = f"it has no column {missing[0]!r}"
    except (OSError, ValueError, TypeError, pa.ArrowException) as error:
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
    kept = [name for name in COLUMNS if name not in LABELS]
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
    for name, kind in COLUMNS.items():
        if kind == WORDS:
            frame[name] = frame[name].astype(object)
    return frame.astype({"seed": "int64", "step": "int64"})
