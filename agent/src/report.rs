//! Lines on stderr. They must never fail: the program may have closed it.

use std::io::Write;
use std::panic::Location;
use std::path::Path;

/// Prints an error in the shape that scripts look for:
/// `HPROF ERROR: <text> [<source file>:<line>]`.
#[track_caller]
pub fn error(text: &str) {
    let place = Location::caller();
    let file = Path::new(place.file())
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    raw(&format!("HPROF ERROR: {text} [{file}:{}]\n", place.line()));
}

/// Prints a remark that is no error.
pub fn note(text: &str) {
    raw(&format!("HPROF: {text}\n"));
}

/// Prints text as it is.
pub fn raw(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
