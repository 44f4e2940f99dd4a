-- Version 5. Segments of pushed profiles, which lie in the object storage. `state`: `reserved` before the file is there,
-- `live` while it counts, `gone` once it is replaced, `swept` without a file: the name stays known.
CREATE TABLE pushed_segments (
    id         text PRIMARY KEY,
    state      text NOT NULL,
    level      bigint NOT NULL,
    bytes      bigint NOT NULL,
    sha256     text NOT NULL,
    changed_at bigint NOT NULL
);
CREATE INDEX pushed_segments_by_state ON pushed_segments (state, changed_at);

CREATE TABLE pushed_servers (
    id      text PRIMARY KEY,
    seen_at bigint NOT NULL
);

-- One row: the server that merges and removes for all.
CREATE TABLE pushed_keeper (
    one   boolean PRIMARY KEY CHECK (one),
    id    text NOT NULL,
    until bigint NOT NULL
);
