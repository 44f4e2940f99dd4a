//! Findings on why collections and stops took place.

use hprof_gclog::{Nanos, Reader, Request, Summary};

fn read(log: &str) -> Summary {
    let mut reader = Reader::new();
    reader.feed(log.as_bytes());
    let summary = reader.finish();
    assert_eq!(summary.lines.not_understood, 0, "{:?}", summary.lines);
    summary
}

/// The fact and the advice of a finding.
fn finding<'a>(summary: &'a Summary, id: &str) -> Option<(&'a str, &'a str)> {
    let found = summary.findings.iter().find(|it| it.id == id)?;
    Some((&found.fact, &found.advice))
}

fn fact<'a>(summary: &'a Summary, id: &str) -> &'a str {
    finding(summary, id).map_or("", |(fact, _)| fact)
}

const SYSTEM_GC_OF_PARALLEL: &str = "[0.005s][info][gc] Using Parallel\n\
    [0.143s][info][gc] GC(0) Pause Young (System.gc()) 24M->4M(125M) 1.000ms\n\
    [0.145s][info][gc] GC(1) Pause Full (System.gc()) 4M->4M(125M) 3.245ms\n";

#[test]
fn a_call_of_system_gc_hides_no_full_collection_for_memory() {
    let log = read(&format!(
        "{SYSTEM_GC_OF_PARALLEL}\
         [1.381s][info][gc] GC(2) Pause Full (Ergonomics) 127M->19M(125M) 2.124ms\n\
         [2.381s][info][gc] GC(3) Pause Young (Allocation Failure) 127M->19M(125M) 1.124ms\n",
    ));
    assert_eq!(
        fact(&log, "full-collections"),
        "1 full collection for lack of memory; the longest full collection took 2.12 ms"
    );
    assert_eq!(
        fact(&log, "explicit-collections"),
        "1 collection was asked for by System.gc(), 4.25 ms in total"
    );
    let names: Vec<&str> = log.full_causes.iter().map(|row| &*row.name).collect();
    assert_eq!(names, ["System.gc()", "Ergonomics"]);
    assert!(finding(&read(SYSTEM_GC_OF_PARALLEL), "full-collections").is_none());
}

#[test]
fn a_call_of_system_gc_of_jdk_8_counts_once() {
    let young = "[PSYoungGen: 65536K->10720K(76288K)]";
    let old = "[PSYoungGen: 10720K->0K(76288K)] [ParOldGen: 89280K->90000K(175104K)]";
    let log = read(&format!(
        "1.100: [Full GC (Ergonomics) {old} 100000K->90000K(251392K), 0.5000000 secs]\n\
         2.100: [GC (System.gc()) {young} 155536K->100000K(251392K), 0.0100000 secs]\n\
         2.120: [Full GC (System.gc()) {old} 100000K->90000K(251392K), 0.4000000 secs]\n\
         3.120: [Full GC {old} 100000K->90000K(251392K), 0.6000000 secs]\n",
    ));
    assert_eq!(
        fact(&log, "full-collections"),
        "2 full collections for lack of memory; the longest full collection took 600 ms"
    );
    let calls = Request {
        cause: "System.gc()",
        count: 1,
        sum: Some(Nanos(410_000_000)),
        concurrent: 0,
    };
    assert_eq!(log.requests, [calls]);
}

#[test]
fn where_calls_start_concurrent_cycles_the_option_for_it_is_no_advice() {
    let log = read(
        "[0.005s][info][gc] Using G1\n\
         [1.100s][info][gc] GC(0) Pause Young (Concurrent Start) (System.gc()) 24M->4M(125M) 1.000ms\n\
         [1.200s][info][gc] GC(1) Concurrent Mark Cycle 10.0ms\n\
         [2.381s][info][gc] GC(2) Pause Full (G1 Compaction Pause) 125M->119M(125M) 900.124ms\n",
    );
    assert_eq!(
        fact(&log, "full-collections"),
        "1 full collection for lack of memory; the longest full collection took 900 ms"
    );
    let (fact, advice) = finding(&log, "explicit-collections").unwrap();
    assert_eq!(
        fact,
        "1 collection was asked for by System.gc(), 1.00 ms in total"
    );
    assert!(!advice.contains("ExplicitGCInvokesConcurrent"), "{advice}");
    assert!(advice.contains("-XX:+DisableExplicitGC"), "{advice}");
    let full = read(
        "[0.005s][info][gc] Using G1\n\
         [2.381s][info][gc] GC(2) Pause Full (System.gc()) 125M->19M(125M) 900.124ms\n",
    );
    assert!(finding(&full, "full-collections").is_none());
    let (_, advice) = finding(&full, "explicit-collections").unwrap();
    assert!(advice.contains("ExplicitGCInvokesConcurrent"), "{advice}");
}

#[test]
fn a_young_and_a_full_pause_for_metaspace_are_one_collection() {
    let log = read(
        "[0.005s][info][gc] Using Parallel\n\
         [1.1s][info][gc] GC(10) Pause Young (Metadata GC Threshold) 44M->3M(287M) 9.000ms\n\
         [1.2s][info][gc] GC(11) Pause Full (Metadata GC Threshold) 3M->3M(287M) 10.000ms\n\
         [2.1s][info][gc] GC(12) Pause Young (Metadata GC Threshold) 48M->5M(287M) 12.000ms\n\
         [2.2s][info][gc] GC(13) Pause Full (Metadata GC Threshold) 5M->5M(287M) 22.000ms\n",
    );
    assert_eq!(
        fact(&log, "metadata-threshold"),
        "2 collections because metaspace grew, 53 ms in total"
    );
    assert_eq!(log.requests, []);
}

