//! The state while a log is read: sums, and a bounded number of everything else.

use crate::clock::Clock;
use crate::durations::Durations;
use crate::event::{Collector, Family, HeapChange, Kind, Nanos, Pause};
use crate::findings;
use crate::line::Stamp;
use crate::names::Named;
use crate::part::Part;
use crate::recording::Recording;
use crate::requests::Requests;
use crate::summary::{
    Counts, Cpu, Heap, Lines, Metaspace, Rate, Row, Summary, WorstPause, WorstStop,
};
use crate::timeline::Timeline;

/// The longest pauses that are kept.
const MAX_WORST: usize = 20;
/// The longest text of the log in a summary, in characters.
const MAX_TEXT: usize = 200;

/// A stop of all threads, for a collection or anything else.
#[derive(Debug)]
pub(crate) struct Stop<'a> {
    /// Its end.
    pub at: Option<Nanos>,
    /// The operation of the VM, empty if it is not known.
    pub operation: &'a [u8],
    pub total: Nanos,
    /// How long it took until all threads had stopped.
    pub reaching: Option<Nanos>,
}

/// Sums of a log.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    pub collector: Option<Collector>,
    pub jvm: Option<String>,
    pub cpus: Option<u64>,
    pub lines: Lines,
    pub heap: Heap,
    pub counts: Counts,
    pub cpu: Option<Cpu>,
    pub is_allocation_exact: bool,
    pub recording: Option<Recording>,
    /// The part of the time that was asked for.
    pub part: Option<Part>,
    /// The bytes that threads have allocated by their own counters, and in which time.
    pub allocation_of_threads: Option<(u64, Nanos)>,
    clock: Clock,
    pauses: Durations,
    kinds: Named<Family>,
    causes: Named<()>,
    full_causes: Named<()>,
    requests: Requests,
    worst: Vec<WorstPause>,
    cycles: Named<()>,
    cycle_causes: Named<()>,
    stalls: Durations,
    stops: Durations,
    reaching: Durations,
    operations: Named<()>,
    worst_stops: Vec<WorstStop>,
    metaspace: Option<Metaspace>,
    /// When allocation was first and last known, and what was used after that collection.
    counted: Option<(Option<Nanos>, Option<Nanos>, u64)>,
    allocated: u64,
    promoted: Option<u64>,
    timeline: Option<Timeline>,
    has_rows_of_z: bool,
}

impl Statistics {
    pub fn new() -> Self {
        Self {
            is_allocation_exact: true,
            ..Self::default()
        }
    }

    /// The point in time of a stamp on the log's scale.
    pub fn at(&mut self, stamp: Stamp) -> Option<Nanos> {
        self.clock.at(stamp)
    }

    /// A line says that a JVM begins.
    pub fn begins(&mut self) {
        self.clock.begins();
    }

    /// The figures begin here, as [`Clock::begin_at`].
    pub fn begin_at(&mut self, own: Option<Nanos>, date: i64) {
        self.clock.begin_at(own, date);
    }

    /// The figures are those of as long a time at least.
    pub fn end_after(&mut self, length: Nanos) {
        self.clock.end_after(length);
    }

    /// A point in time on the log's scale was reached.
    pub fn reached(&mut self, at: Nanos) {
        self.clock.reached(at);
    }

    /// The end of what began at a point in time.
    pub fn end(&mut self, at: Option<Nanos>, duration: Nanos) -> Option<Nanos> {
        let end = Nanos(at?.0.saturating_add(duration.0));
        self.clock.lasted(end);
        Some(end)
    }

    /// A line that is part of no log.
    pub fn not_understood(&mut self, line: &[u8]) {
        self.lines.not_understood += 1;
        if self.lines.first_not_understood.is_none() {
            let text = String::from_utf8_lossy(&line[..line.len().min(4 * MAX_TEXT)]);
            self.lines.first_not_understood = Some(text.chars().take(MAX_TEXT).collect());
        }
    }

    pub fn pause(&mut self, pause: &Pause<'_>) {
        self.pauses.add(pause.duration);
        let mut name = [0; 160];
        let name = full_name(pause.kind, &mut name);
        self.kinds.add(name, pause.family, pause.duration);
        if !pause.cause.is_empty() {
            self.causes.add(pause.cause, (), pause.duration);
        }
        match pause.family {
            Family::Young => self.counts.young += 1,
            Family::Full => {
                self.counts.full += 1;
                self.full_causes.add(pause.cause, (), pause.duration);
            }
            Family::Degenerated => self.counts.degenerated += 1,
            Family::Phase => {}
        }
        self.requests.pause(pause);
        if pause.has_failed {
            self.counts.evacuation_failures += 1;
        }
        if pause.cause == b"G1 Humongous Allocation" {
            self.counts.humongous_allocations += 1;
        }
        if let Some(at) = pause.at {
            self.timeline(at).pause(at, pause.family, pause.duration);
        }
        if let Some(heap) = pause.heap {
            self.heap_change(pause.at, heap);
            if pause.family == Family::Full {
                self.heap.peak_after_full = self.heap.peak_after_full.max(Some(heap.after));
            }
        }
        self.keep_worst(pause, name);
    }

