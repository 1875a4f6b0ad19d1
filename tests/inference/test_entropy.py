"""Entropy estimates against normal distributions, closed forms and enumeration."""

import numpy as np
import pytest
from inference.test_enumeration import annotated, one_step_problem
from scipy.integrate import quad
from scipy.special import digamma

from journeyman.errors import InputError, UnsupportedError
from journeyman.inference import infer, posterior_entropy
from journeyman.inference.entropy import (
    evidence_entropy,
    gaussian_entropy,
    knn_entropy,
    merged,
    shannon_entropy,
)
from journeyman.rewards import Normal, Uniform
from journeyman.worlds import make_world

NORMAL = 0.5 * np.log(2.0 * np.pi * np.e)  # entropy of N(0, 1)


def normal_draws(size, dimension, seed=0):
    return np.random.default_rng([size, dimension, seed]).standard_normal((size, dimension))


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_both_estimates_find_a_normal_in_few_dimensions(dimension):
    """Means over 20 sets of 2000 draws: single ones have a deviation of about sqrt(D / 2000), 0.04."""
    for estimate_fn, bias in ((knn_entropy, 0.03), (gaussian_entropy, 0.005)):
        estimates = [estimate_fn(normal_draws(2000, dimension, seed)) for seed in range(20)]
        assert np.mean(estimates) == pytest.approx(dimension * NORMAL, abs=5 * np.std(estimates) / np.sqrt(20) + bias)


def test_signs_of_the_bias_in_64_dimensions():
    """With 250 draws kNN is about 12 nats too large, Gaussian about 5 too small; the latter is known exactly."""
    truth = 64 * NORMAL
    knn = [knn_entropy(normal_draws(250, 64, seed)) - truth for seed in range(8)]
    gaussian = [gaussian_entropy(normal_draws(250, 64, seed)) - truth for seed in range(8)]
    assert 9 < np.mean(knn) < 15
    expected = 0.5 * sum(digamma((249 - i) / 2) - np.log(249 / 2) for i in range(64))
    assert expected == pytest.approx(-4.7, abs=0.5)
    assert np.mean(gaussian) == pytest.approx(expected, abs=5 * np.std(gaussian) / np.sqrt(8))


@pytest.mark.parametrize("estimate_fn", [knn_entropy, gaussian_entropy])
def test_scaling_and_shifting_parameters_adds_the_log_of_the_scales(estimate_fn):
    draws = normal_draws(500, 4)
    scales = np.array([0.01, 1.0, 7.0, 100.0])
    assert estimate_fn(3.0 + scales * draws) == pytest.approx(estimate_fn(draws) + np.log(scales).sum())


@pytest.mark.parametrize("estimate_fn", [knn_entropy, gaussian_entropy])
def test_importance_weights_change_the_distribution(estimate_fn):
    """Draws of N(0, 2^2) weighted to N(0, 1)."""
    draws = 2.0 * normal_draws(20_000, 2)
    log_ratio = -0.5 * (draws**2).sum(axis=1) * (1 - 0.25)
    weights = np.exp(log_ratio) / np.exp(log_ratio).sum()
    assert estimate_fn(draws, weights) == pytest.approx(2 * NORMAL, abs=0.06)


