"""Transitions arranged for fast solving: what actions share is split off, states are renumbered, self-loops taken out.

    p(s' | s, a) = common(s, s') + extra(s, a, s'),   common(s, s') = min over available a of p(s' | s, a)

With some chance of slipping all actions of a state have most next states in common. Comparing actions then needs only
the extra entries (one per action in a gridworld instead of five), and changing one action changes two entries of P_pi.
The numbering puts transitions near the diagonal. Both depend on the dynamics alone, and are computed once per MDP.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from journeyman.mdp import kernels
from journeyman.mdp.graph import state_links
from journeyman.mdp.krylov import SplitRows
from journeyman.mdp.model import FiniteMDP
from journeyman.mdp.rows import Rows
from journeyman.types import AnyArray, BoolArray, FloatArray, IntArray

WARM_TOLERANCE, WARM_SWEEPS = 1e-3, 100


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


def shared_rows_of(mdp: FiniteMDP) -> SharedRows:
    """Return the split rows of an MDP in its own numbering; computed once per MDP."""
    cached: SharedRows | None = mdp.__dict__.get("_shared_rows")
    if cached is None:
        cached = mdp.__dict__["_shared_rows"] = shared_rows(mdp.rows, mdp.available, mdp.discount)
    return cached


def without_loops(rows: SparseRows, rows_per_state: int) -> SparseRows:
    """Return the same rows without the chance of staying."""
    row = np.repeat(np.arange(rows.indptr.size - 1), np.diff(rows.indptr))
    kept = row // rows_per_state != rows.next_states
    return _packed(row[kept], rows.next_states[kept], rows.weights[kept], rows.indptr.size - 1)


def _packed(row: IntArray, next_state: AnyArray, weight: FloatArray, num_rows: int) -> SparseRows:
    """Pack entries that are sorted by row."""
    indptr = np.zeros(num_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=num_rows), out=indptr[1:])
    return SparseRows(indptr, next_state.astype(np.int32), np.ascontiguousarray(weight))


def first_entries(extra: SparseRows, shape: tuple[int, ...]) -> tuple[AnyArray, FloatArray, IntArray]:
    """Return next states and weights `[A * S]` of the first entries of rows `[S * A]`, and the rows that have more."""
    sizes = np.diff(extra.indptr)
    has_any, first = sizes > 0, extra.indptr[:-1]
    next_states, weights = np.zeros(sizes.size, dtype=np.int32), np.zeros(sizes.size)
    next_states[has_any], weights[has_any] = extra.next_states[first[has_any]], extra.weights[first[has_any]]
    return next_states.reshape(shape).T.ravel(), weights.reshape(shape).T.ravel(), np.flatnonzero(sizes > 1)


class Ordering(NamedTuple):
    """New state i is old state permutation[i]; next states lie within i - lower .. i + upper.

    `shared` are the rows split into what actions share and add, `off_diagonal` the same without self-loops, `gain`
    `[S, A]` is 1 / (1 - discount * chance of staying), `first` what `first_entries` returns.
    """

    permutation: IntArray
    inverse: IntArray
    rows: Rows
    shared: SharedRows
    off_diagonal: SharedRows
    gain: FloatArray
    available: BoolArray
    first: tuple[AnyArray, FloatArray, IntArray]
    lower: int
    upper: int

    @property
    def split_rows(self) -> SplitRows:
        """The rows as the compiled solvers of large problems take them."""
        next_states, weights, longer = self.first
        return SplitRows(
            *self.shared.common, *self.shared.extra, next_states, weights, longer.size > 0, self.gain, self.available
        )

    @property
    def work(self) -> float:
        """Multiplications of one elimination inside the band."""
        return float(self.permutation.size) * self.lower * (self.upper + 1.0)

    def evaluate(self, discount: float, rewards: FloatArray, policies: IntArray, values: FloatArray) -> None:
        """Set `values` `[M, S]` near those of `policies`, all in the new numbering: a warm start for sweeps."""
        states = np.arange(self.permutation.size)
        for reward, policy, value in zip(rewards, policies, values, strict=True):
            rows, _ = take_rows(self.rows, states * self.rows.num_actions + policy)
            r_pi = np.ascontiguousarray(reward[states, policy] if reward.shape[1] > 1 else reward[:, 0])
            kernels.evaluate_by_sweeps(
                rows.indptr, rows.next_states, discount * rows.probabilities, r_pi[None], value[None],
                WARM_TOLERANCE, WARM_SWEEPS, np.empty(1),
            )  # fmt: skip


def band_order(mdp: FiniteMDP) -> Ordering:
    """Return the renumbering of `mdp`; computed once per MDP."""
    cached: Ordering | None = mdp.__dict__.get("_band_order")
    if cached is not None:
        return cached
    num_states, num_actions = mdp.num_states, mdp.num_actions
    links = state_links(mdp)
    permutation = reverse_cuthill_mckee(sparse.csr_matrix(links + links.T), symmetric_mode=True).astype(np.int64)
    inverse = np.empty(num_states, dtype=np.int64)
    inverse[permutation] = np.arange(num_states)
    old_rows = (permutation[:, None] * num_actions + np.arange(num_actions)).ravel()
    rows, entry = take_rows(mdp.rows, old_rows)
    rows = rows._replace(next_states=inverse[mdp.rows.next_states[entry]].astype(np.int32))
    source = np.repeat(np.arange(num_states), np.diff(rows.indptr[::num_actions]))
    distance = rows.next_states - source
    available = np.ascontiguousarray(mdp.available[permutation])
    shared = shared_rows(rows, available, mdp.discount)
    found = Ordering(
        permutation=permutation,
        inverse=inverse,
        rows=rows,
        shared=shared,
        off_diagonal=SharedRows(
            without_loops(shared.common, 1), without_loops(shared.extra, num_actions), shared.loops
        ),
        gain=1.0 / (1.0 - shared.loops),
        available=available,
        first=first_entries(shared.extra, available.shape),
        lower=max(0, int(-distance.min(initial=0))),
        upper=max(0, int(distance.max(initial=0))),
    )
    mdp.__dict__["_band_order"] = found
    return found


def take_rows(rows: Rows, chosen: IntArray) -> tuple[Rows, IntArray]:
    """Return the chosen rows in that order, and where their entries stood."""
    lengths = np.diff(rows.indptr)[chosen]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    entry = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths) + np.repeat(rows.indptr[:-1][chosen], lengths)
    taken = rows._replace(indptr=indptr, next_states=rows.next_states[entry], probabilities=rows.probabilities[entry])
    return taken, entry
