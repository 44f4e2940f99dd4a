//! Messages of unified logging: `Pause Young (Normal) (G1 Evacuation Pause) 24M->3M(256M) 2.345ms`.

mod heap;
mod stops;

use crate::event::{Collector, Family, Kind, Nanos, Pause};
use crate::line::Line;
use crate::numbers;
use crate::statistics::Statistics;

pub(crate) use stops::{collector_named, stopped};

/// Collections that are under way at once: one of the young generation within one of the old.
const MAX_OPEN: usize = 4;

/// A collection, as far as it is known before the line that ends it.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    gc: Option<u64>,
    /// A pause has begun, and its end was not seen.
    is_paused: bool,
    has_failed: bool,
    old: Option<(u64, u64)>,
}

/// The state between lines.
#[derive(Debug, Default)]
pub(crate) struct Unified {
    open: [Open; MAX_OPEN],
    next: usize,
    /// The last pause, with the number of its collection.
    last: Option<(u64, Family, Nanos)>,
}

impl Unified {
    /// Takes a line; false if it is one of ours and damaged.
    pub fn take(&mut self, line: &Line<'_>, statistics: &mut Statistics) -> bool {
        let mut text = line.text;
        // The first message of each JVM.
        if text.starts_with(b"Using ") && line.may_be(b"gc") && collector_named(text).is_some() {
            statistics.begins();
        }
        let at = statistics.at(line.stamp);
        // The generation of ZGC: lower case for minor collections.
        let mut generation = 0;
        if let [mark @ (b'y' | b'Y' | b'o' | b'O'), b':', b' ', rest @ ..] = text {
            generation = mark.to_ascii_lowercase();
            text = rest.trim_ascii_start();
        }
        match text.first() {
            Some(b'P') if text.starts_with(b"Pause ") => {
                return self.pause(line, &text[6..], generation, at, statistics);
            }
            Some(b'S' | b'T' | b'A') if stops::is_of_safepoints(text) => {
                return stops::take(text, at, statistics);
            }
            Some(b'C') if text.starts_with(b"Concurrent ") => {
                concurrent(text, at, statistics);
            }
            Some(b'G' | b'M') if is_collection_of_z(text) => {
                return collection_of_z(line, text, at, statistics);
            }
            Some(b'A') if text.starts_with(b"Allocation Stall (") => {
                let Some((_, duration)) = numbers::duration_at_end(text) else {
                    return false;
                };
                statistics.stall(duration);
            }
            Some(b'O') if text.starts_with(b"Out Of Memory (") => {
                statistics.counts.out_of_memory += 1;
            }
            // Shenandoah: `Trigger: Explicit GC request (System.gc())`, since JDK 22 `Trigger: GC request (..)`.
            Some(b'T') if text.starts_with(b"Trigger: ") => {
                let request = memchr::memmem::find(text, b"GC request (");
                let cause = request.and_then(|at| numbers::parenthesized(&text[at + 11..]));
                if let Some((cause, _)) = cause {
                    statistics.cycle_request(cause);
                }
            }
            Some(b'T') if text.starts_with(b"To-space exhausted") => {
                self.of(line.gc).has_failed = true;
            }
            Some(b'P') if text.starts_with(b"Promotion failed") => {
                statistics.counts.promotion_failures += 1;
            }
            Some(b'U') if text.starts_with(b"User=") => return heap::cpu(text, statistics),
            Some(_) => {
                if let Some(old) = heap::take(line, text, generation, statistics) {
                    self.of(line.gc).old = Some(old);
                }
            }
            None => {}
        }
        true
    }

    /// Returns whether a pause has begun and not ended.
    pub fn is_within_pause(&self) -> bool {
        self.open.iter().any(|open| open.is_paused)
    }

    /// A log continues in another file, or another JVM has begun.
    pub fn forget(&mut self) {
        self.open = [Open::default(); MAX_OPEN];
    }

