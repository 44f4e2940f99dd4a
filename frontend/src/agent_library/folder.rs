//! Folders that nobody else can tamper with.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;
use tempfile::TempDir;

use super::refusal::Refusal;

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

/// Checks a folder in which ours shall lie: no other user but root may be able
/// to rename or replace what is in it.
pub fn check_base(base: &Path, user: User) -> Result<(), Refusal> {
    // Follows links: whose folder it is in the end decides.
    let found = fs::metadata(base).map_err(|error| Refusal::io(base, error))?;
    if !found.is_dir() {
        return Err(Refusal::NotAFolder(base.to_owned()));
    }
    if found.uid() != 0 {
        check_owner(base, &found, user)?;
    }
    if found.mode() & STICKY == 0 {
        check_mode(base, &found, OTHERS_WRITE)?;
    }
    Ok(())
}

/// Checks that a JVM can load code from a folder.
pub fn check_loadable(folder: &Path) -> Result<(), Refusal> {
    if folder.as_os_str().as_bytes().contains(&b'=') {
        return Err(Refusal::EqualsSign(folder.to_owned()));
    }
    if is_noexec(folder).map_err(|error| Refusal::io(folder, error))? {
        return Err(Refusal::NoExec(folder.to_owned()));
    }
    Ok(())
}

fn is_noexec(folder: &Path) -> io::Result<bool> {
    let flags = rustix::fs::statvfs(folder)?.f_flag;
    Ok(flags.contains(StatVfsMountFlags::NOEXEC))
}

/// Creates a folder for this user alone, or checks the one that is there: it
/// must be a folder and no link, belong to the user, and have none of the
/// `forbidden` mode bits.
pub fn create(path: &Path, user: User, forbidden: u32) -> Result<PathBuf, Refusal> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(Refusal::io(path, error)),
    }
    let found = fs::symlink_metadata(path).map_err(|error| Refusal::io(path, error))?;
    if found.is_symlink() {
        return Err(Refusal::Link(path.to_owned()));
    }
    if !found.is_dir() {
        return Err(Refusal::NotAFolder(path.to_owned()));
    }
    check_owner(path, &found, user)?;
    check_mode(path, &found, forbidden)?;
    Ok(path.to_owned())
}

/// Creates a folder of a new name for this user alone; it goes when dropped.
pub fn create_fresh(base: &Path) -> Result<TempDir, Refusal> {
    tempfile::Builder::new()
        .prefix("hprof-rs-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(base)
        .map_err(|error| Refusal::io(base, error))
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
            if let Ok(noexec) = is_noexec(Path::new(place)) {
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
            let checked = check_base(base, user);
            assert_eq!(checked.is_ok(), good, "{mode:o}: {checked:?}");
        }
    }

    #[test]
    fn a_folder_of_another_user_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let User(id) = User::current();
        let refusal = create(dir.path(), User(id + 1), 0o077).unwrap_err();
        assert!(refusal.is_suspicious());
        assert_eq!(
            refusal.to_string(),
            format!("{} belongs to another user (id {id})", dir.path().display())
        );
    }
}
