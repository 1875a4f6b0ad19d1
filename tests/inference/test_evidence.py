"""The stated error of the log evidence: of atoms, nets and particles, and in snapshots."""

import numpy as np
import pytest

from journeyman.inference import infer, smc
from journeyman.inference.smc import Snapshot
from journeyman.inference.weights import log_mean_exp, log_mean_variance
from journeyman.problem import Problem
from journeyman.rewards import Discrete
from journeyman.wording import nats
from journeyman.worlds import make_world


def jail_answers(count):
    world = make_world("jail", 1)
    states = np.random.default_rng(0).choice(np.flatnonzero(world.problem.queryable), count)
    return world.problem, world.make_expert(0).answers(states.tolist())


def test_variance_of_a_log_mean_is_that_of_independent_groups():
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((400, 200, 1)) + 0.2 * rng.standard_normal((400, 200, 5))  # 200 groups of 5 alike
    log_weights = 0.5 * shared.reshape(400, -1)
    true = np.var([log_mean_exp(each) for each in log_weights], ddof=1)
    stated = np.mean([log_mean_variance(each, 5) for each in log_weights])
    assert abs(stated / true - 1.0) < 4.5 * np.sqrt(2.0 / 400)
    assert np.mean([log_mean_variance(each, 1) for each in log_weights]) < 0.4 * true, "as if all were independent"
    assert log_mean_variance(np.full(10, -3.0), 4) == pytest.approx(0.0, abs=1e-30)


def test_groups_that_are_cut_short_count_by_their_size():
    log_weights = np.log(np.array([1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 2.0]))
    mean = 2.0
    residuals = np.array([3.0 - 3 * mean, 9.0 - 3 * mean, 2.0 - mean]) / mean
    assert log_mean_variance(log_weights, 3) == pytest.approx((residuals**2).sum() / 7**2 * 3 / 2)


def test_atoms_have_none():
    problem, data = jail_answers(10)
    atoms = np.random.default_rng(0).uniform(-80.0, -20.0, (6, problem.prior.num_parameters))
    discrete = Problem(problem.mdp, problem.reward_model, Discrete(atoms), problem.expert)
    for method in ("enumerate", "smc"):
        assert infer(discrete, data, method, num_threads=1).log_evidence_error == 0.0


def test_the_error_of_a_net_is_that_of_its_shifts():
    problem, data = jail_answers(10)
    runs = [infer(problem, data, "enumerate", num_points=1024, seed=seed, num_threads=1) for seed in range(16)]
    spread = np.std([run.log_evidence for run in runs], ddof=1)
    stated = np.sqrt(np.mean([run.log_evidence_error**2 for run in runs]))
    assert 0.5 < stated / spread < 2.0  # 16 runs tell the spread to 18 %, 8 shifts each their own to 27 %


def test_the_error_grows_with_what_was_moved_and_is_kept():
    problem, data = jail_answers(12)
    particles = smc.start(problem, num_particles=200, num_threads=1)
    assert smc.posterior_of(particles).log_evidence_error == 0.0
    for answer in data:
        particles = smc.update(particles, answer, num_threads=1)
    posterior = smc.posterior_of(particles)
    assert posterior.log_evidence_error > np.sqrt(particles.moved_log_evidence_variance) > 0.0
    assert posterior.resample(np.random.default_rng(0), 50).log_evidence_error == posterior.log_evidence_error
    snapshot = smc.to_snapshot(particles)
    again = smc.from_snapshot(problem, snapshot, num_particles=200)
    assert again.log_evidence_error == posterior.log_evidence_error


def test_snapshots_that_do_not_know_it_load():
    problem, data = jail_answers(12)
    snapshot = smc.to_snapshot(smc.update(smc.start(problem, num_particles=200, num_threads=1), data, num_threads=1))
    facts = {name: value for name, value in snapshot.facts.items() if name != "moved_log_evidence_variance"}
    older = smc.from_snapshot(problem, Snapshot(facts, snapshot.arrays), num_particles=200)
    assert older.log_evidence_error is None
    later = smc.update(older, data[0], num_threads=1)
    assert later.log_evidence_error is None
    assert np.isfinite(later.log_evidence)


def test_in_words():
    assert nats(-31.254, 0.1449) == "-31.25 +- 0.14 nats"
    assert nats(-31.254, 0.0) == nats(-31.254, None) == "-31.25 nats"
