//! Figures that are worth a change.

use super::Severity::{Note, Serious, Warning};
use super::{Finding, plural, size, time};
use crate::event::{Collector, Nanos};
use crate::requests::{Request, SYSTEM_GC};
use crate::summary::Summary;

/// Below this share of the time without pauses, users notice.
const MIN_THROUGHPUT: f64 = 0.95;
/// A pause that users notice.
const LONG_PAUSE: Nanos = Nanos(500_000_000);
/// A pause that ends connections.
const VERY_LONG_PAUSE: Nanos = Nanos(2_000_000_000);
/// A share of the time that is worth a look.
const MUCH_OF_THE_TIME: f64 = 0.01;
/// Threads usually stop within a millisecond.
const LONG_STOPPING: Nanos = Nanos(50_000_000);
/// A heap so full after a full collection that the next one comes soon.
const NEARLY_FULL: f64 = 0.9;
/// An allocation rate, in bytes per second, at which most collectors work hard.
const FAST_ALLOCATION: f64 = 1e9;
/// Time that a growth of the heap must last.
const MIN_GROWTH_TIME: Nanos = Nanos(60_000_000_000);
/// Parts of the log with collections that each quarter needs: fewer may all come before the collector is through.
const MIN_GROWTH_PARTS: usize = 3;

pub(super) fn nearly_full(summary: &Summary) -> Option<Finding> {
    let after = summary.heap.peak_after_full?;
    let limit = summary.heap.max.or(summary.heap.peak_capacity)?;
    let share = after as f64 / limit.max(1) as f64;
    (share >= NEARLY_FULL).then(|| {
        Finding::new(
            "heap-nearly-full",
            Serious,
            format!(
                "{} of {} were still in use after a full collection",
                size(after),
                size(limit)
            ),
            "Raise -Xmx, or see what fills the heap: `hprof-rs capture PID`, then `hprof-rs leaks`.",
        )
    })
}

/// The least that is in use after collections, by quarters of those parts of the log that have any: a heap that grows slowly
/// is rarely collected.
pub(super) fn growing(summary: &Summary) -> Option<Finding> {
    let timeline = summary.timeline.as_ref()?;
    if summary.duration? < MIN_GROWTH_TIME {
        return None;
    }
    let used = timeline.buckets.iter();
    let used: Vec<_> = used.filter_map(|bucket| bucket.used_after).collect();
    let quarter = used.len() / 4;
    if quarter < MIN_GROWTH_PARTS {
        return None;
    }
    let least = |number: usize| used[number * quarter..].iter().take(quarter).min().copied();
    // The program starts in the first.
    let (second, third, last) = (least(1)?, least(2)?, least(3)?);
    let has_grown = second < third && third < last && last > second.saturating_mul(3) / 2;
    has_grown.then(|| {
        Finding::new(
            "heap-grows",
            Warning,
            format!(
                "The heap after collections grows: at least {}, then {}, then {} in the last three quarters \
                 of the log",
                size(second),
                size(third),
                size(last)
            ),
            "Take two heap dumps some time apart and compare them with `hprof-rs growth`; `hprof-rs leaks` \
             names what holds the memory.",
        )
    })
}

pub(super) fn explicit(summary: &Summary) -> Option<Finding> {
    let requests = &summary.requests;
    let (program, tools): (Vec<&Request>, Vec<&Request>) =
        requests.iter().partition(|it| it.cause == SYSTEM_GC);
    let mut advice = Vec::new();
    if let Some(calls) = program.first() {
        // A concurrent start shows that the option is on.
        let may_be_concurrent = summary.collector == Some(Collector::G1) && calls.concurrent == 0;
        advice.push(match may_be_concurrent {
            true => {
                "Find the caller with `hprof-rs run --agent cpu=times`, or make these concurrent with \
                 -XX:+ExplicitGCInvokesConcurrent; -XX:+DisableExplicitGC ignores them."
            }
            false => {
                "Find the caller with `hprof-rs run --agent cpu=times`, or ignore such calls with \
                 -XX:+DisableExplicitGC."
            }
        });
    }
    if !tools.is_empty() {
        advice.push(match program.is_empty() {
            true => "A tool has asked for them; take histograms and dumps less often.",
            false => "A tool has asked for the others; take histograms and dumps less often.",
        });
    }
    let who = match &requests[..] {
        [] => return None,
        [one] => one.cause.to_owned(),
        all => {
            let each = all.iter();
            let each = each.map(|it| match it.sum {
                Some(sum) => format!("{} ({}, {})", it.cause, it.count, time(sum)),
                None => format!("{} ({})", it.cause, it.count),
            });
            each.collect::<Vec<_>>().join(", ")
        }
    };
    let (count, in_total) = sum(requests);
    let fact = format!(
        "{} by {who}{in_total}",
        plural(
            count,
            "collection was asked for",
            "collections were asked for"
        )
    );
    Some(Finding::new(
        "explicit-collections",
        Warning,
        fact,
        advice.join(" "),
    ))
}

