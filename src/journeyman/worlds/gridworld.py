"""Gridworld dynamics: stay or move in four directions, with some slipping."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import any_array, real_number, whole_number
from journeyman.errors import InputError
from journeyman.mdp.grid import Grid
from journeyman.mdp.model import FiniteMDP
from journeyman.mdp.rows import rows_from_columns

MAX_CELLS = 4_000_000  # about 10 GB of memory while it is built
MOVES = np.array([[0, 0], [-1, 0], [0, 1], [1, 0], [0, -1]])
ACTION_LABELS = ("stay", "up", "right", "down", "left")


def check_size(num_rows: int, num_columns: int) -> None:
    """Refuse grids that would not fit into memory, before anything is drawn or built."""
    if num_rows * num_columns > MAX_CELLS:
        raise InputError(
            f"a gridworld must have at most {MAX_CELLS:,} cells, got {num_rows} x {num_columns}. "
            "Build larger problems with FiniteMDP."
        )


def gridworld(
    num_rows: int,
    num_columns: int,
    *,
    discount: float = 0.9,
    slip: float = 0.1,
    terminal: ArrayLike | None = None,
    absorbing: ArrayLike | None = None,
    **options: Any,
) -> FiniteMDP:
    """Return a gridworld with one state per cell, numbered row by row from the top left.

    With chance `slip` a uniformly random action is executed instead of the intended one; moving over the edge leaves
    you in place. `terminal` `[S]` cells end the episode; from `absorbing` `[S]` cells nothing leads away (a jail).
    """
    num_rows = whole_number(num_rows, "num_rows of a gridworld", 1)
    num_columns = whole_number(num_columns, "num_columns of a gridworld", 1)
    check_size(num_rows, num_columns)
    slip = real_number(slip, "slip")
    if not 0.0 <= slip <= 1.0:
        raise InputError(f"slip must lie in 0..1, got {slip}. It is the chance of a random action instead.")
    num_states, num_actions = num_rows * num_columns, len(MOVES)
    ends = _cell_mask(terminal, num_states, "terminal")
    holds = _cell_mask(absorbing, num_states, "absorbing")
    cells = np.stack(np.divmod(np.arange(num_states), num_columns), axis=1)
    landing = cells[:, None, :] + MOVES[None]
    inside = (landing >= 0).all(axis=2) & (landing < [num_rows, num_columns]).all(axis=2) & ~holds[:, None]
    landing = np.where(inside[:, :, None], landing, cells[:, None, :])
    executed = landing[:, :, 0] * num_columns + landing[:, :, 1]  # [S, A] where an executed action leads
    chance = np.full((num_actions, num_actions), slip / num_actions) + (1.0 - slip) * np.eye(num_actions)
    state, action, move = np.meshgrid(
        np.flatnonzero(~ends), np.arange(num_actions), np.arange(num_actions), indexing="ij"
    )
    rows = rows_from_columns(num_states, num_actions, state, action, executed[state, move], chance[action, move])
    grid = options.pop("grid", None) or Grid(num_rows, num_columns, moves=MOVES)
    return FiniteMDP(rows=rows, discount=discount, terminal=ends, action_labels=ACTION_LABELS, grid=grid, **options)


def _cell_mask(mask: ArrayLike | None, num_states: int, name: str) -> Any:
    if mask is None:
        return np.zeros(num_states, dtype=bool)
    array = any_array(mask, name)
    if array.shape != (num_states,) or array.dtype.kind != "b":
        raise InputError(
            f"{name} must be a boolean array of shape {(num_states,)}, got {array.dtype} of shape {array.shape}. "
            "Give one True or False per cell."
        )
    return array
