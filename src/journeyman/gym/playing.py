"""Let a policy act in a Gymnasium environment: what it did as demonstrations, and what it got."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import any_array, share, whole_number
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.mdp.episodes import draw_action
from journeyman.mdp.gymnasium_tables import begun, environment_name, stepped
from journeyman.progress import progress_bar
from journeyman.study.formats.trajectories import StateFunction, TrajectoryArrays, from_trajectories, state_of
from journeyman.types import FloatArray


@dataclass(frozen=True, eq=False)
class Played:
    """Episodes of one policy.

    Parameters
    ----------
    demonstrations
        One per episode.
    returns, discounted_returns
        `[N]` sum of the rewards of each episode; and with the t-th times discount^t.
    """

    demonstrations: tuple[Demonstration, ...]
    returns: FloatArray
    discounted_returns: FloatArray

    @property
    def num_truncated(self) -> int:
        """Episodes that were stopped, by a time limit or max_steps, before they ended."""
        return sum(item.ended == "truncated" for item in self.demonstrations)

    @property
    def mean(self) -> float:
        """Average discounted return."""
        return float(self.discounted_returns.mean())

    @property
    def standard_error(self) -> float:
        """Of the average discounted return; NaN for a single episode."""
        size = self.discounted_returns.size
        return float(self.discounted_returns.std(ddof=1) / np.sqrt(size)) if size > 1 else float("nan")


def play(
    env: Any,
    policy: ArrayLike | Callable[[Any], int],
    num_episodes: int,
    *,
    discount: float,
    seed: int = 0,
    max_steps: int | None = None,
    state_fn: StateFunction | None = None,
    mdp: FiniteMDP | None = None,
    progress: bool | None = None,
) -> Played:
    """Let a policy act for some episodes.

    Parameters
    ----------
    env
        A Gymnasium environment with discrete actions.
    policy
        `[S]` an action per state, `[S, A]` chances of actions, or a function from an observation to an action.
    discount
        Of `discounted_returns`.
    seed
        Of the environment, which is reset with it once, and of a policy with chances: the same episodes again.
    max_steps
        Of an episode; default: as the environment has it. One without an end needs it.
    state_fn
        state_fn(observation) returns the state; not needed where observations are state numbers.
    mdp
        Dynamics that all steps must be possible in; see `from_trajectories`.
    progress
        Whether to show a bar; default: if it takes more than a second, and somebody watches.
    """
    num_episodes = whole_number(num_episodes, "num_episodes", 1)
    discount = share(discount, "discount", "Give that of the problem.")
    most = None if max_steps is None else whole_number(max_steps, "max_steps", 1, "It counts actions.")
    rng = np.random.default_rng(whole_number(seed, "seed", 0))
    choose_fn, name = _choose_fn(policy, rng), environment_name(env)
    found, sums = [], np.zeros((num_episodes, 2))
    with progress_bar("Playing", is_shown=progress) as report:
        for index in range(num_episodes):
            observation = begun(env, seed if index == 0 else None, name)
            states, actions, is_over, is_stopped = [state_of(observation, state_fn, mdp)], [], False, False
            while not (is_over or is_stopped):
                actions.append(choose_fn(states[-1], observation))
                observation, reward, is_over, is_stopped = stepped(env, actions[-1], name)
                states.append(state_of(observation, state_fn, mdp))
                sums[index] += float(reward) * np.array([1.0, discount ** (len(actions) - 1)])
                is_stopped = is_stopped or len(actions) == most
            found.append(TrajectoryArrays(np.array(states), np.array(actions), None, bool(is_over)))
            report((index + 1) / num_episodes)
    return Played(from_trajectories(found, mdp=mdp), sums[:, 0], sums[:, 1])


def _choose_fn(policy: Any, rng: np.random.Generator) -> Callable[[int, Any], int]:
    """Return what chooses an action by state and observation."""
    if callable(policy):
        return lambda state, observation: whole_number(
            policy(observation), "what the policy gives", 0, "Actions are numbered from 0."
        )
    table = any_array(policy, "policy")

    def row(state: int) -> Any:
        if not 0 <= state < len(table):
            raise InputError(
                f"policy must have an entry for each state, got {len(table)} and state {state}. Is it of this "
                "environment?"
            )
        return table[state]

    if table.ndim == 1 and table.dtype.kind in "iu":
        return lambda state, observation: int(row(state))
    if table.ndim == 2 and table.dtype.kind == "f" and np.allclose(table.sum(axis=1), 1.0) and (table >= 0).all():
        return lambda state, observation: draw_action(rng, row(state))
    raise InputError(
        f"policy must be an action for each state [S], chances of actions [S, A] that sum to 1, or a function, got "
        f"{table.dtype} of shape {table.shape}. learner.apprentice() is one."
    )
