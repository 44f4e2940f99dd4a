//! Starts jobs as far as workers, memory and disk allow.

use std::time::Duration;

use tokio::task::JoinSet;

use super::{Running, worker};
use crate::catalogue::{Ending, Job, JobError};
use crate::problem::Problem;
use crate::state::AppState;

/// How often the queue looks without being told: space may have become free.
const PATIENCE: Duration = Duration::from_secs(20);
/// The part of the disk that jobs leave free, in bytes.
const RESERVE: u64 = 64 << 20;

/// A decision about the first job of the queue.
enum Next {
    /// Nothing waits, or it has to wait.
    Wait,
    /// Another look is due.
    Again,
    /// An attempt begins.
    Start(Box<Job>, u32),
}

/// Runs jobs until the server stops, and then waits for the ends of all workers.
pub async fn run(state: AppState) {
    let mut workers = JoinSet::new();
    let mut stopping = state.jobs().stopping();
    while !*stopping.borrow() {
        let count = workers.len();
        let next = match count < state.config().workers {
            true => state.blocking(move |state| next(state, count)).await,
            false => Ok(Next::Wait),
        };
        match next {
            Ok(Next::Start(job, attempt)) => {
                state.jobs().lock().insert(job.id, Running::default());
                workers.spawn(worker::supervise(state.clone(), *job, attempt));
                continue;
            }
            Ok(Next::Again) => continue,
            // The log has it.
            Ok(Next::Wait) | Err(_) => {}
        }
        tokio::select! {
            () = state.jobs().wake.notified() => {}
            Some(_) = workers.join_next() => {}
            () = tokio::time::sleep(PATIENCE) => {}
            _ = stopping.changed() => {}
        }
    }
    while workers.join_next().await.is_some() {}
}

/// Looks at the job that has waited for longest.
fn next(state: &AppState, running: usize) -> Result<Next, Problem> {
    let Some(job) = state.catalogue().next_queued()? else {
        return Ok(Next::Wait);
    };
    let bytes = state.catalogue().dump(&job.dump)?.map_or(0, |it| it.bytes);
    // An index is at most about as large as the dump, and so are scratch files.
    let needed = bytes + RESERVE;
    let free = state.store().free_bytes().map_err(Problem::internal)?;
    if free < needed {
        if running > 0 {
            return Ok(Next::Wait);
        }
        return fail(state, &job, needed, free);
    }
    match state.catalogue().begin(job.id)? {
        Some(attempt) => Ok(Next::Start(Box::new(job), attempt)),
        None => Ok(Next::Again),
    }
}

/// Fails a job for which the disk has no room, although nothing runs that would free some.
fn fail(state: &AppState, job: &Job, needed: u64, free: u64) -> Result<Next, Problem> {
    let Some(attempt) = state.catalogue().begin(job.id)? else {
        return Ok(Next::Again);
    };
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
    let ending = Ending::Failed(error);
    state.catalogue().end(job.id, attempt, &ending)?;
    state.announce(job.id);
    Ok(Next::Again)
}
