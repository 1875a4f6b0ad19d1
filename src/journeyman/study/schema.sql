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
