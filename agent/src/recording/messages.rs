//! The messages from other threads to the profile thread, and their way there.

use crossbeam_channel::{Sender, unbounded};
use hprof_wire::command::Command;
use hprof_wire::control::{Reply, Request};

use super::Inbox;
use crate::output::Record;
use crate::sink::NetSink;

/// Records that may wait for the profile thread before callbacks drop theirs.
const MAX_RECORDS: usize = 1 << 15;
/// The number of waiting records at which a callback wakes the profile thread. The thread finds fewer at its
/// next tick: a wake-up costs more than the rest of a callback.
const MANY_RECORDS: usize = 1 << 12;

/// A command or a request of a front-end.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// A command of the manual.
    Command(Command),
    /// A request, as the control socket takes them.
    Request(Request),
}

/// A command of the front-end, and the receiver of its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The command or request, or the reason why it is invalid.
    pub asked: Result<Asked, String>,
    /// The serial numbers of all commands that it merges.
    pub serials: Vec<u32>,
}

/// A message to the profile thread.
pub enum Message {
    /// Many records wait.
    Records,
    /// The front-end has sent something.
    Commands {
        /// In the order in which they are to be carried out.
        orders: Vec<Order>,
        /// Told when all are carried out.
        done: Sender<()>,
    },
    /// The control socket wants something.
    Request {
        /// Anything but the end of the run.
        request: Request,
        /// Gets the answer.
        reply: Sender<Reply>,
    },
    /// End the run, though the VM continues.
    Detach {
        /// Told when nothing is left.
        reply: Sender<Reply>,
    },
    /// The front-end is reconnected.
    Connected(NetSink),
    /// A client wants a dump now.
    Dump {
        /// Told when it is written.
        done: Sender<()>,
    },
    /// The VM ends: dump if so set, close the output, end the thread.
    Finish {
        /// Told when all is written.
        done: Sender<()>,
    },
}

/// The end of the channels that callbacks and commands have.
#[derive(Clone)]
pub struct Outbox {
    messages: Sender<Message>,
    records: Sender<Record>,
}

impl Outbox {
    /// Both ends of new channels.
    pub fn new() -> (Self, Inbox) {
        // A bounded channel would fill its room, megabytes of it, at the start.
        let (messages, received) = unbounded();
        let (records, written) = unbounded();
        (Self { messages, records }, Inbox::new(received, written))
    }

    /// Sends a record without ever blocking the caller. It reaches the profile before all messages that are sent later.
    /// False where too many wait, or there is no profile thread.
    pub fn record(&self, record: Record) -> bool {
        let waiting = self.records.len();
        if waiting == MANY_RECORDS {
            self.send(Message::Records);
        }
        // Threads that look at the length in the same moment add one more each.
        waiting < MAX_RECORDS && self.records.send(record).is_ok()
    }

    /// Sends; false when there is no profile thread. The sender waits for the answer, so these messages are few.
    pub fn send(&self, message: Message) -> bool {
        self.messages.send(message).is_ok()
    }
}
