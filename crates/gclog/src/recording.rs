//! The collections of a recording of the JDK Flight Recorder, from its events.
//!
//! Events of one collection come in any order, and may be in two chunks. They are put together by the number
//! of the collection, and counted when their chunk has ended, in the order of their times. Stops for any reason are put
//! together by the number of the safepoint.

mod allocation;
mod collection;
mod stops;

use std::collections::BTreeMap;
use std::ops::Range;

use hprof_foreign::jfr::facts::{self, COLLECTION, Fact, Recorded, Skipped, Visitor};
use serde::Serialize;

use crate::event::{Collector, Family, HeapChange, Nanos, Pause};
use crate::part::Part as LogPart;
use crate::statistics::Statistics;
use crate::summary::Summary;
use allocation::Allocation;
use collection::{Collection, Step};
use stops::{Part, Safepoints};

/// The events that are read.
const WANTED: [&str; 22] = [
    COLLECTION,
    "jdk.GCPhasePause",
    "jdk.GCHeapSummary",
    "jdk.G1GarbageCollection",
    "jdk.G1HeapSummary",
    "jdk.PSHeapSummary",
    "jdk.MetaspaceSummary",
    "jdk.GCCPUTime",
    "jdk.EvacuationFailed",
    "jdk.PromotionFailed",
    "jdk.ConcurrentModeFailure",
    "jdk.ZAllocationStall",
    "jdk.GCConfiguration",
    "jdk.GCHeapConfiguration",
    "jdk.JVMInformation",
    "jdk.CPUInformation",
    "jdk.UnsignedLongFlag",
    "jdk.SafepointBegin",
    "jdk.SafepointEnd",
    "jdk.ExecuteVMOperation",
    "jdk.ThreadAllocationStatistics",
    "jdk.ActiveSetting",
];

/// Collections whose end was not seen, or of which more may come.
const MAX_OPEN: usize = 1 << 16;
/// A chunk may lack events of collections that ended at most this long before it did, in nanoseconds.
const MAX_DELAY: i64 = 1_000_000_000;

/// The numbers of events, collections and JVMs of a recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Recording {
    /// The events that were read.
    pub events: u64,
    /// The collections, concurrent ones too.
    pub collections: u64,
    /// The JVMs that have recorded them; more than one if recordings were joined.
    pub jvms: u64,
    /// Shorter stops are not recorded, by the settings of the recording.
    #[serde(rename = "shortest_stop_ms")]
    pub shortest_stop: Option<Nanos>,
}

/// Reads the collections of a recording, and what is damaged in it. It calls `passed` with each part that was read.
pub fn read_recording(file: &[u8], passed: &mut dyn FnMut(Range<usize>)) -> (Summary, Skipped) {
    read_recording_part(file, None, passed)
}

/// Reads the collections and stops that ended in a part of the time of a recording, as [`read_recording`] does all of them.
pub fn read_recording_part(
    file: &[u8],
    part: Option<LogPart>,
    passed: &mut dyn FnMut(Range<usize>),
) -> (Summary, Skipped) {
    let mut state = State {
        part,
        ..State::default()
    };
    let skipped = facts::read(file, &WANTED, &mut state, passed);
    state.flush(|_| true);
    state.safepoints.flush(i64::MAX);
    state.count_stops();
    let threshold = state
        .operation_type
        .and_then(|id| state.thresholds.get(&id));
    state.recording.shortest_stop = threshold.copied().filter(|it| it.0 > 0);
    state.statistics.allocation_of_threads = state.allocation.sum();
    state.statistics.recording = Some(state.recording);
    state.statistics.part = part;
    if state.statistics.collector == Some(Collector::Cms) {
        let counts = &mut state.statistics.counts;
        counts.concurrent_mode_failures = std::mem::take(&mut counts.concurrent_aborted);
    }
    (state.statistics.summary(), skipped)
}

