"""One posterior on a real Dask cluster: the same as on one machine."""

import signal

import numpy as np
import pytest
from inference.features import feature_grid

from journeyman import ActiveLearner, Boltzmann, Demonstration, Normal, PerState, Problem, infer, solve_batch
from journeyman.errors import InputError, JourneymanError
from journeyman.experts.priors import LogNormal
from journeyman.inference.target import _roughly_solved
from journeyman.storage import spread
from journeyman.storage.spread import is_spread, on_cluster
from journeyman.worlds.gridworld import gridworld

pytest.importorskip("distributed")
ANSWERS = [Demonstration.annotation(s, s % 5) for s in range(9)]
RUNS = {
    "smc": {"num_particles": 100},
    "policywalk": {"sampler": "hmc", "num_chains": 3, "num_warmup": 20, "num_draws": 20},
    "valuewalk": {"num_chains": 2, "num_warmup": 20, "num_draws": 20},
}


LARGE = feature_grid(9, 3)  # solved by sweeps, many rewards at once


def make_problem(expert=2.0):
    mdp = gridworld(3, 3)
    return Problem(mdp, PerState(mdp), Normal(9, 0.0, 1.0), expert)


def test_results_are_those_of_one_machine_though_a_worker_dies(cluster):
    """All methods on one cluster, since starting one takes seconds; then one of two workers is killed."""
    problem, unsure = make_problem(), make_problem(Boltzmann(LogNormal(0.5, 0.5)))
    rewards = np.random.default_rng(0).standard_normal((7, 9))
    workers = [cluster.add_worker() for _ in range(2)]
    learner = ActiveLearner(problem, inference_options={"num_particles": 100}, num_threads=1)
    learner.attach(ANSWERS)
    here = {method: infer(problem, ANSWERS, method, seed=3, **options) for method, options in RUNS.items()}
    there = {}
    assert not is_spread()
    with on_cluster(cluster.address):
        assert is_spread()
        for method, options in RUNS.items():
            there[method] = infer(problem, ANSWERS, method, seed=3, **options)
        beta_there = infer(unsure, ANSWERS, seed=3, num_particles=100)
        solved = solve_batch(problem.mdp, rewards)
        points = np.random.default_rng(1).standard_normal((40, 3))
        solved_there = _roughly_solved(LARGE, points, 1, None)
        twin = ActiveLearner(problem, inference_options={"num_particles": 100}, num_threads=1)
        twin.attach(ANSWERS)
        workers[0].send_signal(signal.SIGKILL)
        workers[0].wait()
        again = infer(problem, ANSWERS, seed=3, **RUNS["smc"])
    assert not is_spread()
    for method, posterior in here.items():
        np.testing.assert_array_equal(there[method].theta, posterior.theta, err_msg=method)
        np.testing.assert_array_equal(there[method].weights, posterior.weights, err_msg=method)
        assert there[method].diagnostics.num_gradients == posterior.diagnostics.num_gradients
    np.testing.assert_array_equal(again.theta, here["smc"].theta)
    np.testing.assert_array_equal(beta_there.theta, infer(unsure, ANSWERS, seed=3, num_particles=100).theta)
    np.testing.assert_array_equal(solved_there, _roughly_solved(LARGE, points, 1, None))
    np.testing.assert_array_equal(solved.values, solve_batch(problem.mdp, rewards).values)
    np.testing.assert_array_equal(twin.posterior().theta, learner.posterior().theta)


def test_parts_are_joined_in_their_order(monkeypatch):
    from journeyman.storage.workers import ThisProcess

    spreader = spread.Spreader(ThisProcess())
    numbers = np.arange(11)
    doubled, plus = spreader.run(double_and_add, 100, [numbers, 2 * numbers], (5,))
    assert doubled.tolist() == (2 * numbers).tolist()
    assert plus.tolist() == (2 * numbers + 105).tolist()


def double_and_add(shared, extra, first, second):
    return 2 * first, second + shared + extra


def test_an_error_of_a_part_is_told():
    from journeyman.storage.workers import ThisProcess

    def fail(shared, numbers):
        raise ZeroDivisionError("by zero")

    with pytest.raises(JourneymanError, match=r"got ZeroDivisionError: by zero. Run it on this machine"):
        spread.Spreader(ThisProcess()).run(fail, None, [np.arange(3)], ())

    def refuse(shared, numbers):
        raise InputError("a part must be fine, got this one. Leave it.")

    with pytest.raises(InputError, match="a part must be fine"):
        spread.Spreader(ThisProcess()).run(refuse, None, [np.arange(3)], ())


def test_a_scheduler_that_does_not_answer_is_said():
    with pytest.raises(InputError, match="the scheduler must answer, got nothing"), on_cluster("tcp://127.0.0.1:9"):
        pass
