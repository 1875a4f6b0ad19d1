"""Reachability, and finite horizons by unrolling time."""

import numpy as np
from numpy.typing import ArrayLike

from journeyman.errors import InputError
from journeyman.mdp.grid import Grid
from journeyman.mdp.model import FiniteMDP
from journeyman.mdp.rows import Rows
from journeyman.types import BoolArray


def reachable(mdp: FiniteMDP, from_states: ArrayLike | None = None, within: int | None = None) -> BoolArray:
    """Return `[S]` whether a state can be reached from `from_states` in at most `within` steps by some actions.

    `from_states`: indices, default the support of `initial`; `within=None`: any number of steps, 0: themselves.
    """
    if within is not None and within < 0:
        raise InputError(f"within must be at least 0, got {within}. Leave it out for any number of steps.")
    starts = np.flatnonzero(mdp.initial > 0) if from_states is None else mdp.state_indices(from_states)
    is_reached = np.zeros(mdp.num_states, dtype=bool)
    is_reached[starts] = True
    frontier = is_reached.copy()
    first_entry = mdp.rows.indptr[:: mdp.num_actions]  # a state's rows lie side by side
    source = np.repeat(np.arange(mdp.num_states), np.diff(first_entry))
    steps = 0
    while frontier.any() and (within is None or steps < within):
        found = np.zeros(mdp.num_states, dtype=bool)
        found[mdp.rows.next_states[frontier[source]]] = True
        frontier = found & ~is_reached
        is_reached |= frontier
        steps += 1
    return is_reached


def unrolled(mdp: FiniteMDP, horizon: int) -> FiniteMDP:
    """Return the MDP over (t, s), t = 0 .. horizon - 1, numbered t * S + s, whose episodes end after `horizon` steps.

    Any algorithm for the infinite horizon then solves the finite one: the value at (t, s) is the best
    discounted return of the horizon - t steps that are left. Terminal cells stay terminal; in the last
    layer actions are still chosen and paid, and then the episode ends.
    """
    if horizon < 1:
        raise InputError(f"horizon must be at least 1, got {horizon}. It counts the actions of an episode.")
    num_states, num_rows = mdp.num_states, mdp.num_states * mdp.num_actions
    num_going_on = horizon - 1
    num_entries = mdp.rows.probabilities.size
    offsets = num_entries * np.arange(num_going_on, dtype=np.int64)
    indptr = (mdp.rows.indptr[None, :-1] + offsets[:, None]).ravel()
    indptr = np.concatenate([indptr, np.full(num_rows + 1, num_entries * num_going_on)])
    layer = num_states * (1 + np.arange(num_going_on, dtype=np.int64))
    next_states = (mdp.rows.next_states[None, :] + layer[:, None]).ravel().astype(np.int32)
    rows = Rows(
        num_states * horizon,
        mdp.num_actions,
        indptr,
        next_states,
        np.tile(mdp.rows.probabilities, num_going_on),
    )
    labels = None
    if mdp.state_labels is not None:
        labels = tuple(f"{label} at {t}" for t in range(horizon) for label in mdp.state_labels)
    return FiniteMDP(
        rows=rows,
        discount=mdp.discount,
        initial=np.concatenate([mdp.initial, np.zeros(num_states * (horizon - 1))]),
        available=np.tile(mdp.available, (horizon, 1)),
        terminal=np.tile(mdp.terminal, horizon),
        missing_mass="terminates",
        state_labels=labels,
        action_labels=mdp.action_labels,
        grid=None if mdp.grid is None else _unrolled_grid(mdp.grid, horizon),
    )


def _unrolled_grid(grid: Grid, horizon: int) -> Grid:
    """Lay the copies of the grid out below each other, one block of rows per time."""
    shifts = np.repeat(np.arange(horizon) * grid.num_rows, len(grid.places))
    cells = np.tile(grid.places, (horizon, 1)) + np.stack([shifts, np.zeros_like(shifts)], axis=1)
    kinds = None if grid.kinds is None else grid.kinds * horizon
    return Grid(grid.num_rows * horizon, grid.num_columns, cells, grid.moves, kinds)
