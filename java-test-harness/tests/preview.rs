//! Classes that use preview features of their release, which the minor version 65535 marks: hooks get into them, and code that has
//! something unknown is left out method by method.

use std::fs;
use std::path::Path;

use java_test_harness::{
    Jdk, Outcome, Run, TextProfile, classes, each_release_since, preview_classes,
};

/// The first release whose VM knows the mark, and has a program for it here.
const SINCE: u32 = 17;

/// The version of a class file: minor, major.
fn version(class: &Path) -> [u16; 2] {
    let bytes = fs::read(class).unwrap();
    [4, 6].map(|at| u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

fn run(jdk: &'static Jdk, folder: &Path, class: &str, options: &str) -> Outcome {
    let run = Run::new(jdk).jvm_args(["--enable-preview", "-Xverify:all"]);
    let run = run.class_path(folder).agent(options).class(class);
    run.run().expect_status(0)
}

fn expect_no_remark(outcome: &Outcome) {
    let lines = outcome.stderr.lines();
    let remarks: Vec<&str> = lines.filter(|line| line.starts_with("HPROF")).collect();
    assert_eq!(remarks, [""; 0]);
}

/// Allocated and live instances of the class `Item` in a method.
fn items(profile: &TextProfile, program: &str, method: &str) -> (u64, u64) {
    let class = format!("{program}$Item");
    let method = format!("{program}.{method}");
    let rows = profile.sites_with(&method);
    let rows = rows.filter(|row| row.class == class);
    rows.fold((0, 0), |sum, row| {
        (sum.0 + row.allocated_objects, sum.1 + row.live_objects)
    })
}

#[test]
fn preview_features_are_counted() {
    each_release_since(SINCE, |jdk| {
        let mut compilers = Jdk::compilers().iter();
        // Some releases are here as runtimes.
        let Some(compiler) = compilers.find(|it| it.feature() == jdk.feature()) else {
            return;
        };
        let folder = preview_classes(compiler);
        let major = 44 + jdk.feature() as u16;
        assert_eq!(version(&folder.join("PreviewCounts.class")), [65535, major]);
        let run = |options| run(jdk, &folder, "PreviewCounts", options);

        let outcome = run("cpu=times,heap=sites,cutoff=0");
        expect_no_remark(&outcome);
        let profile = outcome.profile();
        let points = (jdk.feature() >= 28).then_some(("PreviewCounts$Point.<init>", 500));
        let texts = 1000 + if points.is_some() { 1250 } else { 0 };
        let expected = [
            ("PreviewCounts.main", 1),
            ("PreviewCounts.kind", 3000),
            ("PreviewCounts.text", texts),
            ("PreviewCounts.keep", 1),
            ("PreviewCounts$Item.<init>", 1200),
        ];
        for (method, calls) in expected.into_iter().chain(points) {
            assert_eq!(profile.calls(method), calls, "{method}");
        }
        assert_eq!(items(&profile, "PreviewCounts", "keep"), (500, 500));
        assert_eq!(items(&profile, "PreviewCounts", "drop"), (700, 0));

        let outcome = run("slow=PreviewCounts.kind:PreviewCounts.text");
        expect_no_remark(&outcome);
        let text = String::from_utf8(outcome.bytes("java.hprof.txt")).unwrap();
        let calls = |method: &str| -> Option<u64> {
            let mut rows = text.lines().filter(|line| line.ends_with(method));
            rows.next()?.split_whitespace().nth(1)?.parse().ok()
        };
        assert_eq!(calls(" PreviewCounts.kind"), Some(3000), "{text}");
        assert_eq!(calls(" PreviewCounts.text"), Some(texts), "{text}");
    });
}

/// The program `Counted` with the mark, and with an attribute of its code renamed to one that is not known, if that is wanted.
fn marked(jdk: &Jdk, is_unknown: bool) -> tempfile::TempDir {
    const LINES: &[u8] = b"LineNumberTable";
    let folder = tempfile::tempdir().unwrap();
    for name in ["Counted.class", "Counted$Item.class"] {
        let mut bytes = fs::read(classes().join(name)).unwrap();
        bytes[4..6].copy_from_slice(&65535u16.to_be_bytes());
        bytes[6..8].copy_from_slice(&(44 + jdk.feature() as u16).to_be_bytes());
        if is_unknown && name == "Counted.class" {
            let at = bytes.windows(LINES.len()).position(|it| it == LINES);
            bytes[at.unwrap()] = b'N';
        }
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

#[test]
fn the_mark_of_preview_features_alone_changes_no_count() {
    each_release_since(SINCE, |jdk| {
        let folder = marked(jdk, false);
        let outcome = run(
            jdk,
            folder.path(),
            "Counted",
            "cpu=times,heap=sites,cutoff=0",
        );
        expect_no_remark(&outcome);
        let profile = outcome.profile();
        assert_eq!(profile.calls("Counted.fib"), 1973);
        assert_eq!(profile.calls("Counted.leaf"), 2000);
        assert_eq!(items(&profile, "Counted", "keep"), (500, 500));
        assert_eq!(items(&profile, "Counted", "drop"), (700, 0));
    });
}

#[test]
fn code_with_something_unknown_is_left_out_in_a_line() {
    each_release_since(SINCE, |jdk| {
        let folder = marked(jdk, true);
        let outcome = run(jdk, folder.path(), "Counted", "cpu=times,cutoff=0");
        let reason = format!(
            "unknown-attribute-of-code-in-class-file-version-{}=8",
            44 + jdk.feature()
        );
        let line = format!(
            "HPROF: cpu=times lacks the calls of 8 classes or methods, whose class files have what this hprof-rs does not know \
             ({reason}); a newer hprof-rs may know it, and cpu=samples needs no hooks"
        );
        let lines = outcome.stderr.lines();
        assert_eq!(
            lines.filter(|it| *it == line).count(),
            1,
            "{}",
            outcome.stderr
        );
        let profile = outcome.profile();
        assert_eq!(profile.calls("Counted.fib"), 0);
        assert_eq!(profile.calls("Counted$Item.<init>"), 1200);
        let text = String::from_utf8(outcome.bytes("java.hprof.txt")).unwrap();
        let skipped = text.lines().find(|it| it.contains("skipped_methods "));
        assert!(
            skipped.is_some_and(|it| it.contains(&reason)),
            "{skipped:?}"
        );

        let outcome = run(
            jdk,
            folder.path(),
            "Counted",
            "cpu=times,include=Counted,exclude=Counted$Item",
        );
        let line = format!(
            "HPROF: cpu=times has counted no call: no class could get the agent's hooks ({reason}); a newer hprof-rs may know \
             this JDK, and cpu=samples needs no hooks"
        );
        let lines = outcome.stderr.lines();
        assert_eq!(
            lines.filter(|it| *it == line).count(),
            1,
            "{}",
            outcome.stderr
        );

        let outcome = run(jdk, folder.path(), "Counted", "slow=Counted.fib");
        let line = "slow=Counted.fib has timed no call: Counted.fib can have no hooks (unknown attribute of code in";
        assert_eq!(
            outcome.stderr.matches(line).count(),
            1,
            "{}",
            outcome.stderr
        );
    });
}
