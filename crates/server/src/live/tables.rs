//! Costs of a recording as the tables that profile files have, and back.

use hprof_analysis::contents::{CpuRow, CpuTable};
use hprof_format::ids::TraceSerial;
use hprof_format::model::CpuKind;
use hprof_stacks::{Measure, SiteRow, SiteTable, Weight, Weights};
use rustc_hash::FxHashMap;

/// The table of CPU samples.
pub(super) fn samples_table(weights: &Weights) -> CpuTable {
    let row = |row: &Weight| CpuRow {
        trace: row.trace,
        cost: row.value,
        calls: None,
    };
    CpuTable {
        kind: CpuKind::Samples,
        total: weights.total,
        rows: weights.rows.iter().map(row).collect(),
    }
}

/// Calls and what is known of their time: calls that were short have none.
pub(super) fn times_table(calls: &Weights, times: Option<&Weights>) -> CpuTable {
    let rows = times.into_iter().flat_map(|it| &it.rows);
    let millis: FxHashMap<TraceSerial, u64> = rows.map(|row| (row.trace, row.value)).collect();
    let row = |row: &Weight| CpuRow {
        trace: row.trace,
        cost: millis.get(&row.trace).copied().unwrap_or(0),
        calls: Some(row.value),
    };
    CpuTable {
        kind: CpuKind::Times,
        total: times.map_or(0, |it| it.total),
        rows: calls.rows.iter().map(row).collect(),
    }
}

/// The live objects and bytes of a table of sites.
pub(super) fn live(table: &SiteTable) -> [Weights; 2] {
    let of = |measure, value: fn(&SiteRow) -> u64| {
        let rows = table.rows.iter().map(|row| Weight {
            trace: row.trace,
            value: value(row),
            class: Some(row.class_name.clone()),
        });
        let rows: Vec<Weight> = rows.collect();
        Weights {
            measure,
            total: rows.iter().map(|row| row.value).sum(),
            rows,
        }
    };
    [
        of(Measure::LiveBytes, |row| row.live_bytes),
        of(Measure::LiveObjects, |row| row.live_objects),
    ]
}
