"""An answer is corrected, and its question stays; settings that only cost computing are changed in place."""

import numpy as np
import pytest
from learner.small import FEW, grid_learner, grid_world, keys, told

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.inference import INFERENCE
from journeyman.learner import ActiveLearner, LearnerSettings
from journeyman.learner.ledger import (
    Ledger,
    apply_event,
    attach_event,
    correct_event,
    fail_event,
    tell_event,
    undo_event,
)
from journeyman.learner.settings import COMPUTING_OPTIONS, COMPUTING_SETTINGS
from journeyman.worlds import make_world


@pytest.fixture
def learner():
    found = grid_learner()
    first, second = found.ask_batch(2)
    found.tell(first, 1, annotator="ada")
    found.tell(second, 2)
    return found


def test_a_corrected_answer_keeps_its_question_and_its_annotator(learner):
    """Friction 6: it took an undo and an attach, and the link to the question was lost."""
    learner.correct(0, "left")
    answer = learner.answers[0]
    assert answer.steps == ((learner.queries[0].state, 4),)
    assert (answer.query_id, answer.annotator, learner.status_of(0)) == (0, "ada", "done")
    assert list(learner.answers) == [0, 1]  # in the place of the old one
    assert [event.name for event in learner.events][-1] == "correct"
    step = learner.history()[-1]
    assert (step.name, step.answers, step.query, step.num_demonstrations) == ("correct", (0,), learner.queries[0], 2)
    learner.correct(learner.queries[0], 3, annotator="bob")
    assert learner.answers[0].annotator == "bob"


def test_the_posterior_after_a_correction_is_that_of_an_undo_and_an_answer(learner):
    """The counts are those of a learner that was told right at once, and so is the posterior within its error."""
    learner.correct(0, 4)
    right = grid_learner()
    first, second = right.ask_batch(2)
    right.tell(first, 4)
    right.tell(second, 2)
    assert np.array_equal(learner.posterior().counts, right.posterior().counts)
    one, other = learner.posterior(), right.posterior()
    # 200 particles in chains of 8 are worth 25 draws at least: 5 standard errors of a difference are 1.4 deviations.
    assert (np.abs(one.theta.mean(axis=0) - other.theta.mean(axis=0)) < 1.5 * other.theta.std(axis=0)).all()


def test_equal_seeds_ask_the_same_after_a_replay(learner):
    learner.correct(1, 0)
    again = ActiveLearner.restore(learner.problem, learner.settings, learner.events, None, num_threads=1)
    kept = ActiveLearner.restore(learner.problem, learner.settings, learner.events, learner.snapshot(), num_threads=1)
    assert keys(learner.ask_batch(2)) == keys(again.ask_batch(2)) == keys(kept.ask_batch(2))


def test_attached_data_are_corrected_by_their_id(learner):
    state = learner.queries[0].state
    (name,) = learner.attach(Demonstration.annotation(state, 1), annotator="eve")
    learner.correct(name, "stay")
    assert learner.answers[name] == Demonstration.annotation(state, 0, annotator="eve")
    learner.correct(name, "stay", annotator="bob")
    assert learner.answers[name] == Demonstration.annotation(state, 0, annotator="bob")
    learner.undo(name)
    learner.correct(name, Demonstration.annotation(state, 3))
    assert learner.answers[name].steps == ((state, 3),)


def test_a_question_without_an_answer_gets_one_after_all(learner):
    late = learner.ask()
    learner.fail(late)
    learner.correct(late, 0)
    assert learner.status_of(late) == "done" and late.id in learner.answers
    learner.undo(1)
    learner.correct(1, 2)
    assert learner.status_of(1) == "done" and 1 not in learner.ledger.undone


@pytest.mark.parametrize(
    ("answer", "right", "message"),
    [
        (0, 1, "must change something, got the answer that 0 has already"),
        (2, 1, r"which is waiting\. Tell its answer: tell\(2, \.\.\.\)"),
        (9, 1, "must be one that was asked, got id 9"),
        ("attached-3", 1, "only an answer can be corrected, got 'attached-3', which is none"),
        (0, Demonstration(8, ((8, 0), (8, 0)), ended="truncated"), "must start in state"),
        (0, "lft", "Did you mean 'left'"),
    ],
)
def test_what_is_no_correction_is_refused(learner, answer, right, message):
    learner.ask()
    before = learner.events
    with pytest.raises(InputError, match=message):
        learner.correct(answer, right)
    assert learner.events == before


def test_a_correction_is_checked_when_it_is_read():
    world = grid_world()
    ledger = Ledger(world.problem)
    ledger = apply_event(ledger, attach_event(ledger, Demonstration.annotation(0, 0)))
    event = correct_event(ledger, "attached-0", 1)
    assert apply_event(ledger, event).answers == {"attached-0": Demonstration.annotation(0, 1)}
    wrong = type(event)(
        event.number, "correct", {"answer": "attached-1", "demonstration": event.payload["demonstration"]}
    )
    with pytest.raises(InputError, match="only an answer can be corrected"):
        apply_event(ledger, wrong)


