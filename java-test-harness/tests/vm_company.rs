//! The agent among the VM's own checks, the VM's other features, and other profilers.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use java_test_harness::{Jdk, Outcome, Run, agent_library, classes, each_jdk, each_jdk_since};

const MODES: [&str; 9] = [
    "heap=dump",
    "heap=dump,format=b",
    "heap=sites",
    "heap=all,format=b",
    "cpu=samples,interval=1,thread=y",
    "cpu=samples,interval=1,engine=safepoint",
    "cpu=times",
    "cpu=old",
    "monitor=y",
];

#[test]
fn the_vms_checks_of_jni_find_nothing() {
    each_jdk(|jdk| {
        for mode in MODES {
            let run = Run::new(jdk).agent(&format!("{mode},file=out"));
            let outcome = run.jvm_arg("-Xcheck:jni").class("HelloWorld").run();
            let outcome = outcome.expect_status(0);
            let said = format!("{}{}", outcome.stdout, outcome.stderr);
            for word in ["WARNING", "exceeds capacity", "FATAL"] {
                assert!(!said.contains(word), "{mode}: {said}");
            }
        }
    });
}

#[test]
fn call_counting_is_refused_where_the_vm_makes_an_aot_cache() {
    each_jdk_since(25, |jdk| {
        for mode in ["cpu=times", "cpu=old"] {
            for arguments in [
                &["-XX:AOTCacheOutput=a.aot"][..],
                &["-XX:AOTMode=record", "-XX:AOTConfiguration=a.conf"],
            ] {
                let run = Run::new(jdk).agent(mode).jvm_args(arguments);
                let outcome = run.class("Hello").run().expect_status(1);
                let text = &outcome.stderr;
                assert!(
                    text.contains(&format!("{mode} rewrites classes"))
                        && text.contains("AOT cache"),
                    "{arguments:?}: {text}"
                );
                assert_eq!(outcome.stdout, "", "the program has not begun");
            }
            let run = Run::new(jdk).agent(mode);
            let run = run.env("JAVA_TOOL_OPTIONS", "-XX:AOTCacheOutput=a.aot");
            let outcome = run.class("Hello").run().expect_status(1);
            assert!(outcome.stderr.contains("AOT cache"), "{}", outcome.stderr);
        }
    });
}

/// The VM maps no class data while an agent sees each class load, and ends where it was told to map them.
#[test]
fn call_counting_is_refused_where_the_vm_insists_on_class_data() {
    each_jdk_since(21, |jdk| {
        let mut options = vec!["-Xshare:on"];
        if jdk.feature() >= 25 {
            options.push("-XX:AOTMode=on");
        }
        for option in options {
            let run = Run::new(jdk).agent("cpu=times").jvm_arg(option);
            let outcome = run.class("Hello").run().expect_status(1);
            let said = format!("leave out {option}");
            assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
            assert_eq!(outcome.files(), [""; 0], "the output is removed");
        }
        let run = Run::new(jdk).agent("cpu=times");
        let run = run.jvm_args(["-Xshare:on", "-Xshare:auto"]);
        run.class("Hello").run().expect_status(0);
    });
}

/// The VM ends within its report of the error, before its event for agents.
#[test]
fn a_vm_that_ends_without_memory_is_said_to_leave_no_profile() {
    each_jdk(|jdk| {
        let run = Run::new(jdk).agent("cpu=samples");
        let run = run.jvm_arg("-XX:+ExitOnOutOfMemoryError").class("Hello");
        let outcome = run.run().expect_status(0);
        let said = &outcome.stderr;
        assert!(said.contains("leaves no profile then"), "{said}");
    });
}

#[test]
fn locks_of_the_library_are_left_out_where_the_vm_makes_an_aot_cache() {
    each_jdk_since(25, |jdk| {
        let run = Run::new(jdk).agent("monitor=y");
        let run = run.jvm_args(["-XX:AOTMode=record", "-XX:AOTConfiguration=a.conf"]);
        // The VM takes no folder of classes into a cache, which it says when the program has ended.
        let outcome = run.class("Hello").run();
        let said = &outcome.stderr;
        assert!(said.contains("are not counted"), "{said}");
        assert!(!said.contains("HPROF ERROR"), "{said}");
    });
}

