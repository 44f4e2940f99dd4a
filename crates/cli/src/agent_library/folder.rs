//! Folders that no other user can tamper with.

use std::fs::{File, Metadata, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, StatVfsMountFlags, mkdirat, openat};
use rustix::io::Errno;
use tempfile::TempDir;

use super::refusal::Refusal;
use crate::jvm::root;

/// Whom files and folders have to belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User(pub u32);

impl User {
    /// The effective user of this process.
    pub fn current() -> Self {
        Self(rustix::process::geteuid().as_raw())
    }

    /// The user who started this process, whatever rights a thread of it has taken on.
    pub fn login() -> Self {
        Self(rustix::process::getuid().as_raw())
    }
}

const STICKY: u32 = 0o1000;
const OTHERS_WRITE: u32 = 0o022;

/// A folder held open: what is created in it lies there and nowhere else, whatever becomes of the
/// names that led to it.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens a folder; links lead to it.
    pub fn open(path: &Path) -> Result<Self, Refusal> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(CWD, path, flags, Mode::empty()) {
            Ok(handle) => Ok(Self::new(handle, path)),
            Err(Errno::NOTDIR) => Err(Refusal::NotAFolder(path.to_owned())),
            Err(error) => Err(Refusal::io(path, error.into())),
        }
    }

    /// A folder that is open, by the path under which it is known.
    pub fn new(handle: OwnedFd, path: &Path) -> Self {
        let path = path.to_owned();
        Self { handle, path }
    }

    /// The path under which it is known.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path that leads into this very folder.
    pub fn way(&self) -> PathBuf {
        let way = root::way(&self.handle);
        match way.exists() {
            true => way,
            // Without /proc there is no other.
            false => self.path.clone(),
        }
    }

    fn metadata(&self) -> Result<Metadata, Refusal> {
        let handle = self.handle.try_clone().map(File::from);
        handle
            .and_then(|handle| handle.metadata())
            .map_err(|error| Refusal::io(&self.path, error))
    }

    /// Checks a folder in which ours shall lie: no other user but root may be able
    /// to rename or replace what is in it.
    pub fn check_base(&self, user: User) -> Result<(), Refusal> {
        let found = self.metadata()?;
        if found.uid() != 0 {
            check_owner(&self.path, &found, user)?;
        }
        if found.mode() & STICKY == 0 {
            check_mode(&self.path, &found, OTHERS_WRITE)?;
        }
        Ok(())
    }

    /// Checks that a JVM can load code from here.
    pub fn check_loadable(&self) -> Result<(), Refusal> {
        if self.path.as_os_str().as_bytes().contains(&b'=') {
            return Err(Refusal::EqualsSign(self.path.clone()));
        }
        if self.is_noexec()? {
            return Err(Refusal::NoExec(self.path.clone()));
        }
        Ok(())
    }

    fn is_noexec(&self) -> Result<bool, Refusal> {
        let found = rustix::fs::fstatvfs(&self.handle);
        let found = found.map_err(|error| Refusal::io(&self.path, error.into()))?;
        Ok(found.f_flag.contains(StatVfsMountFlags::NOEXEC))
    }

    /// Creates a folder in this one for this user alone, or checks the one that is there: it
    /// must be a folder and no link, belong to the user, and have none of the
    /// `forbidden` mode bits.
    pub fn create(&self, name: &str, user: User, forbidden: u32) -> Result<Self, Refusal> {
        let path = self.path.join(name);
        match mkdirat(&self.handle, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(Refusal::io(&path, error.into())),
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(&self.handle, name, flags, Mode::empty());
        let handle = handle.map_err(|error| Refusal::io(&path, error.into()))?;
        let folder = Self { handle, path };
        let found = folder.metadata()?;
        if found.is_symlink() {
            return Err(Refusal::Link(folder.path));
        }
        if !found.is_dir() {
            return Err(Refusal::NotAFolder(folder.path));
        }
        check_owner(&folder.path, &found, user)?;
        check_mode(&folder.path, &found, forbidden)?;
        Ok(folder)
    }

    /// Creates a folder of a new name for this user alone; it goes when dropped.
    pub fn create_fresh(&self) -> Result<TempDir, Refusal> {
        tempfile::Builder::new()
            .prefix("hprof-rs-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(self.way())
            .map_err(|error| Refusal::io(&self.path, error))
    }
}

fn check_owner(path: &Path, found: &Metadata, user: User) -> Result<(), Refusal> {
    let owner = found.uid();
    if owner == user.0 {
        Ok(())
    } else {
        Err(Refusal::Foreign {
            path: path.to_owned(),
            owner,
        })
    }
}

fn check_mode(path: &Path, found: &Metadata, forbidden: u32) -> Result<(), Refusal> {
    let mode = found.mode() & 0o7777;
    if mode & forbidden == 0 {
        Ok(())
    } else {
        Err(Refusal::Open {
            path: path.to_owned(),
            mode,
            forbidden,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn noexec_is_what_the_kernel_lists() {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mut seen = 0;
        for line in mounts.lines() {
            let fields: Vec<_> = line.split(' ').collect();
            let [_, place, _, options, ..] = fields.as_slice() else {
                panic!("{line}");
            };
            // A later mount may hide this one, or be out of reach.
            let last = mounts.lines().rfind(|l| l.split(' ').nth(1) == Some(place));
            if last != Some(line) || !["/", "/proc", "/sys", "/dev", "/dev/shm"].contains(place) {
                continue;
            }
            if let Ok(noexec) = Folder::open(Path::new(place)).and_then(|it| it.is_noexec()) {
                assert_eq!(noexec, options.split(',').any(|o| o == "noexec"), "{line}");
                seen += 1;
            }
        }
        assert!(seen > 0, "{mounts}");
    }

    #[test]
    fn a_base_that_others_can_write_to_needs_the_sticky_bit() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path();
        let user = User::current();
        for (mode, good) in [
            (0o700, true),
            (0o755, true),
            (0o1777, true),
            (0o777, false),
            (0o770, false),
        ] {
            fs::set_permissions(base, Permissions::from_mode(mode)).unwrap();
            let checked = Folder::open(base).and_then(|base| base.check_base(user));
            assert_eq!(checked.is_ok(), good, "{mode:o}: {checked:?}");
        }
    }

    #[test]
    fn what_takes_the_name_of_a_folder_later_does_not_matter() {
        let dir = tempfile::tempdir().unwrap();
        let base = Folder::open(dir.path()).unwrap();
        let ours = base.create("ours", User::current(), 0o077).unwrap();
        fs::rename(ours.path(), dir.path().join("moved")).unwrap();
        fs::create_dir(dir.path().join("other")).unwrap();
        std::os::unix::fs::symlink("other", ours.path()).unwrap();
        ours.create("x", User::current(), 0o077).unwrap();
        assert!(dir.path().join("moved/x").is_dir());
        assert!(!dir.path().join("other/x").exists());
    }

    #[test]
    fn a_folder_of_another_user_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let User(id) = User::current();
        let base = Folder::open(dir.path()).unwrap();
        let refusal = base.create("x", User(id + 1), 0o077).unwrap_err();
        assert!(refusal.is_suspicious());
        let path = dir.path().join("x");
        assert_eq!(
            refusal.to_string(),
            format!("{} belongs to another user (id {id})", path.display())
        );
    }
}