/// The state between chunks.
struct State<'a> {
    /// The part of the time that counts; none for all.
    part: Option<LogPart>,
    statistics: Statistics,
    recording: Recording,
    /// By number.
    open: BTreeMap<u64, Collection<'a>>,
    safepoints: Safepoints<'a>,
    allocation: Allocation,
    /// The thresholds of types of events, by their numbers.
    thresholds: BTreeMap<u64, Nanos>,
    /// The number of the type of operations.
    operation_type: Option<u64>,
    /// When the first JVM began, in milliseconds since 1970.
    first_jvm: Option<u64>,
    last_jvm: Option<u64>,
    /// The start of the first chunk, in nanoseconds since 1970.
    first_chunk: Option<i64>,
}

impl Default for State<'_> {
    fn default() -> Self {
        Self {
            part: None,
            statistics: Statistics::new(),
            recording: Recording::default(),
            open: BTreeMap::new(),
            safepoints: Safepoints::default(),
            allocation: Allocation::default(),
            thresholds: BTreeMap::new(),
            operation_type: None,
            first_jvm: None,
            last_jvm: None,
            first_chunk: None,
        }
    }
}

impl<'a> Visitor<'a> for State<'a> {
    fn event(&mut self, event: &Recorded<'a, '_>) {
        let is_in = self.is_in(event.at);
        self.recording.events += u64::from(is_in);
        if let Some(id) = event.number(Fact::SafepointId) {
            return self.of_safepoint(id, event);
        }
        if let Some(bytes) = event.number(Fact::Allocated) {
            let thread = event.number(Fact::Thread).unwrap_or(0);
            if is_in {
                self.allocation.take(thread, event.at, bytes);
            }
            return;
        }
        match (event.event, event.number(Fact::GcId)) {
            (_, Some(id)) => self.of_collection(id, event),
            ("jdk.ZAllocationStall", None) if is_in => {
                self.statistics.stall(Nanos(event.duration));
            }
            (_, None) => self.of_jvm(event),
        }
    }

    fn chunk_end(&mut self, from: i64, to: i64) {
        let first = *self.first_chunk.get_or_insert(from);
        let (begin, end) = match self.part {
            Some(part) => (from.max(part.from), to.min(part.to)),
            None => (from, to),
        };
        let covered = (begin <= end).then_some([begin, end]);
        for at in covered.into_iter().flatten() {
            let at = self.since_start(at, first);
            self.statistics.reached(at);
        }
        self.flush(|it| it.is_done && it.end() < to - MAX_DELAY);
        self.safepoints.flush(to - MAX_DELAY);
        self.count_stops();
        if self.open.len() > MAX_OPEN {
            self.flush(|_| true);
        }
    }
}

impl<'a> State<'a> {
    /// True if the chosen part of the time has this moment.
    fn is_in(&self, at: i64) -> bool {
        self.part.is_none_or(|part| part.contains(at))
    }

    /// A point in time since the start of the first JVM, or of the recording if that is not known.
    fn since_start(&self, at: i64, first_chunk: i64) -> Nanos {
        let start = self.first_jvm.and_then(|millis| {
            let millis = i64::try_from(millis).ok()?;
            millis.checked_mul(1_000_000)
        });
        // Clocks may have been set in between.
        let start = start.filter(|start| *start <= first_chunk);
        let since = at.saturating_sub(start.unwrap_or(first_chunk));
        Nanos(u64::try_from(since).unwrap_or(0))
    }

    fn of_safepoint(&mut self, id: u64, event: &Recorded<'a, '_>) {
        let part = match event.event {
            "jdk.SafepointBegin" => Part::Begin,
            "jdk.SafepointEnd" => Part::End,
            // Others run beside the program.
            _ if event.number(Fact::Safepoint) == Some(0) => return,
            _ => {
                self.operation_type = Some(event.type_id);
                Part::Operation(event.text(Fact::Operation))
            }
        };
        self.safepoints.take(id, event.at, event.duration, part);
    }

