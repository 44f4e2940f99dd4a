//! The figures of a log. Field names with `_ms` are milliseconds, `bytes` bytes, `_s` seconds.

use serde::Serialize;

use crate::clock::Gap;
use crate::durations::Spread;
use crate::event::{Collector, Family, HeapChange, Nanos};
use crate::findings::Finding;
use crate::part::Part;
use crate::recording::Recording;
use crate::requests::Request;
use crate::timeline::Timeline;

/// All that a log tells.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The collector, stated by the log or inferred from its pauses.
    pub collector: Option<Collector>,
    /// The JVM's version, if the log states it.
    pub jvm: Option<String>,
    /// The processors that the JVM found.
    pub cpus: Option<u64>,
    /// The lines that were read; none of a recording.
    pub lines: Lines,
    /// The events that were read of a recording of the JDK Flight Recorder; none of a log.
    pub recording: Option<Recording>,
    /// The part of the time that was asked for; lines outside of it are in no figure. None for the whole log.
    pub part: Option<Part>,
    /// The first point in time, since the start of the JVM, or zero where the log has dates only.
    #[serde(rename = "from_ms")]
    pub from: Nanos,
    /// From the first to the last point in time; none if lines have no time.
    #[serde(rename = "duration_ms")]
    pub duration: Option<Nanos>,
    /// All pauses.
    pub pauses: Spread,
    /// The share of the time in which no collection stopped the program, from 0 to 1.
    pub throughput: Option<f64>,
    /// Pauses by kind, the largest sums first.
    pub kinds: Vec<Row>,
    /// Pauses by cause, the largest sums first; pauses without a cause are not in it.
    pub causes: Vec<Row>,
    /// Full collections by cause, the largest sums first; those without a cause have an empty name.
    pub full_causes: Vec<Row>,
    /// Collections that the program or a tool has asked for, by cause, the largest sums first.
    pub requests: Vec<Request>,
    /// Collections because metaspace grew, by cause.
    #[serde(skip)]
    pub metaspace_requests: Vec<Request>,
    /// The longest pauses, the longest first.
    pub worst: Vec<WorstPause>,
    /// Concurrent cycles and ZGC's collections, from start to end.
    pub cycles: Vec<Row>,
    /// Why ZGC's collections began, the longest sums first.
    pub cycle_causes: Vec<Row>,
    /// The heap.
    pub heap: Heap,
    /// Allocation, from the heap before each collection and after the one before it.
    pub allocation: Option<Rate>,
    /// Promotion into the old generation.
    pub promotion: Option<Rate>,
    /// Metaspace, if the log has it.
    pub metaspace: Option<Metaspace>,
    /// The time that collections took, if the log has it.
    pub cpu: Option<Cpu>,
    /// How often what happened.
    pub counts: Counts,
    /// The waits of threads for memory (ZGC).
    pub stalls: Spread,
    /// All stops of the program, for other reasons too, if the log has them.
    pub stops: Spread,
    /// How long it took until all threads had stopped.
    pub reaching: Spread,
    /// Stops by operation of the VM (JDK 13 and later), the largest sums first.
    pub operations: Vec<Row>,
    /// The longest stops, the longest first.
    pub worst_stops: Vec<WorstStop>,
    /// The share of the time in which all threads stood still for whatever reason, from 0 to 1; none without stops.
    pub stopped: Option<f64>,
    /// The course; none if lines have no time.
    pub timeline: Option<Timeline>,
    /// Noteworthy events, with advice; the most important first.
    pub findings: Vec<Finding>,
}

/// How the lines of a log were understood.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Lines {
    /// All lines.
    pub total: u64,
    /// All bytes.
    pub bytes: u64,
    /// Lines that belong to no log of collections, or are damaged.
    pub not_understood: u64,
    /// The first of these, cut to 200 characters.
    pub first_not_understood: Option<String>,
    /// Lines outside of the part of the time that was asked for; they are among all lines.
    pub left_out: u64,
    /// True if the log ends within a line or a collection.
    pub is_cut: bool,
    /// How often the time went back: several JVMs have written to the log, or its files are in
    /// another order.
    pub restarts: u64,
    /// Lines whose time does not fit those around them, and was passed over.
    pub misfits: u64,
    /// How often the date has changed against the time since the start of the JVM.
    pub date_jumps: u64,
    /// The longest stretch of time without a line; none of a recording, or where lines have no time.
    pub gap: Option<Gap>,
}

