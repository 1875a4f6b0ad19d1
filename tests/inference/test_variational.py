"""Tabular AVRIL: right by its own equations. It is compared with exact methods, never asserted to agree with them."""

import numpy as np
import pytest
from inference import twins
from scipy import optimize

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, UnsupportedError
from journeyman.inference import infer
from journeyman.inference.variational import APPROXIMATION, avril_objective, fit_variational
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import LinearFeatures, MultivariateNormal, Normal, PerState, PerStateAction, Size, Uniform
from journeyman.worlds import make_world


def plain_objective(problem, counts, td_weight, q, mean, std):
    """The objective, term by term, from its definition."""
    mdp, total = problem.mdp, 0.0
    P = mdp.dense_transitions()
    policy = np.zeros_like(q)
    for s in range(mdp.num_states):
        x = np.exp(problem.beta * (q[s] - q[s, mdp.available[s]].max())) * mdp.available[s]
        policy[s] = x / x.sum()
        total += sum(counts[s, a] * np.log(policy[s, a]) for a in np.flatnonzero(counts[s]))
    values = (policy * np.where(mdp.available, q, 0.0)).sum(axis=1)
    for i, (m, s) in enumerate(zip(problem.prior.mean, problem.prior.std, strict=True)):
        total -= np.log(s / std[i]) + (std[i] ** 2 + (mean[i] - m) ** 2) / (2 * s**2) - 0.5
    tied = set(np.flatnonzero(counts.sum(axis=1)).tolist())
    for _ in range(mdp.num_states):
        tied |= {
            t for s in tied for a in np.flatnonzero(mdp.available[s]) for t in np.flatnonzero(P[s, a] > 0).tolist()
        }
    for s in tied:
        actions = np.flatnonzero(mdp.available[s])
        for a in actions:
            delta = q[s, a] - mdp.discount * P[s, a] @ values
            i, weight = (s, td_weight / len(actions))
            if not problem.reward_model.is_state_only:
                i, weight = s * mdp.num_actions + a, td_weight
            total -= weight * (0.5 * ((delta - mean[i]) / std[i]) ** 2 + np.log(std[i]) + 0.5 * np.log(2 * np.pi))
    return total


def random_case(seed, model):
    rng = np.random.default_rng(seed)
    problem = twins.random_problem(rng, model, "normal", num_states=6)
    return rng, problem, twins.random_counts(rng, problem, 8)