#[test]
fn concurrent_collections_that_were_asked_for_are_found() {
    // Logs of ZGC up to JDK 20, of the generational one, and of Shenandoah in JDK 17 and 25.
    for log in [
        "[0.33s][info][gc] GC(0) Garbage Collection (System.gc()) 6M(2%)->4M(1%)\n\
         [0.5s][info][gc] GC(1) Garbage Collection (Warmup) 6M(2%)->4M(1%)\n\
         [0.6s][info][gc] GC(2) Garbage Collection (Metadata GC Threshold) 6M(2%)->4M(1%)\n\
         [0.7s][info][gc] GC(3) Garbage Collection (System.gc()) 6M(2%)->4M(1%)\n",
        "[0.3s][info][gc] GC(0) Major Collection (System.gc())\n\
         [0.4s][info][gc] GC(0) Major Collection (System.gc()) 6M(2%)->4M(1%) 0.005s\n\
         [0.6s][info][gc] GC(1) Major Collection (Metadata GC Threshold) 6M(2%)->4M(1%) 0.005s\n\
         [0.7s][info][gc] GC(2) Major Collection (System.gc()) 6M(2%)->4M(1%) 0.005s\n",
        "[0.33s][info][gc] Trigger: Explicit GC request (System.gc())\n\
         [0.4s][info][gc] Trigger: Implicit GC request (Metadata GC Threshold)\n\
         [0.5s][info][gc] Trigger: Learning 2 of 5. Free (209M) is below initial threshold (210M)\n\
         [0.7s][info][gc] Trigger: Explicit GC request (System.gc())\n",
        "[0.33s][info][gc] Trigger: GC request (System.gc())\n\
         [0.4s][info][gc] Trigger: GC request (Metadata GC Threshold)\n\
         [0.7s][info][gc] Trigger: GC request (System.gc())\n",
    ] {
        let log = read(log);
        assert_eq!(
            finding(&log, "explicit-collections"),
            Some((
                "2 collections were asked for by System.gc()",
                "Find the caller with `hprof-rs run --agent cpu=times`, or ignore such calls with \
                 -XX:+DisableExplicitGC."
            ))
        );
        assert_eq!(
            fact(&log, "metadata-threshold"),
            "1 collection because metaspace grew"
        );
    }
}

#[test]
fn each_that_asked_for_collections_is_named() {
    let pause = |gc: u32, cause: &str| {
        format!("[{gc}.1s][info][gc] GC({gc}) Pause Full ({cause}) 24M->4M(125M) {gc}.000ms\n")
    };
    let causes = [
        "Heap Inspection Initiated GC",
        "Heap Inspection Initiated GC",
        "Diagnostic Command",
        "System.gc()",
    ];
    let log = (1..).zip(causes).map(|(gc, cause)| pause(gc, cause));
    let log = read(&log.collect::<String>());
    let (fact, advice) = finding(&log, "explicit-collections").unwrap();
    assert_eq!(
        fact,
        "4 collections were asked for by System.gc() (1, 4.00 ms), Heap Inspection Initiated GC (2, 3.00 ms), \
         Diagnostic Command (1, 3.00 ms), 10 ms in total"
    );
    assert!(
        advice.contains("hprof-rs run --agent cpu=times"),
        "{advice}"
    );
    assert!(
        advice.contains("A tool has asked for the others"),
        "{advice}"
    );
    let tool = read(&pause(1, "Heap Dump Initiated GC"));
    assert_eq!(
        finding(&tool, "explicit-collections"),
        Some((
            "1 collection was asked for by Heap Dump Initiated GC, 1.00 ms in total",
            "A tool has asked for them; take histograms and dumps less often."
        ))
    );
}

#[test]
fn stops_of_collectors_are_no_other_stops() {
    let stops = |operation: &str| {
        let log = format!(
            "[1.0s][info][safepoint] Safepoint \"{operation}\", Time since last: 1 ns, Reaching safepoint: 2 ns, \
             At safepoint: 3 ns, Total: 700000000 ns\n\
             [9.0s][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 7M->5M(20M) 1.000ms\n"
        );
        fact(&read(&log), "other-stops").to_owned()
    };
    // Operations of JDK 8 to 25.
    for operation in [
        "G1TryInitiateConcMark",
        "G1PauseRemark",
        "G1PauseCleanup",
        "G1Concurrent",
        "G1CollectForAllocation",
        "G1CollectFull",
        "G1IncCollectionPause",
        "G1RendezvousGCThreads",
        "CGC_Operation",
        "CMS_Initial_Mark",
        "CMS_Final_Remark",
        "GenCollectForAllocation",
        "GenCollectFullConcurrent",
        "ParallelGCFailedAllocation",
        "ParallelGCSystemGC",
        "ParallelCollectForAllocation",
        "SerialCollectForAllocation",
        "SerialGCCollect",
        "CollectForMetadataAllocation",
        "CollectForCodeCacheAllocation",
        "GC_HeapInspection",
        "ShenandoahFinalMarkStartEvac",
        "ShenandoahFinalRoots",
        "ZMarkEndYoung",
        "ZMarkStartYoungAndOld",
        "ZMarkFlushOperation",
        "ZRelocateStartOld",
        "ZRendezvousGCThreads",
        "XMarkStart",
        "XVerify",
        "VM_G1PauseRemark",
    ] {
        assert_eq!(stops(operation), "", "{operation}");
    }
    for operation in [
        "Cleanup",
        "ThreadDump",
        "RevokeBias",
        "Deoptimize",
        "RotateGCLog",
        "ZombieAll",
        "VM_Exit",
    ] {
        assert!(stops(operation).contains(operation), "{operation}");
    }
}
