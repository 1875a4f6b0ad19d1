import numpy as np
import pytest
from experiment.small import one_cell

from journeyman.errors import InputError
from journeyman.experiment.cell_run import Checkpoint, Job, advance, load_checkpoint, save_checkpoint

METRICS = ("truth", "true_regret")


@pytest.fixture(scope="module")
def checkpoint():
    return advance(Job(one_cell(), 2, METRICS), Checkpoint())


@pytest.fixture
def path(checkpoint, tmp_path):
    path = tmp_path / "cell.npz"
    save_checkpoint(path, checkpoint, METRICS)
    return path


def same(first, second):
    """Whether two checkpoints are the same, bit by bit."""
    if repr(first.rows) != repr(second.rows) or first.snapshot.keys() != second.snapshot.keys():
        return False
    names = first.snapshot.keys() - {"state"}
    arrays = [(np.asarray(first.snapshot[name]), np.asarray(second.snapshot[name])) for name in names]
    return repr(first.snapshot["state"]) == repr(second.snapshot["state"]) and all(
        one.tobytes() == other.tobytes() and one.dtype == other.dtype for one, other in arrays
    )


def test_a_file_gives_back_what_was_kept(checkpoint, path):
    assert same(load_checkpoint(path, METRICS), checkpoint)
    assert list(path.parent.iterdir()) == [path]  # nothing else is left


def test_rows_may_hold_any_number(tmp_path):
    rows = ({"step": 0, "score": None}, {"step": 1, "score": float("-inf"), "truth": float("nan"), "holds": True})
    save_checkpoint(tmp_path / "cell.npz", Checkpoint(rows), METRICS)
    found = load_checkpoint(tmp_path / "cell.npz", METRICS)
    assert repr(found.rows) == repr(rows)
    assert found.snapshot is None


def test_one_with_other_metrics_is_of_use_only_if_it_has_all_that_are_wanted(path):
    assert load_checkpoint(path, ("truth",)).num_steps == 2
    assert load_checkpoint(path, ("truth", "entropy")) == Checkpoint()


def test_there_may_be_none(tmp_path):
    assert load_checkpoint(tmp_path / "none.npz", METRICS) == Checkpoint()
    assert Checkpoint().num_steps == -1


def test_one_of_another_cell_is_not_taken(path):
    other = path.with_name("other.npz")
    path.rename(other)
    assert load_checkpoint(other, METRICS) == Checkpoint()


@pytest.mark.parametrize("length", [0, 1, 100, 0.3, 0.9, 0.999])
def test_a_part_of_a_file_is_none(path, length):
    data = path.read_bytes()
    path.write_bytes(data[: length if isinstance(length, int) else int(length * len(data))])
    assert load_checkpoint(path, METRICS) == Checkpoint()


@pytest.mark.parametrize("text", [b"", b"hello", b"PK\x03\x04", b"\x93NUMPY" + bytes(20)])
def test_something_else_is_none(path, text):
    path.write_bytes(text)
    assert load_checkpoint(path, METRICS) == Checkpoint()


def test_a_file_of_arrays_of_somebody_else_is_none(path):
    np.savez(path, plain=np.arange(3))
    assert load_checkpoint(path, METRICS) == Checkpoint()
    np.savez(path, plain=np.frombuffer(b"[1, 2]", dtype=np.uint8))
    assert load_checkpoint(path, METRICS) == Checkpoint()


def test_damage_is_noticed_wherever_it_is(checkpoint, path):
    """A changed bit gives no checkpoint at all, or sits where it does not matter, as in the time of the file."""
    data, rng, num_refused = path.read_bytes(), np.random.default_rng(0), 0
    directory = data.index(b"PK\x01\x02")
    places = [*rng.integers(0, directory, 60), *rng.integers(directory, len(data), 60)]
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        found = load_checkpoint(path, METRICS)
        num_refused += found == Checkpoint()
        assert found == Checkpoint() or same(found, checkpoint), place
    assert num_refused > 80


def test_a_place_that_cannot_be_written_is_said(checkpoint, tmp_path):
    with pytest.raises(InputError, match=r"a checkpoint must go where it can be written, .* Make room"):
        save_checkpoint(tmp_path / "none" / "cell.npz", checkpoint, METRICS)
