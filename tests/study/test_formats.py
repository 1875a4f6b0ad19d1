from datetime import UTC, datetime

import numpy as np
import pytest

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.extras import require
from journeyman.study.formats import (
    FORMATS,
    from_trajectories,
    read_demonstrations,
    to_trajectories,
    write_demonstrations,
)
from journeyman.worlds import make_world

STAMP = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def world():
    return make_world("random-grid", 1, size=3)


@pytest.fixture(scope="module")
def demonstrations(world):
    """All kinds: annotations, trajectories that end and that are cut off, with and without what else is known."""
    states = np.flatnonzero(world.problem.queryable)
    long = world.make_expert(2).answers(states[:4], kind="trajectory", length=4)
    assert {item.ended for item in long} == {"terminated", "truncated"}
    return (
        Demonstration.annotation(int(states[0]), 1, query_id=3, annotator="Ada, “A”", timestamp=STAMP),
        *long,
        Demonstration(long[0].start_state, long[0].steps[:1], None, "truncated"),
        Demonstration.annotation(int(states[1]), 0),
    )


@pytest.mark.parametrize("name", ["jsonl", "json", "csv", "tsv", "npz", "parquet", "csv.gz", "jsonl.gz"])
def test_files_give_back_what_was_written(world, demonstrations, tmp_path, name):
    terminal = int(np.flatnonzero(world.problem.mdp.terminal)[0])
    everything = (*demonstrations, Demonstration(terminal, (), None, "terminated"))
    path = tmp_path / f"answers.{name}"
    write_demonstrations(everything, path, world.problem)
    assert read_demonstrations(path, world.problem) == everything
    write_demonstrations([], path, world.problem)
    assert read_demonstrations(path, world.problem) == ()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_imitation_gives_back_what_was_written(world, demonstrations, tmp_path):
    path = tmp_path / "answers.npz"
    write_demonstrations(demonstrations, path, world.problem, format="imitation", repeat_last=True)
    assert read_demonstrations(path, world.problem, format="imitation") == demonstrations


def test_imitation_of_others_is_read(world, demonstrations, tmp_path):
    """The layout that the imitation library writes, without our own arrays."""
    seen = [item for item in demonstrations if item.final_state is not None]
    path = tmp_path / "theirs.npz"
    np.savez(
        path,
        obs=np.concatenate([[*(s for s, _ in item.steps), item.final_state] for item in seen]),
        acts=np.concatenate([[a for _, a in item.steps] for item in seen]),
        terminal=np.array([item.ended == "terminated" for item in seen]),
        indices=np.cumsum([len(item) for item in seen[:-1]]),
    )
    assert read_demonstrations(path, world.problem, format="imitation") == tuple(seen)


def test_minari_gives_back_what_was_written(world, demonstrations, tmp_path, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    plain = [Demonstration(d.start_state, d.steps, d.final_state, d.ended, d.query_id) for d in demonstrations]
    options = {"format": "minari", "repeat_last": True}
    write_demonstrations(plain, "journeyman/test-v0", world.problem, **options)
    assert read_demonstrations("journeyman/test-v0", world.problem, format="minari") == tuple(plain)
    dataset = require("minari", "minari").load_dataset("journeyman/test-v0")
    assert (dataset.total_episodes, dataset.total_steps) == (len(plain), sum(map(len, plain)))
    assert dataset.observation_space.n == world.problem.mdp.num_states
    with pytest.raises(InputError, match="a Minari dataset must be new"):
        write_demonstrations(plain, "journeyman/test-v0", world.problem, **options)
    with pytest.raises(InputError, match="must have an id like"):
        write_demonstrations(plain, "some name", world.problem, **options)
    with pytest.raises(InputError, match="a Minari dataset must exist"):
        read_demonstrations("journeyman/none-v0", format="minari")


def test_annotations_become_trajectories_only_on_request(demonstrations):
    with pytest.raises(InputError, match=r"where an annotation leads\. Say repeat_last=True"):
        to_trajectories(demonstrations)
    first, *_ = to_trajectories(demonstrations, repeat_last=True)
    assert first.obs.tolist() == [demonstrations[0].start_state] * 2
    seen = [item for item in demonstrations if item.final_state is not None]
    assert from_trajectories(to_trajectories(seen)) == tuple(seen)


def test_a_plain_table_of_steps_is_enough(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("demonstration,state,action\nx,0,1\ny,0,1\ny,1,0\n")
    assert read_demonstrations(path) == (
        Demonstration.annotation(0, 1),
        Demonstration(0, ((0, 1), (1, 0)), None, "truncated"),
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "demonstration,state\n0,1\n", "must have the columns state and action (or next_state), got"),
        ("a.csv", "demonstration,state,action\n0,1,0\n1,0,0\n0,1,0\n", "must stand together"),
        (
            "a.csv",
            "demonstration,state,action\n0,one,0\n",
            "column state, line 2 of a.csv: state must be a whole number",
        ),
        ("a.jsonl", '{"start_state": 0}\n', "at line 1: a demonstration must have start_state and steps"),
        ("a.jsonl", '\n{"start_state": 0, "steps": [[0, 1]], "ended": "no"}\n', "at line 2"),
        ("a.jsonl", "{}{}\n", "line 1 of a.jsonl must be JSON"),
        ("a.npz", "no arrays", "must be an .npz file without objects"),
        ("a.doc", "", "the format must be clear from the ending"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError) as caught:
        read_demonstrations(tmp_path / name)
    assert message in str(caught.value)


def test_demonstrations_of_another_problem_are_refused(world, tmp_path):
    write_demonstrations([Demonstration.annotation(99, 0)], tmp_path / "a.csv", world.problem)
    with pytest.raises(InputError, match=r"line 2 of a\.csv: a state must be a number in 0\.\.8.*got '99'"):
        read_demonstrations(tmp_path / "a.csv", world.problem)


def test_a_failed_export_leaves_the_old_file(world, demonstrations, tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(b"old")
    with pytest.raises(InputError):
        write_demonstrations(demonstrations, path, world.problem, format="imitation")
    assert path.read_bytes() == b"old"
    with pytest.raises(InputError, match="the folder of an export must exist"):
        write_demonstrations(demonstrations, tmp_path / "nowhere" / "a.csv", world.problem)
    with pytest.raises(InputError, match="Did you mean 'jsonl'"):
        write_demonstrations(demonstrations, path, world.problem, format="jsonls")


def test_every_format_is_tested():
    assert set(FORMATS) == {"jsonl", "json", "csv", "tsv", "parquet", "npz", "imitation", "minari"}
