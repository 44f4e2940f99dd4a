//! Rows of PostgreSQL as values.

use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use crate::catalogue::{CatalogueError, Dump, DumpKind, Job, JobState, Result, Upload};
use crate::ids::{ContentHash, DumpId, JobId};
use crate::jobs::Progress;
use crate::time::Millis;

/// The columns of [`job`], of the table `jobs`.
pub(super) const JOB: &str = "jobs.id, jobs.dump, jobs.state, jobs.phase, jobs.attempt, \
     jobs.started_at, jobs.ended_at, jobs.error, \
     (SELECT analysed.rules FROM dumps AS analysed WHERE analysed.id = jobs.dump), \
     jobs.progress, jobs.worker, jobs.room";
/// The number of columns in [`JOB`].
const JOB_COLUMNS: usize = 12;

/// The columns of [`dump`], after those of its job.
pub(super) const DUMP: &str = "dumps.id, dumps.sha256, dumps.name, dumps.kind, dumps.bytes, \
     dumps.uploaded_at, dumps.note, dumps.labels, dumps.pinned, dumps.headline, dumps.summary, \
     dumps.stripped, dumps.rules, dumps.strippings";

/// The columns of [`upload`].
pub(super) const UPLOAD: &str = "id, name, length, created_at, dump, strips, fail_above, stripped";

/// A value that no version of this program writes.
fn strange() -> CatalogueError {
    CatalogueError::failed("it has a value of another program")
}

/// The value of a column.
pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(CatalogueError::failed)
}

/// A number that is never negative.
pub(super) fn count(row: &Row, column: usize) -> Result<u64> {
    u64::try_from(get::<i64>(row, column)?).map_err(CatalogueError::failed)
}

/// The id of a dump.
pub(super) fn dump_id(row: &Row, column: usize) -> Result<DumpId> {
    get::<&str>(row, column)?.parse().map_err(|_| strange())
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|_| strange())
}

pub(super) fn job(row: &Row) -> Result<Job> {
    let state = JobState::of_word(get(row, 2)?).ok_or_else(strange)?;
    let attempt: i64 = get(row, 4)?;
    let error: Option<&str> = get(row, 7)?;
    let mut job = Job {
        id: JobId(get(row, 0)?),
        dump: dump_id(row, 1)?,
        state,
        phase: get(row, 3)?,
        attempt: u32::try_from(attempt).map_err(|_| strange())?,
        started_at: get::<Option<i64>>(row, 5)?.map(Millis),
        ended_at: get::<Option<i64>>(row, 6)?.map(Millis),
        error: error.map(json).transpose()?,
        rules: json(get(row, 8)?)?,
        worker: get(row, 10)?,
        room: get::<Option<i64>>(row, 11)?.and_then(|room| u64::try_from(room).ok()),
        done: 0,
        total: 0,
        unit: "bytes".to_owned(),
        rate: 0.0,
        seconds_left: None,
    };
    let progress: Option<&str> = get(row, 9)?;
    if let (JobState::Running, Some(progress)) = (state, progress) {
        json::<Progress>(progress)?.show_in(&mut job);
    }
    Ok(job)
}

pub(super) fn dump(row: &Row) -> Result<Dump> {
    let at = |column: usize| JOB_COLUMNS + column;
    let summary: Option<&str> = get(row, at(10))?;
    let has_job = get::<Option<i64>>(row, 0)?.is_some();
    Ok(Dump {
        id: dump_id(row, at(0))?,
        sha256: ContentHash::kept(get(row, at(1))?),
        name: get(row, at(2))?,
        kind: DumpKind::of_word(get(row, at(3))?).ok_or_else(strange)?,
        bytes: count(row, at(4))?,
        uploaded_at: Millis(get(row, at(5))?),
        note: get(row, at(6))?,
        labels: json(get(row, at(7))?)?,
        pinned: get(row, at(8))?,
        headline: get(row, at(9))?,
        summary: summary.map(json).transpose()?,
        stripped: get(row, at(11))?,
        rules: json(get(row, at(12))?)?,
        strippings: json(get(row, at(13))?)?,
        job: has_job.then(|| job(row)).transpose()?,
    })
}

pub(super) fn upload(row: &Row) -> Result<Upload> {
    Ok(Upload {
        id: get(row, 0)?,
        name: get(row, 1)?,
        length: count(row, 2)?,
        created_at: Millis(get(row, 3)?),
        dump: get::<Option<&str>>(row, 4)?.and_then(|text| text.parse().ok()),
        strips: get(row, 5)?,
        fail_above: get(row, 6)?,
        stripped: get(row, 7)?,
    })
}
