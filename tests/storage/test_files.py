import multiprocessing

import pytest

from journeyman.errors import InputError
from journeyman.storage.files import lock, made_folder, whole_file


def test_a_file_is_replaced_when_it_is_whole(tmp_path):
    path = tmp_path / "result.txt"
    path.write_text("old")
    with whole_file(path, "a result") as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["result.txt"]


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
