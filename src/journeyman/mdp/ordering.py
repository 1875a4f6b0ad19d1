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
from journeyman.mdp.shared_rows import SharedRows, shared_rows, without_loops
from journeyman.types import BoolArray, FloatArray, IntArray

WARM_TOLERANCE, WARM_SWEEPS = 1e-3, 100


class Ordering(NamedTuple):
    """New state i is old state permutation[i]; next states lie within i - lower .. i + upper.

    `shared` are the rows split into what actions share and add, `off_diagonal` the same without self-loops, `gain`
    `[S, A]` is 1 / (1 - discount * chance of staying).
    """

    permutation: IntArray
    inverse: IntArray
    rows: Rows
    shared: SharedRows
    off_diagonal: SharedRows
    gain: FloatArray
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
    available = np.ascontiguousarray(mdp.available[permutation])
    shared = shared_rows(rows, available, mdp.discount)
    return Ordering(
        permutation=permutation,
        inverse=inverse,
        rows=rows,
        shared=shared,
        off_diagonal=without_loops(shared),
        gain=1.0 / (1.0 - shared.loops),
        available=available,
        lower=max(0, int(-distance.min(initial=0))),
        upper=max(0, int(distance.max(initial=0))),
    )


def take_rows(rows: Rows, chosen: IntArray) -> tuple[Rows, IntArray]:
    """Return the chosen rows in that order, and where their entries stood."""
    lengths = np.diff(rows.indptr)[chosen]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    entry = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths) + np.repeat(rows.indptr[:-1][chosen], lengths)
    taken = rows._replace(indptr=indptr, next_states=rows.next_states[entry], probabilities=rows.probabilities[entry])
    return taken, entry
