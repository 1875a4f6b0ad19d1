import json

import pytest
from learner.small import grid_world

from journeyman.errors import InputError
from journeyman.learner.records import Event, Query, question_text
from journeyman.worlds import make_world


def test_an_event_survives_json():
    event = Event(4, "undo", {"answer": "attached-0"})
    assert Event.from_record(json.loads(json.dumps(event.to_record()))) == event


def test_an_unknown_event_is_refused():
    with pytest.raises(InputError, match=r"must be one of ask, tell, .* got 'forget'"):
        Event(0, "forget", {})


def test_a_query_survives_json():
    query = Query(3, 7, "trajectory", 5, 0.1 + 0.2, "Start there")
    assert Query.from_record(json.loads(json.dumps(query.to_record()))) == query


def test_questions_name_the_cell_and_the_actions():
    problem = grid_world().problem
    text = question_text(problem, 5, "state", None)
    assert text == "In state 5 (row 1, column 2): which action do you take? (stay, up, right, down or left)"
    assert "up to 4 steps" in question_text(problem, 5, "trajectory", 4)


@pytest.mark.parametrize("state", [0, 1])
def test_questions_use_labels(state):
    problem = make_world("lopes-two-state", 0).problem
    assert problem.mdp.state_name(state) in question_text(problem, state, "state", None)


def test_events_share_equal_words():
    """Thousands of events are held, and say the same words."""
    record = {"number": 0, "name": "tell", "payload": {"query": 3, "demonstration": {"steps": [[0, 1]], "by": "ann e"}}}
    one, two = (Event.from_record(json.loads(json.dumps(record))) for _ in range(2))
    assert one == two == Event(0, "tell", record["payload"])
    who = [event.payload["demonstration"]["by"] for event in (one, two)]
    assert who[0] is who[1]
    assert next(iter(one.payload)) is next(iter(two.payload))
