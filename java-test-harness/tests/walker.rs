//! The agent's own walk of stacks: equal to the VM's at known points, and used for samples.

use java_test_harness::{
    Collector, Jdk, Outcome, Run, Trace, each_collector, each_release, each_release_since,
};

/// Runs a program with `engine=walker`, and checks that the walk was used and never differed from the VM's.
fn walked(run: Run, min_checks: u64) -> Outcome {
    let outcome = run.run().expect_status(0);
    let is_equal = !outcome.stderr.contains("differs from the VM's");
    assert!(is_equal, "{}", outcome.stderr);
    let profile = outcome.profile();
    let checked = profile.counter("walks_checked");
    assert!(checked >= min_checks, "{checked} stacks were compared");
    outcome
}

fn run(jdk: &'static Jdk) -> Run {
    Run::new(jdk).agent("cpu=samples,interval=1,depth=200,engine=walker")
}

/// A debug build compares every stack at which a class is prepared, in all frames and bytecodes.
fn stacks_equal_the_vms(jdk: &'static Jdk, mode: &[&str]) {
    let run = run(jdk).jvm_args(mode.iter().copied());
    walked(run.class("ClassChurn").args(["1"]), 200);
}

#[test]
fn stacks_of_mixed_code_equal_the_vms() {
    each_release(|jdk| stacks_equal_the_vms(jdk, &[]));
}

#[test]
fn stacks_of_interpreted_code_equal_the_vms() {
    each_release(|jdk| stacks_equal_the_vms(jdk, &["-Xint"]));
}

#[test]
fn stacks_of_code_that_c1_compiles_equal_the_vms() {
    each_release(|jdk| stacks_equal_the_vms(jdk, &["-Xcomp", "-XX:TieredStopAtLevel=1"]));
}

/// On one release only, since it takes long: the one with the newest layout of code.
#[test]
fn stacks_of_code_that_c2_compiles_equal_the_vms() {
    each_release_since(25, |jdk| {
        let run = run(jdk).jvm_args(["-Xcomp", "-XX:-TieredCompilation"]);
        walked(run.class("HelloWorld"), 50);
    });
}

/// Native code that calls Java by a pointer (JEP 454) does not cut stacks off.
#[test]
fn java_that_native_code_calls_by_a_pointer_has_its_callers() {
    each_release_since(22, |jdk| {
        let run = run(jdk).jvm_arg("--enable-native-access=ALL-UNNAMED");
        let outcome = walked(run.class("Upcalls").args(["1500"]), 20);
        let profile = outcome.profile();
        let compared = profile.samples_with("Upcalls.compare");
        let rooted = profile.samples(|trace| {
            trace.has("Upcalls.compare") && trace.has("Upcalls.sort") && trace.has("Upcalls.main")
        });
        assert!(compared > 20, "{compared}");
        // A signal may come in the few instructions of the way there.
        assert!(10 * rooted >= 9 * compared, "{rooted} of {compared}");
    });
}

/// Their samples lead to the root of virtual threads, whether their outer frames are in the heap or not.
#[test]
fn stacks_of_virtual_threads_equal_the_vms_and_have_their_root() {
    each_release_since(21, |jdk| {
        let many = ["many", "2", "500"];
        let outcome = walked(run(jdk).class("VirtualThreads").args(many), 50);
        let profile = outcome.profile();
        let working = profile.samples_with("VirtualThreads.work");
        let rooted = profile.samples(|trace| {
            trace.has("VirtualThreads.work") && trace.has("java.lang.VirtualThread.run")
        });
        // A stack may end before the first one with the root has been seen.
        assert!(
            rooted * 100 >= working * 95 && working > 20,
            "{rooted} of {working} samples have their root"
        );
    });
}

/// A thread that works far below the frames that the VM has copied back: its stack has those in the heap too, whatever
/// moves them, and none is missing between.
#[test]
fn frames_of_virtual_threads_in_the_heap_are_walked() {
    each_collector(|jdk, collector| {
        if jdk.feature() < 21 {
            return;
        }
        // The collectors differ in how their objects refer to each other; not in what frames look like.
        let modes = match collector {
            Collector::G1 => &["-Xmixed", "-Xint"][..],
            _ => &["-Xmixed"],
        };
        for mode in modes {
            let deep = Run::new(jdk).agent("cpu=samples,interval=1,depth=1024,engine=walker");
            let deep = deep.jvm_args(collector.arguments().iter().copied());
            let deep = deep.jvm_args([*mode, "-Xmx200m"]).class("DeepVirtual");
            let outcome = walked(deep.args(["2", "20", "400"]), 16);
            let profile = outcome.profile();
            let is_working = |trace: &Trace| trace.is_in("DeepVirtual.work");
            let is_whole = |trace: &Trace| {
                let callers = trace.frames.iter().skip(1);
                let mut outside =
                    callers.skip_while(|frame| frame.starts_with("DeepVirtual.down("));
                outside
                    .next()
                    .is_some_and(|frame| frame.starts_with("DeepVirtual.outer("))
                    && trace.has("java.lang.VirtualThread.run")
            };
            let working = profile.samples(is_working);
            let whole = profile.samples(|trace| is_working(trace) && is_whole(trace));
            let deep = profile
                .samples(|trace| is_working(trace) && is_whole(trace) && trace.frames.len() > 60);
            let in_heap = profile.counter("walks_in_heap");
            // A collector that moves objects meanwhile may have made a reference stale. A sample counts as many intervals as
            // a tick of the kernel has, ten at most.
            assert!(
                whole * 100 >= working * 97 && deep * 4 > whole && in_heap * 20 > deep,
                "{collector}, {mode}: {whole} of {working} samples are whole, {deep} deep, {in_heap} in the heap"
            );
        }
    });
}

/// Two loops with known CPU time each get their share, and every sample of them leads to main.
#[test]
fn samples_have_whole_stacks() {
    each_release(|jdk| {
        let outcome = walked(run(jdk).class("Spin").args(["1", "1"]), 16);
        let profile = outcome.profile();
        let [hot, warm] = ["Spin.hot", "Spin.warm"].map(|method| profile.samples_with(method));
        let spinning = |trace: &Trace| trace.has("Spin.hot") || trace.has("Spin.warm");
        let rooted = profile.samples(|trace| spinning(trace) && trace.has("Spin$Spinner.run"));
        assert!(
            (hot + warm - rooted) * 100 <= hot + warm,
            "{rooted} of {} samples have their root",
            hot + warm
        );
        // Four standard deviations of as many moments as a kernel has ticks.
        let truth = outcome.printed("hot") / (outcome.printed("hot") + outcome.printed("warm"));
        let share = hot as f64 / (hot + warm) as f64;
        let deviation = (truth * (1.0 - truth) / ((hot + warm) as f64 / 4.0)).sqrt();
        assert!(
            (share - truth).abs() <= 4.0 * deviation,
            "{share} of the samples, {truth} of the time"
        );
    });
}

/// The initialization of that class makes a scheduler, which changes the program.
#[test]
fn a_program_without_virtual_threads_does_not_get_their_scheduler() {
    each_release_since(21, |jdk| {
        let run = Run::new(jdk).agent("cpu=samples");
        let run = run.jvm_arg("-Xlog:class+init=info:file=classes.log");
        let outcome = run.class("HelloWorld").run().expect_status(0);
        let log = std::fs::read_to_string(outcome.path("classes.log")).unwrap();
        assert!(log.contains("java/lang/Thread'"), "{log}");
        assert!(!log.contains("java/lang/VirtualThread'"), "{log}");
    });
}
