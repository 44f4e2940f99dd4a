//! Tables in print order, cut off.

use std::collections::HashSet;

use super::{Cutoff, LeftOut, Rankable, Ranked, counted, placed};
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
    left_out: LeftOut,
}

impl RankedCpuTable {
    /// Orders a table and applies a cutoff, see [`rank`](super::rank()).
    pub fn new(table: &CpuTable<'_>, cutoff: impl Into<Cutoff>) -> Self {
        let (rows, left_out) = ranked(table.rows, table.total, cutoff.into());
        Self {
            kind: table.kind,
            total: table.total,
            rows,
            left_out,
        }
    }

    /// Counts rows that the caller has left out before.
    #[must_use]
    pub fn without(self, rows: usize) -> Self {
        let rows = self.left_out.rows + rows;
        let left_out = LeftOut::new(rows, shown(&self.rows), self.total);
        Self { left_out, ..self }
    }

    /// With other traces.
    #[must_use]
    pub fn with_traces(mut self, mut other: impl FnMut(TraceSerial) -> TraceSerial) -> Self {
        for ranked in &mut self.rows {
            ranked.row.trace = other(ranked.row.trace);
        }
        self
    }

    /// The sum of the rows below the cutoff.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
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
    is_native: bool,
    total_nanos: u64,
    rows: Vec<Ranked<MonitorRow<'a>>>,
    left_out: LeftOut,
}

impl<'a> RankedMonitorTable<'a> {
    /// Orders a table and applies a cutoff, see [`rank`](super::rank()).
    pub fn new(table: &MonitorTable<'a>, cutoff: impl Into<Cutoff>) -> Self {
        let (rows, left_out) = ranked(table.rows, table.total_nanos, cutoff.into());
        Self {
            is_native: false,
            total_nanos: table.total_nanos,
            rows,
            left_out,
        }
    }

    /// The table is of locks of native code: functions that wait stand for classes.
    #[must_use]
    pub fn of_native_locks(mut self) -> Self {
        self.is_native = true;
        self
    }

    /// True if the table is of locks of native code.
    pub fn is_native(&self) -> bool {
        self.is_native
    }

    /// The sum of the rows below the cutoff.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
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
    is_native: bool,
    is_incremental: bool,
    is_after_gc: bool,
    cutoff: f64,
    totals: HeapSummary,
    rows: Vec<Ranked<SiteRow<'a>>>,
    left_out: SitesLeftOut,
}

/// The sum of the sites that a table omits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SitesLeftOut {
    /// By the bytes that are alive.
    pub live: LeftOut,
    /// By the bytes ever allocated.
    pub allocated: LeftOut,
}

/// A site with what its table is ordered by.
#[derive(Debug, Clone, Copy)]
struct OrderedSite<'a> {
    weight: u64,
    /// By what sites of equal weight are ordered.
    other: u64,
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
        (u64::MAX - self.other, u64::from(self.row.trace.get()))
    }
}

impl<'a> OrderedSite<'a> {
    /// The identity of a site.
    fn key(&self) -> (TraceSerial, &'a str) {
        (self.row.trace, self.row.class_name)
    }
}

impl SiteOrder {
    fn other(self) -> Self {
        match self {
            Self::LiveBytes => Self::AllocatedBytes,
            Self::AllocatedBytes => Self::LiveBytes,
        }
    }

    /// The value by which a table is ordered.
    fn bytes(self, row: &SiteRow<'_>) -> u64 {
        match self {
            Self::LiveBytes => row.live_bytes,
            Self::AllocatedBytes => row.allocated_bytes,
        }
    }
}

