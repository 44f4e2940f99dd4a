//! The samples of a measure: costs by stack and thread, with times where the profile has all of them.

use std::collections::BTreeMap;

use crate::pictures::profile::Profile;
use crate::requests::{RequestIds, Requests};
use crate::timeline::Timeline;
use crate::{Measure, Weight, Weights};
use hprof_format::ids::{ThreadSerial, TraceSerial};
use rustc_hash::FxHashMap;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// The costs of one stack.
pub(super) struct Sample<'a> {
    /// None for costs of which the profile has no stack.
    pub trace: Option<TraceSerial>,
    /// The class of objects.
    pub class: Option<&'a str>,
    /// The thread.
    pub thread: Option<ThreadSerial>,
    /// The request that the thread worked for.
    pub request: Option<RequestIds>,
    /// One value, or one for each time.
    pub values: Vec<u64>,
    /// Nanoseconds since 1970-01-01 UTC; empty if they are not known.
    pub times: Vec<u64>,
}

/// A measure that is written without times, though the profile has some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Untimed {
    /// The measure.
    pub measure: Measure,
    /// Its costs with times, in its unit.
    pub timed: u64,
    /// All its costs.
    pub total: u64,
}

/// The measures of which the profile has times of a part only; they are written without any, as all samples of a
/// profile have one shape.
pub fn untimed(profile: &Profile<'_>, timeline: &Timeline) -> Vec<Untimed> {
    let mut found = Vec::new();
    for weights in &profile.weights {
        let timed = timed(weights.measure, timeline);
        let none = Requests::default();
        if timed > 0 && with_times(profile, weights, timeline, &none).is_none() {
            found.push(Untimed {
                measure: weights.measure,
                timed,
                total: weights.total,
            });
        }
    }
    found
}

/// The costs that have times, in the measure's unit.
fn timed(measure: Measure, timeline: &Timeline) -> u64 {
    let moments = timeline.moments.iter().filter(|it| it.measure == measure);
    let sum: u64 = moments.map(|it| it.value).sum();
    sum / factor(measure)
}

/// Times are written in nanoseconds; weights have milliseconds.
fn factor(measure: Measure) -> u64 {
    match measure.unit() {
        "ms" => NANOS_PER_MILLI,
        _ => 1,
    }
}

/// The samples of a measure.
pub(super) fn of<'a>(
    profile: &'a Profile<'_>,
    weights: &'a Weights,
    timeline: Option<&Timeline>,
    requests: &Requests,
) -> Vec<Sample<'a>> {
    let timed = timeline.and_then(|timeline| with_times(profile, weights, timeline, requests));
    timed.unwrap_or_else(|| sums(profile, weights))
}

/// One sum for each stack and class.
fn sums<'a>(profile: &Profile<'_>, weights: &'a Weights) -> Vec<Sample<'a>> {
    let factor = factor(weights.measure);
    let mut sums: BTreeMap<(Option<TraceSerial>, Option<&str>), u64> = BTreeMap::new();
    for Weight {
        trace,
        value,
        class,
    } in &weights.rows
    {
        *sums.entry((Some(*trace), class.as_deref())).or_default() += value;
    }
    let missing = weights.missing();
    if missing > 0 {
        sums.insert((None, None), missing);
    }
    let sample = |((trace, class), value): ((Option<TraceSerial>, _), u64)| {
        let thread = trace.and_then(|trace| profile.stacks.trace(trace)?.thread);
        Sample {
            trace,
            class,
            thread,
            request: None,
            values: vec![value.saturating_mul(factor)],
            times: Vec::new(),
        }
    };
    sums.into_iter()
        .filter(|(_, value)| *value > 0)
        .map(sample)
        .collect()
}

/// Each cost with its time; none if times do not account for all costs of the measure.
fn with_times<'a>(
    profile: &Profile<'_>,
    weights: &'a Weights,
    timeline: &Timeline,
    requests: &Requests,
) -> Option<Vec<Sample<'a>>> {
    let factor = factor(weights.measure);
    // Milliseconds of a stack are rounded, nanoseconds of its events are not.
    let slack = if factor > 1 {
        weights.rows.len() as u64
    } else {
        0
    };
    let timed = timed(weights.measure, timeline);
    if timed == 0 || timed.abs_diff(weights.total) > slack {
        return None;
    }
    let mut classes: FxHashMap<TraceSerial, Option<&str>> = FxHashMap::default();
    for row in &weights.rows {
        let class = row.class.as_deref();
        // An event says its trace alone.
        if *classes.entry(row.trace).or_insert(class) != class {
            return None;
        }
    }
    let mut all: BTreeMap<_, Sample<'a>> = BTreeMap::new();
    let moments = timeline.moments.iter();
    for moment in moments.filter(|it| it.measure == weights.measure) {
        let of_trace = || profile.stacks.trace(moment.trace)?.thread;
        let thread = moment.thread.or_else(of_trace);
        let request = thread.and_then(|thread| requests.at(thread, moment.at));
        let key = (moment.trace, thread, request);
        let sample = all.entry(key).or_insert_with(|| Sample {
            trace: Some(moment.trace),
            class: classes.get(&moment.trace).copied().flatten(),
            thread,
            request,
            values: Vec::new(),
            times: Vec::new(),
        });
        sample.values.push(moment.value);
        sample.times.push(moment.at.max(0).unsigned_abs());
    }
    Some(all.into_values().collect())
}
