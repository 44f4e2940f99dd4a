//! The lock that keeps two servers out of one folder.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::server::{StartError, say};

/// What the file holds while its server ends.
const ENDING: &[u8] = b"ending\n";
/// How long a start waits for a server that ends: for its analyses, the agents it has attached, and its connections.
const HANDOVER: Duration = Duration::from_secs(30);
/// How long it waits for one that may have been told to end just now.
const MOMENT: Duration = Duration::from_secs(1);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(50);

/// The lock of a folder, which the end of the process lets go.
#[derive(Debug)]
pub(crate) struct FolderLock(File);

impl FolderLock {
    /// Takes the lock. Waits for a server that is about to end.
    ///
    /// # Errors
    /// If another server keeps it, or the file cannot be used.
    pub(crate) fn take(folder: &Path) -> Result<Self, StartError> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false);
        let file = file.open(folder.join("lock"));
        let file = file.map_err(say("cannot open the lock of the folder"))?;
        let begun = Instant::now();
        loop {
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
                file.set_len(0)
                    .map_err(say("cannot write the lock of the folder"))?;
                return Ok(Self(file));
            }
            let patience = match is_ending(&file) {
                true => HANDOVER,
                false => MOMENT,
            };
            if begun.elapsed() >= patience {
                return Err(StartError::InUse(folder.to_owned()));
            }
            thread::sleep(LOOK);
        }
    }

    /// Tells the next server to wait: this one ends.
    pub(crate) fn is_to_end(&self) {
        // Without the mark the next one waits a moment only.
        let _ = (&self.0).write_all(ENDING);
    }
}

fn is_ending(mut file: &File) -> bool {
    let mut text = Vec::new();
    file.rewind().is_ok() && file.read_to_end(&mut text).is_ok() && text == ENDING
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_server_waits_for_one_that_ends_only() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::take(folder.path()).unwrap();
        let refused = FolderLock::take(folder.path());
        assert!(matches!(refused, Err(StartError::InUse(_))), "{refused:?}");
        first.is_to_end();
        let path = folder.path().to_owned();
        let second = thread::spawn(move || FolderLock::take(&path));
        // Longer than a server waits that does not know.
        thread::sleep(MOMENT + 4 * LOOK);
        assert!(!second.is_finished());
        drop(first);
        let second = second.join().unwrap().unwrap();
        // The mark was of the first.
        assert!(!is_ending(&second.0));
    }
}
