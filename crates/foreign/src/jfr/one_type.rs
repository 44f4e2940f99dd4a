//! The events of one type as a profile: how many there were, how long they took, and their bytes, by stack.

use std::ops::Range;

use hprof_format::ids::TraceSerial;
use hprof_stacks::timeline::{Moment, Timeline};
use hprof_stacks::{Measure, Weight, Weights};
use rustc_hash::FxHashMap;

use super::any::{self, Event, Visitor};
use crate::{Kind, Note, Others, Part, Profile};

/// A type of events to sum.
#[derive(Debug, Clone, Copy)]
pub struct OneType<'a> {
    /// Its name, such as `jdk.SocketRead`.
    pub name: &'a str,
    /// The field with the bytes of an event, if it has one.
    pub bytes: Option<&'a str>,
}

/// Fields with the class of what was allocated, waited for or thrown: stacks end in it.
const CLASSES: [&str; 4] = ["objectClass", "monitorClass", "parkedClass", "thrownClass"];

const MEASURES: [Measure; 3] = [Measure::Events, Measure::EventTime, Measure::EventBytes];

/// A trace, and the number of the class in which it ends.
type Key = (TraceSerial, Option<u32>);

struct Summing<'a> {
    of: OneType<'a>,
    part: Part,
    /// Number, nanoseconds and bytes.
    sums: FxHashMap<Key, [u64; 3]>,
    classes: Vec<Box<str>>,
    index: FxHashMap<Box<str>, u32>,
    moments: Vec<Moment>,
    without_stack: u64,
}

impl Visitor for Summing<'_> {
    fn wants(&self, name: &str) -> bool {
        name == self.of.name
    }

    fn event(&mut self, event: &mut Event<'_, '_, '_>) {
        let (starts, nanos) = match self.part.window {
            None => (true, event.duration),
            // The part of the event that is in the window is what it took there.
            Some(window) => (
                window.contains(event.at),
                window.overlap(event.at, event.duration),
            ),
        };
        if !starts && nanos == 0 {
            return;
        }
        let trace = match event.has_stack() {
            true => event.trace(),
            false => None,
        };
        let Some(trace) = trace else {
            self.without_stack += u64::from(starts);
            return;
        };
        let class = CLASSES.iter().find_map(|field| {
            let name = event.text(field);
            (!name.is_empty()).then(|| self.class(&name))
        });
        let bytes = self.of.bytes.and_then(|field| event.number(field));
        let bytes = u64::try_from(bytes.unwrap_or(0)).unwrap_or(0);
        // An event that began before the window is counted there.
        let costs = [u64::from(starts), nanos, if starts { bytes } else { 0 }];
        let sums = self.sums.entry((trace, class)).or_default();
        for (sum, cost) in sums.iter_mut().zip(costs) {
            *sum = sum.saturating_add(cost);
        }
        if self.part.with_times {
            let at = match self.part.window {
                Some(window) => event.at.max(window.from),
                None => event.at,
            };
            let costs = MEASURES.into_iter().zip(costs);
            let costs = costs.filter(|&(_, value)| value > 0);
            self.moments.extend(costs.map(|(measure, value)| Moment {
                at,
                value,
                trace,
                thread: None,
                measure,
            }));
        }
    }
}

impl Summing<'_> {
    fn class(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        let number = self.classes.len() as u32;
        self.classes.push(name.into());
        self.index.insert(name.into(), number);
        number
    }

    /// The costs of a measure; `None` if all are zero.
    fn weights(&self, place: usize) -> Option<Weights> {
        let measure = MEASURES[place];
        let mut sums: Vec<(&Key, u64)> =
            self.sums.iter().map(|(key, it)| (key, it[place])).collect();
        sums.retain(|&(_, sum)| sum > 0);
        sums.sort_unstable_by_key(|&(key, _)| key);
        let mut exact = 0_u128;
        let mut millis_so_far = 0;
        let rows: Vec<Weight> = sums
            .into_iter()
            .map(|(&(trace, class), sum)| {
                let value = match measure.is_time() {
                    false => sum,
                    // The sum of rounded costs is the rounded sum.
                    true => {
                        exact += u128::from(sum);
                        let before = millis_so_far;
                        millis_so_far = ((exact + 500_000) / 1_000_000) as u64;
                        millis_so_far - before
                    }
                };
                Weight {
                    trace,
                    value,
                    class: class.map(|class| self.classes[class as usize].clone()),
                }
            })
            .collect();
        let values = rows.iter().map(|row| row.value);
        let total = values.fold(0, u64::saturating_add);
        (total > 0).then_some(Weights {
            measure,
            total,
            rows,
        })
    }
}

/// Sums the events of one type of a recording. It calls `passed` with each part that was read.
pub fn read(
    file: &[u8],
    of: OneType<'_>,
    part: Part,
    passed: &mut dyn FnMut(Range<usize>),
) -> Profile {
    let mut summing = Summing {
        of,
        part,
        sums: FxHashMap::default(),
        classes: Vec::new(),
        index: FxHashMap::default(),
        moments: Vec::new(),
        without_stack: 0,
    };
    let read = any::read(file, &mut summing, passed);
    let weights = (0..MEASURES.len()).filter_map(|place| summing.weights(place));
    let weights = weights.collect();
    let mut moments = summing.moments;
    moments.sort_by_key(|moment| moment.at);
    let timeline = read.span.filter(|_| part.with_times);
    let without = summing.without_stack;
    Profile {
        kind: Kind::Jfr,
        created_millis: read
            .span
            .and_then(|span| u64::try_from(span.from / 1_000_000).ok()),
        stacks: read.stacks,
        threads: read.threads,
        weights,
        damage: read.skipped.damage,
        damaged: read.skipped.damaged,
        others: Others::default(),
        notes: (without > 0)
            .then_some(Note::WithoutStack(without))
            .into_iter()
            .collect(),
        span: read.span,
        timeline: timeline.map(|span| Timeline {
            span,
            sample_nanos: None,
            is_wall: false,
            moments,
        }),
    }
}
