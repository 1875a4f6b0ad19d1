import csv
import io

import numpy as np
import pytest

from journeyman.errors import InputError
from reproduction.result_table import (
    ResultTable,
    column_widths,
    csv_text,
    markdown_text,
    terminal_text,
    value_text,
    write_tables,
)

LONG = "a sentence that is longer than a column of this width can be"
TABLE = ResultTable(
    "made",
    "A title",
    ("what it is", "a number of it", "right"),
    (("a|b", 1 / 3, True), (LONG, None, False)),
    ("A note.",),
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (False, "no"),
        (None, "-"),
        (float("nan"), "-"),
        (1 / 3, "0.3333"),
        (np.float64(2.0), "2"),
        (1.46899e13, "1.469e+13"),
        (7, "7"),
        ("s0", "s0"),
    ],
)
def test_values_for_people(value, text):
    assert value_text(value) == text


def test_markdown():
    assert markdown_text([TABLE]) == (
        "## A title\n\n"
        "| what it is | a number of it | right |\n"
        "|---|---|---|\n"
        "| a\\|b | 0.3333 | yes |\n"
        f"| {LONG} | - | no |\n\n"
        "- A note.\n"
    )


def test_csv_keeps_all_digits():
    rows = list(csv.reader(io.StringIO(csv_text(TABLE))))
    assert rows == [["what it is", "a number of it", "right"], ["a|b", str(1 / 3), "True"], [LONG, "", "False"]]
    assert float(rows[1][1]) == 1 / 3


@pytest.mark.parametrize("width", [110, 50])
def test_text_keeps_to_its_width_and_loses_nothing(width):
    text = terminal_text([TABLE, TABLE], width)
    assert max(map(len, text.splitlines())) <= width
    first_column = " ".join(line[: column_widths(TABLE, width)[0]].strip() for line in text.splitlines())
    assert " ".join(first_column.split()).count(LONG) == 2
    assert text.count("0.3333") == 2
    assert text.count("A note.") == 2


def test_text_grows_where_columns_need_it():
    columns = tuple(f"column{i}" for i in range(12))
    table = ResultTable("wide", "Wide", columns, (tuple(f"value-number-{i}" for i in range(12)),))
    text = terminal_text([table], 80)
    assert "…" not in text
    assert all(f"value-number-{i}" in text for i in range(12))


def test_files(tmp_path):
    other = ResultTable("other", "Another", ("x",), ((1,),))
    written = write_tables(tmp_path / "new" / "folder", [TABLE, other])
    assert [path.name for path in written.paths] == ["made.md", "made.csv", "other.csv"]
    assert written.paths[0].read_text("utf-8") == markdown_text([TABLE, other])
    assert written.paths[2].read_text("utf-8") == "x\n1\n"
    assert written.text == terminal_text([TABLE, other])
    assert sorted(path.name for path in written.paths[0].parent.iterdir()) == ["made.csv", "made.md", "other.csv"]


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="results must go to a folder that can be made"):
        write_tables(tmp_path / "file" / "below", [TABLE])
