//! `capture FOLDER --watch`: the dumps that JVMs write into a folder, each when it is complete.
//!
//! The folder may belong to another user or container. Links are not followed, and of a file nothing
//! but its end and its length is looked at here.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

/// How often the folder is looked at.
pub const LOOK_EVERY: Duration = Duration::from_secs(1);
/// For this long a file with the end of a dump must not change.
const SETTLED: Duration = Duration::from_secs(2);
/// For this long any other must not: it is compressed, or its JVM was killed.
const ABANDONED: Duration = Duration::from_secs(60);
/// How often a dump is tried to be sent, with pauses that grow by this.
const MAX_TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(300);
/// A record HEAP_DUMP_END: tag, time, length.
const END: [u8; 9] = [0x2c, 0, 0, 0, 0, 0, 0, 0, 0];
/// The most files that are followed at once.
const MAX_FILES: usize = 1000;

/// A file as it was at a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

impl Look {
    fn at(file: &File) -> io::Result<Option<Self>> {
        let facts = file.metadata()?;
        Ok((facts.is_file() && facts.len() > 0).then(|| Self {
            inode: facts.ino(),
            length: facts.len(),
            changed: (facts.mtime(), facts.mtime_nsec()),
        }))
    }
}

/// A file of the folder: how it looked last, and how often it could not be sent.
struct Known {
    look: Look,
    since: Instant,
    is_done: bool,
    /// How often it could not be sent, and when that is tried again.
    failures: u32,
    not_before: Instant,
}

/// A folder that JVMs write dumps to.
pub struct WatchedFolder {
    path: PathBuf,
    files: HashMap<OsString, Known>,
}

/// A dump that is complete.
pub struct Arrival {
    /// Its name in the folder.
    pub name: OsString,
    /// The file, open for reading.
    pub file: File,
    look: Look,
}

impl WatchedFolder {
    /// A folder, all of whose dumps are new.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        fs::read_dir(path)?;
        Ok(Self {
            path: path.to_owned(),
            files: HashMap::new(),
        })
    }

    /// A dump that is complete by now and was not marked done, if there is one.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn next(&mut self, now: Instant) -> io::Result<Option<Arrival>> {
        let names = fs::read_dir(&self.path)?.flatten().map(|it| it.file_name());
        let names: Vec<OsString> = names.filter(|it| is_dump(it)).take(MAX_FILES).collect();
        self.files.retain(|name, _| names.contains(name));
        for name in names {
            // One that goes meanwhile, or may not be read, is not waited for.
            let Ok(file) = open(&self.path.join(&name)) else {
                continue;
            };
            let Ok(Some(look)) = Look::at(&file) else {
                continue;
            };
            let known = self.files.get(&name).filter(|known| known.look == look);
            let Some(known) = known else {
                let known = Known {
                    look,
                    since: now,
                    is_done: false,
                    failures: 0,
                    not_before: now,
                };
                self.files.insert(name, known);
                continue;
            };
            let rest = now.saturating_duration_since(known.since);
            let is_whole = rest >= ABANDONED || (rest >= SETTLED && ends_as_a_dump(&file, look));
            if !known.is_done && now >= known.not_before && is_whole {
                return Ok(Some(Arrival { name, file, look }));
            }
        }
        Ok(None)
    }

    /// Leaves a dump alone from now on, unless it changes.
    pub fn done(&mut self, arrival: &Arrival) {
        if let Some(known) = self.files.get_mut(&arrival.name) {
            known.is_done = true;
        }
    }

    /// Offers a dump that could not be sent once more, after a pause; gives the pause, or none if it is
    /// given up.
    pub fn failed(&mut self, arrival: &Arrival, now: Instant) -> Option<Duration> {
        let known = self.files.get_mut(&arrival.name)?;
        known.failures += 1;
        known.is_done = known.failures >= MAX_TRIES;
        let pause = PAUSE * known.failures;
        known.not_before = now + pause;
        (!known.is_done).then_some(pause)
    }

    /// Removes a dump, unless there is another file under its name.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&mut self, arrival: &Arrival) -> io::Result<()> {
        let path = self.path.join(&arrival.name);
        let is_the_same = Look::at(&open(&path)?)? == Some(arrival.look);
        match is_the_same {
            true => fs::remove_file(path),
            false => Ok(()),
        }
    }
}

fn is_dump(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let is_hidden = name.starts_with(b".");
    !is_hidden && (name.ends_with(b".hprof") || name.ends_with(b".hprof.gz"))
}

