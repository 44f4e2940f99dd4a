//! Findings: noteworthy events of a log, with advice.

mod advice;
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
        advice::waiting(summary),
        advice::allocation(summary),
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
