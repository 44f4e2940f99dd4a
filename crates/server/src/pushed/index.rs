//! Which segments count, in SQLite: a segment and the end of the log that it replaces change together.

use std::path::Path;

use parking_lot::Mutex;
use rusqlite::{Connection, params};

use super::segment::Segment;

/// The schema; `user_version` is its number.
const SCHEMA: &str = "
CREATE TABLE segments (
    number INTEGER PRIMARY KEY,
    level INTEGER NOT NULL,
    from_second INTEGER NOT NULL,
    to_second INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT;
-- The last file of the log whose requests are all in segments.
CREATE TABLE log (done INTEGER NOT NULL) STRICT;
INSERT INTO log VALUES (0);
PRAGMA user_version = 1;
";

/// The index.
pub(super) struct Index(Mutex<Connection>);

/// The segments with their levels, and the last file of the log that is done.
pub(super) struct Known {
    pub segments: Vec<(u64, u32)>,
    pub done: u64,
}

impl Index {
    /// Opens or makes the file.
    pub(super) fn open(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        let version: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version == 0 {
            connection.execute_batch(&format!("BEGIN;{SCHEMA}COMMIT;"))?;
        }
        Ok(Self(Mutex::new(connection)))
    }

    /// The segments that count.
    pub(super) fn known(&self) -> rusqlite::Result<Known> {
        let connection = self.0.lock();
        let mut statement = connection
            .prepare("SELECT number, level FROM segments ORDER BY from_second, number")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let segments = rows.collect::<rusqlite::Result<_>>()?;
        let done = connection.query_row("SELECT done FROM log", [], |row| row.get(0))?;
        Ok(Known { segments, done })
    }

    /// Has a segment count in the place of others, and of the log up to a file.
    pub(super) fn change(
        &self,
        new: Option<&Segment>,
        gone: &[u64],
        done: Option<u64>,
    ) -> rusqlite::Result<()> {
        let mut connection = self.0.lock();
        let transaction = connection.transaction()?;
        for number in gone {
            transaction.execute("DELETE FROM segments WHERE number = ?", [number])?;
        }
        if let Some(new) = new {
            let (from, to) = new.span();
            transaction.execute(
                "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?)",
                params![new.number, new.level, from, to, new.rows(), new.bytes],
            )?;
        }
        if let Some(done) = done {
            transaction.execute("UPDATE log SET done = max(done, ?)", [done])?;
        }
        transaction.commit()
    }
}
