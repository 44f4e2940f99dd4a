//! The catalogue in a file of SQLite, with a write-ahead log.

mod fleet;
mod queue;
mod rows;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use rows::{DUMP, JOB, UPLOAD};

use super::figures::places;
use super::{
    Added, Catalogue, CatalogueError, Deed, Dump, DumpPatch, DumpQuery, NewDump, Page, Result,
    Role, Upload, containing, json, page, place_of,
};
use crate::ids::{DumpId, JobId};
use crate::rules::Verdict;
use crate::time::Millis;

/// The steps from one version of the schema to the next; never changed once released.
const MIGRATIONS: [&str; 5] = [
    include_str!("schema.sql"),
    // The dump that a complete upload has become.
    "ALTER TABLE uploads ADD COLUMN dump TEXT",
    // Rules with verdicts, and dumps whose values were blanked.
    "ALTER TABLE dumps ADD COLUMN rules TEXT NOT NULL DEFAULT '[]';
     ALTER TABLE dumps ADD COLUMN stripped INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE uploads ADD COLUMN strips INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE uploads ADD COLUMN fail_above TEXT NOT NULL DEFAULT '';",
    include_str!("figures.sql"),
    // The values that were blanked, and by whom.
    "ALTER TABLE dumps ADD COLUMN strippings TEXT NOT NULL DEFAULT '[]';
     ALTER TABLE uploads ADD COLUMN stripped TEXT NOT NULL DEFAULT '';",
];
/// How long a statement waits for another process, such as a backup.
const PATIENCE: Duration = Duration::from_secs(10);
/// Rows of the audit log that are kept.
const AUDIT_ROWS: i64 = 100_000;

impl From<rusqlite::Error> for CatalogueError {
    fn from(error: rusqlite::Error) -> Self {
        Self::failed(error)
    }
}

/// A catalogue in a file. One connection serves all: statements take microseconds.
pub struct SqliteCatalogue(Mutex<Connection>);

impl SqliteCatalogue {
    /// Opens or makes the file, and brings its schema up to date.
    ///
    /// # Errors
    /// If it is no such file, or was written by a later version.
    pub fn open(path: &Path) -> Result<Self> {
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(PATIENCE)?;
        // A transaction that reads first and writes then would fail at once where another process has written between.
        connection.set_transaction_behavior(rusqlite::TransactionBehavior::Immediate);
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // A crash of the machine may take the last moments, never the consistency.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "cache_size", -1024)?;
        migrate(&mut connection)?;
        Ok(Self(Mutex::new(connection)))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // Statements are atomic, so a panic between them leaves the database whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a statement; true if it changed a row.
    fn change(&self, sql: &str, values: impl rusqlite::Params) -> Result<bool> {
        let connection = self.lock();
        Ok(connection.prepare(sql)?.execute(values)? > 0)
    }
}

fn migrate(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction()?;
    let version: usize = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let Some(missing) = MIGRATIONS.get(version..) else {
        let message = "its file was written by a later version of hprof-rs; use that version, or \
             another --folder";
        return Err(CatalogueError::failed(message));
    };
    for step in missing {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", MIGRATIONS.len())?;
    Ok(transaction.commit()?)
}

impl Catalogue for SqliteCatalogue {
    fn add_dump(&self, dump: &NewDump) -> Result<Added> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        let added = transaction.execute(
            "INSERT INTO dumps (id, sha256, name, bytes, uploaded_at, stripped, note, strippings)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            params![
                dump.id.as_str(),
                dump.sha256.as_str(),
                dump.name,
                dump.bytes,
                Millis::now().0,
                dump.stripped,
                dump.note,
                json(&dump.strippings)?
            ],
        )?;
        if added == 0 {
            return Ok(Added::Known);
        }
        transaction.execute(
            "INSERT INTO jobs (dump, state) VALUES (?, 'queued')",
            [dump.id.as_str()],
        )?;
        let job = JobId(transaction.last_insert_rowid());
        transaction.commit()?;
        Ok(Added::New(job))
    }

    fn dump(&self, id: &DumpId) -> Result<Option<Dump>> {
        let connection = self.lock();
        let sql = format!(
            "SELECT {JOB}, {DUMP} FROM dumps LEFT JOIN jobs ON jobs.id =
                 (SELECT max(id) FROM jobs WHERE dump = dumps.id) WHERE dumps.id = ?"
        );
        let mut statement = connection.prepare(&sql)?;
        Ok(statement.query_row([id.as_str()], rows::dump).optional()?)
    }

    fn dumps(&self, query: &DumpQuery) -> Result<Page<Dump>> {
        let (time, id) = place_of(query.cursor.as_deref());
        let pattern = containing(query.text.as_deref().unwrap_or_default());
        let connection = self.lock();
        let sql = format!(
            "SELECT {JOB}, {DUMP} FROM dumps LEFT JOIN jobs ON jobs.id =
                 (SELECT max(id) FROM jobs WHERE dump = dumps.id)
             WHERE (uploaded_at, dumps.id) < (?1, ?2)
                 AND (name LIKE ?3 ESCAPE '\\' OR note LIKE ?3 ESCAPE '\\' OR labels LIKE ?3 ESCAPE '\\')
             ORDER BY uploaded_at DESC, dumps.id DESC LIMIT ?4"
        );
        let mut statement = connection.prepare(&sql)?;
        let found = statement
            .query_map(params![time, id, pattern, query.limit + 1], rows::dump)?
            .collect::<std::result::Result<_, _>>()?;
        let cursor = |dump: &Dump| format!("{}:{}", dump.uploaded_at.0, dump.id);
        Ok(page(found, query.limit, cursor))
    }

