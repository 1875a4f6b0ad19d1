"""Solvers: the promised bound, ties, masks, closed forms, options, bad input."""

from fractions import Fraction

import numpy as np
import pytest
from mdp import twins
from mdp.random_mdps import random_mdp, varied_mdps

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, q_values, solve, solve_batch
from journeyman.mdp.ordering import band_order

METHODS = ["direct", "sweeps", "krylov"]


def random_rewards(rng, mdp, num_rewards, scale):
    shape = (num_rewards, mdp.num_states, mdp.num_actions) if rng.random() < 0.5 else (num_rewards, mdp.num_states)
    return scale * rng.normal(size=shape)


def assert_bound_holds(mdp, solution):
    """|V - V*| <= error_bound, with V* known to more digits than V can hold."""
    P = twins.dense(mdp)
    for m in range(len(solution.values)):
        exact, error = twins.optimal_values(P, mdp.available, mdp.discount, solution.rewards[m])
        assert np.abs(solution.values[m] - exact).max() <= solution.error_bound[m] + error


# -- the bound ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("method", METHODS)
def test_the_bound_holds_and_is_met(method, scale):
    for rng, mdp in varied_mdps(40, seed=100):
        solution = solve_batch(mdp, random_rewards(rng, mdp, 5, scale), method=method)
        assert solution.converged.all()
        assert (solution.error_bound <= 1e-10 * (1 + np.abs(solution.values).max(axis=1))).all()
        assert_bound_holds(mdp, solution)


@pytest.mark.parametrize("limit", [1, 2, 5])
@pytest.mark.parametrize("method", METHODS)
def test_the_bound_holds_where_iterations_run_out(method, limit):
    num_unconverged = 0
    for rng, mdp in varied_mdps(40, seed=101):
        start = 100 * rng.normal(size=mdp.num_states)
        policy = np.array([rng.choice(np.flatnonzero(mask)) for mask in mdp.available])
        for options in ({"initial_values": start}, {"initial_policy": policy}, {}):
            rewards = random_rewards(rng, mdp, 5, 1.0)
            solution = solve_batch(mdp, rewards, method=method, max_iterations=limit, **options)
            assert (solution.iterations <= limit).all()
            assert_bound_holds(mdp, solution)
            num_unconverged += (~solution.converged).sum()
            scales = 2.0 ** np.frexp(np.abs(rewards).reshape(5, -1).max(axis=1))[1]
            is_met = solution.error_bound <= 1e-10 * (scales + np.abs(solution.values).max(axis=1))
            np.testing.assert_array_equal(solution.converged, is_met)
    assert num_unconverged > 0  # else this test says nothing


@pytest.mark.parametrize("method", METHODS)
def test_a_warm_start_changes_the_work_and_not_the_answer(method):
    for rng, mdp in varied_mdps(25, seed=102):
        rewards = random_rewards(rng, mdp, 6, 1.0)
        cold = solve_batch(mdp, rewards, method=method)
        starts = [
            {"initial_values": cold.values},
            {"initial_values": 1e3 * rng.normal(size=mdp.num_states)},
            {"initial_policy": cold.policy},
            {"initial_policy": np.argmax(mdp.available, axis=1)},
            {"initial_policy": cold.policy, "initial_values": -cold.values},
        ]
        for start in starts:
            warm = solve_batch(mdp, rewards, method=method, **start)
            assert warm.converged.all()
            assert (np.abs(warm.values - cold.values).max(axis=1) <= warm.error_bound + cold.error_bound).all()
            np.testing.assert_array_equal(warm.policy, cold.policy)


def test_a_start_from_the_answer_is_done_at_once():
    rng = np.random.default_rng(5)
    mdp = random_mdp(rng, 30, 4, discount=0.99)
    rewards = rng.normal(size=(3, 30, 4))
    direct = solve_batch(mdp, rewards, method="direct")
    assert (solve_batch(mdp, rewards, method="direct", initial_policy=direct.policy).iterations == 1).all()
    sweeps = solve_batch(mdp, rewards, method="sweeps")
    again = solve_batch(mdp, rewards, method="sweeps", initial_values=direct.values)
    assert (again.iterations <= 4).all() and (sweeps.iterations > 10).all()


