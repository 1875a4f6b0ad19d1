"""Each compiled kernel against its plain-NumPy twin.

Sums may be reordered by the compiler, so kernels and twins differ by rounding: with up to 12 entries per row, values up
to 1e3 and matrices of condition at most (1 + 0.99) / (1 - 0.99) = 199, well below 1e-10 of the size of the values.
"""

import numpy as np
import pytest
from mdp import twins
from mdp.random_mdps import varied_mdps
from numba import njit

from journeyman.mdp import FiniteMDP, kernels, solve
from journeyman.mdp.ordering import band_order, shared_rows
from journeyman.mdp.rows import Rows

CASES = 25


def compiled(helper):
    """Return a helper, which is only inlined into kernels, as a function of its own."""
    return njit(fastmath=kernels.FAST)(helper.py_func)


backup, improve = compiled(kernels.backup), compiled(kernels.improve)
choose_lowest_optimal, solve_banded = compiled(kernels.choose_lowest_optimal), compiled(kernels.solve_banded)
sweep_one, sweep_lanes = compiled(kernels.sweep_one), compiled(kernels.sweep_lanes)
policy_sweep = compiled(kernels.policy_sweep)


def cases(seed, count=CASES):
    """Yield (rng, mdp, P, available, arrays) where the arrays are those that solvers pass, in the solver's order."""
    for rng, mdp in varied_mdps(count, seed, discounts=(0.5, 0.9, 0.99)):
        order = band_order(mdp)
        P = twins.dense(mdp)[order.permutation][:, :, order.permutation]
        yield rng, mdp, P, order.available, order


def random_reward(rng, mdp, *lead):
    """A reward `[..., S, 1]` or `[..., S, A]`, by chance."""
    width = int(rng.choice([1, mdp.num_actions]))
    return rng.normal(size=(*lead, mdp.num_states, width))


