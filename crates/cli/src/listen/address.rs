//! Where agents connect to: TCP or a Unix socket.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use hprof_wire::local::{self, ConnectError, Node, Users};
use rustix::fs::Mode;
use rustix::net::SendFlags;

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// `host:port`; several if the name has several.
    Tcp(Vec<SocketAddr>),
    /// `unix:/path`.
    Unix(PathBuf),
}

impl Address {
    /// Reads `host:port`, `[ipv6]:port`, `:port`, `port`, or `unix:/path`, as in the agent's option
    /// `net`.
    ///
    /// # Errors
    /// If the text is no address, or the name is unknown.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        if let Some(path) = text.strip_prefix("unix:") {
            if !path.starts_with('/') {
                bail!("{text}: the path of a Unix socket has to be absolute: unix:/path");
            }
            return Ok(Self::Unix(path.into()));
        }
        let (host, port) = text.rsplit_once(':').unwrap_or(("localhost", text));
        let host = match host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
        {
            Some(host) => host,
            None if host.contains(':') => bail!("{text}: write IPv6 addresses as [{host}]:PORT"),
            // All addresses of this machine, old and new.
            None if host.is_empty() => "::",
            None => host,
        };
        let port: u16 = port.parse().ok().with_context(|| {
            format!("{text}: expected HOST:PORT with a port of 0 to 65535, PORT, or unix:/path")
        })?;
        let found = (host, port)
            .to_socket_addrs()
            .with_context(|| host.to_owned())?;
        let mut found: Vec<SocketAddr> = found.collect();
        found.dedup();
        Ok(Self::Tcp(found))
    }

    /// Returns true if only programs of this machine can connect.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(addresses) => addresses.iter().all(|address| address.ip().is_loopback()),
            Self::Unix(_) => true,
        }
    }

    /// Opens the sockets: several for a name with several addresses, all with one port.
    ///
    /// # Errors
    /// If none can be opened.
    pub fn bind(&self) -> anyhow::Result<Vec<Listener>> {
        match self {
            Self::Unix(path) => Ok(vec![bind_unix(path)?]),
            Self::Tcp(addresses) => {
                let mut listeners: Vec<Listener> = Vec::new();
                let mut last = None;
                let mut port = 0;
                for address in addresses {
                    let mut address = *address;
                    if address.port() == 0 {
                        address.set_port(port);
                    }
                    match TcpListener::bind(address) {
                        Ok(listener) => {
                            port = listener.local_addr()?.port();
                            listeners.push(Listener::Tcp(listener));
                        }
                        Err(error) => last = Some((address, error)),
                    }
                }
                match last {
                    Some((address, error)) if listeners.is_empty() => {
                        bail!("cannot listen on {address}: {error}")
                    }
                    _ => Ok(listeners),
                }
            }
        }
    }
}

fn bind_unix(path: &Path) -> anyhow::Result<Listener> {
    // A new socket replaces no socket, file or link but the one that a listener of this user has left, because it
    // was killed.
    match Node::open(path) {
        Ok(node) if !Users::own().include(node.metadata().uid()) => bail!(
            "{}: another user (id {}) has a socket there; choose another path",
            path.display(),
            node.metadata().uid()
        ),
        Ok(node) if node.has_listener() => {
            bail!("{} is in use by another listener", path.display())
        }
        Ok(_) => {
            let _ = fs::remove_file(path);
        }
        Err(ConnectError::NotASocket) => bail!(
            "{}: there is something that is no socket; choose another path, or remove it",
            path.display()
        ),
        // What is wrong, if anything, shows when it is bound.
        Err(_) => {}
    }
    // For this user alone, from the start.
    let before = rustix::process::umask(Mode::from_raw_mode(0o177));
    let bound = UnixListener::bind(path);
    rustix::process::umask(before);
    let listener = bound.with_context(|| format!("cannot listen on {}", path.display()))?;
    let found = fs::symlink_metadata(path)?;
    let own = rustix::process::geteuid().as_raw();
    if !found.file_type().is_socket() || found.uid() != own {
        bail!(
            "{}: another process changes the folder at the same time; choose another",
            path.display()
        );
    }
    let file = SocketFile {
        path: path.to_owned(),
        id: (found.dev(), found.ino()),
    };
    Ok(Listener::Unix(listener, file))
}

/// The name of a socket that this process has bound.
#[derive(Debug, Clone)]
pub struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    id: (u64, u64),
}

