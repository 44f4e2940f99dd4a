//! When the costs of a page arose, packed for its script.
//!
//! A page of five million samples must be small and open fast, so times are counted in ticks, of which an hour has
//! fewer than a million, and all numbers of a measure are one stream in LEB128, deflated and in base64:
//!
//! ```text
//! pairs, the node of each, the group of threads of each      a pair is a place in the tree and a group
//! the number of events of each tick
//! the pair of each event                                     in a tick ascending, as differences
//! 0, or 1 and the weight of each event                       0: all weights are 1
//! ```
//!
//! Pairs that are seen often have small numbers.

use std::cmp::Reverse;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use hprof_format::ids::{ThreadSerial, TraceSerial};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::lanes::Lanes;
use crate::timeline::{Moment, Timeline, Window};
use crate::{Measure, Stacks, load};
use thread_lanes::ThreadLanes;

mod thread_lanes;

const NANOS_PER_MICRO: i64 = 1000;
const MICROS_PER_SECOND: u64 = 1_000_000;
const NANOS_PER_SECOND: f64 = 1e9;
const NANOS_PER_MILLI: f64 = 1e6;
/// Lengths of ticks in microseconds; each divides a second.
const TICKS: [u64; 10] = [
    1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
];
const MAX_TICKS: u64 = 1 << 20;
/// Groups of threads with a name; all others are one.
const GROUPS: usize = 7;
const OTHERS: &str = "other threads";
const UNKNOWN: &str = "threads unknown";
/// Parts that long waits are cut into, at most; each is counted where it is.
const MAX_PARTS: u64 = 1 << 20;
/// Pauses that a page shows: the longest.
const MAX_PAUSES: usize = 20_000;

/// The times of a page's costs.
pub struct Times<'a> {
    /// The costs with their times.
    pub timeline: &'a Timeline,
    /// The time that the page shows.
    pub span: Window,
    /// Their stacks.
    pub stacks: &'a Stacks,
    /// Tells the names of threads.
    pub thread_name: &'a dyn Fn(ThreadSerial) -> Option<String>,
    /// The time that stands out.
    pub change: Option<StandsOut>,
    /// Pauses of collections: start in nanoseconds since 1970-01-01 UTC, and nanoseconds.
    pub pauses: Vec<(i64, u64)>,
    /// Stops of all threads at safepoints, given as pauses are.
    pub safepoints: Vec<(i64, u64)>,
    /// What each thread did.
    pub lanes: Option<Lanes>,
}

/// A time that stands out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandsOut {
    /// The time.
    pub window: Window,
    /// The sentence on it, after `Between 14:03:10 and 14:03:25 `.
    pub text: String,
}

impl<'a> Times<'a> {
    /// The times of a recording or of a part of it, with the time that stands out.
    pub fn of(
        timeline: &'a Timeline,
        span: Window,
        stacks: &'a Stacks,
        thread_name: &'a dyn Fn(ThreadSerial) -> Option<String>,
    ) -> Self {
        let change = load::change(timeline, stacks, span);
        Self {
            timeline,
            span,
            stacks,
            thread_name,
            change: change.map(|(load, found)| StandsOut {
                window: found.window,
                text: found.words(&load),
            }),
            pauses: Vec::new(),
            safepoints: Vec::new(),
            lanes: None,
        }
    }
}

/// The clock of all measures, for the script. Times are microseconds, and but for `from` since `from`.
#[derive(Debug, Serialize)]
pub(super) struct Clock {
    /// A whole second, in microseconds since 1970-01-01 UTC.
    from: i64,
    /// The start of the recording.
    first: i64,
    /// Its end.
    to: i64,
    tick: u64,
    ticks: u64,
    groups: Vec<String>,
    pauses: Vec<(i64, i64)>,
    safepoints: Vec<(i64, i64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<ThreadLanes>,
    /// Start, end (since 1970-01-01 UTC) and words of the time that stands out.
    change: Option<Told>,
}

#[derive(Debug, Serialize)]
struct Told {
    from: i64,
    to: i64,
    text: String,
}

/// The packed events of a measure.
#[derive(Debug, Serialize)]
pub(super) struct Packed {
    data: String,
    /// What a weight is in the unit of the tree.
    scale: f64,
    /// What a weight in a second is in the unit of rates.
    factor: f64,
    rate: String,
}

/// Packs the events of measure after measure.
pub(super) struct Packer<'a> {
    times: &'a Times<'a>,
    pub(super) clock: Clock,
    groups: FxHashMap<Option<ThreadSerial>, u8>,
}

/// Where a trace is in a tree.
pub(super) type Place<'b> = dyn FnMut(TraceSerial) -> Option<u32> + 'b;

