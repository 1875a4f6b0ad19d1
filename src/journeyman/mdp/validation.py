"""Checks that an MDP passes once, on construction. Each names the first offender and the fix."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.errors import InputError
from journeyman.mdp.rows import Rows
from journeyman.types import AnyArray, BoolArray, FloatArray

ROW_SUM_TOLERANCE = 1e-6
ROUNDING = 1e-13
MISSING_MASS_RULES = ("error", "terminates")


def read_only(array: AnyArray) -> Any:
    """Return a contiguous copy that cannot be written to."""
    copy = np.array(array, order="C")
    copy.setflags(write=False)
    return copy


def checked_discount(discount: float) -> float:
    """Return the discount if it lies in (0, 1)."""
    value = float(discount)
    if not 0.0 < value < 1.0:
        raise InputError(
            f"discount must lie strictly between 0 and 1, got {discount}. "
            "For a finite horizon without discounting use a discount just below 1 and mdp.unrolled(horizon)."
        )
    return value


def checked_available(available: ArrayLike | None, num_states: int, num_actions: int) -> BoolArray:
    """Return the mask `[S, A]` of actions that exist; each state has at least one."""
    if available is None:
        return np.ones((num_states, num_actions), dtype=bool)
    mask = np.asarray(available)
    if mask.shape != (num_states, num_actions) or mask.dtype.kind not in "bui":
        raise InputError(
            f"available must be a boolean array of shape {(num_states, num_actions)}, "
            f"got {mask.dtype} of shape {mask.shape}. Give one True or False per state and action."
        )
    mask = mask.astype(bool)
    stuck = ~mask.any(axis=1)
    if stuck.any():
        raise InputError(
            f"every state must have at least one available action, got none at state {int(np.argmax(stuck))}. "
            "A terminal state keeps its actions and has empty transition rows."
        )
    return mask


def checked_initial(initial: ArrayLike | None, num_states: int) -> FloatArray:
    """Return the initial distribution `[S]`, renormalised; uniform for None."""
    if initial is None:
        return np.full(num_states, 1.0 / num_states)
    rho = np.asarray(initial, dtype=np.float64)
    if rho.shape != (num_states,):
        raise InputError(f"initial must have shape {(num_states,)}, got {rho.shape}. Give one probability per state.")
    bad = ~(rho >= 0) | ~np.isfinite(rho)
    if bad.any():
        s = int(np.argmax(bad))
        raise InputError(f"initial must be finite and at least 0, got {rho[s]} at state {s}. Correct that entry.")
    total = float(rho.sum())
    if abs(total - 1.0) > ROW_SUM_TOLERANCE:
        raise InputError(f"initial must sum to 1 over states, got {total:.9g}. Divide it by its sum.")
    return rho / total if abs(total - 1.0) > ROUNDING else rho


def checked_rows(rows: Rows, available: BoolArray, missing_mass: str, termination: ArrayLike | None) -> Rows:
    """Return the rows with unavailable actions emptied and sums near 1 made 1; refuse unexplained missing mass."""
    if missing_mass not in MISSING_MASS_RULES:
        raise InputError(f"missing_mass must be one of {', '.join(MISSING_MASS_RULES)}, got {missing_mass!r}.")
    rows = without_unavailable(rows, available)
    lengths = np.diff(rows.indptr)
    starts = rows.indptr[:-1][lengths > 0]
    sums = np.zeros(lengths.size)
    if starts.size:
        sums[lengths > 0] = np.add.reduceat(rows.probabilities, starts)
    ending = _termination(rows, termination)
    total = sums + ending
    is_whole = np.abs(total - 1.0) <= ROW_SUM_TOLERANCE
    is_empty = (lengths == 0) & (ending == 0)
    may_miss = missing_mass == "terminates" and termination is None
    is_fine = is_whole | is_empty | ~available.ravel() | (may_miss & (total < 1.0))
    if not is_fine.all():
        i = int(np.argmin(is_fine))
        s, a = divmod(i, rows.num_actions)
        rule = "at most 1" if may_miss else "1"
        fix = "Divide that row by its sum"
        if total[i] < 1.0:
            fix += ", or say missing_mass='terminates' if the rest is the chance that the episode ends"
        raise InputError(
            f"transitions must sum to {rule} over next states, got {total[i]:.9g} at state {s}, action {a}. {fix}."
        )
    is_off = is_whole & (np.abs(total - 1.0) > ROUNDING)  # saving and loading must not change a bit
    scale = np.where(is_off, 1.0 / np.where(is_off, total, 1.0), 1.0)
    return rows._replace(probabilities=rows.probabilities * np.repeat(scale, lengths))


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
    ending = np.asarray(termination, dtype=np.float64)
    shape = (rows.num_states, rows.num_actions)
    if ending.shape != shape:
        raise InputError(f"termination must have shape {shape}, got {ending.shape}. Give one chance per (s, a).")
    bad = ~((ending >= 0) & (ending <= 1))
    if bad.any():
        s, a = np.argwhere(bad)[0]
        raise InputError(f"termination must lie in 0..1, got {ending[s, a]} at state {s}, action {a}. Correct it.")
    return ending.ravel()


def checked_terminal(terminal: ArrayLike | None, is_ending: BoolArray) -> BoolArray:
    """Return the mask `[S]` of terminal cells: given, or all states where every action ends the episode."""
    if terminal is None:
        return is_ending
    mask = np.asarray(terminal)
    if mask.shape != is_ending.shape or mask.dtype.kind != "b":
        raise InputError(
            f"terminal must be a boolean array of shape {is_ending.shape}, got {mask.dtype} of shape {mask.shape}."
        )
    wrong = mask & ~is_ending
    if wrong.any():
        raise InputError(
            "a terminal state must have empty transition rows, "
            f"got next states at state {int(np.argmax(wrong))}. Remove them, or do not call it terminal."
        )
    return mask


def checked_labels(labels: Any, count: int, name: str) -> tuple[str, ...] | None:
    """Return labels as strings, one each and all different."""
    if labels is None:
        return None
    words = tuple(str(label) for label in labels)
    if len(words) != count:
        raise InputError(f"{name} must have {count} entries, got {len(words)}. Give one label each.")
    if len(set(words)) != count:
        repeated = next(word for word in words if words.count(word) > 1)
        raise InputError(f"{name} must all differ, got {repeated!r} more than once. Rename one of them.")
    return words


def checked_rewards(rewards: ArrayLike, num_states: int, num_actions: int, *, has_batch_axis: bool) -> FloatArray:
    """Return rewards as contiguous `[M, S, R]`, R = 1 for state-only rewards or A; all finite."""
    array = np.asarray(rewards, dtype=np.float64)
    shape = array.shape[1:] if has_batch_axis else array.shape
    if shape not in ((num_states,), (num_states, num_actions)):
        lead = "M, " if has_batch_axis else ""
        raise InputError(
            f"rewards must have shape [{lead}{num_states}] or [{lead}{num_states}, {num_actions}], got {array.shape}. "
            "Give one per state, or one per state and action."
        )
    batch = array if has_batch_axis else array[None]
    if batch.shape[0] == 0:
        raise InputError("rewards must hold at least one reward, got none.")
    if not np.isfinite(batch).all():
        m, s = (int(i) for i in np.argwhere(~np.isfinite(batch))[0][:2])
        raise InputError(f"rewards must be finite, got a NaN or infinity at reward {m}, state {s}. Correct it.")
    return np.ascontiguousarray(batch.reshape(batch.shape[0], num_states, -1))
