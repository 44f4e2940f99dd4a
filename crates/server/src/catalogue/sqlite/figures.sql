-- Version 4. Figures of dumps for questions over many dumps. `figures` is 0 before anybody has looked, 1 if
-- there are some, 2 if there are none to be had.
ALTER TABLE dumps ADD COLUMN service TEXT NOT NULL DEFAULT 'unknown';
ALTER TABLE dumps ADD COLUMN host TEXT NOT NULL DEFAULT 'unknown';
ALTER TABLE dumps ADD COLUMN build TEXT NOT NULL DEFAULT 'unknown';
ALTER TABLE dumps ADD COLUMN figures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE dumps ADD COLUMN taken_at INTEGER;
ALTER TABLE dumps ADD COLUMN live_objects INTEGER;
ALTER TABLE dumps ADD COLUMN live_bytes INTEGER;
ALTER TABLE dumps ADD COLUMN array_waste INTEGER;
ALTER TABLE dumps ADD COLUMN string_waste INTEGER;
UPDATE dumps SET
    service = coalesce(nullif(trim(substr(json_extract(labels, '$.service'), 1, 200)), ''), 'unknown'),
    host = coalesce(nullif(trim(substr(json_extract(labels, '$.host'), 1, 200)), ''), 'unknown'),
    build = coalesce(nullif(trim(substr(json_extract(labels, '$.build'), 1, 200)), ''), 'unknown')
WHERE labels <> '{}';
CREATE INDEX dumps_by_service ON dumps (service, host, taken_at) WHERE figures = 1;
CREATE INDEX dumps_without_figures ON dumps (uploaded_at) WHERE figures = 0;

CREATE TABLE class_figures (
    dump     TEXT NOT NULL REFERENCES dumps (id) ON DELETE CASCADE,
    place    INTEGER NOT NULL,
    name     TEXT NOT NULL,
    objects  INTEGER NOT NULL,
    shallow  INTEGER NOT NULL,
    retained INTEGER NOT NULL,
    PRIMARY KEY (dump, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE suspect_figures (
    dump      TEXT NOT NULL REFERENCES dumps (id) ON DELETE CASCADE,
    place     INTEGER NOT NULL,
    code      TEXT NOT NULL,
    signature TEXT NOT NULL,
    title     TEXT NOT NULL,
    retained  INTEGER NOT NULL,
    share     REAL NOT NULL,
    PRIMARY KEY (dump, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX suspect_figures_by_code ON suspect_figures (code);
