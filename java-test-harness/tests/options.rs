//! The agent's messages about its options.

use java_test_harness::{Jdk, Outcome, Run, each_jdk};

fn hello(options: &str) -> Run {
    Run::new(Jdk::feature_release(17))
        .agent(options)
        .class("Hello")
}

/// Checks that an option error has the shape `HPROF ERROR: hprof option error: <detail> (<all
/// options>) [<file>:<line>]`, and that neither the program ran nor a file was made.
#[track_caller]
fn expect_option_error(outcome: Outcome, status: i32, detail: &str, options: &str) {
    let outcome = outcome.expect_status(status);
    assert_eq!(outcome.stdout, "");
    assert_eq!(outcome.files(), [""; 0]);
    let line = outcome.stderr.lines().next().unwrap_or_default();
    let start = format!("HPROF ERROR: hprof option error: {detail}");
    assert!(line.starts_with(&start), "no \"{detail}\"");
    let (text, place) = line.rsplit_once(" [").expect("a place in brackets");
    assert!(
        text.ends_with(&format!(" ({options})")),
        "the options are not told"
    );
    let number = place
        .strip_suffix(']')
        .and_then(|it| it.split_once(".rs:"))
        .map(|it| it.1);
    assert!(
        number.is_some_and(|it| it.parse::<u32>().is_ok()),
        "no place: {place}"
    );
}

#[test]
fn an_option_error_ends_every_jvm_at_once() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk).agent("bogus=1").class("Hello").run();
        assert_eq!(outcome.stderr.lines().count(), 1);
        expect_option_error(outcome, 1, "Unknown option: bogus", "bogus=1");
    });
}

#[test]
fn help_goes_to_standard_output() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .agent("help")
            .class("Hello")
            .run()
            .expect_status(0);
        assert_eq!((outcome.stderr.as_str(), outcome.files()), ("", vec![]));
        let lines: Vec<&str> = outcome.stdout.lines().collect();
        assert_eq!((lines[0], lines[2], lines[4]), ("", "", ""));
        assert!(
            lines[1].starts_with("     ")
                && lines[3].starts_with("hprof usage: java -agentlib:hprof=")
        );
        for option in [
            "heap=",
            "cpu=",
            "monitor=",
            "format=",
            "file=",
            "net=",
            "depth=",
            "interval=",
        ] {
            assert_eq!(
                lines.iter().filter(|line| line.starts_with(option)).count(),
                1,
                "{option}"
            );
        }
        for option in [
            "cutoff=", "lineno=", "thread=", "doe=", "msa=", "force=", "verbose=",
        ] {
            assert_eq!(
                lines.iter().filter(|line| line.starts_with(option)).count(),
                1,
                "{option}"
            );
        }
        assert!(!outcome.stdout.contains("hello"));
    });
}

#[test]
fn every_kind_of_option_error() {
    for (options, detail) in [
        ("cpu=samples,help", "Unknown option: help"),
        ("a,b=1", "Unknown option: a,b"),
        ("cpu=samples,,depth=3", "Unknown option: ,depth"),
        ("=x", "general syntax error parsing options"),
        ("sixteen-letters-=y", "general syntax error parsing options"),
        (
            "file=a,file=b",
            "file or net options should only appear once",
        ),
        ("file=", "syntax error parsing file=filename"),
        ("net=host", "net option missing port"),
        ("format=", "syntax error parsing format=a|b"),
        ("format=c", "format option value must be a|b"),
        ("depth=", "syntax error parsing depth=DECIMAL"),
        ("depth=-1", "depth option value must be decimal and >= 0"),
        (
            "interval=0",
            "interval option value must be decimal and > 0",
        ),
        (
            "interval=1x",
            "interval option value must be decimal and > 0",
        ),
        (
            "cutoff=-0.1",
            "cutoff option value must be floating point and >= 0",
        ),
        ("cpu", "syntax error parsing cpu=y|samples|wall|times|old"),
        (
            "cpu=Samples",
            "cpu option value must be y|samples|wall|times|old",
        ),
        ("heap=none", "heap option value must be dump|sites|all"),
        ("thread=yes", "thread option value must be y|n"),
        ("logflags=", "logflags option value must be numeric"),
        (
            "format=b,cpu=times",
            "cpu=times|old is not supported with format=b",
        ),
        (
            "format=b,monitor=y,cpu=samples",
            "monitor=y is not supported with format=b",
        ),
        ("precrash=1", "The precrash option was removed"),
        ("exitpause=1", "The exitpause option was removed"),
    ] {
        expect_option_error(hello(options).run(), 1, detail, options);
    }
}

#[test]
fn a_typo_is_answered_with_the_nearest_name() {
    let outcome = hello("cpu=samples,dept=8").run();
    assert!(outcome.stderr.contains("depth"));
    expect_option_error(outcome, 1, "Unknown option: dept", "cpu=samples,dept=8");
}

#[test]
fn errorexit_makes_errors_fatal_from_its_place_on() {
    let outcome = hello("errorexit=y,bogus=1").run();
    assert!(outcome.stderr.ends_with("HPROF TERMINATED PROCESS\n"));
    expect_option_error(outcome, 9, "Unknown option: bogus", "errorexit=y,bogus=1");
    let outcome = hello("bogus=1,errorexit=y").run();
    assert!(!outcome.stderr.contains("TERMINATED"));
    expect_option_error(outcome, 1, "Unknown option: bogus", "bogus=1,errorexit=y");
}

#[test]
fn options_from_the_environment_are_appended() {
    let name = "_JAVA_HPROF_OPTIONS";
    let outcome = hello("cpu=samples")
        .env(name, "verbose=n,file=env.txt")
        .run()
        .expect_status(0);
    assert_eq!(outcome.stderr, "");
    assert_eq!(outcome.files(), ["env.txt"]);
    let outcome = hello("").env(name, "cpu=samples").run().expect_status(0);
    assert_eq!(outcome.files(), ["java.hprof.txt"]);
    let outcome = hello("cpu=samples").env(name, "bogus=1").run();
    expect_option_error(outcome, 1, "Unknown option: bogus", "cpu=samples,bogus=1");
    // `help` alone asks for help, whatever the environment says, and only on the command line.
    hello("help").env(name, "bogus=1").run().expect_status(0);
    let outcome = hello("").env(name, "help").run();
    expect_option_error(outcome, 1, "Unknown option: help", "help");
}

#[test]
fn accepted_spellings() {
    for options in [
        "cpu=y",
        "cpu=samples,",
        "depth= +8,cpu=y",
        "cutoff=1e-3,cpu=y",
        "cpu=y,msa=y,gc_okay=y",
    ] {
        let outcome = hello(options).run().expect_status(0);
        assert_eq!(
            (outcome.stdout.as_str(), outcome.profile().tables.len()),
            ("hello\n", 1)
        );
    }
}

#[test]
fn a_missing_agent_library_is_the_jvms_own_error() {
    let run = Run::new(Jdk::feature_release(17)).jvm_arg("-agentpath:/nonexistent/libhprof_rs.so");
    let outcome = run.class("Hello").run().expect_status(1);
    assert!(outcome.stdout.contains("Could not find agent library"));
}

#[test]
fn signals_that_are_taken_are_refused() {
    let options = "cpu=samples,signal=SIGSEGV";
    expect_option_error(
        hello(options).run(),
        1,
        "signal option value must be",
        options,
    );
}
