//! Connections to Unix sockets of this machine, safe against stalling and impersonation.
//!
//! A plain `connect` to a Unix socket waits without end while the listener's queue is full, follows
//! links, and tells nothing of who listens. So another user who puts a socket of his own where one is
//! expected could stop or deceive a client that connects. Here a socket is first held by a handle ([`Node`]), so that
//! it cannot be exchanged between the look at it and the connection. Its type and owner are checked before anything is
//! connected, the user at the other end afterwards, and every wait has a deadline ([`Timed`]).

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use thiserror::Error;

/// The pause between two attempts while the listener's queue is full.
const PAUSE: Duration = Duration::from_millis(10);

/// Whom to trust at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Users {
    /// This user and root, who can do as this user anyway.
    OrRoot(u32),
    /// Any user.
    Any,
}

impl Users {
    /// The user of this thread, and root.
    #[must_use]
    pub fn own() -> Self {
        Self::OrRoot(rustix::process::geteuid().as_raw())
    }

    /// Returns whether the user with this id is meant.
    #[must_use]
    pub fn include(self, uid: u32) -> bool {
        match self {
            Self::OrRoot(own) => uid == own || uid == 0,
            Self::Any => true,
        }
    }
}

/// Why there is no connection.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// Something else has the name.
    #[error("it is no socket")]
    NotASocket,
    /// Another user has put the socket there.
    #[error("it belongs to another user (id {0})")]
    Foreign(u32),
    /// Another user listens at it.
    #[error("another user listens at it (id {0})")]
    ForeignListener(u32),
    /// The listener takes no more connections.
    #[error("its listener takes no connection")]
    Busy,
    /// The system's error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ConnectError {
    /// Returns whether the socket does not exist, or no process listens at it any more.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        use io::ErrorKind::{ConnectionRefused, NotFound};
        matches!(self, Self::Io(error) if matches!(error.kind(), ConnectionRefused | NotFound))
    }
}

impl From<ConnectError> for io::Error {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Io(error) => error,
            ConnectError::Busy => Self::new(io::ErrorKind::TimedOut, error),
            _ => Self::new(io::ErrorKind::PermissionDenied, error),
        }
    }
}

/// A socket in the file system, held by a handle.
#[derive(Debug)]
pub struct Node {
    handle: File,
    found: Metadata,
    /// The way to it where `/proc` is missing.
    path: Option<PathBuf>,
}

impl Node {
    /// Takes hold of the socket with this name. A symbolic link in the place of the name is refused
    /// as no socket, as it must be wherever others can create names.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(path: &Path) -> Result<Self, ConnectError> {
        Self::open_with(path, libc::O_NOFOLLOW)
    }

    /// As [`Node::open`], for names that the user chose: a symbolic link leads to the socket.
    ///
    /// # Errors
    /// If there is none.
    pub fn open_through_links(path: &Path) -> Result<Self, ConnectError> {
        Self::open_with(path, 0)
    }

    fn open_with(path: &Path, flags: i32) -> Result<Self, ConnectError> {
        // O_PATH opens nothing: no FIFO is waited for, no device is touched.
        let flags = flags | libc::O_PATH;
        let handle = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)?;
        let node = Self::from_handle(handle.into())?;
        Ok(Self {
            path: Some(path.to_owned()),
            ..node
        })
    }

    /// The socket of a handle that was opened with `O_PATH`.
    ///
    /// # Errors
    /// If it is no socket.
    pub fn from_handle(handle: OwnedFd) -> Result<Self, ConnectError> {
        let handle = File::from(handle);
        let found = handle.metadata()?;
        match found.file_type().is_socket() {
            true => Ok(Self {
                handle,
                found,
                path: None,
            }),
            false => Err(ConnectError::NotASocket),
        }
    }

    /// Who created it, and with which mode.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.found
    }

    /// Returns whether a process listens at it now.
    #[must_use]
    pub fn has_listener(&self) -> bool {
        matches!(
            self.connect(Users::Any, Instant::now()),
            Ok(_) | Err(ConnectError::Busy)
        )
    }

    /// Connects, if the socket belongs to one of these users and one of them listens. Nothing is
    /// sent to another listener.
    ///
    /// # Errors
    /// If the socket belongs to another user, or takes no connection until the deadline.
    pub fn connect(&self, users: Users, deadline: Instant) -> Result<UnixStream, ConnectError> {
        let owner = self.found.uid();
        if !users.include(owner) {
            return Err(ConnectError::Foreign(owner));
        }
        let stream = self.connect_to_it(deadline)?;
        let listener = peer(&stream)?.uid;
        match users.include(listener) {
            true => Ok(stream),
            false => Err(ConnectError::ForeignListener(listener)),
        }
    }

    fn connect_to_it(&self, deadline: Instant) -> Result<UnixStream, ConnectError> {
        // Short, too: an address has 108 bytes.
        let by_handle = PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()));
        let path = match &self.path {
            Some(path) if !Path::new("/proc/self/fd").exists() => path,
            _ => &by_handle,
        };
        let address = SocketAddrUnix::new(path).map_err(io::Error::from)?;
        loop {
            let socket = rustix::net::socket_with(
                AddressFamily::UNIX,
                SocketType::STREAM,
                SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
                None,
            )
            .map_err(io::Error::from)?;
            match rustix::net::connect(&socket, &address) {
                Ok(()) => {
                    let stream = UnixStream::from(socket);
                    stream.set_nonblocking(false)?;
                    return Ok(stream);
                }
                // The queue is full. There is no event for the moment when it is not.
                Err(rustix::io::Errno::AGAIN) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(ConnectError::Busy);
                    }
                    std::thread::sleep(PAUSE.min(left));
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(ConnectError::Io(error.into())),
            }
        }
    }
}

/// The process at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its id; 0 if it cannot be seen from here, as outside of a container.
    pub pid: u32,
    /// Its effective user id when it connected or began to listen.
    pub uid: u32,
}

/// Asks the kernel who is at the other end.
///
/// # Errors
/// Returns the error of the system call.
pub fn peer(stream: &UnixStream) -> io::Result<Peer> {
    let mut found = libc::ucred {
        pid: 0,
        uid: u32::MAX,
        gid: u32::MAX,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: a valid descriptor; the kernel writes at most `length` bytes into the local.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut length,
        )
    };
    match result {
        0 => Ok(Peer {
            pid: u32::try_from(found.pid).unwrap_or(0),
            uid: found.uid,
        }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A connection with one deadline for all that is read and written.
///
/// A limit for each single call would be none at all: who takes or sends a byte now and then keeps
/// the other side for as long as it likes.
#[derive(Debug)]
pub struct Timed {
    stream: UnixStream,
    deadline: Instant,
}

impl Timed {
    /// Puts a deadline on a connection.
    #[must_use]
    pub fn new(stream: UnixStream, deadline: Instant) -> Self {
        Self { stream, deadline }
    }

    /// The connection itself.
    #[must_use]
    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(late()),
            false => Ok(left),
        }
    }
}

impl Read for Timed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(bytes).map_err(in_words)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes).map_err(in_words)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The system calls a limit that has passed "resource temporarily unavailable".
fn in_words(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => late(),
        _ => error,
    }
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no answer in time")
}

#[cfg(test)]
#[path = "local/tests.rs"]
pub(crate) mod tests;
