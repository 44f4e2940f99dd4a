//! `format=b`: every record that is referred to is there, and the figures are those of the text.

use java_test_harness::{Run, Signal, each_jdk};

#[test]
fn a_binary_profile_is_whole_and_true() {
    each_jdk(|jdk| {
        let run = Run::new(jdk).agent("cpu=samples,format=b,interval=1,depth=6,cutoff=0");
        let outcome = run.class("Spin").args(["2"]).run().expect_status(0);
        assert_eq!(outcome.files(), ["java.hprof"]);
        let profile = outcome.binary_profile("java.hprof");
        assert_eq!(profile.id_size, 8);
        assert_eq!(profile.control, Some((2, 6)));
        let year = 1970 + profile.created / 1000 / 31_556_952;
        assert!((2020..2100).contains(&year), "created in {year}");

        let [hot, warm] = ["Spin.hot", "Spin.warm"].map(|it| profile.samples_with(it) as f64);
        let (true_hot, true_warm) = (outcome.printed("hot"), outcome.printed("warm"));
        let (share, true_share) = (hot / (hot + warm), true_hot / (true_hot + true_warm));
        // On a busy machine the thread runs for a tick or two at a time, and the looks of one stretch agree: few are
        // independent.
        assert!(
            (share - true_share).abs() < 0.12,
            "{share}, in truth {true_share}"
        );
        // The rest is the start of the VM, which takes as long as it takes.
        let total = (hot + warm) / 1000.0;
        let truth = true_hot + true_warm;
        assert!(
            (total - truth).abs() < 0.05 * truth,
            "{total} s sampled, {truth} s used"
        );
        let rows: u64 = profile
            .table()
            .rows
            .iter()
            .map(|(count, _)| u64::from(*count))
            .sum();
        assert_eq!(rows, u64::from(profile.table().total));
        assert!(rows as f64 >= hot + warm);

        let frame = profile
            .frames
            .values()
            .find(|it| it.method == "Spin.hot")
            .unwrap();
        assert_eq!(
            (frame.signature.as_str(), frame.source.as_deref()),
            ("(J)V", Some("Spin.java"))
        );
        assert!(frame.line > 0);
        assert!(
            profile
                .traces
                .values()
                .all(|it| it.thread == 0 && it.frames.len() <= 6)
        );
    });
}

#[test]
fn threads_of_traces_are_told() {
    each_jdk(|jdk| {
        let run = Run::new(jdk).agent("cpu=samples,format=b,thread=y,interval=1,lineno=n");
        let outcome = run.class("Spin").args(["1", "2"]).run().expect_status(0);
        let profile = outcome.binary_profile("java.hprof");
        for name in ["spinner-0", "spinner-1"] {
            let (serial, _) = profile
                .threads
                .iter()
                .find(|(_, it)| *it == name)
                .expect(name);
            assert!(profile.traces.values().any(|trace| trace.thread == *serial));
            assert!(profile.ended_threads.contains(serial));
        }
        assert!(profile.frames.values().all(|frame| frame.line < 0));
    });
}

#[test]
fn several_dumps_share_their_records() {
    each_jdk(|jdk| {
        let running = Run::new(jdk)
            .agent("cpu=samples,format=b")
            .class("DumpLoop")
            .start();
        running.wait_for_line("first");
        running.signal(Signal::Quit);
        running.wait_until("the dump", |running| running.stderr().contains("done."));
        for name in ["go", "end"] {
            std::fs::write(running.path(name), "").unwrap();
        }
        // Names, frames and traces written twice would be an error of the walker.
        let outcome = running.finish().expect_status(0);
        assert_eq!(outcome.binary_profile("java.hprof").tables.len(), 2);
    });
}
