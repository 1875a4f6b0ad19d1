"""Episodes drawn from known dynamics."""

from typing import NamedTuple

import numpy as np

from journeyman.checks import float_array, whole_number
from journeyman.errors import InputError
from journeyman.mdp.model import FiniteMDP
from journeyman.types import FloatArray


class Episode(NamedTuple):
    """States and actions of one episode, as pairs in `steps`.

    `final_state` is where it stopped, None if the dynamics ended it; `is_terminated`: whether it ended by itself.
    """

    steps: tuple[tuple[int, int], ...]
    final_state: int | None
    is_terminated: bool


def draw_index(rng: np.random.Generator, probabilities: FloatArray) -> int:
    """Draw an index with these chances; what they miss to 1 gives the number of entries ("none of them")."""
    return int(np.searchsorted(np.cumsum(probabilities), rng.random(), side="right"))


def draw_action(rng: np.random.Generator, probabilities: FloatArray) -> int:
    """Draw an action; rounding in the sum never gives one that does not exist."""
    cumulative = np.cumsum(probabilities)
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))


def draw_next_state(rng: np.random.Generator, mdp: FiniteMDP, state: int, action: int) -> int | None:
    """Draw the next state, or None if the episode ends after this step."""
    next_states, probabilities = mdp.next_states(state, action)
    total = float(probabilities.sum())
    if abs(total - 1.0) <= 1e-12:  # rounding must not end an episode
        return int(next_states[draw_action(rng, probabilities)])
    index = draw_index(rng, probabilities)
    return int(next_states[index]) if index < next_states.size else None


def single_state(mdp: FiniteMDP, state: int) -> int:
    """Return one checked state."""
    states = mdp.state_indices(state)
    if states.size != 1:
        raise InputError(f"one state must be given, got {states.size}. Ask for them one by one.")
    return int(states[0])


def sample_episode(
    rng: np.random.Generator, mdp: FiniteMDP, policy: FloatArray, start_state: int, *, max_steps: int
) -> Episode:
    """Follow a stochastic policy `[S, A]` from `start_state` for at most `max_steps` actions.

    Entering a terminal cell ends the episode; no action is taken there. Rows of the policy are checked where they are
    used.
    """
    whole_number(max_steps, "max_steps", 1, "It counts actions.")
    probabilities = float_array(policy, "policy")
    if probabilities.shape != (mdp.num_states, mdp.num_actions):
        raise InputError(
            f"policy must have shape {(mdp.num_states, mdp.num_actions)}, got {probabilities.shape}. "
            "Make one with action_probabilities(mdp, policy)."
        )
    state = single_state(mdp, start_state)
    steps: list[tuple[int, int]] = []
    while not mdp.terminal[state] and len(steps) < max_steps:
        row = probabilities[state]
        if not ((row >= 0) & (mdp.available[state] | (row == 0))).all() or not abs(row.sum() - 1.0) <= 1e-6:
            raise InputError(
                f"policy must hold the chances of available actions, got {row.tolist()} at state {state}. "
                "Make that row sum to 1."
            )
        action = draw_action(rng, row)
        steps.append((state, action))
        next_state = draw_next_state(rng, mdp, state, action)
        if next_state is None:
            return Episode(tuple(steps), None, True)
        state = next_state
    return Episode(tuple(steps), state, bool(mdp.terminal[state]))
