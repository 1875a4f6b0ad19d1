import json
from dataclasses import replace

import numpy as np
import pytest
from problem_files.texts import REST

from journeyman.experts import Boltzmann, LogNormal
from journeyman.mdp import FiniteMDP, Grid
from journeyman.problem import Problem
from journeyman.problem_files import explain
from journeyman.problem_files.explanation import explanation_lines
from journeyman.rewards import Discrete, LinearFeatures, Normal, PerState, PerStateAction
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


def fork_problem(prior, *, labels=("crossing", "left arm", "right arm")):
    """From a crossing, either of two arms ends the episode; a fourth state, where there is one, is never reached."""
    size = len(labels)
    transitions = np.zeros((size, 2, size))
    transitions[0, 0, 1] = transitions[0, 1, 2] = 1.0
    transitions[3:, :, 1] = 1.0
    mdp = FiniteMDP.from_dense(
        transitions, layout="SAS", discount=0.5, initial=np.eye(size)[0], state_labels=labels,
        grid=Grid(1, size, kinds=("plain", "west", "east", *["plain"] * (size - 3))),
    )  # fmt: skip
    features = np.zeros((size, 2))
    features[1, 0] = features[2, 1] = 1.0
    return Problem(mdp, LinearFeatures(features, mdp, names=("west", "east")), prior, 20.0)


def test_what_a_prior_implies_has_a_closed_form():
    """One of two rewards, each with chance 1/4 and 3/4: 4 in the west, or 1 in the east."""
    prior = Discrete(np.array([[4.0, 0.0], [0.0, 1.0]]), [0.25, 0.75])
    found = explain(fork_problem(prior), num_rewards=4000, epsilon=0.3).prior
    # Half of the reward counts, since it comes a step later; at random one gets half of that.
    assert found.returns == pytest.approx((0.5, 0.5, 2.0))
    assert found.at_stake == pytest.approx((0.25, 0.25, 1.0))
    assert found.epsilon_share == pytest.approx(0.3 / 0.25)
    error = 4.0 * np.sqrt(0.25 * 0.75 / 4000)  # four standard errors of a share of draws
    assert found.random_is_enough == pytest.approx(0.75, abs=error)  # 0.25 < 0.3
    assert found.visited == "feature"
    assert [one.name for one in found.visits] == ["west", "east", "elsewhere"]
    west, east, elsewhere = found.visits
    # Time is 1 at the crossing and 1/2 in an arm.
    assert (west.at_random, east.at_random, elsewhere.at_random) == pytest.approx((1 / 6, 1 / 6, 2 / 3))
    assert (west.share, east.share) == pytest.approx((west.sought / 3, east.sought / 3))
    assert west.sought + east.sought == 1.0
    assert elsewhere.share == pytest.approx(2 / 3)


def test_where_all_actions_are_best_all_are_done():
    found = explain(fork_problem(Discrete(np.array([[1.0, 1.0]])))).prior
    assert [one.share for one in found.visits] == pytest.approx([1 / 6, 1 / 6, 2 / 3])
    assert [one.sought for one in found.visits] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("std", "epsilon", "is_share", "words", "warning"),
    [
        (1.0, 0.02, False, "neither small nor large", None),
        (1.0, 10.0, False, "large", "Epsilon = 10 is large: under 100 % of the rewards"),
        (1000.0, 0.01, False, "small", "Epsilon = 0.01 is small"),
        (1000.0, 0.01, True, "1 % of what is at stake: typically", None),
    ],
)
def test_epsilon_is_measured_by_what_is_at_stake(std, epsilon, is_share, words, warning):
    found = explain(fork_problem(Normal(2, 0.0, std)), epsilon=epsilon, is_share=is_share)
    assert words in dict(explanation_lines(found))["Epsilon"]
    assert [text for text in found.warnings if "Epsilon" in text] == [
        text for text in found.warnings if warning is not None and text.startswith(warning)
    ]
    assert (warning is None) or any(text.startswith(warning) for text in found.warnings)


def test_nothing_at_stake_is_said():
    problem = fork_problem(Normal(2, 0.0, 1.0))
    found = explain(replace(problem, mdp=replace(problem.mdp, initial=np.eye(3)[1])))  # starts where it ends
    assert found.prior.epsilon_share is None
    assert any("Nothing is at stake" in warning for warning in found.warnings)
    assert "every policy is as good as any other" in dict(explanation_lines(found))["Epsilon"]


def test_a_prior_that_does_not_know_the_goal_is_seen_coming():
    """A goal worth 8 under a prior of sd 1: what the prior expects is said, and that it may keep away from the goal."""
    found = explain(fork_problem(Normal(2, 0.0, 1.0)))
    assert (
        "between -2 and 2 (95 %). What lies outside, such as a goal worth 8" in dict(explanation_lines(found))["Prior"]
    )
    doubts = [warning for warning in found.warnings if "does not know whether" in warning]
    assert len(doubts) == 2
    assert "mean = { west = " in doubts[0]
    known = explain(fork_problem(Normal(2, [8.0, -8.0], 1.0)))
    assert not [warning for warning in known.warnings if "does not know whether" in warning]
    assert "west between 6" in dict(explanation_lines(known))["Prior"]


def test_unreachable_states_are_named():
    """Defect 11: unreachable states were counted, not named."""
    names = ("crossing", "left arm", "right arm", "attic", "cellar")
    found = explain(fork_problem(Normal(2, 0.0, 1.0), labels=names))
    assert found.unreachable == (3, 4)
    assert "2 cannot be reached from an initial one: attic and cellar" in dict(explanation_lines(found))["States"]
    assert any("cannot be reached from the initial states: attic and cellar" in text for text in found.warnings)
    assert "2 terminal (left arm and right arm), 1 initial (crossing)" in dict(explanation_lines(found))["States"]
    many = explain(fork_problem(Normal(2, 0.0, 1.0), labels=(*names, *"abcdefg")))
    assert any("attic, cellar, a, b, c and 4 more" in text for text in many.warnings)


@pytest.mark.parametrize("keys", ["", "[states]\nqueryable = []\n", '[memory]\nkind = "last_action"\n'])
def test_an_end_that_cannot_be_reached_is_named(load, keys):
    start = 'discount = 0.9\nmap = """\n#S#G#\n"""\n'
    found = explain(load(start + REST + keys))
    assert found.warnings[0].startswith(
        "The terminal state goal cannot be reached from the start: no way leads there from start. If that is not "
        "meant, open a way (on a map, draw floor in place of a wall) or move the start."
    )
    two = explain(load(start.replace("#S#G#", "GS#G#G") + REST + keys))
    assert "The terminal states r0c3 and r0c5 cannot be reached" in two.warnings[0]
    whole = explain(load(start.replace("#S#G#", "#S.G#") + REST + keys))
    assert not any("cannot be reached" in warning for warning in whole.warnings)


def test_without_terrains_the_most_visited_states_are_named():
    problem = fork_problem(Normal(2, 0.0, 1.0))
    mdp = replace(problem.mdp, grid=None)
    found = explain(Problem(mdp, PerState(mdp), Normal(3, 0.0, 1.0), 5.0))
    assert found.prior.visited == "state"
    assert found.prior.visits[0].name == "crossing"
    assert "most of the time at crossing 67 % (67 %)" in dict(explanation_lines(found))["Apprentice"]
    record = json.loads(json.dumps(found.to_record(), allow_nan=False))
    assert record["prior"]["visits"][0]["name"] == "crossing"
    assert record["unreachable_states"] == []
