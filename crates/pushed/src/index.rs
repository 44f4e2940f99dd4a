//! Which segments count, in SQLite: a segment and the end of the log that it replaces change together.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, params};

use crate::seen::REMEMBERED;
use crate::segment::Segment;

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

/// The second version: digests of the requests in a segment, until one could not come again.
const SEEN: &str = "
CREATE TABLE seen (until INTEGER NOT NULL, digests BLOB NOT NULL) STRICT;
PRAGMA user_version = 2;
";

/// How long a reader waits for the writer.
const BUSY: Duration = Duration::from_secs(5);

/// The index.
pub(super) struct Index(Mutex<Connection>);

/// The segments with their levels, and the last file of the log that is done.
pub(super) struct Known {
    pub segments: Vec<(u64, u32)>,
    pub done: u64,
    /// Digests of requests in segments, the oldest first.
    pub seen: Vec<Vec<u8>>,
}

/// The segments with their levels, and the last file of the log that is done.
pub(super) struct Counted {
    pub segments: Vec<(u64, u32)>,
    pub done: u64,
}

fn counted(connection: &Connection) -> rusqlite::Result<Counted> {
    let mut statement =
        connection.prepare("SELECT number, level FROM segments ORDER BY from_second, number")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let segments = rows.collect::<rusqlite::Result<_>>()?;
    let done = connection.query_row("SELECT done FROM log", [], |row| row.get(0))?;
    Ok(Counted { segments, done })
}

/// The end of the log that a segment replaces.
pub(super) struct Done {
    /// The number of its last file.
    pub number: u64,
    /// The digests of its requests, and the second until which they count.
    pub seen: Option<(Vec<u8>, u64)>,
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
        if version < 2 {
            connection.execute_batch(&format!("BEGIN;{SEEN}COMMIT;"))?;
        }
        Ok(Self(Mutex::new(connection)))
    }

    /// Opens a file that is there and changes nothing, while a server may write to it.
    pub(super) fn existing(path: &Path) -> rusqlite::Result<Self> {
        // Without the right to write, SQLite could not share the file with its writer.
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(Self(Mutex::new(connection)))
    }

    /// The segments that count, of one moment.
    pub(super) fn counted(&self) -> rusqlite::Result<Counted> {
        let mut connection = self.0.lock();
        let transaction = connection.transaction()?;
        counted(&transaction)
    }

    /// All that is known.
    pub(super) fn known(&self) -> rusqlite::Result<Known> {
        let connection = self.0.lock();
        let Counted { segments, done } = counted(&connection)?;
        let mut statement = connection.prepare("SELECT digests FROM seen ORDER BY until")?;
        let seen = statement.query_map([], |row| row.get(0))?;
        let seen = seen.collect::<rusqlite::Result<_>>()?;
        Ok(Known {
            segments,
            done,
            seen,
        })
    }

    /// Has segments count in the place of others, and of the log up to a file.
    pub(super) fn change(
        &self,
        new: &[Arc<Segment>],
        gone: &[u64],
        done: Option<Done>,
    ) -> rusqlite::Result<()> {
        let mut connection = self.0.lock();
        let transaction = connection.transaction()?;
        for number in gone {
            transaction.execute("DELETE FROM segments WHERE number = ?", [number])?;
        }
        for new in new {
            let (from, to) = new.span();
            transaction.execute(
                "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?)",
                params![new.number, new.level, from, to, new.rows(), new.bytes],
            )?;
        }
        if let Some(done) = done {
            transaction.execute("UPDATE log SET done = max(done, ?)", [done.number])?;
            if let Some((digests, until)) = done.seen {
                // The newest tells the time.
                let now = until.saturating_sub(REMEMBERED);
                transaction.execute("DELETE FROM seen WHERE until < ?", [now])?;
                let values = params![until, digests];
                transaction.execute("INSERT INTO seen VALUES (?, ?)", values)?;
            }
        }
        transaction.commit()
    }
}
