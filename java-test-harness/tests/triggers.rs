//! When dumps are made: at every kind of exit, and on request.

use java_test_harness::{Jdk, Run, Running, Signal, each_jdk};

const DUMPED: &str = "Dumping CPU usage by sampling running threads ... done.\n";

/// The programs work for 30 samples. A timer expires at a tick of the kernel, which on a loaded virtual
/// machine may come late, and for the last samples too late.
const ENOUGH: u64 = 15;

#[test]
fn every_exit_leaves_a_profile_and_keeps_its_status() {
    each_jdk(|jdk| {
        for (arguments, status) in [
            (&["return"] as &[&str], 0),
            (&["exit", "0"], 0),
            (&["exit", "7"], 7),
            (&["halt", "9"], 9),
            (&["throw"], 1),
        ] {
            let run = Run::new(jdk)
                .agent("cpu=samples")
                .class("Exits")
                .args(arguments);
            let outcome = run.run().expect_status(status);
            assert!(
                outcome.stderr.ends_with(DUMPED),
                "no dump after {arguments:?}"
            );
            let profile = outcome.profile();
            assert_eq!(profile.tables.len(), 1);
            assert!(
                profile.samples_with("Exits.work") >= ENOUGH,
                "after {arguments:?}"
            );
        }
    });
}

#[test]
fn termination_signals_leave_a_profile_and_the_jvms_status() {
    each_jdk(|jdk| {
        for (signal, status) in [(Signal::Terminate, 143), (Signal::Interrupt, 130)] {
            let running = Run::new(jdk)
                .agent("cpu=samples")
                .class("Exits")
                .args(["wait"])
                .start();
            running.wait_for_line("ready");
            running.signal(signal);
            let outcome = running.finish().expect_status(status);
            assert!(outcome.profile().samples_with("Exits.work") >= ENOUGH);
        }
    });
}

#[test]
fn a_killed_jvm_leaves_no_profile_that_looks_whole() {
    let run = Run::new(Jdk::feature_release(17))
        .agent("cpu=samples")
        .class("Exits")
        .args(["wait"]);
    let running = run.start();
    running.wait_for_line("ready");
    running.signal(Signal::Kill);
    let outcome = running.finish();
    assert_eq!(outcome.signal, Some(9));
    assert!(!outcome.files().contains(&"java.hprof.txt".to_owned()));
}

#[test]
fn doe_n_dumps_nothing_at_exit() {
    each_jdk(|jdk| {
        let run = Run::new(jdk)
            .agent("cpu=samples,doe=n")
            .class("Exits")
            .args(["exit", "3"]);
        let outcome = run.run().expect_status(3);
        assert_eq!(outcome.stderr, "");
        let profile = outcome.profile();
        assert_eq!((profile.tables.len(), profile.traces.len()), (0, 0));
        assert_eq!(profile.thread("main").group, "main");
    });
}

/// Starts the program DumpLoop, asks for a dump in the way given after each of its phases, and
/// checks that each dump holds the samples since the one before.
fn dumps_on_request(jdk: &'static Jdk, request: impl Fn(&Running)) {
    let running = Run::new(jdk)
        .agent("cpu=samples,file=%p.txt")
        .class("DumpLoop")
        .start();
    let dumps = |running: &Running| running.stderr().matches(DUMPED).count();
    running.wait_for_line("first");
    request(&running);
    running.wait_until("the first dump", |running| dumps(running) == 1);
    std::fs::write(running.path("go"), "").unwrap();
    running.wait_for_line("second");
    request(&running);
    running.wait_until("the second dump", |running| dumps(running) == 2);
    // By its final name the file is there, and complete, from the first dump on.
    let name = format!("{}.txt", running.pid());
    assert!(running.files().contains(&name), "{:?}", running.files());
    std::fs::write(running.path("end"), "").unwrap();

    let outcome = running.finish().expect_status(0);
    assert_eq!(outcome.stderr, DUMPED.repeat(3));
    let profile = outcome.text_profile(&name);
    assert_eq!(profile.tables.len(), 3);
    let samples = |dump: usize, method: &str| -> u64 {
        let rows = profile.tables[dump].rows.iter();
        rows.filter(|row| profile.traces[&row.trace].has(method))
            .map(|row| row.count)
            .sum()
    };
    assert!(samples(0, "DumpLoop.first") >= 40);
    assert_eq!(
        samples(1, "DumpLoop.first") + samples(2, "DumpLoop.first"),
        0,
        "not reset"
    );
    // The second request comes when the third phase has begun.
    assert_eq!(samples(0, "DumpLoop.third"), 0, "too early");
    assert_eq!(samples(2, "DumpLoop.second"), 0, "not reset");
    assert!(samples(1, "DumpLoop.third") + samples(2, "DumpLoop.third") >= 25);
}

#[test]
fn sigquit_dumps_and_the_program_goes_on() {
    each_jdk(|jdk| dumps_on_request(jdk, |running| running.signal(Signal::Quit)));
}

#[test]
fn jcmd_dumps_and_the_program_goes_on() {
    each_jdk(|jdk| {
        dumps_on_request(jdk, |running| {
            running.jcmd(&["JVMTI.data_dump"]);
        });
    });
}

#[test]
fn requests_work_with_doe_n() {
    let run = Run::new(Jdk::feature_release(17))
        .agent("cpu=samples,doe=n")
        .class("DumpLoop");
    let running = run.start();
    running.wait_for_line("first");
    running.signal(Signal::Quit);
    running.wait_until("the dump", |running| running.stderr().contains(DUMPED));
    for name in ["go", "end"] {
        std::fs::write(running.path(name), "").unwrap();
    }
    let outcome = running.finish().expect_status(0);
    assert_eq!(outcome.stderr, DUMPED);
    let profile = outcome.profile();
    assert_eq!(profile.tables.len(), 1);
    assert!(profile.samples_with("DumpLoop.first") > 0);
}

#[test]
fn many_requests_at_once_do_no_harm() {
    each_jdk(|jdk| {
        let running = Run::new(jdk)
            .agent("cpu=samples,interval=1")
            .class("DumpLoop")
            .start();
        running.wait_for_line("first");
        for _ in 0..30 {
            running.signal(Signal::Quit);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        for name in ["go", "end"] {
            std::fs::write(running.path(name), "").unwrap();
        }
        let outcome = running.finish().expect_status(0);
        let profile = outcome.profile();
        assert_eq!(outcome.stderr, DUMPED.repeat(profile.tables.len()));
        assert!(profile.tables.len() >= 2);
    });
}
