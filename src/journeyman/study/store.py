"""Rows of a study file: what is written at creation, events with what follows from them, and snapshots.

Plain data are JSON; arrays are the bytes of NumPy's .npz, without pickle.
"""

import hashlib
import io
import json
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import compress, count
from operator import is_not, ne
from typing import Any

import numpy as np

from journeyman.errors import StudyError
from journeyman.learner.ledger import Ledger
from journeyman.learner.records import Event
from journeyman.learner.settings import LearnerSettings
from journeyman.problem import Problem
from journeyman.problem_files import ProblemRecord, problem_from_record, problem_to_record
from journeyman.storage.files import read_arrays
from journeyman.study.sealing import seal_of
from journeyman.types import AnyArray

SNAPSHOTS_KEPT = 3


def now() -> str:
    """Return the time in UTC, in ISO format."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def program_version() -> str:
    """Return name and version of this program."""
    from importlib.metadata import version

    return f"journeyman {version('journeyman')}"


def write_problem(
    connection: sqlite3.Connection, problem: Problem, settings: LearnerSettings, identity: str | None = None
) -> None:
    """Write what a study begins with; `identity` is that of the study whose questions it takes over, if any."""
    record = problem_to_record(problem)
    parts = to_json(record.facts), arrays_to_bytes(record.arrays)
    connection.execute("INSERT INTO problem VALUES (0, ?, ?, ?)", (*parts, seal_of(*parts)))
    about = to_json(settings.to_record()), now(), program_version(), identity or secrets.token_hex(8)
    connection.execute("INSERT INTO settings VALUES (0, ?, ?, ?, ?, ?)", (*about, seal_of(*about)))


def read_problem(connection: sqlite3.Connection) -> Problem:
    """Return the problem of a study."""
    facts, arrays = _only_row(connection, "SELECT facts, arrays FROM problem", "problem")
    _check_seal(connection, "the problem", "SELECT seal, facts, arrays FROM problem")
    return problem_from_record(ProblemRecord(from_json(facts, "the problem"), arrays_from_bytes(arrays, "the problem")))


def read_settings(connection: sqlite3.Connection) -> LearnerSettings:
    """Return the settings of a study."""
    (record,) = _only_row(connection, "SELECT record FROM settings", "settings")
    _check_seal(connection, "the settings", "SELECT seal, record, created_at, created_by, identity FROM settings")
    return LearnerSettings.from_record(from_json(record, "the settings"))


def _check_seal(connection: sqlite3.Connection, what: str, select: str) -> None:
    """Refuse what is not as it was written."""
    if _has_column(connection, "settings", "seal", since=5):
        seal, *parts = connection.execute(select).fetchone()
        if seal != seal_of(*parts):
            raise StudyError(f"{what} must be as written, but at least one bit of it is another.")


def _has_column(connection: sqlite3.Connection, table: str, column: str, *, since: int) -> bool:
    """Whether a table has a column, or should have it: an older version, opened for reading only, has none."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return version >= since or any(row[1] == column for row in connection.execute(f"PRAGMA table_info({table})"))


def read_creation(connection: sqlite3.Connection) -> tuple[str, str]:
    """Return when and by which version a study was made."""
    created_at, created_by = _only_row(connection, "SELECT created_at, created_by FROM settings", "settings")
    return str(created_at), str(created_by)


def read_identity(connection: sqlite3.Connection) -> str:
    """Return what copies of a study have in common, and no other study has.

    Studies of versions that did not store it have one that follows from how they were made.
    """
    made = _only_row(connection, "SELECT record, created_at, created_by FROM settings", "settings")
    if _has_column(connection, "settings", "identity", since=3):
        (identity,) = connection.execute("SELECT identity FROM settings").fetchone()
        if identity:
            return str(identity)
    return hashlib.sha256("|".join(map(str, made)).encode()).hexdigest()[:16]


def read_comments(connection: sqlite3.Connection) -> list[tuple[int, str, str, str]]:
    """Return what people said about questions: question, who, what and when; none where older versions wrote."""
    with suppress(sqlite3.OperationalError):
        return list(connection.execute("SELECT query_id, annotator, text, recorded_at FROM comments"))
    return []


def write_comments(connection: sqlite3.Connection, comments: Iterable[tuple[int, str, str, str]]) -> None:
    """Add comments on questions, inside the caller's transaction; those that are there stay as they are."""
    connection.executemany("INSERT OR IGNORE INTO comments VALUES (?, ?, ?, ?)", comments)


def write_verdict(connection: sqlite3.Connection, event_number: int, name: str, status: str) -> None:
    """Keep that the certificate, or its confirmation, holds after an event."""
    connection.execute(
        "INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, ?)",
        (event_number, name, status, now(), seal_of(event_number, name, status)),
    )


def read_verdicts(connection: sqlite3.Connection, event_number: int) -> dict[str, str]:
    """Return what is kept of the certificate and its confirmation after an event: the status of each, by name."""
    with suppress(sqlite3.OperationalError):  # an older version, opened for reading only, has no such table
        rows = connection.execute("SELECT name, status, seal FROM verdicts WHERE event_number = ?", (event_number,))
        return {name: status for name, status, seal in rows if seal == seal_of(event_number, name, status)}
    return {}


def read_times(connection: sqlite3.Connection) -> list[str]:
    """Return when each event was written."""
    return [str(time) for (time,) in connection.execute("SELECT recorded_at FROM events ORDER BY number")]


