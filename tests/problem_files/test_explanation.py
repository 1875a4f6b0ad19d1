import json
from dataclasses import replace

import numpy as np
import pytest

from journeyman.experts import Boltzmann, LogNormal
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.problem_files import explain
from journeyman.problem_files.explanation import explanation_lines
from journeyman.rewards import Discrete, PerStateAction
from journeyman.wording import percent
from journeyman.worlds import make_world


def one_state_problem(beta, rewards):
    """One state whose actions end the episode: Q is the reward itself."""
    transitions = np.zeros((1, len(rewards), 1))
    mdp = FiniteMDP.from_dense(transitions, layout="SAS", discount=0.5, terminal=np.array([False]))
    return Problem(mdp, PerStateAction(mdp), Discrete(np.array([rewards])), beta)


@pytest.mark.parametrize("beta", [0.5, 2.0])
def test_what_beta_means_has_a_closed_form(beta):
    found = explain(one_state_problem(beta, [1.0, 0.0, 0.0]))
    expected = np.exp(beta) / (np.exp(beta) + 2.0)
    assert found.best_action_chance == pytest.approx(expected, rel=1e-12)
    assert found.best_action_range == pytest.approx((expected, expected), rel=1e-12)
    assert found.chance_at_random == pytest.approx(1 / 3)
    assert found.halving_gap * beta == pytest.approx(np.log(2.0))


def test_ties_count_as_best():
    found = explain(one_state_problem(1.0, [1.0, 1.0, 0.0]))
    assert found.best_action_chance == pytest.approx(2 * np.e / (2 * np.e + 1))
    assert found.chance_at_random == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("beta", "rewards", "message"),
    [
        (0.01, [1.0, 0.0], "chooses nearly at random"),
        (50.0, [1.0, 0.0], "nearly never makes a mistake"),
        (1.0, [1.0, 1.0], "Actions never differ"),
    ],
)
def test_what_is_unusual_is_said(beta, rewards, message):
    (warning,) = explain(one_state_problem(beta, rewards)).warnings
    assert message in warning


def test_nobody_to_ask():
    problem = replace(one_state_problem(1.0, [1.0, 0.0]), queryable=np.array([False]))
    found = explain(problem)
    assert found.best_action_chance is None
    assert "No state can be asked about" in found.warnings[0]
    assert "Nobody can be asked" in dict(explanation_lines(found))["Expert"]


def test_record_and_words_agree():
    problem = make_world("jail", 3).problem
    found = explain(problem, num_rewards=50)
    record = json.loads(json.dumps(found.to_record(), allow_nan=False))
    assert record["num_states"] == 36
    assert record["parameters"] == ["mud", "water", "lava"]
    words = dict(explanation_lines(found))
    assert f"a best action {percent(record['best_action_chance'])} of the time" in words["Expert"]
    assert words["Size"].startswith("36 states, 5 actions")


def test_a_discrete_prior_with_an_unknown_expert_is_warned_of():
    world = make_world("jail", 3)
    prior = Discrete(np.array([[-80.0, -40.0, -50.0], [-40.0, -48.0, -50.0]]))
    known = explain(replace(world.problem, prior=prior))
    assert not any("No method" in warning for warning in known.warnings)
    unknown = explain(replace(world.problem, prior=prior, expert=Boltzmann(LogNormal(4.0, 0.5))))
    assert any("No method of inference does this problem" in warning for warning in unknown.warnings)
