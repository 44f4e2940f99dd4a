//! Unified logging: logs of JVMs, and the lines of trouble that a short run does not make.

use hprof_gclog::{Collector, Family, Nanos, Reader, Severity, Summary, compare};

fn read(log: &str) -> Summary {
    let mut reader = Reader::new();
    reader.feed(log.as_bytes());
    reader.finish()
}

fn advice<'a>(summary: &'a Summary, finding: &str) -> &'a str {
    let found = summary.findings.iter().find(|it| it.id == finding);
    &found
        .unwrap_or_else(|| panic!("{finding}: {:?}", summary.findings))
        .advice
}

#[test]
fn g1_of_jdk_17() {
    let text = include_str!("data/unified-g1.log");
    let log = read(text);
    assert_eq!(log.collector, Some(Collector::G1));
    assert_eq!(
        (log.heap.max, log.heap.region),
        (Some(96 << 20), Some(1 << 20))
    );
    assert_eq!(log.lines.not_understood, 0, "{:?}", log.lines);
    // The end of each pause has a duration.
    let is_end = |line: &&str| line.contains(") Pause ") && line.ends_with("ms");
    let ends: Vec<&str> = text.lines().filter(is_end).collect();
    assert_eq!(log.pauses.count, ends.len() as u64);
    let millis = |line: &str| -> f64 {
        let word = line.rsplit(' ').next().unwrap();
        word.trim_end_matches("ms").parse().unwrap()
    };
    let sum: f64 = ends.iter().map(|line| millis(line)).sum();
    assert!((log.pauses.sum.millis() - sum).abs() < 1e-6);
    let stops = text.lines().filter(|line| line.contains("Safepoint \""));
    assert_eq!(log.stops.count, stops.count() as u64);
}

#[test]
fn generational_zgc_of_jdk_25() {
    let text = include_str!("data/unified-zgc.log");
    let log = read(text);
    assert_eq!(log.collector, Some(Collector::Z));
    assert_eq!(log.lines.not_understood, 0, "{:?}", log.lines);
    let names: Vec<&str> = log.kinds.iter().map(|row| row.name.as_str()).collect();
    assert!(names.contains(&"Mark Start (young)"), "{names:?}");
    assert!(
        log.kinds
            .iter()
            .all(|row| row.family == Some(Family::Phase))
    );
    assert!(log.counts.concurrent_cycles > 0);
    let allocation = log.allocation.unwrap();
    assert!(allocation.is_exact && allocation.bytes > 0);
    assert!(log.promotion.is_some());
}

/// As JDK 25 logged it when the program ended within a collection.
#[test]
fn a_collection_that_the_end_of_the_jvm_cuts_off_is_no_trouble() {
    let log = read(
        "[1.057s][info][gc] GC(89) Minor Collection (Allocation Rate)\n\
         [1.058s][15612][info][gc          ] GC(89) Minor Collection (Allocation Rate) Aborted\n",
    );
    assert_eq!(log.lines.not_understood, 0, "{:?}", log.lines);
    assert_eq!(log.counts.concurrent_aborted, 0);
}

#[test]
fn trouble_has_advice() {
    let log = read(
        "[1.0s][info][gc] Using G1\n\
         [1.0s][info][gc] GC(1) To-space exhausted\n\
         [1.1s][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 100M->98M(100M) 20.000ms\n\
         [1.2s][info][gc] GC(2) Pause Young (Normal) (G1 Evacuation Pause) (Evacuation Failure: Allocation / Pinned) 99M->99M(100M) 30.000ms\n\
         [1.3s][info][gc] GC(3) Concurrent Mark Abort\n\
         [3.9s][info][gc] GC(4) Pause Full (G1 Compaction Pause) 99M->97M(100M) 2500.000ms\n\
         [4.0s][info][gc] GC(5) Pause Young (Concurrent Start) (G1 Humongous Allocation) 98M->97M(100M) 1.000ms\n",
    );
    assert_eq!(log.counts.evacuation_failures, 2);
    assert_eq!(log.counts.concurrent_aborted, 1);
    assert_eq!(log.counts.humongous_allocations, 1);
    assert!(advice(&log, "evacuation-failures").contains("-XX:G1ReservePercent"));
    assert!(advice(&log, "full-collections").contains("-Xmx"));
    assert!(advice(&log, "heap-nearly-full").contains("hprof-rs leaks"));
    assert!(advice(&log, "humongous-allocations").contains("-XX:G1HeapRegionSize"));
    assert!(advice(&log, "long-pauses").contains("-XX:MaxGCPauseMillis"));
    assert!(log.findings.is_sorted_by_key(|finding| finding.severity));
    assert_eq!(log.findings[0].severity, Severity::Serious);
}

