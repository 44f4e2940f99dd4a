//! One call of a tool: who waits for it, and why it has no answer.

use std::time::{Duration, Instant};

use hprof_server::views::ViewError;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use thiserror::Error;

/// The pause between two notes of progress.
const PAUSE: Duration = Duration::from_secs(1);

/// Why a call has no answer. Each text is a sentence for the assistant, and says what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The question makes no sense, or the file is not there.
    #[error("{0}")]
    Wrong(String),
    /// The dump is still being read.
    #[error("{0}")]
    Later(String),
    /// The assistant does not want it any more.
    #[error("the request was cancelled")]
    Cancelled,
}

impl Refusal {
    /// A question that makes no sense.
    pub fn wrong(text: impl std::fmt::Display) -> Self {
        Self::Wrong(text.to_string())
    }
}

impl From<ViewError> for Refusal {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::Busy(text) => Self::Later(text),
            error => Self::Wrong(error.to_string()),
        }
    }
}

/// The other side of one call.
#[derive(Debug, Clone)]
pub struct Call {
    context: RequestContext<RoleServer>,
    token: Option<ProgressToken>,
    /// When the call has to have an answer.
    pub deadline: Instant,
}

impl Call {
    /// The call of a request that has this long.
    pub fn new(context: RequestContext<RoleServer>, within: Duration) -> Self {
        Self {
            token: context.meta.get_progress_token(),
            context,
            deadline: Instant::now() + within,
        }
    }

    /// Ends when the assistant cancels the request.
    pub async fn cancelled(&self) {
        self.context.ct.cancelled().await;
    }

    /// True once the assistant has cancelled the request.
    pub fn is_cancelled(&self) -> bool {
        self.context.ct.is_cancelled()
    }

    /// Tells how far the work is, if the assistant asked for that.
    pub fn progress(&self) -> Teller<'_> {
        Teller {
            peer: &self.context.peer,
            token: self.token.as_ref(),
            last: None,
            told: 0.0,
        }
    }
}

/// Tells progress, at most once a second.
pub struct Teller<'a> {
    peer: &'a Peer<RoleServer>,
    token: Option<&'a ProgressToken>,
    last: Option<Instant>,
    told: f64,
}

impl Teller<'_> {
    /// Sends a note with a sentence.
    pub async fn tell(&mut self, text: &str) {
        let Some(token) = self.token else {
            return;
        };
        if self.last.is_some_and(|last| last.elapsed() < PAUSE) {
            return;
        }
        self.last = Some(Instant::now());
        // The protocol wants a number that grows; steps have units of their own.
        self.told += 1.0;
        let note = ProgressNotificationParam::new(token.clone(), self.told).with_message(text);
        // A client that has disconnected does not need it.
        let _ = self.peer.notify_progress(note).await;
    }
}
