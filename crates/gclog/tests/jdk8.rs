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

#[test]
fn collections_with_numbers_are_read() {
    let log = read(
        "2022-08-01T17:16:33.170+0000: 0.169: #0: [GC (Allocation Failure) 2022-08-01T17:16:33.171+0000: 0.170: #0: \
         [ParNew: 8678K->1081K(9792K), 0.0088 secs] 8678K->8064K(31680K), 0.0106 secs] [Times: user=0.02 sys=0.00, \
         real=0.01 secs]\n\
         2022-08-01T17:16:33.200+0000: 0.199: #2: [CMS-concurrent-mark-start]\n\
         2022-08-01T17:16:33.240+0000: 0.239: #2: [CMS-concurrent-sweep: 0.001/0.002 secs] [Times: user=0.00 sys=0.00, \
         real=0.00 secs]\n",
    );
    assert_eq!(kinds(&log), [("Young", Family::Young, 1, 10.6)]);
    assert_eq!(log.counts.concurrent_cycles, 1);
    let log = read(
        "0.163: #0: [GC pause (G1 Evacuation Pause) (young), 0.0087 secs]\n   [Eden: 14.0M(14.0M)->0.0B(10.0M) \
         Survivors: 0.0B->2048.0K Heap: 14.0M(256.0M)->4096.0K(256.0M)]\n [Times: user=0.01 sys=0.00, real=0.01 \
         secs]\n0.204: #4: [GC concurrent-mark-start]\n0.214: #4: [GC cleanup 41408K->41408K(128M), 0.0014 secs]\n",
    );
    assert_eq!(
        kinds(&log),
        [
            ("Young", Family::Young, 1, 8.7),
            ("Cleanup", Family::Phase, 1, 1.4)
        ]
    );
}

#[test]
fn shenandoah() {
    let log = read(
        "OpenJDK 64-Bit Server VM (25.342-b07) for linux-amd64 JRE (1.8.0_342-b07), built on Jul 16 2022\n\
         CommandLine flags: -XX:MaxHeapSize=268435456 -XX:+PrintGCDetails -XX:+UseShenandoahGC \n\
         Regions: 256 x 1024K\n\
         2022-08-17T16:20:47.680+0800: 2.464: [Concurrent reset, start]\n\
         \x20   Using 1 of 2 workers for concurrent reset\n\
         2022-08-17T16:20:47.680+0800: 2.464: [Concurrent reset, 0.333 ms]\n\
         2022-08-17T16:20:47.685+0800: 2.469: [Pause Init Mark (process weakrefs), start]\n\
         2022-08-17T16:20:47.688+0800: 2.472: [Pause Init Mark (process weakrefs), 3.250 ms]\n\
         2022-08-17T16:20:48.561+0800: 3.344: [Pause Final Mark (process weakrefs), 4.500 ms]\n\
         2022-08-17T16:20:48.561+0800: 3.344: [Concurrent cleanup 161M->136M(200M), 0.092 ms]\n\
         2022-08-17T16:20:49.655+0800: 4.439: [Pause Full (System.gc()) 190M->16M(200M), 20.000 ms]\n\
         Trigger: Free (17M) is below minimum threshold (25M)\n\
         Pause Init Mark (G)                8027 us\n",
    );
    assert_eq!(log.collector, Some(Collector::Shenandoah));
    assert_eq!(
        kinds(&log),
        [
            ("Full", Family::Full, 1, 20.0),
            ("Final Mark", Family::Phase, 1, 4.5),
            ("Init Mark", Family::Phase, 1, 3.25),
        ]
    );
    assert_eq!(log.counts.concurrent_cycles, 1);
    assert_eq!(log.heap.peak_used, Some(190 << 20));
    assert_eq!(log.worst[0].at, Some(Nanos(4_439_000_000)));
}

#[test]
fn what_other_threads_write_within_a_pause_does_not_end_it() {
    let log = read(
        "160770.873: [GC pause (G1 Humongous Allocation) (young)160770.887: [GC concurrent-root-region-scan-end, \
         0.0157 secs]\n160770.887: [GC concurrent-mark-start]\n, 0.0470 secs]\n   [Eden: 16.0M(1552.0M)->0.0B(1536.0M) \
         Survivors: 80.0M->96.0M Heap: 29.9G(32.0G)->29.8G(32.0G)]\n [Times: user=0.26 sys=0.00, real=0.05 secs]\n",
    );
    assert_eq!(kinds(&log), [("Young", Family::Young, 1, 47.0)]);
    assert_eq!(log.counts.humongous_allocations, 1);
}

