//! The queue that machines share. Times are those of the database.

use std::time::Duration;

use tokio::sync::broadcast;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::rows::{self, JOB, count, dump_id, get};
use super::{ATTEMPTS, PostgresCatalogue, fleet, number, plain};
use crate::catalogue::{
    Claim, Ending, Job, JobError, JobQuery, JobState, News, Page, Queue, Result, json, page, row_of,
};
use crate::ids::{DumpId, JobId};
use crate::jobs::Progress;

/// The longest pause before an attempt, in milliseconds.
const MAX_BACK_OFF: i64 = 10 * 60 * 1000;

/// The end of a job whose worker is gone: `$1` is the error, `$2` the first pause in
/// milliseconds, `$3` the longest, `$4` the attempts that a job has.
const CRASHED: &str = "UPDATE jobs SET
     state = CASE WHEN attempt < allowed THEN 'queued' ELSE 'failed' END,
     ended_at = CASE WHEN attempt < allowed THEN NULL ELSE hprof_rs_now() END,
     error = CASE WHEN attempt < allowed THEN NULL ELSE $1 END,
     due_at = hprof_rs_now()
         + least($3::bigint, $2::bigint * (4 ^ least(10, greatest(0, attempt + $4::bigint - allowed - 1)))::bigint),
     phase = NULL, progress = NULL, lease_until = NULL";

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl PostgresCatalogue {
    /// Tells all of a job.
    pub(super) fn tell_job(&self, id: JobId, state: JobState, dump: &DumpId) {
        self.teller
            .tell(format!("job {id} {} {dump}", state.word()));
    }

    /// Tells all of the jobs of a statement that ends with `RETURNING id, state, dump`.
    fn tell_jobs(&self, rows: &[Row]) -> Result<()> {
        for row in rows {
            let (id, state, dump): (i64, &str, &str) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
            self.teller.tell(format!("job {id} {state} {dump}"));
        }
        Ok(())
    }

    /// Carries out such a statement; true if it changed a job.
    fn change_jobs(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<bool> {
        let changed = self.rows(sql, values)?;
        self.tell_jobs(&changed)?;
        Ok(!changed.is_empty())
    }
}

impl Queue for PostgresCatalogue {
    fn job(&self, id: JobId) -> Result<Option<Job>> {
        let sql = format!("SELECT {JOB} FROM jobs WHERE id = $1");
        self.row(&sql, &[&id.0], rows::job)
    }

    fn jobs(&self, query: &JobQuery) -> Result<Page<Job>> {
        let before = row_of(query.cursor.as_deref());
        let state = query.state.map(JobState::word);
        let limit = number(query.limit as u64 + 1);
        let sql = format!(
            "SELECT {JOB} FROM jobs WHERE id < $1 AND ($2::text IS NULL OR state = $2)
             ORDER BY id DESC LIMIT $3"
        );
        let found = self.rows(&sql, &[&before, &state, &limit])?;
        let found: Result<Vec<Job>> = found.iter().map(rows::job).collect();
        Ok(page(found?, query.limit, |job: &Job| job.id.to_string()))
    }

    fn job_counts(&self) -> Result<(u64, u64)> {
        let sql = "SELECT count(*) FILTER (WHERE state = 'running'),
                 count(*) FILTER (WHERE state = 'queued')
             FROM jobs WHERE state IN ('running', 'queued')";
        let counts = self.row(sql, &[], |row| Ok((count(row, 0)?, count(row, 1)?)))?;
        Ok(counts.unwrap_or_default())
    }

    fn next_queued(&self) -> Result<Option<Job>> {
        let sql = format!(
            "SELECT {JOB} FROM jobs WHERE state = 'queued' AND due_at <= hprof_rs_now()
             ORDER BY id LIMIT 1"
        );
        self.row(&sql, &[], rows::job)
    }

    fn note_room(&self, room: u64) -> Result<()> {
        let noted = self.rows(
            "UPDATE jobs SET room = $1 FROM dumps
             WHERE dumps.id = jobs.dump AND jobs.state = 'queued' AND jobs.due_at <= hprof_rs_now()
                 AND dumps.bytes > $1 AND (jobs.room IS NULL OR jobs.room < $1)
             RETURNING jobs.id, jobs.state, jobs.dump",
            &[&number(room)],
        )?;
        self.tell_jobs(&noted)
    }

    fn claim(&self, claim: &Claim<'_>) -> Result<Option<Job>> {
        let sql = format!(
            "WITH next AS (
                 SELECT jobs.id FROM jobs JOIN dumps ON dumps.id = jobs.dump
                 WHERE jobs.state = 'queued' AND jobs.due_at <= hprof_rs_now() AND dumps.bytes <= $1
                 ORDER BY jobs.id LIMIT 1 FOR UPDATE OF jobs SKIP LOCKED)
             UPDATE jobs SET state = 'running', attempt = attempt + 1, phase = NULL, progress = NULL,
                 error = NULL, room = NULL, worker = $2, lease_until = hprof_rs_now() + $3,
                 started_at = hprof_rs_now(), ended_at = NULL
             FROM next WHERE jobs.id = next.id RETURNING {JOB}"
        );
        let (room, lease) = (number(claim.room), millis(claim.lease));
        let claimed = self.row(&sql, &[&room, &plain(claim.worker), &lease], rows::job)?;
        if let Some(job) = &claimed {
            self.tell_job(job.id, job.state, &job.dump);
        }
        Ok(claimed)
    }

    fn renew(
        &self,
        id: JobId,
        attempt: u32,
        lease: Duration,
        progress: Option<&Progress>,
    ) -> Result<bool> {
        let phase = progress.map(|it| plain(&it.phase));
        let progress = progress.map(json).transpose()?;
        let is_news = progress.is_some();
        let held = self.rows(
            "UPDATE jobs SET lease_until = hprof_rs_now() + $1, phase = coalesce($2, phase),
                 progress = coalesce($3, progress)
             WHERE id = $4 AND attempt = $5 AND state = 'running' RETURNING id, state, dump",
            &[
                &millis(lease),
                &phase,
                &progress,
                &id.0,
                &i64::from(attempt),
            ],
        )?;
        if is_news {
            self.tell_jobs(&held)?;
        }
        Ok(!held.is_empty())
    }

    fn end(&self, id: JobId, attempt: u32, ending: &Ending) -> Result<bool> {
        let attempt = i64::from(attempt);
        match ending {
            Ending::Done(outcome) => {
                let summary = outcome.summary.as_ref().map(json).transpose()?;
                let headline = outcome.headline.as_deref().map(plain);
                let sql = format!(
                    "WITH ended AS (
                         UPDATE jobs SET state = 'done', ended_at = hprof_rs_now(),
                             progress = NULL, lease_until = NULL
                         WHERE id = $1 AND attempt = $2 AND state = 'running' RETURNING dump),
                     marked AS (
                         UPDATE dumps SET kind = $3, headline = $4, summary = $5, {}
                         FROM ended WHERE dumps.id = ended.dump RETURNING dumps.id), {}
                     SELECT id FROM marked",
                    fleet::columns(6),
                    fleet::additions(6)
                );
                let figures = fleet::Parameters::new(outcome.figures.as_ref());
                let kind = outcome.kind.word();
                let mut values: Vec<&(dyn ToSql + Sync)> =
                    vec![&id.0, &attempt, &kind, &headline, &summary];
                values.extend(figures.values());
                let dump = self.row(&sql, &values, |row| dump_id(row, 0))?;
                if let Some(dump) = &dump {
                    self.tell_job(id, JobState::Done, dump);
                }
                Ok(dump.is_some())
            }
            Ending::Failed(error) => self.change_jobs(
                "UPDATE jobs SET state = 'failed', ended_at = hprof_rs_now(), error = $1,
                     progress = NULL, lease_until = NULL
                 WHERE id = $2 AND attempt = $3 AND state = 'running' RETURNING id, state, dump",
                &[&json(error)?, &id.0, &attempt],
            ),
            Ending::Crashed(error) => {
                let sql = format!(
                    "{CRASHED} WHERE id = $5 AND attempt = $6 AND state = 'running' RETURNING id, state, dump"
                );
                let pause = millis(self.back_off);
                let error = json(error)?;
                self.change_jobs(
                    &sql,
                    &[&error, &pause, &MAX_BACK_OFF, &ATTEMPTS, &id.0, &attempt],
                )
            }
            Ending::Interrupted => self.change_jobs(
                "UPDATE jobs SET state = 'queued', phase = NULL, progress = NULL,
                     lease_until = NULL, allowed = allowed + 1
                 WHERE id = $1 AND attempt = $2 AND state = 'running' RETURNING id, state, dump",
                &[&id.0, &attempt],
            ),
        }
    }

    fn reject(&self, id: JobId, error: &JobError) -> Result<bool> {
        self.change_jobs(
            "UPDATE jobs SET state = 'failed', started_at = hprof_rs_now(),
                 ended_at = hprof_rs_now(), error = $1
             WHERE id = $2 AND state = 'queued' RETURNING id, state, dump",
            &[&json(error)?, &id.0],
        )
    }

    fn cancel(&self, id: JobId) -> Result<Option<JobState>> {
        let was: Option<(String, DumpId)> = self.row(
            "WITH found AS (
                 SELECT id, state FROM jobs WHERE id = $1 AND state IN ('queued', 'running')
                 FOR UPDATE)
             UPDATE jobs SET state = 'cancelled', ended_at = hprof_rs_now(), progress = NULL,
                 lease_until = NULL
             FROM found WHERE jobs.id = found.id RETURNING found.state, jobs.dump",
            &[&id.0],
            |row: &Row| Ok((get(row, 0)?, dump_id(row, 1)?)),
        )?;
        Ok(was.and_then(|(was, dump)| {
            self.tell_job(id, JobState::Cancelled, &dump);
            JobState::of_word(&was)
        }))
    }

    fn retry(&self, id: JobId) -> Result<bool> {
        self.change_jobs(
            "UPDATE jobs SET state = 'queued', phase = NULL, error = NULL, started_at = NULL,
                 ended_at = NULL, due_at = 0, allowed = attempt + $2
             WHERE id = $1 AND state IN ('failed', 'cancelled') RETURNING id, state, dump",
            &[&id.0, &ATTEMPTS],
        )
    }

    fn recover(&self, error: &JobError) -> Result<usize> {
        let sql = format!(
            "{CRASHED} WHERE state = 'running' AND lease_until < hprof_rs_now() RETURNING id, state, dump"
        );
        let (error, pause) = (json(error)?, millis(self.back_off));
        let found = self.rows(&sql, &[&error, &pause, &MAX_BACK_OFF, &ATTEMPTS])?;
        self.tell_jobs(&found)?;
        Ok(found.len())
    }

    fn news(&self) -> Option<broadcast::Receiver<News>> {
        Some(self.news.subscribe())
    }

    fn is_shared(&self) -> bool {
        true
    }
}
