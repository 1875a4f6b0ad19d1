"""Demonstrations as trajectories of T actions and T + 1 observations, as the imitation library keeps them.

A single annotation has no state after it, and so fits only if we make one up: that needs an explicit word.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.study.formats.arrays import ABOUT, about_arrays, about_record, read_arrays, write_arrays
from journeyman.types import IntArray

PREFIX = "journeyman_"


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
    arrays = read_arrays(path, ("obs", "acts", "terminal", "indices"))
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