@pytest.mark.parametrize("model", ["per_state", "per_state_action"])
@pytest.mark.parametrize("seed", range(5))
def test_objective_and_gradient(seed, model):
    """Value: the plain twin. Gradient: central differences, whose error is h^2 |F'''| / 6 + 1e-16 |F| / h."""
    rng, problem, counts = random_case(seed, model)
    objective = avril_objective(problem, counts, 0.4)
    x = 0.7 * rng.standard_normal(objective.dimension)
    value, gradient = objective(x)
    q, mean, log_std = objective.taken_apart(x)
    prior = problem.prior
    twin = plain_objective(problem, counts, 0.4, q, prior.mean + prior.std * mean, prior.std * np.exp(log_std))
    assert value == pytest.approx(twin, rel=1e-11)
    h = 1e-5
    steps = h * np.eye(x.size)
    differences = [(objective(x + step)[0] - objective(x - step)[0]) / (2 * h) for step in steps]
    np.testing.assert_allclose(gradient, differences, atol=1e-6 * (1 + np.abs(gradient).max()))
    np.testing.assert_allclose(objective.put_together(q, mean, log_std), x, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("model", ["per_state", "per_state_action"])
def test_the_objective_never_falls_and_its_gradient_vanishes(model):
    _, problem, counts = random_case(3, model)
    fit = fit_variational(problem, counts)
    steps = np.diff(fit.objective)
    assert fit.is_converged
    assert fit.gradient_size <= 1e-4
    assert len(steps) > 5
    assert (steps >= -1e-12 * np.abs(fit.objective[-1])).all()
    assert fit.objective[-1] > fit.objective[0]
    assert (np.isneginf(fit.q) == ~problem.mdp.available).all()


def one_step_problem(beta=2.0):
    """Two states with three actions that end the episode: Q is the reward, so that all can be checked by hand."""
    mdp = FiniteMDP.from_dense(np.zeros((2, 3, 2)), layout="SAS", discount=0.9, terminal=np.zeros(2, dtype=bool))
    prior = Normal(6, [0.0, 0.5, -0.5, 1.0, 0.0, 0.0], [1.0, 2.0, 1.0, 0.5, 1.0, 3.0])
    return Problem(mdp, PerStateAction(mdp), prior, beta)


COUNTS = np.array([[4, 1, 0], [0, 2, 3]])


def test_one_step_optimum_is_that_of_an_independent_search():
    """Simplex search without gradients on the plain twin; near an optimum F falls by half the squared distance."""
    problem = one_step_problem()
    fit = fit_variational(problem, COUNTS, td_weight=0.6, tolerance=1e-7)

    def loss(x):
        return -plain_objective(problem, COUNTS, 0.6, x[:6].reshape(2, 3), x[6:12], np.exp(x[12:]))

    start = np.concatenate([np.tile(problem.prior.mean, 2), np.log(problem.prior.std)])
    for _ in range(2):
        start = optimize.minimize(loss, start, method="Powell", options={"xtol": 1e-7, "ftol": 1e-12}).x
    assert fit.objective[-1] == pytest.approx(-loss(start), abs=1e-8)
    np.testing.assert_allclose(fit.mean, start[6:12], atol=2e-4)
    np.testing.assert_allclose(fit.std, np.exp(start[12:]), atol=2e-4)
    np.testing.assert_allclose(fit.q.ravel(), start[:6], atol=2e-4)


def test_one_step_optimum_satisfies_the_stated_equations():
    """With gap = Q - mean: each derivative set to 0 by hand, and the standard deviation of the module's docstring."""
    problem, weight = one_step_problem(), 0.6
    fit = fit_variational(problem, COUNTS, td_weight=weight, tolerance=1e-8)
    prior, gap = problem.prior, fit.q.ravel() - fit.mean
    x = np.exp(problem.beta * fit.q)
    policy = x / x.sum(axis=1, keepdims=True)
    slope = problem.beta * (COUNTS - COUNTS.sum(axis=1, keepdims=True) * policy)
    np.testing.assert_allclose(slope.ravel(), weight * gap / fit.std**2, atol=1e-6)
    np.testing.assert_allclose((fit.mean - prior.mean) / prior.std**2, weight * gap / fit.std**2, atol=1e-6)
    np.testing.assert_allclose(fit.std**4 / prior.std**2 - (1 - weight) * fit.std**2, weight * gap**2, atol=1e-6)
    assert fit.mean[0] > prior.mean[0]  # what was chosen is worth more than was thought
    assert fit.mean[2] < prior.mean[2]


def test_with_no_data_it_is_the_prior_exactly():
    _, problem, counts = random_case(1, "per_state")
    fit = fit_variational(problem, np.zeros_like(counts))
    np.testing.assert_array_equal(fit.mean, problem.prior.mean)
    np.testing.assert_array_equal(fit.std, problem.prior.std)
    assert fit.is_converged


def test_states_out_of_reach_keep_the_prior():
    """0 leads to 1 and 1 to the end; 2 leads to itself: data at 0 say nothing about 2."""
    transitions = np.zeros((3, 2, 3))
    transitions[0, :, 1] = transitions[2, :, 2] = 1.0
    mdp = FiniteMDP.from_dense(transitions, layout="SAS", discount=0.9, terminal=np.zeros(3, dtype=bool))
    problem = Problem(mdp, PerStateAction(mdp), Normal(6, 1.0, 2.0), 1.0)
    fit = fit_variational(problem, np.array([[3, 0], [0, 0], [0, 0]]))
    np.testing.assert_array_equal(fit.mean[4:], 1.0)
    np.testing.assert_array_equal(fit.std[4:], 2.0)
    assert fit.mean[0] - fit.mean[1] > 0.1
    assert (fit.std[:4] != 2.0).all()


def test_standard_deviations_do_not_fall_with_data():
    """What makes the method unreliable: where Bellman's equation is met they are s sqrt(1 - td_weight), data or not."""
    world = make_world("random-grid", 0, size=4, terminals="independent")
    stds = []
    for size in (10, 200):
        asked = np.random.default_rng(0).choice(np.flatnonzero(world.problem.queryable), size)
        stds.append(fit_variational(world.problem, world.problem.counts(world.expert.answers(asked))).std)
    assert (np.array(stds) >= 3.0 * np.sqrt(0.5) - 1e-3).all()  # the gap can only add to it
    assert stds[1].mean() >= stds[0].mean()


def test_the_posterior_holds_draws_of_the_fit_and_says_what_it_is():
    _, problem, counts = random_case(2, "per_state")
    demonstrations = [Demonstration.annotation(int(s), int(a)) for s, a in np.argwhere(counts > 0)]
    posterior = infer(problem, demonstrations, "variational", seed=3, num_draws=4000)
    fit = fit_variational(problem, posterior.counts)
    # Standard errors std / sqrt(M) and std / sqrt(2 M), 6 parameters each, 5 of them: a chance of 7e-6.
    np.testing.assert_allclose(posterior.mean_parameters(), fit.mean, atol=5 * fit.std.max() / np.sqrt(4000))
    assert (np.abs(posterior.parameter_std() / fit.std - 1) < 5 / np.sqrt(8000)).all()
    assert posterior.warnings == (APPROXIMATION,)
    assert posterior.log_evidence is None
    assert posterior.diagnostics.is_converged
    assert posterior.diagnostics.objective == fit.objective
    again = infer(problem, demonstrations, "variational", seed=3, num_draws=4000, num_threads=1)
    np.testing.assert_array_equal(again.theta, posterior.theta)
    np.testing.assert_array_equal(again.values, posterior.values)
    other = infer(problem, demonstrations, "variational", seed=4, num_draws=4000)
    assert not np.array_equal(other.theta, posterior.theta)


def test_a_fit_that_has_not_converged_says_so():
    world = make_world("random-grid", 0, size=4)
    answers = world.expert.answers(np.flatnonzero(world.problem.queryable))
    posterior = infer(world.problem, answers, "variational", max_iterations=1, num_draws=10)
    assert posterior.diagnostics.is_converged is False
    assert len(posterior.diagnostics.objective) == 2
    assert len(posterior.warnings) == 2
    assert "has not converged: after 1 iterations" in posterior.warnings[1]
    assert "Raise max_iterations" in posterior.warnings[1]
    stuck = infer(world.problem, answers, "variational", tolerance=1e-14, num_draws=10)
    assert "raise tolerance" in stuck.warnings[1]


def with_parts(model=None, prior=None):
    mdp = make_world("random-grid", 0, size=3).problem.mdp
    return Problem(mdp, model or PerState(mdp), prior or Normal(9), 2.0)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (with_parts(prior=Uniform(9)), "variational needs a Normal prior, .* got Uniform. Use 'smc'"),
        (with_parts(prior=MultivariateNormal(np.zeros(9), np.eye(9))), "got MultivariateNormal. Use 'smc'"),
        (with_parts(LinearFeatures(np.eye(9), Size(9, 5))), "one unknown reward per state .*, got features. Use 'smc'"),
        (make_world("brown-two-state", 0).problem, "got Discrete. Use 'smc'"),
    ],
)
def test_refusals(problem, message):
    with pytest.raises(UnsupportedError, match=message):
        infer(problem, (), "variational")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"td_weight": 1.0}, "td_weight must lie strictly between 0 and 1, got 1.0"),
        ({"td_weight": 0.0}, "td_weight must lie strictly between 0 and 1, got 0.0"),
        ({"td_weight": float("nan")}, "got nan"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
        ({"max_iterations": 0}, "max_iterations must be a whole number of at least 1"),
        ({"num_draws": 0}, "num_draws must be a whole number of at least 1"),
        ({"num_draw": 9}, "Did you mean 'num_draws'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        infer(with_parts(), (), "variational", **options)
