//! Ordering and cutoff of profile tables.
//!
//! One set of rules serves every table. They follow the JDK's agent with its
//! known faults mended: rows that never counted anything go first, so they cannot
//! end the table early; all counters are 64 bits wide; a total of zero
//! gives shares of zero instead of NaN; and rows of equal weight have a defined order.

mod cutoff;
mod tables;

use std::cmp::Reverse;

use crate::model::{CpuRow, MonitorRow};

pub use cutoff::{Cutoff, LeftOut};
pub use tables::{RankedCpuTable, RankedMonitorTable, RankedSiteTable, SitesLeftOut};

/// A row that [`rank`] can order.
pub trait Rankable {
    /// The value by which the table is ordered, greatest first.
    fn weight(&self) -> u64;
    /// False for a row that never counted anything, which is left out whatever the cutoff.
    fn is_counted(&self) -> bool;
    /// Orders rows of equal weight, lowest first.
    fn tie_break(&self) -> (u64, u64);
}

impl Rankable for CpuRow {
    fn weight(&self) -> u64 {
        self.cost
    }

    fn is_counted(&self) -> bool {
        // Calls may have been counted before the last dump and still cost time.
        self.count > 0 || self.cost > 0
    }

    fn tie_break(&self) -> (u64, u64) {
        (u64::from(self.trace.get()), 0)
    }
}

impl Rankable for MonitorRow<'_> {
    fn weight(&self) -> u64 {
        self.nanos
    }

    fn is_counted(&self) -> bool {
        // A wait may have been counted before the last dump and still continue.
        self.count > 0 || self.nanos > 0
    }

    fn tie_break(&self) -> (u64, u64) {
        (u64::MAX - self.count, u64::from(self.trace.get()))
    }
}

/// A row with its place in the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked<R> {
    /// Place in the table, from 1.
    pub rank: usize,
    /// 100 × the row's weight / the total.
    pub self_percent: f64,
    /// The percentage of this row and all rows above it.
    pub accum_percent: f64,
    /// The row itself.
    pub row: R,
}

/// Orders `rows` by descending weight and leaves out what is too small.
///
/// `total` is the sum of the weights of all rows of the table, including ones not handed in; a
/// fraction as `cutoff` (0.0001 is 0.01 %) is [`Cutoff::below`]. With a total of 0 all shares are 0.
///
/// ```
/// use hprof_format::{ids::TraceSerial, model::CpuRow, rank::rank};
///
/// let row = |cost, trace| CpuRow { cost, count: cost, trace: TraceSerial::new(trace) };
/// let table = rank(&[row(1, 300_001), row(3, 300_003), row(0, 300_000)], 4, 0.0);
/// assert_eq!(table.len(), 2);
/// assert_eq!(table[0].self_percent, 75.0);
/// assert_eq!(table[1].accum_percent, 100.0);
/// ```
pub fn rank<R: Rankable + Copy>(
    rows: &[R],
    total: u64,
    cutoff: impl Into<Cutoff>,
) -> Vec<Ranked<R>> {
    let mut rows = counted(rows);
    let weights = rows.iter().map(Rankable::weight);
    let kept = cutoff.into().kept(weights, total);
    rows.truncate(kept);
    placed(rows, total)
}

/// The rows that count, in print order.
fn counted<R: Rankable + Copy>(rows: &[R]) -> Vec<R> {
    let counted = rows.iter().copied().filter(Rankable::is_counted);
    let mut counted: Vec<R> = counted.collect();
    counted.sort_by_key(|row| (Reverse(row.weight()), row.tie_break()));
    counted
}

/// The rows with their places.
fn placed<R: Rankable>(rows: Vec<R>, total: u64) -> Vec<Ranked<R>> {
    let mut sum = 0u64;
    rows.into_iter()
        .enumerate()
        .map(|(index, row)| {
            sum = sum.saturating_add(row.weight());
            Ranked {
                rank: index + 1,
                self_percent: 100.0 * share(row.weight(), total),
                accum_percent: 100.0 * share(sum, total),
                row,
            }
        })
        .collect()
}

