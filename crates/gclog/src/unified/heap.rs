//! Messages on parts of the heap, on metaspace, CPU time, and on the JVM at its start.

use crate::event::{Collector, Nanos};
use crate::line::Line;
use crate::numbers;
use crate::statistics::Statistics;
use crate::unified::stops::collector_named;

/// Takes a message; gives the bytes of the old generation before and after, if it is on that.
pub(super) fn take(
    line: &Line<'_>,
    text: &[u8],
    generation: u8,
    statistics: &mut Statistics,
) -> Option<(u64, u64)> {
    let (label, value) = text.split_at(memchr::memchr(b':', text).unwrap_or(0));
    let value = value.get(1..).unwrap_or_default().trim_ascii_start();
    if label.is_empty() {
        if line.may_be(b"gc") || line.may_be(b"gc,init") {
            start(text, statistics);
        }
        return None;
    }
    match label {
        b"Tenured" | b"ParOldGen" | b"PSOldGen" | b"CMS" => {
            let (change, _) = numbers::change(value)?;
            infer(label, statistics);
            return Some((change.before, change.after));
        }
        b"Old regions" => {
            let (before, after) = regions(value)?;
            let bytes = |count: u64| Some(count.saturating_mul(statistics.heap.region?));
            return Some((bytes(before)?, bytes(after)?));
        }
        b"Humongous regions" => {
            let (before, _) = regions(value)?;
            let peak = &mut statistics.heap.peak_humongous_regions;
            *peak = (*peak).max(Some(before));
        }
        b"Metaspace" => {
            let used = numbers::change(value).map(|(change, _)| change.after);
            let used = used.or_else(|| numbers::size(value).map(|(size, _)| size));
            if let Some(used) = used {
                statistics.metaspace(used);
            }
        }
        // Rows of a table of ZGC, with a column for each phase.
        b"Allocated" if generation != b'o' => {
            if let Some(bytes) = last_size(value) {
                statistics.allocated(bytes);
                statistics.counted_by_z();
            }
        }
        b"Capacity" => {
            let peak = &mut statistics.heap.peak_capacity;
            *peak = (*peak).max(last_size(value));
        }
        b"Promoted" if generation == b'y' => {
            if let Some(bytes) = last_size(value) {
                statistics.promoted(bytes);
            }
        }
        _ if line.gc.is_none() => facts(label, value, statistics),
        _ => {}
    }
    None
}

/// A table's last column with a size: `-   10M (2%)   12M (2%)   -`.
fn last_size(row: &[u8]) -> Option<u64> {
    let words = row.split(|byte| *byte == b' ');
    let mut sizes = words.filter_map(|word| numbers::size(word).map(|(size, _)| size));
    sizes.next_back()
}

/// Numbers of regions: `24->0(9)`.
fn regions(text: &[u8]) -> Option<(u64, u64)> {
    let (before, rest) = numbers::whole(text)?;
    let (after, _) = numbers::whole(rest.strip_prefix(b"->")?)?;
    Some((before, after))
}

fn infer(label: &[u8], statistics: &mut Statistics) {
    statistics.collector.get_or_insert(match label {
        b"Tenured" => Collector::Serial,
        b"CMS" => Collector::Cms,
        _ => Collector::Parallel,
    });
}

/// The first lines of a log: `Using G1`.
fn start(text: &[u8], statistics: &mut Statistics) {
    if (text.starts_with(b"Using ") || text.starts_with(b"Initializing "))
        && let Some(collector) = collector_named(text)
    {
        statistics.collector = Some(collector);
    }
}

/// Lines of the JVM's start with `gc*`.
fn facts(label: &[u8], value: &[u8], statistics: &mut Statistics) {
    let size = |text: &[u8]| numbers::size(text).map(|(size, _)| size);
    match label {
        b"Version" => {
            let text = String::from_utf8_lossy(&value[..value.len().min(100)]);
            statistics.jvm = Some(text.trim().to_owned());
        }
        b"CPUs" => statistics.cpus = numbers::whole(value).map(|(count, _)| count),
        b"Heap Region Size" | b"Heap region size" => statistics.heap.region = size(value),
        b"Heap Max Capacity" | b"Max Capacity" => statistics.heap.max = size(value),
        // JDK 11: Heap address: 0x00000000e0000000, size: 512 MB, Compressed Oops mode: 32-bit
        b"Heap address" => {
            let at = memchr::memmem::find(value, b"size: ");
            let stated = at.and_then(|at| size(&value[at + 6..]));
            statistics.heap.max = statistics.heap.max.or(stated);
        }
        _ => {}
    }
}

/// Takes `User=0.01s Sys=0.00s Real=0.00s`; false if it is damaged.
pub(super) fn cpu(text: &[u8], statistics: &mut Statistics) -> bool {
    let mut times = [Nanos(0); 3];
    let mut words = text.split(|byte| *byte == b' ');
    for (time, label) in times.iter_mut().zip([&b"User="[..], b"Sys=", b"Real="]) {
        let word = words.next().and_then(|word| word.strip_prefix(label));
        match word.and_then(numbers::duration) {
            Some(duration) => *time = duration,
            None => return false,
        }
    }
    let [user, sys, real] = times;
    statistics.cpu(user, sys, real);
    true
}
