import json
import threading

import numpy as np
import pytest
from study.tiny import SETTINGS, answer_one, answer_to, tiny_problem

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, StudyError, UnsupportedError
from journeyman.inference import INFERENCE
from journeyman.learner import ActiveLearner
from journeyman.study import Study
from journeyman.study.study import SNAPSHOT_EVERY
from journeyman.worlds import make_world


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.study"


@pytest.fixture
def study(path):
    with Study.create(path, tiny_problem(), num_threads=1, **SETTINGS) as found:
        yield found


def test_a_study_asks_what_a_learner_asks(study, path):
    learner = ActiveLearner(tiny_problem(), num_threads=1, **SETTINGS)
    for _ in range(6):
        query = study.ask()
        assert query == learner.ask()
        study.tell(query, answer_to(query))
        learner.tell(query, answer_to(query))
    assert study.ask_batch(2) == learner.ask_batch(2)
    assert study.pending == learner.pending
    assert np.array_equal(study.apprentice(), learner.apprentice())
    assert study.certificate().to_record() == learner.certificate().to_record()
    assert study.is_finished() == learner.is_finished()
    assert [record.number for record in study.history()] == [record.number for record in learner.history()]


@pytest.mark.parametrize("num_answers", [0, 3, SNAPSHOT_EVERY + 2])
def test_reopening_changes_nothing(study, path, num_answers):
    twin = ActiveLearner(tiny_problem(), num_threads=1, **SETTINGS)
    for _ in range(num_answers):
        answer_one(study)
        twin.ask()
        twin.tell(twin.pending[0], answer_to(twin.pending[0]))
    study.close()
    with Study.open(path, num_threads=2) as again:
        assert again.settings == twin.settings
        assert again.ask() == twin.ask()
        assert np.array_equal(again.posterior().theta, twin.posterior().theta)
        assert [r.to_record() | {"posterior_seconds": 0, "acquisition_seconds": 0} for r in again.history()] == [
            r.to_record() | {"posterior_seconds": 0, "acquisition_seconds": 0} for r in twin.history()
        ]


def test_without_snapshots_all_is_replayed(study, path):
    for _ in range(4):
        answer_one(study)
    expected = study.scores().values
    study.close()
    with Study.open(path, num_threads=1) as again:
        again._log._connection.execute("DELETE FROM snapshots")
        assert np.array_equal(again.scores().values, expected)


def test_a_damaged_snapshot_only_costs_time(study, path):
    for _ in range(4):
        answer_one(study)
    expected = study.scores().values
    study.close()
    with Study.open(path, num_threads=1) as again:
        assert again._log._connection.execute("UPDATE snapshots SET arrays = X'00'").rowcount == 1
        assert np.array_equal(again.scores().values, expected)


def test_telling_needs_no_inference(study):
    query = study.ask()
    before = study._learner.events
    study.tell(query, 2)
    assert study._learner.events == before  # the learner follows when somebody looks
    assert len(study.history()) == 2


def test_answers_are_signed_and_dated(study):
    study.tell(study.ask(), 1, annotator="ada")
    (found,) = study.demonstrations
    assert (found.annotator, found.query_id, found.steps[0][1]) == ("ada", 0, 1)
    assert found.timestamp is not None and found.timestamp.tzinfo is not None


def test_attach_undo_fail_abandon(study):
    demonstration = Demonstration.annotation(int(np.flatnonzero(study.problem.queryable)[0]), 1)
    assert study.attach(demonstration) == ("attached-0",)
    assert study.attach([demonstration, demonstration]) == ("attached-1", "attached-2")
    study.undo("attached-1")
    first, second = study.ask_batch(2)
    study.fail(first)
    study.abandon(second.id)
    query = study.ask()
    study.tell(query, 0)
    study.undo(query)
    status = study.overview()
    assert (status.num_demonstrations, status.num_attached, status.num_undone) == (2, 2, 2)
    assert (status.num_failed, status.num_abandoned, status.num_done) == (2, 1, 0)
    assert [event.name for event in study.events][:3] == ["attach", "attach", "undo"]
    assert json.loads(json.dumps(status.to_record()))["num_events"] == len(study.events)


def test_two_handles_see_each_other_and_a_stale_tell_is_refused(study, path):
    query = study.ask()
    with Study.open(path, num_threads=1) as other:
        assert other.pending == (query,)
        other.tell(query, answer_to(query))
        with pytest.raises(InputError, match="a query must be waiting to be told, got query 0, which is done"):
            study.tell(query, answer_to(query))
        study.tell(study.ask(), 0)
        assert len(other.demonstrations) == 2
        assert np.array_equal(study.scores().values, other.scores().values)


