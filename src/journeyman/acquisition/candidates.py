"""Which states to rate as the start of a query: all, or, where that would take too long, some of them.

A score takes work for every state. In a world of a million, most states are never visited and hardly any two of their
neighbours differ: a thousand candidates are enough to find a good question.
"""

import re
from typing import Any

import numpy as np

from journeyman.checks import whole_number
from journeyman.errors import InputError
from journeyman.inference.posterior import Posterior
from journeyman.mdp import FiniteMDP, occupancy
from journeyman.problem import Problem
from journeyman.types import FloatArray, IntArray

MOST_BY_DEFAULT = 20_000  # queryable states: above, those that the apprentice visits most are rated
USUAL_NUMBER = 1000  # of them
MAX_NAMED = 5
BY_OCCUPANCY = re.compile(r"occupancy:\s*([0-9]+)")
ADVICE = "Give a list of states, how many to draw at random (1000), or how many of the most visited ('occupancy:1000')."


def checked_candidates(candidates: Any) -> Any:
    """Return candidates as plain data (None, a number, words, or a list of states), or say what is wrong with them."""
    if candidates is None:
        return None
    if isinstance(candidates, str):
        found = BY_OCCUPANCY.fullmatch(candidates.strip())
        if found is None or int(found.group(1)) == 0:
            raise InputError(f"candidates must be states or a number of them, got {candidates!r}. {ADVICE}")
        return f"occupancy:{int(found.group(1))}"
    if isinstance(candidates, int | np.integer) and not isinstance(candidates, bool):
        return whole_number(candidates, "the number of candidates", 1, ADVICE)
    array = np.asarray(candidates)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size:
        raise InputError(f"candidates must be a list of states, got {candidates!r:.60}. {ADVICE}")
    return np.unique(array).tolist()


def check_candidates(candidates: Any, problem: Problem) -> None:
    """Refuse a list of states that the problem does not have, or of which none may be asked about."""
    chosen = checked_candidates(candidates)
    if isinstance(chosen, list):
        _listed(chosen, problem.mdp, np.flatnonzero(problem.queryable))


def candidate_states(posterior: Posterior, candidates: Any, queryable: IntArray, seed: int) -> IntArray:
    """Return the states to rate, ascending: some of the queryable ones, at least one.

    Parameters
    ----------
    candidates
        None: all, or in worlds of more than 20,000 queryable states the 1000 most visited. A list of states; a number:
        so many drawn at random, by `seed`; "occupancy:N": the N that the best policy for the mean reward visits most.
    """
    chosen = checked_candidates(candidates)
    if chosen is None and len(queryable) > MOST_BY_DEFAULT:
        chosen = f"occupancy:{USUAL_NUMBER}"
    if chosen is None:
        return queryable
    if isinstance(chosen, str):
        return _most_visited(posterior, queryable, int(chosen.partition(":")[2]))
    if isinstance(chosen, int):
        if chosen >= len(queryable):
            return queryable
        return np.sort(np.random.default_rng([seed, 2]).choice(queryable, size=chosen, replace=False))
    return _listed(chosen, posterior.problem.mdp, queryable)


def _listed(chosen: list[int], mdp: FiniteMDP, queryable: IntArray) -> IntArray:
    """Return those of a list of states that may be asked about, at least one."""
    wanted = mdp.state_indices(chosen)
    states = wanted[np.isin(wanted, queryable)]
    if not states.size:
        named = ", ".join(mdp.state_name(int(state)) for state in wanted[:MAX_NAMED])
        raise InputError(
            f"candidates must have a state that may be asked about, got none among {named}"
            f"{', ...' if len(wanted) > MAX_NAMED else ''}. Choose queryable states, or leave candidates out."
        )
    return states


def _most_visited(posterior: Posterior, queryable: IntArray, size: int) -> IntArray:
    visits: FloatArray = occupancy(posterior.problem.mdp, posterior.mean_solution.policy)[queryable]
    order = np.argsort(-visits, kind="stable")[:size]
    return np.sort(queryable[order])
