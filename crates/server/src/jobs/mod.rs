//! Jobs: a queue in the catalogue, and a process for each job that runs here.
//!
//! A job goes from queued to running to done, failed or cancelled. Each step is a conditional
//! update with the number of the attempt, so a late worker changes nothing. Where machines share the
//! catalogue, a job is leased: `shared` renews leases, and takes back those that ran out.

#[cfg(feature = "serve")]
mod daemon;
mod progress;
mod queue;
mod shared;
mod worker;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

#[cfg(feature = "serve")]
pub use daemon::{StartedWorker, WorkerConfig};
pub use progress::Progress;
pub use queue::run;
pub use shared::follow;
pub use worker::start_worker;

use crate::catalogue::{Job, JobState};
use crate::events::Event;
use crate::ids::{DumpId, JobId};
use crate::problem::Problem;
use crate::state::AppState;

/// The part of the jobs' state that no restart keeps.
#[derive(Debug)]
pub struct Jobs {
    running: Mutex<HashMap<JobId, Running>>,
    wake: Notify,
    stop: watch::Sender<bool>,
}

/// A job that runs.
#[derive(Debug, Default)]
struct Running {
    attempt: u32,
    progress: Option<Progress>,
    cancel: Arc<Notify>,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            running: Mutex::default(),
            wake: Notify::new(),
            stop: watch::Sender::new(false),
        }
    }
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, Running>> {
        // Every change of the map is a single call.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far an attempt is that runs here.
    fn progress(&self, id: JobId, attempt: u32) -> Option<Progress> {
        let running = self.lock();
        let found = running.get(&id).filter(|it| it.attempt == attempt)?;
        found.progress.clone()
    }

    /// Notes that an attempt does not run here any more; a later one may.
    fn forget(&self, id: JobId, attempt: u32) {
        let mut running = self.lock();
        if running.get(&id).is_some_and(|it| it.attempt == attempt) {
            running.remove(&id);
        }
    }

    /// Has the queue look for something to run.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Ends all workers; their jobs return to the queue.
    pub fn stop(&self) {
        self.stop.send_replace(true);
        self.wake();
    }

    /// A receiver of the flag that the server stops: its current value and changes of it.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Has the worker of a job killed, if one runs.
    pub fn end_worker(&self, id: JobId) {
        if let Some(running) = self.lock().get(&id) {
            running.cancel.notify_one();
        }
    }

    /// Adds what only this process knows: how far the job is.
    pub fn show(&self, job: &mut Job) {
        if job.state != JobState::Running {
            return;
        }
        if let Some(progress) = self.lock().get(&job.id).and_then(|it| it.progress.as_ref()) {
            progress.show_in(job);
        }
    }
}

impl AppState {
    /// A job as it is now. Blocks.
    ///
    /// # Errors
    /// If there is none.
    pub fn job(&self, id: JobId) -> Result<Job, Problem> {
        let job = self.catalogue().job(id)?;
        let mut job = job.ok_or_else(|| Problem::not_found(format!("there is no job {id}")))?;
        self.jobs().show(&mut job);
        Ok(job)
    }

    /// Sends news of a job, and of its dump, to all listeners. Blocks.
    pub fn announce(&self, id: JobId) {
        if !self.events().has_listeners() {
            return;
        }
        let Ok(job) = self.job(id) else {
            return;
        };
        let dump = job.dump.clone();
        self.events().send(Event::Job(Box::new(job)));
        self.announce_dump(&dump);
    }

    /// Sends news of a dump to all listeners. Blocks.
    pub fn announce_dump(&self, id: &DumpId) {
        if !self.events().has_listeners() {
            return;
        }
        if let Ok(Some(mut dump)) = self.catalogue().dump(id) {
            if let Some(job) = &mut dump.job {
                self.jobs().show(job);
            }
            self.events().send(Event::Dump(Box::new(dump)));
        }
    }

    /// Cancels a job that waits or runs, and ends its worker. Blocks.
    ///
    /// # Errors
    /// If there is none, or it has ended.
    pub fn cancel(&self, id: JobId) -> Result<Job, Problem> {
        let was = self.catalogue().cancel(id)?;
        let job = self.job(id)?;
        if was.is_none() {
            let word = job.state.word();
            return Err(Problem::conflict(format!(
                "job {id} has ended: it is {word}"
            )));
        }
        self.jobs().end_worker(id);
        self.announce(id);
        Ok(job)
    }

    /// Puts a job that failed or was cancelled back into the queue. Blocks.
    ///
    /// # Errors
    /// If there is none, or it is in another state.
    pub fn retry(&self, id: JobId) -> Result<Job, Problem> {
        let is_queued = self.catalogue().retry(id)?;
        let job = self.job(id)?;
        if !is_queued {
            let word = job.state.word();
            return Err(Problem::conflict(format!(
                "job {id} is {word}; jobs that failed or were cancelled can be retried"
            )));
        }
        self.announce(id);
        self.jobs().wake();
        Ok(job)
    }
}
