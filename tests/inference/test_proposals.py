"""Moves by proposals against exact answers: enumeration, moves by gradients, the prior, ranks of the truth."""

import numpy as np
import pytest
from inference.features import answers, feature_grid
from scipy.stats import chi2, multivariate_t

from journeyman.inference import proposals, smc
from journeyman.inference.enumeration import infer_enumerate
from journeyman.inference.general import make_target
from journeyman.inference.target import solved_at
from journeyman.rewards import PerState
from journeyman.worlds import make_world


def advanced(problem, counts, seed, num_particles=400, num_threads=1, **settings):
    start = smc.start(problem, seed=seed, num_particles=num_particles, num_threads=num_threads, **settings)
    return smc.advance(start, counts, num_threads=num_threads)


def summary(particles):
    theta, weights = particles.theta, particles.weights
    mean = weights @ theta
    return np.concatenate([mean, np.sqrt(weights @ (theta - mean) ** 2), [particles.log_evidence]])


def assert_alike(runs, others, floor):
    """Two sets of runs `[R, N]`, or one and exact numbers: their means within 5 standard errors, and a floor."""
    runs, others = np.atleast_2d(runs), np.atleast_2d(others)
    variance = runs.var(axis=0, ddof=1) / len(runs)
    if len(others) > 1:
        variance = variance + others.var(axis=0, ddof=1) / len(others)
    assert (np.abs(runs.mean(axis=0) - others.mean(axis=0)) <= 5.0 * np.sqrt(variance) + floor).all()


def test_agrees_with_enumeration():
    problem = feature_grid(8, 3)
    counts = problem.counts(answers(problem, 12))
    exact = infer_enumerate(problem, counts, num_points=2**14)
    wanted = np.concatenate([exact.mean_parameters(), exact.parameter_std(), [exact.log_evidence]])
    runs = [advanced(problem, counts, seed) for seed in range(8)]
    assert all(run.moves.is_proposing and run.moves.acceptance > 0.3 for run in runs)
    # 7 degrees of freedom each: 5 standard errors are passed by chance in 0.2 % of 7 numbers; the floor is the net's.
    assert_alike(np.array([summary(run) for run in runs]), wanted, 0.02)
    stated = np.mean([run.log_evidence_error for run in runs])
    observed = np.std([run.log_evidence for run in runs], ddof=1)
    assert 0.3 * observed < stated < 4.0 * observed + 0.02


def test_agrees_with_gradients(monkeypatch):
    problem = feature_grid(8, 8)
    counts = problem.counts(answers(problem, 15))
    runs = [advanced(problem, counts, seed, num_particles=800) for seed in range(4)]
    assert sum(run.moves.is_proposing for run in runs) >= 3  # where chains seem to remember, gradients take over
    monkeypatch.setattr(proposals, "MAX_PARAMETERS", 0)
    others = [advanced(problem, counts, seed) for seed in range(4)]
    assert not any(run.moves.is_proposing for run in others)
    assert_alike(*(np.array([summary(run) for run in each]) for each in (runs, others)), 0.02)


def test_poor_proposals_give_way_to_gradients(monkeypatch):
    problem = feature_grid(8, 3)
    counts = problem.counts(answers(problem, 12))
    monkeypatch.setattr(proposals, "MIN_ACCEPTANCE", 1.1)
    assert not advanced(problem, counts, 0, num_particles=200).moves.is_proposing


