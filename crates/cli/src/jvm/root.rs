//! The root folder of a process, which may be that of a container whose owner is hostile.
//!
//! Links in there mean something to the process alone: followed from outside, an absolute one leads
//! into our own files, and a FIFO keeps a process that opens it waiting. So every path is resolved below
//! that root by the kernel, and only what should be there is opened.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use hprof_wire::local::{ConnectError, Node};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use super::process::{Pid, Status};

/// How often a path is tried whose folders are moved meanwhile.
const ATTEMPTS: usize = 16;

/// A root folder, held open.
#[derive(Debug)]
pub struct Root(OwnedFd);

impl Root {
    /// That of a process.
    ///
    /// # Errors
    /// `PermissionDenied` for processes of other users.
    pub fn of(pid: Pid) -> io::Result<Self> {
        Self::at(&pid.path("root"))
    }

    /// That of a process that does not show it: our own, unless the process has ids of its own, as in a
    /// container. The kernel hides the root folder of processes with more rights than their user (setcap,
    /// setuid), and of those of other users.
    pub fn assumed(pid: Pid, status: &Status) -> Option<Self> {
        let shares_ids = status.inner_pid == pid.0;
        shares_ids.then(|| Self::at(Path::new("/")).ok()).flatten()
    }

    fn at(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(openat(CWD, path, flags, Mode::empty())?))
    }

    /// A handle on whatever is there; a link in the last place is not followed.
    ///
    /// # Errors
    /// If there is nothing.
    pub fn handle(&self, path: &Path) -> io::Result<OwnedFd> {
        Ok(self.open(path, OFlags::PATH | OFlags::NOFOLLOW)?)
    }

    /// A handle on a folder; links lead to others below this root.
    ///
    /// # Errors
    /// If there is none.
    pub fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        Ok(self.open(path, OFlags::PATH | OFlags::DIRECTORY)?)
    }

    /// A handle on a socket.
    ///
    /// # Errors
    /// If there is none, or something else.
    pub fn socket(&self, path: &Path) -> Result<Node, ConnectError> {
        Node::from_handle(self.handle(path)?)
    }

    /// A plain file to read, of this user if one is named. Nothing else is opened or waited for.
    ///
    /// # Errors
    /// If there is none.
    pub fn file(&self, path: &Path, owner: Option<u32>) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
        let file = File::from(self.open(path, flags)?);
        let found = file.metadata()?;
        match found.is_file() && owner.is_none_or(|uid| uid == found.uid()) {
            true => Ok(file),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn open(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..ATTEMPTS {
            match openat2(&self.0, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN) => {}
                // Linux before 5.6, and filters of containers that do not know the call.
                Err(Errno::NOSYS | Errno::PERM) => return walk(self.0.as_fd(), path, flags),
                done => return done,
            }
        }
        Err(Errno::AGAIN)
    }
}

/// Opens a path folder by folder, without links anywhere.
fn walk(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => return Err(Errno::LOOP),
        }
    }
    let Some((last, folders)) = names.split_last() else {
        return openat(root, ".", flags, Mode::empty());
    };
    let mut current = openat(root, ".", step, Mode::empty())?;
    for name in folders {
        current = openat(&current, *name, step, Mode::empty())?;
    }
    openat(&current, *last, flags | OFlags::NOFOLLOW, Mode::empty())
}

/// A path to what a handle leads to. Its last part may be joined with a name; no one can exchange
/// what is before.
pub fn way(handle: &impl AsFd) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    type Open = fn(&Root, &Path) -> io::Result<OwnedFd>;

    /// A container's root in a folder, and a secret beside it.
    fn scene() -> (tempfile::TempDir, Root) {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        fs::create_dir_all(at("root/tmp/folder")).unwrap();
        fs::write(at("root/tmp/file"), "inside").unwrap();
        fs::create_dir(at("outside")).unwrap();
        fs::write(at("outside/file"), "secret").unwrap();
        let root = Root::at(&at("root")).unwrap();
        (base, root)
    }

    fn text(root: &Root, path: &str) -> io::Result<String> {
        let mut text = String::new();
        root.file(Path::new(path), None)?
            .read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn links_stay_inside() {
        let (base, root) = scene();
        let outside = base.path().join("outside");
        let at = |name: &str| base.path().join("root").join(name);
        symlink(&outside, at("absolute")).unwrap();
        symlink("../outside", at("relative")).unwrap();
        symlink("/tmp", at("good")).unwrap();
        symlink(outside.join("file"), at("last")).unwrap();
        assert_eq!(text(&root, "/tmp/file").unwrap(), "inside");
        assert_eq!(text(&root, "/../../tmp/file").unwrap(), "inside");
        assert_eq!(text(&root, "/good/file").unwrap(), "inside");
        for path in ["/absolute/file", "/relative/file", "/last"] {
            assert!(text(&root, path).is_err(), "{path}");
        }
        assert!(root.folder(Path::new("/absolute")).is_err());
        assert!(root.folder(Path::new("/good/folder")).is_ok());
    }

    #[test]
    fn the_walk_follows_nothing() {
        let (base, root) = scene();
        symlink("/tmp", base.path().join("root/good")).unwrap();
        let walk = |path: &str| walk(root.0.as_fd(), Path::new(path), OFlags::PATH);
        assert!(walk("/tmp/file").is_ok() && walk("/").is_ok());
        for path in ["/good/file", "/tmp/../tmp/file", "/tmp/file/x", "/none"] {
            assert!(walk(path).is_err(), "{path}");
        }
    }

    #[test]
    fn only_plain_files_are_read() {
        let (base, root) = scene();
        let fifo = base.path().join("root/tmp/fifo");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(CWD, &fifo, kind, Mode::RWXU, 0).unwrap();
        assert!(
            text(&root, "/tmp/fifo").is_err(),
            "and it is not waited for"
        );
        assert!(text(&root, "/tmp/folder").is_err());
        let owner = rustix::process::geteuid().as_raw();
        let file = |owner| root.file(Path::new("/tmp/file"), Some(owner));
        assert!(file(owner).is_ok() && file(owner + 1).is_err());
        let handles: [Open; 2] = [Root::handle, Root::folder];
        assert!(
            handles
                .iter()
                .all(|open| open(&root, Path::new("/none")).is_err())
        );
    }
}
