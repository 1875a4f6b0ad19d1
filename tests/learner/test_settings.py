import json

import numpy as np
import pytest
from learner.small import grid_world

from journeyman.errors import InputError, UnsupportedError
from journeyman.inference.particles import SMCSettings
from journeyman.learner import ActiveLearner, LearnerSettings
from journeyman.worlds import make_world


def test_settings_survive_json():
    settings = LearnerSettings(
        acquisition="pac_eig",
        acquisition_options={"edges": (0, 1), "occupancy": False},
        inference_options={"num_particles": np.int64(300)},
        kind="trajectory",
        length=4,
        costs=np.arange(1.0, 10.0),
        step_cost=0.25,
        seed=3,
    )
    again = LearnerSettings.from_record(json.loads(json.dumps(settings.to_record())))
    assert again == settings
    assert again.costs == tuple(range(1, 10))
    assert again.step_cost == 0.25
    older = {name: value for name, value in settings.to_record().items() if name != "step_cost"}
    assert LearnerSettings.from_record(older).step_cost == 0.0


@pytest.mark.parametrize(("goal", "expected"), [("policy", "pac_eig"), ("reward", "reward_eig")])
def test_the_goal_decides_the_acquisition(goal, expected):
    assert LearnerSettings(goal=goal).acquisition == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"acquisition": "pac_ig"}, "Did you mean 'pac_eig'"),
        ({"acquisition_options": {"scop": "local"}}, "got 'scop'"),
        ({"acquisition_options": {"policy": object()}}, "policy must be numbers, words or lists"),
        ({"inference": "smcc"}, "Did you mean 'smc'"),
        ({"inference_options": {"particles": 3}}, "got 'particles'"),
        ({"inference_options": {"num_particles": 3}}, "num_particles must be"),
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"delta": 1}, "delta must lie strictly between 0 and 1"),
        ({"confidence": 0}, "confidence must lie"),
        ({"scope": "all"}, "scope must be one of initial, every_state"),
        ({"kind": "pair"}, "kind must be one of state, trajectory"),
        ({"kind": "trajectory"}, "the length of trajectory queries"),
        ({"kind": "trajectory", "length": 0}, "the length of trajectory queries"),
        ({"length": 3}, "state queries must have no length"),
        ({"step_cost": 0.1}, "step_cost must be 0 for state queries"),
        ({"kind": "trajectory", "length": 3, "step_cost": -1}, "step_cost must be finite and at least 0"),
        ({"kind": "trajectory", "length": 3, "step_cost": float("nan")}, "step_cost must be finite"),
        ({"goal": "fun"}, "goal must be one of policy, reward"),
        ({"goal_options": {"width": 1}}, "goal 'policy' must get options it knows, got 'width'. It has: none"),
        ({"goal": "reward", "goal_options": {"size": 1}}, "It has: width, level, information"),
        ({"goal": "reward", "goal_options": {"width": -1}}, "width must be positive"),
        ({"apprentice": "best"}, "an apprentice must be one that exists"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"num_histories": 1}, "num_histories"),
        ({"confirmation_factor": 0}, "confirmation_factor"),
    ],
)
def test_mistakes_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        LearnerSettings(**settings)


def test_what_does_not_fit_the_problem_is_refused():
    problem = grid_world().problem
    with pytest.raises(UnsupportedError, match="enumerate"):
        ActiveLearner(problem, inference="enumerate")
    with pytest.raises(UnsupportedError, match="cannot rate trajectory queries"):
        ActiveLearner(problem, acquisition="policy_entropy", kind="trajectory", length=3)
    with pytest.raises(InputError, match=r"costs must have shape \(9,\)"):
        ActiveLearner(problem, costs=[1.0, 2.0])
    with pytest.raises(InputError, match=r"world\.problem"):
        ActiveLearner(make_world("jail", 0))
    with pytest.raises(InputError, match="num_threads"):
        ActiveLearner(problem, num_threads=0)


def test_settings_of_a_newer_version_are_refused():
    with pytest.raises(InputError, match="got 'mood'"):
        LearnerSettings.from_record({"mood": "good"})


@pytest.mark.parametrize("delta", [0.2, 0.1, 0.05, 0.01])
def test_half_of_the_particles_can_show_delta(delta):
    settings = LearnerSettings(delta=delta)
    num_particles = settings.sized_options.get("num_particles", SMCSettings().num_particles)
    ancestors = num_particles / SMCSettings().chain_length / 2
    assert 1.0 - (1.0 - settings.confidence) ** (1.0 / ancestors) <= delta  # the bound after no failure at all
    assert num_particles >= 1000
    given = {"num_particles": 300}
    assert LearnerSettings(delta=delta, inference_options=given).sized_options == given


@pytest.mark.parametrize("costs", [3.0, np.ones((3, 3)), "dear"])
def test_costs_must_be_a_list(costs):
    with pytest.raises(InputError, match="costs must be"):
        LearnerSettings(costs=costs)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "failure_chance"),
        ({"acquisition": "random"}, "random"),
        ({"goal": "reward"}, "reward_eig"),
        ({"kind": "trajectory", "length": 3}, "failure_chance"),
        ({"scope": "every_state"}, "pac_eig"),
        ({"acquisition_options": {"scope": "joint"}}, "pac_eig"),  # options without a name are those of pac_eig
    ],
)
def test_the_default_function_suits_goal_query_and_problem(given, name):
    assert ActiveLearner(grid_world().problem, **given).settings.acquisition == name
    assert LearnerSettings.for_problem(grid_world().problem, **given).acquisition == name


def test_on_large_problems_the_default_does_not_look_ahead():
    problem = make_world("random-grid", 0, size=13).problem
    assert ActiveLearner(problem).settings.acquisition == "pac_eig"
