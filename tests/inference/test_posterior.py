"""What follows from weighted samples, against brute force, sample by sample."""

import dataclasses

import numpy as np
import pytest
from inference import twins

from journeyman.errors import InputError
from journeyman.inference import infer, posterior as posterior_module
from journeyman.inference.diagnostics import Diagnostics
from journeyman.inference.posterior import Posterior, weighted_quantile
from journeyman.inference.weights import systematic_resample
from journeyman.mdp import solve_batch
from journeyman.worlds import make_world


def made(problem, theta, weights=None, counts=None):
    """A posterior of given samples."""
    weights = np.full(len(theta), 1.0 / len(theta)) if weights is None else weights
    if counts is None:
        counts = np.zeros((problem.mdp.num_states, problem.mdp.num_actions), dtype=np.int64)
    values = solve_batch(problem.mdp, problem.reward_model.reward(theta)).values
    return Posterior(problem, counts, theta, weights, values, "made", Diagnostics(0.0))


@pytest.fixture(params=twins.REWARD_MODELS)
def posterior(request):
    rng = np.random.default_rng(1)
    problem = twins.random_problem(rng, request.param, "normal", num_states=6, num_actions=4)
    return made(problem, problem.prior.sample(rng, 9), rng.dirichlet(np.ones(9)))


@pytest.fixture
def jail_posterior():
    world = make_world("jail", 0)
    rng = np.random.default_rng(0)
    return made(world.problem, world.problem.prior.sample(rng, 20), rng.dirichlet(np.ones(20)))


def brute_q(posterior):
    return np.array([twins.optimal_q(posterior.problem, theta)[0] for theta in posterior.theta])


def test_q_and_expert_policies(posterior):
    Q = brute_q(posterior)
    np.testing.assert_allclose(posterior.q(), Q, atol=1e-9)
    np.testing.assert_allclose(posterior.q([3, 1]), Q[:, [3, 1]], atol=1e-9)
    x = np.exp(posterior.problem.beta * (Q - Q.max(axis=2, keepdims=True)))
    policies = x / x.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(posterior.expert_policies(), policies, atol=1e-9)
    expected = sum(w * policy for w, policy in zip(posterior.weights, policies, strict=True))
    np.testing.assert_allclose(posterior.predictive_policy(), expected, atol=1e-9)


def test_rewards_and_their_moments(posterior):
    rewards = np.array([posterior.problem.reward_model.reward(theta) for theta in posterior.theta])
    np.testing.assert_array_equal(posterior.rewards, rewards)
    mean = sum(w * r for w, r in zip(posterior.weights, rewards, strict=True))
    np.testing.assert_allclose(posterior.mean_reward(), mean, atol=1e-12)
    variance = sum(w * (r - mean) ** 2 for w, r in zip(posterior.weights, rewards, strict=True))
    np.testing.assert_allclose(posterior.reward_std(), np.sqrt(variance), atol=1e-12)
    np.testing.assert_allclose(posterior.mean(rewards), mean, atol=1e-12)


def test_parameter_moments(posterior):
    mean = np.average(posterior.theta, axis=0, weights=posterior.weights)
    variance = np.average((posterior.theta - mean) ** 2, axis=0, weights=posterior.weights)
    np.testing.assert_allclose(posterior.mean_parameters(), mean)
    np.testing.assert_allclose(posterior.parameter_std(), np.sqrt(variance))


def test_optimal_actions_their_chances_and_sets(posterior):
    Q = brute_q(posterior)
    is_optimal = np.zeros(Q.shape, dtype=bool)
    for i, q in enumerate(Q):
        tie = 1e-9 * (1.0 + np.abs(q[np.isfinite(q)]).max())
        is_optimal[i] = q >= q.max(axis=1, keepdims=True) - tie
    np.testing.assert_array_equal(posterior.optimal_actions(), is_optimal)
    np.testing.assert_allclose(
        posterior.optimal_action_probabilities(), np.einsum("m,msa->sa", posterior.weights, is_optimal), atol=1e-12
    )
    for state in range(6):
        expected = {}
        for w, mask in zip(posterior.weights, is_optimal[:, state], strict=True):
            key = frozenset(np.flatnonzero(mask).tolist())
            expected[key] = expected.get(key, 0.0) + w
        assert posterior.optimal_set_probabilities(state) == pytest.approx(expected)


def test_all_five_actions_of_the_jail_are_optimal(jail_posterior):
    jail_state = next(s for s, kind in enumerate(jail_posterior.problem.mdp.grid.kinds) if kind == "jail")
    np.testing.assert_allclose(jail_posterior.optimal_action_probabilities()[jail_state], np.ones(5))
    assert jail_posterior.optimal_set_probabilities(jail_state) == pytest.approx({frozenset(range(5)): 1.0})
    np.testing.assert_allclose(jail_posterior.expert_policies([jail_state]), np.full((20, 1, 5), 0.2))


