//! Uploads that are under way: what was learned of their bytes, and that each has one writer.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::{Digested, digest};
use crate::problem::Problem;
use crate::state::AppState;
use crate::store::PartId;

/// Bodies that may come at once; each occupies up to a megabyte.
const MAX_BODIES: usize = 64;
/// Uploads of which the hash is kept between their requests; others are read once more at the end.
const MAX_KEPT: usize = 256;

/// The part of the uploads' state that no restart keeps.
#[derive(Default)]
struct Known {
    /// Parts with a writer, and what makes it stop.
    busy: HashMap<PartId, Arc<Notify>>,
    digested: HashMap<PartId, Digested>,
}

/// The uploads under way.
pub struct Uploads {
    known: Mutex<Known>,
    bodies: Arc<Semaphore>,
}

impl Default for Uploads {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            bodies: Arc::new(Semaphore::new(MAX_BODIES)),
        }
    }
}

/// The right to write to a part; given back when dropped.
pub struct Writer {
    state: AppState,
    part: PartId,
    end: Arc<Notify>,
}

impl Writer {
    /// Notified when a client cancels the upload.
    pub fn end(&self) -> Arc<Notify> {
        Arc::clone(&self.end)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.state.uploads().lock().busy.remove(&self.part);
    }
}

impl Uploads {
    fn lock(&self) -> MutexGuard<'_, Known> {
        // Every change is a single call.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The right to send a body; waits until others have ended.
    ///
    /// # Errors
    /// If the server stops.
    pub async fn body(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let bodies = Arc::clone(&self.bodies);
        bodies.acquire_owned().await.map_err(Problem::internal)
    }

    /// Has the writer of a part stop, if there is one.
    pub fn give_up(&self, part: &PartId) {
        if let Some(end) = self.lock().busy.get(part) {
            end.notify_one();
        }
    }

    /// Keeps what was learned of a part for its next request.
    pub fn keep(&self, part: &PartId, digested: Digested) {
        let mut known = self.lock();
        if known.digested.len() < MAX_KEPT {
            known.digested.insert(part.clone(), digested);
        }
    }
}

impl AppState {
    /// The right to write to a part, which one request at a time has.
    ///
    /// # Errors
    /// If another has it.
    pub fn writer(&self, part: &PartId) -> Result<Writer, Problem> {
        match self.uploads().lock().busy.entry(part.clone()) {
            Entry::Vacant(place) => Ok(Writer {
                state: self.clone(),
                part: part.clone(),
                end: Arc::clone(place.insert(Arc::default())),
            }),
            Entry::Occupied(_) => Err(Problem::new(
                http::StatusCode::LOCKED,
                "locked",
                "The upload is in use",
                "another request sends bytes of this upload; wait until it has ended",
            )),
        }
    }

    /// Hash and kind of the first bytes of a part, up to this length; reads the file again if they are not remembered.
    /// Blocks.
    ///
    /// # Errors
    /// If it cannot be read, or is no dump.
    pub fn digested(&self, part: &PartId, length: u64) -> Result<Digested, Problem> {
        let kept = self.uploads().lock().digested.remove(part);
        if let Some(digested) = kept.filter(|it| it.length == length) {
            return Ok(digested);
        }
        let file = self.store().open_part(part);
        digest(
            &mut file.map_err(Problem::internal)?,
            self.config().recognise,
        )
    }
}
