"""Demonstrations: what an expert answered to one query.

The likelihood depends on demonstrations only through the counts n(s, a) of demonstrated actions.
"""

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from journeyman.checks import one_of, whole_number
from journeyman.errors import InputError
from journeyman.types import IntArray

ENDINGS = ("annotation", "truncated", "terminated")


@dataclass(frozen=True, slots=True)
class Demonstration:
    """Actions of an expert from one start state.

    Parameters
    ----------
    start_state
        The state that was asked for.
    steps
        (state, action) pairs in order; the first state is the start. Empty only where the start is terminal.
    final_state
        The state after the last action, where it was seen.
    ended
        "annotation": one action was asked for, nothing followed; "terminated": the episode ended;
        "truncated": it was stopped, for example by a length limit.
    query_id, annotator, timestamp
        Where it came from; optional.

    Examples
    --------
    >>> from journeyman import Demonstration
    >>> run = Demonstration(0, ((0, 1), (1, 1)), final_state=2, ended="truncated")
    >>> len(run), run.start_state
    (2, 0)
    >>> Demonstration.annotation(3, 0).steps
    ((3, 0),)
    """

    start_state: int
    steps: tuple[tuple[int, int], ...]
    final_state: int | None = None
    ended: str = "annotation"
    query_id: int | None = None
    annotator: str | None = None
    timestamp: datetime | None = None

    def __post_init__(self) -> None:
        """Check that the parts fit each other, once."""
        try:
            pairs = tuple((state, action) for state, action in self.steps)
        except (TypeError, ValueError):
            raise InputError(
                f"steps must be (state, action) pairs, got {reprlib.repr(self.steps)}. Give a list of such pairs."
            ) from None
        is_plain = all(type(state) is int and type(a) is int and state >= 0 <= a for state, a in pairs)  # thousands
        steps = (
            pairs
            if is_plain
            else tuple(
                (_index(state, f"state of step {t}"), _index(a, f"action of step {t}"))
                for t, (state, a) in enumerate(pairs)
            )
        )
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "start_state", _index(self.start_state, "start_state"))
        for name in ("final_state", "query_id"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _index(getattr(self, name), name))
        one_of(self.ended, ENDINGS, "ended", "Say how it ended.")
        if self.steps and self.steps[0][0] != self.start_state:
            raise InputError(
                f"the first step must be at the start state {self.start_state}, got state {self.steps[0][0]}. "
                "Start where the steps do."
            )
        if self.ended == "annotation" and (len(self.steps) != 1 or self.final_state is not None):
            raise InputError(
                f"an annotation must have exactly one step and no final state, "
                f"got {len(self.steps)} steps and final state {self.final_state}. "
                "Say ended='truncated' or 'terminated' for a trajectory."
            )

    @classmethod
    def annotation(
        cls,
        state: int,
        action: int,
        *,
        query_id: int | None = None,
        annotator: str | None = None,
        timestamp: datetime | None = None,
    ) -> "Demonstration":
        """Return the demonstration of one action in one state."""
        return cls(state, ((state, action),), query_id=query_id, annotator=annotator, timestamp=timestamp)

    def __len__(self) -> int:
        """Return the number of actions."""
        return len(self.steps)

    def to_record(self) -> dict[str, Any]:
        """Return the demonstration as plain data for JSON, without what is not known."""
        record: dict[str, Any] = {
            "start_state": self.start_state,
            "steps": [list(step) for step in self.steps],
            "final_state": self.final_state,
            "ended": self.ended,
            "query_id": self.query_id,
            "annotator": self.annotator,
            "timestamp": None if self.timestamp is None else self.timestamp.isoformat(),
        }
        return {name: value for name, value in record.items() if value is not None}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Demonstration":
        """Return the demonstration that `to_record` described; refuses keys that it does not know."""
        known = cls.__dataclass_fields__
        if not isinstance(record, Mapping) or not {"start_state", "steps"} <= set(record) <= set(known):
            raise InputError(
                f"a demonstration must have start_state and steps, and only {', '.join(known)}, "
                f"got {reprlib.repr(record)}. Add or remove keys to match."
            )
        try:
            timestamp = datetime.fromisoformat(record["timestamp"]) if record.get("timestamp") else None
        except (TypeError, ValueError):
            raise InputError(
                f"a timestamp must be in ISO format, got {record['timestamp']!r}. Example: 2026-03-01T14:30:00+00:00."
            ) from None
        return cls(**{**record, "timestamp": timestamp})


def _index(value: object, name: str) -> int:
    return whole_number(value, name, 0, "States, actions and queries are numbered from 0.")


def action_counts(
    demonstrations: Iterable[Demonstration] | Demonstration, num_states: int, num_actions: int
) -> IntArray:
    """Return `[S, A]` how often each action was demonstrated in each state: the sufficient statistic."""
    counts = np.zeros((num_states, num_actions), dtype=np.int64)
    for index, demonstration in enumerate(as_demonstrations(demonstrations)):
        for name, place in (("start", demonstration.start_state), ("final", demonstration.final_state)):
            if place is not None and place >= num_states:
                raise InputError(
                    f"demonstrations must use states 0..{num_states - 1}, got {name} state {place} "
                    f"in demonstration {index}. Check that they belong to this problem."
                )
        for state, action in demonstration.steps:
            if state >= num_states or action >= num_actions:
                raise InputError(
                    f"demonstrations must use states 0..{num_states - 1} and actions 0..{num_actions - 1}, "
                    f"got ({state}, {action}) in demonstration {index}. Check that they belong to this problem."
                )
            counts[state, action] += 1
    return counts


def as_demonstrations(demonstrations: Iterable[Demonstration] | Demonstration) -> Sequence[Demonstration]:
    """Return one demonstration or many as a sequence, refusing anything else."""
    if isinstance(demonstrations, Demonstration):
        return (demonstrations,)
    if not isinstance(demonstrations, Iterable):
        raise InputError(
            f"demonstrations must be Demonstration records, got {type(demonstrations).__name__}. "
            "Make one with Demonstration.annotation(state, action)."
        )
    listed = tuple(demonstrations)
    for index, item in enumerate(listed):
        if not isinstance(item, Demonstration):
            raise InputError(
                f"demonstrations must be Demonstration records, got {type(item).__name__} at {index}. "
                "Make one with Demonstration.annotation(state, action)."
            )
    return listed
