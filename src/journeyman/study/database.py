"""The study file: its tables, how it is opened, and transactions that are kept whole or not at all.

The file is SQLite with a rollback journal and synchronous EXTRA: what a transaction committed survives kill -9 and, as
far as the disk keeps its promises, loss of power. There is no write-ahead log, since two processes that see one file by
two names (a hard link, a single file mounted into a container) would have two logs, and each would lose what the other
wrote. A journal that a crash leaves behind has the same weakness, so a file with several names is not written at all.

Events are the truth, and are only ever added. Queries and demonstrations follow from them; they are kept as tables for
people who look with SQL, and as a second copy.
"""

import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib.resources import files
from pathlib import Path

from journeyman.errors import JourneymanError, StudyError, UnknownNameError
from journeyman.problem_files.tables import SQLITE
from journeyman.registry import PLUGINS
from journeyman.study.descriptors import first_bytes, held_connection
from journeyman.study.sealing import seal_of

APPLICATION_ID = 0x6A6D7374  # "jmst"

# `user_version` counts the migrations that a file has gone through: migration i brings it from i to i + 1. Never change
# one that was released: add another. The second changes no table: it keeps version 0.1 from turning the log on again.
# The third also keeps older versions from events that they do not know ("correct", "set"). The fourth is what people
# have before them in the studio: who has which questions, the steps of a run that is not finished, and comments. The
# fifth adds checksums of what is not an event: `seal_of` is `sealing.seal_of`.
MIGRATIONS: tuple[str, ...] = (
    (files("journeyman.study") / "schema.sql").read_text("utf-8"),
    "",
    """
    ALTER TABLE settings ADD COLUMN identity TEXT;
    CREATE TABLE verdicts (
        event_number INTEGER NOT NULL,
        name TEXT NOT NULL CHECK (name IN ('certificate', 'confirmation')),
        status TEXT NOT NULL,
        recorded_at TEXT NOT NULL,
        PRIMARY KEY (event_number, name)
    );
    """,
    """
    CREATE TABLE desks (annotator TEXT PRIMARY KEY, queries TEXT NOT NULL);
    CREATE TABLE desk_steps (query_id INTEGER PRIMARY KEY, steps TEXT NOT NULL);
    CREATE TABLE comments (
        query_id INTEGER NOT NULL,
        annotator TEXT NOT NULL,
        text TEXT NOT NULL,
        recorded_at TEXT NOT NULL,
        PRIMARY KEY (query_id, annotator)
    );
    """,
    """
    ALTER TABLE problem ADD COLUMN seal TEXT;
    ALTER TABLE settings ADD COLUMN seal TEXT;
    ALTER TABLE snapshots ADD COLUMN seal TEXT;
    ALTER TABLE verdicts ADD COLUMN seal TEXT;
    UPDATE problem SET seal = seal_of(facts, arrays);
    UPDATE settings SET seal = seal_of(record, created_at, created_by, identity);
    """,
)
SCHEMA_VERSION = len(MIGRATIONS)

BUSY_SECONDS = 60.0
CONVERSION_SECONDS = 5.0  # that others may keep a study of version 0.1 busy
MOUNTS = Path("/proc/self/mountinfo")
DAMAGE = (  # what stored data raise that are not as we write them
    KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError,
)  # fmt: skip
HOLDS_DATA = ("problem", "settings", "events", "queries", "demonstrations")  # not snapshots, which only save time
UNFINISHED = (
    "{path!r} must be a study, got a file without content: the process that made it was stopped. Delete it, then make "
    "the study again."
)
UNREPAIRED = (
    "the study '{path}' must be repaired once, since a process was stopped while it wrote. Open it where it can be "
    "written: journeyman study status {path}"
)
RECOVER = "Copy what can be read into a new study: journeyman study recover {path} NEW.study"


def check_new(path: Path) -> None:
    """Refuse a place where no new study can be: one without a folder, or that is taken."""
    if not os.path.isdir(path.parent):
        raise StudyError(f"the folder of a study must exist, got {str(path.parent)!r}. Create it first.")
    if os.path.lexists(path):
        raise StudyError(_taken(path))


def _taken(path: Path) -> str:
    return f"a new study must not overwrite a file, but {str(path)!r} exists. Open it, or choose another name."


def create_file(path: Path) -> sqlite3.Connection:
    """Make an empty study file; refuses one that exists."""
    check_new(path)
    try:
        path.touch(exist_ok=False)  # of two processes that create one study, one gets it
    except FileExistsError:
        raise StudyError(_taken(path)) from None
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
    if not os.path.isfile(path):
        raise StudyError(f"the study must exist, got {str(path)!r}. Check the path, or make one: journeyman study new")
    if path.stat().st_size == 0:
        raise StudyError(UNFINISHED.format(path=str(path)))
    aliases = several_names(path)
    if aliases is not None and (not is_read_only or _has_log(path)):
        raise StudyError(aliases)
    check_log(path)
    connection = _connected(path, is_read_only=is_read_only)
    try:
        _check_kind(connection, path)
        _check_whole(connection, path)
        return connection if is_read_only else _prepared(connection, path)
    except BaseException:
        connection.close()
        raise


