//! Lines on stderr. They must never fail: the program may have closed it.

use std::io::Write;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::options::error::error_line;

/// Whether the last text did not end its line, as in the middle of a dump.
static LINE_OPEN: AtomicBool = AtomicBool::new(false);

/// Prints an error in the shape that scripts look for:
/// `HPROF ERROR: <text> [<source file>:<line>]`.
#[track_caller]
pub fn error(text: &str) {
    line(&error_line(text, Location::caller()));
}

/// Prints a remark that is no error.
pub fn note(text: &str) {
    line(&format!("HPROF: {text}"));
}

/// Prints text as it is; it need not be a whole line.
pub fn raw(text: &str) {
    LINE_OPEN.store(!text.ends_with('\n'), Ordering::Relaxed);
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn line(text: &str) {
    let start = if LINE_OPEN.load(Ordering::Relaxed) {
        "\n"
    } else {
        ""
    };
    raw(&format!("{start}{text}\n"));
}
