//! Stops of all threads, which the VM logs for collections and everything else, and the names of collectors.

use crate::event::{Collector, Nanos};
use crate::numbers;
use crate::statistics::{Statistics, Stop};

const STOPPED: &[u8] = b"Total time for which application threads were stopped: ";
const STOPPING: &[u8] = b"Stopping threads took: ";

/// Returns whether a message is on stops.
pub(super) fn is_of_safepoints(text: &[u8]) -> bool {
    text.starts_with(b"Safepoint \"") || text.starts_with(STOPPED)
}

/// Takes such a message; false if it is damaged.
pub(super) fn take(text: &[u8], at: Option<Nanos>, statistics: &mut Statistics) -> bool {
    if text.starts_with(STOPPED) {
        return stopped(text, at, statistics);
    }
    // JDK 13 and later: Safepoint "G1CollectForAllocation", Time since last: 12 ns, ..., Total: 34 ns
    let Some(rest) = text.strip_prefix(b"Safepoint \"") else {
        return false;
    };
    let Some(end) = memchr::memchr(b'"', rest) else {
        return false;
    };
    let (operation, rest) = (&rest[..end], &rest[end..]);
    let Some(total) = nanos_after(rest, b" Total: ") else {
        return false;
    };
    statistics.stop(&Stop {
        at,
        operation,
        total,
        reaching: nanos_after(rest, b" Reaching safepoint: "),
    });
    true
}

fn nanos_after(text: &[u8], label: &[u8]) -> Option<Nanos> {
    let at = memchr::memmem::find(text, label)?;
    let (value, rest) = numbers::whole(&text[at + label.len()..])?;
    rest.starts_with(b" ns").then_some(Nanos(value))
}

/// Takes the message of JDK 8 to 12: `Total time for which application threads were stopped: 0.0012 seconds,
/// Stopping threads took: 0.0001 seconds`; false if it is none or damaged.
pub(crate) fn stopped(text: &[u8], at: Option<Nanos>, statistics: &mut Statistics) -> bool {
    let seconds_after = |label: &[u8]| {
        let at = memchr::memmem::find(text, label)?;
        let (value, rest) = numbers::decimal(&text[at + label.len()..])?;
        rest.starts_with(b" seconds")
            .then(|| Nanos::from_seconds(value))
    };
    let Some(total) = seconds_after(STOPPED) else {
        return false;
    };
    statistics.stop(&Stop {
        at,
        operation: b"",
        total,
        reaching: seconds_after(STOPPING),
    });
    true
}

/// The collector of `Using G1` or of a flag such as `-XX:+UseG1GC`.
pub(crate) fn collector_named(text: &[u8]) -> Option<Collector> {
    let has = |name: &[u8]| memchr::memmem::find(text, name).is_some();
    Some(match () {
        () if has(b"Concurrent Mark Sweep") || has(b"UseConcMarkSweepGC") => Collector::Cms,
        () if has(b"G1") => Collector::G1,
        () if has(b"The Z Garbage Collector") || has(b"UseZGC") => Collector::Z,
        () if has(b"Shenandoah") => Collector::Shenandoah,
        () if has(b"Parallel") => Collector::Parallel,
        () if has(b"Serial") => Collector::Serial,
        () if has(b"Epsilon") => Collector::Epsilon,
        () => return None,
    })
}
