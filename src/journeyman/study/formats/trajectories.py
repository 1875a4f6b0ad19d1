"""Demonstrations as trajectories of other libraries: imitation's `.npz` files, and Minari datasets (extra `minari`).

A trajectory has T actions and T + 1 observations. A single annotation has no state after it, and so fits only if one is
made up: that must be asked for explicitly.

Minari keeps datasets by their ids ("journeyman/garden-v0") in its own folder (MINARI_DATASETS_PATH). Rewards are not
known and written as 0. Who answered and when does not fit into its records and is left out.
"""

import re
import reprlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, JourneymanError
from journeyman.extras import require
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.study.formats.arrays import ABOUT, about_arrays, about_record, required_arrays, write_arrays
from journeyman.types import AnyArray, IntArray
from journeyman.wording import below, counted

StateFunction = Callable[[Any], Any]  # from an observation to its state, by number or label
MOST_LISTED = 10
PREFIX = "journeyman_"
MINARI_FACTS = ("ended", "final_state", "query_id")
# Of namespaces Minari wants two characters at least, and only says so when the folder of a shorter one is made already.
ID_PATTERN = re.compile(r"([\w-]{2,}/([\w-]+/)*)?[\w-]+-v\d+", re.ASCII)
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


def from_trajectories(
    trajectories: Iterable[Any], *, state_fn: StateFunction | None = None, mdp: FiniteMDP | None = None
) -> tuple[Demonstration, ...]:
    """Return trajectories of other libraries as demonstrations.

    Anything with obs `[T + 1]`, acts `[T]` and terminal counts as a trajectory: imitation's Trajectory and
    TrajectoryWithRew, and what `to_trajectories` returns.

    Parameters
    ----------
    state_fn
        state_fn(observation) returns the state that an observation shows, by number, or with `mdp` also by label. Not
        needed where observations are state numbers.
    mdp
        Dynamics that the trajectories must be possible in: all steps that are not are listed and refused. An
        observation after the end of an episode that is no state of its own (Taxi's passengers arrive) is left out.
    """
    listed = list(trajectories)
    found = [_demonstration(item, index, state_fn, mdp) for index, item in enumerate(listed)]
    if mdp is not None:
        _check_possible(found, mdp)
        found = [without_outside_end(item, mdp) for item in found]
    return tuple(found)


def _demonstration(item: Any, index: int, state_fn: StateFunction | None, mdp: FiniteMDP | None) -> Demonstration:
    if not all(hasattr(item, name) for name in ("obs", "acts", "terminal")):
        raise InputError(
            f"a trajectory must have obs, acts and terminal, got {reprlib.repr(item)} at trajectory {index}. Give "
            "imitation's Trajectory, or TrajectoryArrays."
        )
    acts = np.asarray(item.acts)
    if acts.ndim != 1 or not acts.size or acts.dtype.kind not in "iu":
        raise InputError(
            f"a trajectory must have at least one action, and actions must be numbers from 0, got {acts.dtype} of "
            f"shape {acts.shape} at trajectory {index}. Number the actions."
        )
    if state_fn is None:
        obs = _state_numbers(item.obs, acts.size + 1, index)
    else:
        one_by_one = (observation_at(item.obs, time) for time in range(_num_observations(item.obs, acts.size, index)))
        obs = [state_of(observation, state_fn, mdp) for observation in one_by_one]
    steps = tuple(zip(obs[:-1], acts.tolist(), strict=True))
    return Demonstration(steps[0][0], steps, obs[-1], "terminated" if item.terminal else "truncated")


def _state_numbers(observations: Any, size: int, index: int) -> list[int]:
    """Return observations that are state numbers, or say what they are instead."""
    obs = np.asarray(observations) if isinstance(observations, np.ndarray | list) else np.zeros(0)
    if obs.ndim != 1 or obs.dtype.kind not in "iu":
        got = type(observations).__name__
        got = f"{obs.dtype} of shape {obs.shape}" if obs.dtype.kind != "O" and obs.size else got
        raise InputError(
            f"observations must be state numbers, got {got} at trajectory {index}. Say which state an observation "
            "shows: state_fn=lambda observation: ..."
        )
    if obs.size != size:
        raise InputError(_unequal(obs.size, size - 1, index))
    return [int(state) for state in obs]


