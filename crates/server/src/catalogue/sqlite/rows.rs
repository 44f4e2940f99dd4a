//! Rows of SQLite as values.

use rusqlite::types::Type;
use rusqlite::{Error, Row};

use super::super::{Dump, DumpKind, Job, JobState, Upload};
use crate::ids::{ContentHash, DumpId, JobId};
use crate::time::Millis;

/// The columns of [`job`], of the table `jobs`.
pub(super) const JOB: &str = "jobs.id, jobs.dump, jobs.state, jobs.phase, jobs.attempt, \
     jobs.started_at, jobs.ended_at, jobs.error, \
     (SELECT analysed.rules FROM dumps AS analysed WHERE analysed.id = jobs.dump)";
/// The number of columns in [`JOB`].
const JOB_COLUMNS: usize = 9;

/// The columns of [`dump`], after those of its job.
pub(super) const DUMP: &str = "dumps.id, dumps.sha256, dumps.name, dumps.kind, dumps.bytes, \
     dumps.uploaded_at, dumps.note, dumps.labels, dumps.pinned, dumps.headline, dumps.summary, \
     dumps.stripped, dumps.rules, dumps.strippings";

/// The columns of [`upload`].
pub(super) const UPLOAD: &str = "id, name, length, created_at, dump, strips, fail_above, stripped";

/// A value that no version of this program writes.
fn strange(column: usize) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, "a value of another program".into())
}

fn id(row: &Row<'_>, column: usize) -> Result<DumpId, Error> {
    let text: String = row.get(column)?;
    text.parse().map_err(|_| strange(column))
}

fn json<T: serde::de::DeserializeOwned>(text: &str, column: usize) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|_| strange(column))
}

pub(super) fn job(row: &Row<'_>) -> Result<Job, Error> {
    let state: String = row.get(2)?;
    let error: Option<String> = row.get(7)?;
    Ok(Job {
        id: JobId(row.get(0)?),
        dump: id(row, 1)?,
        state: JobState::of_word(&state).ok_or_else(|| strange(2))?,
        phase: row.get(3)?,
        attempt: row.get(4)?,
        worker: None,
        room: None,
        started_at: row.get::<_, Option<i64>>(5)?.map(Millis),
        ended_at: row.get::<_, Option<i64>>(6)?.map(Millis),
        error: error.map(|text| json(&text, 7)).transpose()?,
        done: 0,
        total: 0,
        unit: "bytes".to_owned(),
        rate: 0.0,
        seconds_left: None,
        rules: json(&row.get::<_, String>(8)?, 8)?,
    })
}

pub(super) fn dump(row: &Row<'_>) -> Result<Dump, Error> {
    let at = |column: usize| JOB_COLUMNS + column;
    let kind: String = row.get(at(3))?;
    let labels: String = row.get(at(7))?;
    let summary: Option<String> = row.get(at(10))?;
    let has_job = row.get::<_, Option<i64>>(0)?.is_some();
    Ok(Dump {
        id: id(row, at(0))?,
        sha256: ContentHash::kept(row.get(at(1))?),
        name: row.get(at(2))?,
        kind: DumpKind::of_word(&kind).ok_or_else(|| strange(at(3)))?,
        bytes: row.get(at(4))?,
        uploaded_at: Millis(row.get(at(5))?),
        note: row.get(at(6))?,
        labels: json(&labels, at(7))?,
        pinned: row.get(at(8))?,
        headline: row.get(at(9))?,
        summary: summary.map(|text| json(&text, at(10))).transpose()?,
        stripped: row.get(at(11))?,
        rules: json(&row.get::<_, String>(at(12))?, at(12))?,
        strippings: json(&row.get::<_, String>(at(13))?, at(13))?,
        job: has_job.then(|| job(row)).transpose()?,
    })
}

pub(super) fn upload(row: &Row<'_>) -> Result<Upload, Error> {
    Ok(Upload {
        id: row.get(0)?,
        name: row.get(1)?,
        length: row.get(2)?,
        created_at: Millis(row.get(3)?),
        dump: row
            .get::<_, Option<String>>(4)?
            .and_then(|text| text.parse().ok()),
        strips: row.get(5)?,
        fail_above: row.get(6)?,
        stripped: row.get(7)?,
    })
}
