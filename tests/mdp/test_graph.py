"""Reachability and finite horizons."""

import numpy as np
import pytest
from mdp import twins
from mdp.random_mdps import varied_mdps

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, Grid, solve
from journeyman.mdp.rows import MAX_STATES


def line(length, **options):
    return FiniteMDP.from_function(
        lambda s, a: [(1.0, s + 1)] if s + 1 < length else [], num_states=length, num_actions=1, discount=0.9, **options
    )


@pytest.mark.parametrize("within", [0, 1, 2, 3, None])
def test_reachable_equals_powers_of_the_matrix(within):
    for rng, mdp in varied_mdps(40, seed=300):
        starts = rng.choice(mdp.num_states, size=int(rng.integers(1, 3)))
        expected = twins.reachable(twins.dense(mdp), starts, within)
        np.testing.assert_array_equal(mdp.reachable(starts, within), expected)


def test_reachable_on_a_line():
    mdp = line(5, initial=[0, 1, 0, 0, 0])
    assert mdp.reachable().tolist() == [False, True, True, True, True]
    assert mdp.reachable(within=2).tolist() == [False, True, True, True, False]
    assert mdp.reachable(3).tolist() == [False, False, False, True, True]
    assert mdp.reachable([4, 0], within=0).tolist() == [True, False, False, False, True]
    assert not mdp.reachable([]).any()


def test_reachable_ignores_actions_that_do_not_exist():
    mdp = FiniteMDP.from_dense(
        [[[1, 0], [0, 1]], [[0, 1], [0, 1]]], layout="SAS", discount=0.9, available=[[True, False], [True, True]]
    )
    assert mdp.reachable([0]).tolist() == [True, False]


def test_reachable_takes_time_linear_in_the_states():
    """A line of 100,000 states has 100,000 steps: looking at all entries in each would take hours."""
    assert line(100_000).reachable([0]).all()


@pytest.mark.parametrize("within", [-1, 1.5, True, "two"])
def test_bad_within(within):
    with pytest.raises(InputError, match=r"within must be a whole number of at least 0, got .* Leave it out"):
        line(3).reachable(within=within)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([0, 3], r"state must lie in 0\.\.2, got 3 at entry 1"),
        ([-1], r"state must lie in 0\.\.2, got -1 at entry 0"),
        ([0.5], "whole numbers from 0, got 0.5 at entry 0"),
        ([0, np.nan], "got nan at entry 1"),
        ([True, False, True], "got True at entry 0"),
        (["here"], "got 'here' at entry 0"),
        (object(), "whole numbers"),
        ([[0], [1, 2]], "state must be a regular array"),
    ],
)
def test_bad_from_states(states, message):
    with pytest.raises(InputError, match=message):
        line(3).reachable(states)


# -- unrolled --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_state_only", [True, False])
@pytest.mark.parametrize("horizon", [1, 2, 7])
def test_unrolled_values_equal_backward_induction(horizon, is_state_only):
    for rng, mdp in varied_mdps(20, seed=301, discounts=(0.5, 0.9, 0.999)):
        reward = rng.normal(size=mdp.num_states if is_state_only else mdp.available.shape)
        repeats = (horizon,) if is_state_only else (horizon, 1)
        solution = solve(mdp.unrolled(horizon), np.tile(reward, repeats))
        expected = twins.backward_induction(twins.dense(mdp), mdp.available, mdp.discount, reward, horizon)
        actual = solution.values.reshape(horizon, mdp.num_states)
        # each of at most 7 steps rounds twice
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-14 * (1 + np.abs(expected).max()))


def test_the_last_layer_still_chooses():
    """With one step left the larger reward of the two actions is taken, and nothing follows."""
    mdp = FiniteMDP.from_dense(np.ones((1, 2, 1)), layout="SAS", discount=0.5)
    unrolled = mdp.unrolled(3)
    solution = solve(unrolled, np.tile([[1.0, 2.0]], (3, 1)))
    np.testing.assert_array_equal(solution.values, [3.5, 3.0, 2.0])
    np.testing.assert_array_equal(solution.policy, [1, 1, 1])
    assert not unrolled.terminal.any()
    np.testing.assert_array_equal(unrolled.initial, [1.0, 0.0, 0.0])


def test_unrolled_rows_lead_one_layer_on():
    for _, mdp in varied_mdps(15, seed=302):
        S, horizon = mdp.num_states, 3
        unrolled = mdp.unrolled(horizon)
        P = twins.dense(unrolled).reshape(horizon, S, mdp.num_actions, horizon, S)
        for t in range(horizon):
            for u in range(horizon):
                expected = twins.dense(mdp) if u == t + 1 else 0.0
                np.testing.assert_array_equal(P[t, :, :, u], np.broadcast_to(expected, P[t, :, :, u].shape))
        np.testing.assert_array_equal(unrolled.terminal, np.tile(mdp.terminal, horizon))
        np.testing.assert_array_equal(unrolled.available, np.tile(mdp.available, (horizon, 1)))


def test_terminal_cells_stay_terminal_and_choices_that_end_stay_choices():
    mdp = FiniteMDP.from_dense(np.zeros((2, 1, 2)), layout="SAS", discount=0.9, terminal=[True, False])
    assert mdp.unrolled(2).terminal.tolist() == [True, False, True, False]


def test_a_chance_of_termination_below_the_tolerance_of_sums_is_kept():
    mdp = FiniteMDP.from_dense([[[1 - 1e-7]]], layout="SAS", discount=0.9, termination=[[1e-7]])
    assert mdp.unrolled(2).rows.probabilities.tolist() == mdp.rows.probabilities.tolist() == [1 - 1e-7]


def test_unrolled_labels_and_grid_carry_time():
    grid = Grid(1, 2, kinds=("start", "goal"), moves=[[0, 1]])
    mdp = line(2, state_labels=["a", "b"], action_labels=["on"], grid=grid)
    unrolled = mdp.unrolled(2)
    assert unrolled.state_labels == ("a at 0", "b at 0", "a at 1", "b at 1")
    assert unrolled.action_labels == ("on",)
    # One panel below the other, each with a row for its title.
    assert unrolled.grid.places.tolist() == [[1, 0], [1, 1], [3, 0], [3, 1]]
    assert unrolled.grid.kinds == ("start", "goal", "start", "goal")
    assert unrolled.grid.moves.tolist() == [[0, 1]]


@pytest.mark.parametrize("horizon", [0, -3, 2.0, "three", None, True])
def test_bad_horizon(horizon):
    with pytest.raises(InputError, match=r"horizon must be a whole number of at least 1, got .* counts the actions"):
        line(2).unrolled(horizon)


def test_a_horizon_with_more_states_than_can_be_numbered():
    with pytest.raises(InputError, match=f"states times horizon must be at most {MAX_STATES}, got 2 x {2**30}"):
        line(2).unrolled(2**30)
