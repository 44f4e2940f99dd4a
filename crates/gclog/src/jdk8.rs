//! The log of JDK 8 and older, with `-XX:+PrintGC` or `-XX:+PrintGCDetails`:
//!
//! ```text
//! 2015-05-26T14:27:40.915-0200: 116.115: [GC (Allocation Failure) [PSYoungGen: 2694440K->1305132K(2796544K)] 9556775K->8438926K(11185152K), 0.2406675 secs] [Times: user=1.77 sys=0.01, real=0.24 secs]
//! ```
//!
//! A collection ends with its bracket, which may come lines later: threads of CMS write in between.

mod collection;
mod g1;
mod histogram;
mod shenandoah;

use crate::event::{Collector, Nanos};
use crate::line::Stamp;
use crate::numbers;
use crate::statistics::Statistics;
use crate::unified::{collector_named, stopped};
use g1::Held;
pub(crate) use shenandoah::as_unified;

/// Times at the beginning of one line: two threads that write at once put theirs before the text of one.
const MAX_STAMPS: usize = 8;
/// A collection that takes more bytes is damaged.
const MAX_RECORD: usize = 16 << 10;

/// The state between lines.
#[derive(Debug, Default)]
pub(crate) struct Jdk8 {
    /// A collection whose bracket is open.
    record: Vec<u8>,
    at: Option<Nanos>,
    /// A pause of G1, whose heap is in a line to come.
    held: Option<Held>,
}

impl Jdk8 {
    /// Returns whether a collection has begun and not ended.
    pub fn is_within_pause(&self) -> bool {
        !self.record.is_empty()
    }

    /// Takes a line; false if it is no line of such a log, or damaged.
    pub fn take(&mut self, line: &[u8], statistics: &mut Statistics) -> bool {
        let (stamp, text) = stamp(line);
        // G1's details have a line on its workers, too.
        let is_start = text.starts_with(b"[Full GC")
            || text.starts_with(b"[GC") && !text.starts_with(b"[GC Worker");
        // Full collections count the objects before and after with -XX:+PrintClassHistogramBeforeFullGC.
        if histogram::is_row(text) {
            return true;
        }
        if !self.record.is_empty() {
            // Other threads write while the collection goes on.
            if text.starts_with(b"[GC concurrent-")
                && let Some(end) = closing(text)
            {
                statistics.at(stamp);
                return collection::read(&text[1..end], None, statistics);
            }
            // The layout of the heap has brackets of its own.
            if is_heap_layout(line) {
                return true;
            }
            // A scavenge before CMS's remark is a part of it.
            let is_within = is_start && collection::is_scavenge_of_remark(text, &self.record);
            if is_within {
                statistics.at(stamp);
                return self.add(text, statistics);
            }
        }
        if is_start {
            self.give_held(statistics);
            let was_whole = self.record.is_empty();
            self.record.clear();
            self.at = statistics.at(stamp);
            return self.add(text, statistics) && was_whole;
        }
        if !self.record.is_empty() {
            statistics.at(stamp);
            return self.add(text, statistics);
        }
        if let Some(heap) = g1::heap_line(text) {
            if let Some(held) = &mut self.held {
                held.heap = Some(heap);
            }
            collection::metaspace(text, statistics);
            return true;
        }
        if collection::times(text, statistics) {
            self.give_held(statistics);
            return true;
        }
        let has_stamp = stamp != Stamp::default();
        // Programs print lines that begin like a time, too.
        let is_ours = text.starts_with(b"[") || text.starts_with(b"Total time") || is_known(text);
        let at = (has_stamp && is_ours)
            .then(|| statistics.at(stamp))
            .flatten();
        if text.starts_with(b"[CMS-concurrent-") {
            return collection::concurrent_of_cms(text, statistics);
        }
        if stopped(text, at, statistics) || fact(text, statistics) {
            return true;
        }
        // Details, the heap's layout, ages of objects; what Shenandoah tells of its decisions has no form.
        let is_free = statistics.collector == Some(Collector::Shenandoah);
        is_free || has_stamp || line.starts_with(b" ") || line.starts_with(b"\t") || is_known(text)
    }

    /// The log, or one of its files, ends.
    pub fn finish(&mut self, statistics: &mut Statistics) {
        self.give_held(statistics);
        self.record.clear();
    }

    fn give_held(&mut self, statistics: &mut Statistics) {
        if let Some(held) = self.held.take() {
            held.give(statistics);
        }
    }

