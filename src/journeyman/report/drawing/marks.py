"""What a drawing of an MDP shows besides numbers: names of cells, marks of initial states, numbers of rows."""

import numpy as np

from journeyman.mdp import FiniteMDP
from journeyman.types import BoolArray


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
