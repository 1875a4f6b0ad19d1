"""A study with its worker: questions ahead, what is known, the certificate, and what happens when the worker dies."""

import json
import os
import signal

import numpy as np
import pytest
from studio.running import QUICK, Person, complaints, running, until

from journeyman.learner import ActiveLearner
from journeyman.learner.records import BELIEF_EVENTS
from journeyman.studio.session import Ready
from journeyman.studio.worker import MANY, belief_record, opened_learner
from journeyman.study import Study, store
from journeyman.worlds import make_world


def learner_of(path):
    """What a learner makes of the events of a study, one after the other."""
    with Study.open(path, read_only=True) as study:
        return ActiveLearner.restore(study.problem, study.settings, study.events, num_threads=1)


def wait_until_current(person):
    """Wait until the worker has taken in all answers; return what is known."""

    def look():
        found = person.get("belief").json()
        return found if found["is_ready"] and found["based_on"] == found["num_answers"] else None

    return until(look)


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def survive_a_death(person, question):
    """Kill the worker: an answer is kept, a question comes at once, and another worker takes it all in."""
    session = person.served.studio.sessions["small"]
    before = session.link._process.pid
    os.kill(before, signal.SIGKILL)
    kept = person.post("answer", question=question, action=1).json()
    assert kept["next"]["question"] is not None
    until(lambda: session.link._process.pid != before and session.link.is_ready)
    assert wait_until_current(person)["num_answers"] == kept["num_answers"]
    session.hear("failed", "there is too little memory.")
    session.hear("status", "restarting", "The learner stopped, and is started again.")
    shown = person.get("status").json()["worker"]
    assert (shown["state"], "too little memory" in shown["words"]) == ("failed", True)
    return kept["kept"]


def test_a_session_from_the_first_question_to_the_certificate(tmp_path):
    """The worker's numbers are those of a learner in this process, and what it found is kept when it all ends."""
    world = make_world("random-grid", 1, size=2, terminals="independent")
    path = tmp_path / "small.study"
    study = Study.create(path, world.problem, **QUICK, epsilon=100.0)
    with running(study, has_worker=True, num_threads=1) as served:
        ada, expert = Person(served, "small", "ada"), world.make_expert(3)
        question, ids = ada.wait_for_question(), []
        assert question["based_on"] == 0
        assert question["why"].startswith("Of all places") and question["why"].endswith("Chosen after 0 answers.")
        for _ in range(3):
            query = served.studio.sessions["small"].ledger.queries[question["id"]]
            action = expert.demonstrate(query).steps[0][1]
            kept = ada.post("answer", question=question["id"], action=int(action)).json()
            question, ids = kept["next"]["question"], [*ids, kept["kept"]]
            assert question is not None  # nobody waits for the sampler
            shown = wait_until_current(ada)
        found = until(lambda: (now := ada.get("certificate").json())["is_current"] and now["is_enough"] and now)
        assert found["status"] in ("holds", "doubtful")
        for name, value in (("Belief", shown), ("CertificateShown", found)):
            assert complaints(served.app.openapi(), {"$ref": f"#/components/schemas/{name}"}, value) == []
        assert found["assumptions"] and found["upper_bound"] <= 0.1
        assert [point["num_answers"] for point in shown["course"]] == list(range(len(ids) + 1))
        alone = json.loads(json.dumps(belief_record(learner_of(path))))
        for name in ("reward", "policy", "failure_chance", "expected_regret", "course", "model"):
            assert shown[name] == alone[name], name
        text = ada.get("download/certificate.txt").text
        assert "All of this assumes that" in text
        policy = ada.get("download/policy.csv")
        assert policy.headers["content-disposition"] == 'attachment; filename="small-policy.csv"'
        assert policy.text.startswith("state")
        ids.append(survive_a_death(ada, question["id"]))
        pid = served.studio.sessions["small"].link._process.pid
    until(lambda: is_gone(pid))
    with Study.open(path, read_only=True) as kept_study:
        numbers = kept_study.look(lambda c: c.execute("SELECT name, status FROM verdicts ORDER BY name").fetchall())
        assert {name for name, _ in numbers} == {"certificate", "confirmation"}
        assert len(kept_study.answers) == len(ids)
        (snapshot,) = kept_study.look(lambda c: c.execute("SELECT max(event_number) FROM snapshots").fetchone())
        # a question that was asked after the last answer changes nothing that a snapshot keeps
        assert sum(event.name in BELIEF_EVENTS for event in kept_study.events[snapshot:]) == 0