def test_the_methods_agree_within_their_bounds():
    for rng, mdp in varied_mdps(25, seed=103):
        rewards = random_rewards(rng, mdp, 5, 1.0)
        direct, *others = (solve_batch(mdp, rewards, method=method) for method in METHODS)
        for other in others:
            assert (np.abs(direct.values - other.values).max(axis=1) <= direct.error_bound + other.error_bound).all()


def test_the_tolerance_is_what_is_promised():
    rng = np.random.default_rng(0)
    mdp = random_mdp(rng, 20, 3, discount=0.99, density=0.2)
    rewards = rng.normal(size=(8, 20))
    previous = 0
    for tol in (1e-2, 1e-5, 1e-9):
        solution = solve_batch(mdp, rewards, method="sweeps", tol=tol)
        assert solution.converged.all()
        assert_bound_holds(mdp, solution)
        assert (solution.error_bound <= tol * (1 + np.abs(solution.values).max(axis=1))).all()
        assert solution.iterations.min() > previous
        previous = solution.iterations.max()


def test_what_rounding_forbids_is_reported_as_not_converged():
    """With 1 - discount = 1e-7, one rounding of a value may shift the fixed point by 1e-16 / 1e-7 of its size."""
    mdp = FiniteMDP.from_dense(np.ones((1, 1, 1)), layout="SAS", discount=1 - 1e-7)
    solution = solve(mdp, np.ones(1))
    assert not solution.converged
    assert 1e7 * 1e-10 < solution.error_bound < 1e7 * 1e-6
    assert abs(solution.values[0] - 1 / (1 - mdp.discount)) <= solution.error_bound


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("num_rewards", [1, 5, 33, 100])
def test_results_do_not_depend_on_the_number_of_threads(num_rewards, method):
    rng = np.random.default_rng(num_rewards)
    mdp = random_mdp(rng, 17, 4, density=0.3, unavailable=0.2, discount=0.95)
    rewards = rng.normal(size=(num_rewards, 17, 4))
    one, *others = (solve_batch(mdp, rewards, method=method, num_threads=threads) for threads in (1, 2, 3))
    for other in others:
        for name in ("values", "policy", "residual", "error_bound", "iterations"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_auto_goes_by_the_cost_of_elimination_and_by_the_discount(monkeypatch):
    rng = np.random.default_rng(1)
    mdp = random_mdp(rng, 12, 2)
    rewards = rng.normal(size=(5, 12))
    by_method = {method: solve_batch(mdp, rewards, method=method) for method in METHODS}
    np.testing.assert_array_equal(solve_batch(mdp, rewards).values, by_method["direct"].values)
    monkeypatch.setattr("journeyman.mdp.solvers.MAX_DIRECT_WORK", band_order(mdp).work - 1)
    np.testing.assert_array_equal(solve_batch(mdp, rewards).values, by_method["sweeps"].values)
    assert (by_method["direct"].iterations != by_method["sweeps"].iterations).all()
    far = random_mdp(rng, 12, 2, discount=0.95)
    monkeypatch.setattr("journeyman.mdp.solvers.MAX_DIRECT_WORK", band_order(far).work - 1)
    np.testing.assert_array_equal(solve_batch(far, rewards).values, solve_batch(far, rewards, method="krylov").values)


def test_one_reward_gives_what_a_batch_of_one_gives():
    for rng, mdp in varied_mdps(10, seed=104):
        reward = random_rewards(rng, mdp, 1, 1.0)
        batch, single = solve_batch(mdp, reward), solve(mdp, reward[0])
        np.testing.assert_array_equal(single.values, batch.values[0])
        np.testing.assert_array_equal(single.policy, batch.policy[0])
        np.testing.assert_array_equal(single.q, batch.q[0])
        assert isinstance(single.converged, bool) and isinstance(single.error_bound, float)
        assert single.q.shape == mdp.available.shape
        warm = solve(mdp, reward[0], initial_values=single.values, initial_policy=single.policy)
        assert np.abs(warm.values - single.values).max() <= warm.error_bound + single.error_bound


def test_a_state_only_reward_is_the_same_for_all_actions():
    for rng, mdp in varied_mdps(10, seed=105):
        reward = rng.normal(size=mdp.num_states)
        spread = solve(mdp, np.repeat(reward[:, None], mdp.num_actions, axis=1))
        single = solve(mdp, reward)
        assert np.abs(single.values - spread.values).max() <= single.error_bound + spread.error_bound
        np.testing.assert_array_equal(single.policy, spread.policy)


def test_values_equal_the_best_of_all_policies():
    for rng, mdp in varied_mdps(30, seed=106, discounts=(0.5, 0.9), max_states=5):
        P, reward = twins.dense(mdp), rng.normal(size=mdp.available.shape)
        if mdp.available.sum(axis=1).prod() > 2000:
            continue
        solution = solve(mdp, reward)
        expected = twins.best_of_all_policies(P, mdp.available, mdp.discount, reward)
        np.testing.assert_allclose(solution.values, expected, rtol=0, atol=1e-12 * (1 + np.abs(expected).max()) / 0.1)


def test_values_are_the_limit_of_value_iteration():
    """After k sweeps from 0, plain value iteration is within discount^k max|r| / (1 - discount)."""
    rng = np.random.default_rng(9)
    mdp = random_mdp(rng, 8, 3, density=0.5, unavailable=0.2)
    reward = rng.uniform(-1, 1, size=(8, 3))
    sweeps = twins.value_iteration(twins.dense(mdp), mdp.available, 0.9, reward, 300)
    assert np.abs(solve(mdp, reward).values - sweeps).max() <= 0.9**300 * 10 + 1e-12


# -- ties and masks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_identical_actions_tie_and_the_lowest_is_chosen(method):
    rng = np.random.default_rng(3)
    one = random_mdp(rng, 9, 1)
    P = np.repeat(twins.dense(one), 4, axis=1)
    reward = rng.normal(size=(6, 9))
    mdp = FiniteMDP.from_dense(P, layout="SAS", discount=0.9)
    assert (solve_batch(mdp, reward, method=method).policy == 0).all()
    available = np.ones((9, 4), dtype=bool)
    available[:, 0] = False
    available[4, 1:3] = False
    masked = FiniteMDP.from_dense(P, layout="SAS", discount=0.9, available=available)
    np.testing.assert_array_equal(solve_batch(masked, reward, method=method).policy[:, [0, 4]], [[1, 3]] * 6)


@pytest.mark.parametrize(("advantage", "choice"), [(1e-15, 0), (1e-12, 1), (-1e-15, 0), (-1e-12, 0)])
@pytest.mark.parametrize("method", METHODS)
def test_ties_are_within_rounding(method, advantage, choice):
    mdp = FiniteMDP.from_dense(np.ones((1, 2, 1)), layout="SAS", discount=0.5)
    assert solve(mdp, [[1.0, 1.0 + advantage]], method=method).policy[0] == choice
    for unit in (1e-12, 1e12):  # of reward
        assert solve(mdp, [[unit, unit * (1.0 + advantage)]], method=method).policy[0] == choice


@pytest.mark.parametrize("method", METHODS)
def test_units_of_reward_change_nothing(method):
    for rng, mdp in varied_mdps(5, 77, discounts=(0.9,)):
        reward = rng.normal(size=(mdp.num_states, mdp.num_actions))
        plain, scaled = (solve(mdp, unit * reward, method=method) for unit in (1.0, 2.0**-60))
        np.testing.assert_array_equal(scaled.values, 2.0**-60 * plain.values)
        np.testing.assert_array_equal(scaled.policy, plain.policy)


@pytest.mark.parametrize("method", METHODS)
def test_a_huge_cost_leaves_the_values_of_those_who_avoid_it(method):
    """A ring with a way out into a forbidden state, which costs ever more."""
    P = np.zeros((6, 2, 6))
    for s in range(5):
        P[s, 0, (s + 1) % 5] = P[s, 1, 5] = 1.0
    P[5, :, 0] = 1.0
    mdp = FiniteMDP.from_dense(P, layout="SAS", discount=0.9)
    reward = np.array([0.3, -0.2, 1.0, 0.5, -1.0, 0.0])
    exact = solve(mdp, np.where(np.arange(6) == 5, -1e3, reward)).values[:5]
    for cost in (1e6, 1e10, 1e12):
        found = solve(mdp, np.where(np.arange(6) == 5, -cost, reward), method=method)
        assert found.policy[:5].tolist() == [0] * 5
        assert np.abs(found.values[:5] - exact).max() <= (1e-12 if method == "direct" else 1e-14 * cost + 1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_unavailable_actions_are_never_chosen(method):
    for rng, mdp in varied_mdps(25, seed=107):
        rewards = random_rewards(rng, mdp, 4, 1.0)
        if rewards.ndim == 3:
            rewards = np.where(mdp.available, rewards, 1e6)  # tempting
        solution = solve_batch(mdp, rewards, method=method)
        assert mdp.available[np.arange(mdp.num_states), solution.policy].all()
        assert np.isneginf(solution.q[:, ~mdp.available]).all()
        assert np.isfinite(solution.q[:, mdp.available]).all()
        assert_bound_holds(mdp, solution)


def test_q_is_what_its_name_says():
    for rng, mdp in varied_mdps(10, seed=108):
        rewards = random_rewards(rng, mdp, 3, 1.0)
        solution = solve_batch(mdp, rewards)
        for m in range(3):
            expected = twins.q_values(twins.dense(mdp), mdp.available, mdp.discount, rewards[m], solution.values[m])
            np.testing.assert_allclose(solution.q[m], expected, rtol=1e-12, atol=1e-12)
            slack = solution.error_bound[m] * (1 + mdp.discount) + 1e-12 * (1 + np.abs(solution.values[m]).max())
            np.testing.assert_allclose(solution.q[m].max(axis=1), solution.values[m], rtol=0, atol=slack)


def test_a_solution_keeps_its_rewards_when_the_caller_reuses_the_array():
    mdp = FiniteMDP.from_dense(np.ones((1, 1, 1)), layout="SAS", discount=0.5)
    buffer = np.ones((2, 1))
    solution = solve_batch(mdp, buffer)
    buffer[:] = 7.0
    np.testing.assert_allclose(solution.q, 2.0, rtol=1e-12)


# -- closed forms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("discount", [0.5, 0.9, 0.999])
def test_a_deterministic_chain(method, discount):
    """Walking k steps to a reward of 1 that is paid once is worth discount^k; waiting never helps."""
    length = 20
    mdp = FiniteMDP.from_function(
        lambda s, a: [] if s == length - 1 else [(1.0, s + 1 if a == 1 else s)],
        num_states=length,
        num_actions=2,
        discount=discount,
    )
    solution = solve(mdp, np.eye(length)[-1], method=method)
    expected = discount ** np.arange(length - 1, -1.0, -1.0)
    assert np.abs(solution.values - expected).max() <= solution.error_bound + 1e-15
    assert (solution.policy[:-1] == 1).all()
    assert solution.policy[-1] == 0  # both actions of the terminal cell are one


def test_putermans_two_state_problem():
    """Puterman (1994), section 3.1: v = (-60/7, -20), both states take their first action.

    State 1 has one action: v1 = -1 + 0.95 v1 = -20. In state 0 the first gives v0 = 5 + 0.95 (v0 - 20) / 2 = -60/7,
    the second 10 - 0.95 * 20 = -9, which is less.
    """
    mdp = FiniteMDP.from_dense(
        [[[0.5, 0.5], [0, 1]], [[0, 1], [0.5, 0.5]]],
        layout="SAS",
        discount=0.95,
        available=[[True, True], [True, False]],
    )
    solution = solve(mdp, [[5.0, 10.0], [-1.0, 1e6]])
    np.testing.assert_allclose(solution.values, [-60 / 7, -20], rtol=1e-12)
    np.testing.assert_array_equal(solution.policy, [0, 0])
    np.testing.assert_allclose(solution.q, [[-60 / 7, -9.0], [-20.0, -np.inf]], rtol=1e-12)


def test_howards_toymaker():
    """Howard (1960), discount 0.9: advertise and do research always, worth 22.2 and 12.3 (as printed).

    v0 = 4 + 0.9 (0.8 v0 + 0.2 v1) and v1 = -5 + 0.9 (0.7 v0 + 0.3 v1) give v0 = 2.02 / 0.091, v1 = 1.12 / 0.091.
    """
    P = [[[0.5, 0.5], [0.8, 0.2]], [[0.4, 0.6], [0.7, 0.3]]]
    solution = solve(FiniteMDP.from_dense(P, layout="SAS", discount=0.9), [[6.0, 4.0], [-3.0, -5.0]])
    np.testing.assert_allclose(solution.values, [2.02 / 0.091, 1.12 / 0.091], rtol=1e-12)
    np.testing.assert_array_equal(np.round(solution.values, 1), [22.2, 12.3])
    np.testing.assert_array_equal(solution.policy, [1, 1])


def test_the_recycling_robot_in_exact_fractions():
    """Sutton and Barto, example 3.3: battery high or low; search, wait, or (when low) recharge.

    Each of the six policies is evaluated by Cramer's rule on fractions, and the best is compared.
    """
    keep_high, keep_low, discount = Fraction(3, 4), Fraction(5, 8), Fraction(7, 8)  # exact as floats
    search, wait, rescue = Fraction(2), Fraction(1), Fraction(-3)
    rows = {  # (state, action): (reward, chance of high next)
        (0, 0): (search, keep_high),
        (0, 1): (wait, Fraction(1)),
        (1, 0): (keep_low * search + (1 - keep_low) * rescue, 1 - keep_low),
        (1, 1): (wait, Fraction(0)),
        (1, 2): (Fraction(0), Fraction(1)),
    }
    values = []
    for high, low in [(a, b) for a in (0, 1) for b in (0, 1, 2)]:
        (r0, p0), (r1, p1) = rows[0, high], rows[1, low]
        a, b, c, d = 1 - discount * p0, -discount * (1 - p0), -discount * p1, 1 - discount * (1 - p1)
        determinant = a * d - b * c
        values.append((((r0 * d - b * r1) / determinant, (a * r1 - c * r0) / determinant), (high, low)))
    best, policy = max(values)
    mdp = FiniteMDP.from_function(
        lambda s, a: [(float(rows[s, a][1]), 0), (1 - float(rows[s, a][1]), 1)] if (s, a) in rows else [],
        num_states=2,
        num_actions=3,
        discount=float(discount),
        available=[[True, True, False], [True, True, True]],
    )
    reward = [[float(rows.get((s, a), (0, 0))[0]) for a in range(3)] for s in range(2)]
    solution = solve(mdp, reward)
    assert tuple(solution.policy) == policy == (0, 2)  # search while the battery is high, recharge when it is low
    np.testing.assert_allclose(solution.values, [float(value) for value in best], rtol=1e-12)


def test_an_mdp_that_ends_at_once_pays_the_reward_once():
    mdp = FiniteMDP.from_dense(np.zeros((3, 2, 3)), layout="SAS", discount=0.9)
    solution = solve(mdp, [[1.0, 2.0], [3.0, -4.0], [0.0, 0.0]])
    np.testing.assert_array_equal(solution.values, [2.0, 3.0, 0.0])
    np.testing.assert_array_equal(solution.policy, [1, 0, 0])


def test_a_reward_that_is_zero_everywhere():
    rng = np.random.default_rng(2)
    solution = solve(random_mdp(rng, 5, 3), np.zeros((5, 3)))
    np.testing.assert_array_equal(solution.values, 0.0)
    np.testing.assert_array_equal(solution.policy, 0)
    assert solution.converged and solution.error_bound == 0.0


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    return random_mdp(np.random.default_rng(0), 3, 2)


@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        (np.zeros((2, 4)), r"rewards must have shape \[M, 3\] or \[M, 3, 2\], got \(2, 4\)\. Give one per state"),
        (np.zeros(3), r"got \(3,\)"),
        (np.zeros((1, 3, 3)), r"got \(1, 3, 3\)"),
        (np.zeros((0, 3)), "at least one reward, got none"),
        (5.0, r"got \(\)"),
        ([[0.0, np.nan, 0.0]], "rewards must be finite .* got nan at reward 0, state 1"),
        ([[0.0] * 3, [0.0, 0.0, np.inf]], "got inf at reward 1, state 2"),
        ([[[0.0, 0.0], [0.0, -1e301], [0.0, 0.0]]], "got -1e[+]301 at reward 0, state 1, action 1"),
        ([["a", "b", "c"]], "rewards must be numbers, got .*'a'"),
        ([[0.0, 1.0], [0.0]], "rewards must be a regular array, got .* Make all its rows equally long"),
        (np.zeros((1, 3), dtype=complex), "rewards must be numbers"),
        (None, "rewards must"),
    ],
)
def test_bad_rewards(small, rewards, message):
    with pytest.raises(InputError, match=message):
        solve_batch(small, rewards)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, "tol must be positive and finite, got 0.0"),
        ({"tol": -1.0}, "tol must be positive and finite, got -1.0"),
        ({"tol": np.nan}, "tol must be positive and finite, got nan"),
        ({"tol": np.inf}, "tol must be positive and finite, got inf"),
        ({"tol": "small"}, "tol must be a number, got 'small'"),
        ({"method": "magic"}, "method must be one of auto, direct, sweeps, krylov, got 'magic'"),
        ({"max_iterations": 0}, "max_iterations must be a whole number of at least 1, got 0"),
        ({"max_iterations": -1}, "max_iterations must be a whole number of at least 1, got -1"),
        ({"max_iterations": 2.5}, "max_iterations must be a whole number of at least 1, got 2.5"),
        ({"num_threads": 0}, "num_threads must be a whole number of at least 1, got 0"),
        ({"initial_values": np.zeros(4)}, r"initial_values must have shape \(1, 3\) or \(3,\), got \(4,\)"),
        ({"initial_values": [0.0, np.nan, 0.0]}, "initial_values must be finite, got nan at state 1"),
        ({"initial_values": [0.0, 0.0, -np.inf]}, "initial_values must be finite, got -inf at state 2"),
        ({"initial_values": ["x", "y", "z"]}, "initial_values must be numbers"),
        ({"initial_policy": [0, 1]}, r"initial_policy must have shape \(1, 3\) or \(3,\), got \(2,\)"),
        ({"initial_policy": [0, 5, 0]}, "available actions, got action 5 at state 1. Choose from"),
        ({"initial_policy": [0, -1, 0]}, "got action -1 at state 1"),
        ({"initial_policy": [0.0, 0.0, 0.0]}, "one whole number per state"),
    ],
)
def test_bad_options(small, options, message):
    with pytest.raises(InputError, match=message):
        solve_batch(small, np.zeros((1, 3)), **options)


