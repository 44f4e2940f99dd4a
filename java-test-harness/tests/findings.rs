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

/// How the findings of a program agree with the known answer.
enum Verdict {
    /// The first one is the answer; a healthy program has none.
    Right,
    /// The answer is one of them.
    Among(String),
    /// The answer is missing, or a healthy program has a finding.
    Wrong(String),
}

fn judge((program, flag, expected): Case) -> Verdict {
    let findings = findings(program, flag);
    let alarms: Vec<_> = findings.alarms().collect();
    let found = alarms.first().map(|it| (it.fact.rule(), &*it.headline));
    let said = format!("{program}: {found:?}");
    let Some((rule, method)) = expected else {
        return match found {
            None => Verdict::Right,
            Some(_) => Verdict::Wrong(said),
        };
    };
    let place = alarms
        .iter()
        .position(|it| it.fact.rule() == rule && it.headline.contains(method));
    match place {
        Some(0) => Verdict::Right,
        Some(_) => Verdict::Among(said),
        None => Verdict::Wrong(said),
    }
}

/// Other programs on the machine make a healthy one wait, and move the ranks of findings: a program may try again.
fn judge_patiently(case: Case) -> Verdict {
    let mut verdict = judge(case);
    for _ in 0..3 {
        if matches!(verdict, Verdict::Right) {
            break;
        }
        let again = judge(case);
        if !matches!(again, Verdict::Wrong(_)) {
            verdict = again;
        }
    }
    verdict
}

#[test]
fn the_known_fault_is_found_and_healthy_programs_have_none() {
    let next = AtomicUsize::new(0);
    let (later, wrong) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(&case) = CASES.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match judge_patiently(case) {
                        Verdict::Right => {}
                        Verdict::Among(said) => later.lock().expect("no panic").push(said),
                        Verdict::Wrong(said) => {
                            let is_healthy = case.2.is_none();
                            wrong.lock().expect("no panic").push((is_healthy, said));
                        }
                    }
                }
            });
        }
    });
    let later = later.into_inner().expect("no panic");
    let wrong = wrong.into_inner().expect("no panic");
    let is_alarmed = wrong.iter().any(|(is_healthy, _)| *is_healthy);
    // 23 of 24 are more than 19 of 20; a busy machine may put another finding before four more.
    assert!(
        !is_alarmed && wrong.len() <= 1 && wrong.len() + later.len() <= 5,
        "wrong: {wrong:#?}, not first: {later:#?}"
    );
    for said in wrong.iter().map(|(_, said)| said).chain(&later) {
        eprintln!("not right: {said}");
    }
}
