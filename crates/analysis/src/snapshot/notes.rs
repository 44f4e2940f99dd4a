//! Sums over all objects, kept from one command to the next.
//!
//! A sum over millions of objects takes longer than a person wants to wait for the first row. Once
//! it was made of a dump whose index is kept, its numbers lie in the folder of [seals],
//! which its user alone can write to, under a name that has the index' file and the checksum of its
//! prelude: that covers all that is in the index. Numbers are of eight bytes each, in the order of the
//! machine.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use zerocopy::IntoBytes;

use super::checksums::hash;
use super::index::{PRELUDE, open_own};
use super::{Snapshot, seals};
use crate::whole_file::WholeFile;

/// A longer note would take as long to read as the sum takes to make.
const LONGEST: usize = 8 << 20;

/// The place of the notes on one index.
#[derive(Debug)]
pub(crate) struct Notes {
    folder: PathBuf,
    /// How the names of its notes begin.
    index: String,
}

impl Notes {
    /// That of the notes on an index, which was found sound; `None` for one that needs none.
    pub fn on(index: &Path) -> Option<Self> {
        let file = open_own(index).ok()??;
        Self::in_folder(seals::folder_for(&file)?, &file)
    }

    pub fn in_folder(folder: PathBuf, index: &File) -> Option<Self> {
        let about = index.metadata().ok()?;
        let mut prelude = [0; PRELUDE as usize];
        index.read_exact_at(&mut prelude, 0).ok()?;
        let (device, number, sum) = (about.dev(), about.ino(), hash(&prelude));
        Some(Self {
            folder,
            index: format!("{device:x}-{number:x}-{sum:016x}"),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}-{name}", self.index))
    }

    /// Reads a note; `None` unless it holds `length` numbers.
    fn read(&self, name: &str, length: usize) -> Option<Vec<u64>> {
        if !seals::is_private(&self.folder) {
            return None;
        }
        let bytes = length.checked_mul(size_of::<u64>())?;
        let file = open_own(&self.path(name)).ok()??;
        if bytes > LONGEST || file.metadata().ok()?.len() != bytes as u64 {
            return None;
        }
        let mut numbers = vec![0; length];
        let mut whole = file.take(bytes as u64);
        whole.read_exact(numbers.as_mut_bytes()).ok()?;
        Some(numbers)
    }

    /// Keeps the numbers of a note. Where that fails, they are summed up again the next time.
    fn write(&self, name: &str, numbers: &[u64]) {
        if numbers.as_bytes().len() > LONGEST || !seals::is_private(&self.folder) {
            return;
        }
        let path = self.path(name);
        let write = || {
            let whole = WholeFile::for_path(&path, 0o600)?;
            whole.file().write_all(numbers.as_bytes())?;
            whole.publish(&path)
        };
        if write().is_ok() {
            seals::prune(&self.folder);
        }
    }
}

/// The notes of a snapshot, whose index may still have to be written.
#[derive(Debug, Default)]
pub(crate) struct KeptNotes(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    /// The index is not kept, or needs none.
    #[default]
    None,
    /// It is being written. These notes wait for it.
    Waiting(Vec<(String, Vec<u64>)>),
    /// It is there.
    On(Notes),
}

impl KeptNotes {
    /// Those on an index that is there.
    pub fn on(notes: Option<Notes>) -> Self {
        Self(Mutex::new(notes.map_or(State::None, State::On)))
    }

    /// Those on an index that is being written.
    pub fn waiting() -> Self {
        Self(Mutex::new(State::Waiting(Vec::new())))
    }

    /// The index is there, or was not written.
    pub fn begin(&self, notes: Option<Notes>) {
        let mut state = self.lock();
        let before = std::mem::replace(&mut *state, State::None);
        if let (State::Waiting(waiting), Some(notes)) = (before, notes) {
            for (name, numbers) in waiting {
                notes.write(&name, &numbers);
            }
            *state = State::On(notes);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Snapshot {
    /// Reads the note of this name that an earlier command has written; `None` unless it holds `length`
    /// numbers.
    pub(crate) fn noted(&self, name: &str, length: usize) -> Option<Vec<u64>> {
        match &*self.notes.lock() {
            State::On(notes) => notes.read(name, length),
            State::None | State::Waiting(_) => None,
        }
    }

    /// Keeps numbers for later commands. The name says all that they depend on beside the index.
    pub(crate) fn note(&self, name: &str, numbers: &[u64]) {
        match &mut *self.notes.lock() {
            State::On(notes) => notes.write(name, numbers),
            State::Waiting(waiting) => waiting.push((name.to_owned(), numbers.to_vec())),
            State::None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_note_holds_for_its_index_and_length_alone() {
        let root = tempfile::tempdir().unwrap();
        let index = root.path().join("index");
        fs::write(&index, [1; 100]).unwrap();
        let folder = root.path().join("seals");
        fs::create_dir(&folder).unwrap();
        let notes = || Notes::in_folder(folder.clone(), &File::open(&index).unwrap()).unwrap();
        assert_eq!(notes().read("sums", 3), None);
        notes().write("sums", &[7, 8, 9]);
        assert_eq!(notes().read("sums", 3), Some(vec![7, 8, 9]));
        assert_eq!(notes().read("sums", 2), None);
        assert_eq!(notes().read("others", 3), None);
        // Another index of this length in the file's place.
        fs::write(&index, [2; 100]).unwrap();
        assert_eq!(notes().read("sums", 3), None);
        fs::write(&index, [1; 100]).unwrap();
        assert_eq!(notes().read("sums", 3), Some(vec![7, 8, 9]));
        // Others could have written it.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(notes().read("sums", 3), None);
    }
}
