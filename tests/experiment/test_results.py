import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from experiment.small import one_cell

from journeyman.errors import InputError
from journeyman.experiment import METRICS, results
from journeyman.experiment.cell_run import Checkpoint, Job, advance
from journeyman.experiment.results import (
    columns,
    joined,
    only_cell,
    read_table,
    results_in,
    rows_of,
    to_frame,
    write_rows,
)

CELL = one_cell(acquisitions=[{"name": "reward_eig", "label": "Reward-EIG"}])
ALL = tuple(METRICS)


@pytest.fixture(scope="module")
def rows():
    return advance(Job(CELL, 3, ALL), Checkpoint()).rows


@pytest.fixture
def path(rows, tmp_path):
    path = tmp_path / f"{CELL.id}.parquet"
    write_rows(path, CELL, rows, ALL)
    return path


def test_rows_come_back_as_they_were(rows, path):
    assert rows_of(read_table(path)) == rows
    assert list(path.parent.iterdir()) == [path]


def test_every_row_says_which_cell_it_belongs_to(path):
    frame = to_frame(read_table(path))
    assert list(frame.columns) == list(columns())
    first = frame.iloc[0]
    assert (first["cell"], first["world"], first["world_name"], first["seed"]) == (CELL.id, "4x4", "random-grid", 0)
    assert (first["query"], first["inference"]) == ("state", CELL.inference.label)
    assert (first["method"], first["acquisition"]) == ("Reward-EIG", "reward_eig")
    assert json.loads(first["world_options"])["size"] == 4
    assert list(frame["step"]) == [0, 1, 2, 3]


def test_types_of_columns(path):
    frame = to_frame(read_table(path))
    assert frame["seed"].dtype == frame["step"].dtype == np.int64
    assert frame["state"].dtype == frame["num_shown"].dtype == pd.Int64Dtype()
    assert frame["certificate_holds"].dtype == pd.BooleanDtype()
    assert frame["state"].isna().tolist() == [True, False, False, False]
    numbers = [name for name, kind in columns().items() if kind == results.NUMBERS]
    assert set(frame[numbers].dtypes) == {np.dtype(np.float64)}
    assert all(isinstance(word, str) for word in frame["warnings"])


def test_metrics_that_were_not_measured_are_missing(tmp_path):
    rows = advance(Job(CELL, 1, ("truth",)), Checkpoint()).rows
    write_rows(tmp_path / "x.parquet", CELL, rows, ("truth",))
    frame = to_frame(read_table(tmp_path / "x.parquet"))
    assert frame["true_regret"].isna().all()
    assert frame["certificate_holds"].isna().all()
    assert frame["log_posterior_truth"].notna().all()


def test_nan_and_infinity_are_kept(rows, tmp_path):
    odd = [{**row, "score": float("-inf"), "entropy_knn": float("nan")} for row in rows]
    write_rows(tmp_path / "x.parquet", CELL, odd, ALL)
    found = rows_of(read_table(tmp_path / "x.parquet"))
    assert {row["score"] for row in found} == {float("-inf")}
    assert all(np.isnan(row["entropy_knn"]) for row in found)


def test_what_a_file_holds(path, rows, tmp_path):
    assert results_in(path) == {CELL.id: results.StoredResult(3, ALL, path)}
    other = one_cell(seeds=[5])
    table = joined([read_table(path), read_table(path).slice(0, 0), _table_of(other, rows[:2], tmp_path)])
    results.write_table(tmp_path / "many.parquet", table, ("truth",))
    held = results_in(tmp_path / "many.parquet")
    assert {cell_id: (found.num_steps, found.metrics) for cell_id, found in held.items()} == {
        CELL.id: (3, ("truth",)),
        other.id: (1, ("truth",)),
    }
    assert only_cell(read_table(tmp_path / "many.parquet"), other.id).num_rows == 2


def _table_of(cell, rows, folder):
    write_rows(folder / "other.parquet", cell, rows, ALL)
    return read_table(folder / "other.parquet")


def test_what_is_asked_for_is_there_or_not(path):
    held = results_in(path)[CELL.id]
    assert held.has(3, ALL)
    assert held.has(2, ("truth",))
    assert not held.has(4, ("truth",))
    assert not held.has(1, (*ALL, "another"))


@pytest.mark.parametrize("steps", [[1, 2, 3], [0, 2, 3], [0, 1, 1, 2], [0, 0, 2], []])
def test_a_cell_with_steps_that_are_missing_or_double_counts_as_absent(path, steps):
    table = read_table(path)
    results.write_table(path, pa.concat_tables([table.slice(step, 1) for step in steps] or [table.slice(0, 0)]), ALL)
    assert results_in(path) == {}


def test_a_file_without_the_names_of_its_metrics_has_none(path):
    pq.write_table(read_table(path).replace_schema_metadata(None), path)
    assert results_in(path)[CELL.id].metrics == ()


def test_compact_tables_keep_half_the_digits(path, rows):
    compact = joined([read_table(path)], is_compact=True)
    assert compact.schema.field("true_regret").type == pa.float32()
    frame, full = to_frame(joined([compact])), to_frame(joined([read_table(path)]))
    assert frame["entropy_knn"].dtype == np.float64
    # float32 keeps 24 bits
    assert np.allclose(frame["entropy_knn"], full["entropy_knn"], rtol=2.0**-24, atol=0.0)
    assert (frame["state"].isna() == full["state"].isna()).all()


def test_no_table_at_all_is_an_empty_one():
    frame = to_frame(joined([]))
    assert list(frame.columns) == list(columns())
    assert len(frame) == 0


@pytest.mark.parametrize("read_fn", [read_table, results_in])
@pytest.mark.parametrize("text", [b"", b"hello", b"PAR1", b"PAR1" + bytes(100) + b"PAR1"])
def test_what_is_no_table_is_said_with_its_name(path, text, read_fn):
    path.write_bytes(text)
    with pytest.raises(InputError, match=rf"{path.name}.*Remove that file; its cells will be run again"):
        read_fn(path)


@pytest.mark.parametrize("read_fn", [read_table, results_in])
def test_a_table_of_somebody_else_is_said(path, read_fn):
    pq.write_table(pa.table({"cell": ["a"], "step": [0]}), path)
    with pytest.raises(InputError, match="it has no column 'world'"):
        read_fn(path)
    with pytest.raises(InputError, match=r"none\.parquet"):
        read_fn(path.with_name("none.parquet"))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_part_of_a_file_is_refused(path, share):
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    for read_fn in (read_table, results_in):
        with pytest.raises(InputError):
            read_fn(path)


def test_damage_is_noticed_wherever_it_is(path):
    data, expected, rng, num_refused = path.read_bytes(), read_table(path), np.random.default_rng(0), 0
    description = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for place in [*rng.integers(4, description, 100), *rng.integers(description, len(data), 100)]:
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            found = read_table(path)
        except InputError:
            num_refused += 1
        else:
            assert found.equals(expected)  # it sits where it does not matter
    assert num_refused > 100


def test_values_that_were_changed_are_noticed(path):
    table = read_table(path)
    changed = table.set_column(table.schema.get_field_index("seed"), "seed", pa.array([1] * 4, pa.int32()))
    pq.write_table(changed, path)  # with the marks of the old one
    with pytest.raises(InputError, match="its values are not those that were written"):
        read_table(path)
    pq.write_table(table, path, compression="none", use_dictionary=False)  # the same in another form
    assert read_table(path).equals(table)
