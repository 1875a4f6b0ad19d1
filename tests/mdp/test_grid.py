"""Grid: where states lie, for drawing."""

import numpy as np
import pytest

from journeyman.errors import InputError
from journeyman.mdp import Grid


def test_states_fill_the_grid_row_by_row():
    grid = Grid(2, 3)
    assert grid.places.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert (grid.moves, grid.kinds) == (None, None)


def test_cells_moves_and_kinds_are_kept():
    grid = Grid(2, 2, cells=np.array([[1, 1], [0, 0]]), moves=[[0, -1]], kinds=["goal", "mud"])
    assert grid.places.tolist() == [[1, 1], [0, 0]]
    assert grid.moves.tolist() == [[0, -1]]
    assert grid.kinds == ("goal", "mud")


def test_a_grid_cannot_be_changed():
    for grid in (Grid(1, 2), Grid(1, 2, cells=[[0, 0]], moves=[[0, 1]])):
        with pytest.raises(ValueError, match="read-only"):
            grid.places[:] = 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_rows": 0}, "num_rows of a grid must be a whole number of at least 1, got 0"),
        ({"num_columns": -1}, "num_columns of a grid must be a whole number of at least 1, got -1"),
        ({"num_rows": 2.0}, "num_rows of a grid must be a whole number"),
        ({"num_rows": True}, "num_rows of a grid must be a whole number"),
        ({"num_columns": "3"}, "num_columns of a grid must be a whole number"),
        ({"cells": [[0, 0], [2, 0]]}, r"on the 2 x 3 grid, got \(2, 0\) at state 1\. Rows and columns count from 0"),
        ({"cells": [[0, 3]]}, r"got \(0, 3\) at state 0"),
        ({"cells": [[-1, 0]]}, r"got \(-1, 0\) at state 0"),
        ({"cells": [[0, 1], [1, 1], [0, 1]]}, r"at most one state each, got \(0, 1\) at state 0 and again"),
        ({"cells": [[0.5, 0.0]]}, "grid cells must be whole numbers, got 0.5"),
        ({"cells": [[np.nan, 0.0]]}, "grid cells must be whole numbers, got nan"),
        ({"cells": [0, 1]}, r"grid cells must have shape \[n, 2\], got \(2,\)"),
        ({"cells": [["a", "b"]]}, "grid cells must be numbers"),
        ({"moves": [[0, 1, 2]]}, r"grid moves must have shape \[n, 2\], got \(1, 3\)"),
        ({"kinds": ("goal",)}, "kinds of a grid must be 6 words, got 1"),
        ({"kinds": "abcdef"}, "kinds of a grid must be 6 words"),
    ],
)
def test_bad_grids(arguments, message):
    with pytest.raises(InputError, match=message):
        Grid(**({"num_rows": 2, "num_columns": 3} | arguments))