    fn count_stops(&mut self) {
        let mut safepoints = std::mem::take(&mut self.safepoints);
        let Some(first) = self.first_chunk else {
            return;
        };
        let mut statistics = std::mem::replace(&mut self.statistics, Statistics::new());
        let at = |at| self.is_in(at).then(|| self.since_start(at, first));
        safepoints.count(&mut statistics, at);
        self.statistics = statistics;
        self.safepoints = safepoints;
    }

    fn of_jvm(&mut self, event: &Recorded<'a, '_>) {
        let statistics = &mut self.statistics;
        match event.event {
            "jdk.ActiveSetting" => {
                let id = event.number(Fact::Id);
                let nanos = stops::in_nanos(&event.text(Fact::Value));
                if event.text(Fact::Name) == "threshold"
                    && self.thresholds.len() < MAX_OPEN
                    && let Some((id, nanos)) = id.zip(nanos)
                {
                    self.thresholds.insert(id, nanos);
                }
            }
            "jdk.GCConfiguration" => {
                let names = [Fact::OldCollector, Fact::YoungCollector];
                let names = names.map(|fact| event.text(fact));
                let mut found = names.iter().filter_map(|name| collection::collector(name));
                statistics.collector = found.next().or(statistics.collector);
            }
            "jdk.GCHeapConfiguration" => {
                statistics.heap.max = event.number(Fact::MaxSize).or(statistics.heap.max);
            }
            "jdk.CPUInformation" => statistics.cpus = event.number(Fact::HwThreads),
            "jdk.JVMInformation" => {
                if let Some(version) = collection::version(&event.text(Fact::JvmVersion)) {
                    statistics.jvm = Some(version);
                }
                let start = event.number(Fact::JvmStartTime);
                self.first_jvm = self.first_jvm.or(start);
                self.recording.jvms += u64::from(start.is_some() && start != self.last_jvm);
                self.last_jvm = start.or(self.last_jvm);
            }
            _ if event.text(Fact::Name) == "G1HeapRegionSize" => {
                let size = event.number(Fact::Value).filter(|size| *size > 0);
                statistics.heap.region = size.or(statistics.heap.region);
            }
            _ => {}
        }
    }

    fn of_collection(&mut self, id: u64, event: &Recorded<'a, '_>) {
        let is_in = self.is_in(event.at);
        let collection = self.open.entry(id).or_default();
        let is_before = || event.text(Fact::When).starts_with("Before");
        match event.event {
            COLLECTION => {
                self.recording.collections += u64::from(is_in);
                collection.is_done = true;
                let name = event.text(Fact::Name);
                if let Some(collector) = collection::collector(&name) {
                    self.statistics.collector.get_or_insert(collector);
                }
                collection.name = name;
                (collection.start, collection.duration) = (event.at, event.duration);
                collection.cause = event.text(Fact::Cause);
                collection.sum_of_pauses = event.nanos(Fact::SumOfPauses);
            }
            "jdk.GCPhasePause" => {
                // No collection of a JVM has more pauses than are kept.
                collection.pause(event.at, event.duration, event.text(Fact::Name));
            }
            "jdk.GCHeapSummary" => {
                let used = event.number(Fact::HeapUsed);
                match is_before() {
                    true => collection.before = used,
                    false => collection.after = used,
                }
                collection.capacity = event.number(Fact::CommittedSize);
                let limit = event.number(Fact::ReservedSize);
                let max = &mut self.statistics.heap.max;
                *max = max.or(limit.filter(|limit| *limit > 0));
            }
            "jdk.G1GarbageCollection" => collection.detail = event.text(Fact::Type),
            "jdk.G1HeapSummary" | "jdk.PSHeapSummary" => {
                let used = event.number(Fact::OldGenUsedSize);
                let used = used.or_else(|| event.number(Fact::Used));
                match is_before() {
                    true => collection.old_before = used,
                    false => collection.old_after = used,
                }
            }
            "jdk.MetaspaceSummary" if !is_before() => {
                collection.metaspace = event.number(Fact::Used);
            }
            "jdk.GCCPUTime" if is_in => {
                let nanos = |fact| event.nanos(fact).map(Nanos);
                let times = (nanos(Fact::User), nanos(Fact::System), nanos(Fact::Real));
                if let (Some(user), Some(system), Some(real)) = times {
                    self.statistics.cpu(user, system, real);
                }
            }
            "jdk.EvacuationFailed" => collection.has_failed = true,
            // Each thread that fails has an event.
            "jdk.PromotionFailed" => {
                let is_first = !std::mem::replace(&mut collection.has_failed_to_promote, true);
                self.statistics.counts.promotion_failures += u64::from(is_first && is_in);
            }
            // Also of cycles of G1 that are given up.
            "jdk.ConcurrentModeFailure" => {
                self.statistics.counts.concurrent_aborted += u64::from(is_in);
            }
            _ => {}
        }
        if self.open.len() > 2 * MAX_OPEN {
            self.flush(|it| it.is_done);
        }
        if self.open.len() > 2 * MAX_OPEN {
            self.flush(|_| true);
        }
    }

