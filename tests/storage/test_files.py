import multiprocessing
import os

import numpy as np
import pytest

from journeyman.errors import InputError
from journeyman.storage.files import (
    lock,
    made_folder,
    number_table,
    read_arrays,
    read_csv,
    remove_leftovers,
    whole_file,
    write_block,
)


def test_a_file_is_replaced_when_it_is_whole(tmp_path):
    path = tmp_path / "result.txt"
    path.write_text("old")
    with whole_file(path, "a result") as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["result.txt"]


def test_who_may_read_a_file_stays_as_it_was(tmp_path):
    path = tmp_path / "result.txt"
    path.write_text("old")
    path.chmod(0o600)
    with whole_file(path, "a result") as temporary:
        assert temporary.stat().st_mode & 0o777 == 0o600  # from the start
        temporary.write_text("new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o600)


def test_what_killed_processes_left_is_removed_once_it_is_old(tmp_path):
    names = [".a[1].csv.0000.part", ".a1.csv.0000.part", ".b.csv.0000.part", "a.part"]
    for name in names:
        (tmp_path / name).write_text("half")
    remove_leftovers(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4  # somebody may be writing them
    for name in names:
        os.utime(tmp_path / name, (0, 0))
    remove_leftovers(tmp_path, "a[1].csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[1:])
    remove_leftovers(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.part"]


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "result.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="half"), whole_file(path, "a result") as temporary:
        temporary.write_text("ne")
        raise RuntimeError("half")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["result.txt"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    path = tmp_path / "missing" / "result.txt"
    message = (
        r"a result must go where it can be written, got .*result.txt': No such file or directory\. Try elsewhere\."
    )
    with pytest.raises(InputError, match=message), whole_file(path, "a result", advice="Try elsewhere.") as temporary:
        temporary.write_text("new")


def hold(path, is_held, may_end):
    with open(path, "a") as file:
        lock(file, path, "a result")
        is_held.set()
        may_end.wait(30)


def test_a_file_that_another_process_writes_is_refused(tmp_path):
    path = tmp_path / "result.txt"
    context = multiprocessing.get_context("spawn")
    is_held, may_end = context.Event(), context.Event()
    other = context.Process(target=hold, args=(path, is_held, may_end))
    other.start()
    try:
        assert is_held.wait(30)
        with path.open("a") as file, pytest.raises(InputError, match="a result must be written by one process at a"):
            lock(file, path, "a result")
    finally:
        may_end.set()
        other.join(30)
    with path.open("a") as file:
        lock(file, path, "a result")


def test_made_folder(tmp_path):
    assert made_folder(tmp_path / "a" / "b", "pictures").is_dir()
    assert made_folder(str(tmp_path / "a" / "b"), "pictures").is_dir()  # and again
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"pictures must go to a folder that can be made, got .*file"):
        made_folder(tmp_path / "file", "pictures")


def test_arrays_are_read_all_or_by_name(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.arange(3), words=np.array(["a", "b"]))
    assert read_arrays(path)["words"].tolist() == read_arrays(path.read_bytes())["words"].tolist() == ["a", "b"]
    assert list(read_arrays(path, "x", "y")) == ["x"]
    np.savez(path, x=np.array([{}], dtype=object), allow_pickle=True)
    for source in (path, path.read_bytes()[:50], b"", b"hello", tmp_path / "nowhere.npz"):
        with pytest.raises(ValueError):
            read_arrays(source)


def test_tables_are_read_with_their_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("\ufeffa,b\n\n1,x\n2.5,y\n", encoding="utf-8")
    header, *lines = read_csv(path)
    assert (header, [number for number, _ in lines]) == ((1, ["a", "b"]), [3, 4])
    assert number_table(path, lines, 2, {"a": 0}).tolist() == [[1.0], [2.5]]
    assert number_table(path, [], 2).shape == (0, 2)
    with pytest.raises(InputError, match=r"hold 2 fields, all numbers, got '1,x' at line 3 of a\.csv"):
        number_table(path, lines, 2)
    with pytest.raises(InputError, match=r"hold 3 fields, numbers in a, got '1,x' at line 3 of a\.csv"):
        number_table(path, lines, 3, {"a": 0})


def test_a_block_of_a_page_is_replaced_and_the_rest_stays(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "a\n<!-- one: made by x.py -->\nold\n<!-- end of one -->\nb\n<!-- two: made by x.py -->\n<!-- end of two -->"
    )
    for _ in range(2):
        write_block(page, "one", ["1", "2"])
    assert page.read_text() == (
        "a\n<!-- one: made by x.py -->\n1\n2\n<!-- end of one -->\nb\n<!-- two: made by x.py -->\n<!-- end of two -->"
    )
    for name in ("three", "end of two"):
        with pytest.raises(InputError, match=rf"must say where its {name} is"):
            write_block(page, name, [])
