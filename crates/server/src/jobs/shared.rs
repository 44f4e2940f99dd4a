//! Jobs where machines share the catalogue: leases, and news of what others do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::catalogue::{JobError, JobState, News};
use crate::events::Event;
use crate::ids::JobId;
use crate::state::AppState;

/// How often progress is written, at most.
const BEAT: Duration = Duration::from_secs(1);
/// A lease is renewed when this part of it is over.
const PART: u32 = 5;
/// The pause before the catalogue is asked again that is away.
const PAUSE: Duration = Duration::from_millis(500);

/// Renews the lease of an attempt and notes its progress until the attempt ends; tells `lost` if the
/// job is not in this attempt any more. Does nothing where no other machine can take the job.
pub(super) async fn keep(state: AppState, id: JobId, attempt: u32, lost: Arc<Notify>) {
    if !state.catalogue().is_shared() {
        return;
    }
    let lease = state.config().fleet.lease;
    let (mut noted, mut renewed) = (None, Instant::now());
    loop {
        sleep(BEAT.min(lease / PART)).await;
        let progress = state.jobs().progress(id, attempt);
        if progress == noted && renewed.elapsed() < lease / PART {
            continue;
        }
        let told = progress.clone();
        let held = state.blocking(move |state| {
            let catalogue = state.catalogue();
            Ok(catalogue.renew(id, attempt, lease, told.as_ref())?)
        });
        match held.await {
            Ok(true) => (noted, renewed) = (progress, Instant::now()),
            Ok(false) => {
                tracing::warn!(job = %id, attempt, "the job is another worker's, or cancelled");
                return lost.notify_one();
            }
            // The database is away. The lease may survive that.
            Err(_) => {}
        }
    }
}

/// Returns whether the job is still in this attempt, so that its result counts. Waits for a database that is
/// away, unless the process stops.
pub(super) async fn holds(state: &AppState, id: JobId, attempt: u32) -> bool {
    if !state.catalogue().is_shared() {
        return true;
    }
    let lease = state.config().fleet.lease;
    while !*state.jobs().stopping().borrow() {
        let held =
            state.blocking(move |state| Ok(state.catalogue().renew(id, attempt, lease, None)?));
        match held.await {
            Ok(held) => return held,
            Err(_) => sleep(PAUSE).await,
        }
    }
    false
}

/// Takes in what other machines do, and puts jobs whose lease ran out back into the queue, until the
/// process stops.
pub async fn follow(state: AppState) {
    let Some(mut news) = state.catalogue().news() else {
        return;
    };
    let mut stopping = state.jobs().stopping();
    let mut looks = interval((state.config().fleet.lease / 3).clamp(BEAT, 10 * BEAT));
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !*stopping.borrow() {
        tokio::select! {
            found = news.recv() => match found {
                Ok(found) => hear(&state, found).await,
                Err(RecvError::Lagged(_)) => hear(&state, News::Missed).await,
                Err(RecvError::Closed) => return,
            },
            _ = looks.tick() => recover(&state).await,
            _ = stopping.changed() => {}
        }
    }
}

async fn hear(state: &AppState, news: News) {
    match news {
        News::Job {
            id,
            state: is,
            dump,
        } => {
            match is {
                JobState::Queued => state.jobs().wake(),
                JobState::Cancelled => state.jobs().end_worker(id),
                JobState::Done => state.views().forget(dump.as_str()),
                JobState::Running | JobState::Failed => {}
            }
            if state.events().has_listeners() {
                // A failure is in the log, and visitors look again.
                let told = state.blocking(move |state| {
                    state.announce(id);
                    Ok(())
                });
                let _ = told.await;
            }
        }
        News::Dump(id) if state.events().has_listeners() => {
            let told = state.blocking(move |state| {
                state.announce_dump(&id);
                Ok(())
            });
            let _ = told.await;
        }
        News::Dump(_) => {}
        News::DumpDeleted(id) => {
            state.views().forget(id.as_str());
            state.events().send(Event::DumpDeleted { id });
        }
        News::Missed => {
            state.jobs().wake();
            state.events().send(Event::Missed);
        }
    }
}

/// Takes back what lost workers had.
async fn recover(state: &AppState) {
    let error = JobError {
        title: "The worker was lost".to_owned(),
        detail: "its machine or process ended, or did not reach the database in time, in each \
             attempt; the analysis may take more memory than the machine has: start workers with a \
             smaller --memory, then retry"
            .to_owned(),
        can_retry: true,
    };
    let recovered = state.blocking(move |state| Ok(state.catalogue().recover(&error)?));
    if let Ok(jobs @ 1..) = recovered.await {
        tracing::warn!(
            jobs,
            "leases of lost workers ran out; their jobs return to the queue"
        );
    }
}