    fn of(&mut self, gc: Option<u64>) -> &mut Open {
        let found = self.open.iter().position(|open| open.gc == gc);
        let at = found.unwrap_or_else(|| {
            self.next = (self.next + 1) % MAX_OPEN;
            self.open[self.next] = Open {
                gc,
                ..Open::default()
            };
            self.next
        });
        &mut self.open[at]
    }

    /// The full collection that ran within this young one, as with Serial of JDK 11: it began later, and
    /// its number is higher, but it has ended before.
    fn within(&self, gc: Option<u64>, pause: &Pause<'_>) -> Option<Nanos> {
        let (last, family, duration) = self.last?;
        let is_within = last == gc?.checked_add(1)?
            && (pause.family, family) == (Family::Young, Family::Full)
            && pause.duration >= duration;
        is_within.then_some(duration)
    }

    fn pause(
        &mut self,
        line: &Line<'_>,
        text: &[u8],
        generation: u8,
        at: Option<Nanos>,
        statistics: &mut Statistics,
    ) -> bool {
        let ended = numbers::duration_at_end(text);
        let is_apart = || last_word(text).1.and_then(numbers::duration).is_none();
        // Rows of Shenandoah's table of its pauses have a space before their unit too.
        let ended = ended.filter(|_| line.gc.is_some() || !is_apart());
        let Some((start, duration)) = ended else {
            // The beginning of a pause is a line of its own with `gc*`.
            let is_start = line.tags.is_empty() || line.has_tag(b"start");
            if is_start && line.gc.is_some() {
                self.of(line.gc).is_paused = true;
            }
            // Shenandoah ends with a table of its pauses, which belongs to no collection.
            return is_start || line.gc.is_none();
        };
        let (start, heap) = match last_word(start) {
            (before, Some(word)) if memchr::memmem::find(word, b"->").is_some() => {
                (before, numbers::change(word).map(|(change, _)| change))
            }
            _ => (start, None),
        };
        let named = Named::of(start, generation);
        let open = self.of(line.gc);
        open.is_paused = false;
        let mut pause = Pause {
            at,
            kind: named.kind,
            cause: named.cause,
            family: named.family,
            duration,
            heap,
            has_failed: named.has_failed || std::mem::take(&mut open.has_failed),
        };
        if let Some((before, after)) = open.old.take()
            && pause.family == Family::Young
        {
            statistics.old_change(before, after);
        }
        if let Some(inner) = self.within(line.gc, &pause) {
            pause.duration = Nanos(pause.duration.0.saturating_sub(inner.0));
            // That of the full collection includes it.
            pause.heap = None;
        }
        self.last = line.gc.map(|gc| (gc, pause.family, pause.duration));
        infer(&pause, statistics);
        if pause.kind.name == b"Init Mark" {
            statistics.counts.concurrent_cycles += 1;
        }
        statistics.pause(&pause);
        true
    }
}

/// The last word and what is before it.
fn last_word(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memrchr(b' ', text) {
        Some(at) => (text[..at].trim_ascii_end(), Some(&text[at + 1..])),
        None => (text, None),
    }
}

/// A pause's name in parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'a> {
    pub kind: Kind<'a>,
    pub cause: &'a [u8],
    pub family: Family,
    pub has_failed: bool,
}

impl<'a> Named<'a> {
    /// Reads `Young (Normal) (G1 Evacuation Pause) (Evacuation Failure: Allocation)`.
    pub(crate) fn of(text: &'a [u8], generation: u8) -> Self {
        let (name, mut rest) = match memchr::memmem::find(text, b" (") {
            Some(at) => text.split_at(at),
            None => (text, &b""[..]),
        };
        let mut groups = [&b""[..]; 2];
        let mut count = 0;
        let mut has_failed = false;
        while let Some((group, after)) = numbers::parenthesized(rest.trim_ascii_start()) {
            if group.starts_with(b"Evacuation Failure") {
                has_failed = true;
            } else if count < groups.len() {
                groups[count] = group;
                count += 1;
            }
            rest = after;
        }
        let family = match name {
            b"Young" | b"Mixed" => Family::Young,
            // A pause of G1 up to JDK 11, which has a cause, and of CMS.
            b"Initial Mark" if count > 0 => Family::Young,
            b"Full" => Family::Full,
            b"Degenerated GC" => Family::Degenerated,
            _ => Family::Phase,
        };
        let (detail, cause) = match (family, count) {
            (Family::Phase, _) => (generation_name(generation), &b""[..]),
            (Family::Young, 2) => (groups[0], groups[1]),
            _ => (&b""[..], groups[0]),
        };
        Self {
            kind: Kind { name, detail },
            cause,
            family,
            has_failed,
        }
    }
}

