//! Compares two tables by the names of their rows.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::heap::Histogram;
use crate::names;
use crate::stacks::{MethodCost, Weights};

/// A row of two tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The name of the row.
    pub name: String,
    /// The value in the first table.
    pub before: u64,
    /// The value in the second table.
    pub after: u64,
    /// The number of objects in the first table; 0 for profiles.
    pub objects_before: u64,
    /// The number of objects in the second table; 0 for profiles.
    pub objects_after: u64,
}

impl Change {
    /// The difference: positive if added.
    pub fn delta(&self) -> i128 {
        i128::from(self.after) - i128::from(self.before)
    }
}

/// The rows that differ, the largest change first.
fn changes<'a>(
    before: impl Iterator<Item = (&'a str, u64, u64)>,
    after: impl Iterator<Item = (&'a str, u64, u64)>,
) -> Vec<Change> {
    // Names without addresses and numbers, which differ from run to run.
    let mut rows: BTreeMap<String, [(u64, u64); 2]> = BTreeMap::new();
    for (name, value, objects) in before {
        let row = &mut rows.entry(names::family(name).into_owned()).or_default()[0];
        *row = (row.0 + value, row.1 + objects);
    }
    for (name, value, objects) in after {
        let row = &mut rows.entry(names::family(name).into_owned()).or_default()[1];
        *row = (row.0 + value, row.1 + objects);
    }
    let mut changes: Vec<Change> = rows
        .into_iter()
        .filter(|(_, [before, after])| before != after)
        .map(|(name, [before, after])| Change {
            name,
            before: before.0,
            after: after.0,
            objects_before: before.1,
            objects_after: after.1,
        })
        .collect();
    changes.sort_by_key(|change| Reverse(change.delta().unsigned_abs()));
    changes
}

/// The classes whose objects take more or less room, the largest change first.
pub fn histograms(before: &Histogram, after: &Histogram) -> Vec<Change> {
    fn rows(histogram: &Histogram) -> impl Iterator<Item = (&str, u64, u64)> {
        let rows = histogram.rows.iter();
        rows.map(|row| (row.name.as_str(), row.shallow_bytes, row.objects))
    }
    changes(rows(before), rows(after))
}

/// The methods whose self cost differs, the largest change first.
pub fn methods(before: &[MethodCost], after: &[MethodCost]) -> Vec<Change> {
    changes(
        before.iter().map(|cost| (cost.name.as_str(), cost.own, 0)),
        after.iter().map(|cost| (cost.name.as_str(), cost.own, 0)),
    )
}

/// The classes of sites whose cost differs, the largest change first.
pub fn classes(before: &Weights, after: &Weights) -> Vec<Change> {
    fn rows(weights: &Weights) -> impl Iterator<Item = (&str, u64, u64)> {
        let rows = weights.rows.iter();
        rows.filter_map(|row| Some((row.class.as_deref()?, row.value, 0)))
    }
    changes(rows(before), rows(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_meet_by_name_and_equal_ones_are_left_out() {
        let before = [("A", 10, 1), ("B", 5, 1), ("C$$Lambda$1/0x1", 7, 1)];
        let after = [
            ("A", 10, 1),
            ("B", 50, 2),
            ("C$$Lambda$2/0x2", 3, 1),
            ("D", 1, 1),
        ];
        let found: Vec<_> = changes(before.into_iter(), after.into_iter())
            .into_iter()
            .map(|change| (change.name.clone(), change.delta()))
            .collect();
        let expected = [("B", 45), ("C$$Lambda", -4), ("D", 1)];
        assert_eq!(
            found,
            expected.map(|(name, delta)| (name.to_owned(), delta))
        );
    }
}