#[test]
fn zgc_that_runs_out_of_memory_stalls() {
    let log = read(
        "[2.0s][info][gc] Using The Z Garbage Collector\n\
         [2.0s][info][gc] Allocation Stall (main) 120.500ms\n\
         [2.1s][info][gc] Allocation Stall (worker (1)) 79.500ms\n\
         [2.2s][info][gc] Out Of Memory (main)\n\
         [2.3s][info][gc] GC(0) Garbage Collection (Allocation Stall) 96M(100%)->90M(94%)\n",
    );
    assert_eq!((log.stalls.count, log.stalls.sum), (2, Nanos(200_000_000)));
    assert_eq!(
        (log.counts.out_of_memory, log.counts.concurrent_cycles),
        (1, 1)
    );
    assert!(advice(&log, "allocation-stalls").contains("-XX:ConcGCThreads"));
    // Without `gc*` what was allocated meanwhile is not known.
    assert!(!log.allocation.unwrap().is_exact);
}

#[test]
fn shenandoah_degenerates_and_ends_with_a_table() {
    let log = read(
        "[2.0s][info][gc] Using Shenandoah\n\
         [2.0s][info][gc] GC(0) Pause Init Mark (unload classes) 0.100ms\n\
         [2.1s][info][gc] GC(0) Concurrent cleanup 60M->40M(96M) 0.050ms\n\
         [2.2s][info][gc] GC(0) Pause Degenerated GC (Mark) 90M->30M(96M) 45.000ms\n\
         [2.3s][info][gc] GC(1) Pause Full 95M->30M(96M) 80.000ms\n\
         [2.4s][info][gc,stats] Pause Init Mark (G)                  51 us\n\
         [2.4s][info][gc,stats] Pause Init Mark (N)           =    0.000 s (a =       46 us) (n =     4)\n",
    );
    assert_eq!(log.lines.not_understood, 0, "{:?}", log.lines);
    assert_eq!(
        (log.pauses.count, log.counts.degenerated, log.counts.full),
        (3, 1, 1)
    );
    assert_eq!(log.causes[0].name, "Mark");
    assert!(advice(&log, "degenerated-cycles").contains("-XX:ShenandoahMinFreeThreshold"));
}

/// Serial of JDK 11 logs the full collection first, and its time again in that of the young one.
#[test]
fn a_full_collection_within_a_young_one_counts_once() {
    let log = read(
        "[0.372s][info][gc,start] GC(5) Pause Young (Allocation Failure)\n\
         [0.373s][info][gc,start] GC(6) Pause Full (Allocation Failure)\n\
         [0.594s][info][gc] GC(6) Pause Full (Allocation Failure) 23M->12M(31M) 221.800ms\n\
         [0.594s][info][gc] GC(5) Pause Young (Allocation Failure) 27M->12M(31M) 222.900ms\n\
         [0.600s][info][gc] GC(7) Pause Young (Allocation Failure) 20M->12M(31M) 3.000ms\n",
    );
    assert_eq!(log.pauses.sum, Nanos(225_900_000));
    assert_eq!((log.counts.young, log.counts.full), (2, 1));
    assert_eq!(log.allocation.unwrap().bytes, 8 << 20);
}

#[test]
fn a_log_of_two_jvms_says_so() {
    let line = |at: f64| format!("[{at}s][info][gc] GC(0) Pause Remark 3M->3M(9M) 1.000ms\n");
    let log = read(&[line(0.5), line(100.5), line(0.4), line(50.4)].concat());
    assert_eq!(log.lines.restarts, 1);
    assert_eq!(log.duration, Some(Nanos(150_000_000_000)));
    assert!(advice(&log, "time-goes-back").contains("%p"));
}

#[test]
fn a_heap_that_grows_is_noticed() {
    let log = |growth: u32| {
        let line = |second: u32| {
            let after = 100 + growth * second;
            format!(
                "[{second}.0s][info][gc] GC({second}) Pause Young (Normal) (G1 Evacuation Pause) \
                 {}M->{after}M(1024M) 5.0ms\n",
                after + 50
            )
        };
        read(&(0..400).map(line).collect::<String>())
    };
    assert!(advice(&log(1), "heap-grows").contains("hprof-rs growth"));
    assert_eq!(log(1).throughput, Some(1.0 - 2.0 / 399.0));
    assert!(log(0).findings.iter().all(|it| it.id != "heap-grows"));
}

