//! Nothing the program does, and nothing that runs beside the agent, makes the JVM crash, hang or
//! lose its exit. Seconds of what the benchmark `soak` does for minutes.

use java_test_harness::{Jdk, Outcome, Run, Stress, each_collector, each_jdk, redefiner};

/// Runs a stress program; the profile must be whole, and no sample lost to an internal error.
fn survive(stress: Stress, jdk: &'static Jdk, seconds: u32) -> Outcome {
    let outcome = stress
        .run(jdk, "cpu=samples,interval=1,depth=16", seconds)
        .expect_status(0);
    let profile = outcome.profile();
    assert!(profile.table().total > 20, "hardly any samples");
    assert_eq!(profile.counter("internal_errors"), 0);
    outcome
}

#[test]
fn classes_loaded_redefined_and_unloaded() {
    each_jdk(|jdk| {
        let outcome = survive(Stress::Classes, jdk, 3);
        assert!(outcome.printed("classes") > 100.0 && outcome.printed("redefinitions") > 10.0);
        assert!(
            outcome.printed("unloaded") > outcome.printed("classes") / 2.0,
            "classes are kept"
        );
        let profile = outcome.profile();
        assert!(profile.samples_with("ClassChurn$Payload.work") > 0);
    });
}

/// The VM frees obsolete methods and keeps the ids that it gave for them; asked about one, it crashes (JDK-8313816).
#[test]
fn stacks_of_obsolete_methods_do_not_end_the_program() {
    each_jdk(|jdk| {
        for options in [
            "heap=sites,cutoff=0",
            "heap=sites,cutoff=0,shortcut=n",
            "heap=sites,cutoff=0,cpu=samples,interval=1,monitor=y",
        ] {
            let outcome = Run::new(jdk)
                .jvm_arg(format!("-javaagent:{}", redefiner().display()))
                .agent(options)
                .class("RedefinedWhileAllocating")
                .run()
                .expect_status(0);
            let profile = outcome.profile();
            assert_eq!(profile.counter("internal_errors"), 0);
            let rows = profile.sites_with("RedefinedWhileAllocating$Maker.make");
            let known = rows.filter(|row| row.class == "int[]");
            let known = known.map(|row| row.allocated_objects).sum::<u64>() as f64;
            let made = outcome.printed("made");
            // Allocations of an obsolete method that has the id of a freed one are at an unknown
            // method.
            assert!(
                made > 1e5 && known <= made && known > 0.9 * made,
                "{options}: {known} of {made}"
            );
        }
    });
}

#[test]
fn threads_by_the_thousand() {
    each_jdk(|jdk| {
        let outcome = survive(Stress::Threads, jdk, 3);
        let profile = outcome.profile();
        let starts = profile
            .threads
            .iter()
            .filter(|it| it.name.starts_with("short-"))
            .count();
        assert_eq!(starts as f64, outcome.printed("threads"));
        assert!(profile.samples_with("ManyThreads.work") > 0);
    });
}

#[test]
fn virtual_threads_by_the_ten_thousand() {
    java_test_harness::each_jdk_since(21, |jdk| {
        let outcome = survive(Stress::VirtualThreads, jdk, 4);
        assert!(outcome.printed("threads") >= 10_000.0);
    });
}

#[test]
fn stack_overflows() {
    each_jdk(|jdk| {
        let outcome = survive(Stress::StackOverflow, jdk, 3);
        assert!(outcome.printed("overflows") > 10.0);
    });
}

#[test]
fn every_collector_under_allocation_pressure() {
    each_collector(|jdk, collector| {
        survive(Stress::Allocation(collector), jdk, 2);
    });
}

#[test]
fn a_flight_recording_and_a_debugger_beside_us() {
    each_jdk(|jdk| {
        let outcome = survive(Stress::OtherAgents, jdk, 3);
        assert!(outcome.files().contains(&"recording.jfr".to_owned()));
    });
}

#[test]
fn exits_are_kept_while_threads_start_and_die() {
    each_jdk(|jdk| {
        for delay in [0, 20, 150, 400] {
            let run = Run::new(jdk).agent("cpu=samples,interval=1");
            let running = run.class("ManyThreads").args(["60", "64"]).start();
            // Before that, the JVM may not have its signal handler yet.
            running.wait_for_line("ready");
            std::thread::sleep(std::time::Duration::from_millis(delay));
            running.signal(java_test_harness::Signal::Terminate);
            running.finish().expect_status(143);
        }
    });
}
