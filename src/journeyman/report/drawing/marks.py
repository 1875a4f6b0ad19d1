"""What a drawing of an MDP shows besides numbers: marks, names of cells, numbers of rows, and models in words."""

import numpy as np

from journeyman.experts import ExpertModel, known_beta
from journeyman.mdp import FiniteMDP
from journeyman.types import BoolArray, FloatArray
from journeyman.wording import listed, percent, plain_number

MAX_LISTED_STATES = 4


def has_initial_marks(mdp: FiniteMDP) -> bool:
    """Whether initial states are marked: not where all states are, and equally likely."""
    return bool(np.ptp(mdp.initial) > 1e-12)


def has_row_numbering(mdp: FiniteMDP) -> bool:
    """Whether states fill the grid row by row, so that the numbers of row and column name them."""
    grid = mdp.grid
    if grid is None or mdp.num_states != grid.num_rows * grid.num_columns:
        return False
    return bool((grid.places @ [grid.num_columns, 1] == np.arange(mdp.num_states)).all())


def commonest_kind(kinds: tuple[str, ...]) -> str:
    """Return the kind of most cells, which goes without saying."""
    return max(kinds, key=kinds.count)


def named_kinds(mdp: FiniteMDP) -> list[str] | None:
    """Return the word to write into each cell, "" for the commonest kind; None if the grid has no kinds."""
    kinds = mdp.grid.kinds if mdp.grid is not None else None
    if kinds is None:
        return None
    return ["" if kind == commonest_kind(kinds) else kind for kind in kinds]


def states_without_preference(mdp: FiniteMDP, optimal: BoolArray) -> BoolArray:
    """Return `[S]`: states where there is a choice, and every available action is optimal."""
    is_choice = ~mdp.terminal & (mdp.available.sum(axis=1) > 1)
    return np.asarray((optimal == mdp.available).all(axis=1) & is_choice)


def describe_expert(expert: ExpertModel, expert_optimal: FloatArray) -> str:
    """Return how an expert chooses: how often it does the best, and how mistakes get rarer as they cost more.

    Parameters
    ----------
    expert_optimal
        `[S]` chance of an optimal action, NaN where nobody chooses.
    """
    beta = known_beta(expert)
    name = expert.assumption() if beta is None else f"beta {plain_number(beta)}"
    more = f"; an action that is worth {np.log(2) / beta:.2g} less is taken half as often" if beta else ""
    chances = expert_optimal[~np.isnan(expert_optimal)]
    if chances.size == 0:
        return f"{name}: every state is terminal, so it never acts{more.replace('; ', '; elsewhere, ')}"
    where = "in its only state" if chances.size == 1 else f"on average over {chances.size} states"
    least = f", {percent(chances.min())} where it is least sure" if np.ptp(chances) > 0.01 else ""
    return f"{name}: it takes an optimal action {percent(chances.mean())} of the time {where}{least}{more}"


def describe_initial(mdp: FiniteMDP) -> str:
    """Return which states are initial: "any state, equally likely", "states 37 and 71, equally likely"."""
    chances = mdp.initial[mdp.initial > 0]
    which = "any state" if chances.size == mdp.num_states else f"{chances.size} of {mdp.num_states} states"
    if chances.size <= MAX_LISTED_STATES and chances.size < max(2, mdp.num_states):
        names = [mdp.state_name(int(state)) for state in np.flatnonzero(mdp.initial)]
        which = f"state {names[0]}" if len(names) == 1 else f"states {listed(names)}"
    if chances.size == 1:
        return which
    return f"{which}, {'equally likely' if np.ptp(chances) < 1e-12 else 'some more likely than others'}"
