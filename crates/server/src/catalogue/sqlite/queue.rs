//! The queue in a file: its one server claims all jobs, so leases never run out.

use std::time::Duration;

use rusqlite::{OptionalExtension, params};
use tokio::sync::broadcast;

use super::rows::{self, JOB};
use super::{SqliteCatalogue, fleet, json, page};
use crate::catalogue::{
    Claim, Ending, Job, JobError, JobQuery, JobState, News, Page, Queue, Result, row_of,
};
use crate::ids::JobId;
use crate::jobs::Progress;
use crate::time::Millis;

/// Attempts after which a job that ran when the server died is taken for the reason.
const MAX_RECOVERIES: u32 = 6;

impl Queue for SqliteCatalogue {
    fn job(&self, id: JobId) -> Result<Option<Job>> {
        let connection = self.lock();
        let mut statement = connection.prepare(&format!("SELECT {JOB} FROM jobs WHERE id = ?"))?;
        Ok(statement.query_row([id.0], rows::job).optional()?)
    }

    fn jobs(&self, query: &JobQuery) -> Result<Page<Job>> {
        let before = row_of(query.cursor.as_deref());
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

    fn note_room(&self, _: u64) -> Result<()> {
        Ok(())
    }

    fn claim(&self, claim: &Claim<'_>) -> Result<Option<Job>> {
        let room = i64::try_from(claim.room).unwrap_or(i64::MAX);
        let claimed: Option<i64> = {
            let connection = self.lock();
            let mut statement = connection.prepare(
                "UPDATE jobs SET state = 'running', attempt = attempt + 1, phase = NULL,
                     error = NULL, started_at = ?1, ended_at = NULL
                 WHERE id = (SELECT id FROM jobs WHERE state = 'queued' ORDER BY id LIMIT 1)
                     AND (SELECT bytes FROM dumps WHERE dumps.id = jobs.dump) <= ?2
                 RETURNING id",
            )?;
            let row = statement.query_row(params![Millis::now().0, room], |row| row.get(0));
            row.optional()?
        };
        claimed.map_or(Ok(None), |id| self.job(JobId(id)))
    }

    fn renew(
        &self,
        id: JobId,
        attempt: u32,
        _lease: Duration,
        progress: Option<&Progress>,
    ) -> Result<bool> {
        self.change(
            "UPDATE jobs SET phase = coalesce(?, phase)
             WHERE id = ? AND attempt = ? AND state = 'running'",
            params![progress.map(|it| &it.phase), id.0, attempt],
        )
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
                    let dump: String = transaction.query_row(
                        "UPDATE dumps SET kind = ?, headline = ?, summary = ?
                         WHERE id = (SELECT dump FROM jobs WHERE id = ?) RETURNING id",
                        params![outcome.kind.word(), outcome.headline, summary, id.0],
                        |row| row.get(0),
                    )?;
                    fleet::keep(&transaction, &dump, outcome.figures.as_ref())?;
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

    fn reject(&self, id: JobId, error: &JobError) -> Result<bool> {
        self.change(
            "UPDATE jobs SET state = 'failed', started_at = ?1, ended_at = ?1, error = ?2
             WHERE id = ?3 AND state = 'queued'",
            params![Millis::now().0, json(error)?, id.0],
        )
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

    fn news(&self) -> Option<broadcast::Receiver<News>> {
        None
    }

    fn is_shared(&self) -> bool {
        false
    }
}
