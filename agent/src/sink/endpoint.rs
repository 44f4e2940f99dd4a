//! Where a front-end listens, how it is connected to, and what it says.

use std::fmt;
use std::io::{self, Read};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hprof_wire::local::{Node, Users};

use crate::os::descriptors;

/// Where a front-end listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Host name or address, and port.
    Tcp(String, u16),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// The reading side of a connection.
pub struct NetSource(pub(super) Stream);

/// A connection of either kind.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Longest wait for one address to answer.
pub(super) const MAX_CONNECT: Duration = Duration::from_secs(10);
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Endpoint {
    /// Connects, trying again until `patience` is over.
    ///
    /// # Errors
    /// The error of the last attempt.
    pub(super) fn open(&self, patience: Duration) -> io::Result<Stream> {
        let started = Instant::now();
        let mut pause = Duration::from_millis(50);
        loop {
            match self.try_connect() {
                Ok(stream) => return Ok(stream),
                Err(error) if started.elapsed() >= patience => return Err(error),
                Err(_) => {
                    let left = patience.saturating_sub(started.elapsed());
                    std::thread::sleep(pause.min(left));
                    pause = (pause * 2).min(Duration::from_secs(1));
                }
            }
        }
    }

    fn try_connect(&self) -> io::Result<Stream> {
        descriptors::occupy_standard();
        let (host, port) = match self {
            Self::Unix(path) => {
                let node = Node::open_through_links(path)?;
                let stream = node.connect(Users::own(), Instant::now() + MAX_CONNECT)?;
                return Ok(Stream::Unix(stream));
            }
            Self::Tcp(host, port) => (host.as_str(), *port),
        };
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, MAX_CONNECT) {
                Ok(stream) => return Ok(Stream::Tcp(stream)),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl NetSource {
    /// Reads the available bytes, without waiting.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when there is nothing.
    pub fn read_ready(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let socket = self.0.as_fd().as_raw_fd();
        // SAFETY: the kernel writes at most the slice's length into it.
        let read = unsafe {
            libc::recv(
                socket,
                bytes.as_mut_ptr().cast(),
                bytes.len(),
                libc::MSG_DONTWAIT,
            )
        };
        usize::try_from(read).map_err(|_| io::Error::last_os_error())
    }
}

impl Read for NetSource {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Stream::Tcp(tcp) => tcp.read(bytes),
            Stream::Unix(unix) => unix.read(bytes),
        }
    }
}

impl Stream {
    pub(super) fn shutdown(&self, how: Shutdown) {
        // An error means that the connection is closed already.
        let _ = match self {
            Self::Tcp(tcp) => tcp.shutdown(how),
            Self::Unix(unix) => unix.shutdown(how),
        };
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(tcp) => tcp.as_fd(),
            Self::Unix(unix) => unix.as_fd(),
        }
    }
}
