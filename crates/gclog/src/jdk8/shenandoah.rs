//! Shenandoah of JDK 8, whose messages are those of later releases in brackets:
//!
//! ```text
//! 2022-08-17T16:20:47.688+0800: 2.472: [Pause Init Mark (process weakrefs), 3.341 ms]
//! 2022-08-17T16:20:48.561+0800: 3.344: [Concurrent cleanup 1613M->1361M(1636M), 0.092 ms]
//! ```

use super::stamp;
use crate::line::{Line, Stamp};

/// The line as unified logging has it: its time, and its message in `text`; none if it is no line of Shenandoah, or the
/// begin of a phase.
pub(crate) fn as_unified<'a>(line: &[u8], text: &'a mut Vec<u8>) -> Option<Line<'a>> {
    let (stamp, rest) = stamp(line);
    if stamp == Stamp::default() {
        return None;
    }
    let inner = rest
        .trim_ascii_end()
        .strip_prefix(b"[")?
        .strip_suffix(b"]")?;
    if !(inner.starts_with(b"Pause ") || inner.starts_with(b"Concurrent ")) {
        return None;
    }
    let (message, duration) = inner.split_at(memchr::memmem::rfind(inner, b", ")?);
    let millis = duration[2..].strip_suffix(b" ms")?;
    text.clear();
    text.extend_from_slice(message);
    text.push(b' ');
    text.extend_from_slice(millis);
    text.extend_from_slice(b"ms");
    Some(Line {
        stamp,
        ..Line::bare(text)
    })
}
