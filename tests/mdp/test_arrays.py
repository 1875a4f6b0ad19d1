"""Files: bit-identical round trips, damaged files, saves that fail."""

import json
import os
import stat
import zipfile

import numpy as np
import pytest
from mdp.random_mdps import random_mdp, varied_mdps
from mdp.test_builders import assert_same

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, Grid, solve


@pytest.fixture
def path(tmp_path):
    return tmp_path / "mdp.npz"


@pytest.fixture
def mdp():
    grid = Grid(2, 3, cells=[[0, 0], [0, 1], [1, 2]], moves=[[0, 1], [1, 0]], kinds=("a", "b", "c"))
    rng = np.random.default_rng(3)
    return random_mdp(
        rng, 3, 2, ending=1.0, unavailable=0.3, state_labels=("x", "ÿ é", ""), action_labels=("go", "日本"), grid=grid
    )


def rewrite(path, **changes):
    """Change arrays of a file; None removes one."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays |= changes
    np.savez_compressed(path, **{name: value for name, value in arrays.items() if value is not None})


def test_a_round_trip_changes_nothing(path):
    for rng, mdp in varied_mdps(25, seed=600):
        mdp.save(path)
        loaded = FiniteMDP.load(path)
        assert_same(loaded, mdp)
        reward = rng.normal(size=mdp.available.shape)
        np.testing.assert_array_equal(solve(loaded, reward).values, solve(mdp, reward).values)


def test_a_round_trip_keeps_labels_grid_and_terminal_cells(path, mdp):
    mdp.save(str(path))
    loaded = FiniteMDP.load(str(path))
    assert_same(loaded, mdp)
    assert (loaded.grid.num_rows, loaded.grid.num_columns, loaded.grid.kinds) == (2, 3, ("a", "b", "c"))
    np.testing.assert_array_equal(loaded.grid.places, mdp.grid.places)
    np.testing.assert_array_equal(loaded.grid.moves, mdp.grid.moves)
    choice = FiniteMDP.from_dense(np.zeros((2, 1, 2)), layout="SAS", discount=0.9, terminal=[True, False])
    choice.save(path)
    assert FiniteMDP.load(path).terminal.tolist() == [True, False]


def test_a_tiny_chance_of_termination_survives(path):
    mdp = FiniteMDP.from_dense([[[1 - 1e-7]]], layout="SAS", discount=0.9, termination=[[1e-7]])
    mdp.save(path)
    assert FiniteMDP.load(path).rows.probabilities.tolist() == [1 - 1e-7]


def test_a_row_of_100_000_entries_survives(path):
    """Its sum is off by more than the rounding of a short row, and must not be renormalised a second time."""
    size = 100_000
    chances = np.random.default_rng(0).random(size)
    columns = {"state": np.zeros(size), "action": np.zeros(size), "next_state": np.arange(size)}
    mdp = FiniteMDP.from_edges(columns | {"probability": chances / chances.sum() * (1 - 5e-7)}, discount=0.9)
    mdp.save(path)
    assert_same(FiniteMDP.load(path), mdp)
    again = FiniteMDP.from_edges(columns | {"probability": mdp.rows.probabilities}, discount=0.9)
    assert_same(again, mdp)


def test_a_file_holds_no_pickle(path, mdp):
    mdp.save(path)
    with np.load(path, allow_pickle=False) as file:
        assert all(file[name].dtype.kind in "biufU" for name in file.files)


# -- files that are not what they should be --------------------------------------------------------------------------


def test_a_file_cut_anywhere_is_refused(path, mdp):
    mdp.save(path)
    whole = path.read_bytes()
    for length in sorted({*range(0, len(whole), 37), 1, 4, len(whole) - 1}):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"mdp\.npz must be an MDP file written by FiniteMDP\.save, but reading"):
            FiniteMDP.load(path)


def test_a_damaged_byte_is_refused_or_harmless(path, mdp):
    """Checksums find it, or it lies where nothing depends on it, such as a date."""
    mdp.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    num_refused = 0
    for at in rng.choice(len(whole), size=400, replace=False):
        damaged = bytearray(whole)
        damaged[at] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            loaded = FiniteMDP.load(path)
        except InputError:
            num_refused += 1
        else:
            for name in ("initial", "available", "terminal"):
                np.testing.assert_array_equal(getattr(loaded, name), getattr(mdp, name))
            for name in ("indptr", "next_states", "probabilities"):
                np.testing.assert_array_equal(getattr(loaded.rows, name), getattr(mdp.rows, name))
    assert num_refused > 200


@pytest.mark.parametrize("content", [b"", b"hello", b"\x93NUMPY", b"PK\x03\x04", b"\x80\x04\x95", bytes(1000)])
def test_foreign_files(path, content):
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"mdp\.npz must be an MDP file.* Write it again"):
        FiniteMDP.load(path)


def test_other_files_of_numpy(path):
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(InputError, match="must be an MDP file"):
        FiniteMDP.load(path)
    np.savez(path, rewards=np.zeros(3))
    with pytest.raises(InputError, match="of format 'journeyman-mdp-1', got none"):
        FiniteMDP.load(path)
    np.savez(path, objects=np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="must be an MDP file"):
        FiniteMDP.load(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("format.npy", json.dumps("journeyman-mdp-1"))
    with pytest.raises(InputError, match="MDP file"):
        FiniteMDP.load(path)


def test_a_later_format_is_named(path, mdp):
    mdp.save(path)
    rewrite(path, format=np.array("journeyman-mdp-2"))
    with pytest.raises(InputError, match=r"of format 'journeyman-mdp-1', got journeyman-mdp-2\. Write it again"):
        FiniteMDP.load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("shape", None),
        ("shape", np.array([3])),
        ("shape", np.array([3, 10**6])),
        ("shape", np.array([10**9, 10**9])),
        ("shape", np.array([-3, -2])),
        ("shape", np.array(["a", "b"])),
        ("shape", np.array(6)),
        ("indptr", None),
        ("indptr", np.zeros(0, dtype=int)),
        ("indptr", np.array(3)),
        ("indptr", np.zeros(7)),
        ("next_states", np.array([7] * 10)),
        ("probabilities", np.zeros(3)),
        ("probabilities", np.array("a")),
        ("discount", None),
        ("discount", np.array([0.9, 0.9])),
        ("discount", np.array(1.5)),
        ("discount", np.array("high")),
        ("initial", np.ones(3)),
        ("initial", np.array(["a", "b", "c"])),
        ("available", np.zeros((3, 2), dtype=bool)),
        ("available", np.ones((2, 2), dtype=bool)),
        ("terminal", np.zeros(3)),
        ("terminal", np.ones(3, dtype=bool)),
        ("state_labels", np.array(["a", "a", "b"])),
        ("state_labels", np.array("a")),
        ("grid_shape", np.array([1, 1])),
        ("grid_shape", np.array(3)),
        ("grid_cells", None),
        ("grid_cells", np.zeros((3, 2), dtype=int)),
        ("grid_kinds", np.array(["a"])),
    ],
)
def test_contents_that_are_no_mdp(path, mdp, name, value):
    mdp.save(path)
    rewrite(path, **{name: value})
    with pytest.raises(InputError, match=r"mdp\.npz must hold a whole MDP, but it does not: .* Write it again"):
        FiniteMDP.load(path)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.5, 0.0, 1.5])
def test_probabilities_in_a_file_are_checked(path, mdp, bad):
    mdp.save(path)
    probabilities = mdp.rows.probabilities.copy()
    probabilities[1] = bad
    rewrite(path, probabilities=probabilities)
    with pytest.raises(InputError, match=r"at state (0|x), action (\d|go)"):
        FiniteMDP.load(path)


@pytest.mark.parametrize("name", ["missing.npz", "\0.npz"])
def test_no_such_file(tmp_path, name):
    with pytest.raises(InputError, match=r"the MDP file must exist, got .* Check the path"):
        FiniteMDP.load(tmp_path / name)


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "mdp.npz").mkdir()
    with pytest.raises(InputError, match="must be an MDP file"):
        FiniteMDP.load(tmp_path / "mdp.npz")


# -- saving ----------------------------------------------------------------------------------------------------------


def test_saving_where_it_cannot_be(tmp_path, mdp):
    with pytest.raises(InputError, match=r"an MDP file must end in \.npz, got 'mdp\.zip'\. Rename it"):
        mdp.save(tmp_path / "mdp.zip")
    with pytest.raises(InputError, match=r"the folder of an MDP file must exist, got .*nowhere.* Create it first"):
        mdp.save(tmp_path / "nowhere" / "mdp.npz")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(
        InputError, match=r"an MDP must go where it can be written, got .*folder\.npz.*: Is a directory"
    ):
        mdp.save(tmp_path / "folder.npz")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.npz"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("step", ["numpy.savez_compressed", "os.fsync", "os.replace"])
def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(path, mdp, monkeypatch, step, error):
    mdp.save(path)
    before = path.read_bytes()

    def fail(*arguments, **options):
        raise error

    with monkeypatch.context() as patch, pytest.raises(InputError if isinstance(error, OSError) else type(error)):
        patch.setattr(step, fail)
        FiniteMDP.from_dense(np.ones((1, 1, 1)), layout="SAS", discount=0.5).save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_saving_again_replaces_the_file(path, mdp):
    mdp.save(path)
    other = FiniteMDP.from_dense(np.ones((1, 1, 1)), layout="SAS", discount=0.5)
    other.save(path)
    assert_same(FiniteMDP.load(path), other)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_others_may_read_the_file_as_any_other(path, mdp):
    mdp.save(path)
    ordinary = path.with_name("ordinary")
    ordinary.write_bytes(b"")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)