/// Lines that speak of another profiler, on standard error and in the profile.
fn remarks(stderr: &str, profile: &str) -> [Vec<String>; 2] {
    let lines = |text: &str| {
        let lines = text
            .lines()
            .filter(|line| line.contains("one profiler at a time"));
        lines.map(str::to_owned).collect()
    };
    [lines(stderr), lines(profile)]
}

#[test]
fn signals_of_another_profiler_are_noticed_once() {
    let jdk = Jdk::feature_release(17);
    let run = Run::new(jdk).agent("cpu=samples,file=out.txt");
    let running = run.class("Exits").args(["wait"]).start();
    running.wait_for_line("ready");
    let pid = i32::try_from(running.pid()).unwrap();
    for _ in 0..200 {
        // SAFETY: a signal to a process of our own.
        unsafe { libc::kill(pid, libc::SIGSTKFLT) };
        std::thread::sleep(Duration::from_millis(10));
    }
    running.wait_until("the remark", |running| {
        running.stderr().contains("comes from elsewhere")
    });
    running.signal(java_test_harness::Signal::Terminate);
    let outcome = running.finish();
    let profile = String::from_utf8(outcome.bytes("out.txt")).unwrap();
    let [said, written] = remarks(&outcome.stderr, &profile);
    assert_eq!((said.len(), written.len()), (1, 1), "{said:?} {written:?}");
}

#[test]
fn an_interval_timer_of_another_profiler_is_noticed() {
    let jdk = Jdk::feature_release(17);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.txt");
    let agent = format!(
        "-agentpath:{}=cpu=samples,file={}",
        agent_library().display(),
        file.display()
    );
    let mut java = Command::new(jdk.tool("java"));
    java.arg(agent)
        .arg("-cp")
        .arg(classes())
        .args(["Exits", "return"]);
    let set_timer = || {
        // Later than the program lasts: only that there is one counts.
        let long = libc::timeval {
            tv_sec: 3600,
            tv_usec: 0,
        };
        let timer = libc::itimerval {
            it_interval: long,
            it_value: long,
        };
        // SAFETY: the kernel reads the local; the timer outlives exec.
        unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const timer, std::ptr::null_mut()) };
        Ok(())
    };
    // SAFETY: a system call and nothing else between fork and exec.
    unsafe { java.pre_exec(set_timer) };
    let output = java.output().unwrap();
    assert!(output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    let profile = std::fs::read_to_string(&file).unwrap();
    let [said, written] = remarks(&stderr, &profile);
    assert_eq!((said.len(), written.len()), (1, 1), "{stderr}");
    assert!(said[0].contains("setitimer"), "{said:?}");
}

#[test]
fn alone_nothing_is_said() {
    each_jdk(|jdk| {
        let run = Run::new(jdk).agent("cpu=samples,file=out.txt");
        let outcome = run.class("Exits").args(["return"]).run().expect_status(0);
        let profile = String::from_utf8(outcome.bytes("out.txt")).unwrap();
        let [said, written] = remarks(&outcome.stderr, &profile);
        assert!(said.is_empty() && written.is_empty(), "{said:?}");
    });
}

/// The signals of Unix, and those that the agent chooses from.
fn blockable() -> impl Iterator<Item = i32> {
    (1..=64).filter(|signal| !matches!(signal, 9 | 19 | 32 | 33))
}

/// Checks that a program has the samples of its CPU time, as it has where no signal is blocked.
fn check_has_samples(outcome: &Outcome, truth: f64) {
    let profile = outcome.profile();
    let sampled = profile.samples_with("Spin.hot") + profile.samples_with("Spin.warm");
    let sampled = sampled as f64 * 0.01;
    // The VM starts and ends beside the spinner, and the wall clock counts the CPU time within some samples.
    assert!(
        (sampled - truth).abs() <= 0.15 + 0.2 * truth,
        "{sampled} s in the profile, in truth {truth}:\n{}",
        outcome.report()
    );
}

