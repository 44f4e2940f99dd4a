//! Collections of Serial, Parallel and CMS, and everything of G1 but its pauses for copying.

use memchr::memmem::find;

use crate::event::{Collector, Family, HeapChange, Kind, Nanos, Pause};
use crate::numbers;
use crate::statistics::Statistics;

/// Reads what is between the brackets of a collection; false if it is damaged.
pub(super) fn read(inner: &[u8], at: Option<Nanos>, statistics: &mut Statistics) -> bool {
    if inner.starts_with(b"GC concurrent-") {
        concurrent_of_g1(inner, statistics);
        return true;
    }
    let top = top_level(inner);
    let Some(duration) = seconds_at_end(&top) else {
        return false;
    };
    let is_full = inner.starts_with(b"Full GC");
    let rest = inner.strip_prefix(b"Full GC").unwrap_or(&inner[2..]);
    let (cause, _) = numbers::parenthesized(rest.trim_ascii_start()).unwrap_or_default();
    let old = ["Tenured", "ParOldGen", "PSOldGen", "CMS"].map(|label| generation(inner, label));
    let heap = heap_of(&top);
    let has_mode_failure = find(inner, b"concurrent mode failure").is_some();
    if has_mode_failure {
        statistics.counts.concurrent_mode_failures += 1;
    }
    if find(inner, b"promotion failed").is_some() {
        statistics.counts.promotion_failures += 1;
    }
    infer(inner, statistics);
    metaspace(inner, statistics);
    let collects_old = old.iter().any(Option::is_some) || has_mode_failure;
    let (name, family): (&[u8], _) = match cause {
        b"CMS Initial Mark" => (b"Initial Mark", Family::Phase),
        b"CMS Final Remark" => (b"Remark", Family::Phase),
        _ if find(inner, b"CMS-initial-mark").is_some() => (b"Initial Mark", Family::Phase),
        _ if find(inner, b"CMS-remark").is_some() => (b"Remark", Family::Phase),
        // Lines of CMS without causes and details: `GC 13606K(25088K), 0.0008 secs`.
        _ if !is_full && is_occupancy(rest) => (b"Mark", Family::Phase),
        _ if rest.starts_with(b" remark") => (b"Remark", Family::Phase),
        _ if rest.starts_with(b" cleanup") => (b"Cleanup", Family::Phase),
        // A young collection of Serial and CMS that became one of the whole heap.
        _ if is_full || collects_old => (b"Full", Family::Full),
        _ => (b"Young", Family::Young),
    };
    let young = ["DefNew", "PSYoungGen", "ParNew"];
    let young = young.iter().find_map(|label| generation(inner, label));
    if let (Some(heap), Some(young), Family::Young) = (heap, young, family) {
        statistics.old_change(
            heap.before.saturating_sub(young.before),
            heap.after.saturating_sub(young.after),
        );
    }
    let at = statistics.end(at, duration);
    statistics.pause(&Pause {
        at,
        kind: Kind { name, detail: b"" },
        cause: match family {
            Family::Phase => b"",
            _ => cause,
        },
        family,
        duration,
        heap,
        has_failed: false,
    });
    true
}

/// The change of a generation, `[ParNew: 17024K->1024K(19136K), 0.0100000 secs]`. Details may be within its brackets,
/// also in brackets of their own.
fn generation(inner: &[u8], label: &str) -> Option<HeapChange> {
    let mut from = 0;
    while let Some(found) = find(&inner[from..], label.as_bytes()) {
        let at = from + found;
        let (before, text) = (&inner[..at], &inner[at..]);
        from = at + label.len();
        // Not `CMS-concurrent-sweep`, nor `CMS Perm`.
        let is_other = match &text[label.len()..] {
            [b' ', b'(', ..] => false,
            [b'-' | b' ', ..] => true,
            _ => false,
        };
        if before.ends_with(b"[") && !is_other {
            return heap_of(&top_level(within(text)));
        }
    }
    None
}

