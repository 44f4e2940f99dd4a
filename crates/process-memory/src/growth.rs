//! Rows over time: which grows, how fast, and how long until the limit.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::Bytes;
use crate::row::Kind;
use crate::table::Table;

/// Slower growth is taken for noise, in bytes a second.
const NOISE: f64 = 4096.0;

/// The growth between two tables.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Growth {
    /// Seconds between the tables.
    pub seconds: f64,
    /// Growth of the resident set, in bytes a second.
    pub resident: f64,
    /// Rows that changed, in bytes a second, those that grow fastest first.
    pub rows: Vec<RowGrowth>,
    /// Seconds until the limit at this rate; `None` without a limit or growth.
    pub seconds_to_limit: Option<f64>,
}

/// The growth of a row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RowGrowth {
    /// The row.
    pub kind: Kind,
    /// In bytes a second; negative for a row that shrinks.
    pub rate: f64,
}

impl Growth {
    /// From one table to a later one. `left` is what the limit leaves now. `None` if no time has passed.
    pub fn between(
        before: &Table,
        after: &Table,
        time: Duration,
        left: Option<Bytes>,
    ) -> Option<Self> {
        let seconds = time.as_secs_f64();
        if seconds <= 0.0 {
            return None;
        }
        let mut changes: BTreeMap<Kind, f64> = BTreeMap::new();
        for row in &before.rows {
            *changes.entry(row.kind).or_default() -= row.resident.0 as f64;
        }
        for row in &after.rows {
            *changes.entry(row.kind).or_default() += row.resident.0 as f64;
        }
        let mut rows: Vec<RowGrowth> = changes
            .into_iter()
            .filter(|&(_, change)| change != 0.0)
            .map(|(kind, change)| RowGrowth {
                kind,
                rate: change / seconds,
            })
            .collect();
        rows.sort_by(|one, other| other.rate.total_cmp(&one.rate));
        let resident = (after.resident.0 as f64 - before.resident.0 as f64) / seconds;
        Some(Self {
            seconds,
            resident,
            rows,
            seconds_to_limit: left
                .filter(|_| resident > NOISE)
                .map(|left| left.0 as f64 / resident),
        })
    }

    /// The row that grows fastest, unless that is noise.
    pub fn fastest(&self) -> Option<RowGrowth> {
        self.rows.first().copied().filter(|row| row.rate > NOISE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;
    use proptest::prelude::*;

    fn table(rows: &[(Kind, u64)]) -> Table {
        let rows: Vec<Row> = rows
            .iter()
            .map(|&(kind, mib)| Row {
                resident: Bytes::mib(mib),
                ..Row::new(kind)
            })
            .collect();
        Table {
            resident: rows.iter().map(|row| row.resident).sum(),
            rows,
            arenas: 0,
            free_in_arenas: Bytes::ZERO,
            has_tracking: false,
            sees_malloc: true,
            heap_views: 1,
        }
    }

    #[test]
    fn the_row_that_grows_is_named_with_the_time_that_is_left() {
        let before = table(&[(Kind::JavaHeap, 100), (Kind::ThreadStacks, 10)]);
        let after = table(&[(Kind::JavaHeap, 90), (Kind::ThreadStacks, 40)]);
        let time = Duration::from_secs(10);
        let growth = Growth::between(&before, &after, time, Some(Bytes::mib(100))).unwrap();
        assert_eq!(growth.fastest().unwrap().kind, Kind::ThreadStacks);
        assert!((growth.resident - (2 << 20) as f64).abs() < 1.0);
        assert!((growth.seconds_to_limit.unwrap() - 50.0).abs() < 0.01);
        let still = Growth::between(&after, &after, time, Some(Bytes::mib(1))).unwrap();
        assert_eq!((still.fastest(), still.seconds_to_limit), (None, None));
        assert_eq!(Growth::between(&before, &after, Duration::ZERO, None), None);
    }

    proptest! {
        #[test]
        fn rates_of_rows_add_up(one in prop::array::uniform3(0..1000_u64), other in prop::array::uniform3(0..1000_u64)) {
            let kinds = [Kind::JavaHeap, Kind::CodeCache, Kind::Unexplained];
            let table_of = |sizes: [u64; 3]| table(&[(kinds[0], sizes[0]), (kinds[1], sizes[1]), (kinds[2], sizes[2])]);
            let growth = Growth::between(&table_of(one), &table_of(other), Duration::from_secs(4), None).unwrap();
            let sum: f64 = growth.rows.iter().map(|row| row.rate).sum();
            prop_assert!((sum - growth.resident).abs() < 1.0);
        }
    }
}
