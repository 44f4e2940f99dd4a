//! nativelock=: waits for locks of native code, by the stacks that wait. The library of the program is compiled here.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use java_test_harness::{
    Jdk, Outcome, Run, TextProfile, agent_library, each_jdk, each_jdk_since, each_release,
    workspace,
};

const THREADS: u64 = 5;
const ROUNDS: u64 = 4;
const MILLIS: u64 = 40;
/// The waits of a method.
const WAITS: u64 = THREADS * ROUNDS;

/// The functions by which the program's methods wait.
const METHODS: [(&str, &str); 6] = [
    ("waitsForMutex", "pthread_mutex_lock"),
    ("waitsToRead", "pthread_rwlock_rdlock"),
    ("waitsToWrite", "pthread_rwlock_wrlock"),
    ("waitsForMutexWithLimit", "pthread_mutex_timedlock"),
    ("waitsToReadWithLimit", "pthread_rwlock_timedrdlock"),
    ("waitsToWriteWithLimit", "pthread_rwlock_timedwrlock"),
];

/// The program's library; `None` without a C compiler.
fn library() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let compiled = || {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let library = folder.join(format!("libnativelocks-{}.so", std::process::id()));
        let source = workspace().join("java-test-harness/native/locks.c");
        let compiler = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-g", "-pthread", "-o"])
            .arg(&library)
            .arg(source)
            .status();
        let is_there = compiler.is_ok_and(|status| status.success());
        let required = std::env::var_os("HPROF_RS_BUILD_TOOLS").is_some_and(|it| it == "required");
        assert!(is_there || !required, "there is no C compiler");
        is_there.then_some(library)
    };
    LIBRARY.get_or_init(compiled).as_deref()
}

fn program(jdk: &'static Jdk, library: &Path) -> Run {
    let library = library.to_str().expect("a path in UTF-8").to_owned();
    let numbers = [THREADS, ROUNDS, MILLIS].map(|number| number.to_string());
    Run::new(jdk)
        .class("NativeLocks")
        .args(std::iter::once(library).chain(numbers))
}

/// The nanoseconds of a method's waits: no fewer than the first, no more than the second.
fn bounds(outcome: &Outcome, method: &str) -> (u64, u64) {
    let mut lines = outcome.stdout.lines();
    let line = lines
        .find_map(|line| line.strip_prefix(&format!("{method} ")))
        .unwrap_or_else(|| panic!("{method}: {}", outcome.stdout));
    let numbers: Vec<u64> = line.split(' ').map(|it| it.parse().unwrap()).collect();
    assert_eq!(numbers[0], WAITS);
    (numbers[1], numbers[2])
}

/// The frame is one of the program's library. The JVM waits for locks of its own in any method, as when it finds the function of one.
fn is_of_library(frame: &str) -> bool {
    frame.contains("[native] ") && !frame.contains("::") && !frame.contains("libjvm")
}

/// Waits of each stack of a method of the program, for people.
fn rows_of(profile: &TextProfile, method: &str, function: &str) -> Vec<(u64, Vec<String>)> {
    let method = format!("NativeLocks.{method}");
    let rows = &profile.contention.last().unwrap().rows;
    let rows = rows.iter().filter(|row| row.method == function);
    let rows = rows.map(|row| (row.count, profile.traces[&row.trace].methods()));
    let rows = rows.filter(|(_, methods)| methods.contains(&&*method));
    rows.map(|(count, methods)| (count, methods.into_iter().map(str::to_owned).collect()))
        .collect()
}

/// Waits and milliseconds of a method of the program.
fn waited(profile: &TextProfile, method: &str, function: &str) -> (u64, f64) {
    let method = format!("NativeLocks.{method}");
    profile.contended(|row, trace| {
        let methods = trace.methods();
        let at = methods.iter().position(|it| *it == method);
        let is_here = at.is_some_and(|at| methods[..at].iter().all(|it| is_of_library(it)));
        row.is_native && row.method == function && is_here
    })
}

fn assert_waits(outcome: &Outcome, profile: &TextProfile) {
    assert!(outcome.stdout.contains("wrong 0\n"), "{}", outcome.stdout);
    for (method, function) in METHODS {
        let (count, millis) = waited(profile, method, function);
        let rows = rows_of(profile, method, function);
        // Where the rules for a new library are being learnt, a stack has no native frame, and may be one of the VM's waits.
        let is_bare = |(_, methods): &&(u64, Vec<String>)| !methods[0].contains("[native] ");
        let bare: u64 = rows.iter().filter(is_bare).map(|row| row.0).sum();
        assert!(
            count >= WAITS && count - bare <= WAITS,
            "{method}: {rows:#?}"
        );
        let (least, most) = bounds(outcome, method);
        // Shares have two digits after the point, of a total in whole milliseconds.
        let slack = 1e6 * (1.0 + 0.0002 * profile.contention.last().unwrap().total as f64);
        let nanos = millis * 1e6;
        assert!(
            nanos >= least as f64 - slack && nanos <= most as f64 + slack,
            "{method}: {nanos} ns, {least} to {most}"
        );
        assert_eq!(waited(profile, "passes", function).0, 0);
        assert_eq!(waited(profile, "checks", function).0, 0);
    }
    // A wait that ends without the lock counts as well.
    assert_eq!(waited(profile, "triesFor", "pthread_mutex_timedlock").0, 7);
    assert_eq!(profile.counter("internal_errors"), 0);
}

