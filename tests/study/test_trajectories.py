"""Trajectories of other libraries: imitation's classes and Minari's datasets, of states and of other observations."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState
from journeyman.study.formats import (
    from_trajectories,
    read_demonstrations,
    to_trajectories,
    write_demonstrations,
)

try:  # it pins older releases of Gymnasium, so that it is seldom installed beside them
    from imitation.data.types import DictObs, Trajectory, TrajectoryWithRew
except ImportError:

    @dataclasses.dataclass(frozen=True, eq=False)
    class Trajectory:  # type: ignore[no-redef]
        """The fields and checks of imitation 1.0's class."""

        obs: Any
        acts: np.ndarray
        infos: np.ndarray | None
        terminal: bool

        def __len__(self):
            return len(self.acts)

        def __post_init__(self):
            if len(self.obs) != len(self.acts) + 1:
                raise ValueError("expected one more observations than actions")
            if self.infos is not None and len(self.infos) != len(self.acts):
                raise ValueError("infos when present must be present for each action")
            if len(self.acts) == 0:
                raise ValueError("Degenerate trajectory: must have at least one action.")

    @dataclasses.dataclass(frozen=True, eq=False)
    class TrajectoryWithRew(Trajectory):  # type: ignore[no-redef]
        rews: np.ndarray

    class DictObs:  # type: ignore[no-redef]
        def __init__(self, parts):
            self._d = parts

        def __len__(self):
            return len(next(iter(self._d.values())))

        def __getitem__(self, key):
            return DictObs({name: np.asarray(part[key]) for name, part in self._d.items()})

        def get(self, key):
            return self._d[key]


def corridor(size=4, **options):
    """States in a row; right leads on, left back; the last is terminal."""
    return FiniteMDP.from_function(
        lambda s, a: [] if s == size - 1 else [(1.0, min(max(s + (1 if a else -1), 0), size - 1))],
        num_states=size,
        num_actions=2,
        discount=0.9,
        action_labels=("left", "right"),
        state_labels=tuple("abcdefgh"[:size]),
        **options,
    )


MDP = corridor()
PROBLEM = Problem(MDP, PerState(MDP), Normal(4), 1.0)
TO_THE_END = Demonstration(0, ((0, 1), (1, 1), (2, 1)), 3, "terminated")
BACK = Demonstration(2, ((2, 0), (1, 0)), 0, "truncated")


def test_trajectories_of_imitation_in_and_out():
    theirs = [Trajectory(*arrays) for arrays in to_trajectories([TO_THE_END, BACK])]
    assert [len(item) for item in theirs] == [3, 2] and [item.terminal for item in theirs] == [True, False]
    assert from_trajectories(theirs) == from_trajectories(theirs, mdp=MDP) == (TO_THE_END, BACK)
    infos = np.array([{}, {}, {}])
    rewarded = TrajectoryWithRew(
        obs=np.array([0, 1, 2, 3]), acts=np.array([1, 1, 1]), infos=infos, terminal=True, rews=np.zeros(3)
    )
    assert from_trajectories([rewarded]) == (TO_THE_END,)


def test_other_observations_of_imitation_need_a_state_fn():
    boxes = Trajectory(np.array([[0.0], [0.9], [2.1], [3.0]]), np.array([1, 1, 1]), None, True)
    with pytest.raises(
        InputError, match=r"got float64 of shape \(4, 1\) at trajectory 0\. Say which state .* state_fn="
    ):
        from_trajectories([boxes])
    assert from_trajectories([boxes], state_fn=lambda place: round(float(place[0]))) == (TO_THE_END,)
    named = from_trajectories([boxes], state_fn=lambda place: "abcd"[round(float(place[0]))], mdp=MDP)
    assert named == (TO_THE_END,)
    parts = DictObs({"cell": np.array([0, 1, 2, 3]), "image": np.zeros((4, 2, 2))})
    dicts = Trajectory(parts, np.array([1, 1, 1]), None, True)
    with pytest.raises(InputError, match="observations must be state numbers, got DictObs"):
        from_trajectories([dicts])
    assert from_trajectories([dicts], state_fn=lambda o: int(o.get("cell"))) == (TO_THE_END,)
    with pytest.raises(InputError, match=r"state_fn must return a state number, got array\(\[0\.\]\)\. Return an int"):
        from_trajectories([boxes], state_fn=lambda place: place)


class Bare:
    def __init__(self, obs, acts, terminal=False):
        self.obs, self.acts, self.terminal = obs, acts, terminal


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (Bare(np.array([0, 1, 2]), np.array([1])), "must have T actions and T [+] 1 states, got 1 and 3"),
        (Bare(np.array([0]), np.array([], dtype=int)), "must have at least one action"),
        (Bare(np.array([0, 1]), np.array([0.5])), "actions must be numbers from 0, got float64"),
        (Bare(np.array([0, 1]), np.array([[1, 0]])), r"got int64 of shape \(1, 2\) at trajectory 0"),
        (Bare(np.array([0.0, 1.0]), np.array([1])), r"got float64 of shape \(2,\)"),
        (Bare(np.array([0, -1]), np.array([1])), "final_state must be a whole number of at least 0, got -1"),
    ],
)
def test_bad_trajectories(bad, message):
    with pytest.raises(InputError, match=message):
        from_trajectories([bad])