impl<'a> Packer<'a> {
    pub(super) fn new(times: &'a Times<'a>) -> Self {
        let Window { from, to } = times.span;
        let (first, to) = (
            from.div_euclid(NANOS_PER_MICRO),
            (to - 1).div_euclid(NANOS_PER_MICRO) + 1,
        );
        let from = first - first.rem_euclid(MICROS_PER_SECOND.cast_signed());
        let length = to.abs_diff(from).max(1);
        let tick = TICKS
            .into_iter()
            .find(|tick| length.div_ceil(*tick) <= MAX_TICKS);
        let tick =
            tick.unwrap_or_else(|| (length / MAX_TICKS + 1).next_multiple_of(MICROS_PER_SECOND));
        let micros = |nanos: i64| nanos.div_euclid(NANOS_PER_MICRO);
        let pauses = |all: &[(i64, u64)]| -> Vec<(i64, i64)> {
            let mut longest = all.to_vec();
            longest.sort_by_key(|&(_, nanos)| Reverse(nanos));
            longest.truncate(MAX_PAUSES);
            longest.sort_unstable();
            let of = |(at, nanos): (i64, u64)| {
                let length = i64::try_from(nanos / 1000).unwrap_or(i64::MAX);
                (micros(at).saturating_sub(from), length)
            };
            longest.into_iter().map(of).collect()
        };
        let mut packer = Self {
            times,
            clock: Clock {
                from,
                first: first - from,
                to: to - from,
                tick,
                ticks: length.div_ceil(tick),
                groups: Vec::new(),
                pauses: pauses(&times.pauses),
                safepoints: pauses(&times.safepoints),
                threads: (times.lanes.as_ref()).map(|lanes| ThreadLanes::of(lanes, from)),
                change: times.change.as_ref().map(|it| Told {
                    from: micros(it.window.from),
                    to: micros(it.window.to),
                    text: it.text.clone(),
                }),
            },
            groups: FxHashMap::default(),
        };
        packer.find_groups();
        packer
    }

    fn thread_of(&self, moment: &Moment) -> Option<ThreadSerial> {
        moment
            .thread
            .or_else(|| self.times.stacks.trace(moment.trace)?.thread)
    }

    /// Puts threads together whose names differ by a number at the end; the groups with most events have a name.
    fn find_groups(&mut self) {
        let mut counts: FxHashMap<Option<ThreadSerial>, u64> = FxHashMap::default();
        for moment in &self.times.timeline.moments {
            *counts.entry(self.thread_of(moment)).or_default() += 1;
        }
        let name_of = |thread: Option<ThreadSerial>| {
            let name = thread.and_then(|thread| (self.times.thread_name)(thread));
            name.unwrap_or_else(|| UNKNOWN.to_owned())
        };
        let mut all: FxHashMap<String, (u64, FxHashSet<String>)> = FxHashMap::default();
        let mut stems = Vec::new();
        for (&thread, &count) in &counts {
            let name = name_of(thread);
            let stem = name.trim_end_matches(|it: char| it.is_ascii_digit());
            let group = all.entry(stem.to_owned()).or_default();
            group.0 += count;
            stems.push((thread, stem.to_owned()));
            group.1.insert(name);
        }
        let mut ranked: Vec<_> = all.into_iter().collect();
        ranked.sort_by(|a, b| (Reverse(a.1.0), &a.0).cmp(&(Reverse(b.1.0), &b.0)));
        // A last group that is alone needs no other name.
        let named = match ranked.len() <= GROUPS + 1 {
            true => GROUPS + 1,
            false => GROUPS,
        };
        let mut places: FxHashMap<String, u8> = FxHashMap::default();
        let mut titles = Vec::new();
        for (at, (stem, (_, names))) in ranked.into_iter().enumerate() {
            if at < named {
                titles.push(match names.len() {
                    1 => names.into_iter().next().unwrap_or_default(),
                    _ => format!("{stem}*"),
                });
            } else if at == named {
                titles.push(OTHERS.to_owned());
            }
            places.insert(stem, at.min(named) as u8);
        }
        self.groups = (stems.into_iter())
            .map(|(thread, stem)| (thread, places[&stem]))
            .collect();
        self.clock.groups = titles;
    }