def test_staying_and_walking_into_the_wall_are_one_action(jail_posterior):
    """In the goal's corner "stay", "up" and "left" lead to the same place in the terminal cell's neighbour rows."""
    corner = 5  # top right: "up" and "right" stay
    chances = jail_posterior.optimal_action_probabilities()[corner]
    assert chances[0] == chances[1] == chances[2]


def test_credible_intervals_hold_their_level(posterior):
    for level in (0.5, 0.9):
        intervals = posterior.credible_intervals(level)
        for d, (low, high) in enumerate(intervals):
            theta = posterior.theta[:, d]
            inside = posterior.weights[(theta >= low) & (theta <= high)].sum()
            assert inside >= level - 1e-9
            assert {low, high} <= set(theta)
            tail = (1 - level) / 2
            assert posterior.weights[theta < low].sum() <= tail + 1e-9
            assert posterior.weights[theta > high].sum() <= tail + 1e-9
    with pytest.raises(InputError, match="strictly between 0 and 1"):
        posterior.credible_intervals(1.0)


def test_weighted_quantile_is_the_inverse_of_the_distribution():
    samples, weights = np.array([[3.0], [1.0], [2.0]]), np.array([0.2, 0.5, 0.3])
    levels = {0.3: 1.0, 0.5: 1.0, 0.500001: 2.0, 0.8: 2.0, 0.81: 3.0, 1.0: 3.0}
    for level, value in levels.items():
        assert weighted_quantile(samples, weights, level)[0] == value


def test_weights_are_like_duplicates():
    rng = np.random.default_rng(0)
    problem = twins.random_problem(rng, "per_state", "normal", num_states=5)
    theta, times = problem.prior.sample(rng, 6), np.array([1, 4, 2, 1, 5, 3])
    weighted = made(problem, theta, times / times.sum())
    repeated = made(problem, np.repeat(theta, times, axis=0))
    for name in ("mean_parameters", "parameter_std", "mean_reward", "reward_std", "credible_intervals"):
        np.testing.assert_allclose(getattr(weighted, name)(), getattr(repeated, name)(), atol=1e-12)
    for name in ("optimal_action_probabilities", "predictive_policy"):
        np.testing.assert_allclose(getattr(weighted, name)(), getattr(repeated, name)(), atol=1e-12)
    assert weighted.optimal_set_probabilities(2) == pytest.approx(repeated.optimal_set_probabilities(2))


def test_chunks_give_the_same_as_all_at_once(posterior, monkeypatch):
    whole = (
        posterior.q(),
        posterior.predictive_policy(),
        posterior.optimal_action_probabilities(),
        posterior.tie_margins,
    )
    monkeypatch.setattr(posterior_module, "CHUNK_ENTRIES", 1)
    fresh = dataclasses.replace(posterior)
    parts = list(fresh.q_chunks())
    assert [len(states) for states, _ in parts] == [1] * 6
    np.testing.assert_array_equal(np.concatenate([q for _, q in parts], axis=1), whole[0])
    np.testing.assert_array_equal(fresh.predictive_policy(), whole[1])
    np.testing.assert_array_equal(fresh.optimal_action_probabilities(), whole[2])
    np.testing.assert_array_equal(fresh.tie_margins, whole[3])


def test_systematic_resampling_rounds_up_or_down():
    weights = np.random.default_rng(3).dirichlet(np.ones(11))
    for seed in range(20):
        times = np.bincount(systematic_resample(np.random.default_rng(seed), weights, 40), minlength=11)
        assert times.sum() == 40
        assert (np.abs(times - 40 * weights) < 1.0).all()
    with pytest.raises(InputError, match="size must be a whole number of at least 1"):
        systematic_resample(np.random.default_rng(0), weights, 0)


def test_resampling_is_unbiased_and_keeps_values_with_their_parameters(posterior):
    means = []
    for seed in range(200):
        drawn = posterior.resample(np.random.default_rng(seed), 30)
        assert drawn.num_samples == 30
        assert np.ptp(drawn.weights) == 0.0
        means.append(drawn.mean_parameters())
    # One uniform draw: the mean over 200 has this standard error; 6 of them for at most 24 parameters.
    error = np.abs(np.mean(means, axis=0) - posterior.mean_parameters())
    assert (error <= 6 * np.std(means, axis=0) / np.sqrt(200) + 1e-12).all()
    np.testing.assert_allclose(drawn.q(), brute_q(drawn), atol=1e-9)


def test_from_world_to_posterior_in_one_call():
    world = make_world("jail", 0)
    posterior = infer(world.problem, world.expert.answers([10, 20, 30]), "enumerate")
    assert posterior.method == "enumerate"
    assert posterior.counts.sum() == 3
    assert posterior.warnings == ()
    assert posterior.weights.sum() == pytest.approx(1.0)
