//! Findings: noteworthy events of a log, with advice.

mod advice;
mod doubt;
mod trouble;

use serde::Serialize;

use crate::summary::Summary;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The program stands still or is about to run out of memory.
    Serious,
    /// Worth a change.
    Warning,
    /// Worth to know.
    Note,
}

/// Something noteworthy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A name that does not change between releases, such as `full-collections`.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The fact, as a sentence with figures.
    pub fact: String,
    /// The action, as a sentence that names an option or a command.
    pub advice: String,
}

impl Finding {
    fn new(
        id: &'static str,
        severity: Severity,
        fact: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            id,
            severity,
            fact: fact.into(),
            advice: advice.into(),
        }
    }
}

/// The findings of a log, the most important first.
pub(crate) fn of(summary: &Summary) -> Vec<Finding> {
    let mut found: Vec<Finding> = [
        trouble::full(summary),
        trouble::out_of_memory(summary),
        trouble::evacuation_failures(summary),
        trouble::mode_failures(summary),
        trouble::promotion_failures(summary),
        trouble::stalls(summary),
        trouble::degenerated(summary),
        trouble::aborted(summary),
        advice::nearly_full(summary),
        advice::growing(summary),
        advice::explicit(summary),
        advice::metadata(summary),
        advice::throughput(summary),
        advice::long_pauses(summary),
        advice::humongous(summary),
        advice::safepoints(summary),
        advice::other_stops(summary),
        advice::waiting(summary),
        advice::allocation(summary),
        doubt::no_room(summary),
        doubt::misfits(summary),
        doubt::date_jumps(summary),
        doubt::gap(summary),
        advice::damage(summary),
    ]
    .into_iter()
    .flatten()
    .collect();
    found.sort_by_key(|finding| finding.severity);
    found
}

/// A number with its noun: `1 collection`, `2 collections`.
fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A size as JVM options and logs have it, in units of 1024: `256.0M`.
pub fn size(bytes: u64) -> String {
    let units = ["B", "K", "M", "G", "T"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.*}{}", usize::from(unit > 0), units[unit])
}

