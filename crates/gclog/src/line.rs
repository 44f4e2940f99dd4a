//! The decorations of unified logging (JEP 158), `[2026-11-23T02:50:00.123+0000][0.123s][info][gc,start]`, in any
//! selection and order.

use crate::event::Nanos;
use crate::numbers;

/// The longest decoration that is looked at, in bytes.
const MAX_DECORATION: usize = 256;
/// Larger numbers of milliseconds are since 1970, smaller ones since the start of the JVM.
const MIN_EPOCH_MILLIS: u64 = 100_000_000_000;

/// The points in time that a line has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Since the start of the JVM.
    pub uptime: Option<Nanos>,
    /// Nanoseconds since 1970.
    pub wall: Option<i64>,
}

/// A line of a unified log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub stamp: Stamp,
    /// Separated by commas; empty if the log has none.
    pub tags: &'a [u8],
    /// The number of the collection in `GC(12)`.
    pub gc: Option<u64>,
    pub text: &'a [u8],
}

/// The kind of a part in brackets.
enum Part {
    /// A time, a level, or tags of ours.
    Decoration,
    /// Anything else that decorations may hold; programs put such words in brackets too.
    Word,
    Message,
}

impl<'a> Line<'a> {
    /// Reads a line; none if it has neither decorations nor the number of a collection.
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let mut parsed = Self::bare(line);
        let mut is_decorated = false;
        while let Some(inner) = parsed.text.strip_prefix(b"[") {
            let within = &inner[..inner.len().min(MAX_DECORATION)];
            let Some(end) = memchr::memchr(b']', within) else {
                break;
            };
            match parsed.decorate(inner[..end].trim_ascii()) {
                Part::Decoration => is_decorated = true,
                Part::Word => {}
                Part::Message => break,
            }
            parsed.text = &inner[end + 1..];
        }
        parsed.text = parsed.text.trim_ascii_start();
        if let Some(rest) = parsed.text.strip_prefix(b"GC(")
            && let Some((gc, rest)) = numbers::whole(rest)
            && let Some(text) = rest.strip_prefix(b")")
        {
            parsed.gc = Some(gc);
            parsed.text = text.trim_ascii_start();
            is_decorated = true;
        }
        is_decorated.then_some(parsed)
    }

    /// A line without decorations.
    pub fn bare(text: &'a [u8]) -> Self {
        Self {
            stamp: Stamp::default(),
            tags: b"",
            gc: None,
            text,
        }
    }

    /// Returns whether the tags are just these, or the log has no tags.
    pub fn may_be(&self, tags: &[u8]) -> bool {
        self.tags.is_empty() || self.tags == tags
    }

    /// Returns whether a tag is among those of the line.
    pub fn has_tag(&self, tag: &[u8]) -> bool {
        self.tags.split(|byte| *byte == b',').any(|it| it == tag)
    }

    /// Takes a part in brackets.
    fn decorate(&mut self, text: &'a [u8]) -> Part {
        match text.first() {
            Some(b'0'..=b'9') => self.decorate_number(text),
            // Host names look like tags, and come before them.
            Some(b'a'..=b'z' | b'A'..=b'Z') if is_word(text) => {
                if matches!(text, b"info" | b"debug" | b"trace" | b"warning" | b"error") {
                    return Part::Decoration;
                }
                self.tags = text;
                let first = text.split(|byte| *byte == b',').next();
                match first {
                    Some(b"gc" | b"safepoint") => Part::Decoration,
                    _ => Part::Word,
                }
            }
            _ => Part::Message,
        }
    }

    fn decorate_number(&mut self, text: &'a [u8]) -> Part {
        if text.get(4) == Some(&b'-')
            && let Some(wall) = numbers::date_time(text)
        {
            self.stamp.wall = Some(wall);
            return Part::Decoration;
        }
        let Some((value, unit)) = numbers::whole(text) else {
            return Part::Message;
        };
        match unit {
            // Seconds have a fraction, a process id has none.
            [b'.' | b',', digits @ .., b's'] if digits.iter().all(u8::is_ascii_digit) => {
                let seconds = numbers::decimal(text).map(|(seconds, _)| seconds);
                self.stamp.uptime = seconds.map(Nanos::from_seconds);
            }
            b"ms" if value >= MIN_EPOCH_MILLIS => {
                let nanos = i64::try_from(value)
                    .ok()
                    .and_then(|it| it.checked_mul(1_000_000));
                self.stamp.wall = self.stamp.wall.or(nanos);
            }
            b"ms" => {
                let nanos = Nanos(value.saturating_mul(1_000_000));
                self.stamp.uptime = self.stamp.uptime.or(Some(nanos));
            }
            b"ns" => self.stamp.uptime = self.stamp.uptime.or(Some(Nanos(value))),
            // A process or thread.
            b"" => return Part::Word,
            // A host name may begin with a digit.
            _ if is_word(text) => return Part::Word,
            _ => return Part::Message,
        }
        Part::Decoration
    }
}

/// Returns whether this may be a level, tags or a host name.
fn is_word(text: &[u8]) -> bool {
    text.iter().all(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b',' | b'-' | b'.' | b'_' | b'+')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<Line<'_>> {
        Line::parse(line.as_bytes())
    }

    #[test]
    fn decorations_come_in_any_order_and_number() {
        let wall = Some(1_795_402_200_123_000_000);
        let uptime = Some(Nanos(1_500_000_000));
        for (decorations, stamp, tags) in [
            (
                "[1.500s][info][gc,start     ] ",
                Stamp { uptime, wall: None },
                "gc,start",
            ),
            ("[1,500s][info ][gc] ", Stamp { uptime, wall: None }, "gc"),
            ("[gc][info][1.500s] ", Stamp { uptime, wall: None }, "gc"),
            ("[1500ms] ", Stamp { uptime, wall: None }, ""),
            ("[1500000000ns][gc] ", Stamp { uptime, wall: None }, "gc"),
            (
                "[2026-11-23T02:50:00.123+0000][gc] ",
                Stamp { uptime: None, wall },
                "gc",
            ),
            (
                "[1795402200123ms][my-host.example][4711][4712][info][gc] ",
                Stamp { uptime: None, wall },
                "gc",
            ),
            (
                "[2026-11-23T02:50:00.123+0000][1.500s][17][info][gc] ",
                Stamp { uptime, wall },
                "gc",
            ),
            ("", Stamp::default(), ""),
        ] {
            let line = format!("{decorations}GC(7) Pause Full (System.gc())");
            let parsed = parse(&line).unwrap();
            assert_eq!(parsed.stamp, stamp, "{line}");
            assert_eq!(parsed.tags, tags.as_bytes(), "{line}");
            assert_eq!(parsed.gc, Some(7));
            assert_eq!(parsed.text, b"Pause Full (System.gc())");
        }
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "",
            "hello",
            "[GC (Allocation Failure) 1K->1K(2K), 0.1 secs]",
            "[",
            "[]",
            "1.5: [GC",
            "[INFO] [main] hello",
            "[12] x",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
        let parsed = parse("[0.5s][gc] [not a decoration] x").unwrap();
        assert_eq!(parsed.text, b"[not a decoration] x");
    }
}
