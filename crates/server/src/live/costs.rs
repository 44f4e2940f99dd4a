//! The costs of a live recording, by stretches of time.
//!
//! The agent sets its counts to zero at each look, so each look adds a slice. Old slices are merged
//! in pairs, so that a long recording takes as much memory as a short one, and loses nothing but
//! the exact time of what is long ago.

use std::collections::VecDeque;

use hprof_format::ids::TraceSerial;
use hprof_stacks::{Measure, Weight, Weights};
use rustc_hash::FxHashMap;
use serde::Serialize;
use utoipa::ToSchema;

/// The measures that slices have. Live objects are no sum over time, and have no slices.
const MEASURES: [Measure; 8] = [
    Measure::Samples,
    Measure::Time,
    Measure::Calls,
    Measure::AllocatedBytes,
    Measure::AllocatedObjects,
    Measure::Contention,
    Measure::Wall,
    Measure::NativeLock,
];
/// Slices that are kept: twenty minutes of seconds.
const MAX_SLICES: usize = 1200;
/// Rows of all slices: 16 MB.
const MAX_ROWS: usize = 1 << 19;
/// Classes of what was allocated or waited for; further ones count as one.
const MAX_CLASSES: usize = 20_000;
/// Buckets of a timeline.
const MAX_BUCKETS: i64 = 300;

/// A measure of slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct MeasureIndex(u8);

/// A class, by its place in the list of classes; none for CPU samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ClassIndex(u32);

/// The measure, class and trace that a cost belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    measure: MeasureIndex,
    class: Option<ClassIndex>,
    trace: TraceSerial,
}

/// A stretch of time.
#[derive(Debug, Clone)]
struct Slice {
    /// Milliseconds since 1970-01-01 UTC.
    from: i64,
    to: i64,
    /// The sum by measure.
    totals: [u64; MEASURES.len()],
    rows: Vec<(Key, u64)>,
}

impl Slice {
    fn merge(&mut self, later: Self) {
        self.to = later.to;
        for (sum, more) in self.totals.iter_mut().zip(later.totals) {
            *sum += more;
        }
        let mut rows: FxHashMap<Key, u64> = self.rows.drain(..).collect();
        for (key, value) in later.rows {
            *rows.entry(key).or_default() += value;
        }
        self.rows = rows.into_iter().collect();
    }
}

/// The samples of either clock: a recording has one.
fn samples(totals: &[u64; MEASURES.len()]) -> u64 {
    let clocks = [Measure::Samples, Measure::Wall];
    clocks
        .into_iter()
        .filter_map(index_of)
        .map(|at| totals[at])
        .sum()
}

/// A stretch of a timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Bucket {
    /// When it begins, in milliseconds since 1970-01-01 UTC.
    pub at: i64,
    /// Samples in it, of CPU time or of the wall clock.
    pub samples: u64,
}

/// How samples are spread over the time of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Timeline {
    /// The length of a bucket in seconds.
    pub seconds_per_bucket: i64,
    /// All buckets from the start to now.
    pub buckets: Vec<Bucket>,
}

/// The rows that a look has found, before they are added.
#[derive(Debug, Default)]
pub struct Found {
    /// Measure, class, trace and value.
    pub rows: Vec<(Measure, Option<Box<str>>, TraceSerial, u64)>,
    /// Sums by measure, rows that were left out included.
    pub totals: Vec<(Measure, u64)>,
}

/// All costs of a recording.
#[derive(Debug, Default)]
pub struct Costs {
    slices: VecDeque<Slice>,
    rows: usize,
    all: FxHashMap<Key, u64>,
    totals: [u64; MEASURES.len()],
    classes: Vec<Box<str>>,
    by_name: FxHashMap<Box<str>, ClassIndex>,
}

