"""Whether what follows an action depends on the state and the action alone, as a Markov decision process assumes.

For each pair of a state and an action, the outcomes are compared early against late, by the state before and by the
action before: all must have the same distribution. The test is the likelihood-ratio (G) test of independence, on
categories pooled until each cell is expected to hold 5, and p values are multiplied by the number of tests.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc, xlogy

from journeyman.errors import InputError
from journeyman.mdp.names import Names
from journeyman.mdp.transitions import Transitions
from journeyman.types import AnyArray, IntArray
from journeyman.wording import counted, listed

MIN_EXPECTED = 5.0  # in each cell of a table
DOUBTFUL = 1e-3  # corrected p value
GROSS = 1e-9
MAX_NAMED = 3


class Dependence(NamedTuple):
    """Outcomes of a pair of state and action that depend on something else: p is corrected for the number of tests."""

    state: int
    action: int
    p_value: float
    on: str


def independence_p_value(table: AnyArray) -> float:
    """Return the p value of the G test of independence of a table of counts; 1 where it is too small for one.

    The smallest rows and columns are pooled until every cell is expected to hold 5.
    """
    table = np.asarray(table, dtype=np.float64)
    while True:
        table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        if min(table.shape) < 2:
            return 1.0
        if rows.min() * columns.min() >= MIN_EXPECTED * table.sum():
            break
        # what is smaller for its kind is pooled first: a kind of two has nothing left to pool but itself
        axis = 0 if rows.min() * len(rows) < columns.min() * len(columns) and len(rows) > 2 else 1
        axis = 1 - axis if table.shape[axis] == 2 and table.shape[1 - axis] > 2 else axis
        table = _pooled(table, axis)
    total = table.sum()
    statistic = 2.0 * float((xlogy(table, table) - xlogy(table, np.outer(rows, columns) / total)).sum())
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    williams = 1.0 + float(((total / rows).sum() - 1.0) * ((total / columns).sum() - 1.0)) / (6.0 * total * freedom)
    return float(gammaincc(0.5 * freedom, max(statistic, 0.0) / (2.0 * williams)))


def _pooled(table: AnyArray, axis: int) -> AnyArray:
    """Return the table with its two smallest rows (axis 0) or columns (axis 1) in one."""
    turned = table if axis == 0 else table.T
    order = np.argsort(turned.sum(axis=1), kind="stable")
    merged = np.vstack([turned[order[2:]], turned[order[:2]].sum(axis=0)])
    return merged if axis == 0 else merged.T


def dependences(steps: Transitions, num_actions: int) -> list[Dependence]:
    """Return the pairs whose outcomes depend on time or on the step before, least likely by chance first."""
    pair = steps.state * num_actions + steps.action
    outcome = 2 * steps.next_state + steps.done
    before, done_before = (
        np.concatenate([[0], column[:-1]]) if steps.size else column for column in (steps.state, steps.action)
    )
    found = []
    for start, indices in _groups(pair):
        half = (np.arange(len(indices)) >= len(indices) // 2).astype(np.int64)
        tests = [("time", half, indices)]
        known = indices[steps.follows[indices]]
        tests.append(("the state before", before[known], known))
        tests.append(("the action before", done_before[known], known))
        for on, label, chosen in tests:
            if len(chosen) >= 4 * MIN_EXPECTED:
                p_value = independence_p_value(_table(label, outcome[chosen]))
                found.append(Dependence(*divmod(start, num_actions), p_value, on))
    corrected = [one._replace(p_value=min(1.0, len(found) * one.p_value)) for one in found]
    return sorted((one for one in corrected if one.p_value < DOUBTFUL), key=lambda one: one.p_value)


def _groups(labels: IntArray) -> list[tuple[int, IntArray]]:
    order = np.argsort(labels, kind="stable")
    firsts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    return [(int(labels[part[0]]), part) for part in np.split(order, firsts[1:]) if part.size]


def _table(rows: IntArray, columns: IntArray) -> AnyArray:
    row, column = (np.unique(labels, return_inverse=True)[1].ravel() for labels in (rows, columns))
    width = int(column.max()) + 1
    return np.bincount(row * width + column, minlength=(int(row.max()) + 1) * width).reshape(-1, width)


def check_stationary(steps: Transitions, states: Names, actions: Names) -> tuple[str, ...]:
    """Return what is doubtful about the dynamics behind these steps; refuse what changes beyond doubt."""
    found = dependences(steps, actions.size)
    if not found:
        return ()
    pairs = [f"action {_name(actions, one.action)} in state {_name(states, one.state)}" for one in found]
    named = listed(list(dict.fromkeys(pairs))[:MAX_NAMED])
    on = " and on ".join(dict.fromkeys(one.on for one in found))
    words = (
        f"what follows {named} depends on {on}, not on state and action alone (p = {found[0].p_value:.1g} for the "
        f"first, corrected for all tests; {counted(len(set(pairs)), 'pair')} in all)"
    )
    fix = (
        "Make what it depends on part of the state (the state before, for example, by a memory of it), or keep only "
        "the steps after the last change."
    )
    if found[0].p_value < GROSS:
        raise InputError(f"transitions must come from dynamics that do not change: {words}. {fix}")
    return (f"{words}. {fix}",)


def _name(names: Names, index: int) -> str:
    return names.labels[index] if names.labels else str(index)
