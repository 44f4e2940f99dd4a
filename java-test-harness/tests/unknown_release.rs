//! A VM of a release that no table knows: each mode proves itself and works, or one line tells which does not and what it
//! does instead.

use java_test_harness::{Jdk, Outcome, Run, each_jdk};

fn run(jdk: &'static Jdk, fault: &str, options: &str, program: &[&str]) -> Outcome {
    let (&class, arguments) = program.split_first().expect("a class");
    let run = Run::new(jdk).agent(options).class(class);
    let run = run.args(arguments.iter().copied());
    run.env("HPROF_RS_TEST_FAULTS", fault)
        .run()
        .expect_status(0)
}

/// The remarks of the agent.
fn remarks(outcome: &Outcome) -> Vec<&str> {
    let lines = outcome.stderr.lines();
    lines.filter(|line| line.starts_with("HPROF")).collect()
}

/// The newest JDK stands for the one after it: all that depends on the release is decided for an unknown number.
#[test]
fn each_mode_works_on_a_release_that_is_not_known() {
    each_jdk(|jdk| {
        // Older ones differ from the newest, as their own numbers tell.
        if jdk.feature() < 25 {
            return;
        }
        let outcome = run(jdk, "release", "cpu=samples,interval=2", &["Spin", "0.4"]);
        let profile = outcome.profile();
        assert!(profile.samples_with("Spin.hot") > 0);
        assert_eq!(remarks(&outcome), [""; 0], "cpu=samples");
        // All at once but samples: their figures are known by construction.
        let options = "cpu=times,heap=sites,monitor=y,cutoff=0";
        let outcome = run(jdk, "release", options, &["Counted"]);
        let profile = outcome.profile();
        assert_eq!(profile.calls("Counted.fib"), 1973);
        assert_eq!(profile.calls("Counted.leaf"), 2000);
        let kept = profile.sites_with("Counted.keep");
        let items = kept.filter(|row| row.class == "Counted$Item");
        assert_eq!(items.map(|row| row.live_objects).sum::<u64>(), 500);
        assert_eq!(remarks(&outcome), [""; 0], "{options}");
        let outcome = run(
            jdk,
            "release",
            "heap=dump,format=b,file=a.hprof",
            &["Counted"],
        );
        assert!(outcome.path("a.hprof").is_file());
        let lines = remarks(&outcome);
        assert!(
            lines.len() == 1 && lines[0].starts_with("HPROF: heap dump: "),
            "{lines:?}"
        );
    });
}

/// A proof of the start that fails, the mode that it is about, the line, and the fallback's remark in the profile.
const FAILED: [(&str, &str, &[&str], &str); 6] = [
    (
        "walk",
        "cpu=samples,interval=2",
        &["Spin", "0.4"],
        "cpu=samples uses AsyncGetCallTrace",
    ),
    (
        "calltrace",
        "cpu=samples,interval=2",
        &["Spin", "0.4"],
        "cpu=samples uses the safepoint engine, which is biased",
    ),
    (
        "exports",
        "cpu=samples,interval=2",
        &["Spin", "0.4"],
        "cpu=samples uses the safepoint engine, which is biased",
    ),
    (
        "keys",
        "heap=sites,cutoff=0",
        &["Counted"],
        "heap=sites walks each of them, which is as exact and slower",
    ),
    (
        "keys",
        "monitor=y",
        &["Contention", "2"],
        "monitor=y walks each of them, which is as exact and slower",
    ),
    (
        "class",
        "monitor=y",
        &["Contention", "2"],
        "the VM does not take the hooks in java.util.concurrent.locks",
    ),
];

#[test]
fn a_proof_that_fails_has_a_line_and_a_fallback() {
    for (fault, options, program, line) in FAILED {
        let outcome = run(Jdk::compiler(), fault, options, program);
        let lines = remarks(&outcome);
        assert!(
            lines.len() == 1 && lines[0].contains(line),
            "{fault}, {options}: {lines:?}"
        );
        let profile = outcome.profile();
        match program[0] {
            "Spin" => assert!(profile.samples_with("Spin.hot") > 0, "{fault}"),
            "Counted" => {
                let kept = profile.sites_with("Counted.keep");
                let items = kept.filter(|row| row.class == "Counted$Item");
                assert_eq!(items.map(|row| row.live_objects).sum::<u64>(), 500);
            }
            _ => assert!(profile.contended(|_, _| true).0 > 0, "{fault}"),
        }
    }
}