/// The number of requests, and the words for their pauses, if any are known.
fn sum(requests: &[Request]) -> (u64, String) {
    let count = requests.iter().map(|it| it.count).sum();
    let pauses = requests.iter().filter_map(|it| it.sum);
    let pauses = pauses.reduce(|sum, pause| Nanos(sum.0.saturating_add(pause.0)));
    let in_total = pauses.map_or(String::new(), |sum| format!(", {} in total", time(sum)));
    (count, in_total)
}

pub(super) fn metadata(summary: &Summary) -> Option<Finding> {
    let (count, in_total) = sum(&summary.metaspace_requests);
    (count > 0).then(|| {
        Finding::new(
            "metadata-threshold",
            Note,
            format!(
                "{} because metaspace grew{in_total}",
                plural(count, "collection", "collections")
            ),
            "Set -XX:MetaspaceSize to what the program needs; if metaspace keeps growing, look for leaked \
             class loaders with `hprof-rs classloaders`.",
        )
    })
}

pub(super) fn throughput(summary: &Summary) -> Option<Finding> {
    let throughput = summary.throughput?;
    // In a log of a few seconds, the start of the JVM takes most of them.
    let is_long = summary.duration? >= Nanos(10_000_000_000);
    (throughput < MIN_THROUGHPUT && is_long).then(|| {
        Finding::new(
            "low-throughput",
            Warning,
            format!(
                "Collections stop the program for {:.1}% of the time",
                100.0 * (1.0 - throughput)
            ),
            "Raise -Xmx, so that collections are rarer, or find what allocates: `hprof-rs record PID --alloc`.",
        )
    })
}

pub(super) fn long_pauses(summary: &Summary) -> Option<Finding> {
    let max = summary.pauses.max;
    if max < LONG_PAUSE {
        return None;
    }
    let worst = summary.worst.first()?;
    let severity = if max >= VERY_LONG_PAUSE {
        Serious
    } else {
        Warning
    };
    let advice = match summary.collector {
        Some(Collector::G1) => {
            "Lower -XX:MaxGCPauseMillis, and do not set -Xmn, which takes that choice from G1; for pauses \
             below a millisecond use -XX:+UseZGC."
        }
        Some(Collector::Serial | Collector::Parallel | Collector::Cms) => {
            "Change to -XX:+UseG1GC with -XX:MaxGCPauseMillis, or to -XX:+UseZGC for pauses below a \
             millisecond."
        }
        _ => {
            "See in the list of the longest pauses what they are, and give the machine CPU time and memory."
        }
    };
    let fact = format!(
        "The longest pause took {} ({}); 99 in 100 took at most {}",
        time(max),
        worst.kind,
        time(summary.pauses.p99)
    );
    Some(Finding::new("long-pauses", severity, fact, advice))
}

pub(super) fn humongous(summary: &Summary) -> Option<Finding> {
    let count = summary.counts.humongous_allocations;
    (count > 0).then(|| {
        let region = summary.heap.region.map(|bytes| {
            format!(
                "; regions have {}, and half of that is humongous",
                size(bytes)
            )
        });
        Finding::new(
            "humongous-allocations",
            Warning,
            format!(
                "{} because of objects of half a region or more (humongous){}",
                plural(count, "collection", "collections"),
                region.unwrap_or_default()
            ),
            "Raise -XX:G1HeapRegionSize (up to 32m), or find who allocates such arrays: \
             `hprof-rs record PID --alloc`.",
        )
    })
}

pub(super) fn safepoints(summary: &Summary) -> Option<Finding> {
    let reaching = summary.reaching;
    let share = |part: Nanos, whole: Option<Nanos>| {
        whole.is_some_and(|whole| part.0 as f64 >= MUCH_OF_THE_TIME * whole.0.max(1) as f64)
    };
    let is_long = reaching.max >= LONG_STOPPING;
    (is_long || share(reaching.sum, summary.duration)).then(|| {
        Finding::new(
            "slow-safepoints",
            Warning,
            format!(
                "Threads took up to {} to stop before the work of a pause began, {} in total",
                time(reaching.max),
                time(reaching.sum)
            ),
            "Look for long loops and big array copies with -Xlog:safepoint*=debug; \
             -XX:+UseCountedLoopSafepoints has loops stop, and a machine without free CPU time delays \
             all of it.",
        )
    })
}

