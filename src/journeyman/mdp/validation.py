"""Checks that an MDP passes once, on construction. Each names the first offender and the fix."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import any_array, float_array, one_of, share
from journeyman.errors import InputError
from journeyman.mdp.grid import Grid
from journeyman.mdp.rows import Rows, checked_counts
from journeyman.types import BoolArray, FloatArray

ROW_SUM_TOLERANCE = 1e-6
ROUNDING = 1e-13  # a sum this near to 1, or nearer than one rounding per entry, is left as it is
MISSING_MASS_RULES = ("error", "terminates")
LARGEST_VALUE = 1e300  # beyond it sums of values overflow


def checked_discount(discount: float) -> float:
    """Return the discount if it lies in (0, 1)."""
    return share(
        discount,
        "discount",
        "For a finite horizon without discounting use a discount just below 1 and mdp.unrolled(horizon).",
    )


def checked_available(
    available: ArrayLike | None, num_states: int, num_actions: int, name_fn: Callable[[int], str] = str
) -> BoolArray:
    """Return the mask `[S, A]` of actions that exist; each state has at least one. `name_fn` names a state."""
    if available is None:
        return np.ones((num_states, num_actions), dtype=bool)
    mask = any_array(available, "available")
    if mask.shape != (num_states, num_actions) or mask.dtype.kind not in "bui":
        raise InputError(
            f"available must be a boolean array of shape {(num_states, num_actions)}, "
            f"got {mask.dtype} of shape {mask.shape}. Give one True or False per state and action."
        )
    mask = mask.astype(bool)
    stuck = ~mask.any(axis=1)
    if stuck.any():
        raise InputError(
            f"every state must have at least one available action, got none at state {name_fn(int(np.argmax(stuck)))}. "
            "A terminal state keeps its actions and has empty transition rows."
        )
    return mask


def checked_initial(initial: ArrayLike | None, num_states: int) -> FloatArray:
    """Return the initial distribution `[S]`, renormalised; uniform for None."""
    if initial is None:
        return np.full(num_states, 1.0 / num_states)
    rho = float_array(initial, "initial")
    if rho.shape != (num_states,):
        raise InputError(f"initial must have shape {(num_states,)}, got {rho.shape}. Give one probability per state.")
    bad = ~(rho >= 0) | ~np.isfinite(rho)
    if bad.any():
        s = int(np.argmax(bad))
        raise InputError(f"initial must be finite and at least 0, got {rho[s]} at state {s}. Give a chance in 0..1.")
    total = float(rho.sum())
    if abs(total - 1.0) > ROW_SUM_TOLERANCE:
        raise InputError(f"initial must sum to 1 over states, got {total:.9g}. Divide it by its sum.")
    return rho / total if abs(total - 1.0) > ROUNDING else rho


def checked_packing(rows: Any) -> Rows:
    """Return rows with the types and the packing that `Rows` promises."""
    if not isinstance(rows, Rows):
        raise InputError(
            f"rows must be transition rows, got {type(rows).__name__}. Use FiniteMDP.from_dense, from_matrices, "
            "from_edges or from_function."
        )
    num_states, num_actions = checked_counts(rows.num_states, rows.num_actions)
    indptr, next_states, probabilities = (np.asarray(array) for array in rows[2:5])
    is_integer = indptr.dtype.kind in "iu" and next_states.dtype.kind in "iu" and probabilities.dtype.kind == "f"
    if not is_integer or (indptr.ndim, next_states.ndim, probabilities.ndim) != (1, 1, 1):
        raise InputError(
            "rows must be lists of whole numbers and their probabilities, "
            f"got {indptr.dtype}, {next_states.dtype} and {probabilities.dtype}. Use one of the builders."
        )
    is_packed = indptr.size == num_states * num_actions + 1 and indptr[0] == 0 and (indptr[1:] >= indptr[:-1]).all()
    if not is_packed or not indptr[-1] == next_states.size == probabilities.size:
        raise InputError(
            f"rows must be packed for {num_states} states and {num_actions} actions, got {indptr.size - 1} rows and "
            f"{next_states.size} entries that do not fit. Use one of the builders."
        )
    is_wrong = ~((next_states >= 0) & (next_states < num_states) & (probabilities > 0) & np.isfinite(probabilities))
    same_row = np.ones(max(next_states.size - 1, 0), dtype=bool)
    inner = indptr[1:-1]
    same_row[inner[(inner > 0) & (inner < next_states.size)] - 1] = False
    is_wrong[1:] |= same_row & (next_states[1:] <= next_states[:-1])
    if is_wrong.any():
        i = int(np.argmax(is_wrong))
        s, a = divmod(int(np.searchsorted(indptr, i, side="right")) - 1, num_actions)
        raise InputError(
            f"rows must hold ascending next states in 0..{num_states - 1} with positive probabilities, got state "
            f"{next_states[i]} with {probabilities[i]} at state {s}, action {a}. Use one of the builders."
        )
    return rows._replace(
        num_states=num_states,
        num_actions=num_actions,
        indptr=indptr.astype(np.int64, copy=False),
        next_states=next_states.astype(np.int32, copy=False),
        probabilities=probabilities.astype(np.float64, copy=False),
    )


def row_sums(rows: Rows) -> FloatArray:
    """Return the sum `[S * A]` of each row."""
    lengths = np.diff(rows.indptr)
    sums = np.zeros(lengths.size)
    if lengths.any():
        sums[lengths > 0] = np.add.reduceat(rows.probabilities, rows.indptr[:-1][lengths > 0])
    return sums


def checked_rows(
    rows: Rows,
    available: BoolArray,
    missing_mass: str,
    termination: ArrayLike | None,
    names_fn: Callable[[int, int], tuple[str, str]] = lambda s, a: (str(s), str(a)),
) -> Rows:
    """Return the rows with unavailable actions emptied and sums near 1 made 1; refuse unexplained missing mass.

    `names_fn` names a state and an action.
    """
    one_of(
        missing_mass,
        MISSING_MASS_RULES,
        "missing_mass",
        "Say 'terminates' if what a row misses to 1 is the chance that the episode ends.",
    )
    rows = without_unavailable(rows, available)
    lengths = np.diff(rows.indptr)
    ending = _termination(rows, termination)
    total = row_sums(rows) + ending
    is_whole = np.abs(total - 1.0) <= ROW_SUM_TOLERANCE
    is_empty = (lengths == 0) & (ending == 0)
    may_miss = termination is None and (missing_mass == "terminates" or rows.is_checked)
    is_fine = is_whole | is_empty | ~available.ravel() | (may_miss & (total < 1.0))
    if not is_fine.all():
        i = int(np.argmin(is_fine))
        s, a = names_fn(*divmod(i, rows.num_actions))
        rule = "at most 1" if may_miss else "1"
        fix = "Divide that row by its sum"
        if termination is not None:
            fix = "Divide that row and its chance of termination, which counts too, by that sum"
        elif total[i] < 1.0:
            fix += ", or say missing_mass='terminates' if the rest is the chance that the episode ends"
        raise InputError(
            f"transitions must sum to {rule} over next states, got {total[i]:.9g} at state {s}, action {a}. {fix}."
        )
    # Saving, loading and unrolling must not change a bit: what was checked once, and what is off by rounding, stays.
    rounding = np.maximum(ROUNDING, lengths * 2.0**-52)
    is_off = is_whole & ((total > 1.0 + rounding) | ((total < 1.0 - rounding) & (not rows.is_checked)))
    scale = np.where(is_off, 1.0 / np.where(is_off, total, 1.0), 1.0)
    return rows._replace(probabilities=rows.probabilities * np.repeat(scale, lengths), is_checked=True)


def without_unavailable(rows: Rows, available: BoolArray) -> Rows:
    """Return the rows with those of unavailable actions emptied."""
    lengths = np.diff(rows.indptr)
    is_kept = available.ravel()
    if not (lengths[~is_kept] > 0).any():
        return rows
    entry_is_kept = np.repeat(is_kept, lengths)
    indptr = np.concatenate([[0], np.cumsum(np.where(is_kept, lengths, 0))])
    return rows._replace(
        indptr=indptr, next_states=rows.next_states[entry_is_kept], probabilities=rows.probabilities[entry_is_kept]
    )


def _termination(rows: Rows, termination: ArrayLike | None) -> FloatArray:
    size = rows.num_states * rows.num_actions
    if termination is None:
        return np.zeros(size)
    ending = float_array(termination, "termination")
    shape = (rows.num_states, rows.num_actions)
    if ending.shape != shape:
        raise InputError(f"termination must have shape {shape}, got {ending.shape}. Give one chance per (s, a).")
    bad = ~((ending >= 0) & (ending <= 1))
    if bad.any():
        s, a = np.argwhere(bad)[0]
        raise InputError(f"termination must lie in 0..1, got {ending[s, a]} at state {s}, action {a}. Give a chance.")
    return ending.ravel()


def checked_terminal(
    terminal: ArrayLike | None, is_ending: BoolArray, name_fn: Callable[[int], str] = str
) -> BoolArray:
    """Return the mask `[S]` of terminal cells: given, or all states where every action ends the episode."""
    if terminal is None:
        return is_ending
    mask = any_array(terminal, "terminal")
    if mask.shape != is_ending.shape or mask.dtype.kind != "b":
        raise InputError(
            f"terminal must be a boolean array of shape {is_ending.shape}, got {mask.dtype} of shape {mask.shape}. "
            "Give one True or False per state."
        )
    wrong = mask & ~is_ending
    if wrong.any():
        raise InputError(
            "a terminal state must have empty transition rows, "
            f"got next states at state {name_fn(int(np.argmax(wrong)))}. Remove them, or do not call it terminal."
        )
    return mask


def checked_labels(labels: Any, count: int, name: str) -> tuple[str, ...] | None:
    """Return labels as strings, one each and all different."""
    if labels is None:
        return None
    if isinstance(labels, str | bytes) or not hasattr(labels, "__iter__"):
        raise InputError(f"{name} must be a list of {count} labels, got {labels!r}. Give one label each.")
    words = tuple(str(label) for label in labels)
    if len(words) != count:
        raise InputError(f"{name} must have {count} entries, got {len(words)}. Give one label each.")
    nul = next((word for word in words if "\0" in word), None)  # a file would lose it
    if nul is not None:
        raise InputError(f"{name} must be printable, got {nul!r}. Rename it.")
    if len(set(words)) != count:
        repeated = next(word for word, times in Counter(words).items() if times > 1)
        raise InputError(f"{name} must all differ, got {repeated!r} more than once. Rename one of them.")
    return words


def checked_rewards(rewards: ArrayLike, num_states: int, num_actions: int) -> FloatArray:
    """Return rewards `[M, S]` or `[M, S, A]` as contiguous `[M, S, R]`, R = 1 or A; all finite."""
    batch = float_array(rewards, "rewards")
    if batch.shape[1:] not in ((num_states,), (num_states, num_actions)):
        raise InputError(
            f"rewards must have shape [M, {num_states}] or [M, {num_states}, {num_actions}], got {batch.shape}. "
            "Give one per state, or one per state and action."
        )
    if batch.shape[0] == 0:
        raise InputError("rewards must hold at least one reward, got none. Give an array with M of at least 1.")
    is_fine = np.abs(batch) <= LARGEST_VALUE  # False for NaN
    if not is_fine.all():
        where = np.argwhere(~is_fine)[0]
        place = ", ".join(f"{axis} {i}" for axis, i in zip(("reward", "state", "action"), where, strict=False))
        raise InputError(
            f"rewards must be finite and at most {LARGEST_VALUE:g}, got {batch[tuple(where)]} at {place}. Change it."
        )
    return np.ascontiguousarray(batch.reshape(batch.shape[0], num_states, -1))


def checked_coordinates(coordinates: Any, num_states: int) -> FloatArray | None:
    """Return x and y `[S, 2]` of all states, finite."""
    if coordinates is None:
        return None
    pairs = float_array(coordinates, "coordinates")
    if pairs.shape != (num_states, 2) or not np.isfinite(pairs).all():
        what = f"shape {pairs.shape}" if pairs.shape != (num_states, 2) else "some that are not finite"
        raise InputError(f"coordinates must be x and y for all {num_states} states, got {what}. Give a pair each.")
    return pairs


def check_grid(grid: Any, num_states: int, num_actions: int) -> None:
    """Refuse a drawing that does not fit the states and actions."""
    if grid is None:
        return
    if not isinstance(grid, Grid):
        raise InputError(f"grid must be a Grid, got {type(grid).__name__}. Make one with Grid(num_rows, num_columns).")
    if len(grid.places) != num_states:
        raise InputError(
            f"a grid must place all {num_states} states, got {len(grid.places)} cells. Give cells= for each."
        )
    if grid.moves is not None and len(grid.moves) != num_actions:
        raise InputError(
            f"the moves of a grid must cover all {num_actions} actions, got {len(grid.moves)}. Give one pair each."
        )
