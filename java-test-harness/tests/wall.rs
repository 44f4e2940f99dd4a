//! cpu=wall and vmthreads=y: the time of threads that wait, and of threads that run no Java code.

use java_test_harness::{Jdk, Outcome, Run, TextProfile, each_jdk, each_jdk_since, each_release};

/// Seconds per sample.
const INTERVAL: f64 = 0.01;

fn run(jdk: &'static Jdk, options: &str) -> Outcome {
    let run = Run::new(jdk).agent(&format!("cpu=wall,thread=y,depth=64{options}"));
    run.class("States").args(["1.5"]).run().expect_status(0)
}

/// Samples of a thread with this frame in them; of all with an empty one.
fn samples(profile: &TextProfile, thread: &str, frame: &str) -> f64 {
    let serial = profile.thread(thread).serial;
    let count = profile
        .samples(|trace| trace.thread == Some(serial) && (frame.is_empty() || trace.has(frame)));
    count as f64
}

#[track_caller]
fn assert_near(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{what}: {found:.3}, in truth {expected:.3} ± {tolerance:.3}"
    );
}

/// Each thread's samples are its whole life, in the state and method that it was in.
fn check_states(outcome: &Outcome) {
    let profile = outcome.profile();
    let alive = outcome.printed("alive");
    for (thread, state, method) in [
        ("sleeper", ".[sleeping]", "java.lang.Thread.sleep"),
        ("waiter", ".[waiting]", "java.lang.Object.wait"),
        (
            "parker",
            ".[waiting]",
            "java.util.concurrent.locks.LockSupport.park",
        ),
        ("holder", ".[sleeping]", "States.hold"),
        ("blocked", ".[blocked]", "States.block"),
        ("reader", ".[native]", "States.read"),
    ] {
        let all = samples(&profile, thread, "");
        // A thread may start before the last one, and end after the program has looked at the clock.
        assert_near(thread, all * INTERVAL, alive + 0.1, 0.15 + alive * 0.05);
        for frame in [state, method] {
            let share = samples(&profile, thread, frame) / all;
            assert!(share > 0.95, "{frame} is in {share:.3} of {thread}");
        }
    }
}

#[test]
fn waiting_threads_have_their_states_and_stacks() {
    each_jdk(|jdk| check_states(&run(jdk, "")));
}

/// The parts of a thread that does two things by turns, and of one that always wants a CPU.
#[test]
fn samples_of_running_threads_are_their_cpu_time() {
    each_jdk(|jdk| {
        let outcome = run(jdk, ",filter=mixed:spin*");
        let profile = outcome.profile();
        let of = |thread: &str, frame: &str| samples(&profile, thread, frame) * INTERVAL;
        let [spun, slept] = ["spun", "slept"].map(|name| outcome.printed(name));
        // A busy machine lets the agent look less often, and each look counts more.
        let looks = profile.counter("looks") as f64 / 2.0;
        let weight = of("spinner", "") / looks;
        let share = of("mixed", ".[sleeping]") / of("mixed", "");
        let truth = slept / (spun + slept);
        let deviation = (truth * (1.0 - truth) / looks).sqrt();
        assert_near("share of sleep", share, truth, 4.0 * deviation);
        let cpu = outcome.printed("spinner");
        // Samples may be ahead of the clock by ten, or by one look.
        let tolerance = 0.12 + 3.0 * weight + cpu * 0.05;
        assert_near("running", of("spinner", ".[running]"), cpu, tolerance);
        // The VM stops it now and then.
        let active = [".[running]", ".[runnable]", ".[vm]"].map(|state| of("spinner", state));
        let ready: f64 = active.iter().sum();
        assert!(
            of("spinner", "") - ready <= 0.05 * ready + weight,
            "{ready} s of it are running or ready"
        );
        assert!(of("spinner", "States.spin") > 0.9 * ready - 2.0 * weight);
        // The filter leaves all others out.
        let others = profile.threads.iter().map(|thread| &thread.name);
        for name in others.filter(|name| !name.starts_with("spin") && *name != "mixed") {
            let serial = profile.thread(name).serial;
            assert_eq!(
                profile.samples(|trace| trace.thread == Some(serial)),
                0,
                "{name}"
            );
        }
    });
}

/// The agent's own walk serves running threads, and the safepoint engine all of them.
#[test]
fn other_engines_have_the_same_states() {
    each_jdk_since(25, |jdk| {
        for engine in ["walker", "safepoint"] {
            check_states(&run(jdk, &format!(",engine={engine}")));
        }
    });
}

#[test]
fn states_can_be_left_out_and_binary_profiles_hold_them() {
    each_jdk_since(25, |jdk| {
        let plain = run(jdk, ",states=n,filter=sleeper").profile();
        assert_eq!(plain.samples(|trace| trace.has(".[sleeping]")), 0);
        assert!(plain.samples_with("java.lang.Thread.sleep") > 100);
        assert!(plain.counter("sleeping") > 100);
        let binary = run(jdk, ",format=b,filter=sleeper").binary_profile("java.hprof");
        assert!(binary.samples_with(".[sleeping]") > 100);
    });
}

/// With the rows of threads that run no Java code, the table is the CPU time of the process.
#[test]
fn samples_and_rows_of_the_vm_are_the_cpu_time_of_the_process() {
    // JDK 26 and later shorten the names of their threads in another way.
    each_release(|jdk| {
        let run = Run::new(jdk).agent("cpu=samples,vmthreads=y,depth=4,interval=5,cutoff=0");
        let run = run.jvm_args(["-XX:+UseParallelGC", "-Xmx300m"]);
        let outcome = run.class("WholeProcess").args(["2"]).run().expect_status(0);
        let profile = outcome.profile();
        let sampled = profile.table().total as f64 * 0.005;
        // The program looks at its clock before its end, and the agent writes the profile after that. Samples
        // begin when the VM has started, which takes as much on a machine that leaves the program little.
        let usage = &outcome.usage;
        let whole = (usage.user + usage.system).as_secs_f64();
        let low = outcome.printed("process") - outcome.printed("start");
        assert!(
            sampled > 0.97 * low && sampled < 1.03 * whole,
            "{sampled:.3} s in the profile, {low:.3} to {whole:.3} s in truth"
        );
        for row in [".[gc]", ".[jit]", ".[native]"] {
            assert!(profile.samples_with(row) > 0, "{row}");
        }
    });
}
