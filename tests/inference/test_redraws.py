"""Particles drawn anew by importance, against enumeration. Tried on small worlds declared large."""

from itertools import islice, pairwise

import numpy as np
import pytest
from inference.features import answers, feature_grid

from journeyman.inference import infer, particles, posterior, redraws, smc, target
from journeyman.inference.enumeration import infer_enumerate
from journeyman.inference.general import make_target
from journeyman.inference.weights import normalised
from journeyman.mdp import accuracy


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Declare worlds of more than 50 states large."""
    for module in (particles, posterior, redraws, smc, target):
        monkeypatch.setattr(module, "MAX_EXACT_STATES", 50)
    monkeypatch.setattr(accuracy, "MAX_SHARPENED_STATES", 50)


def exact_summary(problem, counts):
    exact = infer_enumerate(problem, counts, num_points=2**14)
    return np.concatenate([exact.mean_parameters(), exact.parameter_std(), [exact.log_evidence]])


def summary(found):
    return np.concatenate([found.mean_parameters(), found.parameter_std(), [found.log_evidence]])


def assert_near(runs, wanted, floor):
    """Means of runs within 5 standard errors of exact numbers, and a floor."""
    runs = np.array(runs)
    error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    assert (np.abs(runs.mean(axis=0) - wanted) <= 5.0 * error + floor).all()


def test_agrees_with_enumeration():
    problem = feature_grid(8, 3)
    shown = answers(problem, 12)
    runs = [infer(problem, shown, seed=seed, num_particles=400, chain_length=4, num_threads=1) for seed in range(8)]
    assert all(run.values.dtype == np.float32 for run in runs)
    # 7 degrees of freedom each: 5 standard errors are passed by chance in 0.2 % of 7 numbers.
    assert_near([summary(run) for run in runs], exact_summary(problem, problem.counts(shown)), 0.02)


def test_one_answer_after_the_other_agrees_with_all_at_once():
    problem = feature_grid(8, 3)
    shown = answers(problem, 6)
    runs = []
    for seed in range(8):
        state = smc.start(problem, seed=seed, num_particles=400, chain_length=4, lag=1)
        for demonstration in shown:
            state = smc.update(state, demonstration, num_threads=1)
        runs.append(summary(smc.posterior_of(smc.finished(state))))
    assert_near(runs, exact_summary(problem, problem.counts(shown)), 0.03)


def test_draws_for_certificates_grow_and_agree_with_enumeration():
    problem = feature_grid(8, 3)
    shown = answers(problem, 8)
    state = smc.update(smc.start(problem, num_particles=200, chain_length=4), shown, num_threads=1)
    runs = [list(islice(smc.draw_more(state, seed=seed, num_threads=1), 3)) for seed in range(8)]
    assert all(len(b.weights) == 2 * len(a.weights) for run in runs for a, b in pairwise(run))
    assert all(run[-1].diagnostics.particle_ess > 100 and not run[-1].warnings for run in runs)
    exact = exact_summary(problem, problem.counts(shown))[:-1]  # the evidence is that of the particles
    assert_near([summary(run[-1])[:-1] for run in runs], exact, 0.02)


def test_weights_make_up_for_a_misleading_start():
    """From points that lean to one side, weighted draws are those of the prior all the same."""
    problem = feature_grid(8, 2)
    rng = np.random.default_rng(0)
    positions = rng.standard_normal((300, 2))
    draws = redraws.drawn_anew(rng, make_target(problem), positions, 1.5 * positions[:, 0], 3000, 1)
    weights = normalised(draws.log_weights)
    assert np.abs(weights @ draws.positions).max() < 0.1
    assert np.abs(weights @ draws.positions**2 - 1.0).max() < 0.15


def test_draws_are_repeated_where_too_few_are_effective(monkeypatch):
    problem = feature_grid(8, 3)
    rng = np.random.default_rng(0)
    target_of = make_target(problem)
    narrow = 0.05 * rng.standard_normal((200, 3)) + 1.0
    monkeypatch.setattr(redraws, "MAX_ROUNDS", 4)
    draws = redraws.drawn_anew(rng, target_of, narrow, np.zeros(200), 200, 1)
    assert 1 < len(draws.mixtures) <= 4 and len(draws.positions) == 200 * len(draws.mixtures)
