//! The answer to `/healthz`: within two seconds, however busy the server is.
//!
//! The catalogue is asked on a thread of its own, one at a time, as all threads for blocking work may
//! be taken. Askers share what it finds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use http::StatusCode;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::problem::Problem;
use crate::state::AppState;

/// How long an answer of the catalogue counts.
const FRESH: Duration = Duration::from_secs(1);
/// How long the next one is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// How old the last one may be while the next does not come.
const STALE: Duration = Duration::from_secs(15);

/// The last answer of the catalogue, and its time.
type Found = Option<(Instant, Result<(), Problem>)>;

/// The known health of the catalogue.
pub struct Health {
    found: watch::Sender<Found>,
    is_asking: AtomicBool,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            found: watch::Sender::new(None),
            is_asking: AtomicBool::new(false),
        }
    }
}

impl AppState {
    /// Says whether the catalogue works.
    ///
    /// # Errors
    /// If it fails, or has not answered for some time.
    pub async fn health(&self) -> Result<(), Problem> {
        let health = self.health_known();
        let mut news = health.found.subscribe();
        let last = news.borrow_and_update().clone();
        if let Some((at, found)) = &last
            && at.elapsed() < FRESH
        {
            return found.clone();
        }
        if !health.is_asking.swap(true, Ordering::AcqRel) {
            self.ask();
        }
        if timeout(PATIENCE, news.changed()).await.is_ok()
            && let Some((_, found)) = news.borrow().clone()
        {
            return found;
        }
        match last {
            Some((at, found)) if at.elapsed() < STALE => found,
            _ => Err(Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "catalogue-busy",
                "The catalogue does not answer",
                "the server waits for its catalogue; look at the disk or the database",
            )),
        }
    }

    /// Asks the catalogue, and tells those who wait.
    fn ask(&self) {
        let (state, runtime) = (self.clone(), Handle::current());
        let asked = thread::Builder::new().name("health".to_owned());
        let asked = asked.spawn(move || {
            let _runtime = runtime.enter();
            let found = state.catalogue().job_counts();
            let found = found.map(|_| ()).map_err(Problem::from);
            let health = state.health_known();
            health.is_asking.store(false, Ordering::Release);
            health.found.send_replace(Some((Instant::now(), found)));
        });
        if let Err(error) = asked {
            tracing::warn!(%error, "there is no thread that asks the catalogue");
            self.health_known()
                .is_asking
                .store(false, Ordering::Release);
        }
    }
}
