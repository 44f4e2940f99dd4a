//! Where files lie: parts of uploads, dumps, analyses.
//!
//! [`Store`] is all that the rest of the server sees of the disk or of the object storage. No name
//! in it comes from a request: dumps are named by [`DumpId`], parts by [`PartId`], whose forms are
//! checked. [`open`] gives the store of a URL.

#[cfg(feature = "fleet")]
mod bucket;
#[cfg(feature = "fleet")]
mod cache;
#[cfg(feature = "fleet")]
mod clients;
mod direct;
mod fault;
mod folder;
mod local;
#[cfg(feature = "fleet")]
mod objects;
mod open;

#[cfg(feature = "fleet")]
pub use bucket::Bucket;
pub use direct::{Direct, Pieces, VALID};
pub use fault::{DAMAGED, DAMAGED_TITLE, Fault, problem};
pub use folder::FolderStore;
pub use local::Local;
pub use open::{CacheSettings, OpenError, default_cache_bytes, open, open_with};

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, UNIX_EPOCH};

use crate::ids::{ContentHash, DumpId};

/// The time of the files of dumps, 2000-01-01, in nanoseconds since 1970. An index is for one file of
/// one time: with this one it is equal on all machines.
pub const FILE_TIME: u64 = 946_684_800 * 1_000_000_000;

/// Gives a file a time, in nanoseconds since 1970.
///
/// # Errors
/// If it belongs to another user.
pub fn set_time(file: &Path, nanos: u64) -> io::Result<()> {
    let time = UNIX_EPOCH + Duration::from_nanos(nanos);
    File::open(file)?.set_modified(time)
}

/// The name of bytes that are coming: 32 hexadecimal digits by chance.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PartId(String);

impl PartId {
    /// A name that no client can guess.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn new() -> io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(format!("{:032x}", u128::from_ne_bytes(bytes))))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PartId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match text.len() == 32 && text.bytes().all(is_digit) {
            true => Ok(Self(text.to_owned())),
            false => Err(()),
        }
    }
}

/// Segments of pushed profiles that servers on other machines use too. All calls block.
pub trait PushedFiles {
    /// Sends a file, in the place of one of that name.
    ///
    /// # Errors
    /// If the storage fails.
    fn send_pushed(&self, id: &str, file: &Path) -> io::Result<()>;
    /// Fetches a file of that many bytes, and compares its SHA-256.
    ///
    /// # Errors
    /// If the storage fails, or the bytes are others.
    fn fetch_pushed(&self, id: &str, bytes: u64, sha256: &str, to: &Path) -> io::Result<()>;
    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// If the storage fails.
    fn delete_pushed(&self, id: &str) -> io::Result<()>;
}

/// Files by name. All calls block.
pub trait Store: Send + Sync {
    /// Makes an empty part.
    ///
    /// # Errors
    /// If there is one of that name, or the disk fails.
    fn create_part(&self, part: &PartId) -> io::Result<File>;
    /// Opens a part for reading, and for writing at its end.
    ///
    /// # Errors
    /// If there is none.
    fn open_part(&self, part: &PartId) -> io::Result<File>;
    /// Adds a file of this machine as a part: a second name for it where that is possible, which
    /// takes no room, and a copy elsewhere.
    ///
    /// # Errors
    /// If the disk is full.
    fn adopt(&self, file: &File, part: &PartId) -> io::Result<()>;
    /// Removes a part, if it is there.
    ///
    /// # Errors
    /// If the disk fails.
    fn delete_part(&self, part: &PartId) -> io::Result<()>;
    /// The parts that are there.
    ///
    /// # Errors
    /// If the disk fails.
    fn parts(&self) -> io::Result<Vec<PartId>>;

    /// Makes a complete part a dump, in one step. The part stays until [`Store::delete_part`], so that a caller that
    /// fails later can try again; only where a disk knows no second name for a file, it goes.
    ///
    /// # Errors
    /// If the disk or the storage fails.
    fn publish(&self, part: &PartId, dump: &DumpId, sha256: &ContentHash) -> io::Result<()>;
    /// The file of a dump on this machine, which object storage has to send first. Its SHA-256 is
    /// compared when it arrives. The file stays as long as the result is held.
    ///
    /// # Errors
    /// If there is none, the storage fails, or the bytes are others: [`problem`] has the words.
    fn dump(&self, dump: &DumpId) -> io::Result<Local>;
    /// The dumps that are there.
    ///
    /// # Errors
    /// If the disk fails.
    fn dumps(&self) -> io::Result<Vec<DumpId>>;
    /// Removes a dump and its analysis, as far as they are there.
    ///
    /// # Errors
    /// If the disk fails.
    fn delete(&self, dump: &DumpId) -> io::Result<()>;

    /// Makes an empty folder for one attempt to analyse a dump.
    ///
    /// # Errors
    /// If the disk fails.
    fn begin_analysis(&self, dump: &DumpId, attempt: u32) -> io::Result<PathBuf>;
    /// Makes the result of an attempt the analysis of the dump, in one step. The later of two attempts counts, in
    /// whatever order they end.
    ///
    /// # Errors
    /// If the disk or the storage fails, or another process has published this attempt.
    fn publish_analysis(&self, dump: &DumpId, attempt: u32) -> io::Result<()>;
    /// Removes the folder of an attempt on this machine, if it is there.
    ///
    /// # Errors
    /// If the disk fails.
    fn abandon_analysis(&self, dump: &DumpId, attempt: u32) -> io::Result<()>;
    /// The folder of the analysis of a dump on this machine, if there is one. It stays as long as the
    /// result is held.
    ///
    /// # Errors
    /// If the storage fails, or the bytes are others.
    fn analysis(&self, dump: &DumpId) -> io::Result<Option<Local>>;
    /// The bytes of one file of the analysis of a dump; none if there is no such file, or it has more
    /// than `most` bytes. Object storage does not send the others.
    ///
    /// # Errors
    /// If the disk or the storage fails, or the bytes are others.
    fn analysis_file(&self, dump: &DumpId, name: &str, most: u64) -> io::Result<Option<Vec<u8>>>;
    /// Removes folders of attempts on this machine that no process finishes.
    ///
    /// # Errors
    /// If the disk fails.
    fn abandon_all(&self) -> io::Result<()>;

    /// The bytes that the disk has free for this user, where dumps are read and indexes made.
    ///
    /// # Errors
    /// If the disk fails.
    fn free_bytes(&self) -> io::Result<u64>;
    /// The bytes that files of the storage may take here, beside those in use; none if nothing but the
    /// disk bounds them.
    fn cache_room(&self) -> Option<u64> {
        None
    }
    /// The bytes that each dump and its analysis occupy.
    ///
    /// # Errors
    /// If the disk or the storage fails.
    fn occupied(&self) -> io::Result<HashMap<DumpId, u64>>;
    /// Returns whether servers and workers on other machines use it too.
    fn is_shared(&self) -> bool {
        false
    }
    /// The way straight into the storage, if it has one.
    fn direct(&self) -> Option<&dyn Direct> {
        None
    }
    /// The place for pushed profiles that other servers use too, if it has one.
    fn pushed(&self) -> Option<&dyn PushedFiles> {
        None
    }
    /// Removes what nothing leads to and is older than `age`; gives how many objects went.
    /// `is_upload` tells uploads that the catalogue knows.
    ///
    /// # Errors
    /// If the storage fails.
    fn sweep(&self, _age: Duration, _is_upload: &dyn Fn(&PartId) -> bool) -> io::Result<usize> {
        Ok(0)
    }
}
