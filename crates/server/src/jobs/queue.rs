//! Starts jobs as far as workers, memory and disk allow.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{Running, worker};
use crate::catalogue::{Claim, Job, JobError};
use crate::problem::Problem;
use crate::state::AppState;

/// How often the queue looks without being told: space may have become free.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it looks where machines share it: jobs become due, and news may be lost.
const SHARED_PATIENCE: Duration = Duration::from_secs(1);
/// The part of the disk that jobs leave free, in bytes.
const RESERVE: u64 = 64 << 20;

/// A decision about the first job of the queue.
enum Next {
    /// Nothing waits, or it has to wait.
    Wait,
    /// Another look is due.
    Again,
    /// An attempt begins.
    Start(Box<Job>),
}

/// Runs jobs until the server stops, and then waits for the ends of all workers.
///
/// A job is claimed when a process may analyse it at once: one that waits here could run elsewhere.
/// The next begins when the process of one ends, while its results are on their way to the storage.
pub async fn run(state: AppState) {
    let limit = state.config().workers;
    let places = Arc::new(Semaphore::new(limit));
    let mut workers = JoinSet::new();
    let mut stopping = state.jobs().stopping();
    let patience = match state.catalogue().is_shared() {
        true => SHARED_PATIENCE,
        false => PATIENCE,
    };
    while !*stopping.borrow() {
        let count = workers.len();
        // A slow storage holds up the queue: no more results wait for it than jobs run.
        let place = match count < 2 * limit {
            true => Arc::clone(&places).try_acquire_owned().ok(),
            false => None,
        };
        let next = match &place {
            Some(_) => state.blocking(move |state| next(state, count)).await,
            None => Ok(Next::Wait),
        };
        match (next, place) {
            (Ok(Next::Start(job)), Some(place)) => {
                let running = Running {
                    attempt: job.attempt,
                    ..Running::default()
                };
                state.jobs().lock().insert(job.id, running);
                workers.spawn(worker::supervise(state.clone(), *job, place));
                continue;
            }
            (Ok(Next::Again), _) => continue,
            // The log has an error.
            _ => {}
        }
        tokio::select! {
            () = state.jobs().wake.notified() => {}
            Some(_) = workers.join_next() => {}
            () = tokio::time::sleep(patience) => {}
            _ = stopping.changed() => {}
        }
    }
    while workers.join_next().await.is_some() {}
}

/// Begins the job that has waited for longest, if there is room for it.
fn next(state: &AppState, running: usize) -> Result<Next, Problem> {
    // An index is at most about as large as the dump, and so are scratch files.
    let free = state.store().free_bytes().map_err(Problem::internal)?;
    let is_shared = state.catalogue().is_shared();
    // Where no other machine could take the job, it fails with the reason instead.
    let cache = state.store().cache_room().filter(|_| is_shared);
    let room = free.saturating_sub(RESERVE).min(cache.unwrap_or(u64::MAX));
    let claim = Claim {
        worker: &state.config().fleet.name,
        room,
        lease: state.config().fleet.lease,
    };
    if let Some(job) = state.catalogue().claim(&claim)? {
        return Ok(Next::Start(Box::new(job)));
    }
    // A job that ends here frees some.
    if running > 0 {
        return Ok(Next::Wait);
    }
    if is_shared {
        // Another machine may have room; until then people see what is missing.
        state.catalogue().note_room(room)?;
        return Ok(Next::Wait);
    }
    let Some(job) = state.catalogue().next_queued()? else {
        return Ok(Next::Wait);
    };
    let bytes = state.catalogue().dump(&job.dump)?.map_or(0, |it| it.bytes);
    match free < bytes + RESERVE {
        true => fail(state, &job, bytes + RESERVE, free),
        // It came, or room became free, meanwhile.
        false => Ok(Next::Again),
    }
}

/// Fails a job for which the disk has no room, although nothing runs that would free some.
fn fail(state: &AppState, job: &Job, needed: u64, free: u64) -> Result<Next, Problem> {
    let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
    let error = JobError {
        title: "The disk is full".to_owned(),
        detail: format!(
            "the analysis may need {} MB and the disk has {} MB free; delete dumps, or give \
             another folder with --folder, then retry",
            megabytes(needed),
            megabytes(free)
        ),
        can_retry: true,
    };
    state.catalogue().reject(job.id, &error)?;
    state.announce(job.id);
    Ok(Next::Again)
}
