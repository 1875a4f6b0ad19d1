"""Thousands of updates one after the other neither drift away from a computation from scratch, nor pile up memory."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest
from numerics.test_extremes import ATOMS, counts_of, problem_of, weights_of

from journeyman.demonstrations import Demonstration
from journeyman.inference import infer
from journeyman.learner import ActiveLearner
from journeyman.mdp import solve_batch
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState

NUM_UPDATES, NUM_FIRST = 10_000, 2_000
MAX_GROWTH = 4_000  # bytes for each update: its event, which history keeps, and what finds it again


def resident_bytes():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def updated(learner, rng, num_updates, kept):
    """Attach an answer or take one back, again and again; after each the posterior is brought up to date."""
    for _ in range(num_updates):
        if len(kept) > 40 or (kept and rng.random() < 0.4):
            answer = list(kept)[int(rng.integers(len(kept)))]
            learner.undo(answer)
            del kept[answer]
        else:
            state, action = int(rng.integers(3)), int(rng.integers(3))
            (answer,) = learner.attach(Demonstration.annotation(state, action), allow_duplicates=True)
            kept[answer] = (state, action, 1)
        weights = learner.posterior().weights
        assert np.isfinite(weights).all()


def assert_from_scratch(learner, problem, kept):
    told = [Demonstration.annotation(state, action) for state, action, _ in kept.values()]
    fresh = infer(problem, told, "enumerate", seed=1, num_threads=1)
    np.testing.assert_allclose(
        weights_of(learner.posterior(), ATOMS), weights_of(fresh, ATOMS), atol=1e-9, rtol=1e-9
    )  # fmt: skip
    np.testing.assert_array_equal(learner.posterior().problem.counts(told), counts_of(kept.values(), (3, 3)))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["enumerate", "smc"])
def test_ten_thousand_updates_neither_drift_nor_leak(method):
    problem, rng, kept = problem_of(beta=0.7), np.random.default_rng(8), {}
    options = {"num_particles": 100} if method == "smc" else {}
    learner = ActiveLearner(
        problem, seed=1, inference=method, acquisition="random", inference_options=options, num_threads=1
    )
    updated(learner, rng, NUM_FIRST, kept)
    assert_from_scratch(learner, problem, kept)
    before = resident_bytes()
    updated(learner, rng, NUM_UPDATES - NUM_FIRST, kept)
    assert_from_scratch(learner, problem, kept)
    assert resident_bytes() - before < MAX_GROWTH * (NUM_UPDATES - NUM_FIRST)


def test_updates_do_not_drift():
    problem, rng, kept = problem_of(beta=0.7), np.random.default_rng(8), {}
    learner = ActiveLearner(problem, seed=1, inference="enumerate", acquisition="random", num_threads=1)
    updated(learner, rng, 100, kept)
    assert_from_scratch(learner, problem, kept)


def test_values_of_particles_that_were_moved_often_are_those_of_a_fresh_solution():
    mdp = problem_of().mdp
    problem = Problem(mdp, PerState(mdp), Normal(3), 2.0)
    options = {"num_particles": 100}
    learner = ActiveLearner(
        problem, seed=3, inference="smc", acquisition="random", inference_options=options, num_threads=1
    )
    rng = np.random.default_rng(1)
    for _ in range(60):
        learner.attach(Demonstration.annotation(int(rng.integers(3)), int(rng.integers(2))), allow_duplicates=True)
        posterior = learner.posterior()
    fresh = solve_batch(mdp, problem.reward_model.reward(posterior.theta), num_threads=1)
    np.testing.assert_allclose(posterior.values, fresh.values, rtol=1e-9, atol=1e-9)