def _num_observations(observations: Any, num_actions: int, index: int) -> int:
    part = observations
    while isinstance(part, Mapping | tuple):
        part = next(iter(part.values())) if isinstance(part, Mapping) else part[0]
    if len(part) != num_actions + 1:
        raise InputError(_unequal(len(part), num_actions, index))
    return num_actions + 1


def _unequal(num_observations: int, num_actions: int, index: int) -> str:
    return (
        f"a trajectory must have T actions and T + 1 states, got {num_actions} and {num_observations} at trajectory "
        f"{index}. Keep the observation after the last action."
    )


def observation_at(observations: Any, time: int) -> Any:
    """Return one observation of many: of arrays, of dicts and tuples of them (Minari), of imitation's DictObs."""
    if isinstance(observations, Mapping):
        return {key: observation_at(part, time) for key, part in observations.items()}
    if isinstance(observations, tuple):
        return tuple(observation_at(part, time) for part in observations)
    return observations[time]


def state_of(observation: Any, state_fn: StateFunction | None, mdp: FiniteMDP | None = None) -> int:
    """Return the state that an observation shows, by number; `state_fn` may name it where `mdp` has labels."""
    state = observation if state_fn is None else state_fn(observation)
    if mdp is not None and isinstance(state, str):
        return mdp.state_names.index(state)
    array = np.asarray(state)
    if array.size != 1 or array.dtype.kind not in "iu":
        what = "an observation must be a state number" if state_fn is None else "state_fn must return a state number"
        fix = "Say which state it shows: state_fn=lambda observation: ..." if state_fn is None else "Return an int."
        raise InputError(f"{what}, got {reprlib.repr(state)}. {fix}")
    return int(array.item())


def without_outside_end(item: Demonstration, mdp: FiniteMDP) -> Demonstration:
    """Return a demonstration without a final state that the dynamics do not have, because the episode ended before."""
    if not _ends_outside(item, mdp):
        return item
    return replace(item, final_state=None)


def _ends_outside(item: Demonstration, mdp: FiniteMDP) -> bool:
    if item.ended != "terminated" or item.final_state is None or not item.steps:
        return False
    next_states, chances = mdp.next_states(*item.steps[-1])
    return item.final_state not in next_states and float(chances.sum()) < 1.0 - 1e-9


def _check_possible(demonstrations: Sequence[Demonstration], mdp: FiniteMDP, *, only_numbers: bool = False) -> None:
    """List and refuse steps with states or actions that do not exist, or that cannot happen (not `only_numbers`)."""
    wrong = []
    for index, item in enumerate(demonstrations):
        found = list(_unknown_numbers(item, mdp))
        if not found and not only_numbers:
            found = list(_impossible_steps(item, mdp))
        wrong += [f"trajectory {index}, step {time}: {reason}" for time, reason in found]
    if wrong:
        raise InputError(
            f"trajectories must be possible in this problem, got {counted(len(wrong), 'impossible step')}:\n"
            f"{below(wrong, MOST_LISTED)}\nCheck that they are of this environment, and that state_fn gives its "
            "states; split them where steps are missing."
        )


def _unknown_numbers(item: Demonstration, mdp: FiniteMDP) -> Iterator[tuple[int, str]]:
    """Yield steps, or the one before the final state, whose numbers are none of the problem's."""
    final = [] if item.final_state is None else [(len(item.steps), item.final_state, 0)]
    for time, state, action in [*((t, *step) for t, step in enumerate(item.steps)), *final]:
        if state >= mdp.num_states:
            yield time, f"state {state}, where there are 0..{mdp.num_states - 1}"
        if action >= mdp.num_actions:
            yield time, f"action {action}, where there are 0..{mdp.num_actions - 1}"


def _impossible_steps(item: Demonstration, mdp: FiniteMDP) -> Iterator[tuple[int, str]]:
    after = [*(state for state, _ in item.steps[1:]), item.final_state]
    for time, ((state, action), next_state) in enumerate(zip(item.steps, after, strict=True)):
        if mdp.terminal[state]:
            yield time, f"action {mdp.action_name(action)} in {mdp.state_name(state)}, where every episode has ended"
        elif not mdp.available[state, action]:
            yield time, f"action {mdp.action_name(action)} in {mdp.state_name(state)}, which does not have it"
        elif next_state is None or next_state in mdp.next_states(state, action)[0]:
            continue
        elif not (time == len(item.steps) - 1 and _ends_outside(item, mdp)):
            names = mdp.action_name(action), mdp.state_name(state), mdp.state_name(next_state)
            yield time, "action {} in {} cannot lead to {}".format(*names)


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


