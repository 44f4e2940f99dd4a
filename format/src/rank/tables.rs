//! Tables in print order, cut off.

use super::{Rankable, Ranked, rank};
use crate::ids::TraceSerial;
use crate::model::{
    CpuKind, CpuRow, CpuTable, HeapSummary, MonitorRow, MonitorTable, SiteOrder, SiteRow, SiteTable,
};

/// A CPU table in print order, cut off: what [`ProfileWriter::cpu_table`] takes.
///
/// It exists apart from writing because the caller has to write the traces of exactly these
/// rows, in this order, directly before the table.
///
/// [`ProfileWriter::cpu_table`]: crate::writer::ProfileWriter::cpu_table
#[derive(Debug, Clone, PartialEq)]
pub struct RankedCpuTable {
    kind: CpuKind,
    total: u64,
    rows: Vec<Ranked<CpuRow>>,
}

impl RankedCpuTable {
    /// Orders a table and applies a cutoff, see [`rank`].
    pub fn new(table: &CpuTable<'_>, cutoff: f64) -> Self {
        Self {
            kind: table.kind,
            total: table.total,
            rows: rank(table.rows, table.total, cutoff),
        }
    }

    /// Samples or times.
    pub fn kind(&self) -> CpuKind {
        self.kind
    }

    /// The sum of all costs: samples or nanoseconds.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The kept rows in print order.
    pub fn rows(&self) -> &[Ranked<CpuRow>] {
        &self.rows
    }

    /// The traces the kept rows refer to, in print order.
    pub fn traces(&self) -> impl Iterator<Item = TraceSerial> + '_ {
        self.rows.iter().map(|ranked| ranked.row.trace)
    }
}

/// A table of time lost to monitors in print order, cut off: what
/// [`MonitorWriter::monitor_table`](crate::writer::MonitorWriter::monitor_table) takes.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedMonitorTable<'a> {
    total_nanos: u64,
    rows: Vec<Ranked<MonitorRow<'a>>>,
}

impl<'a> RankedMonitorTable<'a> {
    /// Orders a table and applies a cutoff, see [`rank`].
    pub fn new(table: &MonitorTable<'a>, cutoff: f64) -> Self {
        let rows = rank(table.rows, table.total_nanos, cutoff);
        Self {
            total_nanos: table.total_nanos,
            rows,
        }
    }

    /// The sum of all rows in nanoseconds.
    pub fn total_nanos(&self) -> u64 {
        self.total_nanos
    }

    /// The kept rows in print order.
    pub fn rows(&self) -> &[Ranked<MonitorRow<'a>>] {
        &self.rows
    }
}

/// A table of sites in print order, cut off: what
/// [`HeapWriter::site_table`](crate::writer::HeapWriter::site_table) takes.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedSiteTable<'a> {
    order: SiteOrder,
    is_incremental: bool,
    is_after_gc: bool,
    cutoff: f64,
    totals: HeapSummary,
    rows: Vec<Ranked<SiteRow<'a>>>,
}

/// A site with what its table is ordered by.
#[derive(Debug, Clone, Copy)]
struct OrderedSite<'a> {
    weight: u64,
    row: SiteRow<'a>,
}

impl Rankable for OrderedSite<'_> {
    fn weight(&self) -> u64 {
        self.weight
    }

    fn is_counted(&self) -> bool {
        self.row.live_objects > 0 || self.row.allocated_objects > 0
    }

    fn tie_break(&self) -> (u64, u64) {
        (u64::from(self.row.trace.get()), 0)
    }
}

impl<'a> RankedSiteTable<'a> {
    /// Orders a table and applies a cutoff, see [`rank`]. Shares are of the bytes that the table is
    /// ordered by.
    pub fn new(table: &SiteTable<'a>, cutoff: f64) -> Self {
        let (weight, total): (fn(&SiteRow<'_>) -> u64, u64) = match table.order {
            SiteOrder::LiveBytes => (|row| row.live_bytes, table.totals.live_bytes),
            SiteOrder::AllocatedBytes => (|row| row.allocated_bytes, table.totals.allocated_bytes),
        };
        let ordered: Vec<OrderedSite<'a>> = table
            .rows
            .iter()
            .map(|&row| OrderedSite {
                weight: weight(&row),
                row,
            })
            .collect();
        let rows = rank(&ordered, total, cutoff)
            .into_iter()
            .map(
                |Ranked {
                     rank,
                     self_percent,
                     accum_percent,
                     row,
                 }| Ranked {
                    rank,
                    self_percent,
                    accum_percent,
                    row: row.row,
                },
            )
            .collect();
        Self {
            order: table.order,
            is_incremental: table.is_incremental,
            is_after_gc: table.is_after_gc,
            cutoff,
            totals: table.totals,
            rows,
        }
    }

    /// What the table is ordered by.
    pub fn order(&self) -> SiteOrder {
        self.order
    }

    /// True if only sites that changed since the table before are in it.
    pub fn is_incremental(&self) -> bool {
        self.is_incremental
    }

    /// True if a garbage collection was forced before.
    pub fn is_after_gc(&self) -> bool {
        self.is_after_gc
    }

    /// The share below which sites were left out.
    pub fn cutoff(&self) -> f64 {
        self.cutoff
    }

    /// The totals of all sites.
    pub fn totals(&self) -> &HeapSummary {
        &self.totals
    }

    /// The kept rows in print order.
    pub fn rows(&self) -> &[Ranked<SiteRow<'a>>] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ObjectId;

    fn site(trace: u32, live_bytes: u64, allocated_bytes: u64) -> SiteRow<'static> {
        SiteRow {
            class_name: "A",
            class_id: ObjectId::NULL,
            element: None,
            trace: TraceSerial::new(trace),
            live_bytes,
            live_objects: live_bytes / 16,
            allocated_bytes,
            allocated_objects: allocated_bytes / 16,
        }
    }

    #[test]
    fn the_cutoff_applies_to_what_the_table_is_ordered_by() {
        let rows = [
            site(300_001, 96, 96),
            site(300_002, 0, 904),
            site(300_003, 4, 0),
        ];
        let totals = HeapSummary {
            live_bytes: 100,
            allocated_bytes: 1000,
            ..Default::default()
        };
        let mut table = SiteTable {
            order: SiteOrder::AllocatedBytes,
            is_incremental: false,
            is_after_gc: false,
            totals,
            rows: &rows,
        };
        let traces = |table: &SiteTable<'_>| -> Vec<u32> {
            let ranked = RankedSiteTable::new(table, 0.05);
            ranked
                .rows()
                .iter()
                .map(|ranked| ranked.row.trace.get())
                .collect()
        };
        assert_eq!(traces(&table), [300_002, 300_001]);
        table.order = SiteOrder::LiveBytes;
        assert_eq!(traces(&table), [300_001]);
        // The third site lists no objects at all and is not counted.
        assert_eq!(RankedSiteTable::new(&table, 0.0).rows().len(), 2);
    }

    #[test]
    fn monitors_of_equal_time_descend_by_count() {
        let row = |trace, count| MonitorRow {
            nanos: 5,
            count,
            trace: TraceSerial::new(trace),
            class_name: "A",
        };
        let rows = [row(300_001, 1), row(300_003, 2), row(300_002, 2)];
        let table = MonitorTable {
            total_nanos: 15,
            rows: &rows,
        };
        let ranked = RankedMonitorTable::new(&table, 0.0);
        let traces: Vec<u32> = ranked.rows().iter().map(|r| r.row.trace.get()).collect();
        assert_eq!(traces, [300_002, 300_003, 300_001]);
    }
}
