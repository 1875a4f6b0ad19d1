"""Sparse elimination: the order and the pattern in which I - discount P_pi is factorised, for every policy at once.

States are eliminated by minimum degree (Tinney and Walker 1967): next the one with the fewest neighbours, which then
all become neighbours of each other. A tree has no such fill at all; a grid has little. The pattern belongs to the union
over all actions, so that it is worked out once for an MDP, and only numbers are computed for a policy.
"""

import heapq
from typing import NamedTuple

import numpy as np

from journeyman.errors import UnsupportedError
from journeyman.mdp.model import FiniteMDP
from journeyman.types import FloatArray, IntArray

MAX_STATES = 4000


class Elimination(NamedTuple):
    """Order of states `[S]`, the patterns of L and U by rows in that order, and memory for their values.

    `position` is the inverse of `order`; `pivots` are one over the diagonal of U; `row` is scratch.
    """

    order: IntArray
    position: IntArray
    lower_indptr: IntArray
    lower_columns: IntArray
    upper_indptr: IntArray
    upper_columns: IntArray
    lower_values: FloatArray
    upper_values: FloatArray
    pivots: FloatArray
    row: FloatArray

    def fresh(self) -> "Elimination":
        """Return the same pattern with memory of its own, for another thread."""
        names = ("lower_values", "upper_values", "pivots", "row")
        return self._replace(**{name: np.zeros_like(getattr(self, name)) for name in names})


def elimination_of(mdp: FiniteMDP) -> Elimination:
    """Return the pattern of an MDP, worked out once per MDP, with fresh memory."""
    if mdp.num_states > MAX_STATES:
        raise UnsupportedError(
            f"soft values are solved for up to {MAX_STATES} states, got {mdp.num_states}. "
            'Use an expert with values = "optimal".'
        )
    cached: Elimination | None = mdp.__dict__.get("_elimination")
    if cached is None:
        cached = _pattern(mdp)
        mdp.__dict__["_elimination"] = cached
    return cached.fresh()


def _pattern(mdp: FiniteMDP) -> Elimination:
    neighbours: list[set[int]] = [set() for _ in range(mdp.num_states)]
    sources = np.repeat(np.arange(mdp.num_states * mdp.num_actions), np.diff(mdp.rows.indptr)) // mdp.num_actions
    for s, t in set(zip(sources.tolist(), mdp.rows.next_states.tolist(), strict=True)):
        if s != t:
            neighbours[s].add(t)
            neighbours[t].add(s)
    waiting = [(len(some), s) for s, some in enumerate(neighbours)]
    heapq.heapify(waiting)
    order: list[int] = []
    later: list[set[int]] = []
    done = [False] * mdp.num_states
    while waiting:
        degree, s = heapq.heappop(waiting)
        if done[s] or degree != len(neighbours[s]):
            continue  # an entry that was replaced
        done[s] = True
        order.append(s)
        later.append(neighbours[s])
        for t in neighbours[s]:
            neighbours[t] |= neighbours[s]
            neighbours[t] -= {s, t}
            heapq.heappush(waiting, (len(neighbours[t]), t))
    position = np.empty(mdp.num_states, dtype=np.int64)
    position[order] = np.arange(mdp.num_states)
    upper = [np.sort(position[list(some)]) if some else np.zeros(0, dtype=np.int64) for some in later]
    lower: list[list[int]] = [[] for _ in order]
    for k, columns in enumerate(upper):
        for i in columns.tolist():
            lower[i].append(k)
    sizes = [np.concatenate([[0], np.cumsum([len(part) for part in parts])]) for parts in (lower, upper)]
    lower_columns = np.array([k for part in lower for k in part], dtype=np.int64)
    upper_columns = np.concatenate([np.zeros(0, dtype=np.int64), *upper]).astype(np.int64)
    return Elimination(
        order=np.array(order, dtype=np.int64),
        position=position,
        lower_indptr=sizes[0].astype(np.int64),
        lower_columns=lower_columns,
        upper_indptr=sizes[1].astype(np.int64),
        upper_columns=upper_columns,
        lower_values=np.zeros(len(lower_columns)),
        upper_values=np.zeros(len(upper_columns)),
        pivots=np.zeros(mdp.num_states),
        row=np.zeros(mdp.num_states),
    )
