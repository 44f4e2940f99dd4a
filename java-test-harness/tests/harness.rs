//! The harness itself, without any agent.

use std::time::{Duration, Instant};

use java_test_harness::{Jdk, Run, Signal, classes, each_collector, each_jdk};

fn plain() -> Run {
    Run::new(Jdk::tested()[0])
}

#[test]
fn hello_runs_on_every_jdk() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk).class("Hello").run().expect_status(0);
        assert_eq!(
            (outcome.stdout.as_str(), outcome.stderr.as_str()),
            ("hello\n", "")
        );
        assert_eq!(outcome.files(), [""; 0]);
        assert!(outcome.usage.cpu() > Duration::ZERO && outcome.usage.max_resident > 1 << 20);
    });
}

#[test]
fn every_collector_runs() {
    each_collector(|jdk, collector| {
        Run::new(jdk)
            .jvm_args(collector.arguments())
            .class("Hello")
            .run()
            .expect_status(0);
    });
}

#[test]
fn exit_status_and_output_are_the_programs() {
    let outcome = plain()
        .class("Exits")
        .args(["exit", "7"])
        .run()
        .expect_status(7);
    assert_eq!(outcome.stderr, "");
    let outcome = plain()
        .class("Exits")
        .args(["throw"])
        .run()
        .expect_status(1);
    assert!(outcome.stderr.contains("thrown on purpose"));
}

#[test]
fn signals_reach_the_jvm() {
    let running = plain().class("Exits").args(["wait"]).start();
    running.wait_for_line("ready");
    assert!(running.jcmd(&["VM.version"]).contains("JDK"));
    running.signal(Signal::Quit);
    running.wait_for_line("Full thread dump");
    running.signal(Signal::Terminate);
    running.finish().expect_status(143);

    let running = plain().class("Exits").args(["wait"]).start();
    running.wait_for_line("ready");
    running.signal(Signal::Kill);
    let outcome = running.finish();
    assert_eq!((outcome.status, outcome.signal), (None, Some(9)));
}

#[test]
fn the_time_limit_kills_and_shows_the_threads() {
    let started = Instant::now();
    let limit = Duration::from_secs(2);
    let outcome = plain()
        .class("Exits")
        .args(["wait"])
        .time_limit(limit)
        .run();
    assert!(outcome.timed_out);
    assert_eq!(outcome.signal, Some(9));
    assert!(started.elapsed() < Duration::from_secs(60));
    assert!(outcome.stdout.contains("Full thread dump") && outcome.stdout.contains("\"main\""));
}

#[test]
fn a_report_has_it_all() {
    let run = plain()
        .file("given.txt", "content of the file\n")
        .class("Exits")
        .args(["throw"]);
    let report = run.run().report();
    for part in [
        "Exits throw",
        "exit status 1",
        "thrown on purpose",
        "given.txt, 20",
        "content of",
    ] {
        assert!(report.contains(part), "{part} is missing in:\n{report}");
    }
}

#[test]
fn dropping_a_running_jvm_kills_it() {
    let running = plain().class("Exits").args(["wait"]).start();
    running.wait_for_line("ready");
    let process = format!("/proc/{}", running.pid());
    assert!(std::path::Path::new(&process).exists());
    drop(running);
    assert!(!std::path::Path::new(&process).exists());
}

#[test]
fn spin_measures_itself() {
    let outcome = plain()
        .class("Spin")
        .args(["1", "2"])
        .run()
        .expect_status(0);
    let (hot, warm) = (outcome.printed("hot"), outcome.printed("warm"));
    let share = hot / (hot + warm);
    assert!((0.4..0.95).contains(&share), "{share} of the time in hot()");
    assert!(outcome.printed("cpu") >= hot + warm);
    assert!(outcome.printed("spinner-1.hot") > 0.0);
}

#[test]
fn classes_are_compiled_once() {
    assert_eq!(classes(), classes());
    assert!(classes().join("Spin$Spinner.class").is_file());
}

#[test]
fn a_failed_test_reports_outcomes_that_are_gone() {
    // In a process of its own, for its output is what is tested.
    let name = "fails_on_purpose_when_told_to";
    let mut test = std::process::Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", name, "--ignored"])
        .env_remove("RUST_BACKTRACE");
    let done = test.output().unwrap();
    assert!(!done.status.success());
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    for part in [
        "the profile is wrong",
        "=== ",
        "Hello",
        "exit status 0",
        "file given.txt",
    ] {
        assert!(said.contains(part), "{part} is missing in:\n{said}");
    }
}

#[test]
#[ignore = "fails on purpose; run by the test above"]
fn fails_on_purpose_when_told_to() {
    let text = plain()
        .file("given.txt", "text")
        .class("Hello")
        .run()
        .bytes("given.txt");
    assert_eq!(text, b"", "the profile is wrong");
}
