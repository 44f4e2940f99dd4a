//! The tables of a picture: those of all dumps, added up.

use std::collections::BTreeMap;

use hprof_format::ids::TraceSerial;
use hprof_format::model::{CpuKind, LockKind};
use hprof_format::rank::{RankedCpuTable, RankedMonitorTable};
use hprof_stacks::{
    CpuRow, CpuTable, MonitorRow, MonitorTable, OldCpuRow as OldCpu, SiteTable, Tables,
};

const NANOS_PER_MILLI: u64 = 1_000_000;

/// CPU use of one kind, dumps added up.
#[derive(Default)]
pub(super) struct CpuSum {
    total: u64,
    /// Cost and calls by trace.
    rows: BTreeMap<TraceSerial, (u64, u64)>,
}

/// Waiting for monitors, dumps added up.
#[derive(Default)]
pub(super) struct MonitorSum {
    total: u64,
    /// Nanoseconds and the number of waits by trace, kind and class.
    rows: BTreeMap<(TraceSerial, LockKind, Box<str>), (u64, u64)>,
}

impl CpuSum {
    pub(super) fn add(&mut self, table: &RankedCpuTable) {
        self.total = self.total.saturating_add(table.total());
        for ranked in table.rows() {
            let row = self.rows.entry(ranked.row.trace).or_default();
            row.0 = row.0.saturating_add(ranked.row.cost);
            row.1 = row.1.saturating_add(ranked.row.count);
        }
    }
}

impl MonitorSum {
    pub(super) fn add(&mut self, table: &RankedMonitorTable<'_>) {
        self.total = self.total.saturating_add(table.total_nanos());
        for ranked in table.rows() {
            let (row, name) = (&ranked.row, ranked.row.class_name.into());
            let key = (row.trace, row.lock, name);
            let row = self.rows.entry(key).or_default();
            row.0 = row.0.saturating_add(ranked.row.nanos);
            row.1 = row.1.saturating_add(ranked.row.count);
        }
    }
}

/// The tables of a [`Sums`] at one moment.
#[derive(Default)]
pub(super) struct Snapshot {
    cpu: Vec<CpuTable>,
    sites: Vec<SiteTable>,
    monitors: Vec<MonitorTable>,
}

impl Tables for Snapshot {
    fn cpu(&self) -> &[CpuTable] {
        &self.cpu
    }

    fn sites(&self) -> &[SiteTable] {
        &self.sites
    }

    fn monitors(&self) -> &[MonitorTable] {
        &self.monitors
    }

    fn old_cpu(&self) -> &[OldCpu] {
        &[]
    }
}

/// The tables of all dumps, added up.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) samples: Option<CpuSum>,
    pub(super) times: Option<CpuSum>,
    pub(super) monitors: Option<MonitorSum>,
    pub(super) native_locks: Option<MonitorSum>,
    /// A table of sites holds all since the start, so only the last counts.
    pub(super) sites: Option<SiteTable>,
    /// Bytes and objects that were allocated before, by trace and class, where tables are taken.
    allocated: BTreeMap<(TraceSerial, Box<str>), (u64, u64)>,
}

impl Sums {
    pub(super) fn snapshot(&self) -> Snapshot {
        let cpu = [
            (CpuKind::Samples, &self.samples, 1),
            (CpuKind::Times, &self.times, NANOS_PER_MILLI),
        ];
        let cpu = cpu.into_iter().filter_map(|(kind, sum, unit)| {
            let sum = sum.as_ref()?;
            let rows = sum.rows.iter().map(|(&trace, &(cost, calls))| CpuRow {
                trace,
                cost: rounded(cost, unit),
                calls: (kind == CpuKind::Times).then_some(calls),
            });
            Some(CpuTable {
                kind,
                total: rounded(sum.total, unit),
                rows: rows.collect(),
            })
        });
        let waits = [(false, &self.monitors), (true, &self.native_locks)];
        let monitors = waits.into_iter().filter_map(|(is_native, sum)| {
            let sum = sum.as_ref()?;
            let rows = sum
                .rows
                .iter()
                .map(|((trace, lock, class), &(nanos, count))| MonitorRow {
                    trace: *trace,
                    class_name: class.clone(),
                    lock: *lock,
                    count,
                    millis: rounded(nanos, NANOS_PER_MILLI),
                });
            Some(MonitorTable {
                is_native,
                total_millis: rounded(sum.total, NANOS_PER_MILLI),
                rows: rows.collect(),
            })
        });
        Snapshot {
            cpu: cpu.collect(),
            sites: self.sites.iter().cloned().collect(),
            monitors: monitors.collect(),
        }
    }
}

impl Sums {
    /// The tables of what came since the last call. Live objects are those of now.
    pub(super) fn take(&mut self) -> Snapshot {
        if let Some(sites) = &mut self.sites {
            // All rows of one trace and class are one, as several loaders may have a class of one name.
            let mut allocated: BTreeMap<(TraceSerial, Box<str>), (u64, u64)> = BTreeMap::new();
            for row in &mut sites.rows {
                let key = (row.trace, row.class_name.clone());
                let before = self.allocated.get_mut(&key);
                let sum = allocated.entry(key).or_default();
                sum.0 = sum.0.saturating_add(row.allocated_bytes);
                sum.1 = sum.1.saturating_add(row.allocated_objects);
                if let Some(before) = before {
                    let bytes = row.allocated_bytes.min(before.0);
                    let objects = row.allocated_objects.min(before.1);
                    row.allocated_bytes -= bytes;
                    row.allocated_objects -= objects;
                    *before = (before.0 - bytes, before.1 - objects);
                }
            }
            sites.totals = None;
            self.allocated = allocated;
        }
        let snapshot = self.snapshot();
        (self.samples, self.times, self.monitors, self.sites) = (None, None, None, None);
        snapshot
    }
}

/// A cost in larger units.
fn rounded(cost: u64, unit: u64) -> u64 {
    cost.saturating_add(unit / 2) / unit
}

#[cfg(test)]
mod tests {
    use hprof_format::model::SiteOrder;
    use hprof_stacks::SiteRow;

    use super::*;

    fn table(rows: &[(&str, u64, u64)]) -> SiteTable {
        let row = |&(class, allocated, live): &(&str, u64, u64)| SiteRow {
            trace: TraceSerial::new(1),
            class_name: class.into(),
            live_bytes: live,
            live_objects: 1,
            allocated_bytes: allocated,
            allocated_objects: allocated / 10,
        };
        SiteTable {
            order: SiteOrder::LiveBytes,
            is_native: false,
            totals: None,
            rows: rows.iter().map(row).collect(),
        }
    }

    #[test]
    fn what_was_allocated_before_is_not_taken_again() {
        let mut sums = Sums::default();
        let mut take = |rows: &[(&str, u64, u64)]| -> Vec<(u64, u64, u64)> {
            sums.sites = Some(table(rows));
            let taken = sums.take();
            let rows = taken.sites[0].rows.iter();
            rows.map(|it| (it.allocated_bytes, it.allocated_objects, it.live_bytes))
                .collect()
        };
        // Two classes of one name, of two loaders.
        assert_eq!(
            take(&[("A", 100, 50), ("A", 40, 40)]),
            [(100, 10, 50), (40, 4, 40)]
        );
        assert_eq!(
            take(&[("A", 130, 20), ("A", 40, 40)]),
            [(0, 0, 20), (30, 3, 40)]
        );
        assert_eq!(
            take(&[("A", 130, 20), ("A", 40, 40), ("B", 70, 7)]),
            [(0, 0, 20), (0, 0, 40), (70, 7, 7)]
        );
    }
}
