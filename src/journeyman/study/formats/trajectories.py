"""Demonstrations as trajectories of other libraries: imitation's `.npz` files, and Minari datasets (extra `minari`).

A trajectory has T actions and T + 1 observations. A single annotation has no state after it, and so fits only if one is
made up: that must be asked for explicitly.

Minari keeps datasets by their ids ("journeyman/garden-v0") in its own folder (MINARI_DATASETS_PATH). Rewards are not
known and written as 0. Who answered and when does not fit into its records and is left out.
"""

import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.extras import require
from journeyman.problem import Problem
from journeyman.study.formats.arrays import ABOUT, about_arrays, about_record, required_arrays, write_arrays
from journeyman.types import IntArray

PREFIX = "journeyman_"
MINARI_FACTS = ("ended", "final_state", "query_id")
ID_PATTERN = re.compile(r"([\w-]+/)*[\w-]+-v\d+")
DESCRIPTION = (
    "Demonstrations of an expert, written by journeyman. Observations are states, rewards are unknown and given as 0. "
    "infos: journeyman_ended (0 annotation, 1 truncated, 2 terminated), journeyman_final_state and journeyman_query_id "
    "(-1: not known)."
)


class TrajectoryArrays(NamedTuple):
    """obs `[T + 1]` states, acts `[T]` actions, infos (none), terminal: in the order of imitation's Trajectory."""

    obs: IntArray
    acts: IntArray
    infos: Any
    terminal: bool


def to_trajectories(
    demonstrations: Sequence[Demonstration], *, repeat_last: bool = False
) -> tuple[TrajectoryArrays, ...]:
    """Return demonstrations as trajectories; `imitation.data.types.Trajectory(*trajectory)` takes each.

    Parameters
    ----------
    repeat_last
        Where the state after the last action was not seen, as in every annotation: repeat the state before it. The
        dynamics learned from such data would be wrong, so it has to be asked for.
    """
    found = []
    for index, item in enumerate(demonstrations):
        if not item.steps:
            raise InputError(
                f"a trajectory must have at least one action, got none in demonstration {index}. Remove it."
            )
        if item.final_state is None and not repeat_last:
            raise InputError(
                f"a trajectory must end in a state that was seen, but demonstration {index} does not say where "
                f"{'an annotation leads' if item.ended == 'annotation' else 'it ended'}. Say repeat_last=True "
                "(--repeat-last) to repeat the state before, or export as jsonl, csv or npz."
            )
        last = item.steps[-1][0] if item.final_state is None else item.final_state
        states, actions = zip(*item.steps, strict=True)
        found.append(TrajectoryArrays(np.array([*states, last]), np.array(actions), None, item.ended == "terminated"))
    return tuple(found)


def from_trajectories(trajectories: Iterable[Any]) -> tuple[Demonstration, ...]:
    """Return trajectories (anything with obs `[T + 1]`, acts `[T]` and terminal) as demonstrations."""
    found = []
    for index, trajectory in enumerate(trajectories):
        obs, acts = np.asarray(trajectory.obs), np.asarray(trajectory.acts)
        if obs.shape != (acts.size + 1,) or acts.ndim != 1 or not acts.size:
            raise InputError(
                f"a trajectory must have T actions and T + 1 states, got shapes {acts.shape} and {obs.shape} at "
                f"trajectory {index}. Observations must be state numbers."
            )
        steps = tuple(zip(obs[:-1].tolist(), acts.tolist(), strict=True))
        ended = "terminated" if trajectory.terminal else "truncated"
        found.append(Demonstration(steps[0][0], steps, int(obs[-1]), ended))
    return tuple(found)


def write_imitation(demonstrations: Sequence[Demonstration], path: Path, *, repeat_last: bool = False) -> None:
    """Write imitation's `.npz` layout: obs and acts one after the other, `indices` where acts are split, terminal.

    What else is known stands in arrays that begin with "journeyman_", so that reading gives back the same.
    """
    trajectories = to_trajectories(demonstrations, repeat_last=repeat_last)
    empty = np.zeros(0, dtype=np.int64)
    arrays = {
        "obs": np.concatenate([empty, *(trajectory.obs for trajectory in trajectories)]),
        "acts": np.concatenate([empty, *(trajectory.acts for trajectory in trajectories)]),
        "terminal": np.array([trajectory.terminal for trajectory in trajectories], dtype=bool),
        "indices": np.cumsum([len(trajectory.acts) for trajectory in trajectories[:-1]]).astype(np.int64),
    }
    about = {f"{PREFIX}{name}": array for name, array in about_arrays(demonstrations).items()}
    write_arrays(path, arrays | about)