    /// Counts collections of which nothing more is expected, in the order of time.
    fn flush(&mut self, is_meant: impl Fn(&Collection<'a>) -> bool) {
        let ids: Vec<u64> = (self.open.iter())
            .filter(|(_, collection)| is_meant(collection))
            .map(|(id, _)| *id)
            .collect();
        let mut collections: Vec<Collection<'a>> =
            (ids.iter()).filter_map(|id| self.open.remove(id)).collect();
        collections.retain(|it| self.is_in(it.end()));
        let mut steps: Vec<(i64, usize, Step)> = Vec::new();
        for (index, collection) in collections.iter_mut().enumerate() {
            for (at, step) in collection.steps() {
                steps.push((at, index, step));
            }
        }
        steps.sort_unstable();
        for (at, index, step) in steps {
            let first = *self.first_chunk.get_or_insert(at);
            let at = self.since_start(at, first);
            self.statistics.reached(at);
            self.step(&collections[index], at, step);
        }
    }

    fn step(&mut self, collection: &Collection<'a>, at: Nanos, step: Step) {
        let statistics = &mut self.statistics;
        let heap = collection.before.zip(collection.after);
        let heap = heap.map(|(before, after)| HeapChange {
            before,
            after,
            capacity: collection.capacity,
        });
        let family = collection.family();
        let place = match step {
            Step::Pause(place) => place,
            Step::End => {
                if let Some(used) = collection.metaspace {
                    statistics.metaspace(used);
                }
                if family == Some(Family::Young)
                    && let Some((before, after)) = collection.old_before.zip(collection.old_after)
                {
                    statistics.old_change(before, after);
                }
                if let Some(heap) = heap.filter(|_| collection.is_one_pause()) {
                    statistics.heap_change(Some(at), heap);
                }
                if let Some(cycle) = collection.cycle().filter(|_| collection.is_done) {
                    let (duration, cause) = (Nanos(collection.duration), &collection.cause);
                    statistics.cycle(cycle.name, duration);
                    statistics.cycle_cause(cause.as_bytes(), duration);
                    // A cycle of G1 or CMS follows a pause of that cause.
                    if cycle.has_sizes {
                        statistics.cycle_request(cause.as_bytes());
                    }
                    // The program allocates in between, and what a cycle of G1 frees is in no event.
                    statistics.is_allocation_exact = false;
                    if let Some(heap) = heap.filter(|_| cycle.has_sizes) {
                        statistics.heap_change(Some(at), heap);
                    }
                }
                return;
            }
        };
        let (duration, named) = collection.pause_at(place);
        statistics.pause(&Pause {
            at: Some(at),
            kind: named.kind,
            cause: named.cause,
            family: named.family,
            duration: Nanos(duration),
            // One that is a single pause has the sizes of that.
            heap: heap.filter(|_| family.is_some()),
            has_failed: named.has_failed,
        });
    }
}