impl SocketFile {
    /// Removes the name, unless it is that of something else by now.
    pub fn remove(&self) {
        let is_own = fs::symlink_metadata(&self.path)
            .is_ok_and(|found| (found.dev(), found.ino()) == self.id);
        if is_own {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A socket that agents connect to.
#[derive(Debug)]
pub enum Listener {
    /// TCP.
    Tcp(TcpListener),
    /// A Unix socket with its name, which goes when this is dropped.
    Unix(UnixListener, SocketFile),
}

impl Listener {
    /// The next connection, and a name for its other end.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn accept(&self) -> io::Result<(Stream, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                // An agent whose machine has vanished ends some day.
                let _ = rustix::net::sockopt::set_socket_keepalive(&stream, true);
                let _ = rustix::net::sockopt::set_tcp_keepidle(&stream, Duration::from_secs(60));
                let _ = rustix::net::sockopt::set_tcp_keepintvl(&stream, Duration::from_secs(15));
                let from = Source::Address(peer.ip().to_canonical());
                let name = peer.to_string();
                Ok((Stream::Tcp(stream), Peer { name, from }))
            }
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept()?;
                let found = local::peer(&stream)?;
                if !Users::own().include(found.uid) {
                    let text = format!("a process of user {} was refused", found.uid);
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
                }
                let name = match found.pid {
                    0 => "unix".to_owned(),
                    pid => format!("process {pid}"),
                };
                let from = Source::User(found.uid);
                Ok((Stream::Unix(stream), Peer { name, from }))
            }
        }
    }

    /// The address in the form of the agent's option `net`.
    pub fn shown(&self) -> String {
        match self {
            Self::Tcp(listener) => match listener.local_addr() {
                Ok(address) => address.to_string(),
                Err(_) => "?".to_owned(),
            },
            Self::Unix(_, file) => format!("unix:{}", file.path.display()),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, file) = self {
            file.remove();
        }
    }
}

/// The other end of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    /// A name for people.
    pub name: String,
    /// Where it is.
    pub from: Source,
}

/// Where connections come from, as far as it can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A machine, or what stands in front of several.
    Address(IpAddr),
    /// A user of this machine.
    User(u32),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::User(id) => write!(f, "user {id}"),
        }
    }
}

/// A connection of an agent.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
}

impl Stream {
    /// Another handle on it.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    /// How long reading may take.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn set_timeout(&self, read: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(Some(read)),
            Self::Unix(stream) => stream.set_read_timeout(Some(read)),
        }
    }

    /// Ends it in both directions.
    pub fn close(&self) {
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// Reads what is there.
    ///
    /// # Errors
    /// Errors of the connection.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }

    /// Sends a few bytes now. A peer that has left too much unread for these to find room takes none.
    ///
    /// # Errors
    /// Errors of the connection, and [`io::ErrorKind::WouldBlock`].
    pub fn send_now(&self, bytes: &[u8]) -> io::Result<()> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let sent = match self {
            Self::Tcp(stream) => rustix::net::send(stream, bytes, flags),
            Self::Unix(stream) => rustix::net::send(stream, bytes, flags),
        };
        match sent? {
            sent if sent == bytes.len() => Ok(()),
            _ => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(text: &str) -> Vec<String> {
        match Address::parse(text).unwrap() {
            Address::Tcp(found) => found.iter().map(ToString::to_string).collect(),
            Address::Unix(path) => panic!("{path:?}"),
        }
    }

    #[test]
    fn addresses_have_several_forms() {
        assert_eq!(tcp("127.0.0.1:80"), ["127.0.0.1:80"]);
        assert_eq!(tcp("[::1]:80"), ["[::1]:80"]);
        assert_eq!(tcp(":80"), ["[::]:80"]);
        assert!(tcp("8642").contains(&"127.0.0.1:8642".to_owned()));
        assert!(Address::parse("8642").unwrap().is_local());
        assert!(!Address::parse(":80").unwrap().is_local());
        let unix = Address::parse("unix:/tmp/a:b").unwrap();
        assert_eq!(unix, Address::Unix("/tmp/a:b".into()));
        for bad in ["::1:80", "host", "host:", "host:65536", "unix:a", ""] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_unix_socket_is_for_its_user_and_goes() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let address = Address::Unix(dir.path().join("s"));
        let listeners = address.bind().unwrap();
        let mode = fs::metadata(dir.path().join("s"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(address.bind().is_err(), "in use");
        drop(listeners);
        assert!(!dir.path().join("s").exists());
    }

    #[test]
    fn only_the_own_socket_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let address = Address::Unix(path.clone());
        let listeners = address.bind().unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "somebody else's").unwrap();
        drop(listeners);
        assert_eq!(fs::read_to_string(&path).unwrap(), "somebody else's");
        let refused = address.bind().unwrap_err().to_string();
        assert!(refused.contains("something that is no socket"), "{refused}");
        assert!(path.exists());
        // The socket of a killed listener is no obstacle.
        fs::remove_file(&path).unwrap();
        drop(UnixListener::bind(&path).unwrap());
        assert!(address.bind().is_ok());
    }
}
