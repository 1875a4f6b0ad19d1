import numpy as np
import pytest

from journeyman.demonstrations import Demonstration
from journeyman.inference import Diagnostics, Posterior, infer
from journeyman.mdp import FiniteMDP, solve
from journeyman.problem import Problem
from journeyman.report.learning import identifiability as learning_identifiability
from journeyman.report.learning.identifiability import (
    constant_shift,
    identifiability,
    invisible_directions,
    learned_spreads,
    reason_not_learned,
)
from journeyman.report.posterior.knowledge import parameter_knowledge
from journeyman.rewards import Discrete, LinearFeatures, MultivariateNormal, Normal, PerState, PerStateAction, Uniform
from journeyman.worlds import make_world


def log_policy(problem, theta):
    """The expert's log policy, as one long vector."""
    solution = solve(problem.mdp, problem.reward_model.reward(theta))
    return problem.expert.log_policy(solution.q)[problem.mdp.available & ~problem.mdp.terminal[:, None]]


def derivative(problem, theta, step=1e-5):
    """d log policy / d theta by central differences."""
    columns = [
        (log_policy(problem, theta + step * unit) - log_policy(problem, theta - step * unit)) / (2 * step)
        for unit in np.eye(len(theta))
    ]
    return np.stack(columns, axis=1)


def random_problem(model_fn, seed=0, num_states=4, num_actions=3):
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.ones(num_states), size=(num_states, num_actions))
    mdp = FiniteMDP.from_dense(transitions, layout="SAS", discount=0.8)
    model = model_fn(mdp)
    return Problem(mdp, model, Normal(model.num_parameters), 1.5)


PROBLEMS = {
    "random, per state": lambda: random_problem(PerState),
    "random, per state and action": lambda: random_problem(PerStateAction),
    "grid with terminal cells": lambda: make_world("random-grid", 1, size=3).problem,
    "jail": lambda: make_world("jail", 0).problem,
}


@pytest.mark.parametrize("make_problem", PROBLEMS.values(), ids=PROBLEMS)
def test_as_many_directions_are_invisible_as_the_policy_does_not_depend_on(make_problem):
    """Rank of the numerical derivative of an expert's log policy at a random theta, which knows nothing of shaping."""
    problem = make_problem()
    rng = np.random.default_rng(3)
    theta = problem.prior.sample(rng, 1)[0]
    # Central differences err by rounding / step, about 1e-9; true singular values here are above 1e-3.
    rank = int((np.linalg.svd(derivative(problem, theta), compute_uv=False) > 1e-6).sum())
    found = invisible_directions(problem)
    assert found is not None
    if problem.reward_model.kind != "features":  # in the jail a random expert may not mind all three obstacles
        assert len(found) == problem.reward_model.num_parameters - rank
    np.testing.assert_allclose(found @ found.T, np.eye(len(found)), atol=1e-9)
    for direction in found:
        for other in problem.prior.sample(rng, 3):
            np.testing.assert_allclose(
                log_policy(problem, other + 2.0 * direction), log_policy(problem, other), atol=1e-8
            )


def test_rewards_of_states_and_actions_hide_one_direction_per_state():
    assert invisible_directions(random_problem(PerStateAction)).shape == (4, 12)


def test_jail_hides_nothing_and_unpaid_features_are_hidden():
    problem = make_world("jail", 0).problem
    assert invisible_directions(problem).shape == (0, 3)
    assert constant_shift(problem) is None
    features = np.zeros((4, 2))
    features[0, 0] = 1.0  # the second feature is paid nowhere
    problem = random_problem(lambda mdp: LinearFeatures(features, mdp, names=("food", "ghost")))
    np.testing.assert_allclose(np.abs(invisible_directions(problem)), [[0.0, 1.0]], atol=1e-9)
    posterior = infer(problem, Demonstration.annotation(0, 1), "smc", num_particles=100, seed=0)
    found, knowledge = identifiability(posterior), parameter_knowledge(posterior)
    assert "never be learned" in reason_not_learned(1, posterior, found, knowledge)


@pytest.mark.parametrize("size", [2, 3])
def test_the_constant_shift_gives_every_state_the_value_one(size):
    problem = make_world("random-grid", 1, size=size).problem
    shift = constant_shift(problem)
    mdp = problem.mdp
    np.testing.assert_allclose(solve(mdp, problem.reward_model.reward(shift)).values, 1.0, atol=1e-9)
    np.testing.assert_allclose(shift, np.where(mdp.terminal, 1.0, 1.0 - mdp.discount), atol=1e-9)


