"""Rounds of sweeps and Krylov iterations, against dense linear algebra and value iteration."""

import numpy as np
import pytest
from mdp import twins
from mdp.random_mdps import varied_mdps

from journeyman.mdp import krylov, solve, solve_batch
from journeyman.mdp.ordering import band_order
from journeyman.worlds.gridworld import gridworld

STOP = np.zeros(1, dtype=np.int64)


def ordered(mdp):
    """Rows of an MDP in its new numbering, dense P in the same, and fresh memory."""
    order = band_order(mdp)
    P = twins.dense(mdp)[order.permutation][:, :, order.permutation]
    rows = order.split_rows
    return rows, P, krylov.new_memory(rows.common_indptr, rows.extra_indptr)


def matrix_of(flow):
    """L + U of a flow as a dense array, entry by entry."""
    size = flow.order.size
    matrix = np.zeros((size, size))
    for i in range(size):
        assert flow.begin[i] <= flow.middle[i] <= flow.end[i]
        for k in range(flow.begin[i], flow.end[i]):
            assert (flow.columns[k] < i) == (k < flow.middle[i]) and flow.columns[k] != i
            matrix[i, flow.columns[k]] += flow.weights[k]
    return matrix


def test_values_are_optimal_and_the_policy_is_greedy():
    for rng, mdp in varied_mdps(60, 1):
        rows, P, memory = ordered(mdp)
        for width in (1, mdp.num_actions):
            reward = rng.normal(size=(mdp.num_states, width))
            V, pi = np.zeros(mdp.num_states), np.argmax(rows.available, axis=1)
            memory[: krylov.HEAD] = 0.0
            assert krylov.settle(rows, reward.ravel(), V, pi, memory, 1e-13, 1000, STOP)
            Q = twins.q_values(P, rows.available, mdp.discount, reward, V)
            bound = 1e-12 * (1.0 + np.abs(V).max())
            assert np.abs(Q.max(axis=1) - V).max() <= bound
            assert (Q[np.arange(mdp.num_states), pi] >= Q.max(axis=1) - bound).all()


def test_the_matrix_is_that_of_the_policy_in_the_order_of_values():
    for rng, mdp in varied_mdps(30, 2):
        rows, P, memory = ordered(mdp)
        V, pi = np.zeros(mdp.num_states), np.argmax(rows.available, axis=1)
        krylov.settle(rows, rng.normal(size=mdp.num_states), V, pi, memory, 1e-13, 1000, STOP)
        krylov.solve_adjoint(rows, V, pi, rng.normal(size=mdp.num_states), np.zeros(mdp.num_states), memory, 1e-9, STOP)
        flow = krylov.flow_of.py_func(memory, mdp.num_states)
        np.testing.assert_array_equal(flow.place[flow.order], np.arange(mdp.num_states))
        P_pi = mdp.discount * P[np.arange(mdp.num_states), pi][np.ix_(flow.order, flow.order)]
        expected = (P_pi - np.diag(np.diag(P_pi))) / (1.0 - np.diag(P_pi))[:, None]
        np.testing.assert_allclose(matrix_of(flow), expected, rtol=1e-6, atol=1e-7)  # single precision


def test_states_are_sorted_by_value_within_single_precision():
    mdp = gridworld(12, 12, discount=0.99)
    rows, _, memory = ordered(mdp)
    rng = np.random.default_rng(3)
    V, pi = np.zeros(144), np.zeros(144, dtype=np.int64)
    krylov.settle(rows, rng.normal(size=144), V, pi, memory, 1e-12, 1000, STOP)
    memory[0] = 0.0  # out of order
    krylov.solve_adjoint(rows, V, pi, rng.normal(size=144), np.zeros(144), memory, 1e-9, STOP)
    order = krylov.flow_of.py_func(memory, 144).order
    assert (np.diff(V[order]) <= 1e-7 * np.ptp(V)).all()


def test_the_adjoint_is_that_of_a_dense_solve():
    for rng, mdp in varied_mdps(60, 4):
        rows, P, memory = ordered(mdp)
        V, pi = np.zeros(mdp.num_states), np.argmax(rows.available, axis=1)
        krylov.settle(rows, rng.normal(size=mdp.num_states), V, pi, memory, 1e-13, 1000, STOP)
        g, y = rng.normal(size=mdp.num_states), rng.normal(size=mdp.num_states)  # y: any start
        assert krylov.solve_adjoint(rows, V, pi, g, y, memory, 1e-12, STOP)
        B = np.eye(mdp.num_states) - mdp.discount * P[np.arange(mdp.num_states), pi]
        exact = np.linalg.solve(B.T, g)
        assert np.abs(y - exact).sum() <= 2e-12 * np.abs(g).sum() / (1.0 - mdp.discount)


@pytest.mark.parametrize("slip", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("kind", ["rough", "smooth"])
def test_the_number_of_rounds_hardly_grows_with_the_horizon(slip, kind):
    """Sweeps alone need tens of thousands for a discount of 0.9999."""
    rng = np.random.default_rng(5)
    y, x = np.divmod(np.arange(900), 30)
    reward = rng.normal(size=900) if kind == "rough" else np.sin(x / 5.0) + np.cos(y / 4.0)
    for discount in (0.95, 0.999, 0.9999):
        mdp = gridworld(30, 30, discount=discount, slip=slip)
        found, exact = (solve(mdp, reward, method=method, tol=1e-9) for method in ("krylov", "direct"))
        assert found.converged and found.iterations <= 60
        assert np.abs(found.values - exact.values).max() <= found.error_bound + exact.error_bound


def test_results_do_not_depend_on_what_a_thread_solved_before():
    mdp = gridworld(20, 20, discount=0.99)
    rewards = np.random.default_rng(6).normal(size=(5, 400))
    batch = solve_batch(mdp, rewards, method="krylov", num_threads=1)
    for reward, values in zip(rewards, batch.values, strict=True):
        np.testing.assert_array_equal(solve(mdp, reward, method="krylov").values, values)


def test_compiled_rounds_end_when_nobody_wants_them():
    mdp = gridworld(10, 10, discount=0.999)
    rows, _, memory = ordered(mdp)
    V, pi = np.zeros(100), np.zeros(100, dtype=np.int64)
    assert not krylov.settle(rows, np.arange(100.0), V, pi, memory, 1e-13, 1000, np.ones(1, dtype=np.int64))
    assert not V.any()


def test_what_is_not_a_number_ends():
    mdp = gridworld(4, 4, discount=0.9)
    rows, _, memory = ordered(mdp)
    V, pi = np.zeros(16), np.zeros(16, dtype=np.int64)
    reward = np.ones(16)
    reward[3] = np.nan
    krylov.settle(rows, reward, V, pi, memory, 1e-13, 1000, STOP)
    assert np.isnan(V).any()
