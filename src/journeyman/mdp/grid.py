"""Where states lie on a grid: for drawing only, never for dynamics."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from journeyman.errors import InputError
from journeyman.types import IntArray


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
    """

    num_rows: int
    num_columns: int
    cells: IntArray | None = None
    moves: IntArray | None = None
    kinds: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Fill in the default cells and check that every cell lies on the grid, once."""
        if self.num_rows < 1 or self.num_columns < 1:
            raise InputError(f"a grid must have at least one cell, got {self.num_rows} x {self.num_columns}.")
        if self.cells is None:
            cells = np.stack(np.divmod(np.arange(self.num_rows * self.num_columns), self.num_columns), axis=1)
        else:
            cells = _pairs(self.cells, "grid cells")
            inside = (cells >= 0).all(axis=1) & (cells < [self.num_rows, self.num_columns]).all(axis=1)
            if not inside.all():
                s = int(np.argmin(inside))
                raise InputError(
                    f"grid cells must lie on the {self.num_rows} x {self.num_columns} grid, "
                    f"got {tuple(cells[s].tolist())} at state {s}. Rows and columns count from 0."
                )
            if len({tuple(cell) for cell in cells.tolist()}) != len(cells):
                raise InputError("grid cells must hold at most one state each, got two states in one cell.")
        object.__setattr__(self, "cells", cells)
        if self.moves is not None:
            object.__setattr__(self, "moves", _pairs(self.moves, "grid moves"))
        if self.kinds is not None:
            object.__setattr__(self, "kinds", tuple(str(kind) for kind in self.kinds))

    @property
    def places(self) -> IntArray:
        """`[S, 2]` row and column of each state."""
        assert self.cells is not None
        return self.cells


def _pairs(values: ArrayLike, name: str) -> IntArray:
    pairs = np.array(values, dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(f"{name} must have shape [n, 2], got {pairs.shape}. Give a (row, column) pair each.")
    pairs.setflags(write=False)
    return pairs
