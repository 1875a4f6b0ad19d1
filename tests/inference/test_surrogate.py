"""Moves along a surrogate against exact answers: enumeration, moves by gradients, plain-NumPy twins."""

import numpy as np
import pytest
from inference.features import answers, feature_grid
from inference.test_proposals import advanced, assert_alike, summary

from journeyman.demonstrations import Demonstration
from journeyman.experts import SimulatedExpert
from journeyman.inference import metropolis, proposals, surrogate
from journeyman.inference.enumeration import infer_enumerate
from journeyman.inference.general import make_target
from journeyman.inference.target import solved_at
from journeyman.mdp import q_values, solve_batch
from journeyman.mdp.ordering import band_order
from journeyman.problem import Problem
from journeyman.rewards import PerState, Uniform, kernel_rewards
from journeyman.worlds.gridworld import gridworld


@pytest.fixture(autouse=True)
def small_worlds(monkeypatch):
    """Worlds of tests are smaller than those that surrogates are used for."""
    monkeypatch.setattr(surrogate, "MIN_STATES", 64)


def smooth(side=10, rank=12, beta=2.0):
    """Return a problem with a kernel prior, and answers of an expert whose reward is drawn from it."""
    mdp = gridworld(side, side, discount=0.9)
    problem = Problem(mdp, *kernel_rewards(mdp, length_scale=3.0, std=1.0, rank=rank), beta)
    rng = np.random.default_rng(1)
    truth = problem.reward_model.reward(problem.prior.from_unconstrained(rng.standard_normal(rank)))
    policy = SimulatedExpert(mdp, truth, beta, seed=0).policy
    asked = rng.choice(mdp.num_states, size=10, replace=False)
    return problem, [Demonstration.annotation(int(s), int(rng.choice(5, p=policy[s]))) for s in asked]


@pytest.fixture(scope="module")
def fitted():
    """A target with answers, points, and a surrogate that was fitted to other points."""
    problem, some = smooth()
    target = make_target(problem, problem.counts(some))
    positions = np.random.default_rng(0).standard_normal((120, target.dimension))
    values, _ = solved_at(target, positions, 1)
    found = surrogate.fitted(target, positions[:100], values[:100], np.full(100, 0.01))
    return target, found, positions[100:], values[100:]


def test_agrees_with_enumeration(monkeypatch):
    monkeypatch.setattr(surrogate, "MIN_PARAMETERS", 1)
    problem = feature_grid(8, 3)
    counts = problem.counts(answers(problem, 12))
    exact = infer_enumerate(problem, counts, num_points=2**14)
    wanted = np.concatenate([exact.mean_parameters(), exact.parameter_std(), [exact.log_evidence]])
    runs = [advanced(problem, counts, seed) for seed in range(6)]
    assert all(run.moves.is_proposing for run in runs)
    # 5 degrees of freedom each: 5 standard errors are passed by chance in 0.4 % of 7 numbers; the floor is the net's.
    assert_alike(np.array([summary(run) for run in runs]), wanted, 0.02)


def test_a_bad_surrogate_costs_acceptance_only(monkeypatch):
    monkeypatch.setattr(surrogate, "MIN_PARAMETERS", 1)
    monkeypatch.setattr(surrogate, "MIN_ACCEPTANCE", 0.0)
    problem = feature_grid(8, 3)
    counts = problem.counts(answers(problem, 12))
    exact = infer_enumerate(problem, counts, num_points=2**14)
    wanted = np.concatenate([exact.mean_parameters(), exact.parameter_std(), [exact.log_evidence]])
    honest, usual = surrogate.fitted, advanced(problem, counts, 0)

    def distorted(*arguments):
        found = honest(*arguments)
        values = found.lanes.values
        noise = np.random.default_rng(7).standard_normal(values.shape) / found.lanes.scale
        wrong = (0.6 * values + noise).astype(np.float32)
        return found._replace(lanes=found.lanes._replace(values=wrong), powers=0.5 * found.powers)

    monkeypatch.setattr(surrogate, "fitted", distorted)
    monkeypatch.setattr(surrogate, "DEPTHS", (1,))
    runs = [advanced(problem, counts, seed) for seed in range(5)]
    assert all(run.moves.is_proposing for run in runs)
    assert np.mean([run.moves.acceptance for run in runs]) < usual.moves.acceptance - 0.1
    assert_alike(np.array([summary(run) for run in runs]), wanted, 0.02)