def read_imitation(path: Path) -> tuple[Demonstration, ...]:
    """Read imitation's `.npz` layout, ours or others'."""
    arrays = required_arrays(path, ("obs", "acts", "terminal", "indices"))
    if not arrays["terminal"].size:
        return ()
    splits = arrays["indices"]
    acts = np.split(arrays["acts"], splits)
    obs = np.split(arrays["obs"], splits + np.arange(len(splits)) + 1)  # each has one more state than actions
    if len(acts) != arrays["terminal"].size:
        raise InputError(
            f"{path.name} must split into {arrays['terminal'].size} trajectories, got {len(acts)}. Save it again."
        )
    parts = zip(obs, acts, arrays["terminal"], strict=True)
    found = from_trajectories(TrajectoryArrays(o, a, None, bool(end)) for o, a, end in parts)
    about = {name: arrays[f"{PREFIX}{name}"] for name in ABOUT if f"{PREFIX}{name}" in arrays}
    if len(about) < len(ABOUT):
        return found
    return tuple(with_facts(item, about_record(about, index)) for index, item in enumerate(found))


def with_facts(demonstration: Demonstration, facts: dict[str, Any]) -> Demonstration:
    """Return a demonstration with what is known of it; without a final state where none was seen."""
    steps = [list(step) for step in demonstration.steps]
    return Demonstration.from_record({"start_state": demonstration.start_state, "steps": steps, **facts})


def write_minari(
    demonstrations: Sequence[Demonstration], dataset_id: str, problem: Problem, *, repeat_last: bool = False
) -> None:
    """Write a new Minari dataset; refuses an id that exists."""
    minari = require("minari", "minari")
    spaces = require("gymnasium.spaces", "minari")
    if not ID_PATTERN.fullmatch(dataset_id):
        raise InputError(f"a Minari dataset must have an id like journeyman/name-v0, got {dataset_id!r}. Rename it.")
    if not demonstrations:
        raise InputError("a Minari dataset must have at least one demonstration, got none. Ask for some first.")
    if dataset_id in minari.list_local_datasets():
        raise InputError(f"a Minari dataset must be new, but {dataset_id!r} exists. Choose another version, as in -v1.")
    trajectories = to_trajectories(demonstrations, repeat_last=repeat_last)
    buffers = [_buffer(i, *pair) for i, pair in enumerate(zip(demonstrations, trajectories, strict=True))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it misses an environment and an author, which we do not have
        minari.create_dataset_from_buffers(
            dataset_id,
            buffers,
            action_space=spaces.Discrete(problem.mdp.num_actions),
            observation_space=spaces.Discrete(problem.mdp.num_states),
            description=DESCRIPTION,
        )


def _buffer(index: int, item: Demonstration, trajectory: Any) -> Any:
    episodes = require("minari.data_collector.episode_buffer", "minari")
    num_steps = len(item)
    about = about_arrays([item])
    terminations, truncations = np.zeros(num_steps, dtype=bool), np.zeros(num_steps, dtype=bool)
    (terminations if trajectory.terminal else truncations)[-1] = True
    return episodes.EpisodeBuffer(
        id=index,
        observations=trajectory.obs,
        actions=trajectory.acts,
        rewards=np.zeros(num_steps),
        terminations=terminations,
        truncations=truncations,
        infos={f"{PREFIX}{name}": np.full(num_steps + 1, about[name].item()) for name in MINARI_FACTS},
    )


def read_minari(dataset_id: str) -> tuple[Demonstration, ...]:
    """Read a Minari dataset whose observations and actions are state and action numbers, ours or others'."""
    minari = require("minari", "minari")
    try:
        dataset = minari.load_dataset(dataset_id)
    except (FileNotFoundError, ValueError) as error:
        raise InputError(
            f"a Minari dataset must exist on this machine, got {dataset_id!r}: {error}. See `minari list local`."
        ) from None
    episodes = list(dataset.iterate_episodes())
    found = from_trajectories(
        TrajectoryArrays(e.observations, e.actions, None, bool(np.asarray(e.terminations)[-1])) for e in episodes
    )
    return tuple(_completed(*pair) for pair in zip(found, episodes, strict=True))


def _completed(item: Demonstration, episode: Any) -> Demonstration:
    infos = getattr(episode, "infos", None) or {}
    about = {name: infos[f"{PREFIX}{name}"] for name in MINARI_FACTS if f"{PREFIX}{name}" in infos}
    return with_facts(item, about_record(about, 0)) if "ended" in about else item
