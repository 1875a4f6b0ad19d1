"""Criticism of models with unknown parameters of the expert: everyone is judged by what they do themselves."""

from dataclasses import replace

import numpy as np
import pytest

from journeyman.criticism import criticise
from journeyman.criticism.policies import counts_by_place, log_policies, place_name
from journeyman.experts import Beta, Boltzmann, LogNormal, SimulatedExpert
from journeyman.inference import infer
from journeyman.worlds import make_world

WORLD = make_world("random-grid", 3, size=3, terminals="independent")
PEOPLE = Boltzmann(LogNormal(2.0, 1.0), annotators=("anna", "ben"))


def answered(model, parameters, num_answers, seed=0):
    states = np.random.default_rng(seed).choice(np.flatnonzero(WORLD.problem.queryable), num_answers)
    return SimulatedExpert(WORLD.problem.mdp, WORLD.reward, model, seed=seed, parameters=parameters).answers(states)


@pytest.fixture(scope="module")
def two_people():
    """Anna is sharp, Ben does nearly anything; both answer in the same states."""
    sharp, loose = (
        [replace(answer, annotator=name) for answer in answered(Boltzmann(beta), None, 40)]
        for name, beta in (("anna", 6.0), ("ben", 0.1))
    )
    answers = [answer for pair in zip(sharp, loose, strict=True) for answer in pair]
    return answers, infer(replace(WORLD.problem, expert=PEOPLE), answers, seed=1, num_threads=1, num_particles=300)


def test_places_tell_annotators_apart(two_people):
    _, posterior = two_people
    num_states = WORLD.problem.mdp.num_states
    found = log_policies(posterior, np.array([1, num_states + 1]))
    for place, name in enumerate(PEOPLE.annotators):
        expected = posterior.log_policies([1], name)[:, 0]
        assert np.array_equal(found[:, place], np.maximum(expected, found.min()))
    assert not np.allclose(found[:, 0], found[:, 1])
    assert place_name(posterior.problem, num_states + 1).endswith("(ben)")
    assert counts_by_place(posterior.answers).sum() == 80


def test_two_people_with_parameters_of_their_own_are_no_contradiction(two_people):
    answers, posterior = two_people
    found = criticise(posterior, answers, num_threads=1)
    assert found.is_full
    assert not found.is_doubtful
    assert {item.state_name[-5:] for item in found.deviations} & {"anna)", "(ben)"}


def test_one_person_with_the_answers_of_both_is_doubtful(two_people):
    """The same answers under one known beta: no such expert is likely."""
    answers, _ = two_people
    problem = replace(WORLD.problem, expert=Boltzmann(6.0))
    posterior = infer(problem, answers, seed=1, num_threads=1, num_particles=300)
    assert criticise(posterior, answers, num_threads=1).is_doubtful


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        (Boltzmann(LogNormal(2.0, 0.5), lapse=Beta(1, 9)), [2.0, 0.1]),
        (Boltzmann(LogNormal(2.0, 0.5), values="soft"), [2.0]),
        (Boltzmann(2.0, values="soft"), None),
    ],
)
def test_right_models_of_experts_are_not_doubtful(model, parameters):
    answers = answered(model, parameters, 40, seed=2)
    posterior = infer(replace(WORLD.problem, expert=model), answers, seed=1, num_threads=1, num_particles=300)
    found = criticise(posterior, answers, num_threads=1)
    assert not found.is_doubtful
    assert np.isfinite(found.log_evidence)
