import os
import shutil

import pytest
from experiment.small import one_cell, timeless

from journeyman.errors import InputError
from journeyman.experiment import METRICS, results, store as store_module
from journeyman.experiment.cell_run import Checkpoint, Job, advance
from journeyman.experiment.store import PARTS, Store, open_store
from journeyman.storage.files import try_lock

CELL = one_cell(acquisitions=["reward_eig"])
ALL, FEW = tuple(METRICS), ("truth", "true_regret")


@pytest.fixture(scope="module")
def course():
    return advance(Job(CELL, 5, ALL), Checkpoint())


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "sweep")


def files(store):
    return sorted(str(path.relative_to(store.path)) for path in store.path.rglob("*") if path.is_file())


def test_a_folder_is_made_with_its_parts(tmp_path):
    store = open_store(tmp_path / "a" / "b")
    assert sorted(path.name for path in store.path.iterdir()) == sorted(PARTS)
    assert open_store(store.path).path == store.path


def test_what_killed_processes_left_behind_is_removed(store):
    old, new = (store.path / "checkpoints" / f".{name}.npz.0.part" for name in ("old", "new"))
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (0.0, 0.0))
    open_store(store.path)
    assert not old.exists()
    assert new.exists()  # another process may be writing it


def test_a_folder_need_not_be_there_to_be_looked_at(tmp_path):
    store, job = Store(tmp_path / "none"), Job(CELL, 3, ALL)
    assert not store.is_finished(job)
    assert not store.has_failed(CELL.id)
    assert not store.is_claimed(CELL.id)
    assert store.checkpoint(job) == Checkpoint()
    assert not store.path.exists()


@pytest.mark.parametrize("place", ["file", "file/below", "part"])
def test_a_place_that_cannot_be_a_folder_is_said(tmp_path, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "results").write_text("")
    with pytest.raises(InputError, match=r"a sweep must go to a folder that can be written, .* Choose another place"):
        open_store(tmp_path / place)


def test_a_finished_cell_is_one_file(store, course):
    job = Job(CELL, 5, ALL)
    store.keep(job, Checkpoint(course.rows[:3]))
    store.fail(CELL, "oops", "somewhere")
    assert not store.is_finished(job)
    store.finish(job, course.rows)
    assert files(store) == [f"results/{CELL.id}.parquet"]
    assert store.is_finished(job)
    assert store.is_finished(Job(CELL, 2, FEW))
    assert not store.is_finished(Job(CELL, 6, ALL))
    assert not store.is_finished(Job(one_cell(seeds=[9]), 1, ALL))


def test_what_is_finished_is_seen_by_others_at_once(store, course):
    other, job = Store(store.path), Job(CELL, 5, ALL)
    assert not other.is_finished(job)
    store.finish(Job(CELL, 3, ALL), course.rows[:4])
    assert not other.is_finished(job)
    store.finish(job, course.rows)
    assert other.is_finished(job)


def test_a_cell_goes_on_from_the_longest_that_there_is(store, course):
    job = Job(CELL, 5, ALL)
    assert store.checkpoint(job) == Checkpoint()
    store.keep(job, Checkpoint(course.rows[:2], course.snapshot))
    assert store.checkpoint(job).num_steps == 1
    assert store.checkpoint(job).snapshot is not None
    store.finish(Job(CELL, 3, ALL), course.rows[:4])
    assert store.checkpoint(job).num_steps == 3
    assert timeless(store.checkpoint(job).rows) == timeless(course.rows[:4])
    store.keep(job, Checkpoint(course.rows[:5], course.snapshot))
    assert store.checkpoint(job).num_steps == 4


def test_results_without_a_metric_are_no_beginning_for_more(store, course):
    store.finish(Job(CELL, 3, FEW), course.rows[:4])
    assert store.checkpoint(Job(CELL, 5, ALL)) == Checkpoint()
    assert store.checkpoint(Job(CELL, 5, FEW)).num_steps == 3


@pytest.mark.parametrize(
    ("old", "new"), [((5, FEW), (2, ALL)), ((3, ("truth",)), (3, ("true_regret",))), ((5, ALL), (2, (*ALL, "more")))]
)
def test_new_results_never_take_the_place_of_others_that_have_more(store, course, old, new):
    for num_steps, metrics in (old, new):
        store.finish(Job(CELL, num_steps, metrics), course.rows[: num_steps + 1])
    for again in (store, Store(store.path)):
        assert again.is_finished(Job(CELL, *old))
        assert again.is_finished(Job(CELL, *new))
    assert len(files(store)) == 2