def _check_kind(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not a study, or is of a newer version."""
    with explain_errors(path):
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        has_tables = connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is not None
    if application != APPLICATION_ID and (application or version or has_tables):
        raise StudyError(f"{str(path)!r} must be a study, got another kind of SQLite file. Check the path.")
    if version > SCHEMA_VERSION:
        raise StudyError(
            f"{str(path)!r} must be a study of schema {SCHEMA_VERSION} or older, got {version}, from a newer version. "
            "Update journeyman: pip install --upgrade journeyman"
        )
    with explain_errors(path):
        is_empty = not has_tables or connection.execute("SELECT 1 FROM problem").fetchone() is None
        if is_empty and (not has_tables or connection.execute("SELECT 1 FROM events").fetchone() is None):
            raise StudyError(UNFINISHED.format(path=str(path)))


def _check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file in which SQLite cannot find its way: one that was copied while it was written, for example."""
    with explain_errors(path):
        for table in HOLDS_DATA:
            ((said, *_), *_) = connection.execute(f"PRAGMA quick_check('{table}')").fetchall()
            if said != "ok":
                raise sqlite3.DatabaseError(f"malformed: {str(said).splitlines()[-1]}")


def several_names(path: Path) -> str | None:
    """Say why a study must not be written under this name, and what to do, or return None if it has but one.

    A journal lies beside the name by which a file was opened: a process that opens it by another name cannot see it.
    """
    linked = _hard_links(path)
    if linked is None and str(path.resolve()) in _mount_points():
        return (
            f"the folder of a study must be shared, not the file alone, got {str(path)!r}, which is mounted by itself: "
            "its journal cannot be seen from outside, so that answers can be lost. Mount its folder instead."
        )
    return linked


def _hard_links(path: Path) -> str | None:
    """Say that a study has several names in the file system, and what to do, or return None if it has but one."""
    found = path.resolve()
    if found.stat().st_nlink < 2:
        return None
    others = [other for other in found.parent.iterdir() if other != found and other.is_file() and other.samefile(found)]
    names = f"{str(path)!r} and {str(others[0])!r}" if others else f"{str(path)!r} and another"
    search = "" if others else f" The other: find / -samefile {found}"
    return (
        f"a study must have one name to be written, got {names}, which are hard links to one file: what is written by "
        "one name can be lost under the other. Remove one of the two names, not both; a symbolic link may take its "
        f"place.{search}"
    )


def _mount_points() -> set[str]:
    """Return what is mounted, as far as the system tells."""
    try:
        lines = MOUNTS.read_bytes().splitlines()
    except OSError:
        return set()
    places = [line.split(b" ")[4] for line in lines if line.count(b" ") > 4]
    return {os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), place)) for place in places}


def _has_log(path: Path) -> bool:
    """Whether a file is in the mode of version 0.1, in which what was written last may lie in its log."""
    return first_bytes(path, 20)[18:] == b"\x02\x02"


def check_begins_as_study(path: Path) -> None:
    """Refuse a file of another kind: one that begins neither as a study nor as what damage leaves of one."""
    start, mark = first_bytes(path, 72), APPLICATION_ID.to_bytes(4, "big")
    if any(start) and not start.startswith(SQLITE) and start[68:] != mark:  # zeros are left by a disk that lost a block
        raise StudyError(
            f"{str(path)!r} must be a study, got a file of another kind. Check the path, or make a study: journeyman "
            "study new NAME.study --problem problem.toml. If it was a study once, its beginning is damaged: use a "
            "backup, or the .recover command of the sqlite3 shell."
        )


def check_log(path: Path) -> None:
    """Refuse a study of version 0.1 that was parted from its log before anything reached the file itself.

    To open it would end the log mode, and so make the log useless should it be put back. A study that was closed has
    no log, and needs none.
    """
    found = path.resolve()
    if not _has_log(found) or _is_left_over(found, "-wal"):
        return
    with explain_errors(path), closing(sqlite3.connect(f"{found.as_uri()}?mode=ro&immutable=1", uri=True)) as file:
        tables = [name for (name,) in file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        if tables and ("problem" not in tables or file.execute("SELECT 1 FROM problem").fetchone() is not None):
            return
    raise StudyError(
        f"a study of version 0.1 must lie beside its log, got {str(path)!r} without {found.name + '-wal'!r}: that file "
        f"may hold all its answers. Find it where the study came from, and copy it to {str(found) + '-wal'!r}. Keep "
        "both."
    )


def _is_left_over(path: Path, suffix: str) -> bool:
    found = path.with_name(path.name + suffix)
    return found.exists() and found.stat().st_size > 0


def _use_journal(connection: sqlite3.Connection, path: Path) -> None:
    """Move what a write-ahead log holds into the file and end the log; nobody else may have the file open for that."""
    if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        return
    connection.execute("PRAGMA busy_timeout = 0")
    deadline = time.monotonic() + CONVERSION_SECONDS
    while True:
        try:
            if connection.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",):
                break
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) and "busy" not in str(error):
                raise
        if time.monotonic() > deadline:
            raise StudyError(
                f"the study {str(path)!r} must be closed everywhere to be brought up to date once, but another process "
                "has it open, perhaps with version 0.1 of journeyman. Close it there, then do this again. Nothing is "
                "lost."
            )
        time.sleep(0.05)
    connection.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_SECONDS)}")


