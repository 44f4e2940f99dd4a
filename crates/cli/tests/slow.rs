//! Timed calls (slow=): `slow`, `samples --slow`, `diff --slow` and `record --slow`.

mod support;

use std::process::Command;

use java_test_harness::{Jdk, Run, each_jdk, each_release};
use serde_json::Value;
use support::{Scene, java, run, stderr, stdout};

#[track_caller]
fn json(scene: &Scene, arguments: &[&str]) -> Value {
    let output = run(&mut scene.hprof_rs(arguments), "");
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

/// The samples of a method with all that it calls.
fn with_calls(answer: &Value, method: &str) -> u64 {
    let mut rows = answer["rows"].as_array().expect("rows").iter();
    let row = rows.find(|row| row["name"] == method);
    row.map_or(0, |row| row["total"].as_u64().expect("a number"))
}

/// Slow calls compute 1.2 s in rare(), all others 0.4 s in usual(). On a busy machine some of these are slow too.
fn assert_apart(scene: &Scene, file: &str) {
    let slow = json(scene, &["slow", "--json", file]);
    let mut methods = slow["methods"].as_array().expect("methods").iter();
    let method = methods.find(|it| it["name"] == "handle").expect("handle");
    assert_eq!(method["class"], "SlowSamples");
    assert_eq!(method["calls"], 200);
    assert_eq!(method["is_estimate"], false);
    let calls = method["slow_calls"].as_u64().expect("a number");
    assert!((4..=10).contains(&calls), "{method}");
    let slowest = method["slowest"].as_array().expect("calls");
    assert_eq!(slowest.len(), 10);
    assert_eq!(slowest[0]["wall_ns"], method["max_ns"]);
    let counted = method["histogram"].as_array().expect("counters").iter();
    let counted: u64 = counted.map(|it| it[1].as_u64().expect("a number")).sum();
    assert_eq!(counted, 200);
    let of = |arguments: &[&str]| {
        let all = [&["samples", "--json", "--top", "0"], arguments, &[file]].concat();
        let answer = json(scene, &all);
        ["SlowSamples.rare", "SlowSamples.usual"].map(|method| with_calls(&answer, method))
    };
    let [rare, usual] = of(&["--slow"]);
    assert!(rare >= 80 && usual * 20 <= rare, "{rare} {usual}");
    let [rare, usual] = of(&["--fast=SlowSamples.handle"]);
    assert!(usual >= 20 && rare * 20 <= usual, "{rare} {usual}");
}

#[test]
fn samples_of_slow_calls_are_kept_apart() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        let name = "slow.hprof";
        let options = "slow=SlowSamples.handle:250ms:SlowSamples.computes,cpu=samples,interval=1,depth=32,format=b,\
                       file=slow.hprof";
        let outcome = Run::new(jdk).agent(options).class("SlowSamples").run();
        let outcome = outcome.expect_status(0);
        std::fs::write(scene.path(name), outcome.bytes(name)).unwrap();
        assert_apart(&scene, name);
        let text = run(
            &mut scene.hprof_rs(&["slow", name, "--filter", "handle"]),
            "",
        );
        let text = stdout(&text);
        assert!(text.contains(">= 250.00 ms  SlowSamples.handle"), "{text}");
        assert!(
            text.contains("Slowest calls of SlowSamples.handle"),
            "{text}"
        );
        let diff = json(&scene, &["diff", "--slow=handle", "--json", name]);
        let mut rows = diff["rows"].as_array().expect("rows").iter();
        assert!(rows.any(|row| row["after"].as_u64() > row["before"].as_u64()));
        // A method without a threshold has no slow calls.
        let refused = run(
            &mut scene.hprof_rs(&["samples", "--slow=computes", name]),
            "",
        );
        assert!(!refused.status.success());
        let said = stderr(&refused);
        assert!(said.contains("without a threshold"), "{said}");
    });
}

