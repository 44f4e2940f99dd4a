-- Version 2. Figures of dumps for questions over many dumps. `figures` is 0 before anybody has looked, 1 if
-- there are some, 2 if there are none to be had.
ALTER TABLE dumps
    ADD COLUMN service text NOT NULL DEFAULT 'unknown',
    ADD COLUMN host text NOT NULL DEFAULT 'unknown',
    ADD COLUMN build text NOT NULL DEFAULT 'unknown',
    ADD COLUMN figures bigint NOT NULL DEFAULT 0,
    ADD COLUMN taken_at bigint,
    ADD COLUMN live_objects bigint,
    ADD COLUMN live_bytes bigint,
    ADD COLUMN array_waste bigint,
    ADD COLUMN string_waste bigint;
-- Labels with a zero character are no text for PostgreSQL.
UPDATE dumps SET
    service = coalesce(nullif(trim(left(labels::json ->> 'service', 200)), ''), 'unknown'),
    host = coalesce(nullif(trim(left(labels::json ->> 'host', 200)), ''), 'unknown'),
    build = coalesce(nullif(trim(left(labels::json ->> 'build', 200)), ''), 'unknown')
WHERE labels <> '{}' AND position('\u0000' IN labels) = 0;
CREATE INDEX dumps_by_service ON dumps (service, host, taken_at) WHERE figures = 1;
CREATE INDEX dumps_without_figures ON dumps (uploaded_at) WHERE figures = 0;

CREATE TABLE class_figures (
    dump     text NOT NULL REFERENCES dumps (id) ON DELETE CASCADE,
    place    bigint NOT NULL,
    name     text NOT NULL,
    objects  bigint NOT NULL,
    shallow  bigint NOT NULL,
    retained bigint NOT NULL,
    PRIMARY KEY (dump, place)
);

CREATE TABLE suspect_figures (
    dump      text NOT NULL REFERENCES dumps (id) ON DELETE CASCADE,
    place     bigint NOT NULL,
    code      text NOT NULL,
    signature text NOT NULL,
    title     text NOT NULL,
    retained  bigint NOT NULL,
    share     double precision NOT NULL,
    PRIMARY KEY (dump, place)
);
CREATE INDEX suspect_figures_by_code ON suspect_figures (code);