/// Opens what may be a FIFO or a link of another user.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits() as i32);
    options.open(path)
}

fn ends_as_a_dump(file: &File, look: Look) -> bool {
    let mut end = [0; END.len()];
    look.length
        .checked_sub(END.len() as u64)
        .is_some_and(|at| file.read_exact_at(&mut end, at).is_ok())
        && end == END
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(folder: &Path, name: &str, end: &[u8]) {
        fs::write(folder.join(name), [b"JAVA PROFILE 1.0.2\0", end].concat()).unwrap();
    }

    fn next(folder: &mut WatchedFolder, now: Instant) -> Option<OsString> {
        folder.next(now).unwrap().map(|it| it.name)
    }

    #[test]
    fn a_dump_is_taken_once_its_end_is_there_and_again_when_it_changes() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path();
        let mut folder = WatchedFolder::open(path).unwrap();
        let start = Instant::now();
        dump(path, "a.hprof", b"");
        assert_eq!(next(&mut folder, start), None);
        // Its JVM still writes.
        assert_eq!(next(&mut folder, start + SETTLED), None);
        dump(path, "a.hprof", &END);
        assert_eq!(next(&mut folder, start + SETTLED), None);
        let later = start + 2 * SETTLED;
        let arrival = folder.next(later).unwrap().unwrap();
        assert_eq!(arrival.name, "a.hprof");
        folder.done(&arrival);
        assert_eq!(next(&mut folder, later + ABANDONED), None);
        // The next error writes over it.
        dump(path, "a.hprof", &[&[0], &END[..]].concat());
        assert_eq!(next(&mut folder, later), None);
        assert_eq!(next(&mut folder, later + SETTLED), Some("a.hprof".into()));
    }

    #[test]
    fn what_has_no_end_is_taken_when_nobody_writes_any_more() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path();
        let mut folder = WatchedFolder::open(path).unwrap();
        let start = Instant::now();
        dump(path, "a.hprof.gz", b"");
        assert_eq!(next(&mut folder, start), None);
        assert_eq!(next(&mut folder, start + ABANDONED / 2), None);
        let arrived = next(&mut folder, start + ABANDONED);
        assert_eq!(arrived, Some("a.hprof.gz".into()));
    }

    #[test]
    fn a_dump_that_cannot_be_sent_is_offered_five_times() {
        let temporary = tempfile::tempdir().unwrap();
        dump(temporary.path(), "a.hprof", &END);
        let mut folder = WatchedFolder::open(temporary.path()).unwrap();
        let mut now = Instant::now();
        assert_eq!(next(&mut folder, now), None);
        now += SETTLED;
        for _ in 1..MAX_TRIES {
            let arrival = folder.next(now).unwrap().unwrap();
            let pause = folder.failed(&arrival, now).unwrap();
            assert_eq!(next(&mut folder, now + pause / 2), None);
            now += pause;
        }
        let arrival = folder.next(now).unwrap().unwrap();
        assert_eq!(folder.failed(&arrival, now), None);
        assert_eq!(next(&mut folder, now + 100 * PAUSE), None);
    }

    #[test]
    fn links_fifos_folders_and_other_names_are_left_alone() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path();
        dump(path, "other.txt", &END);
        dump(path, ".hidden.hprof", &END);
        fs::create_dir(path.join("folder.hprof")).unwrap();
        std::os::unix::fs::symlink(path.join("other.txt"), path.join("link.hprof")).unwrap();
        let fifo = path.join("fifo.hprof");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        let mut folder = WatchedFolder::open(path).unwrap();
        let start = Instant::now();
        assert_eq!(next(&mut folder, start), None);
        assert_eq!(next(&mut folder, start + 2 * ABANDONED), None);
    }

    #[test]
    fn a_file_that_took_the_name_of_one_that_was_sent_is_not_removed() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path();
        dump(path, "a.hprof", &END);
        let mut folder = WatchedFolder::open(path).unwrap();
        let start = Instant::now();
        assert!(folder.next(start).unwrap().is_none());
        let arrival = folder.next(start + SETTLED).unwrap().unwrap();
        dump(path, "a.hprof", &[&[0], &END[..]].concat());
        folder.remove(&arrival).unwrap();
        assert!(path.join("a.hprof").exists());
        let arrival = Arrival {
            look: Look::at(&arrival.file).unwrap().unwrap(),
            ..arrival
        };
        folder.remove(&arrival).unwrap();
        assert!(!path.join("a.hprof").exists());
    }
}
