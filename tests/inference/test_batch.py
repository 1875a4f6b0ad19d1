"""The way to a posterior by a Gaussian near it: against enumeration, against the way from the prior, and its parts."""

import numpy as np
import pytest

from journeyman.demonstrations import Demonstration
from journeyman.inference import batch, infer, smc
from journeyman.inference.batch import gaussian
from journeyman.inference.batch.gaussian import Chains
from journeyman.inference.general import GeneralTarget
from journeyman.inference.target import Target
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import LinearFeatures, Normal, Uniform
from journeyman.worlds import make_world


def answers(world, count, seed=0):
    """Answers of the expert in states drawn at random."""
    states = np.random.default_rng(seed).choice(np.flatnonzero(world.problem.queryable), count)
    return world.make_expert(seed).answers(states.tolist())


def correlated(dimension, seed=0):
    """A Gaussian with a covariance that is no multiple of the prior's in a part of the directions, and its inverse."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((dimension, 4)))[0]
    variances = np.array([1e-4, 0.01, 0.2, 3.0])
    covariance = np.eye(dimension) + (basis * (variances - 1.0)) @ basis.T
    return basis @ rng.standard_normal(4), covariance


@pytest.mark.parametrize("trust", [0.0, 0.5, 1.0])
def test_fit_of_a_gaussian_is_that_gaussian(trust):
    mean, covariance = correlated(10)
    rng = np.random.default_rng(1)
    draws = rng.multivariate_normal(mean, covariance, size=40_000)
    q = gaussian.fitted(draws, -(draws - mean) @ np.linalg.inv(covariance), trust=trust)
    points = draws[:200]
    exact = -0.5 * np.einsum("nd,de,ne->n", points - mean, np.linalg.inv(covariance), points - mean)
    exact -= 0.5 * np.linalg.slogdet(2.0 * np.pi * covariance)[1]
    # Four directions: their moments are off by about 1 / sqrt(40,000), which changes log densities by about 5 of these.
    assert np.abs(gaussian.log_q(q, points) - exact).max() < 0.15
    again = gaussian.draw(rng, q, 40_000)
    assert np.allclose(np.cov(again.T), covariance, atol=6.0 * 3.0 / np.sqrt(40_000))
    white = gaussian.whitened(q, again)
    assert np.allclose(np.cov(white.T), np.eye(len(q.gains)), atol=6.0 / np.sqrt(40_000))


def test_fit_without_data_is_the_prior():
    draws = np.random.default_rng(0).standard_normal((100, 5))
    q = gaussian.fitted(draws, -draws, trust=0.5)
    assert q.gains.size == 0
    assert np.allclose(gaussian.log_q(q, draws), -0.5 * (draws**2 + np.log(2.0 * np.pi)).sum(axis=1))


@pytest.mark.parametrize("power", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("prior", [Normal, Uniform])
def test_compiled_moves_are_those_of_their_twin(power, prior):
    world = make_world("random-grid", 3, size=3)
    size = world.problem.prior.num_parameters
    chosen = Normal(size, 0.5, 2.0) if prior is Normal else Uniform(size, -2.0, 2.0)
    problem = Problem(world.problem.mdp, world.problem.reward_model, chosen, 2.0)
    target = Target(problem, answers(world, 30))
    rng = np.random.default_rng(5)
    z = rng.standard_normal((6, size))
    found = target.evaluate(z)
    q = gaussian.fitted(
        *(np.concatenate([a, a + 0.1 * rng.standard_normal(a.shape)]) for a in (z, found.gradient)), trust=0.5
    )
    assert q.gains.size > 0
    chains = Chains(z, found.values, found.policies)
    options = {"step": 0.05, "num_leapfrog": 8, "num_moves": 3, "num_threads": 1}
    one, two = (
        gaussian.move(np.random.default_rng(7), each, q, power, chains, **options)
        for each in (target, GeneralTarget(problem, target.data))
    )
    assert 0.0 < one.acceptance.mean() <= 1.0
    for name in ("positions", "values", "log_p", "log_q", "gradients", "acceptance"):
        assert np.allclose(getattr(one, name), getattr(two, name), rtol=1e-7, atol=1e-7), name
    flat = one.positions.reshape(-1, size)
    assert np.allclose(gaussian.log_q(q, flat), one.log_q.ravel(), atol=1e-9)
    assert np.allclose(target.evaluate(flat).log_density, one.log_p.ravel(), atol=1e-7)


def test_moves_leave_their_density_as_it_is():
    """Draws of the Gaussian stay draws of it at power 0, whatever the target."""
    world = make_world("random-grid", 3, size=3)
    target = Target(world.problem, answers(world, 20))
    rng = np.random.default_rng(0)
    q = gaussian.fitted(rng.standard_normal((40, 9)), 3.0 * rng.standard_normal((40, 9)), trust=0.0)
    z = gaussian.draw(rng, q, 500)
    found = target.evaluate(z)
    moved = gaussian.move(
        rng, target, q, 0.0, Chains(z, found.values, found.policies), step=0.4, num_leapfrog=5, num_moves=4,
        num_threads=1,
    )  # fmt: skip
    white = gaussian.whitened(q, moved.last.positions)
    assert np.abs(white.mean(axis=0)).max() < 4.5 / np.sqrt(500)
    assert np.abs(white.std(axis=0) - 1.0).max() < 4.5 / np.sqrt(1000)


@pytest.mark.parametrize(("name", "count"), [("jail", 40), ("jail", 150)])
def test_against_enumeration(name, count):
    world = make_world(name, 0)
    data = answers(world, count)
    exact = infer(world.problem, data, "enumerate", num_threads=1)
    found = infer(world.problem, data, "smc", path="mode", num_threads=1)
    assert found.diagnostics.num_rejuvenations >= 1
    error = np.hypot(found.log_evidence_error, exact.log_evidence_error)
    assert abs(found.log_evidence - exact.log_evidence) < 4.0 * error + 0.02
    scale = exact.parameter_std()
    # 125 chains of 8 moves, all but independent of each other: at least 125 draws' worth.
    assert np.abs((found.mean_parameters() - exact.mean_parameters()) / scale).max() < 4.0 / np.sqrt(125)
    assert np.abs(found.parameter_std() / scale - 1.0).max() < 4.0 / np.sqrt(2 * 125)


def test_against_the_way_from_the_prior():
    world = make_world("random-grid", 2, size=4)
    data = answers(world, 400)
    old, new = (
        infer(world.problem, data, "smc", path=path, num_particles=2000, num_threads=1) for path in ("prior", "mode")
    )
    assert not new.warnings
    error = np.hypot(old.log_evidence_error, new.log_evidence_error)
    assert abs(old.log_evidence - new.log_evidence) < 4.0 * error
    scale = 0.5 * (old.parameter_std() + new.parameter_std())
    # 250 independent chains each, and the largest of 16 parameters.
    assert np.abs((old.mean_parameters() - new.mean_parameters()) / scale).max() < 4.5 * np.sqrt(2.0 / 250)


def forked_problem():
    """One unknown number x: whoever goes on gets |x|, as they may then choose between x and -x; to stop is worth 1."""
    transitions = np.zeros((3, 2, 3))
    transitions[0, 0, 1] = transitions[0, 1, 2] = 1.0  # then it is over
    mdp = FiniteMDP.from_dense(transitions, layout="SAS", discount=0.9, terminal=np.zeros(3, dtype=bool))
    features = np.zeros((3, 2, 1))
    features[1, 0], features[1, 1] = 1.0, -1.0
    offset = np.zeros((3, 2))
    offset[2] = 1.0
    return Problem(mdp, LinearFeatures(features, mdp, offset=offset), Normal(1, 0.0, 2.0), 8.0)


@pytest.mark.slow
def test_several_modes_are_noticed(monkeypatch):
    problem = forked_problem()
    data = [Demonstration.annotation(0, 0)] * 60
    exact = infer(problem, data, "enumerate", num_threads=1)
    assert abs(exact.mean_parameters()[0]) < 0.05, "half of the posterior is on either side"
    found = infer(problem, data, "smc", path="mode", num_threads=1)
    assert any("several modes" in warning for warning in found.warnings)
    monkeypatch.setattr(batch, "MIN_PARAMETERS", 1)
    monkeypatch.setattr(batch, "MIN_ANSWERS", 1)
    auto, prior = (infer(problem, data, "smc", path=path, num_threads=1) for path in ("auto", "prior"))
    assert np.array_equal(auto.theta, prior.theta) and auto.log_evidence == prior.log_evidence
    assert abs(prior.log_evidence - exact.log_evidence) < 4.0 * prior.log_evidence_error


def test_the_same_for_a_seed_whatever_the_number_of_threads():
    world = make_world("random-grid", 2, size=3)
    data = answers(world, 60)
    options = {"path": "mode", "num_particles": 200}
    one, two, other = (
        infer(world.problem, data, "smc", seed=seed, num_threads=threads, **options)
        for seed, threads in ((3, 1), (3, 2), (4, 1))
    )
    assert one.theta.tobytes() == two.theta.tobytes() and one.log_evidence == two.log_evidence
    assert one.theta.tobytes() != other.theta.tobytes()


def test_small_problems_take_the_way_from_the_prior():
    world = make_world("random-grid", 2, size=3)
    data = answers(world, 60)
    auto, prior = (infer(world.problem, data, num_particles=200, num_threads=1, path=p) for p in ("auto", "prior"))
    assert auto.theta.tobytes() == prior.theta.tobytes() and auto.log_evidence == prior.log_evidence


def test_particles_of_the_prior_take_the_same_way_to_many_data(monkeypatch):
    """A study that a table of recorded steps is imported into: minutes from the prior, seconds by the Gaussian."""
    monkeypatch.setattr(batch, "MIN_PARAMETERS", 1)
    monkeypatch.setattr(batch, "MIN_ANSWERS", 50)
    problem, data = (world := make_world("random-grid", 2, size=3)).problem, answers(world, 60)
    counts = problem.counts(data)
    at_once = infer(problem, data, num_particles=200, num_threads=1)
    prior = smc.start(problem, num_particles=200, num_threads=1)
    found = smc.advance(prior, counts, num_threads=1)
    assert found.theta.tobytes() == at_once.theta.tobytes() and found.log_evidence == at_once.log_evidence
    assert smc.advance(prior, problem.counts(data[:40]), num_threads=1).moves.num_gradients != found.moves.num_gradients
    more = smc.advance(found, counts + problem.counts(data[:1]), num_threads=1)  # and on as usual
    assert more.counts.sum() == 61 and more.weights.std() > 0.0


def test_no_data_at_all():
    problem = make_world("random-grid", 2, size=3).problem
    found = infer(problem, (), path="mode", num_particles=200, num_threads=1)
    assert abs(found.log_evidence) < 1e-9
    assert found.log_evidence_error < 1e-9


@pytest.mark.parametrize("path", ["prior", pytest.param("mode", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("name", "options", "count"),
    [("jail", {}, 40), pytest.param("random-grid", {"size": 4}, 120, marks=pytest.mark.slow)],
)
def test_the_stated_error_of_the_log_evidence_is_that_of_independent_runs(name, options, count, path):
    world = make_world(name, 1, **options)
    data = answers(world, count)
    runs = [infer(world.problem, data, path=path, seed=seed, num_particles=300, num_threads=1) for seed in range(24)]
    stated = np.sqrt(np.mean([run.log_evidence_error**2 for run in runs]))
    spread = np.std([run.log_evidence for run in runs], ddof=1)
    # With 24 runs the spread is known to 15 %: 0.7 to 1.5, give or take two of these.
    assert 0.5 < stated / spread < 2.0
