//! The catalogue in PostgreSQL, which servers and workers on many machines share.
//!
//! Each call is one statement, so each is atomic without a transaction, takes one way to the database
//! and back, and leaves nothing locked when a process dies.

mod address;
mod fleet;
mod listen;
mod migrate;
mod pool;
mod pushed;
mod queue;
mod rows;
mod tell;
mod tls;

use std::sync::Arc;
use std::time::{Duration, Instant};

pub use address::{DatabaseAddress, NoAddress};

use rows::{DUMP, JOB, UPLOAD, count, dump_id, get};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::broadcast;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::figures::places;
use super::pushed::PushedSegments;
use super::{
    Added, Catalogue, CatalogueError, Deed, Dump, DumpPatch, DumpQuery, JobState, NewDump, News,
    Page, Result, Role, Upload, containing, json, page, place_of,
};
use crate::ids::{DumpId, JobId};
use crate::rules::Verdict;
use crate::time::Millis;
use pool::Pool;
use tell::Teller;

/// How long a start waits for a database that starts too.
const START: Duration = Duration::from_secs(30);
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(500);
/// News that a slow reader may be behind.
const BACKLOG: usize = 1024;
/// Attempts that a job has.
const ATTEMPTS: i64 = 5;
/// The pause before the second attempt; each is four times as long as the one before.
const BACK_OFF: Duration = Duration::from_secs(2);
/// Rows of the audit log that are kept.
const AUDIT_ROWS: i64 = 1_000_000;
/// How many rows of the audit log come between two looks at its length.
const AUDIT_STEP: i64 = 1000;

/// A catalogue in PostgreSQL 13 or later.
pub struct PostgresCatalogue {
    /// Its tasks move the bytes of connections. There until the catalogue goes.
    runtime: Option<Runtime>,
    pool: Arc<Pool>,
    news: broadcast::Sender<News>,
    teller: Teller,
    back_off: Duration,
}

impl Drop for PostgresCatalogue {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Also where nothing may wait.
            runtime.shutdown_background();
        }
    }
}

impl PostgresCatalogue {
    /// Opens the database, and brings its schema up to date. Waits for a moment if it is away.
    ///
    /// # Errors
    /// If it stays away, refuses, or was written by a later version.
    pub fn open(address: DatabaseAddress) -> Result<Self> {
        Self::open_within(address, START)
    }

    /// Opens the database, and brings its schema up to date. Tries again for this long if it is away.
    ///
    /// # Errors
    /// If it stays away, refuses, or was written by a later version.
    pub fn open_within(address: DatabaseAddress, patience: Duration) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("database")
            .enable_all()
            .build()
            .map_err(CatalogueError::failed)?;
        let pool = Pool::new(address)?;
        let began = Instant::now();
        loop {
            match runtime.block_on(migrate::migrate(&pool)) {
                Ok(()) => break,
                Err(error @ CatalogueError::Failed(_)) => return Err(error),
                Err(error) if began.elapsed() >= patience => return Err(error),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
        let news = broadcast::Sender::new(BACKLOG);
        runtime.spawn(listen::run(Arc::downgrade(&pool), news.clone()));
        let (teller, told) = Teller::new();
        runtime.spawn(tell::run(Arc::downgrade(&pool), told));
        Ok(Self {
            runtime: Some(runtime),
            pool,
            news,
            teller,
            back_off: BACK_OFF,
        })
    }

    /// As it is, with another pause before the second attempt of a job.
    #[must_use]
    pub fn with_back_off(mut self, back_off: Duration) -> Self {
        self.back_off = back_off;
        self
    }

    /// Carries out a statement.
    fn rows(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        match &self.runtime {
            Some(runtime) => runtime.block_on(self.pool.rows(sql, values)),
            None => Err(CatalogueError::failed("it is closed")),
        }
    }

    /// The first row, if there is one.
    fn row<T>(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
        value: impl Fn(&Row) -> Result<T>,
    ) -> Result<Option<T>> {
        self.rows(sql, values)?.first().map(value).transpose()
    }

    /// Carries out a statement that ends with RETURNING; true if it changed a row.
    fn change(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<bool> {
        Ok(!self.rows(sql, values)?.is_empty())
    }
}

/// A text as PostgreSQL takes it: without zero bytes.
fn plain(text: &str) -> String {
    text.replace('\0', "")
}

/// A number that fits.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Catalogue for PostgresCatalogue {
    fn add_dump(&self, dump: &NewDump) -> Result<Added> {
        let added = self.row(
            "WITH added AS (
                 INSERT INTO dumps (id, sha256, name, bytes, uploaded_at, stripped, note, strippings)
                 VALUES ($1, $2, $3, $4, hprof_rs_now(), $5, $6, $8) ON CONFLICT DO NOTHING RETURNING id)
             INSERT INTO jobs (dump, state, allowed) SELECT id, 'queued', $7 FROM added
             RETURNING id",
            &[
                &dump.id.as_str(),
                &dump.sha256.as_str(),
                &plain(&dump.name),
                &number(dump.bytes),
                &dump.stripped,
                &plain(&dump.note),
                &ATTEMPTS,
                &plain(&json(&dump.strippings)?),
            ],
            |row| get(row, 0),
        )?;
        Ok(match added {
            None => Added::Known,
            Some(job) => {
                self.tell_job(JobId(job), JobState::Queued, &dump.id);
                Added::New(JobId(job))
            }
        })
    }