/// The one span that works for a request waits in `Thread.sleep`, of which other spans have nothing.
#[test]
fn a_request_has_the_samples_of_its_calls() {
    let scene = Scene::new();
    let name = "spans.hprof.txt";
    let outcome = Run::new(java_test_harness::Jdk::compiler())
        .agent(&format!(
            "slow=span.handle:50ms,cpu=wall,interval=5,depth=64,file={name}"
        ))
        .class("SlowSpans")
        .run()
        .expect_status(0);
    std::fs::write(scene.path(name), outcome.bytes(name)).unwrap();
    let samples = |id: &str| {
        let arguments = ["samples", "--json", "--top", "0", "--request", id, name];
        run(&mut scene.hprof_rs(&arguments), "")
    };
    // By its trace, and by its span.
    for id in ["4bf92f3577b34da6a3ce929d0e0e4736", "00F067AA0BA902B7"] {
        let output = samples(id);
        assert!(output.status.success(), "{}", stderr(&output));
        let answer: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        let rows = answer["rows"].as_array().expect("rows");
        let handle = rows.iter().find(|row| row["name"] == "SlowSpans.handle");
        let handle = handle.unwrap_or_else(|| panic!("{answer}"));
        // 120 ms by 5; a busy machine looks less often.
        assert!(handle["total"].as_u64() >= Some(4), "{answer}");
        assert_eq!(handle["total"], answer["total"], "{answer}");
    }
    let page = [
        "convert",
        "--request",
        "00f067aa0ba902b7",
        "-o",
        "request.collapsed",
        name,
    ];
    assert!(run(&mut scene.hprof_rs(&page), "").status.success());
    assert!(
        scene
            .profile("request.collapsed")
            .contains("SlowSpans.handle")
    );
    // OpenTelemetry's samples link to the request: a field 1 of 16 bytes in one link, which stands once.
    let all = ["convert", "-o", "all.otlp", name];
    assert!(run(&mut scene.hprof_rs(&all), "").status.success());
    let file = std::fs::read(scene.path("all.otlp")).unwrap();
    let trace = 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128.to_be_bytes();
    let link = [&[10, 16], &trace[..]].concat();
    let links = file.windows(link.len()).filter(|it| *it == link);
    assert_eq!(links.count(), 1);
    let unknown = samples("00f067aa0ba902b8");
    assert!(!unknown.status.success());
    let said = stderr(&unknown);
    assert!(said.contains("OpenTelemetry"), "{said}");
}

#[test]
fn a_recording_lists_the_slow_calls() {
    let scene = Scene::new();
    let classes = java_test_harness::classes().display().to_string();
    let record = [
        "record",
        "--slow",
        "SlowSamples.handle:250ms",
        "-o",
        "slow.hprof.txt",
        "--",
        &java(),
        "-cp",
        &classes,
        "SlowSamples",
    ];
    let output = run(&mut scene.hprof_rs(&record), "");
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("Slowest calls of SlowSamples.handle"),
        "{said}"
    );
    assert_apart(&scene, "slow.hprof.txt");
}

#[test]
fn calls_of_a_running_jvm_are_timed_until_the_recording_ends() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        let jvm = Run::new(jdk).class("Spin").args(["60"]).start();
        let pid = jvm.pid().to_string();
        let timed = "Spin.hot:1ms";
        let record = [
            "record",
            &pid,
            "-d",
            "2",
            "--slow",
            timed,
            "-o",
            "spin.hprof.txt",
        ];
        let output = run(&mut scene.hprof_rs(&record), "");
        let said = stderr(&output);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("Slowest calls of Spin.hot"), "{said}");
        let slow = json(&scene, &["slow", "--json", "spin.hprof.txt"]);
        let method = &slow["methods"][0];
        // A call spins for 77 ms, so each is slow.
        assert!(method["calls"].as_u64() >= Some(1), "{method}");
        assert_eq!(method["calls"], method["slow_calls"]);
    });
}

/// The program is in known states one after another, each for 200 ms or more. A busy machine delays samples, so half of it is seen.
#[test]
fn a_slow_call_has_a_strip_of_its_time() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        let name = "strips.hprof.txt";
        let run_with = |clock: &str| {
            let options =
                format!("slow=SlowStrips.handle,{clock},interval=10,depth=32,file={name}");
            let outcome = Run::new(jdk).agent(&options).class("SlowStrips").run();
            let outcome = outcome.expect_status(0);
            std::fs::write(scene.path(name), outcome.bytes(name)).unwrap();
            json(&scene, &["slow", "--json", name])
        };
        let answer = run_with("cpu=wall");
        let call = &answer["methods"][0]["slowest"][0];
        let strip = &call["strip"];
        let wall = call["wall_ns"].as_u64().expect("a number");
        let states = strip["states"].as_array().expect("states");
        let number = |value: &Value| value.as_u64().expect("a number");
        let sum: u64 = states.iter().map(|it| number(&it["wall_ns"])).sum();
        assert_eq!(sum, wall, "{strip}");
        for (state, method) in [
            ("sleeps", "SlowStrips.sleeps"),
            ("waits_for_lock", "SlowStrips.wants"),
            ("input_output", "SlowStrips.reads"),
        ] {
            let found = states.iter().find(|it| it["state"] == state);
            let found = found.unwrap_or_else(|| panic!("{state} in {strip}"));
            let least = if state == "waits_for_lock" { 200 } else { 100 };
            assert!(number(&found["wall_ns"]) >= least * 1_000_000, "{strip}");
            let said = found["method"].as_str().expect("a method");
            assert!(said.contains(method), "{said}");
        }
        // A CPU that others use takes time, which is no running.
        let ran = |state: &str| {
            let found = states.iter().find(|it| it["state"] == state);
            found.map_or(0, |it| number(&it["wall_ns"]))
        };
        assert!(
            ran("running") + ran("waits_for_cpu") >= 150_000_000,
            "{strip}"
        );
        let segments = strip["segments"].as_array().expect("segments");
        let first = |state: &str| {
            let found = segments.iter().find(|it| it["state"] == state);
            number(&found.expect("a segment")["from_ns"])
        };
        assert!(first("running") < first("sleeps"));
        assert!(first("sleeps") < first("waits_for_lock"));
        assert!(first("waits_for_lock") < first("input_output"));
        let text = stdout(&run(&mut scene.hprof_rs(&["slow", name]), ""));
        assert!(text.contains("s sleeping"), "{text}");
        // Each wait has more than a fiftieth of the call, unless the machine held it up for 12 s.
        let strip = text.split('|').nth(1).expect("a strip");
        assert!("sLi".chars().all(|state| strip.contains(state)), "{text}");

        // Samples of CPU time show where it ran.
        let answer = run_with("cpu=samples");
        let strip = &answer["methods"][0]["slowest"][0]["strip"];
        let states = strip["states"].as_array().expect("states").iter();
        let states: Vec<_> = states.map(|it| it["state"].as_str()).collect();
        assert_eq!(states, [Some("not_running"), Some("running")], "{strip}");
        let none = run_with("monitor=y");
        assert!(none["methods"][0]["slowest"][0]["strip"].is_null());
        let reason = none["no_strips"].as_str().expect("a reason");
        assert!(reason.contains("cpu=wall"), "{reason}");
    });
}