#[test]
fn a_scavenge_before_the_remark_with_the_layout_of_the_heap_is_a_part_of_it() {
    let log = read(
        "1.157: [GC (CMS Final Remark) [YG occupancy: 10451 K (47936 K)]{Heap before GC invocations=22 (full 13):\n\
         \x20par new generation   total 47936K, used 10451K [0x00000000f6400000, 0x00000000f9800000, \
         0x00000000f9800000)\n\
         \x20Metaspace       used 2476K, capacity 4490K, committed 4864K, reserved 1056768K\n\
         1.158: [GC (CMS Final Remark) 1.158: [ParNew: 10451K->10451K(47936K), 0.0000 secs] \
         111291K->111291K(154432K), 0.0001 secs] [Times: user=0.00 sys=0.00, real=0.00 secs]\n\
         Heap after GC invocations=23 (full 13):\n\
         \x20par new generation   total 47936K, used 10451K [0x00000000f6400000, 0x00000000f9800000, \
         0x00000000f9800000)\n}\n\
         1.158: [Rescan (parallel) , 0.0002 secs]1.158: [weak refs processing, 0.0000 secs][1 CMS-remark: \
         100839K(106496K)] 111291K(154432K), 0.0020 secs] [Times: user=0.00 sys=0.00, real=0.00 secs]\n",
    );
    assert_eq!(kinds(&log), [("Remark", Family::Phase, 1, 2.0)]);
    assert_eq!(log.collector, Some(Collector::Cms));
}

#[test]
fn a_rotated_log_names_its_files() {
    let log = read(
        "2016-04-14 22:37:22 GC log file created gc.log.1\n0.1: [GC (Allocation Failure) 34M->10M(124M), 0.0025 secs]\n\
         2016-04-14 22:39:22 GC log file has reached the maximum size. Saved as gc.log.1\n",
    );
    assert_eq!(kinds(&log), [("Young", Family::Young, 1, 2.5)]);
}

#[test]
fn histograms_within_full_collections_are_no_times_and_no_ends() {
    let log = read(include_str!("data/jdk8-histograms.log"));
    assert_eq!(
        kinds(&log),
        [
            ("Full", Family::Full, 1, 3500.0),
            ("Young", Family::Young, 2, 30.0),
        ]
    );
    // The last pause ends at 69,308.02 s.
    assert_eq!(log.duration.map(Nanos::seconds), Some(10.02));
    assert_eq!(log.heap.peak_after_full, Some(150_000 << 10));
    assert_eq!((log.lines.restarts, log.lines.misfits), (0, 0));
    assert!((log.throughput.unwrap() - (1.0 - 3.53 / 10.02)).abs() < 1e-9);
    assert!(has(&log, "full-collections"));
}

/// `row` is one of the table, after its first lines.
fn with_histogram(before: &str, rows: usize, after: &str) -> Summary {
    let row = |number: usize| {
        format!(
            "{number:4}: {:13} {:13}  [[Lcom.example.A$B{number};\n",
            2, 64
        )
    };
    let rows: String = (1..=rows).map(row).collect();
    read(&format!(
        "{before}[Class Histogram (before full gc): \n num     #instances         #bytes  class name\n\
         ----------------------------------------------\n{rows}Total {:12} {:12}\n, 0.5000000 secs]{after}",
        1, 2
    ))
}

#[test]
fn histograms_of_any_size_do_not_lose_the_pause_of_any_collector() {
    for (before, after, collector) in [
        (
            "2.000: [Full GC (System.gc()) 2.001: ",
            " 10M->4M(64M), 94.9000000 secs]\n   [Eden: 1.0M(1.0M)->0.0B(1.0M) Survivors: 0.0B->0.0B Heap: \
             10.0M(64.0M)->4.0M(64.0M)], [Metaspace: 2K->2K(4K)]\n [Times: user=0.01 sys=0.00, real=94.90 secs]\n",
            None,
        ),
        (
            "2.000: [Full GC (Allocation Failure) 2.001: ",
            "2.600: [CMS: 10K->4K(64K), 90.1 secs] 20K->4K(64K), [Metaspace: 2K->2K(4K)], 94.9000000 secs] [Times: \
             user=0.01 sys=0.00, real=94.90 secs]\n",
            Some(Collector::Cms),
        ),
        (
            "2.000: [GC (Allocation Failure) 2.000: [ParNew (promotion failed): 10K->9K(20K), 0.1 secs]2.001: ",
            "2.600: [CMS2.700: [CMS-concurrent-mark: 0.1/0.2 secs] [Times: user=0.01 sys=0.00, real=0.20 secs] \n \
             (concurrent mode failure): 10K->4K(64K), 90.1 secs] 20K->4K(64K), [Metaspace: 2K->2K(4K)], 94.9000000 \
             secs] [Times: user=0.01 sys=0.00, real=94.90 secs]\n",
            Some(Collector::Cms),
        ),
    ] {
        let log = with_histogram(before, 5000, after);
        assert_eq!(kinds(&log), [("Full", Family::Full, 1, 94_900.0)]);
        assert_eq!(log.collector, collector);
        assert_eq!(log.duration.map(Nanos::seconds), Some(94.9));
    }
}

