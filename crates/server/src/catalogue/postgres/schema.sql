-- Version 1. Times are milliseconds since 1970-01-01 UTC by the database's clock, sizes are bytes.
CREATE FUNCTION hprof_rs_now() RETURNS bigint LANGUAGE sql VOLATILE AS
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';

CREATE TABLE dumps (
    id          text PRIMARY KEY,
    sha256      text NOT NULL UNIQUE,
    name        text NOT NULL,
    kind        text NOT NULL DEFAULT 'unknown',
    bytes       bigint NOT NULL,
    uploaded_at bigint NOT NULL,
    note        text NOT NULL DEFAULT '',
    labels      text NOT NULL DEFAULT '{}',
    pinned      boolean NOT NULL DEFAULT false,
    stripped    boolean NOT NULL DEFAULT false,
    rules       text NOT NULL DEFAULT '[]',
    headline    text,
    summary     text
);
CREATE INDEX dumps_by_time ON dumps (uploaded_at, id);

-- Progress and leases change often, and are in no index: such updates need no new index entries.
CREATE TABLE jobs (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dump        text NOT NULL REFERENCES dumps (id) ON DELETE CASCADE,
    state       text NOT NULL,
    -- Not before this time.
    due_at      bigint NOT NULL DEFAULT 0,
    phase       text,
    progress    text,
    worker      text,
    lease_until bigint,
    attempt     bigint NOT NULL DEFAULT 0,
    -- The last attempt that may follow a crash of the worker.
    allowed     bigint NOT NULL,
    started_at  bigint,
    ended_at    bigint,
    error       text
) WITH (fillfactor = 70);
CREATE INDEX jobs_by_dump ON jobs (dump, id);
CREATE INDEX jobs_by_state ON jobs (state, id);

CREATE TABLE uploads (
    id         text PRIMARY KEY,
    name       text NOT NULL,
    length     bigint NOT NULL,
    created_at bigint NOT NULL,
    dump       text,
    strips     boolean NOT NULL DEFAULT false,
    fail_above text NOT NULL DEFAULT ''
);

CREATE TABLE tokens (
    hash       text PRIMARY KEY,
    role       text NOT NULL,
    name       text NOT NULL,
    created_at bigint NOT NULL
);

CREATE TABLE audit (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      bigint NOT NULL,
    who     text NOT NULL,
    address text NOT NULL,
    what    text NOT NULL,
    status  integer NOT NULL
);
