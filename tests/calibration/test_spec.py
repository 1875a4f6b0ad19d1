from dataclasses import replace

import numpy as np
import pytest
from calibration.problems import choice_problem, discrete_prior, normal_prior

from journeyman.calibration import CalibrationSpec
from journeyman.calibration.spec import problem_id
from journeyman.errors import InputError, UnsupportedError
from journeyman.rewards import Normal
from journeyman.worlds import WORLDS, make_world

GRID = {"world": "random-grid", "world_options": {"size": 4, "terminals": "independent"}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "must have a world or a problem, got both or none"),
        (GRID | {"problem": choice_problem()}, "must have a world or a problem, got both or none"),
        ({"problem": make_world("jail")}, "problem must be a Problem"),
        ({"world": "jial"}, "Did you mean 'jail'?"),
        ({"world": "jail", "world_options": {"colour": 1}}, "got 'colour'"),
        ({"world": "jail", "world_options": {"beta": [1]}}, r"must be finite numbers, words, True or False, got \[1\]"),
        ({"world": "jail", "method": "scm"}, "Did you mean 'smc'?"),
        ({"world": "jail", "method_options": {"speed": 1}}, "got 'speed'. It has: num_particles"),
        ({"world": "jail", "num_draws": 3}, "num_draws must be a whole number of at least 9"),
        ({"world": "jail", "num_demonstrations": -1}, "num_demonstrations must be"),
        ({"world": "jail", "kind": "path"}, "kind must be one of state, trajectory"),
        ({"world": "jail", "kind": "trajectory"}, "length of a trajectory query"),
        ({"world": "jail", "length": 3}, "length must be left out for kind 'state'"),
        ({"world": "jail", "assumed_beta_factor": 0.0}, "assumed_beta_factor must be positive"),
        ({"world": "jail", "parameters": (0, 3)}, "parameters must be one or more different indices below 3"),
        ({"world": "jail", "parameters": ()}, "parameters must be one or more different indices below 3"),
        ({"world": "jail", "parameters": (1, 1)}, "parameters must be one or more different indices below 3"),
    ],
)
def test_mistakes_are_refused_before_any_work(changes, message):
    with pytest.raises(InputError, match=message):
        CalibrationSpec(**changes)


def test_a_method_that_cannot_do_the_problem_is_refused():
    with pytest.raises(UnsupportedError, match="enumerate needs at most 3 parameters"):
        CalibrationSpec(**GRID, method="enumerate")


def test_five_parameters_are_spread():
    assert CalibrationSpec(**GRID).parameters == (0, 4, 8, 11, 15)
    assert CalibrationSpec(world="jail").parameters == (0, 1, 2)


def test_published_generators_are_known():
    assert CalibrationSpec(world="random-8x8").depends_on_truth
    assert CalibrationSpec(world="random-grid").depends_on_truth
    for settings in (GRID, {"world": "jail"}, {"problem": choice_problem()}):
        assert not CalibrationSpec(**settings).depends_on_truth


def test_a_world_from_outside_says_itself_whether_its_dynamics_tell_the_truth():
    """By no option that the package knows."""

    def peeking(seed=0, *, peeks=True):
        return replace(make_world("lopes-two-state", seed), is_prior_exact=not peeks)

    WORLDS.register("peeking", peeking)
    try:
        assert CalibrationSpec(world="peeking").depends_on_truth
        assert not CalibrationSpec(world="peeking", world_options={"peeks": False}).depends_on_truth
    finally:
        WORLDS.unregister("peeking")


def test_every_setting_changes_the_id():
    base = GRID | {"method": "smc"}
    changed = [
        base | {"seed": 1},
        base | {"num_demonstrations": 5},
        base | {"num_draws": 49},
        base | {"assumed_beta_factor": 2.0},
        base | {"kind": "trajectory", "length": 3},
        base | {"kind": "trajectory", "length": 4},
        base | {"parameters": (0, 1)},
        base | {"method": "policywalk"},
        base | {"method_options": {"num_particles": 500}},
        base | {"world_options": {"size": 5, "terminals": "independent"}},
        {"world": "jail"},
        {"problem": choice_problem()},
    ]
    ids = [CalibrationSpec(**settings).id for settings in (base, *changed)]
    assert len(set(ids)) == len(ids)
    assert CalibrationSpec(**base).id == ids[0]


def test_problems_that_differ_have_other_fingerids():
    shifted = discrete_prior(299)
    problems = [
        choice_problem(),
        choice_problem(beta=3.0),
        choice_problem(shifted),
        choice_problem(normal_prior()),
        choice_problem(Normal(2, 0.0, 1.5)),
        choice_problem(Normal(2, [0.0, 0.1], 1.0)),
        make_world("jail", slip=0.2).problem,
        make_world("jail").problem,
    ]
    ids = {problem_id(problem) for problem in problems}
    assert len(ids) == len(problems)
    assert problem_id(make_world("jail", 5).problem) in ids  # another truth, the same problem


def test_assumed_problem_differs_in_beta_only():
    spec = CalibrationSpec(world="jail", assumed_beta_factor=2.0)
    problem = spec.example_problem()
    assumed = spec.assumed(problem)
    assert assumed.beta == 2.0 * problem.beta
    assert assumed.mdp is problem.mdp
    np.testing.assert_array_equal(assumed.queryable, problem.queryable)
