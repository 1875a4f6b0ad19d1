"""Reachability, and finite horizons by unrolling time."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph

from journeyman.checks import whole_number
from journeyman.errors import InputError
from journeyman.mdp.grid import Grid
from journeyman.mdp.model import FiniteMDP
from journeyman.mdp.origin import check_simply_known
from journeyman.mdp.rows import MAX_STATES, Rows
from journeyman.types import BoolArray, FloatArray


def state_links(mdp: FiniteMDP) -> Any:
    """Return which states follow each other, as a scipy CSR array `[S, S]` with an entry per transition."""
    first_entry = mdp.rows.indptr[:: mdp.num_actions]  # a state's rows lie side by side
    entries = (np.ones(mdp.rows.next_states.size), mdp.rows.next_states, first_entry)
    return sparse.csr_array(entries, shape=(mdp.num_states,) * 2)


def reachable(mdp: FiniteMDP, from_states: ArrayLike | None = None, within: int | None = None) -> BoolArray:
    """Return `[S]` whether a state can be reached from `from_states` in at most `within` steps by some actions.

    `from_states`: indices, default the support of `initial`; `within=None`: any number of steps, 0: themselves.
    """
    limit = np.inf
    if within is not None:
        limit = whole_number(within, "within", 0, "Leave it out for any number of steps.")
    starts = np.flatnonzero(mdp.initial > 0) if from_states is None else mdp.state_indices(from_states)
    if starts.size == 0:
        return np.zeros(mdp.num_states, dtype=bool)
    steps = csgraph.dijkstra(state_links(mdp), indices=np.unique(starts), unweighted=True, limit=limit, min_only=True)
    return np.asarray(np.isfinite(steps))


def unrolled(mdp: FiniteMDP, horizon: int) -> FiniteMDP:
    """Return the MDP over (t, s), t = 0 .. horizon - 1, numbered t * S + s, whose episodes end after `horizon` steps.

    Any algorithm for the infinite horizon then solves the finite one: the value at (t, s) is the best
    discounted return of the horizon - t steps that are left. Terminal cells stay terminal; in the last
    layer actions are still chosen and paid, and then the episode ends.
    """
    horizon = whole_number(horizon, "horizon", 1, "It counts the actions of an episode.")
    check_simply_known(mdp, "unrolling")
    if mdp.num_states * horizon > MAX_STATES:
        raise InputError(
            f"states times horizon must be at most {MAX_STATES}, got {mdp.num_states} x {horizon}. "
            "Shorten the horizon or aggregate states."
        )
    num_states, num_rows = mdp.num_states, mdp.num_states * mdp.num_actions
    num_steps = horizon - 1
    num_entries = mdp.rows.probabilities.size
    offsets = num_entries * np.arange(num_steps, dtype=np.int64)
    indptr = (mdp.rows.indptr[None, :-1] + offsets[:, None]).ravel()
    indptr = np.concatenate([indptr, np.full(num_rows + 1, num_entries * num_steps)])
    layer = num_states * (1 + np.arange(num_steps, dtype=np.int64))
    next_states = (mdp.rows.next_states[None, :] + layer[:, None]).ravel().astype(np.int32)
    probabilities = np.tile(mdp.rows.probabilities, num_steps)
    rows = Rows(num_states * horizon, mdp.num_actions, indptr, next_states, probabilities, is_checked=True)
    labels = None
    if mdp.state_labels is not None:
        labels = tuple(f"{label} at {t}" for t in range(horizon) for label in mdp.state_labels)
    return FiniteMDP(
        rows=rows,
        discount=mdp.discount,
        initial=np.concatenate([mdp.initial, np.zeros(num_states * (horizon - 1))]),
        available=np.tile(mdp.available, (horizon, 1)),
        terminal=np.tile(mdp.terminal, horizon),
        state_labels=labels,
        action_labels=mdp.action_labels,
        grid=None if mdp.grid is None else _unrolled_grid(mdp.grid, horizon),
        coordinates=None if mdp.coordinates is None else copies_below(mdp.coordinates, horizon),
    )


def copies_below(coordinates: FloatArray, count: int) -> FloatArray:
    """Lay copies of a drawing out below each other, with some room between them."""
    height = np.ptp(coordinates[:, 1]) + max(1.0, 0.1 * float(np.ptp(coordinates)))
    shifts = np.repeat(-height * np.arange(count), len(coordinates))
    return np.asarray(np.tile(coordinates, (count, 1)) + np.stack([np.zeros_like(shifts), shifts], axis=1))


def _unrolled_grid(grid: Grid, horizon: int) -> Grid:
    """Lay the copies of the grid out below each other, one block of rows per time."""
    shifts = np.repeat(np.arange(horizon) * grid.num_rows, len(grid.places))
    cells = np.tile(grid.places, (horizon, 1)) + np.stack([shifts, np.zeros_like(shifts)], axis=1)
    kinds = None if grid.kinds is None else grid.kinds * horizon
    return Grid(grid.num_rows * horizon, grid.num_columns, cells, grid.moves, kinds)
