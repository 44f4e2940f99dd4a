//! cpu=times in JVMs that were up before: from the attaching to the detaching.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use java_test_harness::{Jdk, Run, Running, TextProfile, control_socket, each_release};

/// The calls of one run of `CallCounts` on every JDK.
const CALLS: &[(&str, u64)] = &[
    ("CallCounts.main", 1),
    ("CallCounts.fib", 1973),
    ("CallCounts.thrower", 1000),
    ("CallCounts.caught", 180),
    ("CallCounts.finished", 100),
    ("CallCounts.overflowed", 20),
    ("CallCounts$Derived.<init>", 50),
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

const VIRTUAL_CALLS: &[(&str, u64)] = &[
    ("CallCounts.inVirtualThread", 10_000),
    ("CallCounts.virtualLeaf", 100_000),
];

/// A program that runs `CallCounts` when told to, with virtual threads where there are any.
fn start(jdk: &'static Jdk) -> Running {
    let run = Run::new(jdk).jvm_args(["-Xcheck:jni", "-XX:+UnlockDiagnosticVMOptions"]);
    let run = run.class("Late");
    let running = match jdk.feature() {
        21.. => run.args(["CallCounts", "virtual"]).start(),
        _ => run.args(["CallCounts"]).start(),
    };
    running.wait_for_line("ready");
    running
}

fn attach(running: &Running, options: &str) -> String {
    running.load_agent(options)
}

/// The agent's answer at its control socket.
fn ask(running: &Running, request: &str) -> String {
    let path = control_socket(running.pid());
    let mut stream = UnixStream::connect(path).expect("a control socket");
    writeln!(stream, "{request}").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

fn ask_well(running: &Running, request: &str) {
    let reply = ask(running, request);
    assert!(reply.starts_with("ok\n"), "{request}: {reply}");
}

fn round(running: &Running, number: u32) {
    std::fs::write(running.path(&format!("round{number}")), "").unwrap();
    running.wait_for_line(&format!("round {number}"));
}

/// Calls of a method in one of the tables.
fn calls(profile: &TextProfile, table: usize, method: &str) -> u64 {
    let rows = profile.times[table].rows.iter();
    rows.filter(|row| row.method == method)
        .map(|row| row.count)
        .sum()
}

fn expect_rounds(jdk: &Jdk, profile: &TextProfile, table: usize, rounds: u64) {
    for &(method, expected) in CALLS {
        let counted = calls(profile, table, method);
        assert_eq!(counted, rounds * expected, "{jdk}, table {table}: {method}");
    }
    if jdk.feature() >= 21 {
        for &(method, expected) in VIRTUAL_CALLS {
            let counted = calls(profile, table, method);
            assert_eq!(counted, rounds * expected, "{jdk}, table {table}: {method}");
        }
        profile.expect_caller("CallCounts.virtualLeaf", "CallCounts.inVirtualThread");
    }
    profile.expect_caller("CallCounts.leafOfSized", "CallCounts.inSizedThread");
}

/// Threads of the agent, timers, and whether the signal of the timers has a handler.
fn traces_of(running: &Running) -> (Vec<String>, usize, u64) {
    let at = |name: &str| format!("/proc/{}/{name}", running.pid());
    let tasks = std::fs::read_dir(at("task")).unwrap();
    let names = tasks
        .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok())
        .filter(|name| name.to_lowercase().contains("hprof") && !name.contains("request"));
    let timers = std::fs::read_to_string(at("timers")).unwrap_or_default();
    let status = std::fs::read_to_string(at("status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = u64::from_str_radix(caught.expect("SigCgt").trim(), 16).unwrap();
    (names.collect(), timers.matches("ID:").count(), caught)
}

#[test]
fn counts_are_exact_from_the_attaching_to_the_detaching() {
    each_release(|jdk| {
        let running = start(jdk);
        let before = traces_of(&running);
        round(&running, 1);
        attach(&running, "cpu=times,cutoff=0,file=first.txt");
        round(&running, 2);
        ask_well(&running, "dump");
        round(&running, 3);
        ask_well(&running, "reset cpu");
        round(&running, 4);
        round(&running, 5);
        ask_well(&running, "dump cpu");
        round(&running, 6);
        ask_well(&running, "stop cpu");
        assert!(ask(&running, "status").contains("state=stopped"));
        assert_eq!(traces_of(&running).1, before.1, "timers of a stopped run");
        round(&running, 7);
        ask_well(&running, "start");
        round(&running, 8);
        ask_well(&running, "detach");
        running.wait_until("the end of the agent's threads", |running| {
            traces_of(running) == before
        });
        round(&running, 9);

        // Calls that are still running from then go on with the same paths.
        let said = attach(&running, "cpu=times,depth=7,file=other.txt");
        assert!(
            said.contains("-1") || said.contains("return code"),
            "{said}"
        );
        attach(
            &running,
            "cpu=times,cutoff=0,thread=y,include=CallCounts,file=again.txt",
        );
        round(&running, 10);
        std::fs::write(running.path("end"), "").unwrap();
        let outcome = running.finish().expect_status(0);
        let reason = "calls were counted in this JVM before with depth=4";
        assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
        // The size of a thread's stack, where a late agent keeps a thread's state, is final. Since JDK 26 the check of JNI
        // warns of each write to such a field (JEP 500); no compiler takes this one for constant, as the counts show.
        let known = "WARNING in native method: Set<Type>Field called to mutate final instance field \
                     java.lang.Thread$FieldHolder.stackSize";
        // The launcher of JDK 8 starts the program like that.
        let launcher = "WARNING in native method: JNI call made without checking exceptions when required to from \
                        CallStaticObjectMethod";
        let warnings = outcome.stdout.matches("WARNING in native method").count();
        let of_others = [known, launcher].map(|it| outcome.stdout.matches(it).count());
        assert_eq!(warnings, of_others.iter().sum());
        assert!(of_others[1] == 0 || jdk.feature() == 8);

        let profile = outcome.text_profile("first.txt");
        assert_eq!(profile.times.len(), 3);
        expect_rounds(jdk, &profile, 0, 1);
        expect_rounds(jdk, &profile, 1, 2);
        expect_rounds(jdk, &profile, 2, 2);
        assert!(calls(&profile, 0, "java.util.ArrayList.add") > 0);
        for counter in ["internal_errors", "paths_cut", "threads_not_counted"] {
            assert_eq!(profile.counter(counter), 0, "{jdk}: {counter}");
        }
        assert!(profile.counter("steps") > 1);
        let again = outcome.text_profile("again.txt");
        assert_eq!(again.times.len(), 1);
        expect_rounds(jdk, &again, 0, 1);
        assert_eq!(calls(&again, 0, "java.util.ArrayList.add"), 0);
        assert_eq!(again.counter("internal_errors"), 0);
    });
}

/// Self times against the thread's own clock, as from the start of a VM.
#[test]
fn time_goes_where_it_is_spent() {
    const METHODS: [&str; 4] = ["half", "third", "seventh", "rest"];
    each_release(|jdk| {
        let run = Run::new(jdk).class("Late").args(["CallShares", "many"]);
        let running = run.start();
        running.wait_for_line("ready");
        attach(&running, "cpu=times,cutoff=0,depth=64,file=times.txt");
        round(&running, 1);
        std::fs::write(running.path("end"), "").unwrap();
        let outcome = running.finish().expect_status(0);
        let profile = outcome.text_profile("times.txt");
        let truth = METHODS.map(|name| outcome.printed(name));
        let time = METHODS.map(|name| profile.time_percent(&format!("CallShares.{name}")));
        let (all_truth, all_time): (f64, f64) = (truth.iter().sum(), time.iter().sum());
        for ((name, truth), time) in METHODS.iter().zip(truth).zip(time) {
            let (truth, share) = (100.0 * truth / all_truth, 100.0 * time / all_time);
            // A busy machine takes the CPU within calls, and the clock is read between them.
            assert!(
                (share - truth).abs() < 4.0,
                "{jdk}, {name}: {share} of {truth}"
            );
        }
    });
}

/// The other ways to know the time: their hooks differ, with virtual threads above all.
#[test]
fn clocks_work_late_too() {
    let all = [
        "cpu=times,clock=exact,cutoff=0,file=times.txt",
        "cpu=old,file=times.txt",
    ];
    // Without and with virtual threads.
    let jdks = Jdk::tested().into_iter();
    let jdks = jdks.filter(|jdk| [17, 21].contains(&jdk.feature()));
    for (jdk, options) in jdks.flat_map(|jdk| all.map(|options| (jdk, options))) {
        let feature = jdk.feature();
        let running = start(jdk);
        attach(&running, options);
        round(&running, 1);
        ask_well(&running, "detach");
        std::fs::write(running.path("end"), "").unwrap();
        let outcome = running.finish().expect_status(0);
        let text = String::from_utf8(outcome.bytes("times.txt")).unwrap();
        if options.starts_with("cpu=old") {
            // Rows are "count callee caller time".
            let count = |method: &str| -> u64 {
                let rows = text.lines().map(|line| line.split(' '));
                let of_method = rows.filter_map(|mut row| {
                    let count = row.next()?.parse::<u64>().ok()?;
                    let callee = row.next()?.split('(').next()?;
                    (callee == method).then_some(count)
                });
                of_method.sum()
            };
            for &(method, expected) in CALLS {
                assert_eq!(count(method), expected, "{feature}, {options}: {method}");
            }
        } else {
            let profile = outcome.text_profile("times.txt");
            expect_rounds(jdk, &profile, 0, 1);
            assert_eq!(profile.counter("internal_errors"), 0);
        }
    }
}

#[test]
fn a_run_that_began_without_counting_goes_on_without() {
    let running = start(Jdk::feature_release(17));
    attach(&running, "cpu=samples,file=samples.txt");
    let reply = ask(&running, "start cpu=times");
    assert!(
        reply.starts_with("error calls cannot be counted"),
        "{reply}"
    );
    ask_well(&running, "detach");
    std::fs::write(running.path("end"), "").unwrap();
    running.finish().expect_status(0);
}

/// From the start of the VM, counting can pause, but not end.
#[test]
fn counting_from_the_start_can_pause() {
    let run = Run::new(Jdk::feature_release(17)).agent("cpu=times,cutoff=0,file=times.txt");
    let running = run.class("Late").args(["CallCounts"]).start();
    running.wait_for_line("ready");
    round(&running, 1);
    ask_well(&running, "stop cpu");
    round(&running, 2);
    ask_well(&running, "start");
    round(&running, 3);
    assert!(ask(&running, "detach").starts_with("error a run that counts calls"));
    std::fs::write(running.path("end"), "").unwrap();
    let outcome = running.finish().expect_status(0);
    let profile = outcome.text_profile("times.txt");
    expect_rounds(Jdk::feature_release(17), &profile, 0, 2);
    assert_eq!(profile.counter("internal_errors"), 0);
}
