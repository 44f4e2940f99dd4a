//! Copies a binary file without what its objects hold, so that it can be given away.
//!
//! The copy keeps structure, classes, sizes and references. Elements of primitive arrays, and
//! with them the texts of all strings, become zero. So does text outside of the heap that names
//! nothing: HotSpot dumps its whole table of symbols, in which the literals of class files are. Threads are
//! called `thread-1` and so on, since programs put customers into their names. If asked to, the values of primitive fields go too. A policy names contents that stay or go
//! (`policy.rs`). No length in the heap changes but for other readers' forms (`form.rs`) and shared bitmaps, so the copy takes two passes, neither of which holds more in memory
//! than classes and names; where strings stay, a pass between them collects the arrays of these.

mod bitmaps;
mod contents;
mod copy;
mod form;
mod names;
mod policy;
mod prove;
mod redact;
mod shapes;
mod windows;

use std::io::{self, Read, Write};

use hprof_format::reader::HeaderError;
use thiserror::Error;

pub use bitmaps::Bitmaps;
pub use form::Form;
pub use names::StripPlan;
pub use policy::{FieldRule, StripPolicy, ThreadNames};
pub use prove::{By, Proof, Run, Tally, prove};
pub(crate) use redact::is_secret_name;
pub use redact::{Detectors, FoundSecret, SecretKind, Secrets};

/// Why a file cannot be copied.
#[derive(Debug, Error)]
pub enum StripError {
    /// Reading or writing fails.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is no binary HPROF file.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The form is one of Android dumps, and the file is none.
    #[error(
        "this form is for dumps of Android (version 1.0.3, identifiers of 4 bytes), and the file is \
         none; choose mat or shark, or leave --for out"
    )]
    NotAndroid,
    /// An instance whose class, or a class above it, is not in the file: which of its values are
    /// references is not known.
    #[error(
        "the object at byte {offset} is of a class that is not in the file, so its fields cannot \
         be told from references; leave --fields out"
    )]
    UnknownClass {
        /// Where its record starts.
        offset: u64,
    },
}

/// The result of a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stripped {
    /// The bytes that were copied, emptied ones included.
    pub bytes: u64,
    /// The bytes that held something and are zero now.
    pub emptied: u64,
    /// Names and other text outside of the heap that were blanked.
    pub texts: u64,
    /// Names of threads and groups that became numbers.
    pub numbered: u64,
    /// The bytes of secrets that were overwritten.
    pub redacted: u64,
    /// Records of unknown kinds, of which only the heads were copied.
    pub unknown: u64,
    /// Where the file is damaged or cut short: the copy ends there.
    pub ends_at: Option<u64>,
    /// True if what comes there is no record, so that the rest of the file was left out.
    pub is_damaged: bool,
}

impl StripPlan<'_> {
    /// Copies the file that the plan was made for.
    ///
    /// # Errors
    /// If reading or writing fails, or a class is missing that is needed to empty fields.
    pub fn copy(&self, input: impl Read, output: impl Write) -> Result<Stripped, StripError> {
        let bitmaps = self.bitmaps().filter(|bitmaps| bitmaps.count() > 0);
        if self.form() == Form::Same && bitmaps.is_none() {
            return copy::Copy::new(self, input, output).run();
        }
        let mut reshaped = form::Reshaped::new(output, self.form(), bitmaps);
        let stripped = copy::Copy::new(self, input, &mut reshaped).run()?;
        reshaped.finish()?;
        Ok(stripped)
    }
}