    fn dump(&self, id: &DumpId) -> Result<Option<Dump>> {
        let sql = format!(
            "SELECT {JOB}, {DUMP} FROM dumps LEFT JOIN jobs ON jobs.id =
                 (SELECT max(id) FROM jobs WHERE dump = dumps.id) WHERE dumps.id = $1"
        );
        self.row(&sql, &[&id.as_str()], rows::dump)
    }

    fn dumps(&self, query: &DumpQuery) -> Result<Page<Dump>> {
        let (time, id) = place_of(query.cursor.as_deref());
        let pattern = plain(&containing(query.text.as_deref().unwrap_or_default()));
        let sql = format!(
            "SELECT {JOB}, {DUMP} FROM dumps LEFT JOIN jobs ON jobs.id =
                 (SELECT max(id) FROM jobs WHERE dump = dumps.id)
             WHERE (uploaded_at, dumps.id) < ($1, $2)
                 AND (name ILIKE $3 OR note ILIKE $3 OR labels ILIKE $3)
             ORDER BY uploaded_at DESC, dumps.id DESC LIMIT $4"
        );
        let limit = number(query.limit as u64 + 1);
        let found = self.rows(&sql, &[&time, &plain(id), &pattern, &limit])?;
        let found: Result<Vec<Dump>> = found.iter().map(rows::dump).collect();
        let cursor = |dump: &Dump| format!("{}:{}", dump.uploaded_at.0, dump.id);
        Ok(page(found?, query.limit, cursor))
    }

    fn change_dump(&self, id: &DumpId, patch: &DumpPatch) -> Result<bool> {
        let labels = patch.labels.as_ref().map(json).transpose()?;
        let (name, note) = (
            patch.name.as_deref().map(plain),
            patch.note.as_deref().map(plain),
        );
        let [service, host, build] = match &patch.labels {
            Some(labels) => places(labels).map(Some),
            None => [None, None, None],
        };
        self.change(
            "UPDATE dumps SET name = coalesce($1, name), note = coalesce($2, note),
                 labels = coalesce($3, labels), pinned = coalesce($4, pinned),
                 service = coalesce($5, service), host = coalesce($6, host),
                 build = coalesce($7, build) WHERE id = $8
             RETURNING id",
            &[
                &name,
                &note,
                &labels,
                &patch.pinned,
                &service,
                &host,
                &build,
                &id.as_str(),
            ],
        )
        .inspect(|_| self.teller.tell(format!("dump {id}")))
    }

    fn set_rules(
        &self,
        id: &DumpId,
        rules: &[Verdict],
        instead_of: Option<&[Verdict]>,
    ) -> Result<bool> {
        let before = instead_of.map(|rules| json(&rules)).transpose()?;
        self.change(
            "UPDATE dumps SET rules = $1 WHERE id = $2 AND ($3::text IS NULL OR rules = $3)
             RETURNING id",
            &[&json(&rules)?, &id.as_str(), &before],
        )
        .inspect(|_| self.teller.tell(format!("dump {id}")))
    }

    fn delete_dump(&self, id: &DumpId) -> Result<bool> {
        self.change(
            "DELETE FROM dumps WHERE id = $1 RETURNING id",
            &[&id.as_str()],
        )
        .inspect(|_| self.teller.tell(format!("gone {id}")))
    }

