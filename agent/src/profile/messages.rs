//! What callbacks tell the profile thread.

use crossbeam_channel::Sender;
use hprof_format::ids::ThreadSerial;
use hprof_wire::control::{Reply, Request};

use super::orders::Order;
use crate::monitors::LogLine;
use crate::sink::NetSink;
use crate::vm::ThreadInfo;

/// A message to the profile thread.
pub(super) enum Message {
    /// A thread started, or was found running.
    ThreadStart {
        /// Its serial.
        serial: ThreadSerial,
        /// Its names.
        info: ThreadInfo,
    },
    /// A thread ended.
    ThreadEnd {
        /// Its serial.
        serial: ThreadSerial,
    },
    /// The front-end has sent something.
    Commands {
        /// What.
        orders: Vec<Order>,
        /// Told when all are carried out.
        done: Sender<()>,
    },
    /// The control socket wants something.
    Request {
        /// What.
        request: Request,
        /// Gets the answer.
        reply: Sender<Reply>,
    },
    /// End the run, though the VM goes on.
    Detach {
        /// Told when nothing is left.
        reply: Sender<Reply>,
    },
    /// The front-end is there again.
    Connected(NetSink),
    /// A line for the log of monitors.
    Monitor(LogLine),
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
