//! cpu=times: every call is counted, and CPU time goes where it is spent.

use java_test_harness::{
    Jdk, Run, Signal, TextProfile, each_collector, each_release, each_release_since,
};

const DUMPED: &str = "Dumping CPU usage by timing methods ... done.\n";

/// The calls of `CallCounts` on every JDK.
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
    ("CallCounts.inSizedThread", 20),
    ("CallCounts.leafOfSized", 20),
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
    each_release(|jdk| {
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
        profile.expect_caller("CallCounts.leafOfSized", "CallCounts.inSizedThread");
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

/// Calls that no Java code makes: by the VM, by native code, in threads that die.
#[test]
fn calls_from_native_code_are_counted() {
    each_release(|jdk| {
        let run = Run::new(jdk).jvm_args(["-Xverify:all", "-Xcheck:jni"]);
        let run = run.agent("cpu=times,cutoff=0,depth=2");
        let outcome = run.class("NativeCallers").run().expect_status(0);
        let profile = outcome.profile();
        let asked = outcome.printed("asked") as u64;
        assert!(asked >= 4, "{asked}");
        let stops = outcome.printed("stops") as u64 * 10;
        // JDK 20 and later stop no threads.
        assert_eq!(stops > 0, jdk.feature() < 20);
        for (method, caller, calls) in [
            ("fib", None, 1973),
            ("catcher", Some("main"), 1),
            ("thrower", Some("catcher"), 10),
            ("Initialized.<clinit>", None, 1),
            (
                "Initialized.initialized",
                Some("NativeCallers$Initialized.<clinit>"),
                1,
            ),
            ("Made.<init>", None, 41),
            ("failing", None, 40),
            ("wrapped", Some("reflection"), 40),
            ("privileged", None, 25),
            ("Dying.run", None, 20),
            ("Dying.thrown", None, 200),
            ("Handler.uncaughtException", None, 20),
            (
                "handled",
                Some("NativeCallers$Handler.uncaughtException"),
                20,
            ),
            // Where there is the method at all, to JDK 25, it is tried once.
            (
                "spinning",
                Some("stopped"),
                stops.max(u64::from(jdk.feature() < 26)),
            ),
            ("mourned", Some("stopped"), stops),
            ("Loader.loadClass", None, asked),
            ("atExit", None, 1),
        ] {
            let separator = if method.contains('.') { '$' } else { '.' };
            let method = format!("NativeCallers{separator}{method}");
            assert_eq!(profile.calls(&method), calls, "{jdk}: {method}");
            let Some(caller) = caller else { continue };
            let times = profile.times.last().unwrap();
            for row in times.rows.iter().filter(|row| row.method == method) {
                let trace = &profile.traces[&row.trace];
                assert!(trace.frames[1].contains(caller), "{jdk}: {trace:?}");
            }
        }
        assert_eq!(profile.counter("internal_errors"), 0);
    });
}

/// Not one call of many is lost, whichever compiler's code they run in.
#[test]
fn compiled_calls_are_counted() {
    each_release(|jdk| {
        let run = Run::new(jdk).agent("cpu=times,cutoff=0").class("Fib");
        let outcome = run.args(["1"]).run().expect_status(0);
        assert!(outcome.stdout.starts_with("102334155\n"));
        assert_eq!(outcome.profile().calls("Fib.fib"), 331_160_281);
    });
}

#[test]
fn callers_are_right_after_exceptions() {
    each_release(|jdk| {
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
    each_release_since(21, |jdk| {
        // Without continuations each virtual thread is a thread of the system.
        let bound = ["-XX:+UnlockExperimentalVMOptions", "-XX:-VMContinuations"];
        for jvm_args in [&[][..], &bound] {
            let run = Run::new(jdk).jvm_args(jvm_args.iter().copied());
            let run = run.agent("cpu=times,cutoff=0");
            let outcome = run.class("CallCounts").args(["virtual"]).run();
            let profile = outcome.expect_status(0).profile();
            expect_calls(&profile);
            assert_eq!(profile.calls("CallCounts.inVirtualThread"), 10_000);
            assert_eq!(profile.calls("CallCounts.virtualLeaf"), 100_000);
            // Also after a sleep, when the thread may have another carrier.
            profile.expect_caller("CallCounts.virtualLeaf", "CallCounts.inVirtualThread");
        }
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
    each_release(|jdk| {
        for calls in ["few", "many"] {
            let run = Run::new(jdk).agent("cpu=times,cutoff=0,depth=64");
            let outcome = run.class("CallShares").args([calls]).run();
            let outcome = outcome.expect_status(0);
            let profile = outcome.profile();
            let truth = METHODS.map(|name| outcome.printed(name));
            let time = METHODS.map(|name| profile.time_percent(&format!("CallShares.{name}")));
            let (all_truth, all_time): (f64, f64) = (truth.iter().sum(), time.iter().sum());
            for ((name, truth), time) in METHODS.iter().zip(truth).zip(time) {
                let (truth, share) = (100.0 * truth / all_truth, 100.0 * time / all_time);
                // A busy machine takes the CPU within calls, and the clock is read between them.
                assert!(
                    (share - truth).abs() < 4.0,
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
            let ratio = millis * 1e6 / outcome.printed("main");
            assert!((0.97..1.03).contains(&ratio), "{jdk}, {calls}: {ratio}");
        }
    });
}

#[test]
fn a_dump_on_request_starts_the_counts_anew() {
    each_release(|jdk| {
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

#[test]
fn clocked_calls_are_counted_exactly() {
    let jdk = Jdk::feature_release(17);
    for options in ["cpu=times,clock=exact,cutoff=0", "cpu=old"] {
        let run = Run::new(jdk).jvm_args(["-Xverify:all", "-Xcheck:jni"]);
        let outcome = run.agent(options).class("CallCounts").run();
        let outcome = outcome.expect_status(0);
        assert!(outcome.stdout.ends_with("610\ndone\n"));
        if options == "cpu=old" {
            let rows = old_rows(&String::from_utf8(outcome.bytes("java.hprof.txt")).unwrap());
            for &(method, calls) in CALLS {
                let counted = rows.iter().filter(|row| row.callee == method);
                assert_eq!(counted.map(|row| row.count).sum::<u64>(), calls, "{method}");
            }
        } else {
            expect_calls(&outcome.profile());
        }
    }
}

struct OldRow {
    count: u64,
    callee: String,
    caller: String,
    millis: u64,
}

/// The rows of a profile of cpu=old, methods without their descriptors.
fn old_rows(text: &str) -> Vec<OldRow> {
    let plain = |method: &str| method.split('(').next().unwrap().to_owned();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("count callee caller time"));
    let rows = lines.take_while(|line| !line.starts_with('#')).map(|line| {
        let (count, rest) = line.split_once(' ').unwrap();
        let (methods, millis) = rest.rsplit_once(' ').unwrap();
        let (callee, caller) = methods.split_once(' ').unwrap();
        OldRow {
            count: count.parse().unwrap(),
            callee: plain(callee),
            caller: plain(caller),
            millis: millis.parse().unwrap(),
        }
    });
    let rows: Vec<OldRow> = rows.collect();
    assert!(rows.is_sorted_by_key(|row| std::cmp::Reverse(row.count)));
    rows
}

/// Times of callees are in those of their callers, whichever way they end.
#[test]
fn old_times_include_what_is_called() {
    each_release(|jdk| {
        let run = Run::new(jdk).agent("cpu=old").class("OldTimes");
        let outcome = run.run().expect_status(0);
        let rows = old_rows(&String::from_utf8(outcome.bytes("java.hprof.txt")).unwrap());
        let all = outcome.printed("millis") as u64;
        let row = |callee: &str, caller: &str| {
            let name = |method: &str| match method {
                "" => "<unknown caller>".to_owned(),
                method => format!("OldTimes.{method}"),
            };
            let (callee, caller) = (name(callee), name(caller));
            let row = rows
                .iter()
                .find(|row| row.callee == callee && row.caller == caller);
            let row = row.unwrap_or_else(|| panic!("{jdk}: no {callee} {caller}"));
            (row.count, row.millis)
        };
        // A sleep is never shorter than asked for; rounding takes half a millisecond.
        for (callee, caller, calls, least) in [
            ("sleeper", "middle", 2, 199),
            ("middle", "main", 1, 199),
            ("sleeper", "fails", 1, 49),
            ("fails", "catches", 1, 49),
            ("catches", "main", 1, 99),
            ("recursive", "recursive", 4, 399),
            ("recursive", "main", 1, 99),
        ] {
            let (count, millis) = row(callee, caller);
            assert_eq!(count, calls, "{jdk}: {callee}");
            assert!(millis >= least, "{jdk}: {callee} {millis}");
            // Four calls in each other are counted four times.
            let most = if count == 4 { 4 * all } else { all };
            assert!(millis <= most + 1, "{jdk}: {callee} {millis} of {all}");
        }
        assert_eq!(row("getter", "getters").0, 1000);
        assert!(row("main", "").1 + 1 >= all);
    });
}

/// Self times by the clock: sleeping is the sleeper's.
#[test]
fn exact_times_are_without_what_is_called() {
    let jdk = Jdk::feature_release(17);
    let run = Run::new(jdk).agent("cpu=times,clock=exact,cutoff=0");
    let outcome = run.class("OldTimes").run().expect_status(0);
    let profile = outcome.profile();
    let total = profile.times.last().unwrap().total as f64;
    let millis = |method: &str| profile.time_percent(method) / 100.0 * total;
    let asleep: f64 = ["OldTimes.sleeper", "java.lang.Thread.sleep"]
        .map(millis)
        .iter()
        .sum();
    assert!(asleep >= 395.0, "{asleep}");
    let all = outcome.printed("millis");
    for method in ["OldTimes.middle", "OldTimes.catches", "OldTimes.recursive"] {
        let awake = millis(method);
        assert!(awake + asleep <= all + 10.0, "{method}: {awake} of {all}");
    }
    assert_eq!(profile.calls("OldTimes.getter"), 1000);
}

#[test]
fn classes_can_be_chosen() {
    let jdk = Jdk::feature_release(17);
    let table = |options: &str| {
        let run = Run::new(jdk).agent(options).class("CallCounts");
        run.run().expect_status(0).profile()
    };
    let profile = table("cpu=times,cutoff=0,include=CallCounts");
    expect_calls(&profile);
    let times = profile.times.last().unwrap();
    let others = times.rows.iter().filter(|row| {
        !row.method.starts_with("CallCounts.") && !row.method.starts_with("CallCounts$")
    });
    let others: Vec<&str> = others.map(|row| row.method.as_str()).collect();
    assert!(others.is_empty(), "{others:?}");
    let profile =
        table("cpu=times,cutoff=0,include=CallC*:java.util,exclude=*Derived:java.util.Hash*");
    assert_eq!(profile.calls("CallCounts.fib"), 1973);
    assert!(profile.counter("excluded_classes") > 100);
    let times = profile.times.last().unwrap();
    let has = |start: &str| times.rows.iter().any(|row| row.method.starts_with(start));
    assert!(has("java.util.ArrayList."));
    assert!(!has("java.util.HashMap.") && !has("CallCounts$Derived.") && !has("java.lang."));
}

/// One call of this program is counted, so that nearly all of its CPU time, dozens of samples, is outside.
#[test]
fn time_outside_of_counted_methods_is_a_remark() {
    let run =
        Run::new(Jdk::feature_release(17)).agent("cpu=times,cutoff=0,include=java.lang.Integer");
    let outcome = run.class("Fib").args(["1"]).run().expect_status(0);
    let remarks = outcome.profile().comments;
    let remark = |it: &String| it.contains("uncounted_trace=");
    assert!(remarks.iter().any(remark), "{remarks:?}");
}

/// The VM asks the program's own security manager whether the hooks' class may be used, and its
/// methods have hooks.
#[test]
fn a_security_manager_of_the_programs_own_is_not_asked_without_end() {
    each_release(|jdk| {
        let mut run = Run::new(jdk);
        // JDK 24 refuses to start with one.
        if jdk.feature() < 24 {
            run = run.jvm_args(["-Djava.security.manager=StrictManager"]);
        }
        let run = run.agent("cpu=times,cutoff=0,depth=1");
        let outcome = run.class("StrictManager").run().expect_status(0);
        assert!(outcome.stdout.contains("sum=9900"), "{}", outcome.report());
        let managed = format!("managed={}", jdk.feature() < 24);
        assert!(outcome.stdout.contains(&managed), "{}", outcome.report());
        let profile = outcome.profile();
        assert_eq!(profile.calls("StrictManager$Late.twice"), 100);
        assert_eq!(profile.counter("internal_errors"), 0);
    });
}
