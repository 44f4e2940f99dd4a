//! How to read an input, and why that may fail.

use std::error::Error;
use std::io;

use hprof_foreign::Unreadable;
use hprof_format::reader::HeaderError;
use hprof_stacks::slow_spans::CallsPart;
use hprof_stacks::timeline::Window;
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
    /// The time that was asked for cannot be had of it.
    #[error(transparent)]
    Window(Box<dyn Error + Send + Sync>),
    /// Slow calls were asked for, and it has none, or no samples with times.
    #[error("{0}")]
    Calls(String),
    /// Something in it is damaged, and [`ReadOptions::strict`] is set.
    #[error("{}", .0.message)]
    Damage(DamageEntry),
}

/// Chooses a part of the time that a file covers; that is `None` if the file has no times.
pub type ChooseWindow<'a> =
    &'a (dyn Fn(Option<Window>) -> Result<Window, Box<dyn Error + Send + Sync>> + Sync);

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
    /// Chooses the part of the time to read; all of it, if there is none.
    pub window: Option<ChooseWindow<'a>>,
    /// Reads only the samples within slow calls, or within all others, of the methods whose names contain this text (`slow=`).
    pub calls: Option<(CallsPart, &'a str)>,
    /// True to keep the time of each cost, of files that have times.
    pub with_times: bool,
    /// True to keep what each thread did when, of recordings (JFR), which are read once more for it.
    pub with_lanes: bool,
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
            window: None,
            calls: None,
            with_times: false,
            with_lanes: false,
            progress: &|_| {},
        }
    }
}

impl ReadOptions<'_> {
    /// The part to read of a file that covers a time, if it has times.
    pub(super) fn window(&self, span: Option<Window>) -> Result<Option<Window>, ReadError> {
        let chosen = self.window.map(|choose| choose(span));
        chosen.transpose().map_err(ReadError::Window)
    }

    /// Fails if there is damage and that is to end the reading.
    pub(super) fn check(&self, damage: &DamageLog) -> Result<(), ReadError> {
        match damage.entries.first() {
            Some(first) if self.strict => Err(ReadError::Damage(first.clone())),
            _ => Ok(()),
        }
    }
}