/// Two threads have begun a line at once: both times come before the text of one.
#[test]
fn times_of_two_threads_in_one_line_are_no_restart() {
    let log = read(include_str!("data/jdk8-two-threads.log"));
    assert_eq!(kinds(&log), [("Young", Family::Young, 2, 100.0)]);
    assert_eq!(log.duration.map(Nanos::seconds), Some(10.05));
    assert_eq!((log.lines.restarts, log.lines.misfits), (0, 0));
    assert_eq!(log.stops.count, 1);
}

#[test]
fn a_wrong_time_is_passed_over_and_said() {
    let pause =
        |at: &str| format!("{at}: [GC (Allocation Failure) 34M->10M(124M), 0.0100000 secs]\n");
    let log = read(
        &["720.0", "7.300", "725.0", "27722.0", "726.0", "730.0"]
            .map(pause)
            .concat(),
    );
    assert_eq!(
        (log.pauses.count, log.lines.restarts, log.lines.misfits),
        (6, 0, 2)
    );
    assert_eq!(log.duration.map(Nanos::seconds), Some(10.01));
    let timeline = log.timeline.as_ref().unwrap();
    let pauses: u64 = timeline.buckets.iter().map(|it| it.pauses).sum();
    assert_eq!(pauses, 6);
    assert!((timeline.buckets.len() as u64 - 1) * timeline.width.0 <= 10_010_000_000);
    assert!(has(&log, "times-do-not-fit") && !has(&log, "time-goes-back"));
}

#[test]
fn figures_that_cannot_be_are_said() {
    let pause =
        |at: &str| format!("{at}: [GC (Allocation Failure) 34M->10M(124M), 5.0000000 secs]\n");
    let log = read(&["1.0", "6.0", "6.1", "6.2"].map(pause).concat());
    // 20 s of pauses in 10.2 s.
    assert!(has(&log, "more-pause-than-time"), "{:?}", log.findings);
    assert_eq!(log.throughput, None);
    let log = read(&["1.0", "7.0", "90000.0"].map(pause).concat());
    assert!(has(&log, "long-gap"), "{:?}", log.findings);
    // The date is set back while the JVM runs.
    let log = read(
        &[
            ("10:00:01", "1.0"),
            ("10:00:09", "9.0"),
            ("09:00:20", "20.0"),
            ("09:00:30", "30.0"),
        ]
        .map(|(time, at)| pause(&format!("2020-01-01T{time}.000+0000: {at}")))
        .concat(),
    );
    assert!(has(&log, "date-jumps"), "{:?}", log.findings);
    assert_eq!(log.duration.map(Nanos::seconds), Some(34.0));
    assert_eq!(log.lines.restarts, 0);
}

/// `-XX:-PrintGCCause`, and JDK 6 and 7.
#[test]
fn marks_of_cms_need_no_causes() {
    let log = read(
        "1.0: [GC [1 CMS-initial-mark: 91K(106K)] 164K(207K), 0.0180000 secs] [Times: user=0.02 sys=0.00, real=0.02 \
         secs] \n\
         1.1: [CMS-concurrent-mark-start]\n\
         2.0: [GC[YG occupancy: 10451 K (47936 K)]2.0: [GC 2.0: [ParNew: 10451K->10451K(47936K), 0.0001 secs] \
         111291K->111291K(154432K), 0.0002 secs] [Times: user=0.00 sys=0.00, real=0.00 secs]\n\
         2.1: [Rescan (parallel) , 0.0002 secs]2.1: [weak refs processing, 0.0000 secs] [1 CMS-remark: 99K(106K)] \
         109K(207K), 0.0020000 secs] [Times: user=0.02 sys=0.00, real=0.02 secs] \n\
         2.2: [GC 2.2: [ParNew: 20K->1K(40K), 0.0100000 secs] 119K->100K(207K), 0.0110000 secs] [Times: user=0.02 \
         sys=0.00, real=0.01 secs] \n\
         3.0: [CMS-concurrent-sweep: 0.027/0.027 secs] [Times: user=0.02 sys=0.00, real=0.02 secs] \n",
    );
    assert_eq!(
        kinds(&log),
        [
            ("Initial Mark", Family::Phase, 1, 18.0),
            ("Young", Family::Young, 1, 11.0),
            ("Remark", Family::Phase, 1, 2.0),
        ]
    );
    assert_eq!(log.collector, Some(Collector::Cms));
    // Without details they have no name.
    let log = read(
        "1.0: [GC 13606K(25088K), 0.0008000 secs]\n1.5: [GC 20M->10M(40M), 0.0100000 secs]\n\
         2.0: [GC (CMS Final Remark)  13606K(25088K), 0.0002000 secs]\n",
    );
    assert_eq!(
        kinds(&log),
        [
            ("Young", Family::Young, 1, 10.0),
            ("Mark", Family::Phase, 1, 0.8),
            ("Remark", Family::Phase, 1, 0.2),
        ]
    );
}

