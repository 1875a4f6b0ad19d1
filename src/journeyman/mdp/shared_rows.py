"""Transition rows split into what a state's actions share and what each adds.

    p(s' | s, a) = common(s, s') + extra(s, a, s'),   common(s, s') = min over available a of p(s' | s, a)

With some chance of slipping all actions of a state have most next states in common. Comparing actions then needs only
the extra entries (one per action in a gridworld instead of five), and changing one action changes two entries of P_pi.
"""

from typing import NamedTuple

import numpy as np

from journeyman.mdp.rows import Rows
from journeyman.types import AnyArray, BoolArray, FloatArray, IntArray


class SparseRows(NamedTuple):
    """Row i lies at indptr[i]:indptr[i + 1] of next_states and weights, which are discounted probabilities."""

    indptr: IntArray
    next_states: AnyArray
    weights: FloatArray


class SharedRows(NamedTuple):
    """Discounted rows: common `[S]`, extra `[S * A]`, and `loops` `[S, A]`, the discounted chance of staying."""

    common: SparseRows
    extra: SparseRows
    loops: FloatArray


def shared_rows(rows: Rows, available: BoolArray, discount: float) -> SharedRows:
    """Split rows, of unavailable actions empty; common plus extra gives them back up to one rounding."""
    num_states, num_actions = available.shape
    row = np.repeat(np.arange(num_states * num_actions), np.diff(rows.indptr))
    state, next_state = row // num_actions, rows.next_states.astype(np.int64)
    weight = discount * rows.probabilities
    is_loop = state == next_state
    loops: FloatArray = np.zeros(num_states * num_actions)
    loops[row[is_loop]] = weight[is_loop]
    pair = state * num_states + next_state
    order = np.argsort(pair, kind="stable")
    is_first = np.ones(order.size, dtype=bool)
    is_first[1:] = np.diff(pair[order]) != 0
    starts = np.flatnonzero(is_first)
    group = np.empty(order.size, dtype=np.int64)
    group[order] = np.cumsum(is_first) - 1
    shared = np.zeros(starts.size)
    if starts.size:
        size = np.diff(np.append(starts, order.size))
        is_shared = size == available.sum(axis=1)[state[order[starts]]]
        shared = np.where(is_shared, np.minimum.reduceat(weight[order], starts), 0.0)
    kept = shared > 0
    common = _packed(state[order[starts]][kept], next_state[order[starts]][kept], shared[kept], num_states)
    left = weight - shared[group] if starts.size else weight
    extra = _packed(row[left > 0], next_state[left > 0], left[left > 0], num_states * num_actions)
    return SharedRows(common, extra, loops.reshape(num_states, num_actions))


def without_loops(shared: SharedRows) -> SharedRows:
    """Return the same rows without the chance of staying, which `loops` still holds."""
    num_actions = shared.loops.shape[1]
    return SharedRows(_without(shared.common, 1), _without(shared.extra, num_actions), shared.loops)


def _without(rows: SparseRows, rows_per_state: int) -> SparseRows:
    row = np.repeat(np.arange(rows.indptr.size - 1), np.diff(rows.indptr))
    kept = row // rows_per_state != rows.next_states
    return _packed(row[kept], rows.next_states[kept], rows.weights[kept], rows.indptr.size - 1)


def _packed(row: IntArray, next_state: AnyArray, weight: FloatArray, num_rows: int) -> SparseRows:
    """Pack entries that are sorted by row."""
    indptr = np.zeros(num_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=num_rows), out=indptr[1:])
    return SparseRows(indptr, next_state.astype(np.int32), np.ascontiguousarray(weight))
