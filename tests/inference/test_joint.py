"""Reward and dynamics together: against quadrature, against inference under each of many dynamics, and the solver."""

import numpy as np
import pytest
from mdp.random_mdps import random_mdp
from scipy.special import logsumexp
from scipy.stats import beta as beta_law, norm

from journeyman.inference import INFERENCE
from journeyman.inference.joint import Target, can_move_together, sample_joint, solved_each
from journeyman.mdp import estimate_dynamics, solve
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures, Normal

DISCOUNT, BETA, STEPS = 0.9, 4.0, (4, 1)  # steps of action 0 that stayed, and that went on


def waiting_problem(prior, num_steps=STEPS) -> Problem:
    """State 0: action 0 pays theta and stays with an unknown chance; action 1 pays 2 and ends, as state 1 does."""
    stays, goes = num_steps
    steps = ([0] * (stays + goes) + [0], [0] * (stays + goes) + [1], [0] * stays + [1] * goes + [1])
    dynamics = estimate_dynamics(
        steps, num_states=2, num_actions=2, discount=DISCOUNT, terminal=[1], prior=1.0, initial=[1.0, 0.0],
        possible=[(0, 0, 0), (0, 0, 1), (0, 1, 1)],
    )  # fmt: skip
    features = np.zeros((2, 2, 1))
    features[0, 0, 0] = 1.0
    offset = np.zeros((2, 2))
    offset[0, 1] = 2.0
    return Problem(dynamics.mdp, LinearFeatures(features, dynamics.mdp, offset=offset), prior, BETA)


def log_likelihood(theta, stay, counts):
    """Return the log likelihood of answers in state 0, in closed form."""
    value = np.maximum(2.0, theta / (1.0 - DISCOUNT * stay))
    q = np.stack(np.broadcast_arrays(theta + DISCOUNT * stay * value, np.full(np.shape(value), 2.0)))
    return np.tensordot(counts, BETA * q - logsumexp(BETA * q, axis=0), axes=(0, 0))


def exact(counts, theta, theta_weights):
    """Return log evidence and the posterior means of theta and the chance to stay, by a fine sum over both."""
    stay = (np.arange(400) + 0.5) / 400
    of_stay = beta_law.pdf(stay, 1.0 + STEPS[0], 1.0 + STEPS[1]) / 400
    joint = theta_weights[:, None] * of_stay * np.exp(log_likelihood(theta[:, None], stay[None], counts))
    total = joint.sum()
    return np.log(total), (joint.sum(axis=1) @ theta) / total, (joint.sum(axis=0) @ stay) / total


ANSWERS = np.array([[4, 16], [0, 0]])
PRIOR = Normal(1, 0.8, 0.2)
GRID = np.linspace(-0.4, 2.0, 301)
WEIGHTS = norm.pdf(GRID, 0.8, 0.2) * (GRID[1] - GRID[0])


def found_in(problem, size=1000):
    drawn = sample_joint(problem, problem.mdp.origin, ANSWERS, size, seed=0)
    stay = np.array([drawn.mdp_fn(i).dense_transitions()[0, 0, 0] for i in range(0, size, 4)])
    return drawn, float(drawn.theta.mean()), float(stay.mean())


def test_one_state_and_two_actions_agree_with_quadrature():
    drawn, theta, stay = found_in(waiting_problem(PRIOR))
    log_evidence, mean_theta, mean_stay = exact(ANSWERS[0], GRID, WEIGHTS)
    assert drawn.log_evidence == pytest.approx(log_evidence, abs=0.1)
    assert theta == pytest.approx(mean_theta, abs=0.03)  # 4 standard errors of about 500 independent draws
    assert stay == pytest.approx(mean_stay, abs=0.05)
    assert not drawn.warnings and len(np.unique(drawn.ancestors)) > 300


