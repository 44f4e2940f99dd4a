//! News for all clients that listen: jobs, dumps, live JVMs.

use serde::Serialize;
use tokio::sync::broadcast;

use crate::catalogue::{Dump, Job};
use crate::ids::DumpId;
use crate::time::Millis;

/// Events that a slow reader may be behind; one that is further behind has to look again.
const BACKLOG: usize = 256;

/// Something has changed.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Event {
    /// A job, as it is now.
    Job(Box<Job>),
    /// A dump, as it is now.
    Dump(Box<Dump>),
    /// A dump is gone.
    DumpDeleted {
        /// The dump that was.
        id: DumpId,
    },
    /// A live recording has grown.
    Jvm {
        /// The JVM.
        id: String,
        /// When the recording began.
        since: Millis,
        /// Grows with each change.
        revision: u64,
        /// CPU samples so far.
        samples: u64,
    },
    /// A JVM writes a heap dump.
    JvmDump {
        /// The JVM.
        id: String,
        /// `dump`.
        action: &'static str,
        /// The bytes that are written so far.
        bytes: u64,
    },
    /// Events may be missing: every client has to fetch the state again.
    Missed,
    /// A live recording has ended.
    JvmGone {
        /// The JVM.
        id: String,
    },
}

impl Event {
    /// The name of the event.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Job(_) => "job",
            Self::Dump(_) => "dump",
            Self::DumpDeleted { .. } => "dump_deleted",
            Self::Jvm { .. } | Self::JvmDump { .. } => "jvm",
            Self::JvmGone { .. } => "jvm_gone",
            Self::Missed => "missed",
        }
    }
}

/// The channel of all events.
#[derive(Debug)]
pub struct Events(broadcast::Sender<Event>);

impl Default for Events {
    fn default() -> Self {
        Self(broadcast::channel(BACKLOG).0)
    }
}

impl Events {
    /// Sends an event to all listeners.
    pub fn send(&self, event: Event) {
        // There may be no listener.
        let _ = self.0.send(event);
    }

    /// Returns whether there is a listener.
    pub fn has_listeners(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// Events from now on.
    pub fn listen(&self) -> broadcast::Receiver<Event> {
        self.0.subscribe()
    }
}
