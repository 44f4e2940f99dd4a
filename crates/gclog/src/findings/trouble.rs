//! Events with which a collector says that it does not keep up.

use super::Severity::{Serious, Warning};
use super::{Finding, plural, time};
use crate::event::Collector;
use crate::requests::{ASKED, METADATA};
use crate::summary::{Row, Summary};

pub(super) fn full(summary: &Summary) -> Option<Finding> {
    let is_for_memory = |row: &&Row| {
        let cause = row.name.as_str();
        !ASKED.contains(&cause) && !METADATA.contains(&cause)
    };
    let rows = || summary.full_causes.iter().filter(is_for_memory);
    let count = rows().map(|row| row.spread.count).sum();
    let longest = rows().map(|row| row.spread.max).max()?;
    let fact = format!(
        "{} for lack of memory; the longest full collection took {}",
        plural(count, "full collection", "full collections"),
        time(longest)
    );
    let advice = match summary.collector {
        Some(Collector::G1) => {
            "Raise -Xmx, or start the concurrent cycle earlier with a lower \
             -XX:InitiatingHeapOccupancyPercent; if the heap after full collections keeps growing, look \
             for a leak with `hprof-rs leaks`."
        }
        Some(Collector::Serial | Collector::Parallel) => {
            "Raise -Xmx, or change to a concurrent collector with -XX:+UseG1GC; if the heap after full \
             collections keeps growing, look for a leak with `hprof-rs leaks`."
        }
        Some(Collector::Shenandoah) => {
            "Raise -Xmx, or give the collector more threads with -XX:ConcGCThreads."
        }
        _ => {
            "Raise -Xmx; if the heap after full collections keeps growing, look for a leak with \
             `hprof-rs leaks`."
        }
    };
    Some(Finding::new("full-collections", Serious, fact, advice))
}

pub(super) fn out_of_memory(summary: &Summary) -> Option<Finding> {
    let count = summary.counts.out_of_memory;
    (count > 0).then(|| {
        Finding::new(
            "out-of-memory",
            Serious,
            format!(
                "{} that found no memory",
                plural(count, "thread", "threads")
            ),
            "Raise -Xmx, and have the next failure write a heap dump with \
             -XX:+HeapDumpOnOutOfMemoryError.",
        )
    })
}

pub(super) fn evacuation_failures(summary: &Summary) -> Option<Finding> {
    let count = summary.counts.evacuation_failures;
    (count > 0).then(|| {
        Finding::new(
            "evacuation-failures",
            Serious,
            format!(
                "{} found no room to copy objects to (to-space exhausted)",
                plural(count, "collection", "collections")
            ),
            "Raise -Xmx or -XX:G1ReservePercent, and lower -XX:InitiatingHeapOccupancyPercent so that the \
             old generation is collected earlier.",
        )
    })
}

pub(super) fn mode_failures(summary: &Summary) -> Option<Finding> {
    let count = summary.counts.concurrent_mode_failures;
    (count > 0).then(|| {
        Finding::new(
            "concurrent-mode-failures",
            Serious,
            format!(
                "{} of CMS did not end before the old generation was full (concurrent mode failure)",
                plural(count, "cycle", "cycles")
            ),
            "Lower -XX:CMSInitiatingOccupancyFraction with -XX:+UseCMSInitiatingOccupancyOnly, raise -Xmx, \
             or change to -XX:+UseG1GC.",
        )
    })
}

pub(super) fn promotion_failures(summary: &Summary) -> Option<Finding> {
    let count = summary.counts.promotion_failures;
    (count > 0).then(|| {
        Finding::new(
            "promotion-failures",
            Warning,
            format!(
                "{} found no room in the old generation (promotion failed)",
                plural(count, "young collection", "young collections")
            ),
            "Raise -Xmx, or enlarge the survivor spaces with a lower -XX:SurvivorRatio so that fewer \
             objects are promoted.",
        )
    })
}

pub(super) fn stalls(summary: &Summary) -> Option<Finding> {
    let stalls = summary.stalls;
    (stalls.count > 0).then(|| {
        Finding::new(
            "allocation-stalls",
            Serious,
            format!(
                "Threads waited {} for memory (allocation stalls), {} at most and {} in total",
                plural(stalls.count, "time", "times"),
                time(stalls.max),
                time(stalls.sum)
            ),
            "Raise -Xmx, or give ZGC more threads with -XX:ConcGCThreads; -XX:SoftMaxHeapSize below -Xmx \
             leaves room for peaks.",
        )
    })
}

pub(super) fn degenerated(summary: &Summary) -> Option<Finding> {
    let count = summary.counts.degenerated;
    (count > 0).then(|| {
        Finding::new(
            "degenerated-cycles",
            Serious,
            format!(
                "{} of Shenandoah ended in a pause because memory ran out (degenerated)",
                plural(count, "cycle", "cycles")
            ),
            "Raise -Xmx, start cycles earlier with a higher -XX:ShenandoahMinFreeThreshold, or raise \
             -XX:ConcGCThreads.",
        )
    })
}

pub(super) fn aborted(summary: &Summary) -> Option<Finding> {
    let count = summary.counts.concurrent_aborted;
    (count > 0).then(|| {
        Finding::new(
            "aborted-cycles",
            Warning,
            format!(
                "{} given up for a full collection",
                plural(count, "concurrent cycle was", "concurrent cycles were")
            ),
            "Start the cycle earlier with a lower -XX:InitiatingHeapOccupancyPercent, or raise \
             -XX:ConcGCThreads or -Xmx.",
        )
    })
}
