"""Policy evaluation and occupancy against dense linear algebra, and the checks of policies."""

import numpy as np
import pytest
from mdp import twins
from mdp.random_mdps import random_mdp, varied_mdps

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, action_probabilities, evaluate_policy, occupancy, policies
from journeyman.worlds import gridworld

# Discounts here are at most 0.999, so matrices have a condition below 2000: a dense solve is good to 2000 * 2e-16 of
# the largest value, and sparse elimination likewise. 1e-11 leaves room for both.
RELATIVE = 1e-11


def random_policies(rng, mdp):
    """A deterministic and a stochastic policy on available actions, the latter with some zeros."""
    actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in mdp.available])
    chances = rng.random(mdp.available.shape) * mdp.available * (rng.random(mdp.available.shape) < 0.7)
    chances[np.arange(mdp.num_states), actions] += 0.1
    return actions, chances / chances.sum(axis=1, keepdims=True)


def test_evaluation_of_deterministic_and_stochastic_policies():
    for rng, mdp in varied_mdps(30, seed=200):
        P = twins.dense(mdp)
        for policy in random_policies(rng, mdp):
            for reward in (rng.normal(size=mdp.num_states), rng.normal(size=mdp.available.shape)):
                expected = twins.policy_value(P, mdp.discount, reward, policy)
                actual = evaluate_policy(mdp, policy, reward)
                assert actual.shape == (mdp.num_states,)
                np.testing.assert_allclose(actual, expected, rtol=0, atol=RELATIVE * (1 + np.abs(expected).max()))


def test_a_batch_is_a_batch_whatever_its_shape():
    """As many state rewards as states, with as many actions: `[M, S]` has the shape of one reward `[S, A]`."""
    rng = np.random.default_rng(3)
    mdp = random_mdp(rng, 3, 3)
    rewards, policy = rng.normal(size=(3, 3)), [0, 2, 1]
    one_by_one = [evaluate_policy(mdp, policy, reward) for reward in rewards]
    np.testing.assert_allclose(policies.evaluate_policy_batch(mdp, policy, rewards), one_by_one, rtol=1e-12)
    single = evaluate_policy(mdp, policy, rewards)
    np.testing.assert_allclose(policies.evaluate_policy_batch(mdp, policy, rewards[None]), [single], rtol=1e-12)


@pytest.mark.parametrize("is_state_only", [True, False])
def test_many_rewards_with_one_factorisation(is_state_only, monkeypatch):
    calls = []
    monkeypatch.setattr(policies, "splu", lambda matrix, splu=policies.splu: calls.append(1) or splu(matrix))
    rng = np.random.default_rng(1)
    mdp = random_mdp(rng, 6, 3)
    rewards = rng.normal(size=(50, 6) if is_state_only else (50, 6, 3))
    _, policy = random_policies(rng, mdp)
    values = evaluate_policy(mdp, policy, rewards)
    assert len(calls) == 1 and values.shape == (50, 6)
    for reward, value in zip(rewards, values, strict=True):
        np.testing.assert_allclose(value, twins.policy_value(twins.dense(mdp), 0.9, reward, policy), rtol=1e-11)


def test_occupancy_counts_discounted_visits():
    for rng, mdp in varied_mdps(30, seed=201, discounts=(0.5, 0.9, 0.99)):
        rho = rng.dirichlet(np.ones(mdp.num_states))
        for policy in random_policies(rng, mdp):
            nu = occupancy(mdp, policy, rho)
            # the twin leaves out terms below 1e-18 and rounds each of its up to 4000 terms
            np.testing.assert_allclose(
                nu, twins.occupancy(twins.dense(mdp), mdp.discount, rho, policy), rtol=1e-10, atol=1e-13
            )
            assert (nu >= 0).all() and nu.sum() <= 1 / (1 - mdp.discount) * (1 + 1e-12)


def test_occupancy_times_reward_is_the_expected_return():
    for rng, mdp in varied_mdps(30, seed=202):
        for policy in random_policies(rng, mdp):
            reward = rng.normal(size=mdp.available.shape)
            r_pi = (action_probabilities(mdp, policy) * reward).sum(axis=1)
            expected = mdp.initial @ evaluate_policy(mdp, policy, reward)
            nu = occupancy(mdp, policy)
            assert nu @ r_pi == pytest.approx(expected, abs=RELATIVE * (1 + np.abs(nu) @ np.abs(r_pi)))


def test_occupancy_of_a_chain_by_hand():
    """0 -> 1 -> 2 (terminal), from 0: visits 1, g, g^2."""
    mdp = FiniteMDP.from_function(
        lambda s, a: [(1.0, s + 1)] if s < 2 else [], num_states=3, num_actions=1, discount=0.5, initial=[1, 0, 0]
    )
    np.testing.assert_array_equal(occupancy(mdp, [0, 0, 0]), [1.0, 0.5, 0.25])
    np.testing.assert_array_equal(occupancy(mdp, [0, 0, 0], [0, 0, 1]), [0.0, 0.0, 1.0])


def test_without_endings_occupancy_sums_to_the_effective_horizon():
    mdp = random_mdp(np.random.default_rng(4), 7, 3, discount=0.95)
    assert occupancy(mdp, np.zeros(7, dtype=int)).sum() == pytest.approx(20.0, rel=1e-12)


# -- many states, by sweeps ------------------------------------------------------------------------------------------


