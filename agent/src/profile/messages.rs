//! What callbacks tell the profile thread.

use crossbeam_channel::Sender;
use hprof_format::ids::ThreadSerial;

use crate::monitors::LogLine;
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