    /// The events of a measure; `None` if it has none. `place` finds the node of a trace, if the tree has one.
    pub(super) fn pack(&self, measure: Measure, place: &mut Place<'_>) -> Option<Packed> {
        let timeline = self.times.timeline;
        let mut places: FxHashMap<TraceSerial, Option<u32>> = FxHashMap::default();
        let mut pairs: FxHashMap<(u32, u8), u32> = FxHashMap::default();
        let mut counts: Vec<((u32, u8), u64)> = Vec::new();
        let mut all: Vec<(u32, u32, u64)> = Vec::new();
        let of_measure = (timeline.moments.iter()).filter(|it| it.measure == measure);
        let lasts = matches!(
            measure,
            Measure::Contention | Measure::Waits | Measure::NativeLock | Measure::EventTime
        );
        let whole = match lasts {
            true => of_measure
                .clone()
                .map(|it| it.value)
                .fold(0, u64::saturating_add),
            false => 0,
        };
        // A wait costs time from its start on; a part of it is where it was.
        let part = (whole / MAX_PARTS).max(self.clock.tick * 10 * NANOS_PER_MICRO.unsigned_abs());
        for moment in of_measure {
            let node = *places
                .entry(moment.trace)
                .or_insert_with(|| place(moment.trace));
            let Some(node) = node else {
                continue;
            };
            let group = self.groups.get(&self.thread_of(moment)).copied();
            let key = (node, group.unwrap_or_default());
            let pair = *pairs.entry(key).or_insert_with(|| {
                counts.push((key, 0));
                counts.len() as u32 - 1
            });
            let mut add = |at: i64, value: u64| {
                counts[pair as usize].1 += 1;
                all.push((self.tick_of(at), pair, value));
            };
            if !lasts {
                add(moment.at, moment.value);
                continue;
            }
            let (mut at, mut left) = (moment.at, moment.value);
            while left > 0 {
                let now = left.min(part);
                add(at, now);
                left -= now;
                at = at.saturating_add_unsigned(now);
                if !self.times.span.contains(at) {
                    break;
                }
            }
        }
        if all.is_empty() {
            return None;
        }
        let mut ranked: Vec<u32> = (0..counts.len() as u32).collect();
        ranked.sort_by_key(|&pair| Reverse(counts[pair as usize].1));
        let mut rank = vec![0_u32; counts.len()];
        for (new, &old) in (0..).zip(&ranked) {
            rank[old as usize] = new;
        }
        for event in &mut all {
            event.1 = rank[event.1 as usize];
        }
        all.sort_unstable();
        let mut stream = Stream::default();
        stream.number(ranked.len() as u64);
        let keys = ranked.iter().map(|&pair| counts[pair as usize].0);
        keys.clone()
            .for_each(|(node, _)| stream.number(node.into()));
        keys.for_each(|(_, group)| stream.number(group.into()));
        let mut rest = all.as_slice();
        for tick in 0..self.clock.ticks {
            let here = rest.partition_point(|event| u64::from(event.0) <= tick);
            stream.number(here as u64);
            rest = &rest[here..];
        }
        let mut last = (u32::MAX, 0);
        for &(tick, pair, _) in &all {
            let from = match last.0 == tick {
                true => last.1,
                false => 0,
            };
            stream.number(u64::from(pair - from));
            last = (tick, pair);
        }
        let are_ones = all.iter().all(|event| event.2 == 1);
        stream.number(u64::from(!are_ones));
        if !are_ones {
            all.iter().for_each(|event| stream.number(event.2));
        }
        let (factor, rate) = rate_of(timeline, measure);
        Some(Packed {
            data: stream.packed(),
            scale: match measure.is_time() {
                true => 1.0 / NANOS_PER_MILLI,
                false => 1.0,
            },
            factor,
            rate,
        })
    }

    fn tick_of(&self, at: i64) -> u32 {
        let micros = at
            .div_euclid(NANOS_PER_MICRO)
            .saturating_sub(self.clock.from);
        let tick = u64::try_from(micros).unwrap_or(0) / self.clock.tick;
        tick.min(self.clock.ticks - 1) as u32
    }
}

/// What a weight of a measure is by the second, and the unit.
fn rate_of(timeline: &Timeline, measure: Measure) -> (f64, String) {
    let cores = match measure {
        Measure::Time => Some(1),
        Measure::Samples if !timeline.is_wall => timeline.sample_nanos,
        _ => None,
    };
    match (cores, measure) {
        (Some(nanos), _) => (nanos as f64 / NANOS_PER_SECOND, "cores".to_owned()),
        (_, Measure::Contention | Measure::Waits | Measure::NativeLock | Measure::EventTime) => {
            (1.0 / NANOS_PER_SECOND, "threads".to_owned())
        }
        _ => (1.0, format!("{}/s", measure.unit())),
    }
}

/// Numbers in LEB128, deflated as they come.
struct Stream {
    out: DeflateEncoder<Vec<u8>>,
    buffer: Vec<u8>,
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            out: DeflateEncoder::new(Vec::new(), Compression::default()),
            buffer: Vec::new(),
        }
    }
}

impl Stream {
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.buffer.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.buffer.push(value as u8);
        if self.buffer.len() >= 1 << 16 {
            self.flush();
        }
    }

    fn flush(&mut self) {
        // A vector takes all bytes.
        let _ = self.out.write_all(&self.buffer);
        self.buffer.clear();
    }

    fn packed(mut self) -> String {
        self.flush();
        STANDARD.encode(self.out.finish().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
