"""The folder of a simulated run: what was asked and answered, step by step, kept as it comes.

    settings.json      what the run is: another run must not continue it
    events.jsonl       one event per line, only ever appended to: the run itself
    history.csv        one row per step, for tables and plots
    certificate.json   the last certificate

A run that is stopped, however, is continued from its events. A killed process leaves at most one unfinished line at the
end of a file, which is dropped.
"""

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, TextIO

from journeyman.errors import InputError
from journeyman.learner.records import Event, StepRecord
from journeyman.storage.files import lock, whole_file

SETTINGS, EVENTS, HISTORY, CERTIFICATE = "settings.json", "events.jsonl", "history.csv", "certificate.json"
COLUMNS = (
    "event", "name", "query", "state", "score", "num_demonstrations", "entropy", "failure_chance", "expected_regret",
    "posterior_seconds", "acquisition_seconds", "warnings",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class RunFolder:
    """An open folder: the events that it held, and the files that more go to."""

    path: Path
    events: tuple[Event, ...]
    event_file: TextIO
    history_file: TextIO
    last_row: int

    def append(self, events: Iterable[Event], history: Iterable[StepRecord]) -> None:
        """Keep events and steps; when this returns they survive a crash."""
        _write(self.event_file, "".join(json.dumps(e.to_record(), allow_nan=False) + "\n" for e in events))
        _write(self.history_file, "".join(history_row(record) for record in history))

    def write_certificate(self, record: Mapping[str, Any]) -> None:
        """Replace the certificate, whole or not at all."""
        write_whole(self.path / CERTIFICATE, json.dumps(record, indent=2, allow_nan=False) + "\n")


@contextmanager
def open_run(path: Path, spec: Mapping[str, Any]) -> Iterator[RunFolder]:
    """Open the folder of a run, made if need be.

    Parameters
    ----------
    path
        Of the folder.
    spec
        Plain data that say what the run is.

    Raises
    ------
    InputError
        If the folder belongs to another run, cannot be written, or another process is writing to it.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        event_file = (path / EVENTS).open("a", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"a run must go to a folder that can be written, got {str(path)!r}: {error.strerror}. Choose another place."
        ) from None
    with event_file:
        lock(event_file, path, "a run")
        _check_same(path, spec)
        events = _events_in(path / EVENTS)
        last_row = _last_row(path / HISTORY, len(events))
        with (path / HISTORY).open("a", encoding="utf-8", newline="") as history_file:
            yield RunFolder(path, events, event_file, history_file, last_row)


def history_row(record: StepRecord) -> str:
    """Return a step as one line of CSV; what is not known is empty."""
    query = record.query
    values = {name: getattr(record, name, None) for name in COLUMNS} | {
        "event": record.number,
        "query": "" if query is None else query.id,
        "state": "" if query is None else query.state,
        "score": "" if query is None else query.score,
        "warnings": " | ".join(record.warnings),
    }
    return _csv_line(values[name] for name in COLUMNS)


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with whole_file(path, "a run") as temporary:
        temporary.write_text(text, encoding="utf-8")


def _csv_line(values: Iterable[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(values)
    return line.getvalue()


def _write(file: TextIO, text: str) -> None:
    """Write, and have the system keep it."""
    try:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        raise InputError(
            f"a run must be written as it goes, got {error.strerror} in {file.name!r}. "
            "Make room, then run the same command again to go on."
        ) from None


def _whole_lines(path: Path) -> list[str]:
    """Return the finished lines of a file, and cut off an unfinished one."""
    data = path.read_bytes()
    end = data.rfind(b"\n") + 1
    if end < len(data):
        os.truncate(path, end)
    return data[:end].decode("utf-8", errors="replace").splitlines()


def _events_in(path: Path) -> tuple[Event, ...]:
    """Return the events of a file, or say which line is damaged."""
    events: list[Event] = []
    for line in _whole_lines(path):
        try:
            event = Event.from_record(json.loads(line))
            if event.number != len(events) or not line.isascii():
                raise ValueError
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"line {len(events) + 1} of {str(path)!r} must be event {len(events)} as it was written, got something "
                "else. Delete it and all lines below it to go on from there, or choose another folder."
            ) from None
        events.append(event)
    return tuple(events)


def _last_row(path: Path, num_events: int) -> int:
    """Return the event of the last row of a history, -1 if it has none.

    Rows of events that were lost are dropped, and so is a damaged row and all below it: they follow from the events.
    """
    rows = list(csv.reader(_whole_lines(path))) if path.exists() else []
    kept = list(
        takewhile(lambda row: len(row) == len(COLUMNS) and row[0].isdecimal() and int(row[0]) < num_events, rows[1:])
    )
    if len(kept) + 1 != len(rows):
        write_whole(path, "".join(_csv_line(row) for row in [COLUMNS, *kept]))
    return int(kept[-1][0]) if kept else -1


def _check_same(path: Path, spec: Mapping[str, Any]) -> None:
    """Refuse a folder of another run, and say what is different; a new one gets its settings."""
    file = path / SETTINGS
    if not file.exists():
        if (path / EVENTS).stat().st_size > 0:
            raise InputError(f"a run must keep its {SETTINGS}, got none in {str(path)!r}. Choose another folder.")
        write_whole(file, json.dumps(spec, indent=2, allow_nan=False) + "\n")
        return
    try:
        theirs = dict(json.loads(file.read_text("utf-8")))
    except (ValueError, TypeError):
        raise InputError(
            f"{SETTINGS} must be JSON, got something else in {str(path)!r}. Choose another folder."
        ) from None
    ours = json.loads(json.dumps(spec))
    for key in sorted({*theirs, *ours}):
        if theirs.get(key) != ours.get(key):
            raise InputError(
                f"a run must be continued with the settings that it began with, got {key} = {ours.get(key)!r} where "
                f"{str(path)!r} has {theirs.get(key)!r}. Choose another folder, or the old settings."
            )
