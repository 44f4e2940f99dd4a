//! The opened analyses of a server.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

use super::ViewError;
use super::cache::{Cache, CacheLimits};
use super::later::Turn;
use super::opened::{Files, Opened};
use super::profile::ProfileFile;
use super::sql::{Runner, SqlSchema};

/// How long a request waits for its turn.
const WAIT: Duration = Duration::from_secs(20);

/// Opens analyses and holds them; limits how many views run at once.
#[derive(Debug)]
pub struct Views {
    heaps: Cache<Opened>,
    profiles: Cache<ProfileFile>,
    turn: Turn,
    permits: Arc<Semaphore>,
    queries: Arc<Semaphore>,
    schema: OnceCell<SqlSchema>,
}

/// How long an analysis stays open without a request for it.
const UNUSED: Duration = Duration::from_secs(15 * 60);
/// Queries in SQL that run at once, each in a process of its own.
const QUERIES: usize = 2;

impl Views {
    /// Views with a cache of these limits, of which `at_once` run at the same time.
    pub fn new(limits: CacheLimits, at_once: usize) -> Self {
        Self {
            heaps: Cache::new(limits),
            profiles: Cache::new(limits),
            turn: Turn::default(),
            permits: Arc::new(Semaphore::new(at_once.max(1))),
            queries: Arc::new(Semaphore::new(QUERIES)),
            schema: OnceCell::new(),
        }
    }

    /// Waits for the right to run a view, which lasts until it is dropped.
    ///
    /// # Errors
    /// If too many others wait.
    pub async fn permit(&self) -> Result<OwnedSemaphorePermit, ViewError> {
        of(&self.permits).await
    }

    /// Waits for the right to run a query in SQL, which lasts until it is dropped.
    ///
    /// # Errors
    /// If too many others wait.
    pub async fn query_permit(&self) -> Result<OwnedSemaphorePermit, ViewError> {
        of(&self.queries).await
    }

    /// The tables that queries may name; the command is asked once.
    ///
    /// # Errors
    /// If the command cannot be run.
    pub async fn schema(&self, runner: &Runner<'_>) -> Result<&SqlSchema, ViewError> {
        self.schema.get_or_try_init(|| runner.schema()).await
    }

    /// The analysis of a heap dump. Blocks.
    ///
    /// # Errors
    /// If its files cannot be opened.
    pub fn heap(&self, key: &str, files: Files) -> Result<Arc<Opened>, ViewError> {
        let turn = Arc::clone(&self.turn);
        let mut is_new = false;
        let open = || {
            is_new = true;
            Opened::open(files, turn)
        };
        let opened = self.heaps.get(key, open)?;
        if is_new {
            opened.prepare();
        }
        Ok(opened)
    }

    /// A profile, which `open` reads where it is not open. Blocks.
    ///
    /// # Errors
    /// Returns the errors of `open`.
    pub fn profile(
        &self,
        key: &str,
        open: impl FnOnce() -> Result<ProfileFile, ViewError>,
    ) -> Result<Arc<ProfileFile>, ViewError> {
        self.profiles.get(key, open)
    }

    /// Closes analyses without a request for a while, so that a server with nothing to do is small.
    pub fn expire(&self) {
        self.heaps.expire(UNUSED);
        self.profiles.expire(UNUSED);
    }

    /// Closes each analysis that no request uses now, so that its files may leave the cache.
    pub fn release(&self) {
        self.heaps.expire(Duration::ZERO);
        self.profiles.expire(Duration::ZERO);
    }

    /// Forgets a dump whose analysis is made anew or deleted.
    pub fn forget(&self, key: &str) {
        self.heaps.forget(key);
        self.profiles.forget(key);
    }

    /// The number of open analyses, and their memory beside maps of files, in bytes.
    pub fn held(&self) -> (usize, u64) {
        let (heaps, profiles) = (self.heaps.held(), self.profiles.held());
        (heaps.0 + profiles.0, heaps.1 + profiles.1)
    }
}

async fn of(permits: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, ViewError> {
    let permit = tokio::time::timeout(WAIT, Arc::clone(permits).acquire_owned()).await;
    match permit {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(ViewError::Busy(
            "the server answers as many questions as it can; ask again".to_owned(),
        )),
    }
}

impl Default for Views {
    /// Two views at once for each core, as some wait for the disk.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self::new(CacheLimits::default(), 2 * cores)
    }
}
