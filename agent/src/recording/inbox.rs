//! The profile thread's end of the channel of messages.

use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use super::messages::Message;
use crate::output::Output;

/// The messages that wait for the profile thread.
pub struct Inbox {
    receiver: Receiver<Message>,
    /// A message that came while records were written.
    put_off: Option<Message>,
}

impl Inbox {
    /// Those that `receiver` gets.
    pub fn new(receiver: Receiver<Message>) -> Self {
        Self {
            receiver,
            put_off: None,
        }
    }

    /// The next message, for which it waits this long.
    ///
    /// # Errors
    /// There is none, or will never be any.
    pub fn next(&mut self, wait: Duration) -> Result<Message, RecvTimeoutError> {
        match self.put_off.take() {
            Some(message) => Ok(message),
            None => self.receiver.recv_timeout(wait),
        }
    }

    /// Writes all records that were sent so far, in the middle of a dump. A message that asks for
    /// something waits until [`Self::next`].
    pub fn write_records(&mut self, output: &mut Output) {
        while self.put_off.is_none()
            && let Ok(message) = self.receiver.try_recv()
        {
            match message {
                Message::Record(record) => output.record(record),
                other => self.put_off = Some(other),
            }
        }
    }
}