def test_merged_repeats_count_as_weights():
    draws = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [1.0, 2.0]])
    points, weights = merged(draws, np.array([0.1, 0.4, 0.2, 0.3]))
    np.testing.assert_array_equal(points, [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(weights, [0.6, 0.4])


def test_duplicates_are_refused_or_merged_and_said():
    draws = np.repeat(normal_draws(1000, 2), 7, axis=0)
    with pytest.raises(InputError, match="samples must be distinct"):
        knn_entropy(draws)
    assert knn_entropy(*merged(draws, np.full(7000, 1 / 7000))) == pytest.approx(knn_entropy(normal_draws(1000, 2)))


def test_samples_that_cannot_tell_are_refused():
    with pytest.raises(InputError, match=r"more than num_neighbours \(5\), got 5"):
        knn_entropy(normal_draws(5, 2))
    with pytest.raises(InputError, match="no variation at parameter 1"):
        knn_entropy(normal_draws(50, 2) * [1.0, 0.0])
    with pytest.raises(InputError, match="must span all 10 dimensions, got 8"):
        gaussian_entropy(normal_draws(8, 10))


def test_shannon_entropy():
    assert shannon_entropy(np.array([0.5, 0.25, 0.25, 0.0])) == pytest.approx(1.5 * np.log(2.0))


def test_discrete_posteriors_have_shannon_entropy():
    world = make_world("lopes-two-state", 0)
    posterior = infer(world.problem, (), "enumerate")
    chances = [0.9, 0.1]
    expected = 2 * shannon_entropy(np.array(chances)) + np.log(2.0)
    assert posterior_entropy(posterior).nats == pytest.approx(expected)
    drawn = posterior.resample(np.random.default_rng(0), 4000)
    estimate = posterior_entropy(drawn)
    assert estimate.method == "shannon"
    assert estimate.num_merged == 4000 - 8
    assert estimate.nats == pytest.approx(expected, abs=1e-3)  # systematic: each atom within one draw


def test_uniform_prior_has_the_log_of_its_volume():
    posterior = infer(make_world("jail", 0).problem, (), "enumerate", num_points=2**12)
    assert evidence_entropy(posterior) == pytest.approx(3 * np.log(100.0), abs=1e-9)


@pytest.mark.parametrize("prior", [Normal(1, 0.5, 1.5), Uniform(1, -1.0, 3.0)])
def test_evidence_entropy_against_quadrature(prior):
    posterior = infer(one_step_problem(prior), annotated((0, 0), (0, 0), (1, 1)), "enumerate")

    def joint(x):
        return np.exp(-2 * np.logaddexp(0.0, -2.0 * x) - np.logaddexp(0.0, 2.0 * x) + prior.log_density(np.array([x])))

    limits = (-1.0, 3.0) if isinstance(prior, Uniform) else (-8.0, 9.0)
    evidence = quad(joint, *limits)[0]
    expected = -quad(lambda x: joint(x) / evidence * np.log(joint(x) / evidence), *limits)[0]
    assert posterior_entropy(posterior).nats == pytest.approx(expected, abs=1e-3)


def jail_posteriors():
    world = make_world("jail", 1)
    states = np.random.default_rng(0).choice(np.flatnonzero(world.problem.queryable), 5)
    demonstrations = world.expert.answers(states)
    exact = infer(world.problem, demonstrations, "enumerate")
    smc = [infer(world.problem, demonstrations, "smc", seed=seed, num_particles=500) for seed in range(4)]
    chains = infer(world.problem, demonstrations, "policywalk", sampler="hmc", num_draws=2000)
    return exact, smc, chains


def test_estimates_agree_with_enumeration_on_the_jail():
    exact, runs, chains = jail_posteriors()
    truth = posterior_entropy(exact).nats
    assert truth < 3 * np.log(100.0)
    estimates = [posterior_entropy(run) for run in runs]
    assert {estimate.method for estimate in estimates} == {"evidence"}
    nats = [estimate.nats for estimate in estimates]
    assert np.mean(nats) == pytest.approx(truth, abs=8 * np.std(nats, ddof=1) / 2 + 0.01)  # 3 degrees of freedom
    neighbours = posterior_entropy(chains)
    assert neighbours.method == "knn"
    # The posterior ends in steep walls, which the balls around points near them overlap: too large, by about 0.1.
    assert truth - 0.05 < neighbours.nats < truth + 0.25
    assert posterior_entropy(chains, "gaussian").nats > truth  # the normal has the largest entropy of all


def test_high_dimensional_chains_get_the_gaussian_estimate():
    world = make_world("random-grid", 0, size=3)
    posterior = infer(world.problem, (), "policywalk", sampler="hmc", num_draws=200, num_warmup=50)
    estimate = posterior_entropy(posterior)
    assert estimate.method == "gaussian"
    assert estimate.nats == pytest.approx(9 * (NORMAL + np.log(3.0)), abs=0.5)


def test_estimates_that_do_not_apply_are_refused():
    world = make_world("jail", 0)
    chains = infer(world.problem, (), "policywalk", sampler="hmc", num_draws=20, num_warmup=20)
    with pytest.raises(UnsupportedError, match="needs a log evidence, which 'policywalk' does not give"):
        posterior_entropy(chains, "evidence")
    with pytest.raises(UnsupportedError, match="shannon entropy is for Discrete priors, got Uniform"):
        posterior_entropy(chains, "shannon")
    discrete = infer(make_world("bandit", 0).problem, (), "enumerate")
    with pytest.raises(UnsupportedError, match="knn entropy is for continuous priors, got Discrete"):
        posterior_entropy(discrete, "knn")
    with pytest.raises(InputError, match="method must be one of auto, shannon"):
        posterior_entropy(discrete, "best")
