//! Spans that programs name, by the class that the agent brings.

use std::path::Path;

use hprof_stacks::slow::Slow;
use hprof_stacks::slow_spans::SlowSpans;
use java_test_harness::{Outcome, Run, each_jdk, each_release, each_release_since};

use super::{MILLI, ask, attach, method, round, slow_of};

/// What the program of `SlowSpans` does, by figures of its profile.
fn expect_known_spans(slow: &Slow) {
    for (name, calls, recursive, moved) in [
        ("handle", 600, 0, 0),
        ("recursive", 5, 10, 0),
        ("fails", 40, 0, 0),
        ("twice", 1, 0, 0),
        ("odd \"name\", with {all}", 1, 0, 0),
        ("moved", 50, 0, 50),
        ("first", 20, 0, 0),
        ("second", 20, 0, 0),
        ("outer", 30, 0, 0),
        ("forgotten", 1, 0, 0),
        ("around", 1, 0, 0),
        ("in leaf", 3, 0, 0),
    ] {
        let span = method(slow, &format!("span.{name}"));
        let found = (span.calls(), span.recursive, span.moved);
        assert_eq!(found, (calls, recursive, moved), "{name}");
        assert_eq!((span.lost, span.running, span.every), (0, 0, 1), "{name}");
        assert_eq!(span.slowest.len() as u64, calls.min(10), "{name}");
        assert!(span.wall >= span.cpu && span.wall >= span.max());
    }
    let handle = method(slow, "span.handle");
    let waited = &handle.slowest[0];
    assert!(waited.wall >= 120 * MILLI && waited.cpu <= 60 * MILLI);
    assert_eq!(waited.thread, "worker-1");
    assert_eq!(
        (waited.trace_id.as_deref(), waited.span_id.as_deref()),
        (
            Some("4bf92f3577b34da6a3ce929d0e0e4736"),
            Some("00f067aa0ba902b7")
        )
    );
    // Of its thread alone, and until the request has ended.
    let with_trace = handle.slowest.iter().filter(|it| it.trace_id.is_some());
    assert_eq!(with_trace.count(), 1, "{:#?}", handle.slowest);
    let moved = method(slow, "span.moved");
    assert_eq!(moved.cpu, 0, "it is not known");
    assert!(moved.slowest.iter().all(|it| it.serial.is_none()));
}

#[test]
fn spans_that_the_program_names_are_timed() {
    each_jdk(|jdk| {
        let run = Run::new(jdk).jvm_args(["-Xverify:all", "-Xcheck:jni"]);
        let run = run
            .agent("slow=SlowSpans.inner:span.handle:50ms:SlowSpans.leaf,spans=y,cpu=wall,depth=16")
            .class("SlowSpans");
        let outcome = match jdk.feature() {
            21.. => run.args(["virtual"]).run(),
            _ => run.run(),
        };
        let outcome = outcome.expect_status(0);
        assert_eq!(outcome.stdout, "spans true true\ndone\n");
        let slow = slow_of(&outcome.path("java.hprof.txt"));
        expect_known_spans(&slow);
        // A span that ends in a timed method ends nothing else.
        for (name, calls) in [("SlowSpans.inner", 1), ("SlowSpans.leaf", 3)] {
            let method = method(&slow, name);
            assert_eq!((method.calls(), method.running), (calls, 0), "{name}");
        }
        if jdk.feature() >= 21 {
            let virtual_ = method(&slow, "span.virtual");
            assert_eq!((virtual_.calls(), virtual_.running), (1000, 0));
            assert!(virtual_.times.quantile(0.0) >= 2 * MILLI);
        }
        let handle = method(&slow, "span.handle");
        assert_eq!(handle.threshold, Some(50 * MILLI));
        let patterns: Vec<_> = slow
            .patterns
            .iter()
            .map(|it| (it.pattern.as_str(), it.methods))
            .collect();
        let others = slow.methods.iter().filter(|it| it.class == "span");
        let others = others.count() as u64 - 1;
        let expected = [
            ("SlowSpans.inner", 1),
            ("span.handle", 1),
            ("SlowSpans.leaf", 1),
            ("span.*", others),
        ];
        assert_eq!(patterns, expected);
        let text = String::from_utf8(outcome.bytes("java.hprof.txt")).unwrap();
        assert!(text.contains(" internal_errors=0"), "{text}");
        assert_eq!(outcome.stderr.matches("has timed no call").count(), 0);
    });
}

#[test]
fn spans_of_names_that_no_pattern_has_cost_no_place() {
    each_release(|jdk| {
        let outcome = Run::new(jdk)
            .agent("slow=span.f*:span.nothing,format=b")
            .class("SlowSpans")
            .run()
            .expect_status(0);
        let slow = slow_of(&outcome.path("java.hprof"));
        let mut names: Vec<_> = slow.methods.iter().map(|it| it.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["fails", "first", "forgotten"]);
        let said = "slow=span.nothing has timed no call: the program began no span whose name matches span.nothing";
        assert_eq!(
            outcome.stderr.matches(said).count(),
            1,
            "{}",
            outcome.stderr
        );
    });
}

/// The class is there in runs that time calls, and not in others.
#[test]
fn programs_with_spans_run_where_none_are_timed() {
    each_release(|jdk| {
        for (options, is_there) in [("cpu=samples", false), ("slow=SlowSpans.leaf", true)] {
            let outcome = Run::new(jdk)
                .jvm_args(["-Xcheck:jni"])
                .agent(options)
                .class("SlowSpans")
                .run()
                .expect_status(0);
            let said = format!("spans {is_there} {is_there}\ndone\n");
            assert_eq!(outcome.stdout, said, "{options}");
            let slow = slow_of(&outcome.path("java.hprof.txt"));
            assert!(slow.methods.iter().all(|it| it.class != "span"));
        }
    });
}