impl Costs {
    /// Adds what was found between two times, in milliseconds since 1970-01-01 UTC.
    pub fn add(&mut self, from: i64, to: i64, found: Found) {
        let mut slice = Slice {
            from,
            to: to.max(from),
            totals: [0; MEASURES.len()],
            rows: Vec::with_capacity(found.rows.len()),
        };
        let mut listed = [0_u64; MEASURES.len()];
        for (measure, class, trace, value) in found.rows {
            let Some(at) = index_of(measure).filter(|_| value > 0) else {
                continue;
            };
            let class = class.map(|name| self.class(name));
            let key = Key {
                measure: MeasureIndex(at as u8),
                class,
                trace,
            };
            *self.all.entry(key).or_default() += value;
            listed[at] += value;
            slice.rows.push((key, value));
        }
        for (measure, total) in found.totals {
            if let Some(at) = index_of(measure) {
                slice.totals[at] += total;
            }
        }
        let totals = self.totals.iter_mut().zip(&mut slice.totals);
        for ((all, total), listed) in totals.zip(listed) {
            *total = listed.max(*total);
            *all += *total;
        }
        self.rows += slice.rows.len();
        self.slices.push_back(slice);
        while self.slices.len() > 1 && (self.slices.len() > MAX_SLICES || self.rows > MAX_ROWS) {
            self.merge_old();
        }
    }

    fn class(&mut self, name: Box<str>) -> ClassIndex {
        if let Some(&known) = self.by_name.get(&name) {
            return known;
        }
        if self.classes.len() >= MAX_CLASSES {
            let name: Box<str> = "<other classes>".into();
            return match self.by_name.get(&name) {
                Some(&known) => known,
                None => self.new_class(name),
            };
        }
        self.new_class(name)
    }

    fn new_class(&mut self, name: Box<str>) -> ClassIndex {
        let new = ClassIndex(self.classes.len() as u32);
        self.classes.push(name.clone());
        self.by_name.insert(name, new);
        new
    }

    /// Merges the older half of the slices in pairs.
    fn merge_old(&mut self) {
        let half = (self.slices.len() / 2).max(2);
        let mut old = self.slices.drain(..half.min(self.slices.len()));
        let mut merged = Vec::new();
        while let Some(mut slice) = old.next() {
            if let Some(later) = old.next() {
                slice.merge(later);
            }
            merged.push(slice);
        }
        drop(old);
        for slice in merged.into_iter().rev() {
            self.slices.push_front(slice);
        }
        self.rows = self.slices.iter().map(|slice| slice.rows.len()).sum();
    }

    /// The samples since the start, of CPU time or of the wall clock.
    pub fn samples(&self) -> u64 {
        samples(&self.totals)
    }

    /// The sum of a measure since the start.
    pub fn total(&self, measure: Measure) -> u64 {
        index_of(measure).map_or(0, |at| self.totals[at])
    }

    /// The costs by measure; with a time in milliseconds since 1970-01-01 UTC, of slices that end
    /// after it.
    pub fn weights(&self, since: Option<i64>) -> Vec<Weights> {
        let mut recent = FxHashMap::default();
        let mut totals = self.totals;
        if let Some(since) = since {
            totals = [0; MEASURES.len()];
            for slice in self.slices.iter().filter(|slice| slice.to > since) {
                for (sum, more) in totals.iter_mut().zip(slice.totals) {
                    *sum += more;
                }
                for &(key, value) in &slice.rows {
                    *recent.entry(key).or_default() += value;
                }
            }
        }
        let rows = if since.is_some() { &recent } else { &self.all };
        let mut found: Vec<Weights> = MEASURES
            .into_iter()
            .zip(totals)
            .map(|(measure, total)| Weights {
                measure,
                total,
                rows: Vec::new(),
            })
            .collect();
        for (key, &value) in rows {
            let class = key.class.and_then(|at| self.classes.get(at.0 as usize));
            if let Some(weights) = found.get_mut(usize::from(key.measure.0)) {
                weights.rows.push(Weight {
                    trace: key.trace,
                    value,
                    class: class.cloned(),
                });
            }
        }
        for weights in &mut found {
            // Rows of a table of hashes come in any order, and trees keep it among equals.
            weights
                .rows
                .sort_unstable_by(|a, b| (a.trace, &a.class).cmp(&(b.trace, &b.class)));
        }
        found
    }

