"""Tables with named columns: every form gives the same, and every complaint names its place."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from journeyman.errors import InputError
from journeyman.mdp.names import Names
from journeyman.storage.tables import (
    NO_INDEX,
    file_kind,
    found_separator,
    has_decimal_comma,
    is_missing,
    read_table,
    separator_of,
)

PLACES = Names("state", 3, ("home", "road", "the, goal"))


def written(path, text, encoding="utf-8"):
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_every_form_of_a_table_gives_the_same(tmp_path):
    columns = {"state": ["home", "road", "the, goal"], "probability": [0.25, 0.5, 1.0], "note": ["a", "b", "c"]}
    frame = pd.DataFrame(columns)
    frame.to_parquet(tmp_path / "t.parquet")
    records = frame.to_dict("records")
    text = {sign: frame.to_csv(sep=sign, index=False) for sign in ",;\t"}
    sources = [
        columns,
        frame,
        frame.astype({"state": "category", "probability": "Float64"}),
        {name: np.array(values) for name, values in columns.items()},
        tmp_path / "t.parquet",
        written(tmp_path / "comma.csv", text[","]),
        written(tmp_path / "semicolon.CSV", "\ufeff" + text[";"]),
        written(tmp_path / "tab.csv", text["\t"].replace("\n", "\r\n")),
        written(tmp_path / "tab.tsv", text["\t"]),
        written(tmp_path / "spreadsheet.txt", "\ufeff" + text["\t"], "utf-16-le"),
        written(tmp_path / "packed.csv.gz", text[";"]),
        str(written(tmp_path / "t.json", json.dumps(records))),
        written(tmp_path / "t.jsonl.gz", "\n\n".join(map(json.dumps, records))),
        written(tmp_path / "empty.ndjson", "".join(json.dumps(record) + "\n" for record in records)),
    ]
    for source in sources:
        table = read_table(source)
        assert table.names == tuple(columns)
        assert len(table) == 3 and "note" in table and "age" not in table
        assert table.numbers("probability").tolist() == columns["probability"]
        assert table.indices("state", PLACES.index).tolist() == [0, 1, 2]
        assert read_table(table) is table
    assert read_table({}).names == () and len(read_table({"a": []})) == 0
    assert len(read_table(written(tmp_path / "nothing.csv", ""))) == 0


def test_lines_are_those_where_rows_begin(tmp_path):
    """Blank lines and values of several lines count, so that an editor finds the line."""
    table = read_table(written(tmp_path / "a.csv", '\ufeff\na,b\n\n1,x\n2,"two\nlines"\n3,y\n,\n4,z,,\n'))
    assert table.lines == [4, 5, 7, 9]
    assert table.values("b") == ("x", "two\nlines", "y", "z")
    assert table.place(2) == "line 7 of a.csv" and table.place(0, "b") == "column b, line 4 of a.csv"
    assert read_table({"a": [1, 2]}).place(1) == "entry 1 of the table"


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n0,5;1,5\n", ";"),
        ("a\tb;c\n1\t2;3\n4\t5\n", "\t"),  # a semicolon does not fit the third line
        ('"a;x","b;y"\n1,2\n', ","),  # quotes are heeded
        ("a;b;c\n1;2,5;3\n", ";"),
        ("a,b\n1,2,5\n", ","),  # no separator fits all lines: the header decides
        ("a\n1\n", ","),
        ("", ","),
    ],
)
def test_the_separator_is_found(text, separator):
    assert found_separator("a.csv", text) == separator


def test_a_separator_that_is_not_clear_must_be_said(tmp_path):
    path = written(tmp_path / "a.csv", "a;b,c\n1;2,3\n")
    with pytest.raises(InputError, match=r"columns of a\.csv must be .* comma and semicolon would fit\. Say which"):
        read_table(path)
    assert read_table(path, separator=";").names == ("a", "b,c")
    assert read_table(path, separator=separator_of("comma")).names == ("a;b", "c")
    assert [separator_of(word) for word in (None, "tab", "\\t", ";")] == [None, "\t", "\t", ";"]
    with pytest.raises(InputError, match=r"comma, semicolon or tab, got 'semicolons'\. Did you mean 'semicolon'"):
        separator_of("semicolons")
    with pytest.raises(InputError, match="a separator must be a comma"):
        read_table(path, separator="|")


def test_a_decimal_comma_is_refused_with_the_reason(tmp_path):
    table = read_table(written(tmp_path / "a.csv", "state;probability\n0;1\n1;0,5\n"))
    with pytest.raises(InputError, match=r"probability must be a number, got '0,5' at line 3 of a\.csv\. A comma may .*"
                       r"write 0\.5 with a decimal point"):  # fmt: skip
        table.numbers("probability")
    with pytest.raises(InputError, match=r"must hold 2 fields.*got 3 \('1,0,5'\) at line 3 of b\.csv.* decimal comma"):
        read_table(written(tmp_path / "b.csv", "state,probability\n0,1\n1,0,5\n"))
    assert [has_decimal_comma(text) for text in ("0,5", " -12,25", "0.5", "a,b", "5", ",5")] == [True] * 2 + [False] * 4


def test_missing_values_are_recognised_and_labels_win():
    values = ["", " ", "NA", "N/A", "NaN", "nan", "None", "null", ".", None, float("nan"), np.nan, pd.NA, pd.NaT]
    assert all(is_missing(value) for value in values)
    assert not any(is_missing(value) for value in ["Nan", "0", 0, 0.0, "none at all", "..", [], "-"])
    table = read_table({"state": ["home", "NA", None, "1.0", 2.0, float("nan")]})
    assert table.indices("state", PLACES.index, may_miss=True).tolist() == [0, NO_INDEX, NO_INDEX, 1, 2, NO_INDEX]
    assert table.indices("state", lambda name: 7 if name == "NA" else 0).tolist() == [0, 7, 0, 0, 0, 0]
    with pytest.raises(InputError, match=r"state must be given, got nothing \('NA'\) at entry 1 of the table"):
        table.indices("state", PLACES.index)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"state": ["home", "raod"]}, "column state, entry 1 of the table: a state must be a label .* mean 'road'"),
        ({"state": ["home", "0,5"]}, "entry 1 of the table: a state must be .* not with a comma"),
        ({"state": [["home"]]}, r"column state must be a list of values, got shape \(1, 1\)"),
        ({"state": [{}]}, "state must be a name, got {} at entry 0"),
        ({"state": 3}, r"column state must be a list of values, got shape \(\)"),
        ({"state": [1], "x": [1, 2]}, "must have one length, got {'state': 1, 'x': 2}"),
        ({"stat": [1]}, "must have the columns state, got stat in the table. Did you mean 'stat'"),
        (pd.DataFrame([[1, 2]], columns=["state", "state"]), "once each, got state twice"),
        ([1, 2], r"a path, a DataFrame or a mapping of columns, got \[1, 2\]"),
    ],
)
def test_what_is_wrong_with_values_is_named(source, message):
    with pytest.raises(InputError, match=message):
        read_table(source).indices("state", PLACES.index)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b'a,b\n"1,2\n', r"a\.csv must be a well-formed table, got unexpected end of data at line 2"),
        ("a.csv", b"a,b\n1,2\n3\n", r"must hold 2 fields, as its header does, got 1 \('3'\) at line 3 of a\.csv"),
        ("a.csv", b"a;b\n1;2;3\n", r"got 3 \('1;2;3'\) at line 2 .* A semicolon inside of a value"),
        ("a.csv", b"a,a\n1,2\n", r"once each, got a twice in a\.csv\. Remove or rename the second a"),
        ("a.csv", b"state|x\n1|2\n", r"columns a, got state\|x in a\.csv\. Is it separated by comma, semicolon or tab"),
        ("a.csv", b"a,b\n1,2\n\xe9,2\n", r"must be UTF-8 text, got the byte b'\\xe9' at line 3"),
        ("a.csv.gz", b"a,b\n1,2\n", r"a\.csv\.gz must be a gzip file"),
        ("a.json", b"{", r"a\.json must be JSON, but"),
        ("a.json", b'{"a": 1}', "must be a list of objects, one for each row"),
        ("a.jsonl", b'{"a": 1}\n\n[2]\n', r"must be an object, got \[2\] at line 3 of a\.jsonl"),
        ("a.jsonl", b'{"a": 1}\n\n{\n', r"line 3 of a\.jsonl must be JSON"),
        ("a.parquet", b"nothing", r"a\.parquet must be a Parquet file"),
        ("a.xlsx", b"", r"must be a file that ends in \.csv, .* got 'a\.xlsx'"),
        ("a.csv", b"a,b\nx,2\n", r"a must be a number, got 'x' at line 2 of a\.csv\. Give one number"),
        ("a.csv", b"a,b\nNA,2\n", r"a must be a number, got nothing \('NA'\) at line 2 of a\.csv\. Fill it in"),
        ("a.json", b'[{"a": 1}, {"a": true}]', r"a must be a number, got True at entry 1 of a\.json"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / name).numbers("a")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"an edge table must be in a file that can be read, got .*No such file"):
        read_table(tmp_path / "none.csv", what="an edge table")
    assert [file_kind(name) for name in ("a.CSV.gz", "b.tsv", "c", "d.gz")] == [".csv", ".tsv", "", ""]
