import pytest

from journeyman.errors import InputError
from journeyman.storage.run_tables import continue_table, read_table


def run_cell(world, seed):
    return {"world": world, "seed": seed, "square": seed**2}


def continued(table, cells, run_fn=run_cell, settings=None):
    said = []
    continue_table(
        table,
        "test-1",
        settings or {"limit": 3},
        ("world", "seed"),
        cells,
        run_fn,
        num_workers=1,
        report_fn=said.append,
    )
    return said


def test_only_what_is_missing_is_run_in_its_order(tmp_path):
    table = tmp_path / "runs.jsonl"
    assert read_table(table, "test-1") == []
    continued(table, [("a", 2), ("b", 1)])
    said = continued(table, [("a", 1), ("a", 2), ("b", 1), ("b", 3)])
    assert said[0] == "2 of 4 runs are missing"
    assert [(row["world"], row["seed"]) for row in read_table(table, "test-1")] == [
        ("a", 2), ("b", 1), ("a", 1), ("b", 3),
    ]  # fmt: skip
    assert continued(table, [("a", 1)]) == ["0 of 1 runs are missing"]


def test_rows_before_an_error_are_kept(tmp_path):
    def fails_at_two(world, seed):
        if seed == 2:
            raise RuntimeError("two")
        return run_cell(world, seed)

    table = tmp_path / "runs.jsonl"
    with pytest.raises(RuntimeError, match="two"):
        continued(table, [("a", 1), ("a", 2), ("a", 3)], fails_at_two)
    assert [row["seed"] for row in read_table(table, "test-1")] == [1]


def test_a_table_with_other_settings_is_not_continued(tmp_path):
    table = tmp_path / "runs.jsonl"
    continued(table, [("a", 1)])
    with pytest.raises(InputError, match="limit = 4"):
        continued(table, [("a", 2)], settings={"limit": 4})
