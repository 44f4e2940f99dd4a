//! Remarks on what the tables leave out, for readers of the file.

use hprof_format::model::CpuKind;
use hprof_format::rank::{LeftOut, RankedCpuTable, RankedMonitorTable, RankedSiteTable};

/// On a table of samples or times.
pub fn of_cpu(table: &RankedCpuTable) -> String {
    let left = table.left_out();
    match table.kind() {
        CpuKind::Samples => format!(
            "{} samples_below_cutoff={}",
            of("cpu_samples", left),
            left.weight
        ),
        CpuKind::Times => timed("cpu_times", left),
    }
}

/// On a table of waits.
pub fn of_waits(table: &str, rows: &RankedMonitorTable<'_>) -> String {
    timed(table, rows.left_out())
}

/// On a table of sites, with the totals, for which the text format has no place.
pub fn of_sites(table: &RankedSiteTable<'_>) -> String {
    let (left, totals) = (table.left_out(), table.totals());
    format!(
        "{} allocated_below_cutoff_share={:.6} live_bytes_below_cutoff={} \
         allocated_bytes_below_cutoff={} live_bytes={} live_objects={} allocated_bytes={} \
         allocated_objects={}",
        of("sites", left.live),
        left.allocated.share,
        left.live.weight,
        left.allocated.weight,
        totals.live_bytes,
        totals.live_objects,
        totals.allocated_bytes,
        totals.allocated_objects,
    )
}

fn timed(table: &str, left: LeftOut) -> String {
    let millis = left.weight as f64 / 1e6;
    format!("{} ms_below_cutoff={millis:.3}", of(table, left))
}

fn of(table: &str, left: LeftOut) -> String {
    format!(
        "hprof-rs: table={table} rows_below_cutoff={} below_cutoff_share={:.6}",
        left.rows, left.share
    )
}
