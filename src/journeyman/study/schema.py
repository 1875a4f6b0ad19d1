"""The tables of a study file, and how files of older versions are brought up to date.

`user_version` counts the migrations that a file has gone through; `application_id` says that it is a study at all.
Events are the truth, and are only ever added. Queries and demonstrations follow from them; they are kept as tables for
people who look with SQL, and as a second copy.
"""

APPLICATION_ID = 0x6A6D7374  # "jmst"

FIRST_SCHEMA = """
CREATE TABLE problem (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    facts TEXT NOT NULL,
    arrays BLOB NOT NULL
);
CREATE TABLE settings (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    record TEXT NOT NULL,
    created_at TEXT NOT NULL,
    created_by TEXT NOT NULL
);
CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    payload TEXT NOT NULL,
    recorded_at TEXT NOT NULL,
    checksum TEXT NOT NULL
);
CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END;
CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END;
CREATE TABLE queries (
    id INTEGER PRIMARY KEY,
    event_number INTEGER NOT NULL REFERENCES events (number),
    state INTEGER NOT NULL,
    kind TEXT NOT NULL,
    length INTEGER,
    score REAL,
    text TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('waiting', 'done', 'failed', 'abandoned'))
);
CREATE TABLE demonstrations (
    answer TEXT PRIMARY KEY,
    event_number INTEGER NOT NULL REFERENCES events (number),
    query_id INTEGER REFERENCES queries (id),
    record TEXT NOT NULL,
    undone_by INTEGER REFERENCES events (number)
);
CREATE TABLE snapshots (
    event_number INTEGER PRIMARY KEY,
    written_by TEXT NOT NULL,
    facts TEXT NOT NULL,
    arrays BLOB NOT NULL
);
"""

# Migration i brings a file from user_version i to i + 1. Never change one that was released: add another.
MIGRATIONS: tuple[str, ...] = (FIRST_SCHEMA,)
SCHEMA_VERSION = len(MIGRATIONS)
