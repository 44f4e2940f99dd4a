//! Where the time of a slow call went: the samples of its thread while it ran, as a strip of states.
//!
//! ```text
//! call    began ├──────────────────────────────────────┤ ended
//! samples        running  running │ sleeping │ blocked
//! strip          ################ ssssssssss LLLLLLLLL.
//! ```
//!
//! On the wall clock a sample counts the time since the look before, so the states of a call add up to its time, but for
//! the time after the last sample. Samples of CPU time show where a call ran and nothing else.

use std::collections::BTreeMap;

use hprof_format::ids::TraceSerial;
use serde::Serialize;

use crate::slow::{SlowCall, SlowPause};
use crate::timeline::{Moment, Timeline, Window};
use crate::{Own, Stacks, ThreadState};

/// A part of a call in which its thread had one state. Times are in nanoseconds since the call began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// Its first.
    pub from_ns: u64,
    /// The one after its last.
    pub to_ns: u64,
    /// The state.
    pub state: ThreadState,
}

/// The time of a call in one state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StateTime {
    /// The state.
    pub state: ThreadState,
    /// Its nanoseconds, to an interval of the samples.
    pub wall_ns: u64,
    /// The innermost method in most of this time, with the method of the program that called it.
    pub method: Option<String>,
}

/// Where the time of a call went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Strip {
    /// The samples within the call.
    pub samples: u64,
    /// The states one after another; they are without gaps and cover the call.
    pub segments: Vec<Segment>,
    /// The time in each state, the longest first.
    pub states: Vec<StateTime>,
}

impl Strip {
    /// The strip with a number of parts at most: if it has more, each part has the state that has most of it.
    #[must_use]
    pub fn within(mut self, parts: usize) -> Self {
        if self.segments.len() <= parts {
            return self;
        }
        let length = self.segments.last().map_or(0, |last| last.to_ns);
        let at = |cell: usize| (u128::from(length) * cell as u128 / parts.max(1) as u128) as u64;
        let mut segments: Vec<Segment> = Vec::with_capacity(parts);
        for (number, state) in self.cells(parts).into_iter().enumerate() {
            let (from_ns, to_ns) = (at(number), at(number + 1));
            match segments.last_mut() {
                Some(last) if last.state == state => last.to_ns = to_ns,
                _ => segments.push(Segment {
                    from_ns,
                    to_ns,
                    state,
                }),
            }
        }
        self.segments = segments;
        self
    }

    /// The state that has most of each of `cells` equal parts of the call.
    pub fn cells(&self, cells: usize) -> Vec<ThreadState> {
        let length = self.segments.last().map_or(0, |last| last.to_ns);
        let at = |cell: usize| u128::from(length) * cell as u128 / cells.max(1) as u128;
        let cell = |number: usize| {
            let window = Window {
                from: at(number) as i64,
                to: at(number + 1) as i64,
            };
            let mut times: BTreeMap<ThreadState, u64> = BTreeMap::new();
            for segment in &self.segments {
                let nanos = segment.to_ns - segment.from_ns;
                let within = window.overlap(segment.from_ns.cast_signed(), nanos);
                *times.entry(segment.state).or_default() += within;
            }
            let most = times
                .into_iter()
                .rev()
                .max_by_key(|&(state, time)| (time > 0, state != ThreadState::Unknown, time));
            most.map_or(ThreadState::Unknown, |(state, _)| state)
        };
        (0..cells).map(cell).collect()
    }
}

/// Why calls have no strips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoStrips {
    /// The profile has no samples with times.
    NoTimes,
    /// The profile does not state the interval of its samples.
    NoInterval,
}

impl NoStrips {
    /// The reason in words, and what to do.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoTimes => {
                "no strips of the slowest calls: the profile has no samples with times; record cpu=wall with slow="
            }
            Self::NoInterval => {
                "no strips of the slowest calls: the profile does not say how often samples were taken; record it anew"
            }
        }
    }
}