def test_asks_of_two_handles_do_not_collide(study, path):
    with Study.open(path, num_threads=1) as other:
        queries = [handle.ask() for handle in (study, other, study, other)]
    assert [query.id for query in queries] == [0, 1, 2, 3]


def test_an_ask_that_others_spoil_makes_them_wait_in_the_end(study, path, monkeypatch):
    with Study.open(path, num_threads=1) as other:
        propose = ActiveLearner.propose_ask
        spoiled = []

        def spoil(learner, k, **options):
            event = propose(learner, k, **options)
            if learner is study._learner and len(spoiled) < 3:
                spoiled.append(other.attach(Demonstration.annotation(event.payload["queries"][0]["state"], 0)))
            return event

        monkeypatch.setattr(ActiveLearner, "propose_ask", spoil)
        query = study.ask()
    assert len(spoiled) == 3
    assert study.events[-1].number == 3
    assert study.pending == (query,)
    replayed = ActiveLearner.restore(study.problem, study.settings, study.events[:-1], None, num_threads=1)
    assert replayed.ask() == query


def test_threads_share_a_study(study):
    queries = study.ask_batch(4)
    errors = []

    def tell(query):
        try:
            study.tell(query, answer_to(query))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=tell, args=(query,)) for query in queries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert set(study.answers) == {0, 1, 2, 3}


def test_a_wrong_answer_changes_nothing(study):
    query = study.ask()
    before = study.events
    for wrong, message in (
        (99, "demonstrations must use states"),
        (Demonstration.annotation(query.state + 1, 0), "must start in state"),
        ("upwards", "an action must be a label or a number in 0..4, got 'upwards'"),
    ):
        with pytest.raises(InputError, match=message):
            study.tell(query, wrong)
    with pytest.raises(InputError, match=r"got id 7\. There are ids 0\.\.0"):
        study.tell(7, 0)
    with pytest.raises(InputError, match="only an answer that counts can be undone"):
        study.undo(query)
    assert study.events == before
    assert study.pending == (query,)


def test_other_methods_than_smc(tmp_path):
    problem = make_world("lopes-two-state").problem
    with Study.create(tmp_path / "a.study", problem, inference="enumerate", num_threads=1) as study:
        for _ in range(3):
            study.tell(study.ask(), 0)
        study.attach([Demonstration.annotation(0, 1), Demonstration.annotation(1, 0)])
        expected = study.scores().values
    with Study.open(tmp_path / "a.study", num_threads=1) as again:
        assert np.array_equal(again.scores().values, expected)
        again.attach(Demonstration.annotation(0, 1))
        again.attach(Demonstration.annotation(0, 0))
        assert again.posterior().counts.sum() == 7


def test_create_checks_before_it_writes(path):
    with pytest.raises(InputError, match="a study must get options it knows, got 'epsilonn'"):
        Study.create(path, tiny_problem(), epsilonn=1.0)
    with pytest.raises(UnsupportedError):
        Study.create(path, make_world("lopes-two-state").problem, inference="policywalk")
    assert not path.exists()


def test_create_refuses_an_existing_file(study, path, tmp_path):
    with pytest.raises(StudyError, match=r"a new study must not overwrite a file, but .* exists"):
        Study.create(path, tiny_problem())
    with pytest.raises(StudyError, match="the folder of a study must exist"):
        Study.create(tmp_path / "nowhere" / "a.study", tiny_problem())


def test_a_closed_study_is_one_file(study, path):
    answer_one(study)
    study.close()
    assert [entry.name for entry in path.parent.iterdir()] == ["a.study"]


@pytest.mark.parametrize("inference", ["enumerate", "smc"])
def test_its_history_has_the_numbers_of_every_step_as_a_learner_has(tmp_path, inference):
    """Also with a method that computes each posterior from nothing: only steps that are replayed lack theirs."""
    world = make_world("jail", 3)
    options = {"inference": inference, "seed": 1, "inference_options": INFERENCE[inference].test_options}
    learner = ActiveLearner(world.problem, **options)
    with Study.create(tmp_path / "a.study", world.problem, **options) as study:
        for one in (learner, study):
            for _ in range(3):
                query = one.ask()
                one.tell(query, world.expert.demonstrate(query))
        chances = [[step.failure_chance for step in one.history()] for one in (learner, study)]
    assert len(chances[0]) == 4 and None not in chances[0]
    assert chances[0] == chances[1]