/// All calls may be counted in the same run: spans need no hooks in methods.
#[test]
fn spans_are_timed_beside_counted_calls() {
    each_release(|jdk| {
        let outcome = Run::new(jdk)
            .jvm_args(["-Xverify:all", "-Xcheck:jni"])
            .agent("spans=y,cpu=times,cutoff=0")
            .class("SlowSpans")
            .run()
            .expect_status(0);
        expect_known_spans(&slow_of(&outcome.path("java.hprof.txt")));
    });
}

#[test]
fn an_attached_agent_times_spans_while_it_is_there() {
    // The jcmd of JDK 8 loads no agents.
    each_release_since(11, |jdk| {
        let running = Run::new(jdk).class("Late").args(["SlowSpans"]).start();
        running.wait_for_line("ready");
        round(&running, 1);
        attach(&running, "spans=y,cpu=samples,file=first.txt");
        round(&running, 2);
        ask(&running, "dump");
        ask(&running, "reset slow");
        ask(&running, "stop slow");
        round(&running, 3);
        ask(&running, "start");
        round(&running, 4);
        ask(&running, "detach");
        expect_known_spans(&slow_of(&running.path("first.txt")));
        round(&running, 5);
        attach(&running, "slow=span.fails,file=second.txt");
        round(&running, 6);
        ask(&running, "detach");
        std::fs::write(running.path("end"), "").unwrap();
        let outcome: Outcome = running.finish().expect_status(0);
        let second = slow_of(&outcome.path("second.txt"));
        let found: Vec<_> = second
            .methods
            .iter()
            .map(|it| (it.full_name(), it.calls()))
            .collect();
        assert_eq!(found, [("span.fails".to_owned(), 40)]);
        assert!(
            !outcome.stderr.contains("internal error"),
            "{}",
            outcome.stderr
        );
    });
}

#[test]
fn the_example_of_the_docs_is_what_is_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read(root.join(path)).expect("a source");
    assert!(read("java/Spans.java") == read("../docs/examples/Spans.java"));
}

/// The trace ids of the calls of `SlowRequests.handle`, in the order of time.
fn requests(slow: &Slow) -> Vec<(Option<&str>, Option<&str>)> {
    let mut calls: Vec<_> = method(slow, "SlowRequests.handle").slowest.iter().collect();
    calls.sort_by_key(|call| call.began);
    let ids = calls
        .iter()
        .map(|call| (call.trace_id.as_deref(), call.span_id.as_deref()));
    ids.collect()
}

const A: (Option<&str>, Option<&str>) = (
    Some("4bf92f3577b34da6a3ce929d0e0e4736"),
    Some("00f067aa0ba902b7"),
);
const B: (Option<&str>, Option<&str>) = (
    Some("000000000000000000000000000000ab"),
    Some("ffffffffffffffff"),
);
const NONE: (Option<&str>, Option<&str>) = (None, None);

/// The program calls OpenTelemetry's API, and nothing of the agent.
#[test]
fn contexts_of_opentelemetry_name_the_requests() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .jvm_args(["-Xverify:all", "-Xcheck:jni"])
            .agent("slow=SlowRequests.handle")
            .class("SlowRequests")
            .run()
            .expect_status(0);
        let slow = slow_of(&outcome.path("java.hprof.txt"));
        assert_eq!(requests(&slow), [NONE, A, B, A, NONE, NONE]);
        let text = String::from_utf8(outcome.bytes("java.hprof.txt")).unwrap();
        assert!(text.contains(" internal_errors=0"), "{text}");
    });
}

/// More than the slowest: all calls above a threshold.
#[test]
fn every_slow_call_names_its_request() {
    each_release(|jdk| {
        let outcome = Run::new(jdk)
            .agent("slow=SlowRequests.waits:1ms,cpu=wall,interval=1,depth=16,thread=y")
            .class("SlowRequests")
            .args(["many"])
            .run()
            .expect_status(0);
        let file = outcome.path("java.hprof.txt");
        let slow = slow_of(&file);
        let waits = method(&slow, "SlowRequests.waits");
        assert_eq!((waits.slow, waits.spans.len()), (40, 40));
        let ids: Vec<_> = waits.requests.iter().map(|it| (&*it.1, &*it.2)).collect();
        let expected: Vec<_> = (1..=20)
            .map(|it| (format!("{it:032x}"), format!("{:016x}", 1000 + it)))
            .collect();
        let expected: Vec<_> = expected.iter().map(|it| (&*it.0, &*it.1)).collect();
        assert_eq!(ids, expected);
        for (trace, _) in expected {
            let spans = SlowSpans::of_request(&slow.methods, trace);
            assert!(!spans.is_empty(), "{trace}");
        }
    });
}

/// The classes of the API are there when the agent comes, and stay as they were when it has gone.
#[test]
fn an_attached_agent_learns_requests_while_it_is_there() {
    // The jcmd of JDK 8 loads no agents.
    each_release_since(11, |jdk| {
        let running = Run::new(jdk).class("Late").args(["SlowRequests"]).start();
        running.wait_for_line("ready");
        round(&running, 1);
        for (file, number) in [("first.txt", 2), ("second.txt", 4)] {
            attach(&running, &format!("slow=SlowRequests.handle,file={file}"));
            round(&running, number);
            ask(&running, "detach");
            round(&running, number + 1);
        }
        std::fs::write(running.path("end"), "").unwrap();
        let outcome: Outcome = running.finish().expect_status(0);
        for file in ["first.txt", "second.txt"] {
            let slow = slow_of(&outcome.path(file));
            assert_eq!(requests(&slow), [NONE, A, B, A, NONE, NONE], "{file}");
        }
    });
}