def test_a_worker_reads_a_study_as_a_learner_that_never_stopped(tmp_path):
    """From a snapshot, from none, and, where very many answers wait, with one update for all of them."""
    problem = make_world("random-grid", 1, size=2, terminals="independent").problem
    path = tmp_path / "small.study"
    with Study.create(path, problem, **QUICK, acquisition="random") as study:
        queries = study.ask_batch(MANY + 6)
        for query in queries[:3]:
            study.tell(query, query.id % 5)
        study.posterior()
        study.save_snapshot()
        for query in queries[3:5]:
            study.tell(query, query.id % 5)
        expected = study.posterior().mean_parameters()
        assert study.look(store.read_snapshots)
        opened, num_missing = opened_learner(path, 1)
        assert num_missing == 2
        np.testing.assert_array_equal(opened.posterior().mean_parameters(), expected)
        assert len(opened.history()) == 6
        study.keep(lambda connection, _: connection.execute("DELETE FROM snapshots") and ())
        np.testing.assert_array_equal(opened_learner(path, 1)[0].posterior().mean_parameters(), expected)
        for query in queries[5:]:
            study.tell(query, query.id % 5)
        together, _ = opened_learner(path, 1)
    assert len(together.ledger.answers) == MANY + 6
    assert len(together.history()) == 2  # the start, and all at once


RECORD = {
    "states": (2,), "gains": (0.9,), "lengths": (None,), "unit": "nats", "warnings": (),
    "values": (0.5, None, 0.8, 0.1), "all_lengths": None, "based_on": 3, "seconds": 0.1,
}  # fmt: skip


def test_questions_ahead_come_first_and_then_places_by_half_their_worth():
    """After the chosen one, worth above the least is (0.4, -, 0.35, 0): halved whenever a place is given away."""
    ready = Ready(RECORD)
    assert ready.take((), None) == (2, 0.9, None)
    assert [ready.take((), None)[0] for _ in range(5)] == [0, 2, 0, 2, 0]
    assert Ready(RECORD).take((2,), None)[0] == 0
    assert Ready(RECORD, [0]).take((2,), None)[0] == 0  # 0.2 is still the most
    assert Ready(RECORD).take((0, 2, 3), None) is None
    lengths = Ready(RECORD | {"states": (), "gains": (), "lengths": (), "all_lengths": (4, 4, 7, 4)})
    assert lengths.take((), 9) == (2, 0.8, 7)


def test_places_that_are_worth_nothing_take_turns():
    ready = Ready(RECORD | {"states": (), "gains": (), "lengths": (), "values": (0.0, None, 0.0, 0.0)})
    taken = [ready.take((), None)[0] for _ in range(6)]
    assert sorted(taken[:3]) == sorted(taken[3:]) == [0, 2, 3]


def test_answers_taken_in_together_give_the_posterior_of_all():
    """Atoms are only weighed: then one update by many answers is the same as one after the other, up to rounding."""
    from journeyman import infer
    from journeyman.worlds import make_world

    world = make_world("lopes-two-state", 0)
    single = ActiveLearner(world.problem, seed=1, num_threads=1)
    together = ActiveLearner(world.problem, seed=1, num_threads=1)
    rng = np.random.default_rng(0)
    queries = single.ask_batch(8)
    for query in queries:
        available = np.flatnonzero(world.problem.mdp.available[query.state])
        single.tell(query, int(rng.choice(available)))
    single.undo(queries[0])
    together.apply_together(single.events)
    assert together.ledger == single.ledger
    assert [step.num_demonstrations for step in together.history()] == [0, 7]
    exact = infer(world.problem, single.demonstrations, "enumerate")
    np.testing.assert_allclose(together.posterior().mean_parameters(), exact.mean_parameters(), atol=1e-9)
    assert together.history()[-1].number == single.history()[-1].number
    with pytest.raises(ValueError, match="events must come in order"):
        together.apply_together(single.events[3:6])
