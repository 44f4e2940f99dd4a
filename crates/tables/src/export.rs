//! The export of one dump or profile.

use std::path::PathBuf;

use hprof_analysis::contents::Contents;
use hprof_analysis::snapshot::Snapshot;

use crate::TableError;
use crate::folder::{Folder, Labels};
use crate::{heap, profile};

/// Facts about the file that its contents do not have.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// The name of the file.
    pub file: String,
    /// SHA-256 of the file as it came, in hexadecimal.
    pub sha256: String,
    /// The build of the program.
    pub build: Option<String>,
    /// When the dump was taken, in milliseconds since 1970-01-01 UTC.
    pub created_millis: Option<u64>,
    /// The missing and damaged parts, in words.
    pub notes: Vec<String>,
    /// True if parts of the file are missing or damaged.
    pub is_partial: bool,
}

/// How to export.
#[derive(Clone, Copy)]
pub struct Export<'a> {
    /// Where the tables go.
    pub folder: &'a Folder,
    /// The partition.
    pub labels: &'a Labels,
    /// The file.
    pub subject: &'a Subject,
    /// True to write texts of strings: the table `strings`, and the texts of duplicates.
    pub has_texts: bool,
    /// Called with the number of bytes done since the last call, from any thread; in total they are
    /// twice the bytes of the dump.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// The files of an export.
#[derive(Debug, Clone, Default)]
pub struct Exported {
    /// The files with the numbers of their rows.
    pub files: Vec<(PathBuf, u64)>,
}

impl Exported {
    /// The sizes of all files together.
    pub fn bytes(&self) -> u64 {
        let sizes = self.files.iter();
        let sizes = sizes.filter_map(|file| Some(std::fs::metadata(&file.0).ok()?.len()));
        sizes.sum()
    }
}

impl Export<'_> {
    /// Writes the tables of a heap dump, and of the profile that its file may hold.
    ///
    /// # Errors
    /// If a file cannot be written, or there is no room for what is computed. Nothing is published
    /// then.
    pub fn heap(&self, snapshot: &Snapshot) -> Result<Exported, TableError> {
        heap::write(self, snapshot)
    }

    /// Writes the tables of a profile.
    ///
    /// # Errors
    /// If a file cannot be written. Nothing is published then.
    pub fn profile(&self, contents: &Contents) -> Result<Exported, TableError> {
        profile::write(self, contents)
    }
}
