"""States renumbered for fast solving: transitions near the diagonal, self-loops taken out.

Computed once per MDP and kept with it, since it only depends on the dynamics.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from journeyman.mdp import kernels
from journeyman.mdp.model import FiniteMDP
from journeyman.mdp.rows import Rows
from journeyman.types import AnyArray, BoolArray, FloatArray, IntArray

WARM_TOLERANCE, WARM_SWEEPS = 1e-3, 100


class OffDiagonal(NamedTuple):
    """Rows without self-loops, scaled as `kernels.sweep_one` wants them."""

    indptr: IntArray
    next_states: AnyArray
    weights: FloatArray
    gain: FloatArray


class Ordering(NamedTuple):
    """New state i is old state permutation[i]; next states lie within i - lower .. i + upper."""

    permutation: IntArray
    inverse: IntArray
    rows: Rows
    off_diagonal: OffDiagonal
    available: BoolArray
    lower: int
    upper: int

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
    cached: Any = mdp.__dict__.get("_band_order")
    if cached is None:
        cached = _band_order(mdp)
        mdp.__dict__["_band_order"] = cached
    return cached  # type: ignore[no-any-return]


def _band_order(mdp: FiniteMDP) -> Ordering:
    num_states, num_actions = mdp.num_states, mdp.num_actions
    links: Any = sparse.csr_array(
        (np.ones(mdp.rows.next_states.size, dtype=bool), mdp.rows.next_states, mdp.rows.indptr[::num_actions]),
        shape=(num_states, num_states),
    )
    permutation = reverse_cuthill_mckee(sparse.csr_matrix(links + links.T), symmetric_mode=True).astype(np.int64)
    inverse = np.empty(num_states, dtype=np.int64)
    inverse[permutation] = np.arange(num_states)
    old_rows = (permutation[:, None] * num_actions + np.arange(num_actions)).ravel()
    rows, entry = take_rows(mdp.rows, old_rows)
    rows = rows._replace(next_states=inverse[mdp.rows.next_states[entry]].astype(np.int32))
    source = np.repeat(np.arange(num_states), np.diff(rows.indptr[::num_actions]))
    distance = rows.next_states - source
    return Ordering(
        permutation=permutation,
        inverse=inverse,
        rows=rows,
        off_diagonal=_off_diagonal(rows, distance == 0, mdp.discount),
        available=np.ascontiguousarray(mdp.available[permutation]),
        lower=max(0, int(-distance.min(initial=0))),
        upper=max(0, int(distance.max(initial=0))),
    )


def _off_diagonal(rows: Rows, is_self_loop: BoolArray, discount: float) -> OffDiagonal:
    num_rows = rows.indptr.size - 1
    row = np.repeat(np.arange(num_rows), np.diff(rows.indptr))
    staying = np.bincount(row[is_self_loop], weights=rows.probabilities[is_self_loop], minlength=num_rows)
    gain = np.asarray(1.0 / (1.0 - discount * staying), dtype=np.float64)
    row = row[~is_self_loop]
    indptr = np.zeros(num_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=num_rows), out=indptr[1:])
    weights = discount * rows.probabilities[~is_self_loop] * gain[row]
    return OffDiagonal(indptr, np.ascontiguousarray(rows.next_states[~is_self_loop]), weights, gain)


def take_rows(rows: Rows, chosen: IntArray) -> tuple[Rows, IntArray]:
    """Return the chosen rows in that order, and where their entries stood."""
    lengths = np.diff(rows.indptr)[chosen]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    entry = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths) + np.repeat(rows.indptr[:-1][chosen], lengths)
    taken = rows._replace(indptr=indptr, next_states=rows.next_states[entry], probabilities=rows.probabilities[entry])
    return taken, entry