def test_all_impossible_steps_are_listed():
    bad = [
        Bare(np.array([0, 1, 7]), np.array([1, 1])),
        Bare(np.array([0, 1]), np.array([4])),
        Bare(np.array([0, 2, 3, 3]), np.array([1, 1, 0])),
    ]
    with pytest.raises(InputError) as caught:
        from_trajectories(bad, mdp=MDP)
    assert str(caught.value).splitlines()[:5] == [
        "trajectories must be possible in this problem, got 4 impossible steps:",
        "  trajectory 0, step 2: state 7, where there are 0..3",
        "  trajectory 1, step 0: action 4, where there are 0..1",
        "  trajectory 2, step 0: action right in a cannot lead to c",
        "  trajectory 2, step 2: action left in d, where every episode has ended",
    ]
    many = [Bare(np.array([0, 3]), np.array([1]))] * 12
    with pytest.raises(InputError, match="and 2 more"):
        from_trajectories(many, mdp=MDP)


def test_an_observation_after_the_end_that_is_no_state_is_left_out():
    """The episode may end in the middle: what is observed then is not where the dynamics lead."""
    mdp = FiniteMDP.from_function(
        lambda s, a: [(0.5, 1)] if s == 0 else [(1.0, 0)],
        num_states=3, num_actions=1, discount=0.9, missing_mass="terminates",
    )  # fmt: skip
    ended, stopped = (Bare(np.array([0, 2]), np.array([0]), terminal) for terminal in (True, False))
    assert from_trajectories([ended], mdp=mdp) == (Demonstration(0, ((0, 0),), None, "terminated"),)
    with pytest.raises(InputError, match="cannot lead to 2"):
        from_trajectories([stopped], mdp=mdp)


@pytest.fixture
def datasets(tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return minari


def dataset_of(minari, name, observations, space):
    """Make somebody else's dataset of one episode to the end of the corridor."""
    spaces = pytest.importorskip("gymnasium.spaces")
    buffers = pytest.importorskip("minari.data_collector.episode_buffer")
    ends = np.array([False, False, True])
    episode = buffers.EpisodeBuffer(
        id=0, observations=observations, actions=np.array([1, 1, 1]), rewards=np.zeros(3), terminations=ends,
        truncations=np.zeros(3, dtype=bool), infos={},
    )  # fmt: skip
    minari.create_dataset_from_buffers(
        name, [episode], action_space=spaces.Discrete(2), observation_space=space, description="x", author="x",
        author_email="x@example.org", code_permalink="https://example.org", algorithm_name="x",
        eval_env="FrozenLake-v1", requirements=[],
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_minari_with_other_observations(datasets):
    spaces = pytest.importorskip("gymnasium.spaces")
    box = spaces.Box(-1.0, 5.0, (1,), dtype=np.float64)
    dataset_of(datasets, "others/box-v0", np.array([[0.0], [0.9], [2.1], [3.0]]), box)
    with pytest.raises(InputError, match=r"observations must be state numbers, got float64 of shape \(4, 1\)"):
        read_demonstrations("others/box-v0", PROBLEM, format="minari")
    options = {"format": "minari", "state_fn": lambda place: round(float(place[0]))}
    assert read_demonstrations("others/box-v0", PROBLEM, **options) == (TO_THE_END,)
    with pytest.raises(InputError, match=r"impossible step"):
        read_demonstrations("others/box-v0", PROBLEM, format="minari", state_fn=lambda place: 0 if place < 2 else 3)
    dicts = {"cell": np.array([0, 1, 2, 3]), "place": np.zeros((4, 1))}
    dataset_of(datasets, "others/dict-v0", dicts, spaces.Dict({"cell": spaces.Discrete(4), "place": box}))
    options["state_fn"] = lambda observation: observation["cell"]
    assert read_demonstrations("others/dict-v0", PROBLEM, **options) == (TO_THE_END,)


def test_all_states_and_actions_that_do_not_exist_are_listed_on_import(tmp_path):
    path = tmp_path / "theirs.npz"
    np.savez(path, obs=[0, 9, 8, 0, 1], acts=[1, 1, 5], terminal=[False, False], indices=[2])
    with pytest.raises(InputError) as caught:
        read_demonstrations(path, PROBLEM, format="imitation", skip_impossible=True)
    assert str(caught.value).splitlines()[:4] == [
        "trajectories must be possible in this problem, got 3 impossible steps:",
        "  trajectory 0, step 1: state 9, where there are 0..3",
        "  trajectory 0, step 2: state 8, where there are 0..3",
        "  trajectory 1, step 0: action 5, where there are 0..1",
    ]


def test_state_fn_goes_with_observations_only(tmp_path):
    path = tmp_path / "mine.csv"
    write_demonstrations([BACK], path, PROBLEM)
    with pytest.raises(InputError, match="state_fn must go with minari or imitation"):
        read_demonstrations(path, PROBLEM, state_fn=int)


@pytest.mark.parametrize("name", ["a/test-v0", "a/b/test-v0", "/test-v0", "é/test-v0"])
def test_ids_that_minari_would_choke_on_are_refused_and_the_folder_stays_usable(datasets, name):
    with pytest.raises(InputError, match="two characters or more before the first slash"):
        write_demonstrations([TO_THE_END], name, PROBLEM, format="minari")
    write_demonstrations([TO_THE_END], "ab/c/test-v0", PROBLEM, format="minari")
    write_demonstrations([TO_THE_END], "test-v0", PROBLEM, format="minari")
    for known in ("ab/c/test-v0", "test-v0"):
        assert read_demonstrations(known, PROBLEM, format="minari") == (TO_THE_END,)


def test_what_is_no_trajectory_is_refused():
    with pytest.raises(InputError, match="a trajectory must have obs, acts and terminal, got 3 at trajectory 0"):
        from_trajectories([3])