#[test]
fn a_program_whose_launcher_blocks_signals_has_its_samples() {
    each_jdk(|jdk| {
        let run = |options: &str, blocked: Vec<i32>| {
            let run = Run::new(jdk).agent(options).blocking(blocked);
            let outcome = run.class("Spin").args(["0.7", "1"]).run();
            outcome.expect_status(0)
        };
        let one = vec![libc::SIGSTKFLT];
        let outcome = run("cpu=samples", one.clone());
        check_has_samples(&outcome, outcome.printed("cpu"));
        for options in ["cpu=samples,signal=STKFLT", "cpu=samples"] {
            let outcome = run(options, blockable().collect());
            check_has_samples(&outcome, outcome.printed("cpu"));
            assert!(!outcome.stderr.contains("block"), "{}", outcome.stderr);
        }
        // Without frames for states, a thread's samples in a method are with and without a CPU.
        let outcome = run("cpu=wall,filter=spinner*", blockable().collect());
        let running = outcome.profile().samples(|trace| trace.has(".[running]"));
        let (running, truth) = (running as f64 * 0.01, outcome.printed("spinner-0.hot"));
        assert!(
            running > 0.5 * truth,
            "{running} s running, {truth} s in hot()"
        );
    });
}

/// A native library that blocks signals on its thread (by JEP 454 here).
#[test]
fn a_thread_that_blocks_signals_is_sampled_and_named() {
    each_jdk_since(22, |jdk| {
        for mode in ["cpu=samples", "cpu=wall"] {
            let signals = [16, 27, 30, 46].map(|signal: i32| signal.to_string());
            let run = Run::new(jdk).jvm_arg("--enable-native-access=ALL-UNNAMED");
            let run = run.agent(&format!("{mode},thread=y,depth=16"));
            let run = run.class("BlocksSignals");
            let run = run.args(["1.5".to_owned()]).args(signals);
            let outcome = run.run().expect_status(0);
            let said = &outcome.stderr;
            assert_eq!(
                said.matches("thread \"blocker\" blocks signal").count(),
                1,
                "{mode}: {said}"
            );
            let profile = outcome.profile();
            let sampled = profile.samples_with("BlocksSignals.spin") as f64 * 0.01;
            let truth = outcome.printed("cpu");
            // On the wall clock, time without a CPU comes on top.
            let most = match mode {
                "cpu=wall" => f64::INFINITY,
                _ => 1.3 * truth + 0.1,
            };
            assert!(
                sampled >= 0.7 * truth - 0.1 && sampled <= most,
                "{mode}: {sampled} s in the profile, in truth {truth}:\n{}",
                outcome.report()
            );
            assert_eq!(profile.counter("threads_blocking_signal"), 1);
        }
    });
}

#[test]
fn flight_recorder_samples_cpu_time_beside_the_agent() {
    each_jdk_since(25, |jdk| {
        let flags = "-XX:StartFlightRecording:jdk.CPUTimeSample#enabled=true,filename=r.jfr";
        let run = Run::new(jdk).agent("cpu=samples").jvm_arg(flags);
        let outcome = run.class("Spin").args(["1", "1"]).run().expect_status(0);
        check_has_samples(&outcome, outcome.printed("cpu"));
        let said = &outcome.stderr;
        assert!(!said.contains("one profiler at a time"), "{said}");
        let mut jfr = Command::new(jdk.tool("jfr"));
        let recording = tempfile::Builder::new().suffix(".jfr").tempfile().unwrap();
        std::fs::write(recording.path(), outcome.bytes("r.jfr")).unwrap();
        let summary = jfr.arg("summary").arg(recording.path()).output().unwrap();
        let summary = String::from_utf8(summary.stdout).unwrap();
        let line = summary
            .lines()
            .find(|line| line.contains("jdk.CPUTimeSample "))
            .unwrap_or_default();
        let events = line
            .split_whitespace()
            .nth(1)
            .and_then(|it| it.parse().ok());
        assert!(events.is_some_and(|events: u32| events > 20), "{summary}");
    });
}