/// The text up to the bracket that closes the one before it.
fn within(text: &[u8]) -> &[u8] {
    let mut depth = 1usize;
    for at in memchr::memchr2_iter(b'[', b']', text) {
        match text[at] {
            b'[' => depth += 1,
            _ => depth -= 1,
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// True for the bytes in use of a heap without a change: ` 13606K(25088K), 0.0008 secs`.
fn is_occupancy(text: &[u8]) -> bool {
    let size = numbers::size(text.trim_ascii_start());
    let capacity = size.and_then(|(_, rest)| numbers::parenthesized(rest));
    capacity.is_some_and(|(inner, _)| numbers::size(inner).is_some())
}

/// True if the collection of the young generation that begins with this text is a part of CMS's remark, which has begun
/// with `record` (-XX:+CMSScavengeBeforeRemark).
pub(super) fn is_scavenge_of_remark(text: &[u8], record: &[u8]) -> bool {
    const CAUSE: &[u8] = b"(CMS Final Remark)";
    let cause = |text: &[u8]| -> bool {
        let rest = text.strip_prefix(b"[GC").unwrap_or(text);
        let rest = rest.trim_ascii_start();
        // Without causes it has none.
        rest.starts_with(CAUSE) || !rest.starts_with(b"(")
    };
    let is_remark =
        find(record, b"[YG occupancy: ").is_some() && find(record, b"CMS-remark").is_none();
    is_remark && cause(record) && cause(text) && text.starts_with(b"[GC")
}

/// A change of sizes after a label.
fn after(text: &[u8], label: &str) -> Option<HeapChange> {
    let at = find(text, label.as_bytes())?;
    numbers::change(&text[at + label.len()..]).map(|(change, _)| change)
}

/// The text that is in no inner bracket.
pub(super) fn top_level(inner: &[u8]) -> Vec<u8> {
    let mut depth = 0usize;
    let mut top = Vec::new();
    for &byte in inner {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => top.push(byte),
            _ => {}
        }
    }
    top
}

/// The duration at the end: `, 0.2406675 secs`.
pub(super) fn seconds_at_end(text: &[u8]) -> Option<Nanos> {
    let text = text.trim_ascii_end().strip_suffix(b" secs")?;
    let start = memchr::memrchr(b' ', text).map_or(0, |at| at + 1);
    let (seconds, rest) = numbers::decimal(&text[start..])?;
    rest.is_empty().then(|| Nanos::from_seconds(seconds))
}

/// The change of the whole heap: the last in the text.
pub(super) fn heap_of(top: &[u8]) -> Option<HeapChange> {
    let arrow = memchr::memmem::rfind(top, b"->")?;
    let start = memchr::memrchr2(b' ', b':', &top[..arrow]).map_or(0, |at| at + 1);
    numbers::change(&top[start..]).map(|(change, _)| change)
}

fn infer(inner: &[u8], statistics: &mut Statistics) {
    if statistics.collector.is_some() {
        return;
    }
    let has = |label: &[u8]| find(inner, label).is_some();
    statistics.collector = match () {
        () if has(b"ParNew") || has(b"CMS") => Some(Collector::Cms),
        () if has(b"PSYoungGen") => Some(Collector::Parallel),
        () if has(b"DefNew") => Some(Collector::Serial),
        () if inner.starts_with(b"GC remark") => Some(Collector::G1),
        () => None,
    };
}

pub(super) fn metaspace(text: &[u8], statistics: &mut Statistics) {
    if let Some(change) = after(text, "[Metaspace: ") {
        statistics.metaspace(change.after);
    }
}

fn concurrent_of_g1(inner: &[u8], statistics: &mut Statistics) {
    statistics.collector.get_or_insert(Collector::G1);
    if inner.starts_with(b"GC concurrent-mark-end") {
        let duration = seconds_at_end(inner).unwrap_or_default();
        statistics.cycle(b"Concurrent Mark", duration);
    } else if inner.starts_with(b"GC concurrent-mark-abort") {
        statistics.counts.concurrent_aborted += 1;
    }
}

/// `[CMS-concurrent-sweep: 0.027/0.027 secs]`: CPU time and time of a phase; false if it is damaged.
pub(super) fn concurrent_of_cms(text: &[u8], statistics: &mut Statistics) -> bool {
    // Its young collections may be those of Serial.
    statistics.collector = Some(Collector::Cms);
    let Some(end) = memchr::memchr(b']', text) else {
        return false;
    };
    if text.starts_with(b"[CMS-concurrent-sweep: ") {
        let slash = memchr::memchr(b'/', &text[..end]).unwrap_or(0);
        let seconds = numbers::decimal(&text[slash + 1..end]).map(|(seconds, _)| seconds);
        let duration = Nanos::from_seconds(seconds.unwrap_or_default());
        statistics.cycle(b"Concurrent Sweep", duration);
    }
    times(&text[end + 1..], statistics);
    true
}

/// Takes `[Times: user=1.77 sys=0.01, real=0.24 secs]`; false if the text is none.
pub(super) fn times(text: &[u8], statistics: &mut Statistics) -> bool {
    let Some(text) = text.trim_ascii_start().strip_prefix(b"[Times: ") else {
        return false;
    };
    let seconds = |label: &[u8]| {
        let at = find(text, label)? + label.len();
        let (seconds, _) = numbers::decimal(&text[at..])?;
        Some(Nanos::from_seconds(seconds))
    };
    if let (Some(user), Some(sys), Some(real)) =
        (seconds(b"user="), seconds(b"sys="), seconds(b"real="))
    {
        statistics.cpu(user, sys, real);
    }
    true
}