/// A duration for a sentence.
fn time(nanos: crate::Nanos) -> String {
    match nanos.millis() {
        millis if millis >= 1000.0 => format!("{:.2} s", millis / 1000.0),
        millis if millis >= 10.0 => format!("{millis:.0} ms"),
        millis => format!("{millis:.2} ms"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::clock::Gap;
    use crate::event::{Collector, Nanos};
    use crate::requests::{Request, SYSTEM_GC};
    use crate::summary::{Cpu, Rate, Row, WorstPause};
    use crate::timeline::{Bucket, Timeline};
    use crate::{Reader, Spread};

    /// Findings in every wording, as the page of the server has a translation for each.
    const ALL: &str = include_str!("../tests/data/findings.json");

    const HEAP_DUMP: &str = "Heap Dump Initiated GC";

    fn spread(count: u64, millis: u64) -> Spread {
        let nanos = Nanos(millis * 1_000_000);
        Spread {
            count,
            sum: nanos,
            max: nanos,
            p99: nanos,
            ..Spread::default()
        }
    }

    fn row(name: &str, spread: Spread) -> Row {
        Row {
            name: name.to_owned(),
            family: None,
            spread,
        }
    }

    fn request(cause: &'static str, count: u64) -> Request {
        Request {
            cause,
            count,
            // ZGC's are concurrent.
            sum: (count < 3).then_some(Nanos(17_000_000)),
            concurrent: 0,
        }
    }

    /// A log of a collector in which everything goes wrong, `times` each.
    fn bad(collector: Option<Collector>, times: u64) -> Summary {
        let mut summary = Reader::new().finish();
        summary.collector = collector;
        let counts = &mut summary.counts;
        counts.full = times;
        counts.out_of_memory = times;
        counts.evacuation_failures = times;
        counts.concurrent_mode_failures = times;
        counts.promotion_failures = times;
        counts.degenerated = times;
        counts.concurrent_aborted = times;
        counts.humongous_allocations = times;
        summary.full_causes = vec![
            row("Ergonomics", spread(times, 1200)),
            row(SYSTEM_GC, spread(times, 1700)),
            row("Metadata GC Threshold", spread(times, 1700)),
        ];
        summary.stalls = spread(times, 2);
        summary.heap.max = Some(1 << 30);
        summary.heap.peak_after_full = Some(1 << 30);
        summary.heap.region = (times > 1).then_some(1 << 20);
        summary.pauses = spread(times, 900 * times);
        summary.worst = vec![WorstPause {
            at: None,
            duration: Nanos(0),
            kind: "Young (Normal)".to_owned(),
            cause: String::new(),
            heap: None,
        }];
        summary.throughput = Some(0.5);
        summary.duration = Some(Nanos(100_000_000_000));
        summary.reaching = spread(times, 60);
        summary.operations = vec![
            row("Cleanup", spread(times, 1500)),
            row("G1CollectForAllocation", spread(times, 9000)),
        ];
        summary.allocation = Some(Rate {
            bytes: 1 << 40,
            per_second: Some(2e9),
            is_exact: true,
        });
        // One cause or several, the CPU busy or waiting.
        summary.requests = vec![request(SYSTEM_GC, times)];
        if times > 1 {
            summary.requests.push(request(HEAP_DUMP, times));
        }
        summary.cpu = Some(Cpu {
            user: Nanos(1_000_000_000),
            sys: Nanos(2_000_000_000),
            real: Nanos(0),
            waiting: if times > 1 { times } else { 0 },
        });
        summary.lines.restarts = times;
        summary.lines.misfits = times;
        summary.lines.date_jumps = times;
        summary.lines.gap = Some(Gap {
            from: Nanos(0),
            length: Nanos(times * 600_000_000_000),
        });
        let mut timeline = Timeline::new(Nanos(0));
        timeline.buckets = (1..=16_u64)
            .map(|used| Bucket {
                used_after: Some(used << 20),
                ..Bucket::default()
            })
            .collect();
        summary.timeline = Some(timeline);
        summary.metaspace_requests = vec![request("Metadata GC Threshold", times)];
        summary
    }

    #[test]
    fn each_wording_is_in_the_list_that_translations_are_tested_with() {
        use Collector::{Cms, G1, Serial, Shenandoah};
        let mut seen = BTreeSet::new();
        let mut all = Vec::new();
        let mut nothing = Reader::new().finish();
        nothing.lines.total = 1;
        let mut full = nothing.clone();
        full.duration = Some(Nanos(1_000_000_000));
        full.stops = Spread {
            sum: Nanos(3_000_000_000),
            ..spread(2, 1000)
        };
        let mut fuller = full.clone();
        fuller.pauses = full.stops;
        let mut dumped = nothing.clone();
        dumped.requests = vec![request(HEAP_DUMP, 1)];
        let mut concurrent = nothing.clone();
        concurrent.requests = vec![request(SYSTEM_GC, 3), request(HEAP_DUMP, 3)];
        concurrent.metaspace_requests = vec![request("Metadata GC Threshold", 3)];
        let collectors = [Some(G1), Some(Serial), Some(Cms), Some(Shenandoah), None];
        let bad = collectors
            .into_iter()
            .flat_map(|it| [bad(it, 1), bad(it, 2)]);
        for summary in bad.chain([nothing, full, fuller, dumped, concurrent]) {
            for finding in of(&summary) {
                if seen.insert((finding.fact.clone(), finding.advice.clone())) {
                    all.push(finding);
                }
            }
        }
        let ids: BTreeSet<&str> = all.iter().map(|finding| finding.id).collect();
        // As many as docs/gc.md lists.
        assert_eq!(ids.len(), 26, "{ids:?}");
        let json = serde_json::to_string_pretty(&all).unwrap();
        if json.trim() != ALL.trim() {
            let path = std::env::temp_dir().join("findings.json");
            std::fs::write(&path, &json).unwrap();
            panic!(
                "findings have changed: copy {} to tests/data",
                path.display()
            );
        }
    }
}
