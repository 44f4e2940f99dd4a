//! Two logs side by side.

use serde::Serialize;

use crate::event::Nanos;
use crate::summary::{Rate, Summary};

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A number.
    Count,
    /// Milliseconds.
    Milliseconds,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Percent.
    Percent,
    /// A number per minute.
    PerMinute,
}

/// A figure of two logs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measure {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// In the first log, if that has it.
    pub before: Option<f64>,
    /// In the second log, if that has it.
    pub after: Option<f64>,
}

/// A figure of one log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its value, if the log has it.
    pub value: Option<f64>,
}

/// The figures of two logs in which programs differ, those without a value in both left out.
pub fn compare(before: &Summary, after: &Summary) -> Vec<Measure> {
    let pairs = figures(before).into_iter().zip(figures(after));
    let measures = pairs.map(|(before, after)| Measure {
        name: before.name,
        unit: before.unit,
        before: before.value,
        after: after.value,
    });
    measures
        .filter(|it| {
            let is_zero = |value: Option<f64>| value.is_none_or(|value| value == 0.0);
            let is_always_shown = matches!(it.name, "pauses" | "full collections");
            is_always_shown || !(is_zero(it.before) && is_zero(it.after))
        })
        .collect()
}

/// The figures in which programs differ, in the same order for each log.
pub fn figures(log: &Summary) -> Vec<Figure> {
    let all = values(log);
    all.map(|(name, unit, value)| Figure { name, unit, value })
        .into()
}

fn values(log: &Summary) -> [(&'static str, Unit, Option<f64>); 27] {
    use Unit::{Bytes, BytesPerSecond, Count, Milliseconds, PerMinute, Percent};
    let pauses = &log.pauses;
    // With few decorations, ZGC tells of cycles without their pauses; and few logs tell of stops.
    let tells_pauses = pauses.count > 0 || log.throughput.is_some();
    let pause = |nanos: Nanos| tells_pauses.then(|| nanos.millis());
    let stop = |count: u64, nanos: Nanos| (count > 0).then(|| nanos.millis());
    let count = |count: u64| Some(count as f64);
    let bytes = |bytes: Option<u64>| bytes.map(|it| it as f64);
    let rate = |rate: &Option<Rate>| rate.and_then(|it| it.per_second);
    let minutes = log.duration.map(|it| it.seconds() / 60.0);
    let rarity = minutes.filter(|it| *it > 0.0);
    let per_minute = |count: u64| rarity.map(|minutes| count as f64 / minutes);
    [
        ("duration", Milliseconds, log.duration.map(Nanos::millis)),
        ("throughput", Percent, log.throughput.map(|it| 100.0 * it)),
        (
            "pauses",
            Count,
            count(pauses.count).filter(|_| tells_pauses),
        ),
        (
            "pauses a minute",
            PerMinute,
            per_minute(pauses.count).filter(|_| tells_pauses),
        ),
        ("pauses in total", Milliseconds, pause(pauses.sum)),
        ("longest pause", Milliseconds, pause(pauses.max)),
        ("pause p50", Milliseconds, pause(pauses.p50)),
        ("pause p95", Milliseconds, pause(pauses.p95)),
        ("pause p99", Milliseconds, pause(pauses.p99)),
        ("pause p99.9", Milliseconds, pause(pauses.p999)),
        ("full collections", Count, count(log.counts.full)),
        (
            "concurrent cycles",
            Count,
            count(log.counts.concurrent_cycles),
        ),
        (
            "evacuation failures",
            Count,
            count(log.counts.evacuation_failures),
        ),
        (
            "humongous allocations",
            Count,
            count(log.counts.humongous_allocations),
        ),
        (
            "concurrent mode failures",
            Count,
            count(log.counts.concurrent_mode_failures),
        ),
        (
            "allocation stalls",
            Count,
            count(log.counts.allocation_stalls),
        ),
        ("degenerated cycles", Count, count(log.counts.degenerated)),
        ("heap in use, at most", Bytes, bytes(log.heap.peak_used)),
        (
            "heap after collections, at most",
            Bytes,
            bytes(log.heap.peak_after),
        ),
        ("heap after the last", Bytes, bytes(log.heap.last_after)),
        ("heap size, at most", Bytes, bytes(log.heap.peak_capacity)),
        ("allocation", BytesPerSecond, rate(&log.allocation)),
        ("promotion", BytesPerSecond, rate(&log.promotion)),
        (
            "metaspace, at most",
            Bytes,
            bytes(log.metaspace.map(|it| it.peak)),
        ),
        (
            "stops",
            Count,
            count(log.stops.count).filter(|&count| count > 0.0),
        ),
        (
            "longest stop",
            Milliseconds,
            stop(log.stops.count, log.stops.max),
        ),
        (
            "longest time to safepoint",
            Milliseconds,
            stop(log.reaching.count, log.reaching.max),
        ),
    ]
}
