//! News for all processes that share the database: `job ID STATE DUMP`, `dump ID`, `gone ID`, `missed`.
//!
//! PostgreSQL lets one transaction after another commit if they notify, each with its write to the
//! disk. So news go in statements of their own, which write nothing, and many in one.

use std::sync::Weak;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::listen::CHANNEL;
use super::pool::Pool;

/// News that wait to be sent.
const BACKLOG: usize = 1024;
/// The most news that one statement sends.
const BATCH: usize = 256;

/// The way to all listeners.
pub(super) struct Teller(Sender<String>);

impl Teller {
    /// The way, and its other end for [`run`].
    pub(super) fn new() -> (Self, Receiver<String>) {
        let (teller, told) = channel(BACKLOG);
        (Self(teller), told)
    }

    /// Queues news to be sent soon. Where too many wait, listeners are asked to fetch the state
    /// again.
    pub(super) fn tell(&self, news: String) {
        if let Err(TrySendError::Full(_)) = self.0.try_send(news) {
            tracing::debug!("news are not told: too many wait");
        }
    }
}

/// Tells news as long as the catalogue is there.
pub(super) async fn run(pool: Weak<Pool>, mut told: Receiver<String>) {
    let mut batch = Vec::new();
    while told.recv_many(&mut batch, BATCH).await > 0 {
        let Some(pool) = pool.upgrade() else {
            return;
        };
        if batch.len() == BATCH {
            // More wait, or did not fit: listeners look again in any case.
            batch.push("missed".to_owned());
        }
        batch.dedup();
        let sql = "SELECT pg_notify($1, news) FROM unnest($2::text[]) AS news";
        // A server that loses the database learns that news may be missing.
        let _ = pool.rows(sql, &[&CHANNEL, &batch]).await;
        batch.clear();
    }
}
