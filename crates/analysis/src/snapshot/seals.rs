//! Notes that an index was looked at in full, so that it need not be once more.
//!
//! To look at all numbers of an index takes longer than most questions. So once an index was
//! written, or read and found sound, a note of this lies in a folder that its user alone can write
//! to. It holds what the system says of the file: where it is, its length, and when contents and
//! state last changed. A process that changes an index, or puts another in its place, changes that:
//! only the system sets the time of the last change of state (`st_ctime` in stat(2)). An index
//! without a note, such as one that came with a dump from elsewhere, is looked at in full.

use std::fs::{self, File, Metadata};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::index::open_own;
use super::index_files::{index_cache, make_cache};
use crate::whole_file::WholeFile;

/// Notes that stay; of more, the older half goes.
const MOST: usize = 1000;

/// Shorter indexes are looked at in no time, and need no notes.
const LARGE: u64 = 8 << 20;

/// The folder of notes, beside that of cached indexes; `None` for a file that needs none.
pub(super) fn folder_for(file: &File) -> Option<PathBuf> {
    let is_large = file.metadata().is_ok_and(|about| about.len() >= LARGE);
    Some(index_cache().filter(|_| is_large)?.with_file_name("seals"))
}

/// The facts that change with a file: its length, times, and prelude, in which the head's checksum
/// is.
fn facts(file: &File, about: &Metadata) -> String {
    let mut prelude = [0; super::index::PRELUDE as usize];
    // A file too short for one is no index, and is refused before.
    let _ = file.read_exact_at(&mut prelude, 0);
    format!(
        "{} {}.{:09} {}.{:09} {:016x}\n",
        about.len(),
        about.mtime(),
        about.mtime_nsec(),
        about.ctime(),
        about.ctime_nsec(),
        super::checksums::hash(&prelude),
    )
}

fn note_of(folder: &Path, about: &Metadata) -> PathBuf {
    folder.join(format!("{:x}-{:x}", about.dev(), about.ino()))
}

/// True if a note in the folder says that this file was found sound.
pub(super) fn is_sealed(folder: &Path, file: &File) -> bool {
    let read = || {
        let about = file.metadata().ok()?;
        let mut note = String::new();
        let found = open_own(&note_of(folder, &about)).ok()??;
        found.take(200).read_to_string(&mut note).ok()?;
        Some(note == facts(file, &about))
    };
    is_private(folder) && read().unwrap_or(false)
}

/// Notes that a file was found sound. Where that fails, it is looked at again the next time.
pub(super) fn seal(folder: &Path, file: &File) {
    let write = || {
        make_cache(folder)?;
        let about = file.metadata()?;
        let note = note_of(folder, &about);
        if !is_private(folder) {
            return Ok(());
        }
        let whole = WholeFile::for_path(&note, 0o600)?;
        whole.file().write_all(facts(file, &about).as_bytes())?;
        whole.publish(&note)
    };
    if write().is_ok() {
        prune(folder);
    }
}

/// True of a folder in which no other user can put files.
pub(super) fn is_private(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|about| {
        about.is_dir()
            && about.uid() == rustix::process::geteuid().as_raw()
            && about.mode() & 0o022 == 0
    })
}

pub(super) fn prune(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut all: Vec<(SystemTime, PathBuf)> = (entries.flatten())
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    if all.len() > MOST {
        all.sort();
        for (_, path) in all.iter().take(MOST / 2) {
            // One that stays does no harm.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_note_holds_until_the_file_changes() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("seals");
        let path = root.path().join("index");
        fs::write(&path, "index").unwrap();
        let file = File::open(&path).unwrap();
        assert!(!is_sealed(&folder, &file));
        seal(&folder, &file);
        assert!(is_sealed(&folder, &file));
        // Other contents of equal length, with the old time of change put back.
        let modified = file.metadata().unwrap().modified().unwrap();
        // The clock that files have is as coarse as the system's ticks.
        std::thread::sleep(Duration::from_millis(30));
        fs::write(&path, "other").unwrap();
        File::open(&path).unwrap().set_modified(modified).unwrap();
        assert!(!is_sealed(&folder, &file));
        seal(&folder, &file);
        assert!(is_sealed(&folder, &file));
        // Another file under the name.
        fs::write(root.path().join("new"), "other").unwrap();
        fs::rename(root.path().join("new"), &path).unwrap();
        assert!(!is_sealed(&folder, &File::open(&path).unwrap()));
    }

    #[test]
    fn notes_that_others_could_have_written_do_not_count() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("seals");
        let path = root.path().join("index");
        fs::write(&path, "index").unwrap();
        let file = File::open(&path).unwrap();
        seal(&folder, &file);
        assert!(is_sealed(&folder, &file));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!is_sealed(&folder, &file));
    }
}
