//! Pauses of G1, whose heap is in a line below them:
//!
//! ```text
//! 29.959: [GC pause (G1 Evacuation Pause) (young), 0.0305171 secs]
//!    [Parallel Time: 26.6 ms, GC Workers: 4]
//!    [Eden: 1097.0M(1097.0M)->0.0B(967.0M) Survivors: 13.0M->139.0M Heap: 1694.4M(2048.0M)->736.3M(2048.0M)]
//!  [Times: user=0.08 sys=0.00, real=0.03 secs]
//! ```

use memchr::memmem::find;

use super::collection::{heap_of, seconds_at_end, top_level};
use crate::event::{Collector, Family, HeapChange, Kind, Nanos, Pause};
use crate::numbers;
use crate::statistics::Statistics;

/// A pause that waits for its heap.
#[derive(Debug)]
pub(super) struct Held {
    at: Option<Nanos>,
    duration: Nanos,
    name: &'static [u8],
    detail: &'static [u8],
    cause: Vec<u8>,
    has_failed: bool,
    pub heap: Option<HeapChange>,
}

impl Held {
    /// Reads `GC pause (G1 Humongous Allocation) (young) (initial-mark) (to-space exhausted), 0.1 secs`;
    /// none if it is damaged.
    pub fn read(inner: &[u8], at: Option<Nanos>, statistics: &mut Statistics) -> Option<Self> {
        statistics.collector.get_or_insert(Collector::G1);
        let duration = seconds_at_end(inner)?;
        // Decisions are in brackets of their own (-XX:+PrintAdaptiveSizePolicy).
        let top = top_level(inner);
        let mut held = Self {
            at: statistics.end(at, duration),
            duration,
            name: b"Young",
            detail: b"",
            cause: Vec::new(),
            has_failed: false,
            heap: heap_of(&top),
        };
        let mut rest = &top[..];
        while let Some(open) = memchr::memchr(b'(', rest)
            && let Some((group, after)) = numbers::parenthesized(&rest[open..])
        {
            match group {
                b"young" => {}
                b"mixed" => held.name = b"Mixed",
                b"initial-mark" => held.detail = b"initial-mark",
                b"to-space exhausted" | b"to-space overflow" => held.has_failed = true,
                // `24M->4M(256M)`.
                size if numbers::size(size).is_some() => {}
                cause if held.cause.is_empty() => held.cause = cause.to_vec(),
                _ => {}
            }
            rest = after;
        }
        Some(held)
    }

    /// Hands the pause on, with its heap if that has come.
    pub fn give(self, statistics: &mut Statistics) {
        statistics.pause(&Pause {
            at: self.at,
            kind: Kind {
                name: self.name,
                detail: self.detail,
            },
            cause: &self.cause,
            family: Family::Young,
            duration: self.duration,
            heap: self.heap,
            has_failed: self.has_failed,
        });
    }
}

/// The heap of the line that begins with that of eden.
pub(super) fn heap_line(text: &[u8]) -> Option<HeapChange> {
    let text = text.strip_prefix(b"[Eden: ")?;
    let at = find(text, b"Heap: ")?;
    numbers::change(&text[at + 6..]).map(|(change, _)| change)
}
