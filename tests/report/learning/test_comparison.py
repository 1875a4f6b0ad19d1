import pytest

from journeyman.errors import InputError
from journeyman.learner import ActiveLearner
from journeyman.report.learning.comparison import compare, comparison_sentences
from journeyman.worlds import make_world


@pytest.fixture(scope="module")
def compared():
    """PAC-EIG and action entropy in the jail world with a generous epsilon: a few answers are enough for the first."""
    world = make_world("jail", 4)
    learners = {
        name: ActiveLearner(world.problem, acquisition=name, epsilon=2.0, delta=0.3, seed=0)
        for name in ("pac_eig", "action_entropy")
    }
    seen = []
    return compare(world, learners, 4, on_turn=seen.append), learners, seen


def test_learners_take_turns_until_they_are_finished(compared):
    comparison, learners, seen = compared
    assert list(comparison.turns) == seen
    assert [(turn.name, turn.step, turn.state) for turn in seen[:2]] == [
        ("pac_eig", 0, None),
        ("action_entropy", 0, None),
    ]
    for name, learner in learners.items():
        own = [turn for turn in seen if turn.name == name]
        assert [turn.step for turn in own] == list(range(len(own)))
        assert [turn.state for turn in own[1:]] == [query.state for query in learner.queries]
        assert comparison.summaries[name].course == tuple(turn.belief for turn in own)
        assert comparison.summaries[name].true_regrets == tuple(turn.true_regret for turn in own)
    assert comparison.finished_first == "pac_eig"
    assert [turn.is_finished for turn in seen if turn.name == "pac_eig"][-2:] == [False, True]


def test_action_entropy_asks_in_the_jail_and_learns_nothing(compared):
    comparison, learners, _ = compared
    assert {query.state for query in learners["action_entropy"].queries} == {30}
    assert comparison.idle_queries == {"pac_eig": 0, "action_entropy": 4}
    vain = comparison.summaries["action_entropy"]
    first, *later = vain.course
    assert all(step.failure_chance == pytest.approx(first.failure_chance) for step in later)
    assert all(regret == vain.true_regrets[0] > 1.0 for regret in vain.true_regrets)
    assert comparison.summaries["pac_eig"].true_regrets[-1] < 2.0


def test_sentences_say_who_finished_and_who_asked_in_vain(compared):
    done, vain = comparison_sentences(compared[0])
    assert done.startswith("pac_eig is finished after")
    assert vain.startswith("action_entropy has no certificate after 4 answers")
    assert "4 of 4 times" in vain and "state 30 (jail)" in vain


def test_nobody_to_compare_is_refused():
    with pytest.raises(InputError, match="at least one learner"):
        compare(make_world("jail", 0), {}, 3)
