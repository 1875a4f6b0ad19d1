"""EventLog: the events of a study file as far as this process has read them; StudyOverview: what they add up to."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from journeyman.errors import StudyError
from journeyman.learner import Event, LearnerSettings, Query
from journeyman.learner.ledger import Ledger, apply_event
from journeyman.learner.records import BEFORE, BELIEF_EVENTS
from journeyman.learner.state import settings_after
from journeyman.logs import log_event
from journeyman.problem import Problem
from journeyman.study import store
from journeyman.study.database import explain_errors, transaction

ITEMS = {"ask": "queries", "attach": "demonstrations"}  # what such an event brings


class EventLog:
    """Events of a study, and the ledger and settings that follow from them; for one thread at a time.

    `settings` given are those before any event.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        problem: Problem,
        settings: LearnerSettings,
        *,
        is_read_only: bool,
    ) -> None:
        self.path, self.is_read_only = path, is_read_only
        self.ledger, self.first_settings, self.settings = Ledger(problem), settings, settings
        self.events: list[Event] = []
        self.checksums: list[str] = []
        self._connection = connection
        self.refresh()

    def refresh(self) -> None:
        """Read what other processes have written since."""
        with explain_errors(self.path, is_reading=True):
            for event, checksum in list(store.read_events(self._connection, self.ledger.num_events, self._checksum)):
                self._remember(apply_event(self.ledger, event), event, checksum)

    @property
    def _checksum(self) -> str:
        return self.checksums[-1] if self.checksums else ""

    def _remember(self, after: Ledger, event: Event, checksum: str) -> None:
        self.ledger, self.settings = after, settings_after(self.settings, event)
        self.events.append(event)
        self.checksums.append(checksum)

    def store(self, event_fn: Callable[[], Event | None]) -> bool:
        """Store the event that `event_fn` makes once all others are read, or nothing if it makes none.

        When this returns True, there is one, and it is kept for good.
        """

        def events_fn() -> list[Event]:
            event = event_fn()
            return [] if event is None else [event]

        return self.store_all(events_fn) > 0

    def store_all(self, events_fn: Callable[[], Sequence[Event]]) -> int:
        """Store the events that `events_fn` makes once all others are read, all or none; return how many there are."""
        self.check_writable()
        written: list[tuple[Ledger, Event, str]] = []
        with transaction(self._connection, self.path):
            self.refresh()
            before, checksum = self.ledger, self._checksum
            for event in events_fn():
                after = apply_event(before, event, is_checked=True)
                checksum = store.append_event(self._connection, event, checksum, before, after)
                written.append((after, event, checksum))
                before = after
        if written:
            names = [event.name for _, event, _ in written]
            log_event("study", "stored", study=str(self.path), names=names, number=written[-1][1].number)
        # Only now are they kept. Should we be stopped here, they are read as if another process had written them.
        for step in written:
            self._remember(*step)
        return len(written)

    def origins(self) -> dict[int, tuple[str, ...]]:
        """Return by which keys the questions and attached data of each "ask" and "attach" are known in all copies.

        A key is the checksum of the event that brought it first, which covers all before it, and a place in that event.
        """
        found: dict[int, tuple[str, ...]] = {}
        for event, checksum in zip(self.events, self.checksums, strict=True):
            if event.name in ITEMS:
                count = len(event.payload[ITEMS[event.name]])
                given = event.payload.get("origins")
                found[event.number] = tuple(given or (f"{checksum}-{place}" for place in range(count)))
        return found

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

    Parameters
    ----------
    identity
        What copies of the study share.
    created_at, created_by
        When it was made, and by which version of journeyman.
    num_events
        Of all that happened.
    num_queries, num_done, num_failed, num_abandoned
        Questions that were asked, and how many of them are answered, failed or were abandoned.
    num_demonstrations, num_steps
        Answers that count, and actions in them.
    num_attached
        Demonstrations that were never asked for.
    num_undone
        Answers that were taken back.
    pending
        Questions that wait.
    settings
        How the study asks, infers and stops now.
    """

    identity: str
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
    def of(
        cls, ledger: Ledger, settings: LearnerSettings, identity: str, created_at: str, created_by: str
    ) -> "StudyOverview":
        """Count what a ledger holds."""
        return cls(
            identity=identity,
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


class Verdict(NamedTuple):
    """That the certificate holds.

    is_confirmed: a fresh, longer posterior says so too; is_doubtful: the answers do not fit the model.
    """

    is_confirmed: bool
    is_doubtful: bool


def last_change(events: Sequence[Event]) -> int:
    """Return the number of the last event that changed what is believed, -1 before any."""
    return next((event.number for event in reversed(events) if event.name in BELIEF_EVENTS), BEFORE)
