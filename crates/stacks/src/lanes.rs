//! What each thread did when, for a lane of each thread: stretches of one state, by samples or by the events of a recording.
//!
//! ```text
//! worker-1   ####LLLLLLL##########iiiii####      # running, L waiting for a lock, i input or output
//! worker-2   ##########ssssssssssssssss##
//! ```
//!
//! Events of waits state their time to the nanosecond. A sample stands for the time since the look before, as far as no
//! event says otherwise.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use hprof_format::ids::{ThreadSerial, TraceSerial};
use rustc_hash::FxHashMap;

use crate::timeline::{Moment, Timeline, Window};
use crate::{Measure, Own, Stacks, ThreadState, waits_for_work};

/// Texts that lanes name, at most, and the bytes of one: a recording may have a path for each event.
const MAX_TEXTS: usize = 20_000;
const MAX_TEXT: usize = 300;
/// Threads that no record names.
const UNKNOWN: &str = "threads unknown";
/// Virtual threads without a name.
const VIRTUAL: &str = "virtual threads";
/// The class whose method is outermost in the stacks of virtual threads.
const VIRTUAL_CLASS: &str = "java.lang.VirtualThread";
/// Frames from the outermost one on in which it is looked for: a state comes first.
const OUTER: usize = 6;

/// Where lanes come from, which tells how gaps in them are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneSource {
    /// Samples of CPU time: in gaps a thread did not run.
    Cpu,
    /// Samples of all threads: in gaps a thread was not looked at.
    Wall,
    /// Events of a recording: waits below its thresholds are gaps.
    Recording,
}

/// The reason of a state, as places in [`Lanes::texts`]. 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Reason {
    /// The innermost method of the program, or the innermost one.
    pub method: u32,
    /// The class of the lock, or the file or host.
    pub of: u32,
    /// The thread that had the lock.
    pub owner: u32,
}

/// A time in which a thread had one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The time.
    pub time: Window,
    /// The state.
    pub state: ThreadState,
    /// The reason.
    pub reason: Reason,
}

/// A thread, or virtual threads whose names differ by a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// The name.
    pub name: String,
    /// The threads; stretches of several overlap. 0 if it is not known how many.
    pub threads: usize,
    /// The stretches in the order of their starts.
    pub stretches: Vec<Stretch>,
}

/// What each thread did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lanes {
    /// Where they come from.
    pub source: LaneSource,
    /// The texts of reasons; the first is empty.
    pub texts: Vec<String>,
    /// The lanes, those first of which most is to be seen.
    pub lanes: Vec<Lane>,
}

/// Something that a thread did.
#[derive(Debug, Clone, Copy)]
pub struct Did<'a> {
    /// The thread, if that is known.
    pub thread: Option<ThreadSerial>,
    /// The stack.
    pub trace: TraceSerial,
    /// The time.
    pub time: Window,
    /// The state.
    pub state: ThreadState,
    /// The class of the lock, or the file or host; may be empty.
    pub of: &'a str,
    /// The thread that had the lock; may be empty.
    pub owner: &'a str,
}

/// The stretches of a thread.
#[derive(Default)]
struct Stretches {
    exact: Vec<Stretch>,
    sampled: Vec<Stretch>,
    /// A stack of it is none of a virtual thread.
    is_platform: bool,
    busy: f64,
}

#[derive(Clone, Copy)]
struct Place {
    method: u32,
    is_idle: bool,
    is_virtual: bool,
}

/// Collects what threads did.
pub struct LanesBuilder<'a> {
    stacks: &'a Stacks,
    own: Own,
    texts: Vec<String>,
    index: FxHashMap<String, u32>,
    places: FxHashMap<TraceSerial, Place>,
    threads: FxHashMap<Option<ThreadSerial>, Stretches>,
    /// Gaps between samples that are no gaps, in nanoseconds: looks are taken at random moments.
    slack: u64,
}

impl<'a> LanesBuilder<'a> {
    /// No lanes yet, of these stacks. Samples that lie apart by less than `slack` nanoseconds have no gap between them.
    pub fn new(stacks: &'a Stacks, slack: u64) -> Self {
        Self {
            stacks,
            own: Own::Inferred,
            texts: vec![String::new()],
            index: FxHashMap::default(),
            places: FxHashMap::default(),
            threads: FxHashMap::default(),
            slack,
        }
    }

    fn text(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let text = text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or("");
        if let Some(&known) = self.index.get(text) {
            return known;
        }
        if self.texts.len() >= MAX_TEXTS {
            return 0;
        }
        let next = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.index.insert(text.to_owned(), next);
        next
    }

