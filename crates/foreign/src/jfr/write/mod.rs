//! Writes a recording that `jfr` and JDK Mission Control open: a chunk with the samples, the
//! allocation and the contention of a profile. What has times comes first, in a chunk of its own.

mod bytes;
mod metadata;
mod native;
mod pools;
mod slow;
mod timed;

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_stacks::pictures::profile::Profile;
use hprof_stacks::timeline::Timeline;
use hprof_stacks::{Measure, Weights};

use bytes::Bytes;
use metadata::id;
pub use native::NativeMemory;
use pools::Pools;
pub use slow::slow_calls;

/// The type of event that a chunk declares, and never has, if its profile did not say when events happened.
pub(super) const SPREAD: &str = "hprof.TimesAreSpread";

/// The clock's value at the start; it counts nanoseconds.
const START_TICKS: u64 = 1;
const TICKS_PER_SECOND: u64 = 1_000_000_000;
const TICKS_PER_MILLI: u64 = 1_000_000;
/// The bytes in front of the events.
const HEAD: usize = 68;
/// The address of a lock: a profile has sums of stacks, for any locks.
const NO_ADDRESS: u64 = 0;
/// More samples than this are written as one for several.
const MAX_SAMPLES: u64 = 4_000_000;

/// The measures that a recording has events for. CPU time is written as a sample for each
/// millisecond if there are no samples.
pub fn measures(profile: &Profile<'_>) -> Vec<Measure> {
    let has = |measure| profile.weights.iter().any(|it| it.measure == measure);
    let cpu = match has(Measure::Samples) {
        true => Measure::Samples,
        false => Measure::Time,
    };
    let all = [
        cpu,
        Measure::AllocatedBytes,
        Measure::Contention,
        Measure::NativeBytes,
        Measure::NativeLock,
    ];
    all.into_iter().filter(|&measure| has(measure)).collect()
}

/// The bytes of a recording of those of a profile's measures that [`measures`] names. Costs of which the profile does not
/// say when they arose stand a millisecond apart. `memory` stands for the profile's own measure of native memory.
pub fn write(
    profile: &Profile<'_>,
    memory: Option<NativeMemory<'_>>,
    created_millis: Option<u64>,
    timeline: Option<&Timeline>,
) -> Vec<u8> {
    let mut all = measures(profile);
    all.retain(|&it| it != Measure::NativeBytes || memory.is_none());
    let is_timed = |measure: &Measure| timeline.is_some_and(|it| timed::has(it, *measure));
    let (with_times, without): (Vec<_>, Vec<_>) = all.into_iter().partition(is_timed);
    let mut bytes = Vec::new();
    if let Some(timeline) = timeline.filter(|_| !with_times.is_empty()) {
        bytes = timed::chunk(profile, &with_times, timeline);
        if without.is_empty() && memory.is_none() {
            return bytes;
        }
    }
    let mut writer = Writer::new(profile);
    for measure in without {
        let weights = profile.weights.iter().find(|it| it.measure == measure);
        match weights {
            Some(allocated) if measure == Measure::NativeBytes => {
                let live = None;
                native::events(&mut writer, NativeMemory { allocated, live });
            }
            Some(weights) => writer.events(weights),
            None => {}
        }
    }
    if let Some(memory) = memory {
        native::events(&mut writer, memory);
    }
    let length = writer.now - START_TICKS;
    let start = match timeline {
        Some(timeline) => timeline.span.from.max(0).cast_unsigned(),
        None => created_millis.unwrap_or(0).saturating_mul(TICKS_PER_MILLI),
    };
    bytes.append(&mut writer.finish(start, length, metadata::Times::Spread));
    bytes
}

struct Writer<'a> {
    profile: &'a Profile<'a>,
    pools: Pools,
    chunk: Bytes,
    now: u64,
    /// The last address that was made up.
    addresses: u64,
}

