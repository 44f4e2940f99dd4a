//! Where the control socket is.
//!
//! It is `/tmp/.hprof_rs_UID/pidN`, where N is the id that the process has in its own PID namespace.
//! The folder belongs to the JVM's user and no other user can open it, so no other user can take a name
//! in it. The name of the folder itself can be taken: then the agent picks one with a random end,
//! and another base if `/tmp` takes none.
//!
//! A client need not know which: the agent keeps the folder open as long as it listens, and `/proc`
//! shows that descriptor. It leads to the folder itself, from outside of a container too, and
//! whatever lies under its path by then. Where `/proc` hides the descriptors, it looks through the bases
//! ([`find_below`]).
//!
//! A cleaner of temporary folders may remove the socket of a live agent. The agent makes another when
//! it is attached to again. A JVM that is killed leaves its socket, which goes at the next [`sweep`].

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use thiserror::Error;

use crate::local::{ConnectError, Node, Users, peer};

/// With what the name of each such folder begins.
const PREFIX: &str = ".hprof_rs_";
/// Where to try, whatever `TMPDIR` says. Containers with a read-only image have one of them.
const BASES: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// How long to wait for a sweep of a folder, which takes milliseconds.
const LOCK_WAIT: Duration = Duration::from_millis(200);
const LOCK_PAUSE: Duration = Duration::from_millis(5);
/// Random names tried in each base; that one is taken is not to be expected.
const ATTEMPTS: usize = 4;

/// A control socket that is open. It is closed and its name is removed when dropped.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Shows clients the way, and goes after the socket.
    folder: File,
    /// The file of the socket: another one may have its name by now.
    file: FileId,
    has_own_folder: bool,
    /// Another socket may have the name after this one has given it up.
    is_named: AtomicBool,
    remark: Option<String>,
}

/// A file, whatever its name is: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64);

impl FileId {
    fn of(found: &Metadata) -> Self {
        Self(found.dev(), found.ino())
    }
}

/// Why a place cannot have the socket.
#[derive(Debug, Error)]
enum Unfit {
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    #[error("{} belongs to another user (id {})", .0.display(), .1)]
    Foreign(PathBuf, u32),
    #[error("{} is open to other users (run chmod 700 on it)", .0.display())]
    Open(PathBuf),
    #[error("{} is in use", .0.display())]
    InUse(PathBuf),
    #[error("{}: {}", .0.display(), .1)]
    Io(PathBuf, io::Error),
    #[error("another copy of the agent controls this JVM at {}; use that one", .0.display())]
    OtherCopy(PathBuf),
}

impl Unfit {
    /// Returns whether another user has taken the name, or may have.
    fn is_suspicious(&self) -> bool {
        matches!(
            self,
            Self::NotAFolder(_) | Self::Foreign(..) | Self::Open(_)
        )
    }
}

impl ControlSocket {
    /// Opens the socket of this process, without waiting.
    ///
    /// # Errors
    /// Why there is none, in a sentence.
    pub fn open() -> Result<Self, String> {
        Self::open_in(&BASES.map(Path::new))
    }

    fn open_in(bases: &[&Path]) -> Result<Self, String> {
        let own = rustix::process::geteuid().as_raw();
        let mut remark = None;
        let mut reasons = Vec::new();
        for base in bases {
            let fixed = base.join(format!("{PREFIX}{own}"));
            let random = (0..ATTEMPTS).map(|_| {
                let end = random_name();
                (base.join(format!("{PREFIX}{own}.{end}")), true)
            });
            for (folder, is_own) in [(fixed, false)].into_iter().chain(random) {
                match listen_in(&folder, own, is_own) {
                    Ok(bound) => {
                        let Bound {
                            listener,
                            path,
                            folder,
                            file,
                        } = bound;
                        return Ok(Self {
                            remark: remark.map(|unfit: String| {
                                format!("{unfit}; the control socket is {}", path.display())
                            }),
                            listener,
                            path,
                            folder,
                            file,
                            has_own_folder: is_own,
                            is_named: AtomicBool::new(true),
                        });
                    }
                    Err(unfit @ Unfit::OtherCopy(_)) => return Err(unfit.to_string()),
                    Err(unfit) if unfit.is_suspicious() && remark.is_none() => {
                        remark = Some(unfit.to_string());
                    }
                    Err(unfit) => reasons.push(unfit.to_string()),
                }
            }
        }
        reasons.dedup();
        let reasons: Vec<String> = remark.into_iter().chain(reasons).take(3).collect();
        Err(format!("no control socket: {}", reasons.join("; ")))
    }