def test_new_results_take_the_place_of_older_ones(store, course):
    for num_steps, metrics in ((2, FEW), (3, FEW), (3, ALL), (5, ALL)):
        store.finish(Job(CELL, num_steps, metrics), course.rows[: num_steps + 1])
    assert files(store) == [f"results/{CELL.id}.parquet"]


@pytest.mark.parametrize("is_compact", [False, True])
def test_a_table_of_many_cells_counts(store, course, is_compact):
    other = one_cell(seeds=[7])
    for cell in (CELL, other):
        store.finish(Job(cell, 5, ALL), course.rows)
    parts = [store.table(cell.id, store.stored(cell.id)[0]) for cell in (CELL, other)]
    shutil.rmtree(store.path / "results")
    (store.path / "results").mkdir()
    path = store.path / "results" / "all of them.parquet"
    results.write_table(path, results.joined(parts, is_compact=is_compact), ALL)
    found = Store(store.path)
    assert found.is_finished(Job(CELL, 5, ALL))
    assert found.is_finished(Job(other, 4, FEW))
    assert not found.is_finished(Job(CELL, 6, ALL))
    longer = found.checkpoint(Job(other, 6, ALL))
    assert [row["state"] for row in longer.rows] == [row["state"] for row in course.rows]
    if not is_compact:
        assert longer.rows == course.rows
    found.finish(Job(CELL, 3, ALL), course.rows[:4])  # what is shared stays, and is found behind it
    assert Store(store.path).is_finished(Job(CELL, 5, ALL))


def test_a_shared_table_that_is_none_is_said(store):
    (store.path / "results" / "notes.parquet").write_text("hello")
    with pytest.raises(InputError, match=r"notes\.parquet"):
        Store(store.path).is_finished(Job(CELL, 5, ALL))


def test_a_result_of_another_cell_is_not_taken(store, course):
    store.finish(Job(CELL, 5, ALL), course.rows)
    other = one_cell(seeds=[7])
    store.result_path(CELL.id).rename(store.result_path(other.id))
    assert not Store(store.path).is_finished(Job(other, 5, ALL))


def test_failures_are_told(store):
    store.fail(CELL, "ValueError: oops", "Traceback ...")
    assert store.has_failed(CELL.id)
    found = store.failure(CELL.id)
    assert (found["error"], found["traceback"], found["what"]) == ("ValueError: oops", "Traceback ...", CELL.text)
    assert found["record"] == CELL.record()
    store.failure_path(CELL.id).write_text("{")
    assert "cannot be read" in store.failure(CELL.id)["error"]
    store.forget_failure(CELL.id)
    store.forget_failure(CELL.id)
    assert not store.has_failed(CELL.id)


def test_one_at_a_time_works_on_a_cell(store):
    other = Store(store.path)
    held = store.claim(CELL.id)
    assert held is not None
    assert other.claim(CELL.id) is None
    assert other.is_claimed(CELL.id)
    held.close()
    assert not other.is_claimed(CELL.id)
    again = other.claim(CELL.id)
    assert again is not None
    other.release(CELL.id, again)
    assert files(store) == []


def test_a_lock_on_a_file_that_was_removed_is_no_lock(store, monkeypatch):
    """One process opens the file before its owner removes it, and locks it after: others would lock a new file."""
    path, held, is_first = store.path / "locks" / CELL.id, store.claim(CELL.id), iter([True])
    store.release(CELL.id, held)

    def removed_meanwhile(file):
        is_locked = try_lock(file)
        if next(is_first, False):
            path.unlink()
        return is_locked

    monkeypatch.setattr(store_module, "try_lock", removed_meanwhile)
    taken = store.claim(CELL.id)
    monkeypatch.undo()
    assert os.path.samestat(os.fstat(taken.fileno()), path.stat())
    assert Store(store.path).claim(CELL.id) is None
    store.release(CELL.id, taken)


def test_a_lock_that_cannot_be_written_is_said(store):
    shutil.rmtree(store.path / "locks")
    with pytest.raises(InputError, match="a sweep must go to a folder that can be written"):
        store.claim(CELL.id)
