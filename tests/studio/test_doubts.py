"""Whether the model fits, in words for people who know neither the model nor statistics."""

import re

import numpy as np
import pytest

from journeyman.demonstrations import Demonstration
from journeyman.learner import ActiveLearner
from journeyman.studio.doubts import model_record, times_words
from journeyman.studio.worker import belief_record
from journeyman.worlds import make_world

JARGON = re.compile(r"beta|lapse|Boltzmann|LogNormal|posterior|prior|z =|state \d|\d{5}|\^", re.IGNORECASE)


def learned(answers):
    """A learner of the jail after some answers, by state and action."""
    learner = ActiveLearner(
        make_world("jail", 0).problem,
        inference_options={"num_particles": 150},
        progress=False,
    )
    for state, action in answers:
        learner.attach(Demonstration.annotation(state, action), allow_duplicates=True)
    return learner


def test_without_answers_nothing_is_said():
    found = belief_record(learned([]))["model"]
    assert (found["status"], found["sentences"], found["advice"]) == ("unknown", [], [])


@pytest.mark.parametrize("times", [1, 12])
def test_answers_that_contradict_each_other_are_named_in_plain_words(times):
    learner = learned([(7, action) for _ in range(times) for action in (1, 3)])
    criticism = learner.criticism(is_full=False)
    found = model_record(criticism, learner.problem.mdp)
    assert found["status"] == ("doubtful" if criticism.is_doubtful else "fits")
    text = " ".join([found["headline"], *found["sentences"], *found["advice"]])
    assert not JARGON.search(text)
    if times == 12:
        assert found["status"] == "doubtful"
        assert "row 1, column 1" in text and "history" in text


@pytest.mark.parametrize(
    ("factor", "words"),
    [(1e-30, "less than half"), (1.0, "about 1.0 times"), (52.0, "about 52 times"), (1e300, "more than 1000 times")],
)
def test_no_factor_is_larger_than_anybody_can_picture(factor, words):
    assert times_words(float(np.log(factor))) == words


def test_scores_on_the_map_are_in_the_unit_of_questions():
    learner = learned([(7, 1)])
    values, shown = learner.scores().values, belief_record(learner)["scores"]["values"]
    for value, other in zip(values.tolist(), shown, strict=True):
        assert other is None if not np.isfinite(value) else other == pytest.approx(value)


def test_every_number_has_words():
    words = belief_record(learned([(7, 1)]))["explain"]
    wanted = {
        "scores",
        "reward",
        "policy",
        "chance",
        "sure",
        "goal",
        "chart",
        "regret",
        "model",
        "warnings",
        "based_on",
    }
    assert wanted <= words.keys()
    assert all(text.endswith(".") for text in words.values())