def assert_near(actual, expected, *, scale=1.0):
    tolerance = 1e-10 * (scale + np.abs(expected[np.isfinite(expected)]).max(initial=0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


def packed(order):
    return order.rows.indptr, order.rows.next_states, order.rows.probabilities


def split(order):
    return *order.shared.common, *order.shared.extra


def split_off_diagonal(order):
    return *order.off_diagonal.common, *order.off_diagonal.extra, order.gain


def test_backup():
    for rng, mdp, P, available, order in cases(1):
        reward, V = random_reward(rng, mdp), rng.normal(size=mdp.num_states)
        expected = twins.q_values(P, available, mdp.discount, reward, V)
        for s, a in np.argwhere(available):
            actual = backup(s, a, *packed(order), mdp.num_actions, mdp.discount, reward, V)
            assert actual == pytest.approx(expected[s, a], abs=1e-12)


def test_q_values():
    for rng, mdp, P, available, order in cases(2):
        rewards, values = random_reward(rng, mdp, 3), rng.normal(size=(3, mdp.num_states))
        out = np.full((3, mdp.num_states, mdp.num_actions), np.nan)
        kernels.q_values(*packed(order), available, mdp.discount, rewards, values, out)
        for m in range(3):
            assert_near(out[m], twins.q_values(P, available, mdp.discount, rewards[m], values[m]))


def test_improve_changes_exactly_where_another_action_is_better():
    for rng, mdp, P, available, order in cases(3):
        reward, V = random_reward(rng, mdp), rng.normal(size=mdp.num_states)
        start = np.array([rng.choice(np.flatnonzero(mask)) for mask in available])
        pi, Q = start.copy(), np.full(available.shape, np.nan)
        num_changes, residual, largest = improve(*split(order), available, reward, V, pi, Q, 0.0)
        expected = twins.q_values(P, available, mdp.discount, reward, V)
        here = np.arange(mdp.num_states)
        assert_near(Q[available], expected[available])
        assert residual == pytest.approx(np.abs(expected.max(axis=1) - V).max(), abs=1e-12)
        assert largest == pytest.approx(np.abs(expected[available]).max(), rel=1e-12)
        is_better = expected.max(axis=1) > expected[here, start] + 1e-9  # random values never come so close
        assert num_changes == is_better.sum()
        np.testing.assert_array_equal(pi, np.where(is_better, expected.argmax(axis=1), start))


def test_improve_leaves_a_policy_that_is_best_up_to_rounding():
    """Two actions that differ in the last digits must not alternate for ever."""
    rows = Rows(1, 2, np.array([0, 1, 2]), np.zeros(2, dtype=np.int32), np.array([1.0, 1.0]))
    available = np.ones((1, 2), dtype=bool)
    common, extra, _ = shared_rows(rows, available, 0.9)
    pi, Q = np.array([0]), np.empty((1, 2))
    reward = np.array([[1.0, 1.0 + 4e-14]])
    num_changes, *_ = improve(*common, *extra, available, reward, np.array([10.0]), pi, Q, 0.0)
    assert (num_changes, pi[0]) == (0, 0)


def test_choose_lowest_optimal():
    for rng, mdp, _, available, order in cases(4):
        noise = 1e-15 * rng.random(available.shape)
        Q = np.where(available, rng.integers(0, 3, size=available.shape) + noise, -np.inf)
        pi, V, reward = np.full(mdp.num_states, -1), Q.max(axis=1), np.ones_like(random_reward(rng, mdp))
        choose_lowest_optimal(*split(order), available, reward, V, Q, 10.0, pi)
        np.testing.assert_array_equal(pi, twins.lowest_optimal(Q))


def test_ties_are_told_by_the_numbers_of_their_own_state():
    """A huge value elsewhere, or of an action that nobody would take, makes no others look alike."""
    mdp = FiniteMDP.from_dense(np.eye(2)[:, None, :].repeat(3, axis=1), layout="SAS", discount=0.5)
    reward = np.array([[1.0, 1.0 + 1e-9, -1e15], [-1e15, -1e15, -1e15]])
    assert solve(mdp, reward).policy.tolist() == [1, 0]
    assert solve(mdp, reward[:, [0, 2, 1]]).policy.tolist() == [2, 0]


@pytest.mark.parametrize("is_backward", [False, True])
def test_sweep_one(is_backward):
    for rng, mdp, P, available, order in cases(5):
        reward, start = random_reward(rng, mdp), rng.normal(size=mdp.num_states)
        V = start.copy()
        change = sweep_one(*split_off_diagonal(order), available, reward, V, is_backward)
        expected = twins.gauss_seidel_sweep(P, available, mdp.discount, reward, start, is_backward)
        assert_near(V, expected)
        assert change == pytest.approx(np.abs(expected - start).max(), abs=1e-10 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("is_backward", [False, True])
def test_sweep_lanes(is_backward):
    for rng, mdp, P, available, order in cases(6):
        num_lanes = 7
        rewards, start = random_reward(rng, mdp, num_lanes), rng.normal(size=(num_lanes, mdp.num_states))
        V = start.T.copy()
        lanes = np.ascontiguousarray(np.moveaxis(rewards, 0, -1))
        shared, q, best, change = np.empty((4, num_lanes))
        sweep_lanes(*split_off_diagonal(order), available, lanes, V, is_backward, shared, q, best, change)
        for m in range(num_lanes):
            expected = twins.gauss_seidel_sweep(P, available, mdp.discount, rewards[m], start[m], is_backward)
            assert_near(V[:, m], expected)
            assert change[m] == pytest.approx(
                np.abs(expected - start[m]).max(), abs=1e-10 * (1 + np.abs(expected).max())
            )


@pytest.mark.parametrize("num_rewards", [1, 3, 4, 9])
def test_value_iteration_takes_so_many_sweeps_in_turning_directions(num_rewards):
    """3 one by one, 4 in one group of lanes, 9 as 8 lanes and one more, all as the twin does."""
    for rng, mdp, P, available, order in cases(7, 8):
        rewards, start = random_reward(rng, mdp, num_rewards), rng.normal(size=(num_rewards, mdp.num_states))
        values, iterations = start.copy(), np.zeros(num_rewards, dtype=np.int64)
        kernels.value_iteration(*split_off_diagonal(order), available, rewards, values, 8, 0.0, 3, iterations)
        assert (iterations <= 3).all() and (iterations > 0).all()  # fewer only if nothing changes at all
        for m in range(num_rewards):
            expected = start[m]
            for sweep in range(3):
                expected = twins.gauss_seidel_sweep(P, available, mdp.discount, rewards[m], expected, sweep % 2 == 1)
            assert_near(values[m], expected)


@pytest.mark.parametrize("num_rewards", [2, 6])
def test_value_iteration_stops_where_it_says(num_rewards):
    """A sweep that changes V by c leaves |T V - V| <= discount c, so |V - V*| <= discount c / (1 - discount)."""
    for rng, mdp, P, available, order in cases(8, 10):
        rewards, values = random_reward(rng, mdp, num_rewards), np.zeros((num_rewards, mdp.num_states))
        iterations = np.zeros(num_rewards, dtype=np.int64)
        kernels.value_iteration(*split_off_diagonal(order), available, rewards, values, 8, 1e-6, 10**6, iterations)
        assert (iterations < 10**6).all()
        for m in range(num_rewards):
            exact, error = twins.optimal_values(P, available, mdp.discount, rewards[m])
            allowed = 1e-6 * (1 + np.abs(values[m]).max()) * mdp.discount / (1 - mdp.discount)
            assert np.abs(values[m] - exact).max() <= allowed + error + 1e-12


def test_read_off():
    for rng, mdp, P, available, order in cases(9):
        rewards, values = random_reward(rng, mdp, 3), rng.normal(size=(3, mdp.num_states))
        policies = np.tile(np.argmax(available, axis=1), (3, 1))
        residuals, largest = np.empty(3), np.empty(3)
        kernels.read_off(*split(order), available, rewards, values, policies, 10.0, residuals, largest)
        for m in range(3):
            Q = twins.q_values(P, available, mdp.discount, rewards[m], values[m])
            np.testing.assert_array_equal(policies[m], twins.lowest_optimal(Q))
            assert residuals[m] == pytest.approx(np.abs(Q.max(axis=1) - values[m]).max(), abs=1e-12)
            assert largest[m] == pytest.approx(np.abs(Q[available]).max(), rel=1e-12)


def test_solve_banded():
    for rng, mdp, P, available, order in cases(10):
        reward = random_reward(rng, mdp)
        pi = np.array([rng.choice(np.flatnonzero(mask)) for mask in available])
        V, band = np.empty(mdp.num_states), np.full((mdp.num_states, order.lower + 1 + order.upper), np.nan)
        arguments = (mdp.num_actions, mdp.discount, reward, pi, order.lower, order.upper, band, V)
        solve_banded(*packed(order), *arguments)
        assert_near(V, twins.policy_value(P, mdp.discount, reward, pi))


@pytest.mark.parametrize("has_policy", [False, True])
def test_policy_iteration_finds_the_best_of_all_policies(has_policy):
    for rng, mdp, P, available, order in cases(11):
        if available.sum(axis=1).prod(dtype=float) > 3000:
            continue
        rewards = random_reward(rng, mdp, 2)
        values, policies = np.zeros((2, mdp.num_states)), np.tile(np.argmax(available, axis=1), (2, 1))
        residuals, largest, iterations = np.empty(2), np.empty(2), np.zeros(2, dtype=np.int64)
        kernels.policy_iteration(
            *packed(order), mdp.discount, *split(order), available, rewards, values, policies,
            1.0 / (1.0 - mdp.discount), has_policy, order.lower, order.upper, 1000, residuals, largest, iterations,
        )  # fmt: skip
        for m in range(2):
            expected = twins.best_of_all_policies(P, available, mdp.discount, rewards[m])
            assert_near(values[m], expected)
            Q = twins.q_values(P, available, mdp.discount, rewards[m], expected)
            np.testing.assert_array_equal(policies[m], twins.lowest_optimal(Q))
            assert residuals[m] <= 1e-10 * (1 + largest[m])
            assert 1 <= iterations[m] < 1000


def policy_rows(P, pi, discount):
    """Discounted sparse rows of one policy."""
    P_pi = discount * P[np.arange(len(pi)), pi]
    indptr = np.concatenate([[0], np.cumsum((P_pi > 0).sum(axis=1))])
    return P_pi, indptr, np.nonzero(P_pi)[1].astype(np.int32), P_pi[P_pi > 0]


@pytest.mark.parametrize("is_backward", [False, True])
def test_policy_sweep(is_backward):
    for rng, mdp, P, available, _ in cases(12):
        P_pi, *rows = policy_rows(P, np.argmax(available, axis=1), mdp.discount)
        reward, start = rng.normal(size=mdp.num_states), rng.normal(size=mdp.num_states)
        V, expected = start.copy(), start.copy()
        change = policy_sweep(*rows, reward, V, is_backward)
        for s in range(mdp.num_states)[:: -1 if is_backward else 1]:
            expected[s] = reward[s] + P_pi[s] @ expected
        assert_near(V, expected)
        assert change == pytest.approx(np.abs(expected - start).max(), abs=1e-12)


def test_evaluate_by_sweeps():
    for rng, mdp, P, available, _ in cases(13):
        P_pi, *rows = policy_rows(P, np.argmax(available, axis=1), mdp.discount)
        rewards, values, residuals = rng.normal(size=(2, mdp.num_states)), np.zeros((2, mdp.num_states)), np.empty(2)
        kernels.evaluate_by_sweeps(*rows, rewards, values, 1e-8, 10**6, residuals)
        expected = np.linalg.solve(np.eye(mdp.num_states) - P_pi, rewards.T).T
        for m in range(2):
            allowed = 1e-8 * (1 + np.abs(values[m]).max()) / (1 - mdp.discount)  # change over 1 - discount
            np.testing.assert_allclose(values[m], expected[m], rtol=0, atol=allowed)
            actual = np.abs(rewards[m] + P_pi @ values[m] - values[m]).max()
            assert residuals[m] == pytest.approx(actual, abs=1e-12 * (1 + np.abs(values[m]).max()))


def test_evaluate_by_sweeps_reports_the_residual_when_it_runs_out_of_sweeps():
    indptr, next_states, weights = np.array([0, 1]), np.zeros(1, dtype=np.int32), np.array([0.5])
    values, residuals = np.zeros((1, 1)), np.empty(1)
    kernels.evaluate_by_sweeps(indptr, next_states, weights, np.ones((1, 1)), values, 1e-12, 2, residuals)
    assert (values[0, 0], residuals[0]) == (1.5, 0.25)
