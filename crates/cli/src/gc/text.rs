//! Logs of garbage collections in tables.

use hprof_gclog::{Measure, Nanos, Rate, Row, Severity, Spread, Summary, Unit, size};

use super::Log;
use crate::render::screen::{Align, Style, columns, count, plural};
use crate::render::table::wrapping_facts;

/// Rows of the longest pauses.
const WORST: usize = 5;
/// Rows of operations, those that took longest.
const OPERATIONS: usize = 10;

/// A log on one screen.
pub fn one(log: &Log, style: Style) -> String {
    let summary = &log.summary;
    let mut text = wrapping_facts(about(log));
    if summary.pauses.count > 0 {
        text.push_str(&titled(style, "Pauses", &summary.kinds));
    }
    if !summary.causes.is_empty() {
        text.push_str(&titled(style, "Causes", &summary.causes));
    }
    if !summary.cycles.is_empty() {
        // ZGC logs no times of its cycles before JDK 21; a cycle that took no time does not exist.
        let shown = |spread: &Spread, nanos: Nanos| match spread.max {
            Nanos(0) => "-".to_owned(),
            _ => time(nanos),
        };
        text.push_str(&spreads(style, "Concurrent cycles", &summary.cycles, shown));
    }
    if summary.stalls.count > 0 {
        let row = row("stalls", summary.stalls);
        text.push_str(&titled(style, "Allocation stalls", &[row]));
    }
    if summary.stops.count > 0 {
        if !summary.operations.is_empty() {
            let title = "Operations that stopped the program";
            let shown = summary.operations.len().min(OPERATIONS);
            text.push_str(&titled(style, title, &summary.operations[..shown]));
        }
        let mut rows = vec![row("all stops", summary.stops)];
        if summary.reaching.count > 0 {
            rows.push(row("until all threads had stopped", summary.reaching));
        }
        text.push_str(&titled(style, "Stops, for other reasons too", &rows));
    }
    text.push_str(&worst(summary, style));
    text.push_str(&worst_stops(summary, style));
    text.push_str(&findings(summary, style));
    text
}

/// Two logs side by side, and what is noteworthy in each.
pub fn comparison(logs: &[Log], measures: &[Measure], style: Style) -> String {
    let rows: Vec<[String; 4]> = measures
        .iter()
        .map(|measure| {
            let show =
                |value: Option<f64>| value.map_or("-".to_owned(), |it| in_unit(it, measure.unit));
            let change = match (measure.before, measure.after) {
                (Some(before), Some(after)) if before != 0.0 => {
                    format!("{:+.1}%", 100.0 * (after / before - 1.0))
                }
                _ => "-".to_owned(),
            };
            let (before, after) = (show(measure.before), show(measure.after));
            [measure.name.to_owned(), before, after, change]
        })
        .collect();
    let head = [
        ("figure", Align::Left),
        ("before", Align::Right),
        ("after", Align::Right),
        ("change", Align::Right),
    ];
    let mut text = columns(style, head, &rows);
    for log in logs {
        if !log.summary.findings.is_empty() {
            text.push_str(&format!("\n{}", style.bold(&log.file)));
            text.push_str(&findings(&log.summary, style));
        }
    }
    text
}

