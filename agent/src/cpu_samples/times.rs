//! The times of samples, for `timeline=y`, until they are written.

use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};

use hprof_format::ids::TraceSerial;
use hprof_stacks::events::{Chunk, Clock, Event};

use crate::options::Settings;
use crate::os::timer;
use crate::report;

/// Bytes that wait for a dump; more go into the output between dumps.
const MAX_WAITING: usize = 256 << 10;

/// Samples with their times that are not written yet.
pub struct Times {
    is_on: bool,
    clock: Clock,
    interval: u64,
    max: u64,
    /// Samples with a time, since the last dump to a front-end or since the start.
    kept: u64,
    /// Samples without one.
    lost: u64,
    was_reported: bool,
    chunks: Vec<Chunk>,
    /// Chunks that are in the dump that is under way.
    dumped: usize,
    /// The counts are those since now.
    is_first: bool,
}

impl Times {
    /// No samples yet. Keeps none unless the options ask for it.
    pub fn new(settings: &Settings) -> Self {
        Self {
            is_on: settings.timeline,
            clock: match settings.samples_wall() {
                true => Clock::Wall,
                false => Clock::Cpu,
            },
            interval: u64::try_from(settings.interval.as_nanos()).unwrap_or(u64::MAX),
            max: settings.timeline_max,
            kept: 0,
            lost: 0,
            was_reported: false,
            chunks: Vec::new(),
            dumped: 0,
            is_first: true,
        }
    }

    /// The recording begins now.
    pub fn start(&mut self) {
        if self.is_on {
            self.open();
        }
    }

    /// Samples that have no time, since the start.
    pub fn lost(&self) -> Option<u64> {
        self.is_on.then_some(self.lost)
    }

    /// Keeps the time of a sample, in nanoseconds of the monotonic clock.
    pub fn add(&mut self, at: u64, trace: TraceSerial, thread: u32, weight: u64) {
        if !self.is_on {
            return;
        }
        if self.chunks.last().is_none_or(Chunk::is_whole) {
            self.open();
        }
        let Some(chunk) = self.chunks.last_mut() else {
            return;
        };
        if self.kept >= self.max {
            self.lost += weight;
            chunk.lost += weight;
            if !std::mem::replace(&mut self.was_reported, true) {
                report::note(&format!(
                    "{} samples have their times; later ones are in the sums alone (timelinemax=)",
                    self.max
                ));
            }
            return;
        }
        self.kept += 1;
        let thread = (thread > 0).then(|| hprof_format::ids::ThreadSerial::new(thread));
        chunk.push(Event {
            at: i64::try_from(at).unwrap_or(i64::MAX),
            trace,
            thread,
            weight,
        });
    }

    /// Begins a chunk, where the one before ends.
    fn open(&mut self) {
        let now = now();
        if let Some(last) = self.chunks.last_mut() {
            last.to = now;
        }
        let mut chunk = Chunk::begin(self.clock, self.interval, now);
        chunk.is_first = std::mem::take(&mut self.is_first);
        self.chunks.push(chunk);
    }

    /// Returns whether more than 256 kB of samples wait, which are then written before a dump.
    pub fn is_much(&self) -> bool {
        self.chunks.iter().map(Chunk::bytes).sum::<usize>() > MAX_WAITING
    }

    /// The samples that wait as texts for the profile, and their traces. They wait until [`Self::written`].
    pub fn texts(&mut self) -> (Vec<String>, HashSet<TraceSerial>) {
        if self.is_on {
            self.open();
        }
        // The chunk that was begun now is that of later samples.
        self.dumped = self.chunks.len().saturating_sub(1);
        let chunks = self.chunks.get(..self.dumped).unwrap_or_default();
        let moved = moved();
        let texts = chunks.iter().map(|chunk| chunk.text(moved)).collect();
        let traces = chunks.iter().flat_map(Chunk::events).map(|it| it.trace);
        (texts, traces.collect())
    }

    /// The texts are in the output, which does not keep the samples in this process's memory if `is_gone`.
    pub fn written(&mut self, is_gone: bool) {
        self.chunks.drain(..self.dumped.min(self.chunks.len()));
        self.dumped = 0;
        if is_gone {
            self.kept = 0;
            self.was_reported = false;
        }
    }

    /// Forgets all samples, those that are written too.
    pub fn reset(&mut self) {
        self.chunks.clear();
        self.dumped = 0;
        self.kept = 0;
        self.was_reported = false;
        self.is_first = true;
        self.start();
    }
}

fn now() -> i64 {
    i64::try_from(timer::monotonic_nanos()).unwrap_or(i64::MAX)
}

/// The nanoseconds from the monotonic clock to the time since 1970-01-01 UTC.
fn moved() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_nanos())
        .unwrap_or(i64::MAX)
        .saturating_sub(now())
}
