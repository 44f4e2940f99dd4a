//! The messages from other threads to the profile thread.

use crossbeam_channel::Sender;
use hprof_wire::command::Command;
use hprof_wire::control::{Reply, Request};

use crate::output::Record;
use crate::sink::NetSink;

/// A command or a request of a front-end.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// A command of the manual.
    Command(Command),
    /// A request, as the control socket takes them.
    Request(Request),
}

/// A command of the front-end, and who is told what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The command or request, or the reason why it is invalid.
    pub asked: Result<Asked, String>,
    /// The serial numbers of all commands that it merges.
    pub serials: Vec<u32>,
}

/// A message to the profile thread.
pub enum Message {
    /// Something for the profile.
    Record(Record),
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
    /// Somebody wants a dump now.
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
