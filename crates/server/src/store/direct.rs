//! Uploads straight to the storage, whose bytes do not pass through the server.

use std::io;
use std::time::Duration;

use super::PartId;
use crate::ids::{ContentHash, DumpId};

/// How long an address for a piece can be used.
pub const VALID: Duration = Duration::from_secs(15 * 60);

/// The pieces of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces {
    /// The bytes in all.
    pub bytes: u64,
    /// The bytes of every piece but the last.
    pub piece: u64,
}

impl Pieces {
    /// The number of pieces.
    pub fn count(&self) -> u64 {
        self.bytes.div_ceil(self.piece).max(1)
    }

    /// The bytes of a piece, from 1; none if there is no such piece.
    pub fn length(&self, number: u64) -> Option<u64> {
        let start = number.checked_sub(1)?.checked_mul(self.piece)?;
        let is_one = number <= self.count();
        is_one.then(|| self.piece.min(self.bytes.saturating_sub(start)))
    }
}

/// Storage that takes the pieces of an upload from any client with an address that the server signed. An address is for
/// one piece of one upload, for [`VALID`]; the length is compared when the upload is complete. All calls block.
pub trait Direct: Send + Sync {
    /// Scheme, host and port of every address, as the operator has configured it.
    fn origin(&self) -> &str;
    /// Begins an upload of `bytes` bytes.
    ///
    /// # Errors
    /// If the storage fails.
    fn begin(&self, part: &PartId, bytes: u64) -> io::Result<Pieces>;
    /// The pieces of an upload under way.
    ///
    /// # Errors
    /// If there is none, or the storage fails.
    fn pieces(&self, part: &PartId) -> io::Result<Pieces>;
    /// The address to which a `PUT` sends a piece, from 1.
    ///
    /// # Errors
    /// If there is no such upload or piece, or the storage fails.
    fn address(&self, part: &PartId, number: u64) -> io::Result<String>;
    /// Puts the pieces together, by the values of the header `ETag` in the answers to them. Gives the
    /// length, and the first bytes, `head` of them at most. A second time gives the same.
    ///
    /// # Errors
    /// If a piece is missing or another one, or the storage fails.
    fn complete(&self, part: &PartId, etags: &[String], head: u64) -> io::Result<(u64, Vec<u8>)>;
    /// Makes a complete upload a dump. If the dump is there, the upload goes.
    ///
    /// # Errors
    /// If the storage fails.
    fn publish(
        &self,
        part: &PartId,
        bytes: u64,
        dump: &DumpId,
        sha256: &ContentHash,
    ) -> io::Result<()>;
    /// Removes an upload that has become no dump, if it is there.
    ///
    /// # Errors
    /// If the storage fails.
    fn abandon(&self, part: &PartId) -> io::Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_an_upload_and_nothing_more() {
        for (bytes, piece) in [(0, 8), (1, 8), (8, 8), (9, 8), (80, 8)] {
            let pieces = Pieces { bytes, piece };
            let lengths = (1..=pieces.count()).map(|number| pieces.length(number).unwrap());
            assert_eq!(lengths.sum::<u64>(), bytes);
            assert_eq!(pieces.length(0), None);
            assert_eq!(pieces.length(pieces.count() + 1), None);
            assert_eq!(pieces.length(u64::MAX), None);
        }
    }
}