def test_nothing_terminates_where_no_episode_ends():
    """Defect 11: a demonstration could be said to have terminated in a world where nothing does."""
    problem = make_world("random-grid", 1, size=3, terminals="independent").problem
    mdp = problem.mdp
    ledger = Ledger(problem)
    start = next(
        s for s in range(mdp.num_states) if not mdp.terminal[s] and not mdp.terminal[mdp.next_states(s, 0)[0]].any()
    )
    endless = Demonstration(start, ((start, 0),), ended="terminated")
    with pytest.raises(InputError, match=r"nothing ends there\. Say that it was truncated"):
        attach_event(ledger, endless)
    attach_event(ledger, Demonstration(start, ((start, 0),), ended="truncated"))
    # A study may hold one from earlier: it is still read.
    record = {"demonstrations": [endless.to_record()]}
    assert len(apply_event(ledger, ledger.next_event("attach", record)).answers) == 1


def test_what_reached_a_terminal_state_terminated():
    world = make_world("jail", seed=1)
    expert = world.make_expert(0)
    ledger = Ledger(world.problem)
    shown = expert.answers(np.flatnonzero(world.problem.queryable)[:20], kind="trajectory", length=30)
    assert any(item.ended == "terminated" for item in shown)
    for item in shown:  # none is refused
        assert attach_event(ledger, item).payload["demonstrations"] == [item.to_record()]


def test_only_what_costs_computing_can_be_changed(learner):
    for name in ("epsilon", "seed", "acquisition", "kind"):
        with pytest.raises(InputError, match=rf"got '{name}'\. Make a copy that has it: clone\({name}=\.\.\.\)"):
            learner.change_settings(**{name: 1})
    with pytest.raises(InputError, match="Did you mean 'max_burn_in'"):
        learner.change_settings(max_burnin=3)
    with pytest.raises(InputError, match="must change something"):
        learner.change_settings(max_samples=learner.settings.max_samples)
    with pytest.raises(InputError, match="num_particles must be"):
        learner.change_settings(num_particles=3)
    assert "set" not in [event.name for event in learner.events]


def test_the_list_of_what_costs_computing_names_settings_that_exist():
    assert set(COMPUTING_SETTINGS) <= set(LearnerSettings.__dataclass_fields__)
    for name, options in COMPUTING_OPTIONS.items():
        assert set(options) <= set(INFERENCE[name].options)


def test_more_particles_are_drawn_from_all_answers(learner):
    """Friction 4: a certificate advised to raise max_burn_in, which could not be done."""
    assert learner.posterior().num_samples == FEW["num_particles"]
    learner.change_settings(num_particles=400, max_burn_in=24, max_samples=1000)
    assert learner.settings.inference_options == {"num_particles": 400, "max_burn_in": 24}
    assert learner.posterior().num_samples == 400
    assert learner.posterior().counts.sum() == 2
    assert learner.events[-1].payload == {
        "changes": {"num_particles": 400, "max_burn_in": 24, "max_samples": 1000},
        "before": {"num_particles": 200, "max_burn_in": None, "max_samples": 16_000},
    }
    step = learner.history()[-1]
    assert (step.name, step.answers, step.query, step.num_demonstrations) == ("set", (), None, 2)
    learner.change_settings(max_burn_in=None)
    assert learner.settings.inference_options == {"num_particles": 400}


def test_budgets_leave_the_samples_as_they_are(learner):
    before, certificate = learner.posterior(), learner.certificate()
    learner.change_settings(max_samples=100)
    assert learner.posterior() is before
    assert learner.certificate() is not certificate


@pytest.mark.parametrize("inference", ["smc", "enumerate"])
def test_changed_settings_survive_storing(inference):
    options = {"smc": {"num_particles": 400}, "enumerate": {"max_samples": 500}}[inference]
    world = make_world("lopes-two-state", 0)
    first = LearnerSettings.for_problem(
        world.problem, inference=inference, inference_options=FEW if inference == "smc" else {}, seed=3
    )
    learner = ActiveLearner.from_settings(world.problem, first, num_threads=1)
    told(learner, world, 2)
    early = learner.snapshot()
    learner.change_settings(**options)
    told(learner, world, 1)
    for snapshot in (None, early, learner.snapshot()):
        again = ActiveLearner.restore(world.problem, first, learner.events, snapshot, num_threads=1)
        assert again.settings == learner.settings
        assert np.array_equal(again.posterior().theta, learner.posterior().theta)
        assert keys([again.ask()]) == keys([ActiveLearner.restore(world.problem, first, learner.events).ask()])


def test_a_forecast_has_the_settings_of_now(learner):
    learner.change_settings(max_samples=200)
    assert learner.forecast(num_runs=1, limit=1).limit == 1


def test_events_of_a_query_are_in_the_order_that_they_happened():
    learner = grid_learner()
    learner.ask()
    ledger = learner.ledger
    ledger = apply_event(ledger, tell_event(ledger, 0, 1))
    ledger = apply_event(ledger, undo_event(ledger, 0))
    ledger = apply_event(ledger, correct_event(ledger, 0, 2))
    with pytest.raises(InputError, match="which is done"):
        fail_event(ledger, 0)
