//! event=: samples by events of the kernel.

use java_test_harness::{Jdk, Outcome, Run, TextProfile, each_jdk, each_release};

fn run(jdk: &'static Jdk, options: &str, kind: &str, count: u32) -> Outcome {
    Run::new(jdk)
        .agent(&format!("{options},depth=16,cutoff=0"))
        .class("PageFaults")
        .args([kind, &count.to_string()])
        .run()
        .expect_status(0)
}

/// The profile, or `None` where the kernel refuses the event and the agent says so.
fn profile(outcome: &Outcome, event: &str) -> Option<TextProfile> {
    let profile = outcome.profile();
    assert_eq!(profile.counter("internal_errors"), 0);
    let refused = outcome.stderr.contains(&format!("event={event}: "));
    if refused {
        assert!(profile.samples(|_| true) == 0, "{}", outcome.report());
        eprintln!("the kernel refuses: {}", outcome.stderr);
    }
    (!refused).then_some(profile)
}

/// The program prints how many faults the kernel has counted for the thread meanwhile. A sample stands for eight; those in the
/// handler, which first touches memory of its own, do not count, nor do those of the VM's own work in between.
#[test]
fn page_faults_are_counted_where_pages_are_touched() {
    each_release(|jdk| {
        let outcome = run(jdk, "event=page-faults,every=8", "pages", 16_384);
        let Some(profile) = profile(&outcome, "page-faults") else {
            return;
        };
        let found = profile.samples_with("PageFaults.touches") + profile.counter("lost_samples");
        let truth = outcome.printed("faults") as u64;
        assert!(truth > 500, "{truth}");
        assert!(
            found.abs_diff(truth) <= truth / 10 + 16,
            "{found} samples, {truth} faults"
        );
    });
}

/// A sleep is a switch, and the signal of a sample is another one: ten switches are nine sleeps. The thread may lose its CPU
/// besides, and not all sleeps are switches where a timer is late.
#[test]
fn context_switches_are_counted_where_threads_wait() {
    each_jdk(|jdk| {
        let outcome = run(jdk, "event=context-switches", "sleeps", 1000);
        let Some(profile) = profile(&outcome, "context-switches") else {
            return;
        };
        let found = profile.samples_with("PageFaults.sleeps");
        assert!((800..=2500).contains(&found), "{found}");
    });
}

/// With `cstack=y` a switch has the way through the kernel that has led to it, above the native code and the method of Java. The
/// kernel's `schedule` does all switches of a thread.
#[test]
fn switches_have_frames_of_the_kernel() {
    each_release(|jdk| {
        let options = "event=context-switches,cstack=y";
        let outcome = run(jdk, options, "sleeps", 400);
        let Some(profile) = profile(&outcome, "context-switches") else {
            return;
        };
        let text = String::from_utf8_lossy(&outcome.bytes("java.hprof.txt")).into_owned();
        if !text.contains(" kernel_stacks=y ") {
            assert!(text.contains(" kernel_stacks=n "), "{}", outcome.report());
            eprintln!("the kernel hands out no frames: {}", outcome.stderr);
            return;
        }
        assert_eq!(profile.counter("threads_without_kernel_stacks"), 0);
        let of_kernel = |frame: &String| frame.starts_with(".[kernel] ");
        for trace in profile.traces.values() {
            let inner = trace.frames.iter().take_while(|it| of_kernel(it)).count();
            let all = trace.frames.iter().filter(|it| of_kernel(it)).count();
            assert!(inner == all && all <= 32, "{trace:?}");
        }
        if outcome.stderr.contains("of the kernel have no names") {
            return;
        }
        let sleeping = profile.samples_with("PageFaults.sleeps");
        let through = profile.samples(|trace| {
            trace.has("PageFaults.sleeps")
                && (trace.frames.iter()).any(|it| of_kernel(it) && it.contains("schedule"))
                && (trace.frames.iter()).any(|it| it.starts_with(".[native] "))
        });
        assert!(sleeping > 300, "{sleeping}");
        // A stack may lack native code until the rules of libraries have been read.
        assert!(
            through * 10 >= sleeping * 9,
            "{through} of {sleeping}: {}",
            outcome.report()
        );
    });
}

