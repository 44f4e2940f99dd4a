//! Tells what a file is that a command cannot read, by how it begins, and who reads it.

mod bytes;
mod kind;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use hprof_analysis::contents::ReadError;
use hprof_analysis::input::{Input, OpenError};
use hprof_analysis::snapshot::SnapshotError;
use hprof_analysis::strip::StripError;
use hprof_format::reader::{HeaderError, StreamError};

use crate::from_jvm;

pub use kind::FileKind;

/// As much as is looked at.
const HEAD: u64 = 64 << 10;

/// For an error that a file is not of the format that a command reads: an error that names its kind and who reads it.
pub fn explained(path: &Path, error: anyhow::Error) -> anyhow::Error {
    if let Some(advice) = is_missing(&error).then(|| from_jvm::advice(path)).flatten() {
        return anyhow::Error::msg(advice);
    }
    let is_of_kind = match header_error(&error) {
        Some(HeaderError::Gzip) => false,
        Some(_) => true,
        None => is_zip(&error),
    };
    if !is_of_kind || path == Path::new("-") {
        return error;
    }
    let path_name = path.display();
    match recognised(path) {
        // What is wrong with it the error says.
        None | Some(FileKind::BinaryHprof) => error,
        Some(kind @ FileKind::TextHprof) => anyhow::anyhow!(
            "{path_name} is {}, not in binary format: {}",
            kind.what(),
            kind.advice()
        ),
        Some(kind) => anyhow::anyhow!(
            "{path_name} is {}, not an HPROF file: {}",
            kind.what(),
            kind.advice()
        ),
    }
}

/// The error in another that says that a file does not begin like HPROF.
fn header_error(error: &anyhow::Error) -> Option<&HeaderError> {
    fn read(error: &ReadError) -> Option<&HeaderError> {
        match error {
            ReadError::Header(header) => Some(header),
            _ => None,
        }
    }
    error.chain().find_map(|it| {
        if let Some(error) = it.downcast_ref() {
            return read(error);
        }
        match it.downcast_ref() {
            Some(SnapshotError::Read(error)) => return read(error),
            Some(_) => return None,
            None => {}
        }
        match it.downcast_ref() {
            Some(StreamError::Header(header)) => return Some(header),
            Some(_) => return None,
            None => {}
        }
        match it.downcast_ref() {
            Some(StripError::Header(header)) => return Some(header),
            Some(_) => return None,
            None => {}
        }
        it.downcast_ref()
    })
}

/// True if a file cannot be opened as there is none.
fn is_missing(error: &anyhow::Error) -> bool {
    let is_missing = |open: &OpenError| match open {
        OpenError::Io { error, .. } => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    };
    error.chain().any(|it| match it.downcast_ref() {
        Some(SnapshotError::Open(open)) => is_missing(open),
        _ => it.downcast_ref().is_some_and(is_missing),
    })
}

fn is_zip(error: &anyhow::Error) -> bool {
    error.chain().any(|it| {
        let open = it.downcast_ref::<OpenError>();
        matches!(open, Some(OpenError::Zip { .. }))
            || matches!(
                it.downcast_ref(),
                Some(SnapshotError::Open(OpenError::Zip { .. }))
            )
    })
}

/// For an error that a command finds nothing in a file: the kind of the file and who reads it, if that is another
/// command or tool. Empty otherwise.
pub fn hint(path: &Path, command: &str) -> String {
    match recognised(path) {
        None | Some(FileKind::Text) => String::new(),
        Some(kind) if kind.is_read_by(command) => String::new(),
        Some(kind) => format!("; it is {}: {}", kind.what(), kind.advice()),
    }
}

/// The kind of a file, or of what is in it if it is compressed.
fn recognised(path: &Path) -> Option<FileKind> {
    let mut head = Vec::new();
    File::open(path)
        .ok()?
        .take(HEAD)
        .read_to_end(&mut head)
        .ok()?;
    if let Some(found) = bytes::of_bytes(&head) {
        return Some(found);
    }
    let mut inside = Vec::new();
    let input = Input::open(path).ok()?;
    // What is cut short is known by what is there.
    let _ = input.into_reader().take(HEAD).read_to_end(&mut inside);
    bytes::of_bytes(&inside)
}

/// The words for a file that begins like this, and the tool that reads it.
pub fn of_bytes(head: &[u8]) -> Option<(&'static str, &'static str)> {
    bytes::of_bytes(head).map(|kind| (kind.what(), kind.fixed_advice()))
}