def test_agrees_with_gradients_under_a_kernel_prior(monkeypatch):
    problem, some = smooth()
    counts = problem.counts(some)
    runs = [advanced(problem, counts, seed, num_particles=300) for seed in range(3)]
    assert all(run.moves.is_proposing for run in runs)
    monkeypatch.setattr(surrogate, "MIN_PARAMETERS", 1000)
    monkeypatch.setattr(proposals, "MAX_PARAMETERS", 0)
    others = [advanced(problem, counts, seed, num_particles=300) for seed in range(3)]
    assert not any(run.moves.is_proposing for run in others)
    # 4 degrees of freedom or fewer in 25 numbers: the floor is what 300 particles leave of a mean, 0.07.
    assert_alike(*(np.array([summary(run) for run in each]) for each in (runs, others)), 0.07)


def test_threads_change_nothing():
    problem, some = smooth()
    one, two = (
        advanced(problem, problem.counts(some), 0, num_particles=200),
        advanced(problem, problem.counts(some), 0, num_particles=200, num_threads=2),
    )
    assert one.moves.is_proposing
    np.testing.assert_array_equal(one.positions, two.positions)


def linear_values(found, z):
    """Return V_0 `[M, S]`: no sweep."""
    return surrogate.lookahead(found, z, 0).astype(np.float64)


def test_linear_values_are_those_of_least_squares(fitted):
    target, found, z, exact = fitted
    positions = np.random.default_rng(0).standard_normal((120, target.dimension))[:100]
    basis, known = surrogate.with_one(positions), solved_at(target, positions, 1)[0]
    square = (1.0 + surrogate.EVEN) * basis.T @ basis + surrogate.RIDGE * 100 * np.eye(basis.shape[1])
    value_map = np.linalg.solve(square, (1.0 + surrogate.EVEN) * basis.T @ known)
    np.testing.assert_allclose(linear_values(found, z), surrogate.with_one(z) @ value_map, rtol=0, atol=1e-4)
    assert np.corrcoef(linear_values(found, z).ravel(), exact.ravel())[0, 1] > 0.8


def test_lookahead_sweeps_there_and_back_in_place(fitted):
    target, found, z, exact = fitted
    mdp = target.problem.mdp
    rewards = target.problem.reward_model.reward(target.parameters(z))
    states = band_order(mdp).permutation
    loops = mdp.dense_transitions()[np.arange(mdp.num_states), :, np.arange(mdp.num_states)]
    for depth in (1, 3):
        values = linear_values(found, z)
        for sweep in range(depth):
            there = states[:: -1 if sweep % 2 else 1]
            for s in np.concatenate([there, there[::-1]]):  # a loop is summed up: Q = r + discount (p V(s) + ...)
                q = q_values(mdp, rewards, values)[:, s] - mdp.discount * loops[s] * values[:, s, None]
                values[:, s] = (q / (1.0 - mdp.discount * loops[s])).max(axis=1)
        np.testing.assert_allclose(surrogate.lookahead(found, z, depth), values, rtol=0, atol=1e-4)
    np.testing.assert_allclose(surrogate.lookahead(found, z, 300), exact, rtol=0, atol=1e-4)


def test_linear_density_and_its_gradient(fitted):
    target, found, z, _ = fitted
    values = linear_values(found, z)  # p_0 is the posterior under these
    density, gradient = (each(target, found, z) for each in (surrogate.linear_density, surrogate.linear_gradient))
    np.testing.assert_allclose(density, metropolis.log_density_of(target, z, values), rtol=0, atol=1e-4)
    for d in range(target.dimension):
        step = 0.02 * np.eye(target.dimension)[d]
        ends = [surrogate.linear_density(target, found, z + sign * step) for sign in (1.0, -1.0)]
        np.testing.assert_allclose((ends[0] - ends[1]) / 0.04, gradient[:, d], atol=2e-3)


