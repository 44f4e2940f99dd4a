//! cpu=times: every call is counted, and CPU time goes where it is spent.

use java_test_harness::{Jdk, Run, Signal, TextProfile, each_collector, each_jdk, each_jdk_since};

const DUMPED: &str = "Dumping CPU usage by timing methods ... done.\n";

/// What `CallCounts` calls, whatever the JDK.
const CALLS: &[(&str, u64)] = &[
    ("CallCounts.main", 1),
    ("CallCounts.fib", 1973),
    ("CallCounts.thrower", 1000),
    ("CallCounts.caught", 180),
    ("CallCounts.finished", 100),
    ("CallCounts.overflowed", 20),
    ("CallCounts$Derived.<init>", 50),
    ("CallCounts$Derived.argument", 50),
    ("CallCounts$Refusing.<init>", 50),
    ("CallCounts.locked", 180),
    ("CallCounts.reflected", 3000),
    ("CallCounts.fromLambda", 300),
    ("CallCounts.inThread", 50),
    ("CallCounts.leaf", 50_000),
    ("CallCounts.dying", 100),
    ("CallCounts.handled", 20),
];

fn expect_calls(profile: &TextProfile) {
    for &(method, calls) in CALLS {
        assert_eq!(profile.calls(method), calls, "{method}");
    }
    assert_eq!(profile.counter("internal_errors"), 0);
    assert_eq!(profile.counter("paths_cut"), 0);
    assert_eq!(profile.counter("threads_not_counted"), 0);
}

#[test]
fn counts_are_exact() {
    each_jdk(|jdk| {
        let run = Run::new(jdk).jvm_args(["-Xverify:all", "-Xcheck:jni"]);
        let outcome = run.agent("cpu=times,cutoff=0").class("CallCounts").run();
        let outcome = outcome.expect_status(0);
        assert!(
            outcome.stdout.ends_with("610\ndone\n"),
            "{}",
            outcome.stdout
        );
        assert!(!outcome.stdout.contains("WARNING in native method"));
        let profile = outcome.profile();
        expect_calls(&profile);
        // Lines are those a method's code begins with.
        let frames = profile.traces.values().flat_map(|trace| &trace.frames);
        assert!(
            frames
                .clone()
                .any(|frame| frame == "CallCounts.fib(CallCounts.java:9)")
        );
        // Methods of classes that were loaded before the VM was up.
        assert!(profile.calls("java.util.HashMap.put") > 0);
    });
}

#[test]
fn callers_are_right_after_exceptions() {
    each_jdk(|jdk| {
        let run = Run::new(jdk).agent("cpu=times,cutoff=0,depth=2");
        let profile = run.class("CallCounts").run().expect_status(0).profile();
        let times = profile.times.last().unwrap();
        for (method, callers) in [
            (
                "CallCounts.overflowed",
                &["CallCounts.overflows"] as &[&str],
            ),
            ("CallCounts.finished", &["CallCounts.exceptions"]),
            (
                "CallCounts.caught",
                &[
                    "CallCounts.exceptions",
                    "CallCounts.constructors",
                    "CallCounts.locks",
                ],
            ),
        ] {
            for row in times.rows.iter().filter(|row| row.method == method) {
                let trace = &profile.traces[&row.trace];
                assert!(
                    callers.iter().any(|caller| trace.has(caller)),
                    "{method}: {trace:?}"
                );
            }
        }
    });
}

#[test]
fn virtual_threads_are_counted() {
    each_jdk_since(21, |jdk| {
        let run = Run::new(jdk).agent("cpu=times,cutoff=0");
        let outcome = run.class("CallCounts").args(["virtual"]).run();
        let profile = outcome.expect_status(0).profile();
        expect_calls(&profile);
        assert_eq!(profile.calls("CallCounts.inVirtualThread"), 10_000);
        assert_eq!(profile.calls("CallCounts.virtualLeaf"), 100_000);
    });
}

