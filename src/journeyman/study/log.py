"""EventLog: the events of a study file as far as this process has read them; StudyOverview: what they add up to."""

import sqlite3
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from journeyman.errors import StudyError
from journeyman.learner import Event, LearnerSettings, Query
from journeyman.learner.ledger import Ledger, apply_event
from journeyman.problem import Problem
from journeyman.study import store
from journeyman.study.database import explain_errors, transaction


class EventLog:
    """Events of a study and the ledger that follows from them; for one thread at a time."""

    def __init__(self, connection: sqlite3.Connection, path: Path, problem: Problem, *, is_read_only: bool) -> None:
        self.path, self.is_read_only = path, is_read_only
        self.ledger = Ledger(problem)
        self.events: list[Event] = []
        self._connection = connection
        self._checksum = ""
        self.refresh()

    def refresh(self) -> None:
        """Read what other processes have written since."""
        with explain_errors(self.path, is_reading=True):
            for event, checksum in list(store.read_events(self._connection, self.ledger.num_events, self._checksum)):
                self.ledger = apply_event(self.ledger, event)
                self.events.append(event)
                self._checksum = checksum

    def store(self, event_fn: Callable[[], Event | None]) -> bool:
        """Store the event that `event_fn` makes once all others are read, or nothing if it makes none.

        When this returns True, there is one, and it is kept for good.
        """
        self.check_writable()
        with transaction(self._connection, self.path):
            self.refresh()
            event = event_fn()
            if event is None:
                return False
            after = apply_event(self.ledger, event, is_checked=True)
            checksum = store.append_event(self._connection, event, self._checksum, self.ledger, after)
        # Only now is it kept. Should we be stopped here, it is read as if another process had written it.
        self.ledger, self._checksum = after, checksum
        self.events.append(event)
        return True

    def check_writable(self) -> None:
        """Refuse to change a study that is open for reading."""
        if self.is_read_only:
            raise StudyError(
                f"the study must be open for writing to be changed, got {str(self.path)!r} opened read-only. "
                "Open it with Study.open(path)."
            )


@dataclass(frozen=True)
class StudyOverview:
    """What is in a study, without any inference.

    num_demonstrations: those that count; num_steps: actions in them; num_undone: answers that were taken back.
    """

    created_at: str
    created_by: str
    num_events: int
    num_queries: int
    num_done: int
    num_failed: int
    num_abandoned: int
    num_demonstrations: int
    num_attached: int
    num_steps: int
    num_undone: int
    pending: tuple[Query, ...]
    settings: LearnerSettings

    @classmethod
    def of(cls, ledger: Ledger, settings: LearnerSettings, created_at: str, created_by: str) -> "StudyOverview":
        """Count what a ledger holds."""
        return cls(
            created_at=created_at,
            created_by=created_by,
            num_events=ledger.num_events,
            num_queries=len(ledger.queries),
            num_done=ledger.statuses.count("done"),
            num_failed=ledger.statuses.count("failed"),
            num_abandoned=ledger.statuses.count("abandoned"),
            num_demonstrations=len(ledger.answers),
            num_attached=sum(isinstance(answer, str) for answer in ledger.answers),
            num_steps=sum(len(demonstration) for demonstration in ledger.answers.values()),
            num_undone=len(ledger.undone),
            pending=ledger.pending,
            settings=settings,
        )

    def to_record(self) -> dict[str, Any]:
        """Return the status as plain data."""
        record = asdict(self)
        return record | {
            "pending": [query.to_record() for query in self.pending],
            "settings": self.settings.to_record(),
        }
