"""Recorded trajectories of continuous states: read, and checked against the world that they are said to come from."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from journeyman.continuous.decisions import Decisions
from journeyman.errors import InputError
from journeyman.mdp.names import Names
from journeyman.types import FloatArray, IntArray


def recorded(
    decisions: Decisions, action_names: Names, trajectories: Iterable[Any], tolerance: float
) -> list[tuple[FloatArray, IntArray]]:
    """Return the states `[T, d]` and actions `[T]` of each trajectory; refuses what the world does not lead to."""
    read = [_trajectory(decisions, action_names, item, i) for i, item in enumerate(trajectories)]
    if not read:
        raise InputError("trajectories must not be empty. Give at least one list of (state, action).")
    _check_possible(decisions, read, tolerance)
    return read


def _trajectory(decisions: Decisions, action_names: Names, item: Any, index: int) -> tuple[FloatArray, IntArray]:
    """Return the states `[T, d]` and actions `[T]` of one trajectory."""
    what, lattice = f"states of trajectory {index}", decisions.lattice
    try:
        if isinstance(item, tuple) and len(item) == 2 and np.ndim(item[0]) == 2:
            states, actions = item
        else:
            states, actions = zip(*item, strict=True)
        count = len(actions)
    except (TypeError, ValueError):
        raise InputError(
            f"trajectory {index} must be a list of (state, action), or a pair of states [T, d] and actions [T]. "
            "Give one of these."
        ) from None
    places = lattice.checked_states(np.array([np.ravel(state) for state in states]), what)
    if len(places) != count:
        raise InputError(f"trajectory {index} must have as many actions as states, got {count} and {len(places)}.")
    inside = lattice.is_inside(places)
    if not inside.all():
        t = int(np.argmin(inside))
        raise InputError(
            f"{what} must lie within the bounds, got {places[t].tolist()} at step {t} (and {(~inside).sum() - 1} "
            "more outside). Widen the bounds, or leave these steps out."
        )
    numbers = np.array([action_names.index(_plain(action)) for action in actions], dtype=np.int64)
    return lattice.wrapped(places), numbers


def _check_possible(decisions: Decisions, read: list[tuple[FloatArray, IntArray]], tolerance: float) -> None:
    """Refuse next states that the world does not lead to."""
    if decisions.num_samples is not None:
        return
    lattice = decisions.lattice
    wrong: list[tuple[int, int, FloatArray, FloatArray]] = []
    for index, (places, actions) in enumerate(read):
        for action in np.unique(actions[:-1]):
            t = np.flatnonzero(actions[:-1] == action)
            moved = decisions.moved(places[t], int(action))
            width = lattice.high - lattice.low
            gap = np.abs(moved.states - places[t + 1])
            gap = np.where(lattice.periodic, np.minimum(gap, np.abs(width - gap)), gap)
            is_off = (gap > tolerance * lattice.spacing).any(axis=1) | moved.is_done
            wrong += [(index, int(t[i]), moved.states[i], places[t[i] + 1]) for i in np.flatnonzero(is_off)]
    if wrong:
        index, first, expected, got = min(wrong, key=lambda item: item[:2])
        raise InputError(
            f"trajectories must follow the world, got {got.tolist()} after step {first} of trajectory {index}, where "
            f"it leads to {np.round(expected, 6).tolist()} or ends ({len(wrong)} such steps in all). Split them where "
            f"steps are missing; with repeat={decisions.repeat} give a state for every decision, not for every step."
        )


def _plain(action: Any) -> Any:
    return action.item() if isinstance(action, np.generic) else action
