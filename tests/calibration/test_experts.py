"""Calibration of what is inferred about the expert: uniform ranks where all is right, and mistakes that are found."""

from math import exp

import numpy as np
import pytest
from calibration.problems import choice_problem, normal_prior

from journeyman.calibration import CalibrationSpec, summarise
from journeyman.calibration.replication import drawn_answers, drawn_expert, drawn_truth, quantity_names, replicate
from journeyman.errors import InputError
from journeyman.experts import Beta, Boltzmann, LogNormal

BETA, LAPSE = LogNormal(2.0, 0.7), Beta(1.0, 4.0)
EXPERTS = {
    "beta": Boltzmann(BETA),
    "lapse": Boltzmann(2.0, LAPSE),
    "soft": Boltzmann(BETA, values="soft"),
}
MISTAKES = {  # what is assumed of an expert with unknown beta, or with lapses as well
    "Jacobian left out": (Boltzmann(BETA), Boltzmann(LogNormal(2.0 * exp(-0.49), 0.7))),
    "prior too narrow": (Boltzmann(BETA), Boltzmann(LogNormal(2.0, 0.1))),
    "lapses left out": (Boltzmann(8.0, LAPSE), Boltzmann(8.0)),
}


def spec_of(expert, **more):
    options = {"method": "enumerate", "method_options": {"num_points": 512}, "num_demonstrations": 10, "num_draws": 39}
    return CalibrationSpec(problem=choice_problem(normal_prior()), expert=expert, **options, **more)


def summary_of(spec, count):
    names = quantity_names(spec.assumed(spec.example_problem()), spec.parameters)
    return summarise([replicate(spec, index) for index in range(count)], names, spec.num_draws)


@pytest.mark.parametrize("name", EXPERTS)
def test_ranks_of_the_experts_parameters_are_uniform(name):
    summary = summary_of(spec_of(EXPERTS[name]), 60)
    assert summary.quantities[-1].name == ("lapse" if name == "lapse" else "beta")
    assert summary.is_calibrated  # seeds are fixed; a right method fails for 1 in 100 seeds


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_about_the_expert_are_found(name):
    expert, assumed = MISTAKES[name]
    assert not summary_of(spec_of(expert, assumed_expert=assumed), 100).is_calibrated


def test_what_is_unknown_is_drawn_anew_in_each_replication():
    spec = CalibrationSpec(problem=choice_problem(normal_prior()), expert=Boltzmann(BETA, annotators=("anna", "ben")))
    problem, truth = drawn_truth(spec, 0)
    draws = np.concatenate([drawn_expert(spec, index, problem) for index in range(2000)])
    assert draws.shape == (2000, 2)
    error = 6.0 * 0.7 / np.sqrt(2000)
    np.testing.assert_allclose(np.log(draws).mean(axis=0), np.log(2.0), atol=error)
    assert {answer.annotator for answer in drawn_answers(spec, 0, problem, truth)} == {"anna", "ben"}
    assert quantity_names(problem, (0,))[-2:] == ("beta of anna", "beta of ben")


def test_specs_tell_experts_apart():
    plain = CalibrationSpec(problem=choice_problem(normal_prior()))
    assert "expert" not in plain.record()  # ids of results that there are stay what they were
    ids = {spec_of(expert).id for expert in EXPERTS.values()} | {plain.id}
    assert len(ids) == 4
    problems = [CalibrationSpec(problem=spec_of(expert).example_problem()).id for expert in EXPERTS.values()]
    assert len(set(problems)) == 3
    with pytest.raises(InputError, match="must leave nothing unknown that the expert does not, got beta"):
        spec_of(Boltzmann(2.0), assumed_expert=Boltzmann(BETA))