    /// Adds to a collection, and reads it once its bracket is closed.
    fn add(&mut self, text: &[u8], statistics: &mut Statistics) -> bool {
        if self.record.len() + text.len() > MAX_RECORD {
            self.record.clear();
            return false;
        }
        self.record.extend_from_slice(text);
        let Some(end) = closing(&self.record) else {
            self.record.push(b' ');
            return true;
        };
        let record = std::mem::take(&mut self.record);
        let (inner, after) = (&record[1..end], &record[end + 1..]);
        let is_read = if inner.starts_with(b"GC pause") {
            self.held = Held::read(inner, self.at, statistics);
            self.held.is_some()
        } else {
            collection::read(inner, self.at, statistics)
        };
        collection::times(after, statistics);
        self.record = record;
        self.record.clear();
        is_read
    }
}

/// The place of the bracket that closes the first.
fn closing(record: &[u8]) -> Option<usize> {
    let mut depth = 0usize;
    for at in memchr::memchr2_iter(b'[', b']', record) {
        if record[at] == b'[' {
            depth += 1;
        } else {
            depth = depth.checked_sub(1)?;
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The times at the beginning of a line, `2015-05-26T14:27:40.915-0200: 116.115: `, and what follows.
pub(crate) fn stamp(line: &[u8]) -> (Stamp, &[u8]) {
    let mut stamp = Stamp::default();
    let mut rest = line.trim_ascii_start();
    for _ in 0..MAX_STAMPS {
        // A date has 28 characters.
        if let Some((date, after)) = rest.split_at_checked(28)
            && let Some(wall) = numbers::date_time(date)
            && let Some(after) = after.strip_prefix(b": ")
        {
            stamp.wall.get_or_insert(wall);
            rest = after;
        } else if let Some((uptime, after)) = uptime(rest) {
            stamp.uptime.get_or_insert(uptime);
            rest = after;
        } else {
            break;
        }
    }
    // -XX:+PrintGCID writes `#12: ` in front of a collection.
    if let Some(number) = rest.strip_prefix(b"#")
        && let Some((_, after)) = numbers::whole(number)
        && let Some(after) = after.strip_prefix(b": ")
    {
        rest = after;
    }
    (stamp, rest)
}

/// Seconds since the start, `116.115: `, and what follows. They have a fraction; rows of tables have none.
fn uptime(text: &[u8]) -> Option<(Nanos, &[u8])> {
    let (_, fraction) = numbers::whole(text)?;
    let [b'.' | b',', b'0'..=b'9', ..] = fraction else {
        return None;
    };
    let (seconds, after) = numbers::decimal(text)?;
    Some((Nanos::from_seconds(seconds), after.strip_prefix(b": ")?))
}

/// Lines of -XX:+PrintHeapAtGC.
fn is_heap_layout(line: &[u8]) -> bool {
    line.starts_with(b"Heap after GC")
        || line.starts_with(b"{Heap before GC")
        || line == b"}"
        || line.starts_with(b" ") && memchr::memmem::find(line, b"[0x").is_some()
}

/// Lines at the start of the log.
fn fact(text: &[u8], statistics: &mut Statistics) -> bool {
    if let Some(flags) = text.strip_prefix(b"CommandLine flags: ") {
        statistics.collector = collector_named(flags).or(statistics.collector);
        let label = b"-XX:MaxHeapSize=";
        let at = memchr::memmem::find(flags, label);
        let size = at.and_then(|at| numbers::whole(&flags[at + label.len()..]));
        statistics.heap.max = size.map(|(size, _)| size).or(statistics.heap.max);
        return true;
    }
    let is_version = memchr::memmem::find(text, b"Server VM (").is_some()
        || memchr::memmem::find(text, b"Client VM (").is_some();
    if is_version {
        let open = memchr::memchr(b'(', text).unwrap_or(0);
        // OpenJDK 64-Bit Server VM (25.151-b12) for linux-amd64 JRE (1.8.0_151-b12), built on ...
        let jre = memchr::memmem::find(text, b"JRE (").map_or(open, |at| at + 4);
        let version = numbers::parenthesized(&text[jre..]).map_or(&b""[..], |(inner, _)| inner);
        let version = &version[..version.len().min(100)];
        statistics.jvm = Some(String::from_utf8_lossy(version).into_owned());
        statistics.begins();
    }
    is_version
}

/// Lines that such a log has beside collections.
fn is_known(text: &[u8]) -> bool {
    const STARTS: [&[u8]; 17] = [
        b"{Heap",
        b"Heap",
        b"}",
        b"Memory: ",
        b"Application time: ",
        b"Desired survivor size",
        b"- age",
        b"[Times:",
        b"AdaptiveSize",
        b"PSAdaptiveSizePolicy",
        b"PSYoungGen::resize_spaces",
        b"GC locker: ",
        b"CMS: abort preclean",
        b"Java HotSpot",
        b"OpenJDK ",
        b"No shared spaces configured",
        b", ",
    ];
    // 2016-04-14 22:37:22 GC log file created gc.log.1
    let is_rotation = memchr::memmem::find(text, b" GC log file ").is_some();
    is_rotation || STARTS.iter().any(|start| text.starts_with(start))
}
