//! The course of a log in a bounded number of equal stretches of time.

use serde::Serialize;

use crate::event::{Family, HeapChange, Nanos};

/// When there would be more, two become one.
const MAX_BUCKETS: usize = 480;
/// The width of the first buckets.
const FIRST_WIDTH: u64 = 1_000_000;

/// Pauses and heap of one stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// The pauses that ended in it.
    pub pauses: u64,
    /// Their sum.
    #[serde(rename = "sum_ms")]
    pub sum: Nanos,
    /// The longest.
    #[serde(rename = "max_ms")]
    pub max: Nanos,
    /// The full collections and degenerated cycles among them.
    pub full: u64,
    /// The most that was used before a collection, in bytes.
    pub used_before: Option<u64>,
    /// The least that was used after a collection, in bytes.
    pub used_after: Option<u64>,
    /// The largest size of the heap, in bytes.
    pub capacity: Option<u64>,
}

impl Bucket {
    fn join(&mut self, other: &Self) {
        self.pauses += other.pauses;
        self.sum.0 = self.sum.0.saturating_add(other.sum.0);
        self.max = self.max.max(other.max);
        self.full += other.full;
        self.used_before = self.used_before.max(other.used_before);
        self.used_after = least(self.used_after, other.used_after);
        self.capacity = self.capacity.max(other.capacity);
    }
}

fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Equal stretches of time, from the beginning of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Timeline {
    /// The beginning of the first bucket, since the start of the JVM.
    #[serde(rename = "from_ms")]
    pub from: Nanos,
    /// The width of each.
    #[serde(rename = "width_ms")]
    pub width: Nanos,
    /// The buckets.
    pub buckets: Vec<Bucket>,
}

impl Timeline {
    pub(crate) fn new(from: Nanos) -> Self {
        Self {
            from,
            width: Nanos(FIRST_WIDTH),
            buckets: Vec::new(),
        }
    }

    /// The bucket of a point in time.
    fn at(&mut self, at: Nanos) -> &mut Bucket {
        let offset = at.0.saturating_sub(self.from.0);
        while offset / self.width.0 >= MAX_BUCKETS as u64 {
            let pairs = self.buckets.chunks(2).map(|pair| {
                let mut joined = pair[0];
                if let Some(second) = pair.get(1) {
                    joined.join(second);
                }
                joined
            });
            self.buckets = pairs.collect();
            self.width.0 = self.width.0.saturating_mul(2);
        }
        // Below MAX_BUCKETS.
        let index = (offset / self.width.0) as usize;
        if index >= self.buckets.len() {
            self.buckets.resize(index + 1, Bucket::default());
        }
        &mut self.buckets[index]
    }

    /// Nothing comes after this point: stretches that a wrong time has added become part of the last.
    pub(crate) fn end(&mut self, at: Nanos) {
        let last = at.0.saturating_sub(self.from.0) / self.width.0;
        let last = usize::try_from(last).unwrap_or(usize::MAX);
        if let Some(beyond) = last.checked_add(1)
            && beyond < self.buckets.len()
        {
            for bucket in self.buckets.split_off(beyond) {
                self.buckets[last].join(&bucket);
            }
        }
    }

    pub(crate) fn pause(&mut self, at: Nanos, family: Family, duration: Nanos) {
        let is_full = matches!(family, Family::Full | Family::Degenerated);
        self.at(at).join(&Bucket {
            pauses: 1,
            sum: duration,
            max: duration,
            full: u64::from(is_full),
            ..Bucket::default()
        });
    }

    pub(crate) fn heap(&mut self, at: Nanos, heap: HeapChange) {
        self.at(at).join(&Bucket {
            used_before: Some(heap.before),
            used_after: Some(heap.after),
            capacity: heap.capacity,
            ..Bucket::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stretches_beyond_the_end_are_joined() {
        let mut timeline = Timeline::new(Nanos(0));
        for at in [0, 5, 400] {
            timeline.pause(Nanos(at * FIRST_WIDTH), Family::Young, Nanos(1));
        }
        timeline.end(Nanos(5 * FIRST_WIDTH));
        let pauses: Vec<u64> = timeline.buckets.iter().map(|it| it.pauses).collect();
        assert_eq!(pauses, [1, 0, 0, 0, 0, 2]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_when_buckets_are_joined(times in prop::collection::vec(0u64..1 << 50, 1..300)) {
            let mut timeline = Timeline::new(Nanos(0));
            for &at in &times {
                timeline.pause(Nanos(at), Family::Young, Nanos(at));
            }
            let buckets = &timeline.buckets;
            prop_assert!(buckets.len() <= MAX_BUCKETS);
            prop_assert_eq!(buckets.iter().map(|it| it.pauses).sum::<u64>(), times.len() as u64);
            prop_assert_eq!(buckets.iter().map(|it| it.sum.0).sum::<u64>(), times.iter().sum::<u64>());
            let last = *times.iter().max().unwrap();
            prop_assert_eq!((last / timeline.width.0) as usize, buckets.len() - 1);
        }
    }
}
