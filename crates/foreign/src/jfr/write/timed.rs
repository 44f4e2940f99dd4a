//! The chunk of costs whose times are known.

use std::collections::VecDeque;

use hprof_format::ids::TraceSerial;
use hprof_stacks::pictures::profile::Profile;
use hprof_stacks::timeline::{Moment, Timeline};
use hprof_stacks::{Measure, Weights};
use rustc_hash::FxHashMap;

use super::bytes::Bytes;
use super::metadata::{self, id};
use super::{MAX_SAMPLES, NO_ADDRESS, START_TICKS, TICKS_PER_MILLI, Writer, native, pools};

/// Returns whether costs of a measure have times.
pub(super) fn has(timeline: &Timeline, measure: Measure) -> bool {
    timeline.moments.iter().any(|it| it.measure == measure)
}

/// The bytes of a chunk with these measures, which covers all of the timeline.
pub(super) fn chunk(profile: &Profile<'_>, measures: &[Measure], timeline: &Timeline) -> Vec<u8> {
    let mut writer = Writer::new(profile);
    setting(&mut writer, timeline);
    for &measure in measures {
        let all = timeline.moments.iter().filter(|it| it.measure == measure);
        match measure {
            Measure::AllocatedBytes | Measure::Contention => {
                let weights = profile.weights.iter().find(|it| it.measure == measure);
                let mut classes = Classes::of(weights, measure);
                all.for_each(|moment| with_class(&mut writer, timeline, moment, &mut classes));
            }
            Measure::NativeBytes => native::timed_events(&mut writer, timeline),
            Measure::NativeLock => all.for_each(|moment| {
                let (thread, stack) = trace(&mut writer, moment);
                let at = ticks(timeline, moment.at);
                let values = [moment.value, thread, stack, NO_ADDRESS];
                writer.event_at(at, id::NATIVE_LOCK, &values);
            }),
            _ => samples(&mut writer, timeline, measure),
        }
    }
    let start = timeline.span.from.max(0).cast_unsigned();
    writer.finish(start, timeline.span.length(), metadata::Times::True)
}

/// The time between samples, as the JDK states it.
fn setting(writer: &mut Writer<'_>, timeline: &Timeline) {
    let Some(nanos) = timeline.sample_nanos else {
        return;
    };
    let mut body = Bytes::default();
    body.number(START_TICKS);
    body.number(id::EXECUTION_SAMPLE);
    body.text("period");
    body.text(&format!("{nanos} ns"));
    writer.chunk.event(id::ACTIVE_SETTING, &body);
}

pub(super) fn ticks(timeline: &Timeline, at: i64) -> u64 {
    START_TICKS + at.saturating_sub(timeline.span.from).max(0).cast_unsigned()
}

/// A sample that stands for several intervals is as many events of one time; of very many samples, one stands for several.
fn samples(writer: &mut Writer<'_>, timeline: &Timeline, measure: Measure) {
    let unit = match measure {
        Measure::Time => TICKS_PER_MILLI,
        _ => 1,
    };
    let of = || timeline.moments.iter().filter(|it| it.measure == measure);
    let total: u64 = of().map(|it| it.value / unit).sum();
    let for_each = total.div_ceil(MAX_SAMPLES).max(1).saturating_mul(unit);
    // The sum of rounded numbers of samples is the rounded sum.
    let mut sum = 0_u64;
    for moment in of() {
        let before = sum / for_each;
        sum = sum.saturating_add(moment.value);
        let count = sum / for_each - before;
        if count == 0 {
            continue;
        }
        let (thread, stack) = trace(writer, moment);
        let at = ticks(timeline, moment.at);
        for _ in 0..count {
            writer.event_at(at, id::EXECUTION_SAMPLE, &[thread, stack, pools::RUNNABLE]);
        }
    }
}

/// The numbers of thread and stack of a cost.
pub(super) fn trace(writer: &mut Writer<'_>, moment: &Moment) -> (u64, u64) {
    let (thread, stack) = writer.trace(moment.trace);
    match moment.thread {
        Some(of) if thread == 0 => (writer.thread(Some(of)), stack),
        _ => (thread, stack),
    }
}

fn with_class(
    writer: &mut Writer<'_>,
    timeline: &Timeline,
    moment: &Moment,
    classes: &mut Classes<'_>,
) {
    let (thread, stack) = trace(writer, moment);
    let at = ticks(timeline, moment.at);
    let mut rest = moment.value;
    while rest > 0 {
        let (class, value) = classes.next(moment.trace, rest);
        let class = class.map_or(0, |name| writer.pools.class(name));
        match moment.measure {
            Measure::AllocatedBytes => {
                writer.event_at(at, id::ALLOCATION_SAMPLE, &[thread, stack, class, value]);
            }
            _ => writer.event_at(at, id::MONITOR_ENTER, &[value, thread, stack, class]),
        }
        rest -= value;
    }
}

/// The classes of costs, which times do not have: each stack's costs go to its classes in turn, as much as each has.
struct Classes<'a> {
    left: FxHashMap<TraceSerial, VecDeque<(Option<&'a str>, u64)>>,
}

impl<'a> Classes<'a> {
    fn of(weights: Option<&'a Weights>, measure: Measure) -> Self {
        let unit = match measure {
            Measure::Contention => TICKS_PER_MILLI,
            _ => 1,
        };
        let mut left: FxHashMap<_, VecDeque<_>> = FxHashMap::default();
        for row in weights.into_iter().flat_map(|it| &it.rows) {
            let classes = left.entry(row.trace).or_default();
            classes.push_back((row.class.as_deref(), row.value.saturating_mul(unit)));
        }
        Self { left }
    }

    /// The class of a cost, and how much of the cost it takes: more than nothing.
    fn next(&mut self, trace: TraceSerial, cost: u64) -> (Option<&'a str>, u64) {
        let Some(classes) = self.left.get_mut(&trace) else {
            return (None, cost);
        };
        // Sums are rounded, so the last class takes the rest.
        while classes.len() > 1 && classes.front().is_some_and(|it| it.1 == 0) {
            classes.pop_front();
        }
        let is_last = classes.len() == 1;
        let Some((class, left)) = classes.front_mut() else {
            return (None, cost);
        };
        let value = if is_last { cost } else { cost.min(*left) };
        *left = left.saturating_sub(value);
        (*class, value)
    }
}