    /// A sentence for the user: the name that was taken, and the one that is used instead.
    #[must_use]
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether clients find it: a cleaner of temporary folders may have removed its name, or the folder.
    #[must_use]
    pub fn is_reachable(&self) -> bool {
        let there = socket_in(&self.folder, &name(std::process::id()));
        there.is_ok_and(|node| FileId::of(node.metadata()) == self.file)
    }

    /// Removes its name, so that no process can connect any more. The name stays if it has come to mean
    /// another socket.
    pub fn remove_name(&self) {
        if self.is_named.swap(false, Ordering::Relaxed) {
            if self.is_reachable() {
                let _ = fs::remove_file(&self.path);
            }
            if let (true, Some(folder)) = (self.has_own_folder, self.path.parent()) {
                let _ = fs::remove_dir(folder);
            }
        }
    }

    /// The socket itself.
    #[must_use]
    pub fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.remove_name();
    }
}

/// A socket that listens, and where it lies.
struct Bound {
    listener: UnixListener,
    path: PathBuf,
    folder: File,
    file: FileId,
}

/// Listens in a folder of this user alone, which is created if it is missing.
fn listen_in(folder: &Path, own: u32, must_be_new: bool) -> Result<Bound, Unfit> {
    let io = |error| Unfit::Io(folder.to_owned(), error);
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(io(error)),
        Err(_) if must_be_new => return Err(Unfit::InUse(folder.to_owned())),
        _ => {}
    }
    let handle =
        open_folder(folder, libc::O_NOFOLLOW).map_err(|_| Unfit::NotAFolder(folder.to_owned()))?;
    let found = handle.metadata().map_err(io)?;
    if found.uid() != own {
        return Err(Unfit::Foreign(folder.to_owned(), found.uid()));
    }
    if found.mode() & 0o077 != 0 {
        return Err(Unfit::Open(folder.to_owned()));
    }
    let _lock = lock(&handle, LOCK_WAIT);
    let name = name(std::process::id());
    let path = folder.join(&name);
    match Node::open(&path) {
        // Left by a process that was killed, unless a process listens: this one, or one with the
        // same number in another PID namespace.
        Ok(node) => match node.connect(Users::Any, Instant::now()) {
            Ok(stream) if peer(&stream).is_ok_and(|it| it.pid == std::process::id()) => {
                return Err(Unfit::OtherCopy(path));
            }
            Ok(_) | Err(ConnectError::Busy) => return Err(Unfit::InUse(path)),
            Err(_) => remove(&path)?,
        },
        Err(ConnectError::NotASocket) => remove(&path)?,
        Err(_) => {}
    }
    let listener = UnixListener::bind(&path).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => Unfit::InUse(path.clone()),
        _ => Unfit::Io(path.clone(), error),
    })?;
    // The folder keeps others out already, whatever the mode is until here.
    let _ = fs::set_permissions(&path, Permissions::from_mode(0o600));
    // A user who can rename folders in the base could have exchanged it since the check above.
    match socket_in(&handle, &name) {
        Ok(node) => Ok(Bound {
            listener,
            path,
            folder: handle,
            file: FileId::of(node.metadata()),
        }),
        Err(_) => Err(Unfit::NotAFolder(folder.to_owned())),
    }
}

/// Keeps [`sweep`] out of a folder, or waits for its end. `None` if that takes longer than `wait`, or
/// the file system has no locks: it goes without, then. The lock ends with the process.
fn lock(folder: &File, wait: Duration) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = File::from(rustix::fs::openat(folder, ".", flags, Mode::empty()).ok()?);
    let deadline = Instant::now() + wait;
    loop {
        match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(folder),
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline => std::thread::sleep(LOCK_PAUSE),
            Err(_) => return None,
        }
    }
}

