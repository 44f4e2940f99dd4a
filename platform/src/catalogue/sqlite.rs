//! The catalogue in a file of SQLite, with a write-ahead log.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use super::rows::{self, DUMP, JOB, UPLOAD};
use super::{
    Added, Catalogue, CatalogueError, Deed, Dump, DumpPatch, DumpQuery, Ending, Job, JobError,
    JobQuery, JobState, NewDump, Page, Result, Role, Upload,
};
use crate::ids::{DumpId, JobId};
use crate::rules::Verdict;
use crate::time::Millis;

/// The steps from one version of the schema to the next; never changed once released.
const MIGRATIONS: [&str; 3] = [
    include_str!("schema.sql"),
    // What a complete upload has become.
    "ALTER TABLE uploads ADD COLUMN dump TEXT",
    // Rules with verdicts, and dumps whose values were blanked.
    "ALTER TABLE dumps ADD COLUMN rules TEXT NOT NULL DEFAULT '[]';
     ALTER TABLE dumps ADD COLUMN stripped INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE uploads ADD COLUMN strips INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE uploads ADD COLUMN fail_above TEXT NOT NULL DEFAULT '';",
];
/// How long a statement waits for another process, such as a backup.
const PATIENCE: Duration = Duration::from_secs(10);
/// Attempts after which a job that ran when the server died is taken for the reason.
const MAX_RECOVERIES: u32 = 6;
/// Rows of the audit log that are kept.
const AUDIT_ROWS: i64 = 100_000;

impl From<rusqlite::Error> for CatalogueError {
    fn from(error: rusqlite::Error) -> Self {
        Self(error.to_string())
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
        return Err(CatalogueError(message.to_owned()));
    };
    for step in missing {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", MIGRATIONS.len())?;
    Ok(transaction.commit()?)
}

/// A pattern of LIKE for texts that contain this one.
fn containing(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

/// The JSON of a value that always has one.
fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| CatalogueError(error.to_string()))
}

/// Divides rows, of which there is one more than asked for if others follow, into a page.
fn page<T>(mut items: Vec<T>, limit: usize, cursor: impl Fn(&T) -> String) -> Page<T> {
    let has_more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| has_more).map(cursor);
    Page { items, next }
}