impl<'a> Writer<'a> {
    fn new(profile: &'a Profile<'a>) -> Self {
        Self {
            profile,
            pools: Pools::default(),
            chunk: Bytes(vec![0; HEAD]),
            now: START_TICKS,
            addresses: 0,
        }
    }

    fn events(&mut self, weights: &Weights) {
        let for_each = weights.total.div_ceil(MAX_SAMPLES).max(1);
        // The sum of rounded numbers of samples is the rounded sum.
        let mut sum = 0_u64;
        for row in weights.rows.iter().filter(|row| row.value > 0) {
            let class = row.class.as_deref().map_or(0, |it| self.pools.class(it));
            match weights.measure {
                Measure::AllocatedBytes => {
                    let (thread, stack) = self.trace(row.trace);
                    self.event(id::ALLOCATION_SAMPLE, &[thread, stack, class, row.value]);
                }
                Measure::Contention => {
                    let (thread, stack) = self.trace(row.trace);
                    let ticks = row.value.saturating_mul(TICKS_PER_MILLI);
                    self.event(id::MONITOR_ENTER, &[ticks, thread, stack, class]);
                    self.now = self.now.saturating_add(ticks);
                }
                Measure::NativeLock => {
                    let (thread, stack) = self.trace(row.trace);
                    let ticks = row.value.saturating_mul(TICKS_PER_MILLI);
                    self.event(id::NATIVE_LOCK, &[ticks, thread, stack, NO_ADDRESS]);
                    self.now = self.now.saturating_add(ticks);
                }
                _ => {
                    let before = sum / for_each;
                    sum = sum.saturating_add(row.value);
                    let (thread, stack) = self.trace(row.trace);
                    for _ in before..sum / for_each {
                        self.event(id::EXECUTION_SAMPLE, &[thread, stack, pools::RUNNABLE]);
                    }
                }
            }
        }
    }

    /// Thread and stack of a trace.
    fn trace(&mut self, trace: TraceSerial) -> (u64, u64) {
        let stacks = self.profile.stacks;
        let thread = stacks.trace(trace).and_then(|trace| trace.thread);
        (self.thread(thread), self.pools.stack(trace, stacks))
    }

    fn thread(&mut self, thread: Option<ThreadSerial>) -> u64 {
        thread.map_or(0, |serial| {
            let name = (self.profile.thread_name)(serial);
            let name = name.unwrap_or_else(|| format!("thread {serial}"));
            self.pools.thread(serial, name)
        })
    }

    fn event(&mut self, of: u64, values: &[u64]) {
        let now = self.step();
        self.event_at(now, of, values);
    }

    /// The time of this event; the next one is a millisecond later.
    fn step(&mut self) -> u64 {
        let now = self.now;
        self.now = now.saturating_add(TICKS_PER_MILLI);
        now
    }

    fn event_at(&mut self, ticks: u64, of: u64, values: &[u64]) {
        let mut body = Bytes::default();
        body.number(ticks);
        for &value in values {
            body.number(value);
        }
        self.chunk.event(of, &body);
    }

    /// The bytes of the chunk: its start in nanoseconds since 1970-01-01 UTC, its length in ticks.
    fn finish(mut self, start: u64, length: u64, times: metadata::Times) -> Vec<u8> {
        let pools = self.chunk.0.len() as u64;
        self.chunk.event(1, &self.pools.body());
        let metadata = self.chunk.0.len() as u64;
        self.chunk.event(0, &metadata::body(times));
        let mut head = Vec::with_capacity(HEAD);
        head.extend_from_slice(super::MAGIC);
        head.extend_from_slice(&[0, 2, 0, 0]);
        let numbers = [
            self.chunk.0.len() as u64,
            pools,
            metadata,
            start,
            length,
            START_TICKS,
            TICKS_PER_SECOND,
        ];
        for number in numbers {
            head.extend_from_slice(&number.to_be_bytes());
        }
        // Integers are compressed.
        head.extend_from_slice(&1_u32.to_be_bytes());
        self.chunk.0[..HEAD].copy_from_slice(&head);
        self.chunk.0
    }
}