    fn removable(&self) -> Result<Vec<(DumpId, Millis, u64)>> {
        let found = self.rows(
            "SELECT id, uploaded_at, bytes FROM dumps WHERE NOT pinned AND NOT EXISTS
                 (SELECT 1 FROM jobs WHERE dump = dumps.id AND state IN ('queued', 'running'))
             ORDER BY uploaded_at, id",
            &[],
        )?;
        let row = |row: &Row| Ok((dump_id(row, 0)?, Millis(get(row, 1)?), count(row, 2)?));
        found.iter().map(row).collect()
    }

    fn add_upload(&self, upload: &Upload) -> Result<()> {
        self.change(
            "INSERT INTO uploads (id, name, length, created_at, strips, fail_above, stripped)
             VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id",
            &[
                &upload.id,
                &plain(&upload.name),
                &number(upload.length),
                &upload.created_at.0,
                &upload.strips,
                &plain(&upload.fail_above),
                &plain(&upload.stripped),
            ],
        )?;
        Ok(())
    }

    fn upload(&self, id: &str) -> Result<Option<Upload>> {
        let sql = format!("SELECT {UPLOAD} FROM uploads WHERE id = $1");
        self.row(&sql, &[&plain(id)], rows::upload)
    }

    fn uploads(&self) -> Result<Vec<Upload>> {
        let sql = format!("SELECT {UPLOAD} FROM uploads ORDER BY created_at");
        self.rows(&sql, &[])?.iter().map(rows::upload).collect()
    }

    fn complete_upload(&self, id: &str, dump: &DumpId) -> Result<()> {
        let sql = "UPDATE uploads SET dump = $1 WHERE id = $2 RETURNING id";
        self.change(sql, &[&dump.as_str(), &id])?;
        Ok(())
    }

    fn delete_upload(&self, id: &str) -> Result<bool> {
        self.change("DELETE FROM uploads WHERE id = $1 RETURNING id", &[&id])
    }

    fn add_token(&self, hash: &str, role: Role, name: &str) -> Result<()> {
        self.change(
            "INSERT INTO tokens (hash, role, name, created_at) VALUES ($1, $2, $3, hprof_rs_now())
             ON CONFLICT (hash) DO UPDATE SET role = $2, name = $3 RETURNING hash",
            &[&hash, &role.word(), &plain(name)],
        )?;
        Ok(())
    }

    fn role_of(&self, hash: &str) -> Result<Option<Role>> {
        let sql = "SELECT role FROM tokens WHERE hash = $1";
        let role: Option<String> = self.row(sql, &[&hash], |row| get(row, 0))?;
        Ok(role.as_deref().and_then(Role::of_word))
    }

    fn remove_tokens(&self, name: &str) -> Result<usize> {
        let sql = "DELETE FROM tokens WHERE name = $1 RETURNING hash";
        Ok(self.rows(sql, &[&plain(name)])?.len())
    }

    fn totals(&self) -> Result<(u64, u64)> {
        let sql = "SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM dumps";
        let totals = self.row(sql, &[], |row| Ok((count(row, 0)?, count(row, 1)?)))?;
        Ok(totals.unwrap_or_default())
    }

    fn token_count(&self) -> Result<u64> {
        let counted = self.row("SELECT count(*) FROM tokens", &[], |row| count(row, 0))?;
        Ok(counted.unwrap_or_default())
    }

    fn audit(&self, deed: &Deed<'_>) -> Result<()> {
        let row: Option<i64> = self.row(
            "INSERT INTO audit (at, who, address, what, status)
             VALUES (hprof_rs_now(), $1, $2, $3, $4) RETURNING id",
            &[
                &deed.who,
                &deed.address,
                &plain(deed.what),
                &i32::from(deed.status),
            ],
            |row| get(row, 0),
        )?;
        if let Some(row) = row.filter(|row| row % AUDIT_STEP == 0) {
            let sql = "DELETE FROM audit WHERE id <= $1 RETURNING 1";
            self.rows(sql, &[&(row - AUDIT_ROWS)])?;
        }
        Ok(())
    }

    fn pushed(&self) -> Option<&dyn PushedSegments> {
        Some(self)
    }
}
