"""Dynamics of gridworlds, by hand.

Actions are stay, up, right, down, left. With slip 0.1 the intended action happens with chance 0.9 + 0.1 / 5 = 0.92 and
each other one with 0.02; a move over the edge stays.
"""

import numpy as np
import pytest

from journeyman.errors import InputError
from journeyman.worlds import gridworld
from journeyman.worlds.gridworld import ACTION_LABELS, MOVES

STAY, UP, RIGHT, DOWN, LEFT = range(5)


def row(mdp, state, action):
    next_states, probabilities = mdp.next_states(state, action)
    return dict(zip(next_states.tolist(), probabilities.tolist(), strict=True))


def test_actions():
    assert ACTION_LABELS == ("stay", "up", "right", "down", "left")
    assert MOVES.tolist() == [[0, 0], [-1, 0], [0, 1], [1, 0], [0, -1]]
    assert gridworld(2, 3).action_labels == ACTION_LABELS


def test_in_the_middle():
    """3x3: the middle is 4, with 1 above, 5 right, 7 below, 3 left."""
    mdp = gridworld(3, 3)
    for action, target in [(STAY, 4), (UP, 1), (RIGHT, 5), (DOWN, 7), (LEFT, 3)]:
        expected = {state: 0.92 if state == target else 0.02 for state in (1, 3, 4, 5, 7)}
        assert row(mdp, 4, action) == pytest.approx(expected, rel=1e-12)


def test_in_a_corner():
    """In the top left corner, stay, up and left are one action: 0.92 + 2 * 0.02 = 0.96 in place."""
    mdp = gridworld(3, 3)
    for action in (STAY, UP, LEFT):
        assert row(mdp, 0, action) == pytest.approx({0: 0.96, 1: 0.02, 3: 0.02}, rel=1e-12)
    assert row(mdp, 0, RIGHT) == pytest.approx({0: 0.06, 1: 0.92, 3: 0.02}, rel=1e-12)
    assert row(mdp, 8, DOWN) == pytest.approx({8: 0.96, 7: 0.02, 5: 0.02}, rel=1e-12)


def test_at_an_edge():
    """Cell 1 of 3x3 lies at the top: up stays."""
    mdp = gridworld(3, 3)
    assert row(mdp, 1, UP) == pytest.approx({1: 0.94, 0: 0.02, 2: 0.02, 4: 0.02}, rel=1e-12)
    assert row(mdp, 1, DOWN) == pytest.approx({1: 0.04, 0: 0.02, 2: 0.02, 4: 0.92}, rel=1e-12)


def test_rows_and_columns_are_not_mixed_up():
    """2 rows of 3: below 0 lies 3, right of it 1."""
    mdp = gridworld(2, 3, slip=0.0)
    assert row(mdp, 0, DOWN) == {3: 1.0}
    assert row(mdp, 0, RIGHT) == {1: 1.0}
    assert row(mdp, 2, RIGHT) == {2: 1.0}
    assert row(mdp, 5, UP) == {2: 1.0}
    assert mdp.grid.places.tolist()[4] == [1, 1]


def test_slip_of_0_is_deterministic_and_of_1_makes_all_actions_one():
    np.testing.assert_array_equal(np.diff(gridworld(3, 3, slip=0.0).rows.indptr), 1)
    P = gridworld(3, 3, slip=1.0).dense_transitions()
    np.testing.assert_allclose(P, P[:, :1].repeat(5, axis=1), rtol=1e-15)


def test_terminal_cells_have_no_rows_and_absorbing_ones_are_not_left():
    terminal, absorbing = np.eye(9, dtype=bool)[4], np.eye(9, dtype=bool)[6]
    mdp = gridworld(3, 3, terminal=terminal, absorbing=absorbing)
    np.testing.assert_array_equal(mdp.terminal, terminal)
    for action in range(5):
        assert row(mdp, 4, action) == {}
        assert row(mdp, 6, action) == pytest.approx({6: 1.0})
    assert row(mdp, 3, RIGHT)[4] == pytest.approx(0.92)


def test_one_cell():
    mdp = gridworld(1, 1)
    assert all(row(mdp, 0, action) == pytest.approx({0: 1.0}) for action in range(5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_rows": 0}, "num_rows of a gridworld must be a whole number of at least 1, got 0"),
        ({"num_columns": 2.5}, "num_columns of a gridworld must be a whole number of at least 1, got 2.5"),
        ({"slip": -0.1}, r"slip must lie in 0\.\.1, got -0\.1"),
        ({"slip": 1.1}, r"slip must lie in 0\.\.1, got 1\.1"),
        ({"slip": np.nan}, r"slip must lie in 0\.\.1, got nan"),
        ({"slip": "some"}, "slip must be a number, got 'some'"),
        ({"terminal": [True]}, r"terminal must be a boolean array of shape \(6,\), got bool of shape \(1,\)"),
        ({"absorbing": np.zeros(6)}, r"absorbing must be a boolean array of shape \(6,\), got float64"),
        ({"discount": 1.0}, "discount must lie strictly between 0 and 1"),
    ],
)
def test_bad_gridworlds(options, message):
    arguments = {"num_rows": 2, "num_columns": 3} | options
    with pytest.raises(InputError, match=message):
        gridworld(**arguments)