    fn place(&mut self, trace: TraceSerial) -> Place {
        if let Some(&known) = self.places.get(&trace) {
            return known;
        }
        let stacks = self.stacks;
        let frames = stacks.frames_of(trace);
        let mut named = frames
            .iter()
            .map(|&frame| stacks.frame(frame))
            .filter(|frame| !frame.class_name.is_empty());
        let first = named.next();
        let method = match first {
            Some(first) if self.own.is_own(first) => Some(first),
            first => named.find(|frame| self.own.is_own(frame)).or(first),
        };
        let name = method.map(|frame| frame.name()).unwrap_or_default();
        let mut outer = frames.iter().rev().take(OUTER);
        let place = Place {
            method: self.text(&name),
            is_idle: waits_for_work(stacks, frames),
            is_virtual: outer.any(|&frame| *stacks.frame(frame).class_name == *VIRTUAL_CLASS),
        };
        self.places.insert(trace, place);
        place
    }

    fn stretch(&mut self, did: &Did<'_>) -> (Stretch, &mut Stretches) {
        let place = self.place(did.trace);
        let reason = Reason {
            method: place.method,
            of: self.text(did.of),
            owner: self.text(did.owner),
        };
        let thread = self.threads.entry(did.thread).or_default();
        let has_stack = !self.stacks.frames_of(did.trace).is_empty();
        thread.is_platform |= has_stack && !place.is_virtual;
        if !place.is_idle {
            thread.busy += did.time.length() as f64 * interest(did.state);
        }
        let stretch = Stretch {
            time: did.time,
            state: did.state,
            reason,
        };
        (stretch, thread)
    }

    /// Adds something whose time is known.
    pub fn add(&mut self, did: &Did<'_>) {
        let (stretch, thread) = self.stretch(did);
        thread.exact.push(stretch);
    }

    /// Adds a sample, which stands for the time before it.
    pub fn sample(&mut self, did: &Did<'_>) {
        let (stretch, thread) = self.stretch(did);
        thread.sampled.push(stretch);
    }

    /// The lanes of a part of the time; `None` if nothing is in it.
    pub fn finish(
        self,
        source: LaneSource,
        part: Window,
        thread_name: &dyn Fn(ThreadSerial) -> Option<String>,
    ) -> Option<Lanes> {
        // In the order of serials, so that equal names come in one order.
        let threads: BTreeMap<_, _> = self.threads.into_iter().collect();
        let mut lanes: BTreeMap<(String, usize), (f64, Lane)> = BTreeMap::new();
        for (number, (thread, stretches)) in (1..).zip(threads) {
            let name = thread.map(thread_name);
            let is_virtual = !stretches.is_platform && thread.is_some();
            let busy = stretches.busy;
            // Recordings have virtual threads without names as one.
            let is_many = thread.is_none() || matches!(&name, Some(Some(name)) if name == VIRTUAL);
            let stretches = match is_many {
                true => overlapping(stretches, part),
                false => in_order(stretches, self.slack, part),
            };
            if stretches.is_empty() {
                continue;
            }
            let name = match (name, thread) {
                (Some(Some(name)), _) => name,
                (_, Some(serial)) if !is_virtual => format!("thread {serial}"),
                (_, Some(_)) => String::new(),
                (_, None) => UNKNOWN.to_owned(),
            };
            let (name, is_group) = match name.trim_end_matches(|it: char| it.is_ascii_digit()) {
                _ if name.is_empty() => (VIRTUAL.to_owned(), true),
                VIRTUAL => (VIRTUAL.to_owned(), true),
                "" if is_virtual => (VIRTUAL.to_owned(), true),
                stem if is_virtual && stem.len() < name.len() => (format!("{stem}*"), true),
                _ => (name, thread.is_none()),
            };
            // Threads of one name are different ones.
            let key = (name, if is_group { 0 } else { number });
            let lane = lanes.entry(key.clone()).or_insert_with(|| {
                let lane = Lane {
                    name: key.0,
                    threads: 0,
                    stretches: Vec::new(),
                };
                (0.0, lane)
            });
            lane.0 += busy;
            lane.1.threads += usize::from(!is_many);
            lane.1.stretches.extend(stretches);
        }
        if lanes.is_empty() {
            return None;
        }
        let mut lanes: Vec<(f64, Lane)> = lanes.into_values().collect();
        // Ties stay in the order of names.
        lanes.sort_by(|a, b| b.0.total_cmp(&a.0));
        let lanes = lanes.into_iter().map(|(_, mut lane)| {
            lane.stretches.sort_by_key(|it| (it.time.from, it.time.to));
            lane
        });
        Some(Lanes {
            source,
            lanes: lanes.collect(),
            texts: self.texts,
        })
    }
}