/// The samples of a profile, to look calls up in.
#[derive(Debug)]
pub struct CallStrips<'a> {
    stacks: &'a Stacks,
    moments: &'a [Moment],
    interval: u64,
    is_wall: bool,
    own: Own,
}

impl<'a> CallStrips<'a> {
    /// The samples of a profile that was read with times, and the nanoseconds between them.
    ///
    /// # Errors
    /// If there are none, or their interval is unknown.
    pub fn new(
        stacks: &'a Stacks,
        timeline: Option<&'a Timeline>,
        interval: Option<u64>,
    ) -> Result<Self, NoStrips> {
        let timeline = timeline.ok_or(NoStrips::NoTimes)?;
        let interval = interval.or(timeline.sample_nanos);
        Ok(Self {
            stacks,
            moments: &timeline.moments,
            interval: interval.filter(|it| *it > 0).ok_or(NoStrips::NoInterval)?,
            is_wall: timeline.is_wall,
            own: Own::Inferred,
        })
    }

    /// The samples are of all states, and not of running threads only.
    pub fn is_wall(&self) -> bool {
        self.is_wall
    }

    /// The strip of a call; `None` if its thread has no number in the profile, or no sample was taken meanwhile.
    pub fn strip(&self, call: &SlowCall) -> Option<Strip> {
        let thread = call.thread_serial()?;
        let window = Window {
            from: call.began,
            to: call.began.saturating_add_unsigned(call.wall),
        };
        let first = self.moments.partition_point(|it| it.at < window.from);
        let within = self.moments[first..]
            .iter()
            .take_while(|it| it.at <= window.to)
            .filter(|it| it.thread == Some(thread) && it.value > 0);
        let within: Vec<&Moment> = within.collect();
        if within.is_empty() {
            return None;
        }
        Some(self.of_samples(call, &within))
    }

    fn of_samples(&self, call: &SlowCall, samples: &[&Moment]) -> Strip {
        let gap = match self.is_wall {
            true => ThreadState::Unknown,
            false => ThreadState::NotRunning,
        };
        let mut segments: Vec<Segment> = Vec::new();
        let mut add = |from: u64, to: u64, state: ThreadState| match segments.last_mut() {
            _ if from >= to => {}
            Some(last) if last.state == state => last.to_ns = to,
            _ => segments.push(Segment {
                from_ns: from,
                to_ns: to,
                state,
            }),
        };
        let mut places: BTreeMap<(ThreadState, TraceSerial), u64> = BTreeMap::new();
        let mut end = 0;
        // One look at a thread that shares a CPU makes two samples: with it and without.
        let is_one_look = |a: &&Moment, b: &&Moment| self.is_wall && a.at == b.at;
        for look in samples.chunk_by(is_one_look) {
            let Some(at) = look.first().map(|it| call.began.abs_diff(it.at)) else {
                continue;
            };
            let weight = look
                .iter()
                .fold(0u64, |sum, it| sum.saturating_add(it.value));
            let nanos = weight.saturating_mul(self.interval);
            // The steps between looks are random, around the interval.
            let slack = match self.is_wall {
                true => nanos.saturating_add(2 * self.interval),
                false => nanos,
            };
            let from = match at.saturating_sub(end) <= slack {
                true => end,
                false => at.saturating_sub(nanos).max(end),
            };
            add(end, from, gap);
            let mut begin = from;
            let mut seen = 0u64;
            for sample in look {
                seen = seen.saturating_add(sample.value);
                let part = u128::from(at.saturating_sub(from)) * u128::from(seen);
                let to = from + (part / u128::from(weight.max(1))) as u64;
                let state = ThreadState::of(self.stacks, sample.trace, self.is_wall);
                add(begin, to, state);
                *places.entry((state, sample.trace)).or_default() += to - begin;
                begin = to;
            }
            end = end.max(at);
        }
        add(end, call.wall, gap);
        let segments = with_pauses(&segments, &call.pauses);
        let mut times: BTreeMap<ThreadState, u64> = BTreeMap::new();
        for segment in &segments {
            *times.entry(segment.state).or_default() += segment.to_ns - segment.from_ns;
        }
        let mut states: Vec<StateTime> = times
            .into_iter()
            .map(|(state, wall_ns)| StateTime {
                state,
                wall_ns,
                method: self.method(state, &places),
            })
            .collect();
        states.sort_by_key(|it| std::cmp::Reverse(it.wall_ns));
        Strip {
            samples: samples.len() as u64,
            segments,
            states,
        }
    }