/// The events of slow calls in a recording, as the JDK's own tool reads them.
fn slow_call_events(scene: &Scene, recording: &str) -> Vec<Value> {
    let mut jfr = Command::new(Jdk::compiler().tool("jfr"));
    jfr.args(["print", "--json", "--events", "profiler.SlowCall"]);
    let output = run(jfr.arg(scene.path(recording)), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let events = json["recording"]["events"].as_array().expect("events");
    events.iter().map(|it| it["values"].clone()).collect()
}

/// Seconds of a time such as PT1.25S.
fn seconds(time: &Value) -> f64 {
    let text = time.as_str().expect("a time");
    let number = text.strip_prefix("PT").and_then(|it| it.strip_suffix('S'));
    number
        .and_then(|it| it.parse().ok())
        .unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn a_recording_has_an_event_for_each_slow_call() {
    each_release(|jdk| {
        let scene = Scene::new();
        let convert = |options: &str, program: &str| {
            let options = format!("{options},file=calls.hprof.txt");
            let outcome = Run::new(jdk).agent(&options).class(program).run();
            let outcome = outcome.expect_status(0);
            let bytes = outcome.bytes("calls.hprof.txt");
            std::fs::write(scene.path("calls.hprof.txt"), bytes).unwrap();
            let arguments = ["convert", "calls.hprof.txt", "-o", "calls.jfr"];
            let output = run(&mut scene.hprof_rs(&arguments), "");
            assert!(output.status.success(), "{}", stderr(&output));
            slow_call_events(&scene, "calls.jfr")
        };
        let events = convert("slow=SlowStrips.handle:1ms,cpu=wall,depth=16", "SlowStrips");
        let [event] = &events[..] else {
            panic!("{events:#?}");
        };
        let slow = json(&scene, &["slow", "--json", "calls.hprof.txt"]);
        let call = &slow["methods"][0]["slowest"][0];
        let nanos = |value: &Value| value.as_f64().expect("a number") / 1e9;
        assert!((seconds(&event["duration"]) - nanos(&call["wall_ns"])).abs() < 2e-6);
        assert!((seconds(&event["cpuTime"]) - nanos(&call["cpu_ns"])).abs() < 2e-6);
        assert_eq!(event["eventThread"]["javaName"], "main");
        assert_eq!(event["method"]["name"], "handle");
        assert_eq!(event["method"]["type"]["name"], "SlowStrips");
        assert_eq!(event["method"]["descriptor"], "()V");
        let texts = stdout(&run(&mut scene.hprof_rs(&["slow", "calls.hprof.txt"]), ""));
        assert!(
            texts.contains("call 1: its lock of java.lang.Object was owned by"),
            "{texts}"
        );

        // Without samples, too; spans as methods.
        let events = convert("slow=span.handle:50ms", "SlowSpans");
        // On a busy machine, more of them are slow than the ten slowest.
        assert!(events.len() >= 10, "{events:#?}");
        let with_trace = events.iter().filter(|it| it["traceId"] != "");
        let with_trace: Vec<_> = with_trace.collect();
        assert_eq!(with_trace.len(), 1);
        assert_eq!(with_trace[0]["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(with_trace[0]["spanId"], "00f067aa0ba902b7");
        assert_eq!(with_trace[0]["eventThread"]["javaName"], "worker-1");
        assert!(seconds(&with_trace[0]["duration"]) >= 0.12);
        let texts = stdout(&run(&mut scene.hprof_rs(&["slow", "calls.hprof.txt"]), ""));
        assert!(
            texts.contains("trace 4bf92f3577b34da6a3ce929d0e0e4736, span 00f067aa0ba902b7"),
            "{texts}"
        );
    });
}