#[test]
fn depth_and_threads() {
    let jdk = Jdk::feature_release(17);
    for depth in [0, 1, 2, 16, 64] {
        let options = format!("cpu=times,cutoff=0,depth={depth}");
        let run = Run::new(jdk).agent(&options);
        let profile = run.class("CallCounts").run().expect_status(0).profile();
        let longest = profile.traces.values().map(|trace| trace.frames.len());
        assert_eq!(longest.max(), Some(depth));
        if depth > 0 {
            expect_calls(&profile);
        }
    }
    let run = Run::new(jdk).agent("cpu=times,cutoff=0,thread=y");
    let profile = run.class("CallCounts").run().expect_status(0).profile();
    expect_calls(&profile);
    let main = profile.thread("main").serial;
    let times = profile.times.last().unwrap();
    for row in times
        .rows
        .iter()
        .filter(|row| row.method == "CallCounts.fib")
    {
        assert_eq!(profile.traces[&row.trace].thread, Some(main));
    }
    let leaf = times
        .rows
        .iter()
        .filter(|row| row.method == "CallCounts.leaf");
    assert_eq!(leaf.count(), 50);
}

#[test]
fn every_collector_is_fine() {
    each_collector(|jdk, collector| {
        let run = Run::new(jdk).jvm_args(collector.arguments());
        let outcome = run.agent("cpu=times").class("HelloWorld").run();
        let outcome = outcome.expect_status(0);
        assert!(outcome.stdout.starts_with("Hello, world\n"));
        assert_eq!(outcome.stderr, DUMPED);
        assert_eq!(outcome.profile().times.len(), 1);
    });
}

/// Self times against the thread's own clock, which is right on a busy machine too.
#[test]
fn time_goes_where_it_is_spent() {
    const METHODS: [&str; 4] = ["half", "third", "seventh", "rest"];
    each_jdk(|jdk| {
        for calls in ["few", "many"] {
            let run = Run::new(jdk).agent("cpu=times,cutoff=0,depth=64");
            let outcome = run.class("CallShares").args([calls]).run();
            let outcome = outcome.expect_status(0);
            let profile = outcome.profile();
            let truth = METHODS.map(|name| number_after(&outcome.stdout, name) as f64);
            let time = METHODS.map(|name| profile.time_percent(&format!("CallShares.{name}")));
            let (all_truth, all_time): (f64, f64) = (truth.iter().sum(), time.iter().sum());
            for ((name, truth), time) in METHODS.iter().zip(truth).zip(time) {
                let (truth, share) = (100.0 * truth / all_truth, 100.0 * time / all_time);
                assert!(
                    (share - truth).abs() < 2.0,
                    "{jdk}, {calls}, {name}: {share} of {truth}"
                );
            }
            let times = profile.times.last().unwrap();
            let in_main = |trace: u32| profile.traces[&trace].has("CallShares.main");
            let percent: f64 = times
                .rows
                .iter()
                .filter(|row| in_main(row.trace))
                .map(|row| row.self_percent)
                .sum();
            let millis = percent / 100.0 * times.total as f64;
            let ratio = millis * 1e6 / number_after(&outcome.stdout, "main") as f64;
            assert!((0.97..1.03).contains(&ratio), "{jdk}, {calls}: {ratio}");
        }
    });
}

/// The number in `name=NUMBER`.
fn number_after(text: &str, name: &str) -> u64 {
    let word = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    word.and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("no {name}= in:\n{text}"))
}

#[test]
fn a_dump_on_request_starts_the_counts_anew() {
    each_jdk(|jdk| {
        let run = Run::new(jdk).agent("cpu=times,cutoff=0");
        let running = run.class("Exits").args(["wait"]).start();
        running.wait_for_line("ready");
        running.signal(Signal::Quit);
        running.wait_until("the dump", |running| running.stderr().contains(DUMPED));
        running.signal(Signal::Terminate);
        let profile = running.finish().expect_status(143).profile();
        assert_eq!(profile.times.len(), 2);
        let main = |table: usize| -> u64 {
            let rows = profile.times[table].rows.iter();
            rows.filter(|row| row.method == "Exits.main")
                .map(|row| row.count)
                .sum()
        };
        assert_eq!((main(0), main(1)), (1, 0));
    });
}