def test_chains_keep_the_posterior_whatever_the_mixture():
    """From exact draws of the prior, moves under no data give draws of the prior, though the mixture is far off it."""
    problem = feature_grid(8, 2)
    rng, target = np.random.default_rng(0), make_target(problem)
    positions = rng.standard_normal((1500, 2))
    values, policies = solved_at(target, positions, 1)
    misleading = np.exp(positions[:, 0])  # weights that make the mixture lean to one side
    chains = proposals.started(
        target, positions, values, policies, misleading / misleading.sum(), proposals.halves_of(1500, 1),
        np.arange(1500), 1,
    )  # fmt: skip
    moved = proposals.move(rng, chains, 6)
    assert moved.acceptance.mean() < 0.9
    last = moved.kept[0][:, -1]
    # Chains are independent: 1500 draws have standard errors of 0.026 in the mean and 0.037 in the variance.
    assert (np.abs(last.mean(axis=0)) < 4.5 * 0.026).all()
    assert (np.abs(last.var(axis=0) - 1.0) < 4.5 * 0.037).all()


def test_mixture_is_the_density_of_its_draws():
    rng = np.random.default_rng(0)
    positions, weights = rng.standard_normal((40, 3)) * [1.0, 2.0, 0.5], rng.random(40)
    mixture = proposals.fitted(positions, weights, np.arange(10, 40))
    points = rng.standard_normal((7, 3))
    each = [
        multivariate_t.pdf(points, centre, mixture.root @ mixture.root.T, df=proposals.DEGREES)
        for centre in mixture.centres
    ]
    plain = np.log(mixture.chances @ np.array(each))
    found = mixture.log_density(points)
    assert np.allclose(found - found[0], plain - plain[0], atol=1e-10)
    draws, particles = mixture.draw(rng, 4000)
    assert particles.min() >= 10
    spread = np.sqrt(weights[10:] @ (positions[10:] - mixture.chances @ positions[10:]) ** 2 / weights[10:].sum())
    assert (np.abs(draws.mean(axis=0) - mixture.chances @ positions[10:]) < 0.15 * spread).all()


def test_same_for_any_number_of_threads():
    problem = feature_grid(8, 3)
    counts = problem.counts(answers(problem, 5))
    one = advanced(problem, counts, 3, num_particles=200)
    two = smc.advance(smc.start(problem, seed=3, num_particles=200, num_threads=2), counts, num_threads=2)
    assert np.array_equal(one.positions, two.positions) and np.array_equal(one.values, two.values)


def test_where_proposals_are_worth_it():
    grid = feature_grid(8, 8)
    assert proposals.is_worth_it(grid, 8)
    assert not proposals.is_worth_it(feature_grid(7, 3), 3)  # gradients take microseconds
    assert not proposals.is_worth_it(grid, 40)
    for name in ("random-8x8", "random-10x10"):  # the paper's have a reward for each state
        problem = make_world(name, 0).problem
        assert not proposals.is_worth_it(problem, problem.num_unknowns)
    assert PerState(grid.mdp).num_parameters == 64


def ranks_of_the_truth(problem, num_runs, num_answers):
    """Ranks `[runs, D]` in 0..9 of true parameters among draws of the posterior: uniform if that is right."""
    ranks = []
    for seed in range(num_runs):
        theta = np.random.default_rng([seed, 7]).standard_normal(problem.num_unknowns)
        counts = problem.counts(answers(problem, num_answers, seed, theta))
        particles = advanced(problem, counts, seed, num_particles=200)
        rng = np.random.default_rng([seed, 8])
        drawn = particles.theta[rng.choice(len(particles.weights), size=9, p=particles.weights)]
        ranks.append((drawn < theta).sum(axis=0))
    return np.array(ranks)


def assert_uniform(ranks):
    """By chi squared in 10 bins for each parameter: a false alarm in 0.1 % of 2 parameters."""
    for column in ranks.T:
        counts = np.bincount(column, minlength=10)
        assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < chi2.isf(5e-4, 9)


def test_ranks_of_the_truth_are_uniform():
    assert_uniform(ranks_of_the_truth(feature_grid(8, 2), 40, 6))


@pytest.mark.slow
def test_ranks_of_the_truth_are_uniform_in_many_runs():
    assert_uniform(ranks_of_the_truth(feature_grid(8, 2), 1000, 6))
    assert_uniform(ranks_of_the_truth(feature_grid(10, 6), 600, 15))
