//! The findings of recordings of programs whose faults are known, and of healthy ones.
//!
//! Limits are ratios, so that a busy machine changes no verdict.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hprof_findings::{Findings, read};
use java_test_harness::{Jdk, Run};

/// A program, its flags, and the rule and method that the first finding must name.
type Case = (
    &'static str,
    &'static str,
    Option<(&'static str, &'static str)>,
);

const CASES: [Case; 29] = [
    ("burst", "", Some(("high-cpu", "Burst.render"))),
    ("monitor", "", Some(("locks", "Monitor.add"))),
    ("lock", "", Some(("locks", "Lock.update"))),
    (
        "full-heap",
        "-Xmx48m",
        Some(("collection-pauses", "FullHeap.fill")),
    ),
    ("allocation", "", Some(("allocation", "Allocation.copy"))),
    ("boxing", "", Some(("boxing", "Boxing.sum"))),
    (
        "system-gc",
        "",
        Some(("explicit-collections", "SystemGc.flush")),
    ),
    // Counted loops of this collector have no safepoint.
    (
        "safepoints",
        "-XX:+UseParallelGC",
        Some(("safepoints", "Safepoints.scan")),
    ),
    ("equal-hashes", "", Some(("hashes", "EqualHashes.index"))),
    ("equal-strings", "", Some(("hashes", "EqualStrings.find"))),
    ("throws", "", Some(("exceptions", "Throws.check"))),
    ("parses", "", Some(("exceptions", "Parses.parse"))),
    (
        "deoptimizes",
        "-XX:-OmitStackTraceInFastThrow",
        Some(("deoptimizations", "Deoptimizes.at")),
    ),
    ("loads", "", Some(("class-loading", "Loads.load"))),
    ("proxies", "", Some(("class-loading", "Proxies.proxy"))),
    (
        "pool-waits-for-itself",
        "",
        Some(("starved-pool", "PoolWaits.total")),
    ),
    ("pool-sleeps", "", Some(("starved-pool", "PoolSleeps.poll"))),
    ("pins", "", Some(("pinned-carriers", "Pins.query"))),
    ("finalizes", "", Some(("finalizers", "Finalizes$Handle"))),
    ("logs", "", Some(("logging", "Logs.serve"))),
    ("prints", "", Some(("logging", "Prints.trace"))),
    ("slow-socket", "", Some(("slow-io", "SlowSocket.ask"))),
    ("slow-file", "", Some(("slow-io", "SlowFile.readBlock"))),
    (
        "new-threads",
        "",
        Some(("new-threads", "NewThreads.handle")),
    ),
    ("healthy-computes", "", None),
    ("healthy-waits", "", None),
    ("healthy-maps", "", None),
    ("healthy-pool", "", None),
    ("healthy-service", "", None),
];

/// The findings of a program that records itself with the settings of most people.
fn findings(program: &str, flag: &str) -> Findings {
    // Later releases unmount virtual threads that hold a monitor.
    let release = if program == "pins" { 21 } else { 17 };
    let run = Run::new(Jdk::feature_release(release));
    let file = run.path("r.jfr");
    let run = run.jvm_arg(format!(
        "-XX:StartFlightRecording=settings=default,filename={}",
        file.display()
    ));
    let run = match flag {
        "" => run,
        flag => run.jvm_arg(flag),
    };
    let outcome = run.class("RecordingCorpus").args([program, "2500"]).run();
    let bytes = outcome.expect_status(0).bytes("r.jfr");
    let (findings, skipped) = read(&bytes, &[], &mut |_| {});
    assert_eq!(skipped.damaged, 0, "{program}: {:?}", skipped.damage);
    findings
}

/// Says how the findings differ from the known answer; none if they do not.
fn wrong((program, flag, expected): Case) -> Option<String> {
    let findings = findings(program, flag);
    let first = findings.alarms().next();
    let found = first.map(|it| (it.fact.rule(), &*it.headline));
    let is_right = match (expected, found) {
        (None, None) => true,
        (Some((rule, method)), Some((found, headline))) => {
            rule == found && headline.contains(method)
        }
        _ => false,
    };
    (!is_right).then(|| format!("{program}: {found:?}"))
}

#[test]
fn the_first_finding_is_the_known_fault_and_healthy_programs_have_none() {
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(&case) = CASES.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let failure = wrong(case).map(|it| (case.2.is_none(), it));
                    failures.lock().expect("no panic").extend(failure);
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no panic");
    let is_healthy = failures.iter().any(|(is_healthy, _)| *is_healthy);
    // 23 of 24 are more than 19 of 20.
    assert!(!is_healthy && failures.len() <= 1, "{failures:#?}");
    for (_, failure) in failures {
        eprintln!("not right: {failure}");
    }
}
