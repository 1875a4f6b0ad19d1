"""Sparse transition rows, and how each accepted input becomes them.

Row `s * num_actions + a` holds the next states of doing `a` in `s` and their
probabilities. Every input is first turned into four parallel columns (state,
action, next state, probability); `rows_from_columns` checks and packs them.
"""

import reprlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import any_array, float_array, one_of, real_number, whole_number
from journeyman.errors import InputError
from journeyman.types import AnyArray, FloatArray, IntArray

LAYOUTS = {"SAS": (0, 1, 2), "ASS": (1, 0, 2), "SSA": (0, 2, 1)}
MAX_STATES = 2**31 - 1
MAX_PAIRS = 10**8  # states times actions: a number is kept for each


class Rows(NamedTuple):
    """Transition rows in compressed form.

    indptr `[S * A + 1]`: row i lies at indptr[i]:indptr[i + 1] of the other two;
    next_states `[nnz]` strictly ascending within a row, probabilities `[nnz]` positive. `is_checked`: the rows are
    those of an MDP, so what they miss to 1 is known to be the chance that the episode ends.
    """

    num_states: int
    num_actions: int
    indptr: IntArray
    next_states: AnyArray
    probabilities: FloatArray
    is_checked: bool = False


def rows_from_columns(
    num_states: int, num_actions: int, states: ArrayLike, actions: ArrayLike, next_states: ArrayLike, probs: ArrayLike
) -> Rows:
    """Check parallel columns and pack them; repeated (state, action, next state) add up, zeros are dropped."""
    num_states, num_actions = checked_counts(num_states, num_actions)
    if num_states * num_actions > MAX_PAIRS:
        raise InputError(
            f"states times actions must be at most {MAX_PAIRS:,}, got {num_states} x {num_actions}. Aggregate states, "
            "or let actions of different states share their numbers."
        )
    state = index_column(states, "state", num_states)
    action = index_column(actions, "action", num_actions)
    next_state = index_column(next_states, "next_state", num_states, lambda i: f"state {state[i]}, action {action[i]}")
    probability = float_array(probs, "transition probabilities").ravel()
    bad = ~(probability >= 0) | ~np.isfinite(probability)
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(
            f"transition probabilities must be finite and at least 0, got {probability[i]} "
            f"at state {state[i]}, action {action[i]}, next state {next_state[i]}. Give a chance in 0..1."
        )
    row = state * num_actions + action
    positive = probability > 0
    if not positive.all():
        row, next_state, probability = row[positive], next_state[positive], probability[positive]
    if not _strictly_ascending(row, next_state):
        row, next_state, probability = _sort_and_merge(row, next_state, probability)
    indptr = np.zeros(num_states * num_actions + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=num_states * num_actions), out=indptr[1:])
    return Rows(num_states, num_actions, indptr, next_state.astype(np.int32), probability)


def checked_counts(num_states: int, num_actions: int) -> tuple[int, int]:
    """Return the numbers of states and actions if an MDP can have so many."""
    num_states = whole_number(num_states, "the number of states of an MDP", 1, "Check the shape of the transitions.")
    num_actions = whole_number(num_actions, "the number of actions of an MDP", 1, "Check the shape of the transitions.")
    if num_states > MAX_STATES:
        raise InputError(f"num_states must be at most {MAX_STATES}, got {num_states}. Aggregate states first.")
    return num_states, num_actions


def index_column(
    values: ArrayLike, name: str, upper: int, where_fn: Callable[[int], str] = "entry {}".format
) -> IntArray:
    """Return `values` as integers in 0..upper-1, or name the first one that is not, and where it stands."""
    column = any_array(values, name).ravel()
    if column.size == 0:
        return np.zeros(0, dtype=np.int64)
    is_whole = _is_whole(column)
    if not is_whole.all():
        i = int(np.argmin(is_whole))
        raise InputError(
            f"{name} must hold whole numbers from 0, got {column[i : i + 1].tolist()[0]!r} at {where_fn(i)}. "
            "Number states and actions from 0 and keep their names as labels."
        )
    out_of_range = (column < 0) | (column >= upper)
    if out_of_range.any():
        i = int(np.argmax(out_of_range))
        raise InputError(
            f"{name} must lie in 0..{upper - 1}, got {column[i]} at {where_fn(i)}. "
            "Number states and actions from 0, or state how many there are."
        )
    return column.astype(np.int64)


def _is_whole(column: AnyArray) -> AnyArray:
    if column.dtype.kind in "iu":
        return np.ones(column.size, dtype=bool)
    if column.dtype.kind == "f":
        return np.asarray(column == np.floor(column))
    is_integer = [isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_) for value in column]
    return np.array(is_integer)


def _strictly_ascending(row: IntArray, next_state: IntArray) -> bool:
    same_row = row[1:] == row[:-1]
    return bool(np.all((row[1:] > row[:-1]) | (same_row & (next_state[1:] > next_state[:-1]))))