def read_imitation(
    path: Path, mdp: FiniteMDP | None = None, *, state_fn: StateFunction | None = None
) -> tuple[Demonstration, ...]:
    """Read imitation's `.npz` layout, ours or others'; `mdp` and `state_fn` as in `read_minari`."""
    arrays = required_arrays(path, ("obs", "acts", "terminal", "indices"))
    try:
        return _of_imitation(path, arrays, mdp, state_fn)
    except JourneymanError:
        raise
    except (IndexError, KeyError, ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"{path.name} must hold trajectories as the imitation library writes them, but: {error}. Save it again."
        ) from None


def _of_imitation(
    path: Path, arrays: dict[str, AnyArray], mdp: FiniteMDP | None, state_fn: StateFunction | None
) -> tuple[Demonstration, ...]:
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
    trajectories = [TrajectoryArrays(o, a, None, bool(end)) for o, a, end in parts]
    found = [_demonstration(item, index, state_fn, mdp) for index, item in enumerate(trajectories)]
    about = {name: arrays[f"{PREFIX}{name}"] for name in ABOUT if f"{PREFIX}{name}" in arrays}
    if len(about) == len(ABOUT):
        found = [with_facts(item, about_record(about, index)) for index, item in enumerate(found)]
    return _within(found, mdp)


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
        raise InputError(
            f"a Minari dataset must have an id like journeyman/name-v0, with two characters or more before the first "
            f"slash, got {dataset_id!r}. Rename it."
        )
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


def read_minari(
    dataset_id: str, mdp: FiniteMDP | None = None, *, state_fn: StateFunction | None = None
) -> tuple[Demonstration, ...]:
    """Read a Minari dataset, ours or others'; actions are numbers, and `state_fn` says which state an observation is.

    See `from_trajectories`. With `mdp`, observations after an end that is no state of its own are left out.
    """
    minari = require("minari", "minari")
    try:
        dataset = minari.load_dataset(dataset_id)
    except (FileNotFoundError, ValueError) as error:
        raise InputError(
            f"a Minari dataset must exist on this machine, got {dataset_id!r}: {error}. See `minari list local`."
        ) from None
    except Exception as error:
        raise _damaged(dataset_id, error) from None
    try:
        episodes = list(dataset.iterate_episodes())
        ends = [bool(np.asarray(episode.terminations)[-1]) for episode in episodes]
    except Exception as error:  # Minari, Gymnasium and HDF5 raise nearly anything where a part is damaged
        raise _damaged(dataset_id, error) from None
    arrays = [TrajectoryArrays(e.observations, e.actions, None, end) for e, end in zip(episodes, ends, strict=True)]
    found = [_demonstration(item, index, state_fn, mdp) for index, item in enumerate(arrays)]
    try:
        completed = [_completed(*pair) for pair in zip(found, episodes, strict=True)]
    except (TypeError, ValueError, IndexError, AttributeError) as error:  # facts of ours that are of another kind
        raise error if isinstance(error, InputError) else _damaged(dataset_id, error) from None
    return _within(completed, mdp)


def _damaged(dataset_id: str, error: Exception) -> InputError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return InputError(
        f"a Minari dataset must be whole, as Minari writes it, got {dataset_id!r}, which cannot be read: {reason}. "
        "Download or write it again."
    )


def _within(demonstrations: Sequence[Demonstration], mdp: FiniteMDP | None) -> tuple[Demonstration, ...]:
    """Return demonstrations without ends outside of the dynamics; numbers that do not exist are listed and refused.

    Steps that are impossible otherwise are for the caller to refuse, or to split at.
    """
    if mdp is None:
        return tuple(demonstrations)
    _check_possible(demonstrations, mdp, only_numbers=True)
    return tuple(without_outside_end(item, mdp) for item in demonstrations)


def _completed(item: Demonstration, episode: Any) -> Demonstration:
    infos = getattr(episode, "infos", None) or {}
    about = {name: infos[f"{PREFIX}{name}"] for name in MINARI_FACTS if f"{PREFIX}{name}" in infos}
    return with_facts(item, about_record(about, 0)) if "ended" in about else item
