//! The socket of a JVM's attach listener, which it opens when asked.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hprof_wire::local::{ConnectError, Users, peer};
use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};

use super::refusal::Silence;
use super::{Refusal, Target};
use crate::jvm::process::Pid;

/// How long to wait between two looks for the socket, at first.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// And at most.
const MAX_PAUSE: Duration = Duration::from_millis(200);
/// How long a JVM may take from its first appearance until it catches signals.
const MAX_START: Duration = Duration::from_secs(5);
/// Reading and writing for others: HotSpot takes both away before its socket gets this name.
const OTHERS: u32 = 0o066;

/// Connects to the attach listener, starting it if it does not run yet.
///
/// A JVM starts it on SIGQUIT if it finds a file `.attach_pidN` in its current folder or in `/tmp`
/// that belongs to its user; N is its process id in its own namespace. The socket is
/// `/tmp/.java_pidN` (`attachListener_linux.cpp`).
///
/// # Errors
/// If it does not open the socket in time, or another process has the name or listens there.
pub fn connect(target: &Target, limit: Duration) -> Result<UnixStream, Refusal> {
    let number = target.status().inner_pid;
    let socket = socket_path(target);
    let start = Instant::now();
    let deadline = start + limit;
    if let Some(stream) = try_connect(target, &socket, deadline)? {
        return Ok(stream);
    }
    let _request = RequestFile::create(target, number)?;
    let mut pause = FIRST_PAUSE;
    let mut asked = Asked::default();
    loop {
        let waited = start.elapsed();
        asked.go_on(target, waited, limit)?;
        if waited > limit {
            return Err(Refusal::NoAnswer {
                pid: target.pid(),
                limit,
                cause: silence(target, &socket),
            });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(MAX_PAUSE);
        if let Some(stream) = try_connect(target, &socket, deadline)? {
            return Ok(stream);
        }
    }
}

/// Why there is no socket. The kernel lists open ones, whatever has become of their files.
fn silence(target: &Target, socket: &Path) -> Silence {
    let open = std::fs::read(target.pid().path("net/unix"))
        .or_else(|_| std::fs::read("/proc/net/unix"))
        .unwrap_or_default();
    let name = format!(" {}", socket.display());
    // HotSpot binds it under another name, and renames the file.
    let bound = format!("{name}.tmp");
    let is_open = open
        .split(|&byte| byte == b'\n')
        .any(|line| line.ends_with(name.as_bytes()) || line.ends_with(bound.as_bytes()));
    match target.root_is_assumed {
        true => Silence::RootAssumed,
        false if is_open => Silence::Removed,
        false => Silence::Unknown,
    }
}

/// The name of its socket, as the JVM sees it.
fn socket_path(target: &Target) -> PathBuf {
    PathBuf::from(format!("/tmp/.java_pid{}", target.status().inner_pid))
}

/// Removes what a dead JVM of another user has left under the name of the JVM's socket, if this
/// process is root.
///
/// A process id comes again, a JVM that was killed leaves its socket, and in a folder with the
/// sticky bit the next JVM of that id can neither use nor replace it. A socket stays unless the
/// kernel says that no process listens: root may lack the right to open the socket of a live process.
pub fn clear_left_over(target: &Target) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let path = socket_path(target);
    let Ok(node) = target.root.socket(&path) else {
        return;
    };
    let is_dead = || {
        let refused = node.connect(Users::Any, Instant::now());
        refused.is_err_and(|error| error.is_absent())
    };
    if node.metadata().uid() == target.status().uid || !is_dead() {
        return;
    }
    if let (Some(folder), Some(name)) = (path.parent(), path.file_name())
        && let Ok(folder) = target.root.folder(folder)
    {
        let _ = unlinkat(&folder, name, AtFlags::empty());
    }
}

/// None if no process listens there: a dead JVM with this process id may have left the socket.
///
/// As the JDK's own tools do, this takes only a socket that the JVM's user has made for itself
/// alone. Any user can make one of that name before, and the JVM has none then.
fn try_connect(
    target: &Target,
    path: &Path,
    deadline: Instant,
) -> Result<Option<UnixStream>, Refusal> {
    let users = Users::OrRoot(target.status().uid);
    let found = target.root.socket(path).and_then(|node| {
        let stream = node.connect(users, deadline)?;
        let is_open = node.metadata().mode() & OTHERS != 0;
        Ok((stream, is_open))
    });
    let pid = target.pid();
    let taken = |why: String| Refusal::Taken {
        pid,
        path: path.display().to_string(),
        why,
    };
    match found {
        Ok((_, true)) => Err(taken("other users can open it".to_owned())),
        Ok((stream, false)) => match other_process(&stream, pid) {
            Some(other) => Err(taken(format!("process {} listens there", other.0))),
            None => Ok(Some(stream)),
        },
        Err(error) if error.is_absent() => Ok(None),
        // Root's, for root alone: the JVM's user cannot have made it.
        Err(ConnectError::Io(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(taken("its user cannot open it".to_owned()))
        }
        Err(ConnectError::Io(error)) => Err(Refusal::Io {
            pid,
            what: "cannot connect to its socket",
            error,
        }),
        Err(error) => Err(taken(error.to_string())),
    }
}

/// The process at the other end of a connection, if that is another one than `pid`, as far as it
/// can be seen from here.
pub fn other_process(stream: &UnixStream, pid: Pid) -> Option<Pid> {
    let found = peer(stream).ok()?.pid;
    (found != 0 && found != pid.0).then_some(Pid(found))
}

/// How often the JVM was sent the signal.
#[derive(Default)]
struct Asked {
    once: bool,
    twice: bool,
}

impl Asked {
    /// Sends the signal once, and again at half the time: one may have come at a bad moment.
    ///
    /// A JVM that is just starting does not catch the signal yet and would be killed by it.
    fn go_on(&mut self, target: &Target, waited: Duration, limit: Duration) -> Result<(), Refusal> {
        if !self.once {
            match target.wake() {
                Err(Refusal::NotListening(_)) if waited < limit.min(MAX_START) => {}
                sent => {
                    sent?;
                    self.once = true;
                }
            }
        } else if !self.twice && waited > limit / 2 {
            self.twice = true;
            target.wake()?;
        }
        if target.pid().status().is_ok_and(|status| status.is_zombie) {
            return Err(Refusal::Ended(target.pid()));
        }
        Ok(())
    }
}

/// The file that asks the JVM to listen. It goes when dropped.
struct RequestFile {
    folder: OwnedFd,
    name: String,
}

impl RequestFile {
    /// In `/tmp` rather than among the program's own files, if possible. What has the name goes; a
    /// link is never followed.
    fn create(target: &Target, number: u32) -> Result<Self, Refusal> {
        let name = format!(".attach_pid{number}");
        let tmp = || target.root.folder(Path::new("/tmp"));
        let current = || match &target.current {
            Some(folder) => folder.try_clone(),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        let places: [&dyn Fn() -> io::Result<OwnedFd>; 2] = [&tmp, &current];
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for place in places {
            let created = place().and_then(|folder| {
                let _ = unlinkat(&folder, &name, AtFlags::empty());
                let mode = Mode::RUSR | Mode::WUSR;
                openat(&folder, &name, flags | OFlags::CLOEXEC, mode)?;
                Ok(folder)
            });
            match created {
                Ok(folder) => return Ok(Self { folder, name }),
                Err(error) => last = error,
            }
        }
        Err(Refusal::NoPlaceToAsk {
            pid: target.pid(),
            error: last,
        })
    }
}

impl Drop for RequestFile {
    fn drop(&mut self) {
        let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
    }
}