    /// The method in which a state took most time.
    fn method(
        &self,
        state: ThreadState,
        places: &BTreeMap<(ThreadState, TraceSerial), u64>,
    ) -> Option<String> {
        let mut methods: BTreeMap<String, u64> = BTreeMap::new();
        for (&(_, trace), &nanos) in places.iter().filter(|((of, _), _)| *of == state) {
            let frames = self.stacks.frames_of(trace).iter();
            let mut frames = frames
                .map(|&frame| self.stacks.frame(frame))
                .filter(|it| !it.class_name.is_empty());
            let Some(inner) = frames.next() else {
                continue;
            };
            let name = match self.own.is_own(inner) {
                true => inner.name(),
                false => match frames.find(|it| self.own.is_own(it)) {
                    Some(own) => format!("{} called by {}", inner.name(), own.name()),
                    None => inner.name(),
                },
            };
            *methods.entry(name).or_default() += nanos;
        }
        let most = methods.into_iter().max_by_key(|(_, nanos)| *nanos);
        most.map(|(name, _)| name)
    }
}

/// The segments of a call, with the time in which collections stopped the program as a state of its own: that is known exactly.
fn with_pauses(segments: &[Segment], pauses: &[SlowPause]) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::with_capacity(segments.len() + 2 * pauses.len());
    let mut add = |from_ns: u64, to_ns: u64, state: ThreadState| match all.last_mut() {
        _ if from_ns >= to_ns => {}
        Some(last) if last.state == state => last.to_ns = to_ns,
        _ => all.push(Segment {
            from_ns,
            to_ns,
            state,
        }),
    };
    for segment in segments {
        let mut at = segment.from_ns;
        for &SlowPause(from, nanos) in pauses {
            let (from, to) = (from.max(at), from.saturating_add(nanos).min(segment.to_ns));
            if from < to {
                add(at, from, segment.state);
                add(from, to, ThreadState::Collection);
                at = to;
            }
        }
        add(at, segment.to_ns, segment.state);
    }
    all
}

#[cfg(test)]
mod tests {
    use crate::{Frame, Measure, Trace};
    use hprof_format::ids::ThreadSerial;
    use hprof_format::model::Line;

    use super::*;

    const MILLI: u64 = 1_000_000;

    /// Stacks by their frames, innermost first, numbered from 1.
    fn stacks(all: &[&[&str]]) -> Stacks {
        let mut stacks = Stacks::default();
        for (serial, frames) in (1..).map(TraceSerial::new).zip(all) {
            let frames = frames.iter().map(|name| {
                let (class, method) = name.rsplit_once('.').unwrap_or(("", name));
                stacks.intern(Frame {
                    class_name: class.into(),
                    method: method.into(),
                    source_file: None,
                    line: Line::Unknown,
                })
            });
            let frames = frames.collect();
            let thread = None;
            stacks.add(serial, Trace { thread, frames });
        }
        stacks
    }

    fn call(millis: u64) -> SlowCall {
        SlowCall {
            began: 1_000_000_000,
            wall: millis * MILLI,
            cpu: 0,
            thread: "one".into(),
            serial: Some(7),
            ..SlowCall::default()
        }
    }