#[test]
fn a_heap_that_grows_is_noticed_where_a_quarter_of_the_time_has_no_collection() {
    let line = |number: u64| {
        // Two thirds of the collections come in the first quarter of the time, and none in the third.
        let second = match number {
            0..20 => number * 5,
            _ => 300 + 10 * (number - 20),
        };
        let after = 2 + 2 * number;
        format!(
            "[{second}.0s][info][gc] GC({number}) Pause Young (Normal) (G1 Evacuation Pause) \
             {}M->{after}M(1024M) 5.0ms\n",
            after + 50
        )
    };
    let log = read(&(0..32).map(line).collect::<String>());
    assert!(advice(&log, "heap-grows").contains("hprof-rs growth"));
}

#[test]
fn logs_are_compared_figure_by_figure() {
    let log = |millis: u32| {
        let line = |gc: u32| {
            format!(
                "[{gc}.0s][gc] GC({gc}) Pause Young (Allocation Failure) 30M->10M(40M) {millis}.0ms\n"
            )
        };
        read(&(line(1) + &line(61)))
    };
    let measures = compare(&log(10), &log(20));
    let find = |name: &str| measures.iter().find(|it| it.name == name).unwrap();
    assert_eq!(
        (find("longest pause").before, find("longest pause").after),
        (Some(10.0), Some(20.0))
    );
    assert_eq!(find("pauses a minute").after, Some(2.0));
    assert_eq!(find("full collections").after, Some(0.0));
    assert!(measures.iter().all(|it| it.name != "allocation stalls"));
}

#[test]
fn what_a_log_does_not_tell_is_not_compared_as_zero() {
    let cycle = |gc: u32| {
        format!("[{gc}.0s][info][gc] GC({gc}) Garbage Collection (Warmup) 60M(10%)->20M(4%)\n")
    };
    let cycles = read(&(cycle(1) + &cycle(61)));
    let pauses = read(
        "[1.0s][gc] GC(1) Pause Young (Allocation Failure) 30M->10M(40M) 7.0ms\n\
         [9.0s][gc] GC(2) Pause Young (Allocation Failure) 30M->10M(40M) 7.0ms\n",
    );
    let measures = compare(&cycles, &pauses);
    let find = |name: &str| measures.iter().find(|it| it.name == name).unwrap();
    for name in ["pauses", "longest pause", "pauses a minute"] {
        assert_eq!(find(name).before, None, "{name}");
        assert!(find(name).after.is_some(), "{name}");
    }
    assert!(measures.iter().all(|it| it.name != "stops"));
}

#[test]
fn a_log_without_decorations_begins_with_facts_on_the_jvm() {
    let log = read(
        "Using G1\nVersion: 17.0.9+9 (release)\nCPUs: 4 total, 4 available\nHeap Region Size: 2M\nHeap Max Capacity: 64M\n\
         CDS archive(s) mapped at: [0x0-0x1)\nGC(0) Pause Young (Normal) (G1 Evacuation Pause)\n\
         GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->3M(64M) 2.345ms\nVersion: of the program\n",
    );
    assert_eq!(log.collector, Some(Collector::G1));
    assert_eq!(log.jvm.as_deref(), Some("17.0.9+9 (release)"));
    assert_eq!((log.cpus, log.heap.max), (Some(4), Some(64 << 20)));
    assert_eq!((log.pauses.count, log.lines.not_understood), (1, 1));
    // A program may print such words later.
    assert_eq!(
        log.lines.first_not_understood.as_deref(),
        Some("Version: of the program")
    );
}

#[test]
fn short_runs_of_two_jvms_are_told_apart() {
    let run = |collector: &str| {
        format!(
            "[0.004s][info][gc] Using {collector}\n[1.500s][info][gc] GC(0) Pause Full (System.gc()) 4M->1M(8M) 100.0ms\n"
        )
    };
    let log = read(&[run("G1"), run("Parallel")].concat());
    assert_eq!(log.lines.restarts, 1);
    assert_eq!(log.pauses.count, 2);
    // 1.5 s each, from the first line on.
    let seconds = log.duration.expect("times").seconds();
    assert!((seconds - 2.992).abs() < 0.001, "{seconds}");
    assert!(log.findings.iter().any(|it| it.id == "time-goes-back"));
}

