//! Writes a recording that `jfr` and JDK Mission Control open: one chunk with the samples, the
//! allocation and the contention of a profile.

mod bytes;
mod metadata;
mod pools;

use hprof_format::ids::TraceSerial;
use hprof_stacks::pictures::profile::Profile;
use hprof_stacks::{Measure, Weights};

use bytes::Bytes;
use metadata::id;
use pools::Pools;

/// The type of event that a recording declares, and never has, if its profile did not say when events happened.
pub(super) const SPREAD: &str = "hprof.TimesAreSpread";

/// The clock's value at the start; it counts nanoseconds.
const START_TICKS: u64 = 1;
const TICKS_PER_SECOND: u64 = 1_000_000_000;
const TICKS_PER_MILLI: u64 = 1_000_000;
/// The bytes in front of the events.
const HEAD: usize = 68;
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
    let all = [cpu, Measure::AllocatedBytes, Measure::Contention];
    all.into_iter().filter(|&measure| has(measure)).collect()
}

/// The bytes of a recording of those of a profile's measures that [`measures`] names. Profiles do not
/// say when a sample was taken, so events stand a millisecond apart.
pub fn write(profile: &Profile<'_>, created_millis: Option<u64>) -> Vec<u8> {
    let mut writer = Writer {
        profile,
        pools: Pools::default(),
        chunk: Bytes(vec![0; HEAD]),
        now: START_TICKS,
    };
    for measure in measures(profile) {
        let weights = profile.weights.iter().find(|it| it.measure == measure);
        if let Some(weights) = weights {
            writer.events(weights);
        }
    }
    writer.finish(created_millis.unwrap_or(0))
}

struct Writer<'a> {
    profile: &'a Profile<'a>,
    pools: Pools,
    chunk: Bytes,
    now: u64,
}

impl Writer<'_> {
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
        let thread = thread.map_or(0, |serial| {
            let name = (self.profile.thread_name)(serial);
            let name = name.unwrap_or_else(|| format!("thread {serial}"));
            self.pools.thread(serial, name)
        });
        (thread, self.pools.stack(trace, stacks))
    }

    fn event(&mut self, of: u64, values: &[u64]) {
        let mut body = Bytes::default();
        body.number(self.now);
        for &value in values {
            body.number(value);
        }
        self.chunk.event(of, &body);
        self.now = self.now.saturating_add(TICKS_PER_MILLI);
    }

    fn finish(mut self, created_millis: u64) -> Vec<u8> {
        let pools = self.chunk.0.len() as u64;
        self.chunk.event(1, &self.pools.body());
        let metadata = self.chunk.0.len() as u64;
        self.chunk.event(0, &metadata::body());
        let mut head = Vec::with_capacity(HEAD);
        head.extend_from_slice(super::MAGIC);
        head.extend_from_slice(&[0, 2, 0, 0]);
        let numbers = [
            self.chunk.0.len() as u64,
            pools,
            metadata,
            created_millis.saturating_mul(TICKS_PER_MILLI),
            self.now - START_TICKS,
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