/// Durations of one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The name in the log.
    pub name: String,
    /// The family, for kinds of pauses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// Its durations.
    #[serde(flatten)]
    pub spread: Spread,
}

/// A pause of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorstPause {
    /// Its end, since the start of the JVM.
    #[serde(rename = "at_ms")]
    pub at: Option<Nanos>,
    /// How long it took.
    #[serde(rename = "pause_ms")]
    pub duration: Nanos,
    /// Its kind.
    pub kind: String,
    /// Its cause, empty if the log has none.
    pub cause: String,
    /// The heap.
    pub heap: Option<HeapChange>,
}

/// A stop of all threads, for a collection or anything else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorstStop {
    /// Its end, since the start of the JVM.
    #[serde(rename = "at_ms")]
    pub at: Option<Nanos>,
    /// How long it took, with the time until all threads had stopped.
    #[serde(rename = "stop_ms")]
    pub duration: Nanos,
    /// The time until all threads had stopped, if the log has it.
    #[serde(rename = "reaching_ms")]
    pub reaching: Option<Nanos>,
    /// The operation of the VM, empty if the log has none.
    pub operation: String,
}

/// The heap, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Heap {
    /// The limit, if the log states it.
    pub max: Option<u64>,
    /// The largest size that the log shows.
    pub peak_capacity: Option<u64>,
    /// The most that was used.
    pub peak_used: Option<u64>,
    /// The most that was used after a collection.
    pub peak_after: Option<u64>,
    /// Used after the last collection.
    pub last_after: Option<u64>,
    /// The most that was used after a full collection.
    pub peak_after_full: Option<u64>,
    /// All that collections have freed.
    pub freed: u64,
    /// The size of G1's regions.
    pub region: Option<u64>,
    /// The most regions with humongous objects.
    pub peak_humongous_regions: Option<u64>,
}

/// Bytes over time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// All bytes.
    pub bytes: u64,
    /// Bytes per second.
    pub per_second: Option<f64>,
    /// False where the log shows only some of it, or includes copies that the collector made.
    pub is_exact: bool,
}

/// Metaspace, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Metaspace {
    /// Used when first seen.
    pub first: u64,
    /// Used when last seen.
    pub last: u64,
    /// The most that was used.
    pub peak: u64,
}

/// CPU time of collections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cpu {
    /// In user mode, all threads.
    #[serde(rename = "user_ms")]
    pub user: Nanos,
    /// In the kernel, all threads.
    #[serde(rename = "sys_ms")]
    pub sys: Nanos,
    /// By the clock on the wall.
    #[serde(rename = "real_ms")]
    pub real: Nanos,
    /// Collections that took twice as long as their CPU time, and at least 100 ms.
    pub waiting: u64,
}

/// How often what happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Collections of the young generation, with those that collect some of the old one.
    pub young: u64,
    /// Collections of the whole heap that stop the program.
    pub full: u64,
    /// Concurrent cycles that ended: of G1, CMS, ZGC, Shenandoah.
    pub concurrent_cycles: u64,
    /// Concurrent cycles that were given up.
    pub concurrent_aborted: u64,
    /// Collections that found no room to copy objects to (G1).
    pub evacuation_failures: u64,
    /// Collections because of a humongous object (G1).
    pub humongous_allocations: u64,
    /// Concurrent cycles that did not end in time (CMS).
    pub concurrent_mode_failures: u64,
    /// Promotions for which the old generation had no room (Serial, CMS).
    pub promotion_failures: u64,
    /// Waits of threads for memory (ZGC).
    pub allocation_stalls: u64,
    /// Cycles that ended in a pause (Shenandoah).
    pub degenerated: u64,
    /// Messages on the end of memory.
    pub out_of_memory: u64,
}