#[test]
fn logs_of_containers_and_of_windows_have_the_figures_of_the_plain_one() {
    let text = include_str!("data/unified-g1.log");
    let plain = serde_json::to_value(read(text)).unwrap();
    let each = |wrap: &dyn Fn(&str) -> String| -> Vec<u8> {
        let lines = text.lines().map(|line| wrap(line) + "\n");
        lines.collect::<String>().into_bytes()
    };
    let utf16 = text.encode_utf16().flat_map(u16::to_le_bytes);
    for log in [
        each(&|line| format!("{line}\r")),
        each(&|line| format!("2026-11-23T02:50:00.123456789Z stdout F {line}")),
        each(&|line| format!("app-1  | {line}")),
        each(&|line| {
            let line = line
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('>', "\\u003e");
            format!(
                "{{\"log\":\"{line}\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-23T02:50:00Z\"}}"
            )
        }),
        [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        [0xff, 0xfe].into_iter().chain(utf16).collect(),
    ] {
        let mut reader = Reader::new();
        reader.feed(&log);
        let mut found = serde_json::to_value(reader.finish()).unwrap();
        found["lines"]["bytes"] = plain["lines"]["bytes"].clone();
        assert_eq!(found, plain, "{}", String::from_utf8_lossy(&log[..200]));
    }
}

#[test]
fn a_log_of_stops_alone_has_no_throughput() {
    let log = read(
        "[1.0s][info][safepoint] Safepoint \"G1CollectFull\", Time since last: 1 ns, Reaching safepoint: 2 ns, \
         At safepoint: 3 ns, Total: 500000000 ns\n[2.0s][info][safepoint] Safepoint \"Cleanup\", Time since last: 1 ns, \
         Reaching safepoint: 2 ns, At safepoint: 3 ns, Total: 5 ns\n",
    );
    assert_eq!((log.stops.count, log.throughput), (2, None));
}

/// ZGC logs its pauses with `gc*` only, and the times of its cycles since JDK 21.
#[test]
fn cycles_without_their_pauses_have_no_throughput() {
    let log = read(
        "[0.1s][info][gc] Using The Z Garbage Collector\n\
         [1.0s][info][gc] GC(0) Garbage Collection (Warmup) 20M(10%)->8M(4%)\n\
         [9.0s][info][gc] GC(1) Garbage Collection (Proactive) 20M(10%)->8M(4%)\n",
    );
    assert_eq!((log.counts.concurrent_cycles, log.throughput), (2, None));
    assert!(advice(&log, "no-pauses").contains("gc*"));
    let idle = read("[0.1s][info][gc] Using The Z Garbage Collector\n[9.0s][info][gc] Other\n");
    assert_eq!(idle.throughput, Some(1.0));
}

#[test]
fn a_cycle_of_cms_ends_with_its_sweep() {
    let log = "[0.310s][info][gc,start] GC(3) Pause Initial Mark\n\
        [0.310s][info][gc] GC(3) Pause Initial Mark 91M->91M(150M) 0.165ms\n\
        [0.310s][info][gc] GC(3) Concurrent Mark\n\
        [0.313s][info][gc] GC(3) Concurrent Mark 2.667ms\n\
        [0.314s][info][gc] GC(3) Pause Remark 130M->130M(150M) 0.908ms\n\
        [0.316s][info][gc] GC(3) Concurrent Sweep 0.817ms\n";
    let mut reader = hprof_gclog::Reader::new();
    reader.feed(log.as_bytes());
    let summary = reader.finish();
    assert_eq!(summary.counts.concurrent_cycles, 1);
    assert_eq!(summary.cycles[0].name, "Concurrent Sweep");
    assert_eq!(summary.collector, Some(hprof_gclog::Collector::Cms));
}

/// As a tool wrote them that put each number apart from its unit.
#[test]
fn a_space_may_come_before_the_unit() {
    let log = read(
        "[1.000s][info][gc] Using G1\n\
         [2.000s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 6.363 ms\n\
         [9.000s][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 30M->5M(256M) 7.5ms\n\
         [9.500s][info][gc] GC(2) Concurrent Mark Cycle 12.25 ms\n",
    );
    assert_eq!(log.lines.not_understood, 0, "{:?}", log.lines);
    assert_eq!((log.pauses.count, log.pauses.sum), (2, Nanos(13_863_000)));
    assert_eq!(log.cycles[0].spread.sum, Nanos(12_250_000));
    assert_eq!(log.heap.peak_used, Some(30 << 20));
}

#[test]
fn lines_of_another_jvm_between_those_of_one_are_no_restarts() {
    let line = |at: u32| format!("[{at}.0s][info][gc] GC({at}) Pause Remark 3M->3M(9M) 1.000ms\n");
    let log: String = (100..120)
        .flat_map(|at| [line(at), line(at - 50)])
        .collect();
    let log = read(&log);
    assert_eq!((log.lines.restarts, log.lines.misfits), (0, 20));
    assert_eq!(log.duration, Some(Nanos(19_000_000_000)));
    assert!(advice(&log, "times-do-not-fit").contains("JVMs"));
}