    fn keep_worst(&mut self, pause: &Pause<'_>, name: &[u8]) {
        let shortest = self.worst.last().map_or(Nanos(0), |worst| worst.duration);
        if self.worst.len() == MAX_WORST && shortest >= pause.duration {
            return;
        }
        self.worst.truncate(MAX_WORST - 1);
        let place = self
            .worst
            .partition_point(|it| it.duration >= pause.duration);
        let worst = WorstPause {
            at: pause.at,
            duration: pause.duration,
            kind: short(name),
            cause: short(pause.cause),
            heap: pause.heap,
        };
        self.worst.insert(place, worst);
    }

    fn timeline(&mut self, at: Nanos) -> &mut Timeline {
        let first = self.clock.first.unwrap_or(at);
        self.timeline.get_or_insert_with(|| Timeline::new(first))
    }

    /// The heap before and after a collection, or a part of one that frees memory.
    pub fn heap_change(&mut self, at: Option<Nanos>, change: HeapChange) {
        let heap = &mut self.heap;
        heap.peak_used = heap.peak_used.max(Some(change.before.max(change.after)));
        heap.peak_after = heap.peak_after.max(Some(change.after));
        heap.last_after = Some(change.after);
        heap.peak_capacity = heap.peak_capacity.max(change.capacity);
        heap.freed = heap
            .freed
            .saturating_add(change.before.saturating_sub(change.after));
        match &mut self.counted {
            None => self.counted = Some((at, at, change.after)),
            Some((_, last, after)) => {
                let more = change.before.saturating_sub(*after);
                self.allocated = self.allocated.saturating_add(more);
                (*last, *after) = (at, change.after);
            }
        }
        if let Some(at) = at {
            self.timeline(at).heap(at, change);
        }
    }

    /// Bytes that the program allocated during a concurrent collection.
    pub fn allocated(&mut self, bytes: u64) {
        self.allocated = self.allocated.saturating_add(bytes);
    }

    /// The log has the rows on allocation during ZGC's collections.
    pub fn counted_by_z(&mut self) {
        self.has_rows_of_z = true;
    }

    /// Bytes that went to the old generation.
    pub fn promoted(&mut self, bytes: u64) {
        self.promoted = Some(self.promoted.unwrap_or(0).saturating_add(bytes));
    }

    /// The old generation before and after a young collection.
    pub fn old_change(&mut self, before: u64, after: u64) {
        self.promoted(after.saturating_sub(before));
    }

    pub fn cycle(&mut self, name: &[u8], duration: Nanos) {
        self.counts.concurrent_cycles += 1;
        self.cycles.add(name, (), duration);
    }

    /// Why a concurrent cycle began.
    pub fn cycle_cause(&mut self, cause: &[u8], duration: Nanos) {
        self.cycle_causes.add(cause, (), duration);
    }

    /// A concurrent collection that is no part of another one began for this cause.
    pub fn cycle_request(&mut self, cause: &[u8]) {
        self.requests.cycle(cause);
    }

    pub fn stall(&mut self, duration: Nanos) {
        self.counts.allocation_stalls += 1;
        self.stalls.add(duration);
    }

    /// A stop of the program for whatever reason.
    pub fn stop(&mut self, stop: &Stop<'_>) {
        self.stops.add(stop.total);
        if let Some(reaching) = stop.reaching {
            self.reaching.add(reaching);
        }
        if !stop.operation.is_empty() {
            self.operations.add(stop.operation, (), stop.total);
        }
        let shortest = self.worst_stops.last().map(|worst| worst.duration);
        if self.worst_stops.len() == MAX_WORST && shortest >= Some(stop.total) {
            return;
        }
        self.worst_stops.truncate(MAX_WORST - 1);
        let longer = |it: &WorstStop| it.duration >= stop.total;
        let place = self.worst_stops.partition_point(longer);
        let worst = WorstStop {
            at: stop.at,
            duration: stop.total,
            reaching: stop.reaching,
            operation: short(stop.operation),
        };
        self.worst_stops.insert(place, worst);
    }

    pub fn metaspace(&mut self, used: u64) {
        let metaspace = self.metaspace.get_or_insert(Metaspace {
            first: used,
            last: used,
            peak: used,
        });
        metaspace.last = used;
        metaspace.peak = metaspace.peak.max(used);
    }

    pub fn cpu(&mut self, user: Nanos, sys: Nanos, real: Nanos) {
        let cpu = self.cpu.get_or_insert_default();
        let sum = |to: &mut Nanos, more: Nanos| to.0 = to.0.saturating_add(more.0);
        sum(&mut cpu.user, user);
        sum(&mut cpu.sys, sys);
        sum(&mut cpu.real, real);
        let busy = user.0.saturating_add(sys.0);
        if real.0 >= 100_000_000 && real.0 / 2 > busy {
            cpu.waiting += 1;
        }
    }

