"""Learners and studies with experts of whom not everything is known."""

from dataclasses import replace

import numpy as np
import pytest

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.experts import Beta, Boltzmann, LogNormal
from journeyman.learner import ActiveLearner, simulate
from journeyman.study import Study
from journeyman.study.formats import read_demonstrations, write_demonstrations
from journeyman.worlds import make_world

EXPERTS = {
    "unknown": Boltzmann(LogNormal(2.0, 0.7), Beta(1.0, 9.0)),
    "soft": Boltzmann(LogNormal(2.0, 0.7), values="soft"),
    "two people": Boltzmann(LogNormal(2.0, 0.7), annotators=("anna", "ben")),
}
OPTIONS = {"epsilon": 0.5, "delta": 0.1, "inference_options": {"num_particles": 200}, "num_threads": 1}


def small_world(expert):
    world = make_world("random-grid", 0, size=3, terminals="independent")
    return replace(world, problem=replace(world.problem, expert=expert))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "soft" else ()) for name in EXPERTS]
)
def test_a_learner_asks_certifies_and_forecasts(name):
    world = small_world(EXPERTS[name])
    learner = ActiveLearner(world.problem, **OPTIONS)
    simulate(learner, world.expert, 4)
    posterior = learner.posterior()
    assert posterior.expert_parameters.shape[1] == world.problem.expert_space.size
    assert posterior.counts.sum() == 4 and posterior.counts.shape == world.problem.mdp.available.shape
    certificate = learner.certificate()
    assert 0.0 <= certificate.upper_bound <= 1.0
    assert any("beta" in line for line in certificate.assumptions)
    assert certificate.sensitivity == ()
    assert learner.forecast(num_runs=1, limit=1).limit == 1


@pytest.mark.parametrize("name", EXPERTS)
def test_a_study_gives_the_same_belief_after_reopening(name, tmp_path):
    world = small_world(EXPERTS[name])
    path = tmp_path / "own.study"
    with Study.create(path, world.problem, **OPTIONS) as study:
        simulate(study, world.expert, 3)
        before = study.posterior()
    with Study.open(path, num_threads=1) as study:
        assert study.problem.expert == world.problem.expert
        after = study.posterior()
        np.testing.assert_array_equal(after.theta, before.theta)
        np.testing.assert_array_equal(after.expert_parameters, before.expert_parameters)
        np.testing.assert_array_equal(after.answers, before.answers)


def test_answers_must_be_signed_where_annotators_differ(tmp_path):
    world = small_world(EXPERTS["two people"])
    learner = ActiveLearner(world.problem, **OPTIONS)
    query = learner.ask()
    with pytest.raises(InputError, match="by one of the annotators anna, ben"):
        learner.tell(query, 0)
    learner.tell(query, 0, annotator="ben")
    assert learner.posterior().answers.sum(axis=(1, 2)).tolist() == [0, 1]
    unsigned = Demonstration.annotation(query.state, 1)
    with pytest.raises(InputError, match="by one of the annotators anna, ben"):
        learner.attach(unsigned)
    write_demonstrations([unsigned], tmp_path / "answers.jsonl", world.problem)
    learner.attach(read_demonstrations(tmp_path / "answers.jsonl", world.problem), annotator="anna")
    assert learner.posterior().answers.sum(axis=(1, 2)).tolist() == [1, 1]
