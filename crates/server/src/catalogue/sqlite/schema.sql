-- Version 1. Times are milliseconds since 1970-01-01 UTC, sizes are bytes.
CREATE TABLE dumps (
    id          TEXT PRIMARY KEY,
    sha256      TEXT NOT NULL UNIQUE,
    name        TEXT NOT NULL,
    kind        TEXT NOT NULL DEFAULT 'unknown',
    bytes       INTEGER NOT NULL,
    uploaded_at INTEGER NOT NULL,
    note        TEXT NOT NULL DEFAULT '',
    labels      TEXT NOT NULL DEFAULT '{}',
    pinned      INTEGER NOT NULL DEFAULT 0,
    headline    TEXT,
    summary     TEXT
) STRICT;
CREATE INDEX dumps_by_time ON dumps (uploaded_at, id);

CREATE TABLE jobs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    dump       TEXT NOT NULL REFERENCES dumps (id) ON DELETE CASCADE,
    state      TEXT NOT NULL,
    phase      TEXT,
    attempt    INTEGER NOT NULL DEFAULT 0,
    -- The last attempt that may follow a crash of the worker.
    allowed    INTEGER NOT NULL DEFAULT 2,
    started_at INTEGER,
    ended_at   INTEGER,
    error      TEXT
) STRICT;
CREATE INDEX jobs_by_dump ON jobs (dump, id);
CREATE INDEX jobs_by_state ON jobs (state, id);

CREATE TABLE uploads (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    length     INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
    hash       TEXT PRIMARY KEY,
    role       TEXT NOT NULL,
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE audit (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    who     TEXT NOT NULL,
    address TEXT NOT NULL,
    what    TEXT NOT NULL,
    status  INTEGER NOT NULL
) STRICT;