fn generation_name(generation: u8) -> &'static [u8] {
    match generation {
        b'y' => b"young",
        b'o' => b"old",
        _ => b"",
    }
}

/// Infers the collector where the log does not begin with it.
fn infer(pause: &Pause<'_>, statistics: &mut Statistics) {
    if statistics.collector.is_some() {
        return;
    }
    statistics.collector = match pause.kind.name {
        b"Mark Start" | b"Mark End" | b"Relocate Start" => Some(Collector::Z),
        b"Init Mark" | b"Final Mark" | b"Degenerated GC" => Some(Collector::Shenandoah),
        _ if pause.cause.starts_with(b"G1 ") => Some(Collector::G1),
        _ => None,
    };
}

fn is_collection_of_z(text: &[u8]) -> bool {
    text.starts_with(b"Garbage Collection (")
        || text.starts_with(b"Minor Collection (")
        || text.starts_with(b"Major Collection (")
}

/// `Garbage Collection (Warmup) 20M(10%)->8M(4%)`, with a duration since JDK 21.
fn collection_of_z(
    line: &Line<'_>,
    text: &[u8],
    at: Option<Nanos>,
    statistics: &mut Statistics,
) -> bool {
    let Some(open) = memchr::memchr(b'(', text) else {
        return false;
    };
    let Some((cause, rest)) = numbers::parenthesized(&text[open..]) else {
        return false;
    };
    statistics.collector.get_or_insert(Collector::Z);
    let Some((change, rest)) = numbers::change(rest.trim_ascii_start()) else {
        // The beginning of a collection has no sizes, nor has one that the end of the JVM has cut off.
        if memchr::memmem::find(rest, b"Aborted").is_some() {
            return true;
        }
        return line.tags.is_empty() || rest.trim_ascii().is_empty() || line.has_tag(b"start");
    };
    let duration = numbers::duration(rest.trim_ascii()).unwrap_or_default();
    let name = text[..open].trim_ascii_end();
    statistics.heap_change(at, change);
    statistics.cycle(name, duration);
    statistics.cycle_cause(cause, duration);
    statistics.cycle_request(cause);
    true
}

/// Concurrent work: the ends of cycles, and what frees memory without a pause.
fn concurrent(text: &[u8], at: Option<Nanos>, statistics: &mut Statistics) {
    if let Some((start, duration)) = numbers::duration_at_end(text) {
        // That of CMS ends with its sweep.
        let is_sweep = start == b"Concurrent Sweep";
        if is_sweep {
            statistics.collector.get_or_insert(Collector::Cms);
        }
        if is_sweep || start.ends_with(b" Cycle") {
            statistics.cycle(start, duration);
        } else if memchr::memmem::find(start, b"leanup").is_some()
            && let (_, Some(word)) = last_word(start)
            && let Some((change, _)) = numbers::change(word)
        {
            // The objects that Shenandoah copies are in the sizes too.
            statistics.is_allocation_exact = false;
            statistics.heap_change(at, change);
        }
    } else if text.ends_with(b"Mark Abort") {
        statistics.counts.concurrent_aborted += 1;
    } else if text.starts_with(b"Concurrent mode failure") {
        statistics.counts.concurrent_mode_failures += 1;
    }
}