fn remove(path: &Path) -> Result<(), Unfit> {
    fs::remove_file(path).map_err(|error| Unfit::Io(path.to_owned(), error))
}

fn random_name() -> String {
    // Seeded by the system, anew for each.
    use std::hash::{BuildHasher, RandomState};
    let number = RandomState::new().hash_one(std::process::id());
    format!("{number:016x}")
}

/// The name in the folder.
fn name(inner_pid: u32) -> String {
    format!("pid{inner_pid}")
}

fn socket_in(folder: &File, name: &str) -> Result<Node, ConnectError> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(folder, name, flags, Mode::empty());
    let handle: OwnedFd = opened.map_err(io::Error::from)?;
    Node::from_handle(handle)
}

/// The control socket of an agent, as far as a client finds it.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one, and it is taken apart at once; its size depends on the processor"
)]
pub enum Found {
    /// The socket.
    Socket(Node),
    /// The agent listens, but its socket has been removed.
    Removed,
    /// No agent listens.
    Nothing,
}

/// The control socket of the process whose descriptors are shown in the folder `descriptors`
/// (`/proc/PID/fd`), which runs as the user `owner` and has the id `inner_pid` in its own PID
/// namespace.
///
/// # Errors
/// If this process may not look at those descriptors.
pub fn find(descriptors: &Path, owner: u32, inner_pid: u32) -> io::Result<Found> {
    let mut found = Found::Nothing;
    for entry in fs::read_dir(descriptors)? {
        // Descriptors come and go meanwhile.
        let Ok(entry) = entry.map(|entry| entry.path()) else {
            continue;
        };
        let is_ours = fs::read_link(&entry).is_ok_and(|link| is_folder(&link));
        if !is_ours {
            continue;
        }
        let Ok(folder) = open_folder(&entry, 0) else {
            continue;
        };
        if is_private(&folder, owner) {
            match socket_in(&folder, &name(inner_pid)) {
                Ok(node) => return Ok(Found::Socket(node)),
                Err(_) => found = Found::Removed,
            }
        }
    }
    Ok(found)
}

/// As [`find`], without the descriptors: looks through the folders in which sockets lie, for the file system
/// that `open` opens folders of. Another process of that number may listen: the connection tells.
pub fn find_below(
    open: impl Fn(&Path) -> io::Result<OwnedFd>,
    owner: u32,
    inner_pid: u32,
) -> Option<Node> {
    BASES.iter().find_map(|base| {
        let base = File::from(open(Path::new(base)).ok()?);
        folders_in(&base, owner).find_map(|(_, folder)| {
            let node = socket_in(&folder, &name(inner_pid)).ok();
            node.filter(Node::has_listener)
        })
    })
}

/// The folders of agents of this user in a base, with their names.
fn folders_in(base: &File, owner: u32) -> impl Iterator<Item = (String, File)> {
    let base = PathBuf::from(format!("/proc/self/fd/{}", base.as_raw_fd()));
    let entries = fs::read_dir(base).into_iter().flatten();
    let fixed = format!("{PREFIX}{owner}");
    entries.filter_map(move |entry| {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string().ok()?;
        let rest = name.strip_prefix(&fixed)?;
        let is_one = rest.is_empty() || rest.starts_with('.');
        let folder = is_one.then(|| open_folder(&entry.path(), libc::O_NOFOLLOW))?;
        let folder = folder.ok().filter(|folder| is_private(folder, owner))?;
        Some((name, folder))
    })
}

fn open_folder(path: &Path, flags: i32) -> io::Result<File> {
    let flags = flags | libc::O_PATH | libc::O_DIRECTORY;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Returns whether a folder belongs to this user or to root, and no other user can open it.
fn is_private(folder: &File, owner: u32) -> bool {
    folder
        .metadata()
        .is_ok_and(|found| Users::OrRoot(owner).include(found.uid()) && found.mode() & 0o077 == 0)
}

/// Returns whether the target of a descriptor has the name of such a folder.
fn is_folder(link: &Path) -> bool {
    let name = link.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(PREFIX))
}

mod sweep;

pub use sweep::sweep;

#[cfg(test)]
#[path = "socket/tests.rs"]
mod tests;
