"""Reachability."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph

from journeyman.checks import whole_number
from journeyman.mdp.model import FiniteMDP
from journeyman.types import BoolArray


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