def test_atoms_agree_with_the_sum_over_them():
    atoms = np.array([[-0.5], [0.3], [0.9]])
    weights = np.array([0.2, 0.3, 0.5])
    drawn, theta, stay = found_in(waiting_problem(Discrete(atoms, weights)))
    log_evidence, mean_theta, mean_stay = exact(ANSWERS[0], atoms[:, 0], weights)
    assert drawn.log_evidence == pytest.approx(log_evidence, abs=0.1)
    assert theta == pytest.approx(mean_theta, abs=0.05) and stay == pytest.approx(mean_stay, abs=0.05)


def test_answers_tell_about_the_dynamics():
    before = (1.0 + STEPS[0]) / (2.0 + sum(STEPS))
    assert abs(exact(ANSWERS[0], GRID, WEIGHTS)[2] - before) > 0.1  # or the test above would not tell


def test_without_answers_they_are_the_prior_and_the_dirichlet_posterior():
    problem = waiting_problem(PRIOR)
    drawn = sample_joint(problem, problem.mdp.origin, np.zeros((2, 2), dtype=int), 1000, seed=1)
    assert drawn.log_evidence == 0.0 and len(np.unique(drawn.ancestors)) == 1000
    assert drawn.theta.std() == pytest.approx(0.2, abs=0.02) and drawn.theta.mean() == pytest.approx(0.8, abs=0.03)
    stay = [drawn.mdp_fn(i).dense_transitions()[0, 0, 0] for i in range(300)]
    assert np.mean(stay) == pytest.approx(5.0 / 7.0, abs=0.04)


def test_under_one_of_the_dynamics_the_evidence_is_that_of_smc():
    problem = waiting_problem(PRIOR)
    rng = np.random.default_rng(2)
    mdp = problem.mdp.origin.sample(rng)
    apart = Problem(mdp, problem.reward_model, problem.prior, BETA)
    stay = mdp.dense_transitions()[0, 0, 0]
    own = logsumexp(log_likelihood(GRID, stay, ANSWERS[0]), b=WEIGHTS)
    counts = problem.counts([])
    counts[0] = ANSWERS[0]
    found = INFERENCE["smc"].infer_fn(apart, counts, seed=0, num_particles=500)
    assert found.log_evidence == pytest.approx(own, abs=0.2)


def test_each_problem_is_solved_under_its_own_dynamics():
    rng = np.random.default_rng(3)
    mdps = [random_mdp(rng, 5, 3, ending=0.3) for _ in range(6)]
    transitions = np.stack([mdp.dense_transitions() for mdp in mdps])
    for rewards in (rng.normal(size=(6, 5, 3)), rng.normal(size=(6, 5, 1))):
        first = np.zeros((6, 5), dtype=np.int64)
        values, policy, q = solved_each(mdps[0], transitions, rewards, first)
        for i in range(6):
            other = type(mdps[0]).from_dense(
                transitions[i], layout="SAS", discount=mdps[0].discount, missing_mass="terminates"
            )
            expected = solve(other, np.broadcast_to(rewards[i], (5, 3)))
            np.testing.assert_allclose(values[i], expected.values, atol=1e-9)
            np.testing.assert_allclose(q[i].max(axis=1), values[i], atol=1e-8)
            np.testing.assert_allclose(q[i][np.arange(5), policy[i]], values[i], atol=1e-8)


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.9])
def test_moves_of_dynamics_leave_the_dirichlet_posterior_as_it_is(keep):
    problem = waiting_problem(PRIOR)
    target = Target(problem, problem.mdp.origin, np.zeros((2, 2), dtype=int))
    rng = np.random.default_rng(5)
    particles = target.prior_draws(rng, 4000)
    for _ in range(3):
        particles, acceptance = target.dynamics_move(rng, particles, 1.0, keep, 1.0)
        assert acceptance == 1.0
    shape = target.shape
    error = np.sqrt(shape / 4000)
    assert (np.abs(particles.gammas.mean(axis=0) - shape) < 5 * error).all()
    np.testing.assert_allclose(particles.gammas.var(axis=0), shape, rtol=0.25)


def test_large_problems_are_drawn_apart():
    problem = waiting_problem(PRIOR)
    assert can_move_together(problem, 256) and not can_move_together(problem, 10**8)