def _sort_and_merge(
    row: IntArray, next_state: IntArray, probability: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    width = int(next_state.max()) + 1
    if (int(row.max()) + 1) * width < 2**63:  # one key is several times faster to sort, the more so if nearly sorted
        order = np.argsort(row * width + next_state, kind="stable")
    else:
        order = np.lexsort((next_state, row))
    row, next_state, probability = row[order], next_state[order], probability[order]
    is_first = np.ones(row.size, dtype=bool)
    is_first[1:] = (row[1:] != row[:-1]) | (next_state[1:] != next_state[:-1])
    starts = np.flatnonzero(is_first)
    return row[starts], next_state[starts], np.add.reduceat(probability, starts)


def rows_from_dense(transitions: ArrayLike, layout: str) -> Rows:
    """Rows of a dense array whose axes are in the order that `layout` says: "SAS", "ASS" or "SSA"."""
    one_of(layout, LAYOUTS, "layout", "The order of axes is never guessed: S is a state, A an action.")
    array = float_array(transitions, "transitions")
    if array.ndim != 3:
        raise InputError(f"transitions must have 3 axes, got shape {array.shape}. Their order is given by layout.")
    dense = np.transpose(array, LAYOUTS[layout])
    if dense.shape[0] != dense.shape[2]:
        raise InputError(
            f"transitions must have as many next states as states, got shape {array.shape} for layout {layout!r}. "
            "Check whether another layout is meant."
        )
    state, action, next_state = np.nonzero(dense != 0)  # NaN counts as non-zero, so that it is reported
    return rows_from_columns(
        dense.shape[0], dense.shape[1], state, action, next_state, dense[state, action, next_state]
    )


def rows_from_matrices(matrices: Sequence[Any]) -> Rows:
    """Rows of one `[S, S]` scipy sparse matrix (or dense array) per action."""
    from scipy import sparse

    advice = "Pass a list of [S, S] matrices, one per action."
    if sparse.issparse(matrices) or not hasattr(matrices, "__len__"):
        raise InputError(f"matrices must be a list, got one {type(matrices).__name__}. {advice}")
    if len(matrices) == 0:
        raise InputError(f"matrices must hold one matrix per action, got none. {advice}")
    coordinate = []
    for action, matrix in enumerate(matrices):
        name = f"the matrix of action {action}"
        array = matrix if sparse.issparse(matrix) else float_array(matrix, name)
        if len(array.shape) != 2:
            raise InputError(f"matrices must have two axes, got shape {array.shape} at action {action}. {advice}")
        coordinate.append(sparse.coo_array(array))
        float_array(coordinate[-1].data, name)
        num_states = coordinate[0].shape[0]
        if array.shape != (num_states, num_states):
            raise InputError(
                f"matrices must all be square and of one size, got shape {array.shape} at action {action} "
                f"where {(num_states, num_states)} was expected. Pass one [S, S] matrix per action."
            )
    actions = [np.full(matrix.nnz, action) for action, matrix in enumerate(coordinate)]
    return rows_from_columns(
        num_states,
        len(coordinate),
        np.concatenate([matrix.row for matrix in coordinate]),
        np.concatenate(actions),
        np.concatenate([matrix.col for matrix in coordinate]),
        np.concatenate([matrix.data for matrix in coordinate]),
    )


def rows_from_function(
    transition_fn: Callable[[int, int], Iterable[tuple[float, int]]], num_states: int, num_actions: int
) -> Rows:
    """Rows of a function that maps (state, action) to pairs (probability, next state); no pairs: the episode ends."""
    num_states, num_actions = checked_counts(num_states, num_actions)
    columns: list[tuple[int, int, int, float]] = []
    for state in range(num_states):
        for action in range(num_actions):
            where = f"at state {state}, action {action}"
            pairs = transition_fn(state, action)
            if not isinstance(pairs, Iterable):
                raise InputError(
                    f"transition_fn must return (probability, next state) pairs, got {pairs!r} {where}. "
                    "Return a list of such pairs, an empty one where the episode ends."
                )
            for pair in pairs:
                columns.append((state, action, *_checked_pair(pair, where)))
    state_column, action_column, next_column, probability_column = zip(*columns, strict=True) if columns else ((),) * 4
    return rows_from_columns(num_states, num_actions, state_column, action_column, next_column, probability_column)


def _checked_pair(pair: Any, where: str) -> tuple[int, float]:
    """Return (next state, probability) of one pair that a function gave."""
    try:
        probability, next_state = pair
    except (TypeError, ValueError):
        raise InputError(
            f"transition_fn must return (probability, next state) pairs, got {reprlib.repr(pair)} {where}. "
            "Return a list of such pairs."
        ) from None
    if type(probability) is float and type(next_state) is int and next_state >= 0:  # the usual case, and much faster
        return next_state, probability
    advice = "Pairs are (probability, next state), in this order."
    return (
        whole_number(next_state, f"the next state {where}", 0, advice),
        real_number(probability, f"the probability {where}"),
    )