def _only_row(connection: sqlite3.Connection, statement: str, what: str) -> Any:
    row = connection.execute(statement).fetchone()
    if row is None:
        raise StudyError(
            f"a study must hold its {what}, got none: it was interrupted while it was made. Delete it, then create it "
            "again."
        )
    return row


def checksum_of(previous: str, number: int, name: str, payload: str) -> str:
    """Return what protects an event and, through the previous checksum, all before it."""
    return hashlib.sha256(f"{previous}|{number}|{name}|{payload}".encode()).hexdigest()[:16]


def read_events(connection: sqlite3.Connection, first: int, previous: str) -> Iterator[tuple[Event, str]]:
    """Yield the events from number `first` on with their checksums; `previous` is the checksum before them."""
    select = "SELECT number, name, payload, checksum FROM events WHERE number >= ? ORDER BY number"
    for expected, (number, name, payload, checksum) in enumerate(connection.execute(select, (first,)), start=first):
        if number != expected or checksum != checksum_of(previous, number, name, payload):
            raise StudyError(
                f"event {expected} must be as it was written, but it is missing or changed. All before it is whole."
            )
        record = {"number": number, "name": name, "payload": from_json(payload, f"event {number}")}
        yield Event.from_record(record), checksum
        previous = checksum


def append_event(
    connection: sqlite3.Connection,
    event: Event,
    previous: str,
    before: Ledger,
    after: Ledger,
    recorded_at: str | None = None,
) -> str:
    """Write an event and what follows from it, inside the caller's transaction; return its checksum.

    `recorded_at`: when it happened, if that was not now.
    """
    payload = to_json(event.payload)
    checksum = checksum_of(previous, event.number, event.name, payload)
    connection.execute(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?)", (event.number, event.name, payload, recorded_at or now(), checksum)
    )
    for query in after.queries[len(before.queries) :]:
        connection.execute(
            "INSERT INTO queries VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting')",
            (query.id, event.number, query.state, query.kind, query.length, query.score, query.text),
        )
    # All of them are compared by what Python has compiled for that: a study may have many thousands of answers.
    for query_id in compress(count(), map(ne, after.statuses, before.statuses)):
        connection.execute("UPDATE queries SET status = ? WHERE id = ?", (after.statuses[query_id], query_id))
    if after.answers is before.answers:
        return checksum
    is_new = map(is_not, after.answers.values(), map(before.answers.get, after.answers))  # new, or corrected
    for answer, demonstration in compress(after.answers.items(), is_new):
        connection.execute(
            "INSERT INTO demonstrations VALUES (?, ?, ?, ?, NULL) ON CONFLICT (answer) DO UPDATE SET "
            "event_number = excluded.event_number, record = excluded.record, undone_by = NULL",
            (
                str(answer),
                event.number,
                answer if isinstance(answer, int) else None,
                to_json(demonstration.to_record()),
            ),
        )
    for answer in before.answers.keys() - after.answers.keys():
        connection.execute("UPDATE demonstrations SET undone_by = ? WHERE answer = ?", (event.number, str(answer)))
    return checksum


def write_snapshot(connection: sqlite3.Connection, event_number: int, snapshot: dict[str, Any]) -> None:
    """Keep a snapshot, and forget all but the last few."""
    arrays = {name: value for name, value in snapshot.items() if isinstance(value, np.ndarray)}
    facts = {name: value for name, value in snapshot.items() if name not in arrays}
    row = event_number, program_version(), to_json(facts), arrays_to_bytes(arrays)
    connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)", (*row, seal_of(*row)))
    connection.execute(
        "DELETE FROM snapshots WHERE event_number NOT IN "
        "(SELECT event_number FROM snapshots ORDER BY event_number DESC LIMIT ?)",
        (SNAPSHOTS_KEPT,),
    )


def read_snapshots(connection: sqlite3.Connection) -> list[tuple[int, dict[str, Any]]]:
    """Return the snapshots that can be used, newest first: those of this version, and whole."""
    usable = []
    select = "SELECT event_number, facts, arrays, seal FROM snapshots WHERE written_by = ? ORDER BY event_number DESC"
    with suppress(sqlite3.Error):  # events hold everything; a damaged snapshot only costs time
        for event_number, facts, arrays, seal in connection.execute(select, (program_version(),)):
            with suppress(StudyError):
                if seal == seal_of(event_number, program_version(), facts, arrays):
                    plain = dict(from_json(facts, "a snapshot"))
                    usable.append((event_number, plain | arrays_from_bytes(arrays, "a snapshot")))
    return usable


def arrays_to_bytes(arrays: Mapping[str, AnyArray]) -> bytes:
    """Return arrays as the bytes of an .npz file, not compressed: speed counts here, and noise hardly compresses."""
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise StudyError(f"stored arrays must hold numbers or words, got objects in {name!r}. Convert them.")
    buffer = io.BytesIO()
    np.savez(buffer, **dict(arrays))  # type: ignore[arg-type]
    return buffer.getvalue()


def arrays_from_bytes(data: bytes, what: str) -> dict[str, AnyArray]:
    """Return the arrays of `arrays_to_bytes`, or say that they are damaged."""
    try:
        return read_arrays(data)
    except ValueError as error:
        raise StudyError(f"{what} must be arrays that journeyman stored, but they are damaged: {error}.") from error


def to_json(data: Any) -> str:
    """Return plain data as compact JSON."""
    return json.dumps(data, separators=(",", ":"), sort_keys=True)


def from_json(text: str, what: str) -> Any:
    """Return what JSON says, or say that it is damaged."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise StudyError(f"{what} must be JSON that journeyman stored, but it is damaged: {error}.") from error
