"""Where states lie on a grid: for drawing only, never for dynamics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import float_array, whole_number
from journeyman.errors import InputError
from journeyman.types import IntArray, read_only
from journeyman.wording import counted


@dataclass(frozen=True, eq=False)
class Grid:
    """Places of states on a grid.

    Parameters
    ----------
    num_rows, num_columns
        Size of the grid; cells without a state are walls.
    cells
        `[S, 2]` row and column of each state, row 0 at the top. Default: states fill the grid row by row.
    moves
        `[A, 2]` row and column step that each action intends, for arrows; optional.
    kinds
        One word per state ("goal", "mud"), for colours and legends; optional.

    Examples
    --------
    >>> from journeyman import Grid
    >>> grid = Grid(2, 3)
    >>> grid.places[4].tolist()
    [1, 1]
    """

    num_rows: int
    num_columns: int
    cells: IntArray | None = None
    moves: IntArray | None = None
    kinds: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Fill in the default cells and check that every cell lies on the grid, once."""
        num_rows = whole_number(self.num_rows, "num_rows of a grid", 1)
        num_columns = whole_number(self.num_columns, "num_columns of a grid", 1)
        if self.cells is None:
            cells = np.stack(np.divmod(np.arange(num_rows * num_columns), num_columns), axis=1)
        else:
            cells = _checked_cells(_pairs(self.cells, "grid cells"), num_rows, num_columns)
        moves = None if self.moves is None else read_only(_pairs(self.moves, "grid moves"))
        checked: dict[str, Any] = {
            "num_rows": num_rows,
            "num_columns": num_columns,
            "cells": read_only(cells),
            "moves": moves,
        }
        kinds: Any = self.kinds
        if kinds is not None:
            if isinstance(kinds, str) or not isinstance(kinds, Sequence | np.ndarray) or len(kinds) != len(cells):
                got = len(kinds) if isinstance(kinds, Sequence | np.ndarray) else repr(kinds)
                raise InputError(f"kinds of a grid must be {len(cells)} words, got {got}. Give one per state.")
            checked["kinds"] = tuple(str(kind) for kind in kinds)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return (
            f"Grid({counted(self.num_rows, 'row')}, {counted(self.num_columns, 'column')}, {len(self.places)} states)"
        )

    @property
    def places(self) -> IntArray:
        """`[S, 2]` row and column of each state."""
        assert self.cells is not None
        return self.cells


def _checked_cells(cells: IntArray, num_rows: int, num_columns: int) -> IntArray:
    inside = (cells >= 0).all(axis=1) & (cells < [num_rows, num_columns]).all(axis=1)
    if not inside.all():
        s = int(np.argmin(inside))
        raise InputError(
            f"grid cells must lie on the {num_rows} x {num_columns} grid, "
            f"got {tuple(cells[s].tolist())} at state {s}. Rows and columns count from 0."
        )
    _, first, counts = np.unique(cells, axis=0, return_index=True, return_counts=True)
    if (counts > 1).any():
        s = int(first[counts > 1].min())
        raise InputError(
            f"grid cells must hold at most one state each, got {tuple(cells[s].tolist())} at state {s} and again. "
            "Give each state its own cell."
        )
    return cells


def _pairs(values: ArrayLike, name: str) -> IntArray:
    pairs = float_array(values, name)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(f"{name} must have shape [n, 2], got {pairs.shape}. Give a (row, column) pair each.")
    if not (pairs == np.floor(pairs)).all():
        raise InputError(f"{name} must be whole numbers, got {pairs[pairs != np.floor(pairs)][0]}. Round them.")
    return pairs.astype(np.int64)
