"""Append-only lines: a torn last line is dropped, other settings are refused by name, one process writes at a time."""

import json

import pytest

from journeyman.errors import InputError
from journeyman.storage.jsonl import appended, read_lines

HEADER = {"format": "test-1", "settings": {"seed": 0, "sizes": [1, 2]}}


def write(path, *records, header=HEADER):
    with appended(path, header, "settings") as (found, append):
        for record in records:
            append(record)
    return found


def values(path):
    return [record["value"] for _, record in read_lines(path, "test-1").records]


def test_what_is_appended_is_kept_in_order(tmp_path):
    path = tmp_path / "new" / "lines.jsonl"
    assert write(path, {"value": 1}).records == []
    assert write(path, {"value": "two\u2028lines"}).records == [(2, {"value": 1})]
    assert values(path) == [1, "two\u2028lines"]
    assert read_lines(path, "test-1").header == HEADER


@pytest.mark.parametrize("num_bytes", [1, 5, 14])
def test_a_torn_last_line_is_left_out_and_then_dropped(tmp_path, num_bytes):
    path = tmp_path / "lines.jsonl"
    write(path, {"value": 1}, {"value": 20000})
    path.write_bytes(path.read_bytes()[:-num_bytes])
    assert values(path) == [1]
    write(path, {"value": 3})
    assert values(path) == [1, 3]
    assert all(json.loads(line) for line in path.read_text("utf-8").splitlines())


def test_other_settings_are_refused_and_named(tmp_path):
    path = tmp_path / "lines.jsonl"
    write(path, {"value": 1})
    before = path.read_bytes()
    other = {"format": "test-1", "settings": {"seed": 0, "sizes": [1, 3]}}
    with pytest.raises(InputError, match=r"got sizes = \[1, 3\] where .* has \[1, 2\]"):
        write(path, header=other)
    with pytest.raises(InputError, match=r"must begin with a header of format test-2"):
        write(path, header=HEADER | {"format": "test-2"})
    assert path.read_bytes() == before


def test_a_broken_line_in_the_middle_is_said(tmp_path):
    path = tmp_path / "lines.jsonl"
    write(path, {"value": 1})
    path.write_text(path.read_text("utf-8") + "{oops\n" + '{"value": 2}\n', "utf-8")
    with pytest.raises(InputError, match=r"got b'\{oops' at line 3 of .* Remove that line"):
        read_lines(path, "test-1")


def test_one_process_writes_at_a_time(tmp_path):
    path = tmp_path / "lines.jsonl"
    with (
        appended(path, HEADER, "settings"),
        pytest.raises(InputError, match="must be written by one process at a time"),
        appended(path, HEADER, "settings"),
    ):
        pass


def test_settings_that_nothing_can_be_done_with_leave_no_file(tmp_path):
    path = tmp_path / "lines.jsonl"
    with pytest.raises(InputError), appended(path, HEADER, "settings"):
        raise InputError("too small. Choose more.")
    assert not path.exists()
    with pytest.raises(InputError), appended(path, HEADER, "settings") as (_, append):
        append({"value": 1})
        raise InputError("the second one failed. Try again.")
    assert values(path) == [1]
