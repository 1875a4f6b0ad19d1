"""Opening a study file, and transactions on it that are kept whole or not at all.

The file is SQLite with a write-ahead log and synchronous FULL: what a transaction committed survives kill -9 and, as
far as the disk keeps its promises, loss of power.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from journeyman.errors import JourneymanError, StudyError
from journeyman.study.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION

BUSY_SECONDS = 60.0
RECOVER = "Copy what can be read into a new study: journeyman study recover {path} NEW.study"


def create_file(path: Path) -> sqlite3.Connection:
    """Make an empty study file; refuses one that exists."""
    if not path.parent.is_dir():
        raise StudyError(f"the folder of a study must exist, got {str(path.parent)!r}. Create it first.")
    try:
        path.touch(exist_ok=False)  # of two processes that create one study, one gets it
    except FileExistsError:
        raise StudyError(
            f"a new study must not overwrite a file, but {str(path)!r} exists. Open it, or choose another name."
        ) from None
    except OSError as error:
        raise StudyError(
            f"a study must go where it can be written, got {str(path)!r}: {error.strerror}. Choose another place."
        ) from None
    try:
        return _prepared(_connected(path, is_read_only=False), path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def open_file(path: Path, *, is_read_only: bool = False) -> sqlite3.Connection:
    """Open a study file that exists, bring it up to date, and check that it is whole."""
    if not path.is_file():
        raise StudyError(f"the study must exist, got {str(path)!r}. Check the path, or make one: journeyman study new")
    if path.stat().st_size == 0:
        raise StudyError(
            f"{str(path)!r} must be a study, got an empty file: its making was interrupted. Delete it and make it anew."
        )
    connection = _connected(path, is_read_only=is_read_only)
    with explained(path):
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID and (application or version or _has_tables(connection)):
        connection.close()
        raise StudyError(f"{str(path)!r} must be a study, got another kind of SQLite file. Check the path.")
    if version > SCHEMA_VERSION:
        connection.close()
        raise StudyError(
            f"{str(path)!r} must be a study of schema {SCHEMA_VERSION} or older, got {version}, from a newer version. "
            "Update journeyman: pip install --upgrade journeyman"
        )
    return connection if is_read_only else _prepared(connection, path)


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is not None


def _connected(path: Path, *, is_read_only: bool) -> sqlite3.Connection:
    """Return a connection that works; on media that cannot be written at all, one that takes no locks."""
    address = path.resolve().as_uri()
    with explained(path):
        try:
            return _connection(address, "ro" if is_read_only else "rw")
        except sqlite3.OperationalError:
            log = path.with_name(path.name + "-wal")
            if not is_read_only or (log.exists() and log.stat().st_size > 0):
                raise
        return _connection(address, "ro&immutable=1")


def _connection(address: str, mode: str) -> sqlite3.Connection:
    # One connection may be used by the threads of one process, since Study holds a lock.
    connection = sqlite3.connect(
        f"{address}?mode={mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")  # reads the file, and so fails where no lock can be taken
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _prepared(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """Switch the write-ahead log on, and run the migrations that are missing, each in its own transaction."""
    with explained(path):
        connection.execute("PRAGMA journal_mode = WAL")
        while True:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version >= SCHEMA_VERSION:
                return connection
            with transaction(connection, path):
                if connection.execute("PRAGMA user_version").fetchone() == (version,):  # else another process did it
                    for statement in _statements(MIGRATIONS[version]):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    connection.execute(f"PRAGMA user_version = {version + 1}")


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; `executescript` would commit before it begins."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if statement.strip() and sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Hold the file for writing; commit at the end, or leave everything as it was."""
    with explained(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def explained(path: Path, *, is_reading: bool = False) -> Iterator[None]:
    """Turn errors of SQLite into ones that say what is lost (nothing) and what to do.

    With `is_reading`, anything wrong with what is read means that the file is damaged.
    """
    try:
        yield
    except JourneymanError as error:
        if not is_reading:
            raise
        raise StudyError(f"the study {str(path)!r} is damaged: {error} {RECOVER.format(path=path)}") from error
    except sqlite3.Error as error:
        raise StudyError(f"{_explanation(error, str(path))} (SQLite says: {error})") from error


def _explanation(error: sqlite3.Error, path: str) -> str:
    text = str(error)
    if "full" in text:
        return (
            f"the study must have room to grow, but the disk of {path!r} is full. This was not stored, all before it "
            "is. Free some space and do it again."
        )
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return (
            f"the study must be in a place that can be written, but {path!r} cannot. This was not stored, all before "
            "it is. Check permissions of file and folder, or copy it elsewhere."
        )
    if "locked" in text or "busy" in text:
        return f"the study {path!r} must become free within {BUSY_SECONDS:.0f} s, but it did not. Do it again."
    if "not a database" in text:
        return (
            f"{path!r} must be a study, but its first bytes are not those of one: it is another file, or damaged where "
            "it begins. Nothing can be read from it here: use a backup, or the .recover command of the sqlite3 shell."
        )
    if "malformed" in text or "disk I/O" in text or "corrupt" in text:
        return f"the study {path!r} is damaged, and was left as it is. {RECOVER.format(path=path)}"
    return f"the study {path!r} could not be used. {RECOVER.format(path=path)}"
