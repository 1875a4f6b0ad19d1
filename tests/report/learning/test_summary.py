import json

import numpy as np
import pytest
from report.learners import grid_learner, grid_summary, plain_summary

from journeyman.acquisition import Acquisition
from journeyman.acquisition.entropy import rate_random
from journeyman.apprentice.certificate_text import HEADLINES
from journeyman.experts import Question
from journeyman.learner import ActiveLearner, Query
from journeyman.mdp import solve
from journeyman.report.learning.page import learning_record
from journeyman.report.learning.sentences import (
    answer_words,
    change_sentence,
    learned_sentence,
    limits,
    place_words,
    short_place,
    verdict_sentences,
)
from journeyman.report.learning.summary import reason_of, summarise_learning
from journeyman.worlds import make_world


def test_queries_have_their_status_and_answers():
    summary = grid_summary()
    assert [item.status for item in summary.asked] == [
        "done",
        "failed",
        "done",
        "failed",
        "abandoned",
        "waiting",
        "waiting",
    ]
    assert [item.answer is not None for item in summary.asked] == [True, False, True, False, False, False, False]
    assert (summary.num_attached, summary.num_undone, summary.num_demonstrations) == (1, 1, 3)
    assert summary.posterior.counts.sum() == 3


def test_the_course_begins_before_any_answer_and_follows_the_history():
    summary, learner = grid_summary(), grid_learner()
    assert [step.num_demonstrations for step in summary.course] == [0, 1, 2, 3, 2, 3]
    assert summary.course == learner.history()
    assert summary.true_regrets == ()
    prior_entropy = 9 * 0.5 * np.log(2 * np.pi * np.e * 9.0)  # N(0, 3) in every cell
    assert summary.course[0].entropy == pytest.approx(
        prior_entropy, abs=4 * np.sqrt(9 / 2 / 200)
    )  # mean of 9 chi-squares


def test_the_numbers_are_those_of_the_learner():
    summary, learner = grid_summary(), grid_learner()
    assert summary.certificate is learner.certificate()
    assert summary.apprentice.tolist() == learner.apprentice().tolist()
    np.testing.assert_array_equal(summary.scores.values, learner.scores().values)
    assert np.isneginf(summary.scores.values[summary.asked[4].query.state])  # abandoned
    assert summary.is_finished == learner.is_finished()


@pytest.mark.parametrize(
    ("score", "median", "unit", "ids", "expected"),
    [
        (0.5, 0.1, "nats", [3], "highest score: 0.5 nats, 5 times the median"),
        (0.5, 0.0, "nats", [3], "highest score: 0.5 nats; about 0 in most states"),
        (0.5, 0.5, "nats", [3], "0.5 nats, as elsewhere"),
        (2.0, 1.0, "reward", [3], "highest score: 2 of reward, 2 times the median"),
        (0.5, None, "nats", [3], "adds most to what still waits: 0.5 nats"),
        (0.5, None, "nats", [2, 3], "2 of 2 chosen together; adds 0.5 nats"),
        (0.5, 0.1, "bits", [3], "highest score: 0.5 bits, 5 times the median"),
        (0.5, 0.1, "", [3], "highest score: 0.5, 5 times the median"),
    ],
)
def test_why_a_query_was_asked(score, median, unit, ids, expected):
    ask = {"queries": [{"id": i} for i in ids], "scores": {"median": median}}
    query = Query(3, 0, "state", None, score, "")
    own = {**ask, "scores": {"median": median, "unit": unit}}
    assert reason_of(query, own, Acquisition("", rate_random, unit)) == expected
    assert reason_of(query, own, Acquisition("", rate_random, "guesses")) == expected  # it handed over to another one
    bare = expected.replace(" of reward", "").replace(f" {unit}", "") if unit else expected
    assert reason_of(query, ask, Acquisition("", rate_random, "guesses")) == bare  # version 0.1 wrote no unit
    assert reason_of(query, ask, Acquisition("", rate_random, unit, is_by_chance=True)) == "chosen by chance"


def test_true_regret_of_the_best_policy_is_zero_and_of_the_worst_the_gap():
    world = make_world("random-grid", 1, size=3)
    best, worst = solve(world.problem.mdp, world.reward), solve(world.problem.mdp, -world.reward)
    assert world.regret(best.policy) == pytest.approx(0.0, abs=1e-9)
    gap = world.problem.mdp.initial @ (best.values + worst.values)
    assert world.regret(worst.policy) == pytest.approx(gap)


def test_all_states_abandoned_leaves_a_summary_without_scores():
    world = make_world("random-grid", 1, size=2)
    learner = ActiveLearner(world.problem, inference_options={"num_particles": 100}, seed=0)
    while len({query.state for query in learner.queries}) < world.problem.queryable.sum():
        learner.abandon(learner.ask())
    summary = summarise_learning(learner, "empty")
    assert summary.scores is None
    assert any("state left to ask" in warning for warning in summary.warnings)


def test_words_by_hand():
    world = make_world("jail", 0)
    mdp = world.problem.mdp
    assert (place_words(mdp, 30), short_place(mdp, 30)) == ("30 (row 5, column 0, jail)", "30 (jail)")
    assert (place_words(mdp, 31), short_place(mdp, 31)) == ("31 (row 5, column 1)", "31")
    shown = world.make_expert(0).demonstrate(Question(1, 0, "trajectory", 20))
    assert shown.ended == "terminated"
    assert answer_words(mdp, shown).endswith("(ended)")
    assert answer_words(mdp, None) == ""


def test_sentences_tell_what_cannot_be_known():
    shift, level = list(limits(grid_summary()))[:2]
    assert shift.startswith("1 of 9 directions")
    assert "10 in terminal cells" in level
    assert next(limits(plain_summary())).startswith("3 of 6 directions")
    assert "of 9 directions" in learned_sentence(grid_summary())
    assert change_sentence(grid_summary()).startswith(
        "With 3 demonstrations of one action each, by all samples: the chance of a regret of 0.1 or more went"
    )
    assert verdict_sentences(grid_summary())[0] == HEADLINES[grid_summary().certificate.status]


def test_goal_reward_has_its_own_verdict():
    world = make_world("random-grid", 1, size=2)
    options = {"goal": "reward", "inference_options": {"num_particles": 100}}
    open_ = summarise_learning(ActiveLearner(world.problem, **options), "x")
    assert verdict_sentences(open_)[0] == "The reward is not known well enough yet."
    assert open_.confirmation is None
    done = summarise_learning(ActiveLearner(world.problem, goal_options={"width": 1e6}, **options), "x")
    assert done.is_finished and verdict_sentences(done)[0] == "The reward is known well enough."


@pytest.mark.parametrize("summary_fn", [grid_summary, plain_summary])
def test_the_record_is_json_without_nan(summary_fn):
    summary = summary_fn()
    record = json.loads(json.dumps(learning_record(summary), allow_nan=False))
    assert record["num_demonstrations"] == summary.num_demonstrations
    assert len(record["rewards"]) == len(summary.rewards.mean)
    assert len(record["course"]) == len(summary.course)
    assert record["num_invisible_directions"] == len(summary.identifiability.invisible)
    assert [item["id"] for item in record["asked"]] == [item.query.id for item in summary.asked]
