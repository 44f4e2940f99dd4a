//! How to read an input, and why that may fail.

use std::io;

use hprof_foreign::Unreadable;
use hprof_format::reader::HeaderError;
use thiserror::Error;

use super::{DamageEntry, DamageLog};

/// Why an input cannot be read at all.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The operating system, or the decompressor, fails.
    #[error("reading failed: {0}")]
    Io(#[from] io::Error),
    /// It is no HPROF file.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// It is a profile of another tool, and nothing of it can be read.
    #[error(transparent)]
    Foreign(#[from] Unreadable),
    /// Something in it is damaged, and [`ReadOptions::strict`] is set.
    #[error("{}", .0.message)]
    Damage(DamageEntry),
}

/// How to read.
#[derive(Clone, Copy)]
pub struct ReadOptions<'a> {
    /// The number of large arrays to keep for each heap dump.
    pub largest: usize,
    /// The number of threads to use; 0 for as many as the machine has.
    pub threads: usize,
    /// False to pass over heap dumps without counting what they hold.
    pub with_heap: bool,
    /// The bytes of a heap dump that a thread takes on at once.
    pub piece_bytes: u64,
    /// True to fail at the first damage instead of continuing after it.
    pub strict: bool,
    /// Receives the number of uncompressed bytes read since the last call, from any thread.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl Default for ReadOptions<'_> {
    fn default() -> Self {
        Self {
            largest: 100,
            threads: 0,
            with_heap: true,
            piece_bytes: 16 << 20,
            strict: false,
            progress: &|_| {},
        }
    }
}

impl ReadOptions<'_> {
    /// Fails if there is damage and that is to end the reading.
    pub(super) fn check(&self, damage: &DamageLog) -> Result<(), ReadError> {
        match damage.entries.first() {
            Some(first) if self.strict => Err(ReadError::Damage(first.clone())),
            _ => Ok(()),
        }
    }
}
