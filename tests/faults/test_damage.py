"""Files with bits flipped or parts cut off: refused by name, or everything that is read equals what was written."""

import shutil

import numpy as np
import pytest
from experiment.small import assert_same_tables, tiny_sweep
from faults.matrix import attack
from study.tiny import SETTINGS, answer_one, tiny_problem

from journeyman.errors import InputError, StudyError
from journeyman.experiment import run_sweep, sweep_table
from journeyman.experiment.cell_run import Checkpoint, Job, advance, load_checkpoint, save_checkpoint
from journeyman.problem_files import problem_to_record
from journeyman.study import Study
from journeyman.study.log import Verdict
from journeyman.study.recovery import recover


@pytest.fixture(scope="module")
def study_bytes(tmp_path_factory):
    """A study with answers, one of them taken back and one corrected, a snapshot and a verdict."""
    path = tmp_path_factory.mktemp("whole") / "a.study"
    with Study.create(path, tiny_problem(), num_threads=1, **SETTINGS) as study:
        for _ in range(6):
            answer_one(study)
        study.undo(1)
        study.correct(2, 3, annotator="ada")
        study.ask()
        study.posterior()
        study.keep_found(study.events[-1].number, None, {"certificate": "holds"})
    return path.read_bytes()


def seen(path):
    """All that a study says, and what it believes."""
    with Study.open(path, read_only=True, num_threads=1) as study:
        problem = problem_to_record(study.problem)
        arrays = {name: (values.dtype.str, values.tobytes()) for name, values in problem.arrays.items()}
        plain = problem.facts, arrays, study.overview().to_record()
        assert study.verdict() in (None, Verdict(False, False))  # known, or nobody knows any more: both are true
        return repr((plain, study.events, study.queries, study.answers, study.scores().values.tolist()))


def answers_of(path):
    with Study.open(path, read_only=True, num_threads=1) as study:
        return {item.steps for item in study.demonstrations}


def check_study(path, whole, new):
    """Whether a damaged study is refused; what can be recovered of it is nothing that was not answered."""
    try:
        found = seen(path)
    except StudyError as error:
        assert "damaged" in str(error) or "must be" in str(error), error
    else:
        assert found == seen(whole)
        return False
    try:
        recover(path, new)
    except StudyError:
        return True
    assert answers_of(new) <= answers_of(whole) | {((2, 3),), ((0, 3),), ((1, 3),), ((3, 3),)}
    return True


def damage_repeatedly(tmp_path, content, times, damage_fn):
    """Damage a study so many times, and return how often that was noticed."""
    rng, whole, num_refused = np.random.default_rng(times), tmp_path / "whole.study", 0
    whole.write_bytes(content)
    for number in range(times):
        path = tmp_path / str(number) / "a.study"
        path.parent.mkdir()
        path.write_bytes(damage_fn(rng, bytearray(content)))
        num_refused += check_study(path, whole, path.with_name("new.study"))
        shutil.rmtree(path.parent)
    return num_refused


def flipped(rng, data):
    data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return data


def cut(rng, data):
    """Cut the end off, or fill a part with zeros, as a disk that lost a block does."""
    place = int(rng.integers(len(data)))
    if rng.random() < 0.5:
        return data[:place]
    place -= place % 512
    data[place : place + 512] = bytes(len(data[place : place + 512]))
    return data


@attack("study-bits")
def test_flipped_bits_of_a_study(tmp_path, study_bytes, times):
    assert damage_repeatedly(tmp_path, study_bytes, times, flipped) > times / 20  # most are in snapshots, or unused


@attack("study-cut")
def test_a_study_that_was_cut(tmp_path, study_bytes, times):
    assert damage_repeatedly(tmp_path, study_bytes, times, cut) > times / 4


METRICS = ("truth", "true_regret")


@pytest.fixture(scope="module")
def checkpoint():
    return advance(Job(tiny_sweep().cells()[0], 2, METRICS), Checkpoint())


def is_same(first, second):
    """Whether two checkpoints are the same, bit by bit."""
    if repr(first.rows) != repr(second.rows) or first.snapshot.keys() != second.snapshot.keys():
        return False
    plain = [repr(one.snapshot["state"]) for one in (first, second)]
    names = first.snapshot.keys() - {"state"}
    arrays = [[np.asarray(one.snapshot[name]) for name in sorted(names)] for one in (first, second)]
    return plain[0] == plain[1] and all(
        one.dtype == other.dtype and one.tobytes() == other.tobytes() for one, other in zip(*arrays, strict=True)
    )


def damage_checkpoints(tmp_path, checkpoint, times, damage_fn):
    """Damage a checkpoint so many times: there is none then, or the same. Returns how often there was none."""
    path, rng, num_refused = tmp_path / "cell.npz", np.random.default_rng(times), 0
    save_checkpoint(path, checkpoint, METRICS)
    content = path.read_bytes()
    for _ in range(times):
        path.write_bytes(damage_fn(rng, bytearray(content)))
        found = load_checkpoint(path, METRICS)
        num_refused += found == Checkpoint()
        assert found == Checkpoint() or is_same(found, checkpoint)
    return num_refused


@attack("checkpoint-bits")
def test_flipped_bits_of_a_checkpoint(tmp_path, checkpoint, times):
    assert damage_checkpoints(tmp_path, checkpoint, times, flipped) > times / 2


@attack("checkpoint-cut")
def test_a_checkpoint_that_was_cut(tmp_path, checkpoint, times):
    assert damage_checkpoints(tmp_path, checkpoint, times, cut) > times / 2


@attack("results-bits")
def test_flipped_bits_of_results(tmp_path, times):
    sweep, rng, num_refused = tiny_sweep(steps=2), np.random.default_rng(times), 0
    assert run_sweep(sweep, tmp_path, progress=False).is_complete
    expected = sweep_table(sweep, tmp_path)
    path = sorted((tmp_path / "results").glob("*.parquet"))[0]
    content = path.read_bytes()
    for _ in range(times):
        path.write_bytes(flipped(rng, bytearray(content)))
        try:
            found = sweep_table(sweep, tmp_path)
        except InputError as error:
            num_refused += 1
            assert str(path) in str(error) and "Remove that file" in str(error)
        else:  # a cell of which not all can be read counts as one that is not done, and is done again
            is_there = expected["cell"].isin(found["cell"]) if path.stem not in set(found["cell"]) else slice(None)
            assert_same_tables(found, expected[is_there].reset_index(drop=True))
    assert num_refused > times / 4
    path.unlink()
    assert run_sweep(sweep, tmp_path, progress=False).num_new == 1
    assert_same_tables(sweep_table(sweep, tmp_path), expected)