def test_actions_that_do_not_exist_have_no_chance():
    from journeyman.mdp import FiniteMDP

    base = feature_grid(8, 3)
    mdp = base.mdp
    available = np.ones((64, 4), dtype=bool)
    available[5, 2] = available[9, 0] = False
    matrices = np.zeros((4, 64, 64))
    for row in range(256):
        at = slice(mdp.rows.indptr[row], mdp.rows.indptr[row + 1])
        matrices[row % 4, row // 4, mdp.rows.next_states[at]] = mdp.rows.probabilities[at]
    matrices[2, 5] = matrices[0, 9] = 0.0
    fewer = FiniteMDP.from_matrices(list(matrices), discount=0.9, available=available)
    problem = Problem(fewer, base.reward_model, base.prior, 2.0)
    counts = np.zeros((64, 4))
    counts[5, 1] = counts[9, 3] = 1.0
    target = make_target(problem, counts)
    z = np.random.default_rng(0).standard_normal((60, 3))
    values, _ = solved_at(target, z, 1)
    found = surrogate.fitted(target, z, values, np.ones(60))
    density, gradient = (each(target, found, z) for each in (surrogate.linear_density, surrogate.linear_gradient))
    known = metropolis.log_density_of(target, z, linear_values(found, z))
    np.testing.assert_allclose(density, known, rtol=0, atol=1e-4)
    assert np.isfinite(gradient).all()


def test_trajectories_run_backwards(fitted):
    target, found, z, _ = fitted
    momenta = np.random.default_rng(1).standard_normal(z.shape)
    steps = np.full(len(z), 0.3)
    there, after = surrogate.leapfrog(target, found, z, momenta, steps, 7)
    back, _ = surrogate.leapfrog(target, found, there, -after, steps, 7)
    np.testing.assert_allclose(back, z, atol=1e-9)
    assert np.abs(there - z).max() > 0.5


def test_expected_acceptance_is_the_mean_over_pairs():
    errors = np.random.default_rng(0).normal(size=40)
    inverse = np.exp(-errors)
    pairs = np.minimum(inverse[:, None], inverse[None]).mean() / inverse.mean()
    assert surrogate.expected_acceptance(errors) == pytest.approx(pairs)
    assert surrogate.expected_acceptance(np.full(40, 3.0)) == pytest.approx(1.0)


def test_thinning_makes_up_for_short_moves(fitted):
    target, _, z, values = fitted
    chains = surrogate.started(
        target,
        z,
        values,
        np.zeros(values.shape, dtype=np.int64),
        np.full(20, 0.05),
        np.arange(20) % 2,
        np.arange(20),
        1,
    )
    assert surrogate.thinned(chains, 0.3, 0.5).thinning == 1
    assert surrogate.thinned(chains, 0.84, 0.5).thinning == 4
    assert surrogate.thinned(chains, 1.0, 0.5).thinning == surrogate.MAX_THINNING
    moved = surrogate.move(np.random.default_rng(0), chains._replace(thinning=3), 2)
    assert moved.num_solves == 20 * 2 * 3 and moved.kept[0].shape == (20, 2, target.dimension)
    rewards = target.problem.reward_model.reward(target.parameters(moved.kept[0][:, -1]))
    exact = solve_batch(target.problem.mdp, rewards, num_threads=1).values
    np.testing.assert_allclose(moved.kept[1][:, -1], exact, atol=1e-4)


def test_where_it_is_used(monkeypatch):
    problem, _ = smooth()
    target = make_target(problem)
    assert surrogate.is_worth_it(problem, target, 400)
    assert not surrogate.is_worth_it(problem, target, 60)  # too few particles to fit it to
    monkeypatch.setattr(surrogate, "MIN_STATES", 101)
    assert not surrogate.is_worth_it(problem, target, 400)
    monkeypatch.setattr(surrogate, "MIN_STATES", 64)
    single = Problem(problem.mdp, PerState(problem.mdp), Uniform(100), 2.0)
    assert not surrogate.is_worth_it(single, make_target(single), 1000)
    few = feature_grid(10, 4)
    assert not surrogate.is_worth_it(few, make_target(few), 1000)
