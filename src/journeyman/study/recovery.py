"""Recovering a damaged study: what can be read goes into a new file; the old one is left as it is.

Events up to the first that is damaged are taken over exactly. Answers that can be read after it cannot be put back in
their place in history, but they are data: they are attached.
"""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from journeyman.demonstrations import Demonstration
from journeyman.errors import JourneymanError, StudyError
from journeyman.learner import Event, LearnerSettings
from journeyman.learner.ledger import Ledger, apply_event
from journeyman.problem import Problem
from journeyman.study import store
from journeyman.study.copying import write_study
from journeyman.study.database import DAMAGE, check_begins_as_study, check_log, explain_errors
from journeyman.study.study import Study

MAX_MISSING = 1000  # rows in a row that cannot be read, before we believe that there are no more


@dataclass(frozen=True)
class Recovery:
    """What could be read: events taken over in place, answers attached, and what was lost, in words."""

    num_events: int
    num_attached: int
    losses: tuple[str, ...]


def recover(path: str | Path, new_path: str | Path, *, problem: Problem | None = None, **settings: Any) -> Recovery:
    """Copy what can be read of a damaged study into a new one.

    problem, settings: used instead of the stored ones where those cannot be read.
    """
    path, new_path = Path(path), Path(new_path)
    if not os.path.isfile(path):
        raise StudyError(f"the study must exist, got {str(path)!r}. Check the path.")
    check_begins_as_study(path)
    check_log(path)
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
    losses: list[str] = []
    try:
        with explain_errors(path):
            problem = _stored_problem(connection, problem, losses)
            chosen = _stored_settings(connection, settings, losses)
            events = _readable_events(connection, problem, losses)
            stored = list(_stored_answers(connection, problem))
            identity = _stored_identity(connection)
    finally:
        connection.close()
    ledger = write_study(new_path, problem, chosen, [(event, None) for event in events], identity)
    known = {str(answer): answer for answer in ledger.answers}
    extra = [item.demonstration for item in stored if item.answer not in known and not item.is_undone]
    with Study.open(new_path) as study:
        if extra:
            study.attach(extra, allow_duplicates=True)
        for item in stored:
            if item.answer not in known or item.changed_by < len(events):  # else taken back or corrected after that
                continue
            if item.is_undone:
                study.undo(known[item.answer])
            elif item.demonstration != ledger.answers[known[item.answer]]:
                study.correct(known[item.answer], item.demonstration)
    return Recovery(len(events), len(extra), tuple(losses))


class StoredAnswer(NamedTuple):
    """A row of the table of demonstrations, and the event that changed it last."""

    answer: str
    demonstration: Demonstration
    is_undone: bool
    changed_by: int


def _stored_problem(connection: sqlite3.Connection, given: Problem | None, losses: list[str]) -> Problem:
    try:
        return store.read_problem(connection)
    except (sqlite3.Error, JourneymanError, *DAMAGE) as error:
        if given is None:
            raise StudyError(
                f"the problem inside the study cannot be read ({error}). Give the one that it was made with: "
                "journeyman study recover OLD NEW --problem problem.toml (or --world NAME)"
            ) from None
        losses.append("The stored problem could not be read; the one that you gave is used.")
        return given


def _stored_settings(connection: sqlite3.Connection, given: dict[str, Any], losses: list[str]) -> LearnerSettings:
    try:
        return store.read_settings(connection)
    except (sqlite3.Error, JourneymanError, *DAMAGE):
        losses.append("The settings could not be read; defaults are used where you gave none.")
        return LearnerSettings(**given)


def _stored_identity(connection: sqlite3.Connection) -> str:
    try:
        return store.read_identity(connection)
    except (sqlite3.Error, JourneymanError, *DAMAGE):
        return ""


def _readable_events(connection: sqlite3.Connection, problem: Problem, losses: list[str]) -> list[Event]:
    """Return the events up to the first damaged one."""
    events: list[Event] = []
    ledger = Ledger(problem)
    with suppress(sqlite3.Error, JourneymanError, *DAMAGE):
        for event, _ in store.read_events(connection, 0, ""):
            ledger = apply_event(ledger, event)
            events.append(event)
    try:
        (last,) = connection.execute("SELECT max(number) FROM events").fetchone()
    except (sqlite3.Error, UnicodeDecodeError):
        last = len(events)  # there may be more
    if last is not None and last >= len(events):
        losses.append(
            f"Event {len(events)} and what follows it cannot be read in order; answers found there are attached."
        )
    return events


def _stored_answers(connection: sqlite3.Connection, problem: Problem) -> Iterator[StoredAnswer]:
    """Yield the rows of the table of demonstrations, one by one as far as each can be read."""
    row, num_missing = 0, 0
    while num_missing < MAX_MISSING:
        row, num_missing = row + 1, num_missing + 1
        try:
            found = connection.execute(
                "SELECT answer, record, undone_by, event_number FROM demonstrations WHERE rowid = ?", (row,)
            ).fetchone()
            if found is None:
                continue
            demonstration = Demonstration.from_record(json.loads(found[1]))
            problem.counts(demonstration)
            changed_by = int(found[3] if found[2] is None else found[2])
        except (sqlite3.Error, JourneymanError, *DAMAGE):
            continue
        num_missing = 0
        yield StoredAnswer(str(found[0]), demonstration, found[2] is not None, changed_by)
