"""A study file: whether it is whole, who wrote it, what is in it, what lies beside it. Nothing is written to it."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from journeyman.doctor.findings import Finding
from journeyman.errors import JourneymanError
from journeyman.study import Study
from journeyman.study.database import RECOVER, SCHEMA_VERSION, open_file
from journeyman.wording import counted

LARGE_FILE = 1e9
BESIDE = {
    "-journal": "an answer was being written when its process ended, or is being written now",
    "-wal": "of a version before 0.2, or of another program that has the file open",
}


def examine_study(path: Path) -> list[Finding]:
    """Look at a study."""
    return list(_examined(path))


def _examined(path: Path) -> Iterator[Finding]:
    try:
        connection = open_file(path, is_read_only=True)
    except JourneymanError as error:
        yield Finding("study", "file", "bad", str(error))
        return
    try:
        yield from _file(connection, path)
    finally:
        connection.close()
    try:
        with Study.open(path, read_only=True) as study:
            status = study.overview()
            yield Finding("study", "events", "good", f"{status.num_events}, and their checksums agree")
            yield Finding("study", "made", "good", f"{status.created_at} by {status.created_by}")
            answered = f"{counted(status.num_demonstrations, 'answer')}, {status.num_undone} taken back"
            words = f"{answered}; {counted(len(status.pending), 'question')} unanswered"
            yield Finding("study", "answers", "good", words)
    except JourneymanError as error:
        yield Finding("study", "events", "bad", str(error))


def _file(connection: sqlite3.Connection, path: Path) -> Iterator[Finding]:
    size = path.stat().st_size
    state, advice = ("notable", "Export what you need.") if size > LARGE_FILE else ("good", "")
    yield Finding("study", "file", state, f"{size / 1e6:.2f} MB", advice)  # type: ignore[arg-type]
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    if schema < SCHEMA_VERSION:
        words = f"{schema}; this version has {SCHEMA_VERSION}"
        yield Finding("study", "schema", "notable", words, "It is brought up to date when it is next written.")
    else:
        yield Finding("study", "schema", "good", str(schema))
    try:
        problems = [row[0] for row in connection.execute("PRAGMA integrity_check(5)")]
    except sqlite3.Error as error:
        problems = [str(error)]
    if problems == ["ok"]:
        yield Finding("study", "pages", "good", "all are whole (SQLite's integrity check)")
    else:
        yield Finding("study", "pages", "bad", "; ".join(problems), RECOVER.format(path=path))
    for suffix, words in BESIDE.items():
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            advice = f"Never delete {beside.name}: it belongs to the study. Opening the study to write settles it."
            yield Finding("study", beside.name, "notable", words, advice)