/// `part / total`, or 0 when there is no total.
pub fn share(part: u64, total: u64) -> f64 {
    if total == 0 {
        0.0
    } else {
        part as f64 / total as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TraceSerial;
    use proptest::prelude::*;

    fn row(cost: u64, count: u64, trace: u32) -> CpuRow {
        CpuRow {
            cost,
            count,
            trace: TraceSerial::new(trace),
        }
    }

    fn traces(ranked: &[Ranked<CpuRow>]) -> Vec<u32> {
        ranked.iter().map(|ranked| ranked.row.trace.get()).collect()
    }

    #[test]
    fn descends_by_cost_then_ascends_by_trace() {
        let rows = [row(2, 1, 300_009), row(5, 1, 300_008), row(2, 1, 300_003)];
        assert_eq!(traces(&rank(&rows, 9, 0.0)), [300_008, 300_003, 300_009]);
    }

    #[test]
    fn a_row_without_hits_does_not_end_the_table() {
        // Both cost nothing; the uncounted one has the lower serial.
        let rows = [row(0, 0, 300_001), row(0, 7, 300_002), row(4, 1, 300_003)];
        assert_eq!(traces(&rank(&rows, 4, 0.0)), [300_003, 300_002]);
    }

    #[test]
    fn the_cutoff_is_inclusive() {
        let rows = [row(75, 1, 300_001), row(25, 1, 300_002)];
        assert_eq!(traces(&rank(&rows, 100, 0.25)), [300_001, 300_002]);
        assert_eq!(traces(&rank(&rows, 100, 0.2501)), [300_001]);
        assert_eq!(traces(&rank(&rows, 100, 1.5)), [0u32; 0]);
    }

    #[test]
    fn a_nan_cutoff_keeps_everything_counted() {
        let rows = [row(0, 1, 300_001), row(1, 1, 300_002), row(0, 0, 300_003)];
        assert_eq!(traces(&rank(&rows, 1, f64::NAN)), [300_002, 300_001]);
    }

    #[test]
    fn a_total_of_zero_gives_zero_percent() {
        let ranked = rank(&[row(0, 3, 300_001)], 0, 0.0);
        assert_eq!(ranked[0].self_percent, 0.0);
        assert_eq!(ranked[0].accum_percent, 0.0);
        assert!(rank(&[row(0, 3, 300_001)], 0, 0.0001).is_empty());
    }

    #[test]
    fn costs_above_32_bits_keep_their_order() {
        let rows = [
            row(1, 1, 300_001),
            row(1 << 32, 1, 300_002),
            row(1 << 63, 1, 300_003),
        ];
        assert_eq!(
            traces(&rank(&rows, u64::MAX, 0.0)),
            [300_003, 300_002, 300_001]
        );
    }

    proptest! {
        #[test]
        fn keeps_exactly_the_rows_at_or_above_the_cutoff(
            costs in prop::collection::vec((0u64..1000, 0u64..3), 0..40),
            cutoff in 0.0f64..0.2,
        ) {
            let rows: Vec<CpuRow> =
                costs.iter().zip(300_000u32..).map(|(&(c, n), t)| row(c, n, t)).collect();
            let total: u64 = rows.iter().map(|row| row.cost).sum();
            let ranked = rank(&rows, total, cutoff);
            let expected =
                rows.iter().filter(|r| (r.count > 0 || r.cost > 0) && share(r.cost, total) >= cutoff).count();
            prop_assert_eq!(ranked.len(), expected);
            prop_assert!(ranked.windows(2).all(|w| w[0].row.cost >= w[1].row.cost));
            prop_assert!(ranked.windows(2).all(|w| w[0].accum_percent <= w[1].accum_percent));
            prop_assert!(ranked.iter().all(|r| r.accum_percent <= 100.0));
        }
    }
}
