//! The list of segments of pushed profiles that the servers of a fleet share (docs/continuous.md).

use std::time::Duration;

use super::Result;

/// How long a server is one of the fleet after it was seen.
pub const PRESENT: Duration = Duration::from_secs(10 * 60);
/// How long a server is the keeper after it was seen.
pub const KEEPS: Duration = Duration::from_secs(2 * 60);
/// How long the file of a segment stays after it was replaced: others may be about to fetch it.
pub const REPLACED: Duration = Duration::from_secs(10 * 60);
/// How long a name is reserved for a segment that does not come.
pub const RESERVED: Duration = Duration::from_secs(24 * 60 * 60);

/// A segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedSegment {
    /// Its name.
    pub id: String,
    /// How often it was merged.
    pub level: u32,
    /// The bytes of its file.
    pub bytes: u64,
    /// The SHA-256 of its file, in hexadecimal digits.
    pub sha256: String,
}

/// The list. Each call is one transaction.
pub trait PushedSegments {
    /// The segments that count.
    ///
    /// # Errors
    /// All calls fail if the database does.
    fn pushed_segments(&self) -> Result<Vec<PushedSegment>>;
    /// Notes a segment that does not count yet, unless its name is known. True if it does not count yet, and never did.
    ///
    /// # Errors
    /// If the database fails.
    fn reserve_pushed(&self, segment: &PushedSegment) -> Result<bool>;
    /// Has a reserved segment count. False if it is not reserved.
    ///
    /// # Errors
    /// If the database fails.
    fn publish_pushed(&self, id: &str) -> Result<bool>;
    /// Has a reserved segment count in the place of others, or removes these. False, and nothing is changed, unless it is reserved and all
    /// others count.
    ///
    /// # Errors
    /// If the database fails.
    fn replace_pushed(&self, new: Option<&str>, gone: &[&str]) -> Result<bool>;
    /// Notes that a server is there; gives how many others are.
    ///
    /// # Errors
    /// If the database fails.
    fn note_pushed_server(&self, server: &str) -> Result<u64>;
    /// Notes that a server has ended.
    ///
    /// # Errors
    /// If the database fails.
    fn remove_pushed_server(&self, server: &str) -> Result<()>;
    /// Makes a server the keeper, unless another is. True if it is.
    ///
    /// # Errors
    /// If the database fails.
    fn keep_pushed(&self, server: &str) -> Result<bool>;
    /// Some segments whose files may go.
    ///
    /// # Errors
    /// If the database fails.
    fn pushed_leftovers(&self) -> Result<Vec<String>>;
    /// Notes that the file of a leftover has gone. Names of replaced segments stay known for `memory`, so that a server that was
    /// away for as long publishes none of them again.
    ///
    /// # Errors
    /// If the database fails.
    fn forget_pushed(&self, id: &str, memory: Duration) -> Result<()>;
}
