import pytest
from learner.small import grid_world

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.learner.ledger import (
    Ledger,
    abandon_event,
    action_index,
    apply_event,
    attach_event,
    fail_event,
    tell_event,
    undo_event,
)
from journeyman.learner.records import Event, Query
from journeyman.worlds import make_world


@pytest.fixture
def ledger():
    """Three queries wait, at states 0, 1 and 2 of a grid."""
    problem = grid_world().problem
    queries = [Query(i, i, "state", None, 1.0, "?").to_record() for i in range(3)]
    payload = {"queries": queries, "scores": {}, "seconds": 0.0, "warnings": []}
    return apply_event(Ledger(problem), Event(0, "ask", payload))


def test_the_life_of_queries(ledger):
    ledger = apply_event(ledger, tell_event(ledger, 1, 0))
    ledger = apply_event(ledger, fail_event(ledger, 0))
    ledger = apply_event(ledger, abandon_event(ledger, 2))
    assert ledger.statuses == ("failed", "done", "abandoned")
    assert ledger.answers == {1: Demonstration.annotation(1, 0, query_id=1)}
    assert ledger.abandoned_states == {2}
    ledger = apply_event(ledger, abandon_event(ledger, 0))
    assert ledger.abandoned_states == {0, 2}
    assert ledger.pending == ()
    assert ledger.num_events == 5


def test_attached_data_have_their_own_ids(ledger):
    one, two = Demonstration.annotation(1, 0), Demonstration.annotation(2, 0)
    ledger = apply_event(ledger, attach_event(ledger, one))
    ledger = apply_event(ledger, attach_event(ledger, [two, one]))
    assert list(ledger.answers) == ["attached-0", "attached-1", "attached-2"]
    ledger = apply_event(ledger, undo_event(ledger, "attached-1"))
    assert ledger.answers == {"attached-0": one, "attached-2": one}
    ledger = apply_event(ledger, attach_event(ledger, two))
    assert list(ledger.answers)[-1] == "attached-3"


def test_an_undone_query_may_not_be_told_again(ledger):
    ledger = apply_event(ledger, tell_event(ledger, 1, 0))
    ledger = apply_event(ledger, undo_event(ledger, ledger.queries[1]))
    assert ledger.statuses[1] == "failed"
    assert not ledger.answers
    with pytest.raises(InputError, match=r"Its answer was taken back\. To give the right one: correct\(1, \.\.\.\)\."):
        tell_event(ledger, 1, 0)
    with pytest.raises(InputError, match="got 1, which is taken back already"):
        undo_event(ledger, 1)


@pytest.mark.parametrize(
    ("make_event", "message"),
    [
        (lambda book: tell_event(book, 7, 0), r"got id 7. There are ids 0..2"),
        (lambda book: tell_event(book, "x", 0), "a query id must be a whole number"),
        (lambda book: tell_event(book, Query(0, 4, "state", None, 1.0, "?"), 0), "that this learner asked"),
        (lambda book: tell_event(book, 0, 9), r"got \(0, 9\)"),
        (lambda book: tell_event(book, 0, Demonstration.annotation(1, 0)), "must start in state 0, got a start in 1"),
        (lambda book: tell_event(book, 0, Demonstration.annotation(0, 0, query_id=2)), "got query_id 2"),
        (
            lambda book: tell_event(book, 0, Demonstration(0, ((0, 0), (0, 0)), ended="truncated")),
            "must be one action, got 2 steps",
        ),
        (lambda book: attach_event(book, []), "at least one demonstration"),
        (lambda book: attach_event(book, [Demonstration.annotation(99, 0)]), "states 0..8"),
        (lambda book: undo_event(book, 0), "got 0, which is no answer. Last: none yet"),
        (lambda book: undo_event(book, "attached-0"), "got 'attached-0', which is no answer"),
        (lambda book: apply_event(book, Event(5, "fail", {"query": 0})), "got number 5 after 1 events"),
    ],
)
def test_mistakes_are_named(ledger, make_event, message):
    with pytest.raises(InputError, match=message):
        make_event(ledger)


@pytest.mark.parametrize(
    ("close", "message"),
    [
        (tell_event, r"which is done\. To change its answer: correct\(1, \.\.\.\)\."),
        (fail_event, r"which is done. Take its answer back first: undo\(1\)"),
        (abandon_event, r"which is done. Take its answer back first: undo\(1\)"),
    ],
)
def test_a_done_query_stays_done(ledger, close, message):
    ledger = apply_event(ledger, tell_event(ledger, 1, 0))
    with pytest.raises(InputError, match=message):
        close(ledger, 1, *([0] if close is tell_event else []))


def test_trajectories_are_checked_for_length():
    problem = grid_world().problem
    query = Query(0, 1, "trajectory", 2, 1.0, "?")
    payload = {"queries": [query.to_record()], "scores": {}, "seconds": 0.0, "warnings": []}
    ledger = apply_event(Ledger(problem), Event(0, "ask", payload))
    stay = ((1, 0),)
    assert tell_event(ledger, 0, Demonstration(1, stay * 2, ended="truncated")).payload["query"] == 0
    with pytest.raises(InputError, match="at most 2 steps, got 3"):
        tell_event(ledger, 0, Demonstration(1, stay * 3, ended="truncated"))
    with pytest.raises(InputError, match="must be a Demonstration, got int"):
        tell_event(ledger, 0, 1)


def test_visits_are_counted_whatever_was_stored():
    """Version 0.1 stored queries without `visit`; the ledger counts."""
    queries = [Query(i, state, "state", None, 1.0, "?").to_record() for i, state in enumerate([2, 1, 2, 2])]
    for record in queries:
        del record["visit"]
    ask = {"scores": {}, "seconds": 0.0, "warnings": []}
    ledger = apply_event(Ledger(grid_world().problem), Event(0, "ask", {"queries": queries[:3], **ask}))
    ledger = apply_event(ledger, Event(1, "ask", {"queries": queries[3:], **ask}))
    assert [query.visit for query in ledger.queries] == [0, 0, 1, 2]


def test_an_action_may_be_told_by_its_label(ledger):
    event = tell_event(ledger, 0, "right", annotator="ada")
    assert apply_event(ledger, event).answers[0].steps == ((0, 2),)
    assert event.payload["demonstration"]["annotator"] == "ada"
    with pytest.raises(InputError, match=r"a label or a number in 0\.\.4, got 'rigth'\. Did you mean 'right'"):
        tell_event(ledger, 0, "rigth")
    with pytest.raises(InputError, match="this problem has no labels, got 'right'"):
        action_index(make_world("lopes-two-state", 0).problem.mdp, "right")
