//! Where profile bytes go.

mod body;
mod endpoint;
mod file;
mod net;
mod packed;
mod push;
mod sparse;
mod special;
mod temporary;

pub use body::Body;
pub use endpoint::{Endpoint, NetSource};
pub use file::{Existing, FileSink};
pub use net::{NetSink, VmWaits};
pub use push::PushSink;

use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// A file, a connection to a front-end, or a receiver of profiles.
pub enum Sink {
    /// A file under a temporary name.
    File(FileSink),
    /// A connection.
    Net(NetSink),
    /// A receiver, to which whole profiles go.
    Push(PushSink),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Net(net) => net.write(bytes),
            Self::Push(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Net(net) => net.flush(),
            Self::Push(_) => Ok(()),
        }
    }
}

/// Waits until one of the events happens, or an error.
fn poll(socket: BorrowedFd<'_>, events: libc::c_short, limit: Duration) -> io::Result<i32> {
    let mut entry = libc::pollfd {
        fd: socket.as_raw_fd(),
        events,
        revents: 0,
    };
    let limit = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one entry, a local.
    match unsafe { libc::poll(&raw mut entry, 1, limit) } {
        -1 => Err(io::Error::last_os_error()),
        ready => Ok(ready),
    }
}