    /// Samples: milliseconds since the call began, stack, weight, thread.
    fn strip(stacks: &Stacks, is_wall: bool, samples: &[(i64, u32, u64, u32)]) -> Option<Strip> {
        let moments: Vec<Moment> = samples
            .iter()
            .map(|&(at, trace, value, thread)| Moment {
                at: 1_000_000_000 + at * 1_000_000,
                value,
                trace: TraceSerial::new(trace),
                thread: Some(ThreadSerial::new(thread)),
                measure: Measure::Samples,
            })
            .collect();
        let strips = CallStrips {
            stacks,
            moments: &moments,
            interval: 10 * MILLI,
            is_wall,
            own: Own::Inferred,
        };
        strips.strip(&call(100))
    }

    #[test]
    fn states_of_the_wall_clock_add_up_to_the_call() {
        let stacks = stacks(&[
            &["acme.A.runs", "[running]"],
            &["acme.A.runs", "[runnable]"],
            &["java.lang.Thread.sleep", "acme.A.sleeps", "[sleeping]"],
        ]);
        let samples = [
            (-5, 3, 1, 7),
            (10, 1, 1, 7),
            // Another thread.
            (15, 3, 1, 8),
            (40, 1, 1, 7),
            (40, 2, 2, 7),
            (90, 3, 5, 7),
            (150, 1, 6, 7),
        ];
        let found = strip(&stacks, true, &samples).unwrap();
        let segment = |from: u64, to: u64, state| Segment {
            from_ns: from * MILLI,
            to_ns: to * MILLI,
            state,
        };
        let segments = [
            segment(0, 20, ThreadState::Running),
            segment(20, 40, ThreadState::WaitsForCpu),
            segment(40, 90, ThreadState::Sleeps),
            segment(90, 100, ThreadState::Unknown),
        ];
        assert_eq!(found.segments, segments);
        assert_eq!(found.samples, 4);
        assert_eq!(found.states[0].state, ThreadState::Sleeps);
        assert_eq!(
            found.states[0].method.as_deref(),
            Some("java.lang.Thread.sleep called by acme.A.sleeps")
        );
        let cells = found.cells(10);
        assert_eq!(cells[..2], [ThreadState::Running; 2]);
        assert_eq!(cells[4..9], [ThreadState::Sleeps; 5]);
        assert_eq!(cells[9], ThreadState::Unknown);
        // Few parts cover the call too, and the times of the states stay.
        let few = found.clone().within(2);
        assert_eq!(few.segments.last().unwrap().to_ns, 100 * MILLI);
        assert!(few.segments.len() <= 2 && few.states == found.states);
    }

    #[test]
    fn pauses_are_a_state_of_their_own() {
        let part = |from_ns, to_ns, state| Segment {
            from_ns,
            to_ns,
            state,
        };
        let (runs, waits) = (ThreadState::Running, ThreadState::Vm);
        let segments = [part(0, 100, runs), part(100, 200, waits)];
        let pauses = [SlowPause(10, 20), SlowPause(90, 30), SlowPause(190, 50)];
        let expected = [
            part(0, 10, runs),
            part(10, 30, ThreadState::Collection),
            part(30, 90, runs),
            part(90, 120, ThreadState::Collection),
            part(120, 190, waits),
            part(190, 200, ThreadState::Collection),
        ];
        assert_eq!(with_pauses(&segments, &pauses), expected);
        assert_eq!(with_pauses(&segments, &[]), segments);
    }

    #[test]
    fn samples_of_cpu_time_show_where_a_call_ran() {
        let stacks = stacks(&[&["acme.A.runs"]]);
        let found = strip(&stacks, false, &[(10, 1, 1, 7), (80, 1, 2, 7)]).unwrap();
        let states: Vec<_> = found
            .segments
            .iter()
            .map(|it| (it.to_ns / MILLI, it.state))
            .collect();
        let expected = [
            (10, ThreadState::Running),
            (60, ThreadState::NotRunning),
            (80, ThreadState::Running),
            (100, ThreadState::NotRunning),
        ];
        assert_eq!(states, expected);
        assert_eq!(strip(&stacks, false, &[(10, 1, 1, 8)]), None);
    }
}