    fn change_dump(&self, id: &DumpId, patch: &DumpPatch) -> Result<bool> {
        let labels = patch.labels.as_ref().map(json).transpose()?;
        let [service, host, build] = match &patch.labels {
            Some(labels) => places(labels).map(Some),
            None => [None, None, None],
        };
        self.change(
            "UPDATE dumps SET name = coalesce(?, name), note = coalesce(?, note),
                 labels = coalesce(?, labels), pinned = coalesce(?, pinned),
                 service = coalesce(?, service), host = coalesce(?, host),
                 build = coalesce(?, build) WHERE id = ?",
            params![
                patch.name,
                patch.note,
                labels,
                patch.pinned,
                service,
                host,
                build,
                id.as_str()
            ],
        )
    }

    fn set_rules(
        &self,
        id: &DumpId,
        rules: &[Verdict],
        instead_of: Option<&[Verdict]>,
    ) -> Result<bool> {
        let before = instead_of.map(|rules| json(&rules)).transpose()?;
        self.change(
            "UPDATE dumps SET rules = ?1 WHERE id = ?2 AND (?3 IS NULL OR rules = ?3)",
            params![json(&rules)?, id.as_str(), before],
        )
    }

    fn delete_dump(&self, id: &DumpId) -> Result<bool> {
        self.change("DELETE FROM dumps WHERE id = ?", [id.as_str()])
    }

    fn removable(&self) -> Result<Vec<(DumpId, Millis, u64)>> {
        let connection = self.lock();
        let mut statement = connection.prepare(
            "SELECT id, uploaded_at, bytes FROM dumps WHERE NOT pinned AND NOT EXISTS
                 (SELECT 1 FROM jobs WHERE dump = dumps.id AND state IN ('queued', 'running'))
             ORDER BY uploaded_at, id",
        )?;
        let row = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, String>(0)?, Millis(row.get(1)?), row.get(2)?))
        };
        let found: Vec<(String, Millis, u64)> = statement
            .query_map([], row)?
            .collect::<std::result::Result<_, _>>()?;
        let parsed = found.into_iter().filter_map(|(id, time, bytes)| {
            let id = id.parse().ok()?;
            Some((id, time, bytes))
        });
        Ok(parsed.collect())
    }

    fn add_upload(&self, upload: &Upload) -> Result<()> {
        self.change(
            "INSERT INTO uploads (id, name, length, created_at, strips, fail_above, stripped)
             VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![
                upload.id,
                upload.name,
                upload.length,
                upload.created_at.0,
                upload.strips,
                upload.fail_above,
                upload.stripped
            ],
        )?;
        Ok(())
    }

    fn upload(&self, id: &str) -> Result<Option<Upload>> {
        let connection = self.lock();
        let sql = format!("SELECT {UPLOAD} FROM uploads WHERE id = ?");
        let mut statement = connection.prepare(&sql)?;
        Ok(statement.query_row([id], rows::upload).optional()?)
    }

    fn uploads(&self) -> Result<Vec<Upload>> {
        let connection = self.lock();
        let sql = format!("SELECT {UPLOAD} FROM uploads ORDER BY created_at");
        let mut statement = connection.prepare(&sql)?;
        let found = statement.query_map([], rows::upload)?;
        Ok(found.collect::<std::result::Result<_, _>>()?)
    }

    fn complete_upload(&self, id: &str, dump: &DumpId) -> Result<()> {
        let sql = "UPDATE uploads SET dump = ? WHERE id = ?";
        self.change(sql, params![dump.as_str(), id])?;
        Ok(())
    }

    fn delete_upload(&self, id: &str) -> Result<bool> {
        self.change("DELETE FROM uploads WHERE id = ?", [id])
    }

    fn add_token(&self, hash: &str, role: Role, name: &str) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO tokens (hash, role, name, created_at)
             VALUES (?, ?, ?, ?)";
        self.change(sql, params![hash, role.word(), name, Millis::now().0])?;
        Ok(())
    }

    fn role_of(&self, hash: &str) -> Result<Option<Role>> {
        let connection = self.lock();
        let mut statement = connection.prepare("SELECT role FROM tokens WHERE hash = ?")?;
        let role: Option<String> = statement.query_row([hash], |row| row.get(0)).optional()?;
        Ok(role.as_deref().and_then(Role::of_word))
    }

    fn remove_tokens(&self, name: &str) -> Result<usize> {
        let connection = self.lock();
        Ok(connection.execute("DELETE FROM tokens WHERE name = ?", [name])?)
    }

    fn totals(&self) -> Result<(u64, u64)> {
        let sql = "SELECT count(*), coalesce(sum(bytes), 0) FROM dumps";
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        Ok(self.lock().query_row(sql, [], row)?)
    }

    fn token_count(&self) -> Result<u64> {
        let sql = "SELECT count(*) FROM tokens";
        Ok(self.lock().query_row(sql, [], |row| row.get(0))?)
    }

    fn audit(&self, deed: &Deed<'_>) -> Result<()> {
        let connection = self.lock();
        let mut statement = connection
            .prepare("INSERT INTO audit (at, who, address, what, status) VALUES (?, ?, ?, ?, ?)")?;
        let now = Millis::now().0;
        let row = statement.insert(params![now, deed.who, deed.address, deed.what, deed.status])?;
        let mut prune = connection.prepare("DELETE FROM audit WHERE id <= ?")?;
        prune.execute([row - AUDIT_ROWS])?;
        Ok(())
    }
}