/// How much a moment of a state is worth to be seen.
const fn interest(state: ThreadState) -> f64 {
    match state {
        ThreadState::Running
        | ThreadState::WaitsForCpu
        | ThreadState::WaitsForLock
        | ThreadState::Vm
        | ThreadState::Collection => 1.0,
        ThreadState::InputOutput => 0.5,
        ThreadState::NativeWaits => 0.05,
        ThreadState::Waits | ThreadState::Sleeps => 0.01,
        ThreadState::NotRunning | ThreadState::Unknown => 0.0,
    }
}

fn overlapping(stretches: Stretches, part: Window) -> Vec<Stretch> {
    let all = stretches.exact.into_iter().chain(stretches.sampled);
    let inside = all.filter_map(|it| {
        let time = it.time.and(part)?;
        Some(Stretch { time, ..it })
    });
    inside.collect()
}

/// The stretches of one thread one after another: events as they are, samples in the gaps between them.
fn in_order(mut stretches: Stretches, slack: u64, part: Window) -> Vec<Stretch> {
    stretches
        .exact
        .sort_by_key(|it| (it.time.from, Reverse(it.time.to)));
    let mut exact: Vec<Stretch> = Vec::new();
    let mut end = i64::MIN;
    for mut stretch in stretches.exact {
        stretch.time.from = stretch.time.from.max(end);
        if stretch.time.from < stretch.time.to {
            end = stretch.time.to;
            exact.push(stretch);
        }
    }
    stretches
        .sampled
        .sort_by_key(|it| (it.time.to, it.time.from));
    let mut all: Vec<Stretch> = Vec::with_capacity(exact.len() + stretches.sampled.len());
    let mut end = i64::MIN;
    for mut stretch in stretches.sampled {
        let time = &mut stretch.time;
        let gap = time.from.saturating_sub(end);
        // The first has no other before it.
        if end > i64::MIN && (gap <= 0 || gap.unsigned_abs() <= slack) {
            time.from = end;
        }
        let after = exact.partition_point(|it| it.time.from < time.to);
        if let Some(before) = after.checked_sub(1).and_then(|at| exact.get(at)) {
            time.from = time.from.max(before.time.to);
        }
        end = end.max(time.to);
        if time.from < time.to {
            all.push(stretch);
        }
    }
    all.extend(exact);
    all.sort_by_key(|it| it.time.from);
    let mut merged: Vec<Stretch> = Vec::with_capacity(all.len());
    for stretch in all {
        let Some(time) = stretch.time.and(part) else {
            continue;
        };
        match merged.last_mut() {
            Some(last)
                if last.time.to == time.from
                    && (last.state, last.reason) == (stretch.state, stretch.reason) =>
            {
                last.time.to = time.to;
            }
            _ => merged.push(Stretch { time, ..stretch }),
        }
    }
    merged
}

/// The lanes of the samples of a profile with their times, `interval` nanoseconds apart; `None` if it has none.
pub fn of_samples(
    timeline: &Timeline,
    stacks: &Stacks,
    interval: u64,
    part: Window,
    thread_name: &dyn Fn(ThreadSerial) -> Option<String>,
) -> Option<Lanes> {
    let slack = match timeline.is_wall {
        true => interval.saturating_mul(2),
        false => interval / 2,
    };
    let mut builder = LanesBuilder::new(stacks, slack);
    let samples = timeline.moments.iter();
    let samples = samples.filter(|it| it.measure == Measure::Samples && it.value > 0);
    let thread_of = |moment: &Moment| moment.thread.or_else(|| stacks.trace(moment.trace)?.thread);
    // One look at a thread that shares a CPU makes two samples: with it and without.
    let mut looks: FxHashMap<Option<ThreadSerial>, (i64, u64)> = FxHashMap::default();
    for moment in samples {
        let thread = thread_of(moment);
        let nanos = moment.value.saturating_mul(interval);
        let look = looks.entry(thread).or_default();
        let before = match timeline.is_wall && look.0 == moment.at && thread.is_some() {
            true => look.1,
            false => 0,
        };
        *look = (moment.at, before.saturating_add(nanos));
        let to = moment.at.saturating_sub_unsigned(before);
        builder.sample(&Did {
            thread,
            trace: moment.trace,
            time: Window {
                from: to.saturating_sub_unsigned(nanos),
                to,
            },
            state: ThreadState::of(stacks, moment.trace, timeline.is_wall),
            of: "",
            owner: "",
        });
    }
    let source = match timeline.is_wall {
        true => LaneSource::Wall,
        false => LaneSource::Cpu,
    };
    builder.finish(source, part, thread_name)
}

#[cfg(test)]
mod tests;
