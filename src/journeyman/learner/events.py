"""Events: what happened to a learner, in order and for ever.

The state of a learner is a function of its problem, its settings and its events. Nothing is ever taken out of the
list: an undo is one more event.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from journeyman.errors import InputError

EVENT_NAMES = ("ask", "tell", "attach", "fail", "abandon", "undo")
BELIEF_EVENTS = ("tell", "attach", "undo")  # those that change the posterior


@dataclass(frozen=True)
class Event:
    """One thing that happened.

    Parameters
    ----------
    number
        0, 1, 2 ... without gaps.
    name
        One of `EVENT_NAMES`.
    payload
        Plain data: for "ask" the `queries` that were chosen, `scores` in short, `seconds` and `warnings`; for "tell"
        the `query` and the `demonstration`; for "attach" the `demonstrations`; for "fail" and "abandon" the `query`;
        for "undo" the `answer` that was taken back.
    """

    number: int
    name: str
    payload: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Check the name."""
        if self.name not in EVENT_NAMES:
            raise InputError(
                f"an event must be one of {', '.join(EVENT_NAMES)}, got {self.name!r}. "
                "Was it written by a newer version of journeyman?"
            )

    def to_record(self) -> dict[str, Any]:
        """Return the event as plain data."""
        return {"number": self.number, "name": self.name, "payload": dict(self.payload)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Event":
        """Return the event that `to_record` described."""
        return cls(int(record["number"]), str(record["name"]), dict(record["payload"]))
