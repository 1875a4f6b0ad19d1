import json

import pytest

from journeyman.errors import InputError
from journeyman.learner.records import Event


def test_an_event_survives_json():
    event = Event(4, "undo", {"answer": "attached-0"})
    assert Event.from_record(json.loads(json.dumps(event.to_record()))) == event


def test_an_unknown_event_is_refused():
    with pytest.raises(InputError, match=r"must be one of ask, tell, .* got 'forget'"):
        Event(0, "forget", {})
