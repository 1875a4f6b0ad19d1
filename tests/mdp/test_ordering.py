"""States renumbered for the solvers, and rows split into what actions share."""

import numpy as np
import pytest
from mdp import twins
from mdp.random_mdps import varied_mdps

from journeyman.mdp import FiniteMDP
from journeyman.mdp.ordering import band_order, shared_rows
from journeyman.worlds import gridworld


def dense_rows(rows, values, num_rows, num_states):
    """Packed entries as `[rows, S]`."""
    dense = np.zeros((num_rows, num_states))
    row = np.repeat(np.arange(num_rows), np.diff(rows.indptr))
    np.add.at(dense, (row, rows.next_states), values)
    return dense


def test_the_order_is_a_renumbering_of_the_same_rows():
    for _, mdp in varied_mdps(25, seed=800):
        order, P = band_order(mdp), twins.dense(mdp)
        assert sorted(order.permutation) == list(range(mdp.num_states))
        np.testing.assert_array_equal(order.permutation[order.inverse], np.arange(mdp.num_states))
        actual = dense_rows(order.rows, order.rows.probabilities, mdp.available.size, mdp.num_states)
        expected = P[order.permutation][:, :, order.permutation].reshape(actual.shape)
        np.testing.assert_array_equal(actual, expected)
        np.testing.assert_array_equal(order.available, mdp.available[order.permutation])


def test_every_next_state_lies_in_the_band():
    for _, mdp in varied_mdps(25, seed=801):
        order = band_order(mdp)
        source = np.repeat(np.arange(mdp.available.size), np.diff(order.rows.indptr)) // mdp.num_actions
        distance = order.rows.next_states - source
        assert order.lower == max(0, -distance.min(initial=0)) and order.upper == max(0, distance.max(initial=0))


def test_self_loops_are_taken_out_exactly():
    """(r + discount sum over s' != s of p V) / (1 - discount p(s)): weights and gain give the same numbers."""
    for _, mdp in varied_mdps(25, seed=802):
        order = band_order(mdp)
        P = twins.dense(mdp)[order.permutation][:, :, order.permutation]
        here = np.arange(mdp.num_states)
        gain = 1 / (1 - mdp.discount * P[here, :, here])
        np.testing.assert_allclose(order.gain, gain, rtol=1e-12)
        P[here, :, here] = 0.0
        np.testing.assert_allclose(dense_split(order.off_diagonal, order.available), mdp.discount * P, rtol=1e-12)


def dense_split(shared, available):
    """Common plus extra rows as one dense array `[S, A, S]`; what is common only counts where an action exists."""
    num_states, num_actions = shared.loops.shape
    common = dense_rows(shared.common, shared.common.weights, num_states, num_states)
    extra = dense_rows(shared.extra, shared.extra.weights, num_states * num_actions, num_states)
    return common[:, None] * available[:, :, None] + extra.reshape(num_states, num_actions, num_states)


def test_a_grid_has_a_narrow_band():
    """10 x 10 cells numbered at random: the order finds a band not much wider than the grid."""
    grid = gridworld(10, 10)
    mixed = np.random.default_rng(0).permutation(100)
    P = grid.dense_transitions()[mixed][:, :, mixed]
    order = band_order(FiniteMDP.from_dense(P, layout="SAS", discount=0.9))
    assert order.lower <= 15 and order.upper <= 15


def test_an_mdp_without_transitions_has_no_band():
    order = band_order(FiniteMDP.from_dense(np.zeros((4, 2, 4)), layout="SAS", discount=0.9))
    assert (order.lower, order.upper, order.work) == (0, 0, 0.0)


def test_many_identical_actions_still_count_as_links():
    """256 actions to one neighbour: a count of links in 8 bits would wrap around to none."""
    size = 12
    mdp = FiniteMDP.from_function(
        lambda s, a: [(1.0, (5 * s + 1) % size)], num_states=size, num_actions=256, discount=0.9
    )
    one = FiniteMDP.from_function(
        lambda s, a: [(1.0, (5 * s + 1) % size)], num_states=size, num_actions=1, discount=0.9
    )
    assert band_order(mdp).work == band_order(one).work


def test_the_order_is_computed_once():
    mdp = gridworld(3, 3)
    assert band_order(mdp) is band_order(mdp)


def test_shared_and_extra_rows_give_back_the_rows():
    for _, mdp in varied_mdps(25, seed=803):
        S, A = mdp.num_states, mdp.num_actions
        P, split = mdp.discount * twins.dense(mdp), shared_rows(mdp.rows, mdp.available, mdp.discount)
        common = dense_rows(split.common, split.common.weights, S, S)
        extra = dense_rows(split.extra, split.extra.weights, S * A, S).reshape(S, A, S)
        rebuilt = np.where(mdp.available[:, :, None], common[:, None] + extra, 0.0)
        np.testing.assert_allclose(rebuilt, P, rtol=1e-14, atol=1e-300)
        least = np.where(mdp.available[:, :, None], P, np.inf).min(axis=1)
        np.testing.assert_array_equal(common, least)
        np.testing.assert_allclose(split.loops, P[np.arange(S), :, np.arange(S)], rtol=1e-14)
        assert split.loops.dtype == np.float64


@pytest.mark.parametrize("size", [3, 6])
def test_in_a_gridworld_actions_add_at_most_one_entry_each(size):
    mdp = gridworld(size, size)
    split = shared_rows(mdp.rows, mdp.available, mdp.discount)
    inner = np.diff(split.extra.indptr).reshape(size, size, 5)[1:-1, 1:-1]
    assert (inner <= 1).all()