/// The clock of the kernel's events agrees with that of the thread.
#[test]
fn the_cpu_clock_counts_intervals() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .agent("event=task-clock,interval=2,depth=16")
            .class("Fib")
            .args(["1"])
            .run()
            .expect_status(0);
        let Some(profile) = profile(&outcome, "task-clock") else {
            return;
        };
        let (samples, millis) = (profile.samples(|_| true), profile.counter("cpu_ms"));
        let expected = millis / 2;
        assert!(
            samples > 10 && samples.abs_diff(expected) <= expected / 4 + 10,
            "{samples} samples in {millis} ms"
        );
    });
}

/// The program runs on without the mode, and the reason is in a line with a remedy.
#[test]
fn an_event_that_is_not_there_is_refused_in_a_line() {
    each_jdk(|jdk| {
        let outcome = run(jdk, "event=no_group:no_event", "sleeps", 1);
        let lines = outcome.stderr.lines();
        let of_event = |line: &&str| line.contains("event=no_group:no_event: ");
        assert_eq!(lines.filter(of_event).count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("perf list tracepoint"));
        assert_eq!(outcome.profile().samples(|_| true), 0);
    });
}

/// JVM_Yield is exported by all releases, and each `Thread.yield` calls it once.
#[test]
fn calls_of_a_function_are_counted_each() {
    each_release(|jdk| {
        let outcome = run(jdk, "event=JVM_Yield", "yields", 3000);
        let Some(profile) = profile(&outcome, "JVM_Yield") else {
            return;
        };
        let found = profile.samples_with("PageFaults.yields") + profile.counter("lost_samples");
        assert_eq!(found, 3000, "{}", outcome.report());
        let text = String::from_utf8_lossy(&outcome.bytes("java.hprof.txt")).into_owned();
        let facts = text.lines().find(|line| line.contains("hprof-rs run: "));
        assert!(
            facts.is_some_and(|line| line.contains(" event=JVM_Yield ")),
            "{facts:?}"
        );
        let outcome = run(jdk, "event=JVM_Yield,every=100", "yields", 3000);
        let profile = outcome.profile();
        let found = profile.samples_with("PageFaults.yields") + profile.counter("lost_samples");
        assert!((2900..=3000).contains(&found), "{found}");
    });
}

/// Arrays of 8 MiB are humongous in regions of a mebibyte. An allocation that has to wait for a collection calls the function
/// again.
#[test]
fn functions_of_cpp_are_found_by_class_and_name() {
    const FUNCTION: &str = "G1CollectedHeap::humongous_obj_allocate";
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .jvm_args(["-XX:+UseG1GC", "-XX:G1HeapRegionSize=1m"])
            .agent(&format!("event={FUNCTION},depth=16,cutoff=0"))
            .class("PageFaults")
            .args(["arrays", "200"])
            .run()
            .expect_status(0);
        let profile = outcome.profile();
        if outcome.stderr.contains("has a function of this name") {
            assert_eq!(profile.samples(|_| true), 0);
            assert!(jdk.feature() < 11, "{}", outcome.stderr);
            return;
        }
        let Some(profile) = self::profile(&outcome, FUNCTION) else {
            return;
        };
        let found = profile.samples_with("PageFaults.arrays") + profile.counter("lost_samples");
        assert!((200..=400).contains(&found), "{found}");
    });
}

/// A name that no library has is a mistake, and the line says where names come from.
#[test]
fn a_function_that_is_not_there_is_refused_in_a_line() {
    each_jdk(|jdk| {
        let outcome = run(jdk, "event=no_such_function", "sleeps", 1);
        assert!(profile(&outcome, "no_such_function").is_none());
        assert!(
            outcome.stderr.contains("table of symbols"),
            "{}",
            outcome.stderr
        );
    });
}
