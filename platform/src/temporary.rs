//! Folders for what nobody keeps.

use std::env;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempDir};

/// Where to go when the system's folder for temporary files takes none, as in a container whose image is read-only.
const OTHERS: [&str; 2] = ["/var/tmp", "/dev/shm"];

/// An empty folder of a new name that only its user can look into; it goes when dropped. `TMPDIR` says where it is.
///
/// # Errors
/// When no folder can be made anywhere: where it was tried, and why it failed.
pub fn temporary_folder(prefix: &str) -> io::Result<TempDir> {
    // Whoever has chosen a folder wants no other.
    let others = match env::var_os("TMPDIR") {
        Some(_) => &[][..],
        None => &OTHERS,
    };
    let bases = others.iter().map(PathBuf::from);
    make_in(prefix, [env::temp_dir()].into_iter().chain(bases))
}

fn make_in(prefix: &str, bases: impl Iterator<Item = PathBuf>) -> io::Result<TempDir> {
    let mut reasons = Vec::new();
    let mut kind = io::ErrorKind::NotFound;
    for base in bases {
        match make(prefix, &base) {
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

fn make(prefix: &str, base: &Path) -> io::Result<TempDir> {
    Builder::new()
        .prefix(prefix)
        // The crate's own choice lets everybody read.
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_user_can_look_into_it() {
        let folder = temporary_folder("hprof-rs-").unwrap();
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
}