/// Operations of the VM for collections, by the names that HotSpot gives them (`vmOperation.hpp`).
fn is_for_collection(operation: &str) -> bool {
    // Begins of names, as each collector has some dozen.
    let begins = [
        "G1",
        "CGC_",
        "CMS",
        "GC_",
        "GenCollect",
        "Parallel",
        "Serial",
        "Shenandoah",
        "X",
        "Z",
        "HeapDumper",
    ];
    // Classes of operations have a prefix that logs leave out.
    let name = operation.strip_prefix("VM_").unwrap_or(operation);
    // An operation on compiled code, in spite of its name.
    let is_of_code = name == "ZombieAll";
    let begins = begins.iter().any(|begin| name.starts_with(begin));
    (begins && !is_of_code) || name.contains("Collect")
}

/// Stops for anything but collections, where they take much of the time.
pub(super) fn other_stops(summary: &Summary) -> Option<Finding> {
    let others = || {
        let rows = summary.operations.iter();
        rows.filter(|row| !is_for_collection(&row.name))
    };
    let sum: u64 = others().map(|row| row.spread.sum.0).sum();
    let longest = others().max_by_key(|row| row.spread.max)?;
    let most = others().max_by_key(|row| row.spread.sum)?;
    let whole = summary.duration?.0.max(1) as f64;
    let is_much = sum as f64 >= MUCH_OF_THE_TIME * whole;
    (is_much || longest.spread.max >= LONG_PAUSE).then(|| {
        Finding::new(
            "other-stops",
            Warning,
            format!(
                "Stops for other reasons than collections took {}, most of it by the operation {}, the longest {}",
                time(Nanos(sum)),
                most.name,
                time(longest.spread.max)
            ),
            "Operations whose names have Thread, Stack or Deadlock come from tools that ask for dumps of threads: \
             let them ask less often. RevokeBias goes away with -XX:-UseBiasedLocking (JDK 11 to 17), Deoptimize \
             and RedefineClasses with fewer agents and less late class loading.",
        )
    })
}

pub(super) fn waiting(summary: &Summary) -> Option<Finding> {
    let cpu = summary.cpu?;
    if cpu.waiting > 0 {
        return Some(Finding::new(
            "pauses-without-cpu",
            Warning,
            format!(
                "{} took at least twice as long as their CPU time",
                plural(cpu.waiting, "long collection", "long collections")
            ),
            "The machine swaps, its disk is slow for the log, or the container's CPU limit throttles: look \
             at `vmstat 1` and cpu.stat, and log to memory or another disk.",
        ));
    }
    (cpu.sys > cpu.user && cpu.sys >= Nanos(1_000_000_000)).then(|| {
        Finding::new(
            "kernel-time",
            Warning,
            format!(
                "Collections spent {} in the kernel and {} in the collector",
                time(cpu.sys),
                time(cpu.user)
            ),
            "Have the memory ready with -Xms equal to -Xmx and -XX:+AlwaysPreTouch, and look at transparent \
             huge pages and swap.",
        )
    })
}

pub(super) fn allocation(summary: &Summary) -> Option<Finding> {
    let per_second = summary.allocation?.per_second?;
    (per_second >= FAST_ALLOCATION).then(|| {
        Finding::new(
            "fast-allocation",
            Note,
            format!("The program allocates {} a second", size(per_second as u64)),
            "See who allocates: `hprof-rs record PID --alloc`.",
        )
    })
}

pub(super) fn damage(summary: &Summary) -> Option<Finding> {
    let lines = &summary.lines;
    if lines.restarts > 0 {
        return Some(Finding::new(
            "time-goes-back",
            Note,
            format!(
                "The time goes back {} in the log",
                plural(lines.restarts, "time", "times")
            ),
            "Give each JVM a log of its own with %p in its name, such as -Xlog:gc*:file=gc-%p.log.",
        ));
    }
    (summary.pauses.count == 0 && lines.total > 0).then(|| {
        Finding::new(
            "no-pauses",
            Note,
            "The log shows no pause",
            "Log with -Xlog:gc*,safepoint:file=gc.log (JDK 9 and later) or -XX:+PrintGCDetails \
             -Xloggc:gc.log (JDK 8).",
        )
    })
}