    /// How samples are spread over the time.
    pub fn timeline(&self) -> Timeline {
        let (Some(first), Some(last)) = (self.slices.front(), self.slices.back()) else {
            return Timeline {
                seconds_per_bucket: 1,
                buckets: Vec::new(),
            };
        };
        let span = (last.to - first.from).max(1);
        let seconds = ((span + 999) / 1000).div_euclid(MAX_BUCKETS) + 1;
        let width = seconds * 1000;
        let count = span / width + 1;
        let mut buckets: Vec<Bucket> = (0..count)
            .map(|number| Bucket {
                at: first.from + number * width,
                samples: 0,
            })
            .collect();
        for slice in &self.slices {
            // A slice over several buckets is spread over them by time.
            let samples = samples(&slice.totals);
            let length = (slice.to - slice.from).max(1) as u64;
            let mut given = 0;
            for bucket in &mut buckets {
                let end = (bucket.at + width).min(slice.to.max(slice.from + 1));
                if end <= slice.from || bucket.at >= slice.to.max(slice.from + 1) {
                    continue;
                }
                let passed = (end - slice.from) as u64;
                let due = samples * passed.min(length) / length;
                bucket.samples += due - given;
                given = due;
            }
        }
        Timeline {
            seconds_per_bucket: seconds,
            buckets,
        }
    }
}

fn index_of(measure: Measure) -> Option<usize> {
    MEASURES.into_iter().position(|it| it == measure)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn samples(trace: u32, value: u64) -> Found {
        Found {
            rows: vec![(Measure::Samples, None, TraceSerial::new(trace), value)],
            totals: vec![(Measure::Samples, value)],
        }
    }

    fn sum(costs: &Costs, since: Option<i64>) -> u64 {
        let weights = costs.weights(since);
        weights[0].rows.iter().map(|row| row.value).sum()
    }

    #[test]
    fn the_last_seconds_are_those_of_the_last_slices() {
        let mut costs = Costs::default();
        costs.add(0, 1000, samples(1, 5));
        costs.add(1000, 2000, samples(2, 7));
        assert_eq!((sum(&costs, None), sum(&costs, Some(1000))), (12, 7));
        assert_eq!(costs.weights(Some(1000))[0].rows.len(), 1);
        assert_eq!(costs.total(Measure::Samples), 12);
    }

    #[test]
    fn a_class_keeps_its_cost_apart() {
        let mut costs = Costs::default();
        let found = Found {
            rows: vec![
                (
                    Measure::Contention,
                    Some("A".into()),
                    TraceSerial::new(1),
                    2,
                ),
                (
                    Measure::Contention,
                    Some("B".into()),
                    TraceSerial::new(1),
                    3,
                ),
            ],
            totals: vec![(Measure::Contention, 9)],
        };
        costs.add(0, 1000, found);
        let weights = costs.weights(None);
        let contention = weights.iter().find(|it| it.measure == Measure::Contention);
        let contention = contention.unwrap();
        assert_eq!((contention.total, contention.rows.len()), (9, 2));
        assert_eq!(contention.rows[1].class.as_deref(), Some("B"));
    }

    proptest! {
        #[test]
        fn memory_is_bounded_and_no_sample_is_lost(
            looks in prop::collection::vec((1_i64..20_000, 0_u32..50, 0_u64..100), 1..3000),
        ) {
            let mut costs = Costs::default();
            let (mut now, mut all) = (1_000_000, 0);
            for (length, trace, value) in looks {
                costs.add(now, now + length, samples(trace, value));
                now += length;
                all += value;
            }
            prop_assert!(costs.slices.len() <= MAX_SLICES && costs.rows <= MAX_ROWS);
            prop_assert_eq!(sum(&costs, None), all);
            prop_assert_eq!(sum(&costs, Some(0)), all);
            let timeline = costs.timeline();
            prop_assert!(timeline.buckets.len() as i64 <= MAX_BUCKETS + 1);
            let shown: u64 = timeline.buckets.iter().map(|bucket| bucket.samples).sum();
            prop_assert_eq!(shown, all);
            let in_order = costs.slices.iter().zip(costs.slices.iter().skip(1));
            for (slice, next) in in_order {
                prop_assert_eq!(slice.to, next.from);
            }
        }
    }
}
