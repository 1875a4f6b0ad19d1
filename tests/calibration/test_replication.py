from dataclasses import replace

import numpy as np
import pytest
from calibration.problems import choice_problem, normal_prior

from journeyman.calibration import CalibrationSpec, replicate, replication as module
from journeyman.calibration.replication import Stream, drawn_answers, drawn_truth, stream_seed
from journeyman.errors import InferenceError
from journeyman.inference import infer
from journeyman.worlds import make_world

EXACT = {"problem": choice_problem(), "method": "enumerate", "num_demonstrations": 10}
GRID = {"world": "random-grid", "world_options": {"size": 4, "terminals": "independent"}}
SHORT = {"sampler": "hmc", "num_warmup": 30, "num_draws": 25, "num_chains": 4}


def timeless(replication):
    return replace(replication, seconds=0.0)


@pytest.mark.parametrize(
    "settings",
    [EXACT, GRID | {"method": "smc", "method_options": {"num_particles": 200}}],
    ids=["enumerate", "smc"],
)
def test_a_replication_is_determined_by_spec_and_index(settings):
    spec = CalibrationSpec(**settings)
    assert timeless(replicate(spec, 3)) == timeless(replicate(spec, 3))
    assert timeless(replicate(spec, 3)).levels != timeless(replicate(spec, 4)).levels
    assert timeless(replicate(spec, 3)).levels != timeless(replicate(CalibrationSpec(**settings, seed=1), 3)).levels


def test_ranks_and_levels_lie_where_they_must():
    found = replicate(CalibrationSpec(**EXACT, num_draws=19), 0)
    assert len(found.ranks) == len(found.levels) == 5
    assert all(0 <= rank <= 19 for rank in found.ranks)
    assert all(0.0 <= level <= 1.0 for level in found.levels)
    assert found.effective_draws is None  # atoms are the whole posterior
    assert found.error is None


def test_levels_are_those_of_the_posterior():
    """The level of a parameter is its weight below the truth in the posterior that a user gets; 1/300 is a tie."""
    spec = CalibrationSpec(**EXACT)
    problem, truth = drawn_truth(spec, 5)
    posterior = infer(problem, drawn_answers(spec, 5, problem, truth), "enumerate")
    level = replicate(spec, 5).levels[3]
    below = posterior.weights @ (posterior.theta[:, 0] < truth[0])
    tied = posterior.weights @ (posterior.theta[:, 0] == truth[0])
    assert below - 1e-6 <= level <= below + tied + 1e-6


def test_truth_is_the_prior_and_streams_are_apart():
    """Truths of 2000 replications: mean 0 and standard deviation 1 within 4.5 standard errors."""
    spec = CalibrationSpec(problem=choice_problem(normal_prior()), method="smc")
    truths = np.array([drawn_truth(spec, index)[1] for index in range(2000)])
    assert np.abs(truths.mean(axis=0)).max() < 4.5 / np.sqrt(2000)
    assert np.abs(truths.std(axis=0) - 1).max() < 4.5 / np.sqrt(4000)
    seeds = {stream_seed(0, index, stream) for index in range(100) for stream in Stream}
    assert len(seeds) == 100 * len(Stream)


def test_answers_come_from_queryable_states_and_the_true_beta():
    spec = CalibrationSpec(**GRID, assumed_beta_factor=2.0, num_demonstrations=200)
    plain = CalibrationSpec(**GRID, num_demonstrations=200)
    problem, truth = drawn_truth(spec, 0)
    answers = drawn_answers(spec, 0, problem, truth)
    assert len(answers) == 200
    assert set(np.flatnonzero(problem.queryable)) == {answer.start_state for answer in answers}
    assert answers == drawn_answers(plain, 0, problem, truth)  # the expert does not know what is assumed


def test_trajectories():
    spec = CalibrationSpec(world="jail", kind="trajectory", length=4, num_demonstrations=3)
    answers = drawn_answers(spec, 0, *drawn_truth(spec, 0))
    assert [len(answer) <= 4 for answer in answers] == [True] * 3
    assert replicate(spec, 0).error is None


def test_chains_that_are_too_short_are_run_longer():
    """100 draws of four short chains cannot be worth 99 independent ones: they are doubled until they are."""
    spec = CalibrationSpec(**GRID, method="policywalk", method_options=SHORT)
    assert replicate(spec, 0).effective_draws >= 99


def test_a_world_without_queryable_states_gives_no_answers():
    problem = make_world("jail").problem
    silent = replace(problem, queryable=np.zeros(problem.mdp.num_states, dtype=bool))
    spec = CalibrationSpec(problem=silent, method_options={"num_particles": 100})
    assert drawn_answers(spec, 0, *drawn_truth(spec, 0)) == ()


def test_a_failure_is_recorded(monkeypatch):
    def fail(*arguments, **options):
        raise InferenceError("all particles died")

    monkeypatch.setattr(module, "infer", fail)
    found = replicate(CalibrationSpec(**EXACT), 0)
    assert (found.error, found.ranks, found.levels) == ("all particles died", (), ())