def test_an_unavailable_action_cannot_start(small):
    masked = FiniteMDP(rows=small.rows, discount=0.9, available=[[True, True], [True, False], [True, True]])
    with pytest.raises(InputError, match=r"got action 1 at state 1\. Choose from \[0\]"):
        solve(masked, np.zeros(3), initial_policy=[0, 1, 0])


@pytest.mark.parametrize("reward", [np.zeros((1, 3, 2)), 0.0, np.zeros(4), "high"])
def test_bad_single_reward(small, reward):
    with pytest.raises(InputError, match="reward"):
        solve(small, reward)


def test_rewards_whose_values_overflow_are_refused():
    mdp = FiniteMDP.from_dense(np.ones((1, 1, 1)), layout="SAS", discount=0.999)
    with pytest.raises(InputError, match=r"values below 1e\+300, got rewards up to 1e\+299"):
        solve(mdp, [1e299])
    assert solve(mdp, [1e290]).converged


@pytest.mark.parametrize("values", [np.zeros((2, 3)), np.zeros(3), np.zeros((1, 4)), "high"])
def test_q_values_refuses_values_that_do_not_fit(small, values):
    """The compiled loops do not check their bounds."""
    with pytest.raises(InputError, match="values must"):
        q_values(small, np.zeros((1, 3)), values)
