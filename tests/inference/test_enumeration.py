"""Enumeration against sums by hand, quadrature, and brute force."""

import numpy as np
import pytest
from inference import twins
from scipy.integrate import quad

from journeyman.demonstrations import Demonstration
from journeyman.errors import InferenceError, InputError
from journeyman.inference import enumeration, infer
from journeyman.inference.enumeration import Box, sobol_net
from journeyman.inference.likelihood import log_likelihoods
from journeyman.mdp import FiniteMDP, solve_batch
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures, MultivariateNormal, Normal, PerStateAction, Uniform
from journeyman.worlds import make_world


@pytest.mark.parametrize("name", ["lopes-two-state", "brown-two-state", "regret-eig-trap", "bandit"])
def test_atoms_get_exactly_prior_times_likelihood(name):
    world = make_world(name, 0)
    demonstrations = world.make_expert(1).answers(np.arange(world.problem.mdp.num_states)[:3].repeat(2))
    posterior = infer(world.problem, demonstrations, "enumerate")
    counts = world.problem.counts(demonstrations)
    prior = world.problem.prior
    joint = np.log(prior.weights) + [twins.log_likelihood(world.problem, counts, atom) for atom in prior.atoms]
    log_evidence = np.logaddexp.reduce(joint)
    assert posterior.log_evidence == pytest.approx(log_evidence, abs=1e-9)
    np.testing.assert_allclose(posterior.weights, np.exp(joint - log_evidence), atol=1e-9)
    np.testing.assert_array_equal(posterior.theta, prior.atoms)
    assert posterior.diagnostics.error_bound < 1e-8
    assert posterior.warnings == ()


@pytest.mark.parametrize("model_kind", twins.REWARD_MODELS)
def test_likelihoods_equal_the_twin(model_kind):
    rng = np.random.default_rng(5)
    problem = twins.random_problem(rng, model_kind, "normal")
    theta, counts = problem.prior.sample(rng, 8), twins.random_counts(rng, problem, 12)
    rewards = problem.reward_model.reward(theta)
    values = solve_batch(problem.mdp, rewards).values
    expected = [twins.log_likelihood(problem, counts, point) for point in theta]
    np.testing.assert_allclose(log_likelihoods(problem, counts, rewards, values), expected, atol=1e-8)


def one_step_problem(prior, beta=2.0):
    """Two states, two actions each, all end the episode: r(0, 0) and r(1, 0) are linear in theta, the others 0."""
    mdp = FiniteMDP.from_dense(np.zeros((2, 2, 2)), layout="SAS", discount=0.9, terminal=np.zeros(2, dtype=bool))
    features = np.zeros((2, 2, prior.num_parameters))
    features[0, 0, 0] = 1.0
    features[1, 0, -1] = 1.0
    return Problem(mdp, LinearFeatures(features, mdp), prior, beta)


def annotated(*pairs):
    return [Demonstration.annotation(state, action) for state, action in pairs]


ONE_PARAMETER = {
    "normal": (Normal(1, 0.5, 1.5), 0.5, 1.5),
    "uniform": (Uniform(1, -1.0, 3.0), 1.0, 4.0 / np.sqrt(12.0)),
    "multivariate": (MultivariateNormal(np.array([0.5]), np.array([[2.25]])), 0.5, 1.5),
}


@pytest.mark.parametrize("kind", ONE_PARAMETER)
@pytest.mark.parametrize("num_repeats", [1, 60])
def test_one_parameter_against_quadrature(kind, num_repeats):
    """60 repeats make the posterior ten times narrower than the prior, so that the search closes in on it."""
    prior, _, _ = ONE_PARAMETER[kind]
    problem = one_step_problem(prior)
    demonstrations = annotated(*[(0, 0), (0, 0), (1, 1)] * num_repeats)
    posterior = infer(problem, demonstrations, "enumerate")

    def joint(x, power):
        log_likelihood = num_repeats * (-2 * np.logaddexp(0.0, -2.0 * x) - np.logaddexp(0.0, 2.0 * x))
        return x**power * np.exp(log_likelihood + 2.0 * num_repeats + prior.log_density(np.array([x])))

    limits = (-1.0, 3.0) if kind == "uniform" else (-8.0, 9.0)
    evidence, first, second = (
        quad(joint, *limits, args=(power,), points=[0.3], epsabs=1e-12)[0] for power in (0, 1, 2)
    )
    mean, std = first / evidence, np.sqrt(second / evidence - (first / evidence) ** 2)
    error = posterior.diagnostics.error_bound
    assert error < 1e-3
    assert posterior.log_evidence == pytest.approx(np.log(evidence) - 2.0 * num_repeats, abs=error)
    assert posterior.mean_parameters()[0] == pytest.approx(mean, abs=error * std)
    assert posterior.parameter_std()[0] == pytest.approx(std, rel=2 * error)
    assert posterior.diagnostics.particle_ess > 1000


