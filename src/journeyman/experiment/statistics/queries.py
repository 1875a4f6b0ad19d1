"""Where methods ask: how often in each state, and how much two methods ask alike on the same instance."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from journeyman.checks import whole_number
from journeyman.errors import InputError
from journeyman.experiment.statistics.table import CELL, GROUP, checked_methods, checked_table
from journeyman.extras import require
from journeyman.types import IntArray

if TYPE_CHECKING:
    from pandas import DataFrame


def query_counts(table: "DataFrame", *, first: int | None = None, pooled: bool = False) -> "DataFrame":
    """Return how often each state was asked about.

    Parameters
    ----------
    first
        How many queries of each cell count; default: all.
    pooled
        Whether to add up over seeds. On random worlds a state is another place for every seed.

    Returns
    -------
    A table with the labels of the cell (without the seed if pooled), `state` and `count`, positive.
    """
    asked = _asked(table, first)
    keys = [name for name in CELL if not (pooled and name == "seed")]
    return asked.groupby([*keys, "state"], observed=True, sort=True).size().rename("count").reset_index()


def counts_per_state(table: "DataFrame", num_states: int, *, first: int | None = None) -> IntArray:
    """Return how often each state `[S]` was asked about in all rows of a table together."""
    states = _asked(table, first)["state"].to_numpy(dtype=np.int64)
    if states.size and states.max() >= num_states:
        raise InputError(f"queried states must be below {num_states}, got {states.max()}. Use the world of the table.")
    return np.bincount(states, minlength=num_states)


class Overlap(NamedTuple):
    """How much two sequences of queries, equally long, are alike.

    same_start
        Number of queries before the first that differs.
    same_step
        Share of steps at which both ask in the same state.
    shared
        Share of queries that the other one asks too, at any step, each as often as both do.
    jaccard
        States that both ask about, as a share of those that any of them asks about.
    """

    same_start: int
    same_step: float
    shared: float
    jaccard: float


def sequence_overlap(ours: Sequence[int], theirs: Sequence[int]) -> Overlap:
    """Compare two sequences of states, equally long and not empty."""
    if len(ours) != len(theirs) or len(ours) == 0:
        raise InputError(
            f"sequences of queries must be equally long and not empty, got {len(ours)} and {len(theirs)}. Cut them."
        )
    is_same = np.asarray(ours) == np.asarray(theirs)
    shared = sum((Counter(ours) & Counter(theirs)).values())
    start = len(is_same) if is_same.all() else int(is_same.argmin())
    union = set(ours) | set(theirs)
    return Overlap(
        start, float(is_same.mean()), shared / len(is_same), len(set(ours).intersection(theirs)) / len(union)
    )


def query_overlap(
    table: "DataFrame", baseline: str, *, methods: Sequence[str] | None = None, first: int | None = None
) -> "DataFrame":
    """Compare where methods ask with where a baseline asks, instance by instance.

    Parameters
    ----------
    methods
        Which to compare; default: all others.
    first
        How many queries count; default: as many as both cells have. Cells with fewer are left out.

    Returns
    -------
    A table with a row per method and instance: labels, `baseline`, `num_queries`, and the fields of `Overlap`.
    """
    asked = _asked(table, first)
    checked_methods(table, [baseline], "the baseline")
    others = [name for name in checked_methods(table, methods) if name != baseline]
    sequences = asked.sort_values("step").groupby(list(CELL), observed=True, sort=True)["state"].agg(list)
    rows = []
    for labels, ours in sequences.items():
        world, query, inference, method, seed = labels
        theirs = sequences.get((world, query, inference, baseline, seed))
        if method not in others or theirs is None:
            continue
        length = min(len(ours), len(theirs))
        if first is not None and length < first:
            continue
        keys = dict(zip(CELL, labels, strict=True)) | {"baseline": baseline, "num_queries": length}
        rows.append(keys | sequence_overlap(ours[:length], theirs[:length])._asdict())
    columns = [*CELL, "baseline", "num_queries", *Overlap._fields]
    return require("pandas", "tables").DataFrame(rows, columns=columns)


def mean_overlap(overlap: "DataFrame") -> "DataFrame":
    """Return the averages over instances of what `query_overlap` gives, per group and method, with `n`."""
    grouped = overlap.groupby([*GROUP, "method", "baseline"], observed=True, sort=True)
    return grouped[list(Overlap._fields)].mean().assign(n=grouped.size()).reset_index()


def _asked(table: "DataFrame", first: int | None) -> "DataFrame":
    """Return the rows with a query, among the first steps of each cell."""
    table = checked_table(table, "state")
    is_asked = table["state"].notna()
    if first is not None:
        is_asked &= table["step"] <= whole_number(first, "first", 1)
    return table.loc[is_asked, [*CELL, "step", "state"]].astype({"state": np.int64})
