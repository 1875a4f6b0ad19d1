"""Local steps without gradients: what they leave invariant, and the posterior against enumeration."""

import numpy as np
import pytest

from journeyman import infer
from journeyman.demonstrations import Demonstration
from journeyman.inference import proposals
from journeyman.problem import Problem
from journeyman.rewards import kernel_rewards
from journeyman.worlds.gridworld import gridworld

ANSWERS = [Demonstration.annotation(*step) for step in ((0, 2), (1, 2), (3, 3), (11, 0), (8, 1), (6, 2), (0, 3))]


@pytest.fixture
def always_local(monkeypatch):
    """Small problems move by local steps too."""
    for name in ("MIN_STATES", "MIN_LOCAL_STATES", "MAX_PARAMETERS", "STATES_PER_PARAMETER"):
        monkeypatch.setattr(proposals, name, 0)


def small_problem():
    mdp = gridworld(3, 4, discount=0.8)
    return Problem(mdp, *kernel_rewards(mdp, length_scale=3.0, std=2.0, rank=3), 4.0)


def test_a_step_leaves_its_reference_invariant():
    """20000 draws of N(m, C), a step each: moments within 5 standard errors."""
    rng = np.random.default_rng(0)
    root = np.array([[1.0, 0.0], [0.8, 0.5]])
    reference = proposals.Reference(np.array([1.0, -2.0]), root, np.linalg.inv(root), 0.4)
    z = reference.mean + rng.standard_normal((20_000, 2)) @ root.T
    after = reference.draw_from(rng, z)
    np.testing.assert_allclose(after.mean(axis=0), reference.mean, atol=5.0 / np.sqrt(20_000))
    np.testing.assert_allclose(np.cov(after.T), root @ root.T, atol=5.0 * np.sqrt(2.0 / 20_000))
    correlations = [np.corrcoef(z[:, i], after[:, i])[0, 1] for i in range(2)]
    np.testing.assert_allclose(correlations, np.sqrt(1.0 - 0.16), atol=0.01)
    centred = (z - reference.mean) @ np.linalg.inv(root).T
    np.testing.assert_allclose(reference.log_density(z), -0.5 * (centred**2).sum(axis=1))


def test_steps_find_the_posterior_of_enumeration(always_local):
    """2000 particles that are worth at least 400: means within 5 standard errors of sd / 20."""
    problem = small_problem()
    assert proposals.ways_worth_it(problem, 3) == (True,)
    exact = infer(problem, ANSWERS, "enumerate")
    found = infer(problem, ANSWERS, "smc", seed=1, num_threads=1, num_particles=2000, path="prior")
    assert 0.1 < found.diagnostics.acceptance < 0.95
    errors = np.abs(found.mean_reward() - exact.mean_reward()) / exact.reward_std()
    assert errors.max() < 5.0 / 20.0
    np.testing.assert_allclose(found.reward_std(), exact.reward_std(), rtol=0.15)
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=5.0 * found.log_evidence_error + 0.02)


def test_a_wrong_chance_would_be_seen(always_local, monkeypatch):
    """Mutant: without the ratio of references, particles are drawn from p times N(m, C)."""
    monkeypatch.setattr(proposals.Reference, "log_density", lambda self, z: np.zeros(len(z)))
    problem = small_problem()
    exact = infer(problem, ANSWERS, "enumerate")
    found = infer(problem, ANSWERS, "smc", seed=1, num_threads=1, num_particles=2000, path="prior")
    assert not np.allclose(found.reward_std(), exact.reward_std(), rtol=0.15)


def test_which_ways_are_tried():
    small, large = gridworld(10, 10), gridworld(25, 25)

    def ways(mdp, rank):
        problem = Problem(mdp, *kernel_rewards(mdp, length_scale=3.0, std=1.0, rank=rank), 2.0)
        return proposals.ways_worth_it(problem, rank)

    assert ways(small, 10) == (False,)
    assert ways(small, 20) == ()
    assert ways(large, 10) == (False, True)
    assert ways(large, 40) == (True,)
    assert ways(large, 100) == ()


def test_results_do_not_depend_on_threads(always_local):
    one, two = (
        infer(small_problem(), ANSWERS, "smc", seed=2, num_threads=threads, num_particles=200, path="prior")
        for threads in (1, 2)
    )
    np.testing.assert_array_equal(one.theta, two.theta)
