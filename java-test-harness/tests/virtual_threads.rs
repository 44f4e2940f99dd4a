//! Virtual threads: their samples carry their own frames and, with thread=y, their own names.

use java_test_harness::{Run, each_release_since};

#[test]
fn samples_are_in_the_virtual_threads_frames() {
    each_release_since(21, |jdk| {
        let run = Run::new(jdk)
            .agent("cpu=samples,depth=64")
            .class("VirtualThreads");
        let outcome = run.args(["spin", "2", "4"]).run().expect_status(0);
        let profile = outcome.profile();
        let spinning = profile.samples_with("VirtualThreads.spin") as f64 / 100.0;
        let truth = outcome.printed("process");
        assert!(
            spinning > 0.7 * truth,
            "{spinning} s in spin() of the {truth} s of the process"
        );
        for trace in profile
            .traces
            .values()
            .filter(|it| it.has("VirtualThreads.spin"))
        {
            // The stack may be short, for the VM moves back to a carrier only the frames about to
            // be used; but it is the virtual thread's own and not its carrier's.
            assert!(
                !trace.has("java.util.concurrent.ForkJoinWorkerThread.run"),
                "{trace:?}"
            );
        }
    });
}

#[test]
fn samples_name_the_virtual_thread() {
    each_release_since(21, |jdk| {
        let run = Run::new(jdk).agent("cpu=samples,thread=y,interval=1,depth=8");
        let run = run.class("VirtualThreads").args(["spin", "2", "4"]);
        let profile = run.run().expect_status(0).profile();
        let mut sum = 0;
        for number in 0..4 {
            let serial = profile.thread(&format!("virtual-{number}")).serial;
            let of_thread = |method: &str| {
                profile.samples(|trace| trace.thread == Some(serial) && trace.has(method))
            };
            assert!(
                of_thread("VirtualThreads.spin") > 0,
                "no samples on virtual-{number}"
            );
            sum += of_thread("VirtualThreads.spin");
        }
        let all = profile.samples_with("VirtualThreads.spin");
        assert!(
            sum * 10 >= all * 9,
            "{sum} of {all} samples are on the right threads"
        );
    });
}

#[test]
fn the_binary_format_names_them_too() {
    each_release_since(21, |jdk| {
        let run = Run::new(jdk).agent("cpu=samples,thread=y,format=b,interval=1");
        let run = run.class("VirtualThreads").args(["spin", "3", "2"]);
        let profile = run.run().expect_status(0).binary_profile("java.hprof");
        for name in ["virtual-0", "virtual-1"] {
            let (serial, _) = profile
                .threads
                .iter()
                .find(|(_, it)| *it == name)
                .expect(name);
            assert!(profile.traces.values().any(|trace| trace.thread == *serial));
        }
    });
}
