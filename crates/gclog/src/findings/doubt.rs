//! Figures that are not to be believed, or not whole.

use super::Severity::{Note, Warning};
use super::{Finding, plural, time};
use crate::event::Nanos;
use crate::summary::Summary;

/// A stretch without lines that is worth a word, if it is half of the time.
const LONG_GAP: Nanos = Nanos(600_000_000_000);

/// Lines whose time does not fit.
pub(super) fn misfits(summary: &Summary) -> Option<Finding> {
    let count = summary.lines.misfits;
    (count > 0).then(|| {
        Finding::new(
            "times-do-not-fit",
            Warning,
            format!(
                "{} a time that does not fit those around",
                plural(count, "line has", "lines have")
            ),
            "These times were passed over; the pauses of such lines count. Lines of several threads or JVMs that were \
             written into each other look like that.",
        )
    })
}

/// A date that was set.
pub(super) fn date_jumps(summary: &Summary) -> Option<Finding> {
    let count = summary.lines.date_jumps;
    (count > 0).then(|| {
        Finding::new(
            "date-jumps",
            Note,
            format!(
                "The date jumps {} while the JVM runs",
                plural(count, "time", "times")
            ),
            "Figures use the time since its start. The clock of the machine was set, or the machine slept.",
        )
    })
}

/// A stretch of time without a line.
pub(super) fn gap(summary: &Summary) -> Option<Finding> {
    let gap = summary.lines.gap?.length;
    let duration = summary.duration?;
    (gap >= LONG_GAP && gap.0 >= duration.0 / 2).then(|| {
        Finding::new(
            "long-gap",
            Note,
            format!("The log has no line for {} of {}", time(gap), time(duration)),
            "Throughput and rates count that time. The program was idle or the machine slept, or lines are missing.",
        )
    })
}

/// Pauses or stops that take more time than there is.
pub(super) fn no_room(summary: &Summary) -> Option<Finding> {
    let duration = summary.duration?;
    let pauses = ("Pauses", summary.pauses);
    let (what, sum) = [pauses, ("Stops", summary.stops)]
        .into_iter()
        .find(|(_, spread)| spread.sum.0 > duration.0.saturating_add(spread.max.0))
        .map(|(what, spread)| (what, spread.sum))?;
    Some(Finding::new(
        "more-pause-than-time",
        Warning,
        format!(
            "{what} take {} in total, and the log covers {}",
            time(sum),
            time(duration)
        ),
        "Their share of the time is left out. Times are damaged, or several JVMs have written to the log: give each a \
         log of its own with %p in its name.",
    ))
}