def test_large_problems_are_not_searched(monkeypatch):
    monkeypatch.setattr(learning_identifiability, "MAX_ENTRIES", 10)
    assert invisible_directions(make_world("jail", 0).problem) is None


@pytest.mark.parametrize(
    "prior",
    [
        Normal(2, mean=1.0, std=np.array([1.0, 3.0])),
        Uniform(2, low=-1.0, high=np.array([1.0, 5.0])),
        MultivariateNormal(np.zeros(2), np.array([[4.0, 1.0], [1.0, 2.0]])),
        Discrete(np.array([[0.0, 1.0], [2.0, 5.0], [4.0, 0.0]]), np.array([0.5, 0.25, 0.25])),
    ],
    ids=lambda prior: type(prior).__name__,
)
def test_prior_covariance_is_that_of_its_draws(prior):
    """The error of a covariance of N draws is about its size times sqrt(2 / N): 5 sigma of it."""
    draws = prior.sample(np.random.default_rng(0), 20_000)
    expected = prior.covariance
    np.testing.assert_allclose(np.cov(draws.T), expected, atol=5 * np.abs(expected).max() * np.sqrt(2 / 20_000))


def posterior_of(problem, theta, weights=None):
    weights = np.full(len(theta), 1 / len(theta)) if weights is None else weights
    values = np.zeros((len(theta), problem.mdp.num_states))
    return Posterior(problem, problem.counts(()), theta, weights, values, "made", Diagnostics(seconds=0.0))


def test_learned_directions_by_hand():
    """Prior covariance [[2, 1], [1, 2]]: variance 3 along (1, 1), 1 along (1, -1). Samples keep half of the first."""
    problem = random_problem(PerState, num_states=2)
    problem = Problem(
        problem.mdp, problem.reward_model, MultivariateNormal(np.zeros(2), np.array([[2.0, 1.0], [1.0, 2.0]])), 1.0
    )
    along = np.array([1.0, 1.0]) / np.sqrt(2)
    theta = np.stack([along, -along]) * np.sqrt(0.75)  # unbiased variance 1.5 of 3 along (1, 1), 0 of 1 across
    found = identifiability(posterior_of(problem, theta))
    np.testing.assert_allclose(found.spreads, [0.0, np.sqrt(0.5)], atol=1e-7)
    assert found.num_learned == pytest.approx(1.5)
    assert found.num_learned_error == pytest.approx(np.sqrt(2 * 0.5**2 * 0.5))  # ratios 0 and 1/2, two samples


def test_nothing_is_learned_before_the_first_answer():
    """The trace of a covariance of N draws in D dimensions has no bias and a standard error of sqrt(2 D / N).

    With 40 draws at a time, dividing by N instead of N - 1 would show as a bias of 4 / 40, which is 7 standard errors.
    """
    problem = random_problem(PerState, num_states=4)
    rng, repeats, size = np.random.default_rng(0), 1000, 40
    learned = [
        (1 - learned_spreads(posterior_of(problem, problem.prior.sample(rng, size))) ** 2).sum() for _ in range(repeats)
    ]
    assert abs(np.mean(learned)) < 4 * np.sqrt(2 * 4 / size / repeats)
    assert np.std(learned) == pytest.approx(np.sqrt(2 * 4 / size), rel=5 / np.sqrt(2 * repeats))


def test_what_a_discrete_prior_knew_is_no_direction():
    atoms = np.array([[0.0, 7.0, 1.0, 1.0], [1.0, 7.0, 1.0, 1.0]])
    problem = random_problem(PerState)
    problem = Problem(problem.mdp, problem.reward_model, Discrete(atoms, np.array([0.5, 0.5])), 1.0)
    found = identifiability(posterior_of(problem, atoms, np.array([1.0, 0.0])))
    np.testing.assert_allclose(found.spreads, [0.0], atol=1e-12)
    assert (found.num_learned, found.num_learned_error) == (pytest.approx(1.0), 0.0)


def test_states_that_answers_have_not_shown_or_never_can():
    world = make_world("jail", 0)
    queryable = world.problem.queryable.copy()
    queryable[[7, 8]] = False
    problem = Problem(world.problem.mdp, world.problem.reward_model, world.problem.prior, 4.0, queryable)
    posterior = infer(problem, Demonstration.annotation(21, 3), "smc", num_particles=100, seed=0)
    found = identifiability(posterior)
    assert np.flatnonzero(found.beyond).tolist() == [7, 8]
    assert not identifiability(posterior, kind="trajectory").beyond.any()  # they lie on ways from elsewhere
    assert found.unseen.sum() == 34 and not found.unseen[[0, 21]].any()
