//! Looks at a process over time, in bounded memory.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Bytes;
use crate::cgroup::Group;
use crate::row::Kind;
use crate::table::Table;

/// Looks that are kept; of a longer series every second one goes, again and again.
const MAX_POINTS: usize = 1000;

/// One look.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Point {
    /// Its number, from 0.
    pub look: u64,
    /// Seconds since the first look.
    pub seconds: f64,
    /// The resident set.
    pub resident: Bytes,
    /// The resident memory of the rows that are not empty.
    pub rows: BTreeMap<Kind, Bytes>,
    /// Objects in the Java heap, dead ones included.
    pub heap_used: Option<Bytes>,
    /// The heap that may be used now.
    pub heap_committed: Option<Bytes>,
    /// The number of threads.
    pub threads: u64,
    /// All that counts against the limit of the cgroup.
    pub group: Option<Bytes>,
    /// The part of that which the kernel takes back before it kills.
    pub cache: Option<Bytes>,
}

impl Point {
    /// A look at a table. `seconds` counts from the first one.
    pub fn of(seconds: f64, table: &Table, threads: u64, group: Option<&Group>) -> Self {
        let heap = table.row(Kind::JavaHeap);
        Self {
            look: 0,
            seconds,
            resident: table.resident,
            rows: table
                .rows
                .iter()
                .map(|row| (row.kind, row.resident))
                .collect(),
            heap_used: heap.and_then(|row| row.used),
            heap_committed: heap.and_then(|row| row.committed),
            threads,
            group: group.map(|group| group.current),
            cache: group.map(|group| group.parts.cache()),
        }
    }

    /// The resident memory of a row; nothing if it was empty.
    pub fn row(&self, kind: Kind) -> Bytes {
        self.rows.get(&kind).copied().unwrap_or_default()
    }
}

/// Looks in their order. The first and the last one are always among those that are kept, and peaks are those of all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// The looks that are kept.
    pub points: Vec<Point>,
    /// The number of all looks.
    pub looks: u64,
    /// One of this many looks is kept: 1 until there are too many.
    pub kept_each: u64,
    /// The most that a row ever took.
    pub peaks: BTreeMap<Kind, Bytes>,
    /// The largest resident set.
    pub peak: Bytes,
}

impl Default for Series {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            looks: 0,
            kept_each: 1,
            peaks: BTreeMap::new(),
            peak: Bytes::ZERO,
        }
    }
}

impl Series {
    /// Adds a look.
    pub fn push(&mut self, mut point: Point) {
        point.look = self.looks;
        self.looks += 1;
        self.peak = self.peak.max(point.resident);
        for (&kind, &bytes) in &point.rows {
            let peak = self.peaks.entry(kind).or_default();
            *peak = bytes.max(*peak);
        }
        // The last one was there only as it was the last.
        if self
            .points
            .last()
            .is_some_and(|last| last.look % self.kept_each != 0)
        {
            self.points.pop();
        }
        self.points.push(point);
        if self.points.len() > MAX_POINTS {
            self.kept_each *= 2;
            let (each, last) = (self.kept_each, self.looks - 1);
            self.points
                .retain(|point| point.look % each == 0 || point.look == last);
        }
    }

    /// Seconds from the first look to the last.
    pub fn seconds(&self) -> f64 {
        match (self.points.first(), self.points.last()) {
            (Some(first), Some(last)) => last.seconds - first.seconds,
            _ => 0.0,
        }
    }

    /// The rows that were ever there, in the order of the table.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.peaks.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point(seconds: f64, mib: u64) -> Point {
        Point {
            seconds,
            resident: Bytes::mib(mib),
            rows: [(Kind::JavaHeap, Bytes::mib(mib))].into(),
            ..Point::default()
        }
    }

    proptest! {
        #[test]
        fn memory_is_bounded_and_ends_and_peaks_stay(looks in 1..9000_u64, peak_at in 0..9000_u64) {
            let mut series = Series::default();
            for look in 0..looks {
                series.push(point(look as f64, if look == peak_at { 900 } else { 5 }));
            }
            prop_assert!(series.points.len() <= MAX_POINTS);
            prop_assert_eq!(series.looks, looks);
            prop_assert_eq!(series.points[0].look, 0);
            prop_assert_eq!(series.points.last().map(|last| last.look), Some(looks - 1));
            prop_assert!(series.points.is_sorted_by(|one, next| one.look < next.look));
            let most = Bytes::mib(if peak_at < looks { 900 } else { 5 });
            prop_assert_eq!((series.peak, series.peaks[&Kind::JavaHeap]), (most, most));
            prop_assert_eq!(series.seconds(), (looks - 1) as f64);
        }
    }
}
