//! The profile thread's end of the channels.

use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use super::messages::Message;
use crate::output::{Output, Record};

/// The channels of messages and records that the profile thread reads.
pub struct Inbox {
    messages: Receiver<Message>,
    records: Receiver<Record>,
}

impl Inbox {
    /// An inbox that reads these two channels.
    pub(super) fn new(messages: Receiver<Message>, records: Receiver<Record>) -> Self {
        Self { messages, records }
    }

    /// The next message, for which it waits this long. Records that were sent before it are to be written first.
    ///
    /// # Errors
    /// There is none, or will never be any.
    pub fn next(&mut self, wait: Duration) -> Result<Message, RecvTimeoutError> {
        self.messages.recv_timeout(wait)
    }

    /// Writes all records that were sent so far.
    pub fn write_records(&mut self, output: &mut Output) {
        // As many as wait now: others may add to them without end.
        for record in self.records.try_iter().take(self.records.len()) {
            output.record(record);
        }
    }
}
