"""Demonstrations as a Minari dataset, by its id such as "journeyman/garden-v0". Needs the extra `minari`.

Minari keeps datasets in its own folder (MINARI_DATASETS_PATH). Rewards are unknown to us and written as 0. Who answered
and when does not fit into its records and is left out.
"""

import re
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from journeyman.demonstrations import ENDINGS, Demonstration
from journeyman.errors import InputError
from journeyman.extras import require
from journeyman.problem import Problem
from journeyman.study.formats.arrays import NOTHING
from journeyman.study.formats.trajectories import from_trajectories, to_trajectories, with_facts

ID_PATTERN = re.compile(r"([\w-]+/)*[\w-]+-v\d+")
DESCRIPTION = (
    "Demonstrations of an expert, written by journeyman. Observations are states, rewards are unknown and given as 0. "
    "infos: journeyman_ended (0 annotation, 1 truncated, 2 terminated), journeyman_final_state and journeyman_query_id "
    "(-1: not known)."
)


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
    facts = {
        "ended": ENDINGS.index(item.ended),
        "final_state": NOTHING if item.final_state is None else item.final_state,
        "query_id": NOTHING if item.query_id is None else item.query_id,
    }
    terminations, truncations = np.zeros(num_steps, dtype=bool), np.zeros(num_steps, dtype=bool)
    (terminations if trajectory.terminal else truncations)[-1] = True
    return episodes.EpisodeBuffer(
        id=index,
        observations=trajectory.obs,
        actions=trajectory.acts,
        rewards=np.zeros(num_steps),
        terminations=terminations,
        truncations=truncations,
        infos={f"journeyman_{name}": np.full(num_steps + 1, value) for name, value in facts.items()},
    )


class _Episode(NamedTuple):
    obs: Any
    acts: Any
    terminal: bool


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
        _Episode(e.observations, e.actions, bool(np.asarray(e.terminations)[-1])) for e in episodes
    )
    return tuple(_completed(*pair) for pair in zip(found, episodes, strict=True))


def _completed(item: Demonstration, episode: Any) -> Demonstration:
    infos = getattr(episode, "infos", None) or {}
    if "journeyman_ended" not in infos:
        return item
    facts: dict[str, Any] = {"ended": ENDINGS[int(infos["journeyman_ended"][0])]}
    for name in ("final_state", "query_id"):
        number = int(infos[f"journeyman_{name}"][0])
        if number != NOTHING:
            facts[name] = number
    return with_facts(item, facts)
