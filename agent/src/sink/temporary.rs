//! The names that files have until they are complete.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::os::descriptors;

/// Creates a new file beside `path`, never opening one that exists.
///
/// # Errors
/// The file system's.
pub(super) fn create(path: &Path) -> io::Result<(File, PathBuf)> {
    descriptors::occupy_standard();
    first_free(path, |temporary| {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            // It holds what the program holds.
            .mode(0o600)
            .open(temporary)
    })
}

/// Gives the file `from` a second name beside `path`, one that no file has. To rename it over another file
/// would make ext4 write all of it to the disk at once (its option `auto_da_alloc`).
///
/// # Errors
/// The file system's; some have no hard links.
pub(super) fn link(from: &Path, path: &Path) -> io::Result<PathBuf> {
    first_free(path, |temporary| fs::hard_link(from, temporary)).map(|((), temporary)| temporary)
}

/// Gives the file `from` the name `path`, unless another file has it that was written after `moment`. Returns
/// whether it has the name.
///
/// # Errors
/// The file system's.
pub(super) fn replace_older(from: &Path, path: &Path, moment: SystemTime) -> io::Result<bool> {
    let is_older = |path: &Path| {
        let found = fs::symlink_metadata(path).and_then(|found| found.modified());
        found.map(|modified| modified < moment)
    };
    match fs::hard_link(from, path) {
        Ok(()) => return fs::remove_file(from).map(|()| true),
        // No hard links on this file system.
        Err(_) if fs::symlink_metadata(path).is_err() => {
            return fs::rename(from, path).map(|()| true);
        }
        Err(_) => {}
    }
    if !is_older(path)? {
        return Ok(false);
    }
    // Another process may put its file there at this moment. What had the name gets that of `from`, so
    // it can be looked at once more, and nothing is lost.
    match exchange(from, path) {
        Ok(()) if is_older(from)? => fs::remove_file(from).map(|()| true),
        Ok(()) => exchange(from, path).map(|()| false),
        Err(_) => fs::rename(from, path).map(|()| true),
    }
}

/// Exchanges two files; not all file systems can.
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

fn first_free<T>(
    path: &Path,
    mut create: impl FnMut(&Path) -> io::Result<T>,
) -> io::Result<(T, PathBuf)> {
    let pid = std::process::id();
    let mut last = None;
    for attempt in 0..100 {
        let mut name = path.as_os_str().to_owned();
        name.push(match attempt {
            0 => format!(".{pid}.tmp"),
            _ => format!(".{pid}-{attempt}.tmp"),
        });
        let temporary = PathBuf::from(name);
        match create(&temporary) {
            Ok(created) => return Ok((created, temporary)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into()))
}

/// As [`hint`], where a file could not be created: a folder that exists may take no files, as `/proc`.
pub(super) fn hint_of(path: &Path, error: &io::Error) -> String {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
    };
    if error.kind() == io::ErrorKind::NotFound && folder.is_dir() {
        return format!(
            "no file can be created in {}; choose a writable place with file=",
            folder.display()
        );
    }
    hint(error)
}

/// Advice for a file that could not be created.
pub(super) fn hint(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such folder; create it or change file=".to_owned(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            format!("{error}; choose a writable place with file=")
        }
        _ => error.to_string(),
    }
}