impl<'a> RankedSiteTable<'a> {
    /// Orders a table and applies a cutoff. A site stays if it passes by its live bytes or by its
    /// allocated bytes: most of what a program allocates is garbage soon.
    pub fn new(table: &SiteTable<'a>, cutoff: impl Into<Cutoff>) -> Self {
        let cutoff = cutoff.into();
        let total = Self::total(table.order, &table.totals);
        let ordered = |order: SiteOrder| -> Vec<OrderedSite<'a>> {
            let weigh = |&row: &SiteRow<'a>| OrderedSite {
                weight: order.bytes(&row),
                other: order.other().bytes(&row),
                row,
            };
            counted(&table.rows.iter().map(weigh).collect::<Vec<_>>())
        };
        let kept = |order: SiteOrder| -> HashSet<(TraceSerial, &'a str)> {
            let mut rows = ordered(order);
            let weights = rows.iter().map(Rankable::weight);
            rows.truncate(cutoff.kept(weights, Self::total(order, &table.totals)));
            rows.iter().map(OrderedSite::key).collect()
        };
        let (live, allocated) = (kept(SiteOrder::LiveBytes), kept(SiteOrder::AllocatedBytes));
        let (rows, dropped): (Vec<_>, Vec<_>) = ordered(table.order)
            .into_iter()
            .partition(|site| live.contains(&site.key()) || allocated.contains(&site.key()));
        // A table of changes has not all that the totals have.
        let left_out = |order: SiteOrder| {
            let bytes = dropped.iter().map(|site| order.bytes(&site.row)).sum();
            LeftOut::of(dropped.len(), bytes, Self::total(order, &table.totals))
        };
        let left_out = SitesLeftOut {
            live: left_out(SiteOrder::LiveBytes),
            allocated: left_out(SiteOrder::AllocatedBytes),
        };
        let rows = placed(rows, total)
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
            is_native: false,
            is_incremental: table.is_incremental,
            is_after_gc: table.is_after_gc,
            cutoff: cutoff.share,
            totals: table.totals,
            rows,
            left_out,
        }
    }

    /// The table is of memory outside of the heap: functions that allocate stand for classes, blocks for objects.
    #[must_use]
    pub fn of_native_memory(mut self) -> Self {
        self.is_native = true;
        self
    }

    /// True if the table is of memory outside of the heap.
    pub fn is_native(&self) -> bool {
        self.is_native
    }

    fn total(order: SiteOrder, totals: &HeapSummary) -> u64 {
        match order {
            SiteOrder::LiveBytes => totals.live_bytes,
            SiteOrder::AllocatedBytes => totals.allocated_bytes,
        }
    }

    /// The sum of the rows below the cutoff.
    pub fn left_out(&self) -> SitesLeftOut {
        self.left_out
    }

    /// The order of the table.
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

/// The rows that stay, and what the others add up to.
fn ranked<R: Rankable + Copy>(rows: &[R], total: u64, cutoff: Cutoff) -> (Vec<Ranked<R>>, LeftOut) {
    let mut rows = counted(rows);
    let all = rows.len();
    rows.truncate(cutoff.kept(rows.iter().map(Rankable::weight), total));
    let rows = placed(rows, total);
    let left_out = LeftOut::new(all - rows.len(), shown(&rows), total);
    (rows, left_out)
}

fn shown<R: Rankable>(rows: &[Ranked<R>]) -> u64 {
    rows.iter().map(|ranked| ranked.row.weight()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ObjectId;
    use crate::model::LockKind;

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
    fn a_site_stays_if_it_passes_by_live_or_by_allocated_bytes() {
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
        // The third site lists no objects at all and is not counted.
        assert_eq!(traces(&table), [300_001, 300_002]);
        let ranked = RankedSiteTable::new(&table, 0.5);
        assert_eq!(ranked.rows().len(), 2);
        assert_eq!(ranked.totals().allocated_bytes, 1000);
        assert_eq!(ranked.left_out(), SitesLeftOut::default());
        let ranked = RankedSiteTable::new(&table, 0.95);
        let left = ranked.left_out();
        assert_eq!((left.live.rows, left.live.weight), (1, 0));
        assert_eq!((left.allocated.rows, left.allocated.weight), (1, 904));
        assert_eq!(left.allocated.share, 0.904);
    }

    #[test]
    fn rows_left_out_before_are_counted_too() {
        let row = |cost| CpuRow {
            cost,
            count: 1,
            trace: TraceSerial::new(300_000),
        };
        let table = CpuTable {
            kind: CpuKind::Times,
            total: 100,
            rows: &[row(60), row(20), row(2)],
        };
        let ranked = RankedCpuTable::new(&table, 0.1).without(5);
        let left = ranked.left_out();
        assert_eq!((left.rows, left.weight, left.share), (6, 20, 0.2));
    }

    #[test]
    fn monitors_of_equal_time_descend_by_count() {
        let row = |trace, count| MonitorRow {
            nanos: 5,
            count,
            trace: TraceSerial::new(trace),
            class_name: "A",
            lock: LockKind::Monitor,
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