def test_sweeps_agree_with_factorisation_within_1e_9(monkeypatch):
    for rng, mdp in varied_mdps(20, seed=203):
        rewards = 10 ** rng.uniform(-6, 6) * rng.normal(size=(3, mdp.num_states, mdp.num_actions))
        for policy in random_policies(rng, mdp):
            values, nu = evaluate_policy(mdp, policy, rewards), occupancy(mdp, policy)
            with monkeypatch.context() as patch:
                patch.setattr(policies, "MAX_FACTORISED_STATES", 0)
                by_sweeps, nu_by_sweeps = evaluate_policy(mdp, policy, rewards), occupancy(mdp, policy)
            for m in range(3):
                np.testing.assert_allclose(
                    by_sweeps[m], values[m], rtol=0, atol=(1e-9 + RELATIVE) * (1 + np.abs(values[m]).max())
                )
            np.testing.assert_allclose(nu_by_sweeps, nu, rtol=0, atol=(1e-9 + RELATIVE) * (1 + nu.max()))


def test_sweeps_handle_columns_that_sum_to_more_than_1(monkeypatch):
    """All states lead to state 0: the transposed rows of the occupancy do not contract in the maximum norm."""
    monkeypatch.setattr(policies, "MAX_FACTORISED_STATES", 0)
    P = np.zeros((50, 1, 50))
    P[:, 0, 0] = 1.0
    mdp = FiniteMDP.from_dense(P, layout="SAS", discount=0.9)
    nu = occupancy(mdp, np.zeros(50, dtype=int))
    np.testing.assert_allclose(nu[1:], 1 / 50, rtol=1e-9)
    assert nu[0] == pytest.approx(1 / 50 + 9.0, rel=1e-9)


def test_more_states_than_are_factorised():
    """160 x 160 cells; each is visited so rarely that an error of 1e-9 per state would be one of 1e-5 in all."""
    mdp = gridworld(160, 160)
    assert mdp.num_states > policies.MAX_FACTORISED_STATES
    rng = np.random.default_rng(0)
    policy, reward = rng.integers(5, size=mdp.num_states), rng.normal(size=mdp.num_states)
    nu, values = occupancy(mdp, policy), evaluate_policy(mdp, policy, reward)
    # the bound on occupancies is one on the sum of all errors
    assert nu.sum() == pytest.approx(10.0, abs=1e-9 * (1 + nu.max()))
    allowed = 1e-9 * (1 + np.abs(values).max()) + 1e-9 * (1 + nu.max()) * np.abs(reward).max()
    assert nu @ reward == pytest.approx(mdp.initial @ values, abs=allowed)


def test_sweeps_that_cannot_reach_the_bound_say_so(monkeypatch):
    """With 1 - discount = 1e-9, rounding alone costs 1e-16 / 1e-9 of a value: no silent answer."""
    monkeypatch.setattr(policies, "MAX_FACTORISED_STATES", 0)
    mdp = FiniteMDP.from_dense(np.ones((1, 1, 1)), layout="SAS", discount=1 - 1e-9)
    with pytest.raises(InputError, match=r"discount must be small enough .* Use a discount further from 1"):
        evaluate_policy(mdp, [0], [1.0])


# -- checks ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def masked():
    return FiniteMDP.from_dense(
        np.full((2, 3, 2), 0.5),
        layout="SAS",
        discount=0.9,
        available=[[True, True, True], [True, False, True]],
    )


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([0, 1], r"available actions, got action 1 at state 1\. Choose from \[0, 2\]"),
        ([3, 0], "got action 3 at state 0"),
        ([-1, 0], "got action -1 at state 0"),
        ([0.0, 1.0], r"one whole number per state \(2\), got float64"),
        ([True, False], "one whole number per state"),
        ([0], r"shape \(1,\)"),
        ([0, 0, 0], r"shape \(3,\)"),
        (["left", "right"], "a policy must be numbers"),
        (np.zeros((2, 2)), r"a policy must have shape \(2,\) or \(2, 3\), got \(2, 2\)"),
        (0, r"got \(\)"),
        ([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]], r"0 for actions that do not exist, got 0\.5 at state 1, action 1"),
        ([[1.5, -0.5, 0.0], [1.0, 0.0, 0.0]], r"at least 0.*got -0\.5 at state 0, action 1"),
        ([[np.nan, 0.5, 0.5], [1.0, 0.0, 0.0]], "got nan at state 0, action 0"),
        ([[1.0, 0.0, 0.0], [0.5, 0.0, 0.4]], r"sum to 1 over actions, got 0\.9 at state 1\. Divide it by its sum"),
        ([[np.inf, 0.0, 0.0], [1.0, 0.0, 0.0]], "sum to 1 over actions, got inf at state 0"),
    ],
)
def test_bad_policies(masked, policy, message):
    for function in (lambda p: evaluate_policy(masked, p, np.zeros(2)), lambda p: occupancy(masked, p)):
        with pytest.raises(InputError, match=message):
            function(policy)


def test_action_probabilities(masked):
    np.testing.assert_array_equal(action_probabilities(masked, [2, 0]), [[0, 0, 1], [1, 0, 0]])
    nearly = [[0.25, 0.25, 0.5 + 5e-7], [1.0, 0.0, 0.0]]
    np.testing.assert_allclose(action_probabilities(masked, nearly).sum(axis=1), 1.0, rtol=1e-15)


@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        (np.zeros((2, 2, 2)), r"rewards must have shape \[M, 2\] or \[M, 2, 3\], got \(2, 2, 2\)"),
        (np.zeros(3), r"got \(3,\)"),
        ([0.0, np.nan], "got nan at reward 0, state 1"),
        (["a", "b"], "rewards must be numbers"),
    ],
)
def test_bad_rewards(masked, rewards, message):
    with pytest.raises(InputError, match=message):
        evaluate_policy(masked, [0, 0], rewards)


@pytest.mark.parametrize("initial", [[1.0], [0.6, 0.6], [2.0, -1.0], ["a", "b"], [np.nan, 1.0]])
def test_bad_initial(masked, initial):
    with pytest.raises(InputError, match="initial must"):
        occupancy(masked, [0, 0], initial)