/// Each wait counts once, with its time; locks that are free are no waits, and the results of the functions are the C library's.
#[test]
fn waits_and_times_are_those_of_the_program() {
    let Some(library) = library() else { return };
    each_release(|jdk| {
        let outcome = program(jdk, library)
            .agent("nativelock=y,depth=64,cutoff=0")
            .run()
            .expect_status(0);
        let text = String::from_utf8_lossy(&outcome.bytes("java.hprof.txt")).into_owned();
        assert!(text.contains("NATIVE LOCKS BEGIN (total = "), "{text}");
        let profile = outcome.profile();
        assert_waits(&outcome, &profile);
        assert_eq!(profile.counter("native_lock_waits_below"), 0);
    });
}

/// Both modes have hooks in the same libraries, and each thread has rows of its own.
#[test]
fn locks_are_recorded_beside_memory_monitors_and_samples() {
    let Some(library) = library() else { return };
    each_jdk(|jdk| {
        let outcome = program(jdk, library)
            .agent("nativelock=y,native=1k,monitor=y,cpu=samples,interval=1,thread=y,depth=64,cutoff=0")
            .run()
            .expect_status(0);
        assert_waits(&outcome, &outcome.profile());
    });
}

/// Waits below the threshold are counted, and are in no row.
#[test]
fn waits_below_the_threshold_are_left_out() {
    let Some(library) = library() else { return };
    each_jdk(|jdk| {
        let outcome = program(jdk, library)
            .agent("nativelock=1000s,depth=64,cutoff=0")
            .run()
            .expect_status(0);
        let profile = outcome.profile();
        for (method, function) in METHODS {
            assert_eq!(waited(&profile, method, function).0, 0, "{method}");
        }
        assert_eq!(profile.counter("native_lock_waits"), 0);
        assert!(profile.counter("native_lock_waits_below") >= 3 * WAITS);
        assert!(outcome.stdout.contains("wrong 0\n"), "{}", outcome.stdout);
    });
}

/// Frames of Java and native code are in one stack, with the function at its end.
#[test]
fn pictures_have_the_milliseconds_of_waits() {
    let Some(library) = library() else { return };
    each_jdk(|jdk| {
        let outcome = program(jdk, library)
            .agent("nativelock=y,file=locks.collapsed")
            .run()
            .expect_status(0);
        let text = String::from_utf8_lossy(&outcome.bytes("locks.collapsed")).into_owned();
        for (method, function) in METHODS {
            let is_of = |line: &&str| {
                let inner = line.split_once(&format!("NativeLocks.{method};"));
                let stack = inner.and_then(|(_, inner)| inner.rsplit_once(' '));
                let frames = stack.and_then(|(stack, _)| stack.strip_suffix(function));
                frames.is_some_and(|it| it.split_terminator(';').all(is_of_library))
            };
            let millis = |line: &str| line.rsplit(' ').next()?.parse::<u64>().ok();
            let lines = || text.lines().filter(is_of);
            let sum: u64 = lines().filter_map(millis).sum();
            let (least, most) = bounds(&outcome, method);
            let rows = lines().count() as u64;
            assert!(rows > 0, "{text}");
            assert!(
                sum + rows >= least / 1_000_000 && sum <= most / 1_000_000 + rows,
                "{method}: {sum} ms, {least} to {most}"
            );
        }
    });
}

/// An agent that comes later sees the waits from then on, of libraries that are loaded already.
#[test]
fn an_agent_that_is_attached_sees_what_comes() {
    let Some(library) = library() else { return };
    // The jcmd of JDK 8 loads no agents.
    each_jdk_since(11, |jdk| {
        let running = program(jdk, library).args(["go"]).start();
        running.wait_for_line("loaded");
        let agent = agent_library();
        let options = "\"nativelock=y,depth=64,cutoff=0,file=late.txt\"";
        running.jcmd(&["JVMTI.agent_load", agent.to_str().expect("a path"), options]);
        std::fs::write(running.path("go"), "").expect("a file");
        let outcome = running.finish().expect_status(0);
        let text = String::from_utf8_lossy(&outcome.bytes("late.txt")).into_owned();
        let profile = TextProfile::parse(&text).expect("a profile");
        assert_waits(&outcome, &profile);
    });
}
