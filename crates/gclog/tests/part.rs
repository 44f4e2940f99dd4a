//! Figures of a part of a log's time.

use hprof_gclog::{Collector, Nanos, Part, Reader, Summary};

/// A second of the log for each pause, of as many milliseconds. Dates begin at 14:03:00 UTC on 2026-11-29.
fn log(decorations: impl Fn(u32) -> String) -> String {
    let mut log = format!("{}[info][gc] Using G1\n", decorations(0));
    for second in 1..=9 {
        log.push_str(&format!(
            "{}[info][gc] GC({second}) Pause Young (Normal) (G1 Evacuation Pause) {}M->10M(124M) {second}.000ms\n",
            decorations(second),
            20 + second,
        ));
    }
    log
}

const START: i64 = 1_795_960_980_000_000_000;
const SECOND: i64 = 1_000_000_000;

fn span(log: &str) -> Option<Part> {
    let mut reader = Reader::measuring();
    reader.feed(log.as_bytes());
    reader.span()
}

fn part(log: &str, part: Part) -> Summary {
    let mut reader = Reader::of_part(part);
    reader.feed(log.as_bytes());
    reader.finish()
}

fn seconds(from: i64, to: i64, start: i64, has_dates: bool) -> Part {
    Part {
        from: start + from * SECOND,
        to: start + to * SECOND,
        has_dates,
    }
}

/// Pauses of 3, 4 and 5 ms in the three seconds from the third on.
fn expect_three(summary: &Summary, from: u64) {
    assert_eq!(summary.pauses.count, 3);
    assert_eq!(summary.pauses.sum, Nanos(12_000_000));
    assert_eq!(summary.from, Nanos(from));
    assert_eq!(summary.duration, Some(Nanos(3_000_000_000)));
    assert_eq!(summary.throughput, Some(1.0 - 0.012 / 3.0));
    assert_eq!(
        summary.collector,
        Some(Collector::G1),
        "a line before says so"
    );
    assert_eq!((summary.lines.total, summary.lines.left_out), (10, 7));
    assert_eq!(summary.heap.peak_used, Some(25 << 20));
    assert_eq!(summary.worst.len(), 3);
    assert_eq!((summary.lines.restarts, summary.lines.misfits), (0, 0));
}

#[test]
fn lines_with_the_time_since_the_start_have_parts() {
    let log = log(|second| format!("[{second}.500s]"));
    let whole = Part {
        from: SECOND / 2,
        to: 9 * SECOND + SECOND / 2 + 1,
        has_dates: false,
    };
    assert_eq!(span(&log), Some(whole));
    let summary = part(&log, seconds(3, 6, 0, false));
    expect_three(&summary, 3_000_000_000);
    assert_eq!(part(&log, seconds(100, 200, 0, false)).pauses.count, 0);
    // All of it is the same as without.
    let mut all = Reader::new();
    all.feed(log.as_bytes());
    let all = all.finish();
    let as_part = part(&log, whole);
    assert_eq!(
        (all.pauses, all.lines.left_out),
        (as_part.pauses, as_part.lines.left_out)
    );
}

#[test]
fn lines_with_dates_have_parts() {
    let both = |second: u32| {
        format!(
            "[2026-11-29T14:03:0{second}.500+0000][{}.500s]",
            second + 70
        )
    };
    let dates = |second: u32| format!("[2026-11-29T14:03:0{second}.500+0000]");
    let of_both = part(&log(both), seconds(3, 6, START, true));
    expect_three(&of_both, 73_000_000_000);
    let of_dates = part(&log(dates), seconds(3, 6, START, true));
    expect_three(&of_dates, 0);
    let whole = span(&log(dates)).unwrap();
    assert_eq!(whole.from, START + SECOND / 2);
    assert!(whole.has_dates);
}

#[test]
fn logs_of_jdk_8_have_parts() {
    let mut log = String::new();
    for second in 1..=9 {
        log.push_str(&format!(
            "2026-11-29T14:03:0{second}.500+0000: {second}.500: [GC (Allocation Failure)  {}M->10M(124M), 0.00{second}0000 secs]\n",
            20 + second
        ));
    }
    let summary = part(&log, seconds(3, 6, START, true));
    assert_eq!(summary.pauses.count, 3);
    assert_eq!(summary.pauses.sum, Nanos(12_000_000));
    assert_eq!(summary.lines.left_out, 6);
}

#[test]
fn lines_without_times_have_none() {
    assert_eq!(span(&log(|_| String::new())), None);
}