/// -XX:+PrintAdaptiveSizePolicy, +PrintTenuringDistribution and +PrintReferenceGC.
#[test]
fn details_within_collections_do_not_hide_their_figures() {
    let log = read(
        "1.0: [GC (Allocation Failure) 1.0: [ParNew1.1: [SoftReference, 0 refs, 0.0000100 secs]1.1: [JNI Weak \
         Reference, 0.0000050 secs]\nDesired survivor size 100 bytes, new threshold 1 (max 6)\n\
         - age   1:    3150832 bytes,    3150832 total\n: 100K->10K(200K), 0.0100000 secs] 300K->250K(800K), 0.0110000 \
         secs] [Times: user=0.02 sys=0.00, real=0.01 secs] \n\
         GC locker: Trying a full collection because scavenge failed\n\
         2.0: [GC (Allocation Failure) AdaptiveSizeStart: 2.000 collection: 2 \n\
         PSAdaptiveSizePolicy::compute_eden_space_size limits: desired_eden_size: 1\n\
         AdaptiveSizeStop: collection: 2 \n[PSYoungGen: 100K->10K(200K)] 340K->260K(800K), 0.0200000 secs] [Times: \
         user=0.02 sys=0.00, real=0.02 secs] \n",
    );
    assert_eq!(kinds(&log), [("Young", Family::Young, 2, 31.0)]);
    // 200 to 240, and 240 to 250.
    assert_eq!(log.promotion.unwrap().bytes, 50 << 10);
    let log = read(
        "3.000: [GC pause (G1 Evacuation Pause) (mixed) 3.000: [G1Ergonomics (CSet Construction) start choosing CSet, \
         _pending_cards: 0, predicted base time: 10.00 ms]\n 3.000: [G1Ergonomics (CSet Construction) finish adding \
         old regions to CSet, reason: old CSet region num (max)]\n (to-space exhausted), 0.0300000 secs]\n   [Eden: \
         1.0M(1.0M)->0.0B(1.0M) Survivors: 0.0B->0.0B Heap: 10.0M(64.0M)->4.0M(64.0M)]\n [Times: user=0.01 sys=0.00, \
         real=0.03 secs]\n 3.100: [G1Ergonomics (Concurrent Cycles) do not request concurrent cycle initiation]\n",
    );
    assert_eq!(kinds(&log), [("Mixed", Family::Young, 1, 30.0)]);
    assert_eq!(log.counts.evacuation_failures, 1);
    assert_eq!(log.causes[0].name, "G1 Evacuation Pause");
}

/// Without times in lines there is no clock that could tell it.
#[test]
fn a_jvm_that_begins_says_so_in_its_first_lines() {
    let run = "OpenJDK 64-Bit Server VM (25.392-b08) for linux-amd64 JRE (1.8.0_392-b08), built on Oct 18 2023\n\
               CommandLine flags: -XX:+UseParallelGC \n\
               0.5: [GC (Allocation Failure) 34M->10M(124M), 0.0100000 secs]\n\
               3.5: [GC (Allocation Failure) 34M->10M(124M), 0.0100000 secs]\n";
    let log = read(&[run, run].concat());
    assert_eq!((log.lines.restarts, log.pauses.count), (1, 4));
    assert_eq!(log.duration.map(Nanos::seconds), Some(6.02));
    // The files of a rotated log begin with them, too.
    let next = run.replace("0.5: ", "5.0: ").replace("3.5: ", "9.0: ");
    assert_eq!(read(&[run, &next].concat()).lines.restarts, 0);
}