    pub fn summary(mut self) -> Summary {
        self.clock.finish();
        self.lines.restarts = self.clock.restarts;
        self.lines.misfits = self.clock.misfits;
        self.lines.date_jumps = self.clock.date_jumps;
        // The events of a recording are in another order.
        if self.recording.is_none() && self.clock.gap.length.0 > 0 {
            self.lines.gap = Some(self.clock.gap);
        }
        let from = self.clock.first.unwrap_or_default();
        let duration = self
            .clock
            .first
            .map(|first| Nanos(self.clock.latest.0 - first.0));
        // A log of stops alone does not show which of them were collections, nor one of concurrent cycles alone their
        // pauses.
        let has_none = self.stops.count() == 0 && self.counts.concurrent_cycles == 0;
        let has_pauses = self.pauses.count() > 0 || has_none;
        let throughput = duration
            .filter(|it| it.0 > 0 && has_pauses && has_room(*it, &self.pauses))
            .map(|duration| {
                let paused = self.pauses.sum().0.min(duration.0);
                1.0 - paused as f64 / duration.0 as f64
            });
        if let (Some(timeline), Some(duration)) = (&mut self.timeline, duration) {
            timeline.end(Nanos(from.0.saturating_add(duration.0)));
        }
        if self.collector == Some(Collector::Z) && !self.has_rows_of_z {
            self.is_allocation_exact = false;
        }
        let counted = self
            .counted
            .and_then(|(first, last, _)| Some((first?, last?)));
        let seconds = counted.map(|(first, last)| Nanos(last.0.saturating_sub(first.0)).seconds());
        let rate = |bytes: u64, is_exact: bool| Rate {
            bytes,
            per_second: seconds.filter(|it| *it > 0.0).map(|it| bytes as f64 / it),
            is_exact,
        };
        let by_heap = self
            .counted
            .map(|_| rate(self.allocated, self.is_allocation_exact));
        let by_threads = self.allocation_of_threads.map(|(bytes, time)| Rate {
            bytes,
            per_second: Some(bytes as f64 / time.seconds()),
            is_exact: false,
        });
        // The heap does not show what is allocated during a cycle, nor do counters what ended threads allocated.
        let allocation = match (by_heap, by_threads) {
            (Some(heap), Some(threads)) if !heap.is_exact && threads.bytes > heap.bytes => {
                Some(threads)
            }
            (Some(heap), _) => Some(heap),
            (None, threads) => threads.filter(|it| it.bytes > 0),
        };
        let rows = |named: &Named<()>| -> Vec<Row> {
            let rows = named.rows().into_iter();
            rows.map(|(name, (), durations)| Row {
                name,
                family: None,
                spread: durations.spread(),
            })
            .collect()
        };
        let (requests, metaspace_requests) = self.requests.rows();
        let kinds = self.kinds.rows().into_iter();
        let mut summary = Summary {
            recording: self.recording,
            part: self.part,
            collector: self.collector,
            jvm: self.jvm,
            cpus: self.cpus,
            from,
            duration,
            pauses: self.pauses.spread(),
            throughput,
            kinds: kinds
                .map(|(name, family, durations)| Row {
                    name,
                    family: Some(family),
                    spread: durations.spread(),
                })
                .collect(),
            causes: rows(&self.causes),
            full_causes: rows(&self.full_causes),
            requests,
            metaspace_requests,
            worst: self.worst,
            cycles: rows(&self.cycles),
            cycle_causes: rows(&self.cycle_causes),
            heap: self.heap,
            allocation,
            promotion: self.promoted.map(|bytes| rate(bytes, true)),
            metaspace: self.metaspace,
            cpu: self.cpu,
            counts: self.counts,
            stalls: self.stalls.spread(),
            stops: self.stops.spread(),
            reaching: self.reaching.spread(),
            operations: rows(&self.operations),
            worst_stops: self.worst_stops,
            stopped: duration
                .filter(|it| it.0 > 0 && self.stops.count() > 0 && has_room(*it, &self.stops))
                .map(|duration| self.stops.sum().0.min(duration.0) as f64 / duration.0 as f64),
            timeline: self.timeline,
            findings: Vec::new(),
            lines: self.lines,
        };
        summary.findings = findings::of(&summary);
        summary
    }
}

/// True if this time has room for these pauses. The first of them may have begun before the first line.
pub(crate) fn has_room(duration: Nanos, pauses: &Durations) -> bool {
    let longest = pauses.spread().max.0;
    pauses.sum().0 <= duration.0.saturating_add(longest)
}

/// The beginning of a text of the log.
fn short(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MAX_TEXT)]);
    text.chars().take(MAX_TEXT).collect()
}

/// A kind in one text: `Young (Normal)`.
fn full_name<'a>(kind: Kind<'a>, buffer: &'a mut [u8; 160]) -> &'a [u8] {
    if kind.detail.is_empty() {
        return kind.name;
    }
    let mut end = 0;
    let parts = [kind.name, &b" ("[..], kind.detail, &b")"[..]];
    for byte in parts.into_iter().flatten() {
        if end == buffer.len() {
            break;
        }
        buffer[end] = *byte;
        end += 1;
    }
    &buffer[..end]
}