@pytest.mark.parametrize("kind", ["normal", "uniform", "multivariate"])
def test_two_parameters_against_brute_force(kind):
    prior = {
        "normal": Normal(2, [0.5, -0.5], [1.0, 2.0]),
        "uniform": Uniform(2, [-2.0, -1.0], [2.0, 3.0]),
        "multivariate": MultivariateNormal(np.array([0.5, -0.5]), np.array([[1.0, 1.2], [1.2, 2.0]])),
    }[kind]
    problem = one_step_problem(prior, beta=6.0)
    posterior = infer(problem, annotated(*[(0, 0)] * 4, (0, 1), (1, 0), *[(1, 1)] * 3), "enumerate")
    reach = (-2.0, 3.0) if kind == "uniform" else (-9.0, 9.0)
    axis = np.linspace(*reach, 1501)[:-1] + 0.5 * (reach[1] - reach[0]) / 1500
    step = axis[1] - axis[0]
    x, y = np.meshgrid(axis, axis, indexing="ij")
    log_likelihood = (
        -4 * np.logaddexp(0, -6 * x) - np.logaddexp(0, 6 * x) - np.logaddexp(0, -6 * y) - 3 * np.logaddexp(0, 6 * y)
    )
    density = np.exp(log_likelihood + prior.log_density(np.stack([x, y], axis=-1))) * step**2
    evidence = density.sum()
    mean = np.array([(density * x).sum(), (density * y).sum()]) / evidence
    std = np.sqrt(np.array([(density * x**2).sum(), (density * y**2).sum()]) / evidence - mean**2)
    error = posterior.diagnostics.error_bound
    assert error < 0.01
    assert posterior.log_evidence == pytest.approx(np.log(evidence), abs=error + 1e-4)  # the grid's own error
    np.testing.assert_allclose(posterior.mean_parameters(), mean, atol=(error + 1e-4) * std.max())
    np.testing.assert_allclose(posterior.parameter_std(), std, rtol=2 * error + 1e-4)


@pytest.mark.parametrize("count", [pytest.param(n, marks=[pytest.mark.slow] * (n != 20)) for n in (1, 5, 20, 100)])
def test_stated_error_holds_on_the_jail(count):
    """Against a net of four times the size in other shifts; the box makes no difference either."""
    for seed in (1, 2):
        world = make_world("jail", seed)
        states = np.random.default_rng(count).choice(np.flatnonzero(world.problem.queryable), count)
        demonstrations = world.expert.answers(states)
        posterior = infer(world.problem, demonstrations, "enumerate", num_points=2**13)
        finer = infer(world.problem, demonstrations, "enumerate", num_points=2**15, seed=5)
        error = posterior.diagnostics.error_bound + finer.diagnostics.error_bound
        assert error < 0.3
        assert abs(posterior.log_evidence - finer.log_evidence) <= error
        shift = np.abs(posterior.mean_parameters() - finer.mean_parameters()) / finer.parameter_std()
        assert shift.max() <= error
        np.testing.assert_allclose(posterior.parameter_std(), finer.parameter_std(), rtol=2 * error)


def test_the_box_cuts_nothing_off():
    world = make_world("jail", 1)
    counts = world.problem.counts(
        world.expert.answers(np.random.default_rng(0).choice(np.flatnonzero(world.problem.queryable), 100))
    )
    box = enumeration.found_box(world.problem, counts, 0, None)
    assert box.volume < 0.3
    unit = sobol_net(np.random.default_rng(1), 2**15, 3, num_shifts=1)
    everywhere = enumeration.points_in(Box(np.zeros(3), np.ones(3)), unit, world.problem, counts, None)
    is_outside = ((unit < box.low) | (unit > box.high)).any(axis=1)
    log_mass_outside = np.logaddexp.reduce(everywhere.log_weights()[is_outside])
    assert log_mass_outside - everywhere.log_evidence < np.log(1e-8)


def test_no_data_gives_the_prior():
    for prior, mean, std in ONE_PARAMETER.values():
        posterior = infer(one_step_problem(prior), (), "enumerate")
        assert posterior.log_evidence == pytest.approx(0.0, abs=1e-12)
        assert posterior.mean_parameters()[0] == pytest.approx(mean, abs=1e-3 * std)
        assert posterior.parameter_std()[0] == pytest.approx(std, rel=1e-3)


def test_a_very_sharp_posterior_is_found_or_warned_about():
    problem = one_step_problem(Uniform(2, -1000.0, 1000.0), beta=50.0)
    demonstrations = annotated(*[(0, 0), (0, 1), (1, 0), (1, 1)] * 50)
    posterior = infer(problem, demonstrations, "enumerate")
    # Near 0 the log likelihood is -25 (50 x)^2 per parameter up to a constant.
    assert posterior.warnings == ()
    np.testing.assert_allclose(posterior.parameter_std(), 1.0 / (50.0 * np.sqrt(25.0)), rtol=0.05)
    few = infer(problem, demonstrations, "enumerate", num_points=64)
    assert any("num_points" in warning for warning in few.warnings)


def test_the_same_for_a_seed_and_any_number_of_threads():
    world = make_world("jail", 0)
    demonstrations = world.expert.answers([10, 20, 30])
    first, second = (infer(world.problem, demonstrations, "enumerate", num_points=512, num_threads=n) for n in (1, 2))
    np.testing.assert_array_equal(first.theta, second.theta)
    np.testing.assert_array_equal(first.weights, second.weights)
    other = infer(world.problem, demonstrations, "enumerate", num_points=512, seed=1)
    assert not np.array_equal(first.theta, other.theta)


def test_impossible_demonstrations_are_an_error():
    prior = Discrete(np.array([[1e299, 0.0, 0.0, 0.0], [2e299, 0.0, 1.0, 0.0]]))
    mdp = FiniteMDP.from_dense(np.zeros((2, 2, 2)), layout="SAS", discount=0.5, terminal=np.zeros(2, dtype=bool))
    problem = Problem(mdp, PerStateAction(mdp), prior, 1e10)
    with pytest.raises(InferenceError, match="positive probability under some reward"):
        infer(problem, annotated((0, 1)), "enumerate")


@pytest.mark.parametrize("num_points", [63, 0, 2**23, 100.0, "many"])
def test_wrong_sizes_are_refused(num_points):
    with pytest.raises(InputError, match="num_points must"):
        infer(make_world("jail", 0).problem, (), "enumerate", num_points=num_points)


def test_sizes_are_rounded_up_to_powers_of_two():
    posterior = infer(make_world("jail", 0).problem, (), "enumerate", num_points=600)
    assert posterior.num_samples == 1024
