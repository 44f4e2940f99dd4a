//! Folders for files that are not kept.

use std::env;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::process::geteuid;
use tempfile::{Builder, TempDir};

/// Where to go when the system's folder for temporary files takes none, as in a container whose image is read-only.
const OTHERS: [&str; 2] = ["/var/tmp", "/dev/shm"];
/// All names begin so.
const FAMILY: &str = "hprof-rs-";
/// The file in a folder that its process has locked. A folder without it was made by another program, and stays.
const LOCK: &str = ".hprof-rs-in-use";
/// How many names in a folder for temporary files are looked at: others may fill it.
const MAX_NAMES: usize = 10_000;

/// A folder that only its user can look into. It goes when dropped, or, if its process is killed, when the next one is
/// made in that place.
#[derive(Debug)]
pub struct TemporaryFolder {
    // Dropped first, so that no process finds it without its lock.
    folder: TempDir,
    _lock: Option<File>,
}

impl TemporaryFolder {
    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// An empty folder of a new name, `hprof-rs-`, the purpose and random letters. `TMPDIR` says where it is.
///
/// Folders of processes that were killed are removed from that place first.
///
/// # Errors
/// When no folder can be made anywhere: where it was tried, and why it failed.
pub fn temporary_folder(purpose: &str) -> io::Result<TemporaryFolder> {
    // A user who has chosen a folder wants no other.
    let others = match env::var_os("TMPDIR") {
        Some(_) => &[][..],
        None => &OTHERS,
    };
    let bases = others.iter().map(PathBuf::from);
    make_in(purpose, [env::temp_dir()].into_iter().chain(bases))
}

fn make_in(purpose: &str, bases: impl Iterator<Item = PathBuf>) -> io::Result<TemporaryFolder> {
    let mut reasons = Vec::new();
    let mut kind = io::ErrorKind::NotFound;
    for base in bases {
        remove_left(&base);
        match make(purpose, &base) {
            Ok(folder) => return Ok(folder),
            Err(error) => {
                kind = error.kind();
                let reason = error.to_string();
                // The crate's error ends with the whole path, whose last name was never there.
                let reason = reason.split(" at path ").next().unwrap_or_default();
                reasons.push(format!("{}: {reason}", base.display()));
            }
        }
    }
    Err(io::Error::new(
        kind,
        format!(
            "there is no room for temporary files ({}); set TMPDIR to a folder that can be written to",
            reasons.join("; ")
        ),
    ))
}

fn make(purpose: &str, base: &Path) -> io::Result<TemporaryFolder> {
    let folder = Builder::new()
        .prefix(&format!("{FAMILY}{purpose}"))
        // The crate's default lets all users read.
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(base)?;
    let lock = lock_in(folder.path());
    Ok(TemporaryFolder {
        folder,
        // Where files cannot be locked, the folder is no worse for it.
        _lock: lock.ok(),
    })
}

/// Locks a new folder. The file gets its name when it is locked, so that no other process takes it for one without.
fn lock_in(folder: &Path) -> io::Result<File> {
    let fresh = folder.join(format!("{LOCK}.new"));
    let file = File::create_new(&fresh)?;
    let locked = flock(&file, FlockOperation::NonBlockingLockExclusive);
    let named = locked.map_err(io::Error::from);
    let named = named.and_then(|()| fs::rename(&fresh, folder.join(LOCK)));
    if named.is_err() {
        // The folder has to be empty.
        fs::remove_file(&fresh)?;
    }
    named.map(|()| file)
}

/// Removes folders that processes of this user have left in `base` because they were killed. They can hold whole dumps.
fn remove_left(base: &Path) {
    let Ok(names) = fs::read_dir(base) else {
        return;
    };
    for entry in names.take(MAX_NAMES).flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(FAMILY);
        if is_ours && let Some(lock) = left(&entry.path()) {
            // Another process may remove it at this moment; and whatever stays does no harm here.
            drop(fs::remove_dir_all(entry.path()));
            drop(lock);
        }
    }
}

/// The lock of a folder whose process has ended, so that only one other removes it.
fn left(folder: &Path) -> Option<File> {
    let user = geteuid().as_raw();
    let found = folder.symlink_metadata().ok()?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
        return None;
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let lock = OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).ok()?)
        .open(folder.join(LOCK))
        .ok()?;
    let found = lock.metadata().ok()?;
    if !found.is_file() || found.uid() != user {
        return None;
    }
    flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(lock)
}

#[cfg(test)]
mod tests {
    use std::fs::DirBuilder;
    use std::os::unix::fs::DirBuilderExt;

    use super::*;

    #[test]
    fn only_its_user_can_look_into_it() {
        let folder = temporary_folder("").unwrap();
        let mode = folder.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn the_next_place_is_taken_where_one_takes_nothing() {
        let good = tempfile::tempdir().unwrap();
        let places = || [PathBuf::from("/proc/none"), good.path().to_owned()].into_iter();
        let folder = make_in("x-", places()).unwrap();
        assert!(folder.path().starts_with(good.path()));
        let error = make_in("x-", places().take(1)).unwrap_err().to_string();
        assert!(error.contains("/proc/none: No such file"), "{error}");
        assert!(
            !error.contains("/x-") && error.contains("TMPDIR"),
            "{error}"
        );
    }

    #[test]
    fn what_a_killed_process_has_left_goes_and_nothing_else() {
        let base = tempfile::tempdir().unwrap();
        let used = make("", base.path()).unwrap();
        fs::write(used.path().join("profile"), "x").unwrap();
        // A killed process holds no lock, and has removed nothing.
        let killed = make("worker-", base.path()).unwrap();
        fs::write(killed.path().join("dump"), "x").unwrap();
        let TemporaryFolder { folder, _lock } = killed;
        let killed = folder.keep();
        drop(_lock);
        // Folders of people, whose names begin alike; the second has another's file in it.
        let person = base.path().join("hprof-rs-result");
        fs::create_dir(&person).unwrap();
        let open = base.path().join("hprof-rs-open");
        DirBuilder::new().mode(0o755).create(&open).unwrap();
        File::create_new(open.join(LOCK)).unwrap();
        // A link to a folder that has a lock, and a lock that is a link.
        let elsewhere = tempfile::tempdir().unwrap();
        File::create_new(elsewhere.path().join(LOCK)).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), base.path().join("hprof-rs-link")).unwrap();
        let linked = base.path().join("hprof-rs-linked");
        DirBuilder::new().mode(0o700).create(&linked).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join(LOCK), linked.join(LOCK)).unwrap();

        let fresh = make_in("", [base.path().to_owned()].into_iter()).unwrap();

        assert!(!killed.exists());
        assert!(used.path().join("profile").exists());
        assert!(fresh.path().exists() && person.exists() && open.exists() && linked.exists());
        assert!(elsewhere.path().join(LOCK).exists());
    }
}
