//! Logs of JDK 8, in the forms that its documentation and guides show.

use hprof_gclog::{Collector, Family, HeapChange, Nanos, Reader, Summary};

fn read(log: &str) -> Summary {
    let mut reader = Reader::new();
    reader.feed(log.as_bytes());
    let summary = reader.finish();
    assert_eq!(summary.lines.not_understood, 0, "{:?}", summary.lines);
    assert!(!summary.lines.is_cut);
    summary
}

/// Name, family, count and sum in milliseconds of the kinds of pauses.
fn kinds(summary: &Summary) -> Vec<(&str, Family, u64, f64)> {
    let kinds = summary.kinds.iter();
    kinds
        .map(|row| {
            let spread = row.spread;
            (
                row.name.as_str(),
                row.family.unwrap(),
                spread.count,
                spread.sum.millis(),
            )
        })
        .collect()
}

fn has(summary: &Summary, finding: &str) -> bool {
    summary.findings.iter().any(|it| it.id == finding)
}

#[test]
fn parallel() {
    let log = read(include_str!("data/jdk8-parallel.log"));
    assert_eq!(log.collector, Some(Collector::Parallel));
    assert_eq!(log.jvm.as_deref(), Some("1.8.0_392-b08"));
    assert_eq!(log.heap.max, Some(4_174_809_088));
    assert_eq!(
        kinds(&log),
        [
            ("Full", Family::Full, 2, 1415.8801),
            ("Young", Family::Young, 1, 240.6675),
        ]
    );
    let worst = &log.worst[0];
    assert_eq!(
        (worst.duration, worst.cause.as_str()),
        (Nanos(915_880_100), "Ergonomics")
    );
    assert_eq!(worst.at, Some(Nanos(117_271_880_100)));
    let kilo = |before: u64, after: u64, capacity: u64| HeapChange {
        before: before << 10,
        after: after << 10,
        capacity: Some(capacity << 10),
    };
    assert_eq!(worst.heap, Some(kilo(8_438_926, 6_597_672, 11_185_152)));
    // The old generation had 6862335K before the young collection and 7133794K after it.
    assert_eq!(log.promotion.unwrap().bytes, 271_459 << 10);
    // Between the collections.
    assert_eq!(log.allocation.unwrap().bytes, (6_598_696 - 6_597_672) << 10);
    assert_eq!((log.stops.count, log.stops.max), (1, Nanos(916_302_100)));
    assert_eq!(log.reaching.max, Nanos(51_200));
    assert_eq!(log.cpu.unwrap().user, Nanos(8_260_000_000));
    assert_eq!(log.metaspace.unwrap().peak, 6745 << 10);
    assert!(has(&log, "full-collections") && has(&log, "explicit-collections"));
}

#[test]
fn serial() {
    let log = read(include_str!("data/jdk8-serial.log"));
    assert_eq!(log.collector, Some(Collector::Serial));
    assert_eq!(
        kinds(&log),
        [
            ("Full", Family::Full, 1, 185.6954),
            ("Young", Family::Young, 1, 58.5007),
        ]
    );
    assert_eq!(log.heap.peak_after_full, Some(755_802 << 10));
    assert_eq!(
        log.promotion.unwrap().bytes,
        ((1_273_247 - 69_888) - (1_619_346 - 629_119)) << 10
    );
}

#[test]
fn cms_with_a_failure_that_its_own_threads_interrupt() {
    let log = read(include_str!("data/jdk8-cms.log"));
    assert_eq!(log.collector, Some(Collector::Cms));
    assert_eq!(
        kinds(&log),
        [
            ("Full", Family::Full, 1, 2500.0),
            ("Young", Family::Young, 1, 102.1309),
            ("Remark", Family::Phase, 1, 11.073),
            ("Initial Mark", Family::Phase, 1, 0.1997),
        ]
    );
    assert_eq!(log.counts.concurrent_mode_failures, 1);
    assert_eq!(log.counts.promotion_failures, 1);
    assert_eq!(log.counts.concurrent_cycles, 1);
    assert_eq!(log.heap.last_after, Some(755_802 << 10));
    assert!(has(&log, "concurrent-mode-failures") && has(&log, "long-pauses"));
}

#[test]
fn g1_with_its_heap_in_a_later_line() {
    let log = read(include_str!("data/jdk8-g1.log"));
    assert_eq!(log.collector, Some(Collector::G1));
    assert_eq!(log.jvm.as_deref(), Some("1.8.0_151-b12"));
    let kinds = kinds(&log);
    let names: Vec<&str> = kinds.iter().map(|(name, ..)| *name).collect();
    let expected = [
        "Full",
        "Mixed",
        "Young",
        "Young (initial-mark)",
        "Remark",
        "Cleanup",
    ];
    assert_eq!(names, expected, "{kinds:?}");
    assert_eq!(
        log.pauses.sum.millis(),
        2300.0 + 200.0 + 30.5171 + 10.0 + 3.0 + 2.0
    );
    let young = log.worst.iter().find(|it| it.kind == "Young").unwrap();
    let mega = |value: f64| (value * f64::from(1 << 20)) as u64;
    assert_eq!(
        young.heap,
        Some(HeapChange {
            before: mega(1694.4),
            after: mega(736.3),
            capacity: Some(2048 << 20),
        })
    );
    assert_eq!(log.counts.evacuation_failures, 1);
    assert_eq!(log.counts.humongous_allocations, 1);
    assert_eq!(
        (log.counts.concurrent_cycles, log.counts.concurrent_aborted),
        (1, 1)
    );
    assert_eq!(log.metaspace.unwrap().last, 2990 << 10);
    for finding in [
        "evacuation-failures",
        "humongous-allocations",
        "aborted-cycles",
    ] {
        assert!(has(&log, finding), "{finding}");
    }
}

#[test]
fn short_logs_without_details() {
    let log = read(include_str!("data/jdk8-short.log"));
    assert_eq!((log.counts.young, log.counts.full), (2, 1));
    assert_eq!(log.causes.len(), 3);
}