fn about(log: &Log) -> Vec<(String, String)> {
    let summary = &log.summary;
    let mut rows: Vec<(&str, String)> = Vec::new();
    let files = match log.files {
        1 => String::new(),
        files => format!("{} files, ", count(files as u64)),
    };
    let read = match summary.recording {
        Some(recording) => plural(recording.collections, "collection", "collections"),
        None => plural(summary.lines.total, "line", "lines"),
    };
    rows.push(("File", format!("{} ({files}{read})", log.file)));
    let mut jvm: Vec<String> = Vec::new();
    jvm.extend(summary.collector.map(|it| it.name().to_owned()));
    jvm.extend(summary.jvm.as_ref().map(|it| format!("JVM {it}")));
    jvm.extend(summary.cpus.map(|it| plural(it, "CPU", "CPUs")));
    jvm.extend(
        summary
            .heap
            .max
            .map(|it| format!("heap up to {}", size(it))),
    );
    jvm.extend(
        summary
            .heap
            .region
            .map(|it| format!("regions of {}", size(it))),
    );
    if !jvm.is_empty() {
        rows.push(("JVM", jvm.join(", ")));
    }
    if let Some(duration) = summary.duration {
        let share = match summary.throughput {
            // There were pauses, though they do not show in two digits.
            Some(share) if share >= ALL_BUT_PAUSES && summary.pauses.count > 0 => {
                "; over 99.99% of it without a pause".to_owned()
            }
            Some(share) => format!("; {:.2}% of it without a pause", 100.0 * share),
            None if duration.0 > 0 => "; the time in pauses is not known".to_owned(),
            None => String::new(),
        };
        let to = Nanos(summary.from.0.saturating_add(duration.0));
        rows.push((
            "Time",
            format!(
                "{} to {} ({}){share}",
                time(summary.from),
                time(to),
                time(duration)
            ),
        ));
    }
    let pauses = &summary.pauses;
    if pauses.count > 0 {
        rows.push((
            "Pauses",
            format!(
                "{}, {} in total; p50 {}, p99 {}, longest {}",
                count(pauses.count),
                time(pauses.sum),
                time(pauses.p50),
                time(pauses.p99),
                time(pauses.max)
            ),
        ));
    }
    if summary.stops.count > 0 {
        rows.push(("Stops", stops(summary)));
    }
    let heap = &summary.heap;
    if let (Some(used), Some(after), Some(last)) =
        (heap.peak_used, heap.peak_after, heap.last_after)
    {
        let capacity = heap.peak_capacity.map(|it| format!(" of {}", size(it)));
        rows.push((
            "Heap",
            format!(
                "in use at most {}{}; after collections at most {}, last {}",
                size(used),
                capacity.unwrap_or_default(),
                size(after),
                size(last)
            ),
        ));
    }
    let rates = [
        ("allocated", &summary.allocation),
        ("promoted", &summary.promotion),
    ];
    let rates: Vec<String> = (rates.into_iter())
        .filter_map(|(what, rate)| Some(in_words(what, rate.as_ref()?)))
        .collect();
    if !rates.is_empty() {
        rows.push(("Rates", rates.join("; ")));
    }
    if let Some(metaspace) = summary.metaspace {
        rows.push((
            "Metaspace",
            format!(
                "{} at first, {} at last",
                size(metaspace.first),
                size(metaspace.last)
            ),
        ));
    }
    rows.into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn stops(summary: &Summary) -> String {
    let stops = &summary.stops;
    let share = summary
        .stopped
        .map(|it| format!(" ({:.2}% of the time)", 100.0 * it));
    let reaching = &summary.reaching;
    let stopping = match reaching.count {
        0 => String::new(),
        _ => format!(
            "; to safepoint at most {}, {} in total",
            time(reaching.max),
            time(reaching.sum)
        ),
    };
    format!(
        "{}, {} in total{}, longest {}{stopping}",
        count(stops.count),
        time(stops.sum),
        share.unwrap_or_default(),
        time(stops.max)
    )
}

fn in_words(what: &str, rate: &Rate) -> String {
    let about = if rate.is_exact { "" } else { "about " };
    let per_second = rate.per_second.map(|it| format!(", {}/s", size(it as u64)));
    format!(
        "{about}{} {what}{}",
        size(rate.bytes),
        per_second.unwrap_or_default()
    )
}

fn row(name: &str, spread: Spread) -> Row {
    Row {
        name: name.to_owned(),
        family: None,
        spread,
    }
}

fn titled(style: Style, title: &str, rows: &[Row]) -> String {
    spreads(style, title, rows, |_, nanos| time(nanos))
}

/// A table of durations, each as `shown` has it.
fn spreads(
    style: Style,
    title: &str,
    rows: &[Row],
    shown: impl Fn(&Spread, Nanos) -> String,
) -> String {
    let cells: Vec<[String; 8]> = rows
        .iter()
        .map(|row| {
            let spread = &row.spread;
            [
                count(spread.count),
                shown(spread, spread.sum),
                shown(spread, spread.max),
                shown(spread, spread.p50),
                shown(spread, spread.p95),
                shown(spread, spread.p99),
                shown(spread, spread.p999),
                row.name.clone(),
            ]
        })
        .collect();
    let head = ["count", "sum", "max", "p50", "p95", "p99", "p99.9"].map(|it| (it, Align::Right));
    let [a, b, c, d, e, f, g] = head;
    let head = [a, b, c, d, e, f, g, ("name", Align::Left)];
    format!("\n{}\n{}", style.bold(title), columns(style, head, &cells))
}

fn worst(summary: &Summary, style: Style) -> String {
    let rows: Vec<[String; 4]> = (summary.worst.iter().take(WORST))
        .map(|worst| {
            let heap = worst
                .heap
                .map(|it| format!("{} -> {}", size(it.before), size(it.after)));
            let cause = match worst.cause.is_empty() {
                true => String::new(),
                false => format!(" ({})", worst.cause),
            };
            [
                time(worst.duration),
                worst.at.map_or("-".to_owned(), time),
                heap.unwrap_or_default(),
                format!("{}{cause}", worst.kind),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = [
        ("pause", Align::Right),
        ("at", Align::Right),
        ("heap", Align::Right),
        ("kind", Align::Left),
    ];
    format!(
        "\n{}\n{}",
        style.bold("Longest pauses"),
        columns(style, head, &rows)
    )
}

/// A share of the time that is all of it in two digits.
const ALL_BUT_PAUSES: f64 = 0.999_95;

/// The longest stops, if they show more than the longest pauses.
fn worst_stops(summary: &Summary, style: Style) -> String {
    let is_known =
        |reaching: Option<Nanos>, operation: &str| reaching.is_some() || !operation.is_empty();
    let rows: Vec<[String; 4]> = (summary.worst_stops.iter().take(WORST))
        .filter(|worst| is_known(worst.reaching, &worst.operation))
        .map(|worst| {
            [
                time(worst.duration),
                worst.reaching.map_or("-".to_owned(), time),
                worst.at.map_or("-".to_owned(), time),
                worst.operation.clone(),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = [
        ("stop", Align::Right),
        ("to safepoint", Align::Right),
        ("at", Align::Right),
        ("operation", Align::Left),
    ];
    format!(
        "\n{}\n{}",
        style.bold("Longest stops"),
        columns(style, head, &rows)
    )
}

fn findings(summary: &Summary, style: Style) -> String {
    let mut text = format!("\n{}\n", style.bold("Findings"));
    if summary.findings.is_empty() {
        text.push_str("Nothing is noteworthy.\n");
    }
    for finding in &summary.findings {
        let mark = match finding.severity {
            Severity::Serious => style.warn("serious"),
            Severity::Warning => style.warn("warning"),
            Severity::Note => style.dim("note"),
        };
        text.push_str(&format!(
            "{mark}: {}.\n    {}\n",
            finding.fact, finding.advice
        ));
    }
    text
}

fn in_unit(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Count => count(value as u64),
        Unit::Milliseconds => time(Nanos::from_seconds(value / 1e3)),
        Unit::Bytes => size(value as u64),
        Unit::BytesPerSecond => format!("{}/s", size(value as u64)),
        Unit::Percent => format!("{value:.2}%"),
        Unit::PerMinute => format!("{value:.1}"),
    }
}

/// A duration or a time since the start of the JVM.
pub fn time(nanos: Nanos) -> String {
    match nanos.millis() {
        millis if millis >= 600_000.0 => format!("{:.1} min", millis / 60_000.0),
        millis if millis >= 1000.0 => format!("{:.2} s", millis / 1000.0),
        millis if millis >= 10.0 => format!("{millis:.1} ms"),
        millis => format!("{millis:.3} ms"),
    }
}
