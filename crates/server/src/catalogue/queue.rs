//! The jobs of the catalogue: a queue that many machines may share.
//!
//! A worker claims a job for a time, its lease, and renews it while it works. Each claim begins an
//! attempt, and the number of the attempt is a fencing token: progress and ends carry it, and change
//! nothing once the job is in another attempt.

use std::time::Duration;

use tokio::sync::broadcast;

use super::{Job, JobError, JobState, Outcome, Page, Result};
use crate::ids::{DumpId, JobId};
use crate::jobs::Progress;

/// A question for a list of jobs, latest first.
#[derive(Debug, Clone, Default)]
pub struct JobQuery {
    /// Where the page before this one ended.
    pub cursor: Option<String>,
    /// The largest number of rows.
    pub limit: usize,
    /// In this state only.
    pub state: Option<JobState>,
}

/// A wish for a job.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// The name of the process that wants it.
    pub worker: &'a str,
    /// The largest dump that it has room for, in bytes.
    pub room: u64,
    /// How long the job stays with the worker unless that renews its lease.
    pub lease: Duration,
}

/// How an attempt ended.
#[derive(Debug, Clone)]
pub enum Ending {
    /// The analysis is complete.
    Done(Outcome),
    /// It failed.
    Failed(JobError),
    /// The worker ended without an answer: the job returns to the queue, or fails with this error
    /// if no attempt is left.
    Crashed(JobError),
    /// The server or worker stops: the job returns to the queue, and the attempt does not count.
    Interrupted,
}

/// Something that has changed in a catalogue of many machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// A job has changed.
    Job {
        /// The job.
        id: JobId,
        /// The state that it is in now.
        state: JobState,
        /// Its dump.
        dump: DumpId,
    },
    /// A dump is new, or has changed.
    Dump(DumpId),
    /// A dump is gone.
    DumpDeleted(DumpId),
    /// News may have been missed.
    Missed,
}

/// The jobs of a catalogue.
pub trait Queue {
    /// A job.
    ///
    /// # Errors
    /// All calls fail if the database does.
    fn job(&self, id: JobId) -> Result<Option<Job>>;
    /// A page of jobs.
    ///
    /// # Errors
    /// If the database fails.
    fn jobs(&self, query: &JobQuery) -> Result<Page<Job>>;
    /// How many jobs run and wait.
    ///
    /// # Errors
    /// If the database fails.
    fn job_counts(&self) -> Result<(u64, u64)>;
    /// The job that has waited for longest, if it is due.
    ///
    /// # Errors
    /// If the database fails.
    fn next_queued(&self) -> Result<Option<Job>>;
    /// Notes in the jobs that wait although they are due what room a worker without other work has for
    /// their dumps, if that is more than others had. In a file, which has one worker, nothing.
    ///
    /// # Errors
    /// If the database fails.
    fn note_room(&self, room: u64) -> Result<()>;
    /// Begins the next attempt of the job that has waited for longest. In a file, none if there is no
    /// room for it; where machines share the queue, the first for which there is room.
    ///
    /// # Errors
    /// If the database fails.
    fn claim(&self, claim: &Claim<'_>) -> Result<Option<Job>>;
    /// Extends the lease of an attempt, and notes how far it is; false if the job is not in this
    /// attempt any more.
    ///
    /// # Errors
    /// If the database fails.
    fn renew(
        &self,
        id: JobId,
        attempt: u32,
        lease: Duration,
        progress: Option<&Progress>,
    ) -> Result<bool>;
    /// Ends an attempt; false if the job is not in this attempt any more.
    ///
    /// # Errors
    /// If the database fails.
    fn end(&self, id: JobId, attempt: u32, ending: &Ending) -> Result<bool>;
    /// Fails a job that waits; false if it does not.
    ///
    /// # Errors
    /// If the database fails.
    fn reject(&self, id: JobId, error: &JobError) -> Result<bool>;
    /// Cancels a job that waits or runs; gives the state that it was in.
    ///
    /// # Errors
    /// If the database fails.
    fn cancel(&self, id: JobId) -> Result<Option<JobState>>;
    /// Puts a job that failed or was cancelled back into the queue, as if it were new.
    ///
    /// # Errors
    /// If the database fails.
    fn retry(&self, id: JobId) -> Result<bool>;
    /// Jobs whose worker is gone: those with an attempt left return to the queue, the others fail with
    /// this error. In a file these are all jobs that run, as its only server starts; where machines
    /// share the queue, those whose lease has run out. Gives how many there were.
    ///
    /// # Errors
    /// If the database fails.
    fn recover(&self, error: &JobError) -> Result<usize>;
    /// News of what any machine changes; none if no other machine can.
    fn news(&self) -> Option<broadcast::Receiver<News>>;
    /// Returns whether other machines use this catalogue too.
    fn is_shared(&self) -> bool;
}
