//! Where profile bytes go.

mod file;
mod net;

pub use file::FileSink;
pub use net::{Endpoint, Hurry, NetSink};

use std::io::{self, Write};

/// A file, or a connection to a front-end.
pub enum Sink {
    /// A file under a temporary name.
    File(FileSink),
    /// A connection.
    Net(NetSink),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Net(net) => net.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Net(net) => net.flush(),
        }
    }
}