impl Catalogue for SqliteCatalogue {
    fn add_dump(&self, dump: &NewDump) -> Result<Added> {
        let is_new = self.change(
            "INSERT INTO dumps (id, sha256, name, bytes, uploaded_at, stripped, note)
             VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            params![
                dump.id.as_str(),
                dump.sha256.as_str(),
                dump.name,
                dump.bytes,
                Millis::now().0,
                dump.stripped,
                dump.note
            ],
        )?;
        match is_new {
            true => Ok(Added::New),
            false => Ok(Added::Known),
        }
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
        let (time, id) = match query.cursor.as_deref().and_then(|it| it.split_once(':')) {
            Some((time, id)) => (time.parse().unwrap_or(0), id),
            None => (i64::MAX, ""),
        };
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
        self.change(
            "UPDATE dumps SET name = coalesce(?, name), note = coalesce(?, note),
                 labels = coalesce(?, labels), pinned = coalesce(?, pinned) WHERE id = ?",
            params![patch.name, patch.note, labels, patch.pinned, id.as_str()],
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

    fn enqueue(&self, dump: &DumpId) -> Result<JobId> {
        let connection = self.lock();
        let mut statement =
            connection.prepare("INSERT INTO jobs (dump, state) VALUES (?, 'queued')")?;
        Ok(JobId(statement.insert([dump.as_str()])?))
    }

    fn job(&self, id: JobId) -> Result<Option<Job>> {
        let connection = self.lock();
        let mut statement = connection.prepare(&format!("SELECT {JOB} FROM jobs WHERE id = ?"))?;
        Ok(statement.query_row([id.0], rows::job).optional()?)
    }

    fn jobs(&self, query: &JobQuery) -> Result<Page<Job>> {
        let before = query.cursor.as_deref().map_or(i64::MAX, |cursor| {
            // A cursor of another list gives no rows.
            cursor.parse().unwrap_or(0)
        });
        let connection = self.lock();
        let mut statement = connection.prepare(&format!(
            "SELECT {JOB} FROM jobs WHERE id < ?1 AND (?2 IS NULL OR state = ?2)
             ORDER BY id DESC LIMIT ?3"
        ))?;
        let state = query.state.map(JobState::word);
        let found = statement
            .query_map(params![before, state, query.limit + 1], rows::job)?
            .collect::<std::result::Result<_, _>>()?;
        Ok(page(found, query.limit, |job: &Job| job.id.to_string()))
    }

    fn job_counts(&self) -> Result<(u64, u64)> {
        let connection = self.lock();
        let mut statement = connection.prepare("SELECT count(*) FROM jobs WHERE state = ?")?;
        let mut count = |state: JobState| statement.query_row([state.word()], |row| row.get(0));
        Ok((count(JobState::Running)?, count(JobState::Queued)?))
    }

    fn next_queued(&self) -> Result<Option<Job>> {
        let connection = self.lock();
        let mut statement = connection.prepare(&format!(
            "SELECT {JOB} FROM jobs WHERE state = 'queued' ORDER BY id LIMIT 1"
        ))?;
        Ok(statement.query_row([], rows::job).optional()?)
    }

    fn begin(&self, id: JobId) -> Result<Option<u32>> {
        let connection = self.lock();
        let mut statement = connection.prepare(
            "UPDATE jobs SET state = 'running', attempt = attempt + 1, phase = NULL, error = NULL,
                 started_at = ?, ended_at = NULL WHERE id = ? AND state = 'queued'
             RETURNING attempt",
        )?;
        let attempt = statement.query_row(params![Millis::now().0, id.0], |row| row.get(0));
        Ok(attempt.optional()?)
    }

    fn phase(&self, id: JobId, attempt: u32, phase: &str) -> Result<()> {
        let sql = "UPDATE jobs SET phase = ? WHERE id = ? AND attempt = ? AND state = 'running'";
        self.change(sql, params![phase, id.0, attempt])?;
        Ok(())
    }

    fn end(&self, id: JobId, attempt: u32, ending: &Ending) -> Result<bool> {
        let now = Millis::now().0;
        match ending {
            Ending::Done(outcome) => {
                let mut connection = self.lock();
                let transaction = connection.transaction()?;
                let is_ended = transaction.execute(
                    "UPDATE jobs SET state = 'done', ended_at = ?
                     WHERE id = ? AND attempt = ? AND state = 'running'",
                    params![now, id.0, attempt],
                )? > 0;
                if is_ended {
                    let summary = outcome.summary.as_ref().map(json).transpose()?;
                    transaction.execute(
                        "UPDATE dumps SET kind = ?, headline = ?, summary = ?
                         WHERE id = (SELECT dump FROM jobs WHERE id = ?)",
                        params![
                            rows::kind_word(outcome.kind),
                            outcome.headline,
                            summary,
                            id.0
                        ],
                    )?;
                }
                transaction.commit()?;
                Ok(is_ended)
            }
            Ending::Failed(error) => self.change(
                "UPDATE jobs SET state = 'failed', ended_at = ?, error = ?
                 WHERE id = ? AND attempt = ? AND state = 'running'",
                params![now, json(error)?, id.0, attempt],
            ),
            Ending::Crashed(error) => self.change(
                "UPDATE jobs SET state = iif(attempt < allowed, 'queued', 'failed'),
                     ended_at = iif(attempt < allowed, NULL, ?1),
                     error = iif(attempt < allowed, NULL, ?2)
                 WHERE id = ?3 AND attempt = ?4 AND state = 'running'",
                params![now, json(error)?, id.0, attempt],
            ),
            Ending::Interrupted => self.change(
                "UPDATE jobs SET state = 'queued', phase = NULL, allowed = allowed + 1
                 WHERE id = ? AND attempt = ? AND state = 'running'",
                params![id.0, attempt],
            ),
        }
    }

    fn cancel(&self, id: JobId) -> Result<Option<JobState>> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        let sql = "SELECT state FROM jobs WHERE id = ? AND state IN ('queued', 'running')";
        let state: Option<String> = transaction
            .query_row(sql, [id.0], |row| row.get(0))
            .optional()?;
        transaction.execute(
            "UPDATE jobs SET state = 'cancelled', ended_at = ?
             WHERE id = ? AND state IN ('queued', 'running')",
            params![Millis::now().0, id.0],
        )?;
        transaction.commit()?;
        Ok(state.as_deref().and_then(JobState::of_word))
    }

    fn retry(&self, id: JobId) -> Result<bool> {
        self.change(
            "UPDATE jobs SET state = 'queued', phase = NULL, error = NULL, started_at = NULL,
                 ended_at = NULL, allowed = attempt + 2
             WHERE id = ? AND state IN ('failed', 'cancelled')",
            [id.0],
        )
    }

    fn recover(&self, error: &JobError) -> Result<usize> {
        let connection = self.lock();
        let mut statement = connection.prepare(
            "UPDATE jobs SET state = iif(attempt < ?3, 'queued', 'failed'), phase = NULL,
                 ended_at = iif(attempt < ?3, NULL, ?1), error = iif(attempt < ?3, NULL, ?2),
                 allowed = allowed + 1
             WHERE state = 'running'",
        )?;
        Ok(statement.execute(params![Millis::now().0, json(error)?, MAX_RECOVERIES])?)
    }

    fn add_upload(&self, upload: &Upload) -> Result<()> {
        self.change(
            "INSERT INTO uploads (id, name, length, created_at, strips, fail_above)
             VALUES (?, ?, ?, ?, ?, ?)",
            params![
                upload.id,
                upload.name,
                upload.length,
                upload.created_at.0,
                upload.strips,
                upload.fail_above
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