def _connected(path: Path, *, is_read_only: bool) -> sqlite3.Connection:
    """Return a connection that works; on media that cannot be written at all, one that takes no locks."""
    found = path.resolve()
    with explain_errors(path):
        try:
            return _connection(found, "ro" if is_read_only else "rw")
        except sqlite3.OperationalError:
            if is_read_only and _is_left_over(path, "-journal"):
                # A process was stopped while it wrote: what it left half done is undone, where that is allowed.
                with suppress(sqlite3.OperationalError):
                    _connection(found, "rw").close()
                    return _connection(found, "ro")
                raise StudyError(UNREPAIRED.format(path=path)) from None
            if not is_read_only or _is_left_over(path, "-wal"):
                raise
        return _connection(found, "ro&immutable=1")


def _connection(path: Path, mode: str) -> sqlite3.Connection:
    # One connection may be used by the threads of one process, since Study holds a lock.
    connection = held_connection(
        path,
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = EXTRA")  # reads the file, and so fails where no lock can be taken
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _prepared(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """Turn a write-ahead log into a journal, and run the migrations that are missing, each in its own transaction."""
    connection.create_function("seal_of", -1, seal_of, deterministic=True)
    with explain_errors(path):
        _use_journal(connection, path)
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


def _check_links(connection: sqlite3.Connection) -> None:
    """Refuse to write a file that has got another name since it was opened."""
    (*_, opened) = connection.execute("PRAGMA database_list").fetchone()
    try:
        linked = _hard_links(Path(opened))
    except OSError:
        return  # moved or deleted: SQLite says so
    if linked is not None:
        raise StudyError(f"{linked} This was not stored, all before it is.")


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Hold the file for writing; commit at the end, or leave everything as it was."""
    with explain_errors(path):
        _check_links(connection)
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def explain_errors(path: Path, *, is_reading: bool = False) -> Iterator[None]:
    """Turn errors of SQLite into ones that say what is lost (nothing) and what to do.

    With `is_reading`, anything wrong with what is read means that the file is damaged, but for names of what is not
    registered here.
    """
    try:
        yield
    except JourneymanError as error:
        if not is_reading:
            raise
        if isinstance(error, UnknownNameError):
            raise StudyError(
                f"the study {str(path)!r} uses the {error.what.partition(' ')[2]} {error.name!r}, which is not "
                f"registered here. Install the package that brings it, or name its module in {PLUGINS}."
            ) from error
        raise StudyError(f"the study {str(path)!r} is damaged: {error} {RECOVER.format(path=path)}") from error
    except sqlite3.Error as error:
        if "not a database" in str(error):
            check_begins_as_study(path)
        raise StudyError(f"{_explanation(error, str(path))} (SQLite says: {error})") from error
    except (UnicodeDecodeError, *DAMAGE) as error:
        if not (is_reading or isinstance(error, UnicodeDecodeError)):  # that: Python cannot read what SQLite says
            raise
        raise StudyError(
            f"the study {str(path)!r} is damaged, and was left as it is. {RECOVER.format(path=path)} (It is wrong by "
            f"{type(error).__name__}: {error})"
        ) from error


def _explanation(error: sqlite3.Error, path: str) -> str:
    text = str(error)
    if "full" in text:
        return (
            f"the study must have room to grow, but the disk of {path!r} is full. This was not stored, all before it "
            "is. Free some space and do it again."
        )
    if ("readonly" in text or "unable to open" in text) and _is_left_over(Path(path), "-journal"):
        return UNREPAIRED.format(path=path)
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return (
            f"the study must be in a place that can be written, but {path!r} cannot. This was not stored, all before "
            "it is. Check permissions of file and folder, or copy it elsewhere."
        )
    if "locked" in text or "busy" in text:
        return f"the study {path!r} must become free within {BUSY_SECONDS:.0f} s, but it did not. Do it again."
    if "not a database" in text:
        return (
            f"the study {path!r} is damaged where it begins, and was left as it is. Nothing can be read from it here: "
            "use a backup, or the .recover command of the sqlite3 shell."
        )
    if "disk I/O" in text:
        return (
            f"the disk must do what it is told, but reading or writing {path!r} failed. That is trouble of the disk, "
            "its quota or the network, and no damage to the study: all that was acknowledged before is kept. Put that "
            f"right, and see what is there before you do it again: journeyman study status {path}"
        )
    if any(word in text for word in ("malformed", "corrupt", "decode", "no such")):
        return f"the study {path!r} is damaged, and was left as it is. {RECOVER.format(path=path)}"
    return f"the study {path!r} could not be used. {RECOVER.format(path=path)}"
