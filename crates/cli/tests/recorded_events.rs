//! `hprof-rs events` on recordings of a program that did known numbers of things.

mod support;

use std::fs;

use java_test_harness::{Jdk, Run};
use serde_json::Value;
use support::{Scene, run, stderr, stdout};

/// A scene with the recording of [`RecordedEvents.java`] by a release.
fn recorded(release: u32) -> Scene {
    let run = Run::new(Jdk::feature_release(release)).class("RecordedEvents");
    let outcome = run.args(["r.jfr"]).run();
    let bytes = outcome.expect_status(0).bytes("r.jfr");
    let scene = Scene::new();
    fs::write(scene.path("r.jfr"), bytes).expect("a file");
    scene
}

fn json(scene: &Scene, arguments: &[&str]) -> Value {
    let output = run(&mut scene.hprof_rs(arguments), "");
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

/// The events of a type whose field has a value.
fn events(scene: &Scene, name: &str, field: &str, value: &str) -> Vec<Value> {
    let all = json(
        scene,
        &["events", "r.jfr", "--event", name, "--top", "0", "--json"],
    );
    let events = all["events"].as_array().expect("events");
    assert_eq!(all["type"]["count"], events.len());
    let mut events = events.clone();
    events.retain(|event| event[field].as_str().is_some_and(|it| it.contains(value)));
    events
}

/// The error of a command that fails, which is one line.
fn refused(scene: &Scene, arguments: &[&str]) -> String {
    let output = run(&mut scene.hprof_rs(arguments), "");
    assert!(!output.status.success());
    assert_eq!(stdout(&output), "");
    let error = stderr(&output);
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    error
}

fn sum(events: &[Value], field: &str) -> i64 {
    events.iter().filter_map(|it| it[field].as_i64()).sum()
}

/// The sum of the stacks with a method.
fn sum_with(collapsed: &str, method: &str) -> u64 {
    let lines = collapsed.lines().filter(|line| line.contains(method));
    let costs = lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok());
    costs.sum()
}

/// Each type of events is a profile by number, time and bytes.
fn all_events_are_drawn(scene: &Scene) {
    let collapsed = |event: &str, measure: &str| {
        let arguments = [
            "convert",
            "--event",
            event,
            "--measure",
            measure,
            "--to",
            "collapsed",
            "r.jfr",
        ];
        let output = run(&mut scene.hprof_rs(&arguments), "");
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    for (event, measure, method, expected) in [
        ("jdk.SocketRead", "count", "RecordedEvents.readSocket", 40),
        ("SocketRead", "bytes", "RecordedEvents.readSocket", 120),
        ("jdk.FileRead", "bytes", "RecordedEvents.readFile", 210),
        (
            "jdk.JavaExceptionThrow",
            "events",
            "RecordedEvents.refuse",
            25,
        ),
        ("acme.Order", "count", "RecordedEvents.order", 12),
        ("acme.Order", "event-bytes", "RecordedEvents.order", 78_000),
    ] {
        let lines = collapsed(event, measure);
        assert_eq!(sum_with(&lines, method), expected, "{event}: {lines}");
    }
    // The class that is thrown ends the stack.
    let thrown = collapsed("jdk.JavaExceptionThrow", "count");
    assert!(thrown.contains(";RecordedEvents$Refused 25"), "{thrown}");

    let orders = ["samples", "--event", "acme.Order"];
    let text = stdout(&run(
        &mut scene.hprof_rs(&[&orders[..], &["r.jfr"]].concat()),
        "",
    ));
    assert!(text.starts_with("acme.Order: 12 events ("), "{text}");
    assert!(text.contains("78,000 bytes"), "{text}");
    assert!(text.contains("100 % in RecordedEvents.order"), "{text}");
    let by_time = json(
        scene,
        &[&orders[..], &["--by", "time", "--json", "r.jfr"]].concat(),
    );
    assert_eq!(
        (&by_time["event"], &by_time["total"]),
        (&"acme.Order".into(), &12.into())
    );
    assert_eq!(sum(by_time["rows"].as_array().expect("rows"), "value"), 12);

    let page = ["convert", "--event", "acme.Order", "r.jfr", "-o", "o.html"];
    assert!(run(&mut scene.hprof_rs(&page), "").status.success());
    let page = fs::read_to_string(scene.path("o.html")).expect("a page");
    assert!(page.contains("r.jfr: acme.Order"));
    let picture = ["convert", "--event", "acme.Order", "r.jfr", "-o", "o.svg"];
    assert!(run(&mut scene.hprof_rs(&picture), "").status.success());
    let picture = fs::read_to_string(scene.path("o.svg")).expect("a picture");
    assert!(picture.contains("RecordedEvents.order"));

    let error = refused(scene, &["samples", "--event", "acme.Ordr", "r.jfr"]);
    assert!(error.contains("near it are acme.Order"), "{error}");
    assert!(error.contains("acme.Order (12)"), "{error}");
    let error = refused(scene, &["samples", "--event", "acme.Plain", "r.jfr"]);
    assert!(
        error.contains("none of its 1 events acme.Plain has a stack"),
        "{error}"
    );
    let jfr = ["convert", "--event", "acme.Order", "--to", "jfr", "r.jfr"];
    assert!(refused(scene, &jfr).contains("no place for events of one type"));
    let two = ["samples", "--event", "alloc", "--measure", "time", "r.jfr"];
    assert!(refused(scene, &two).contains("give one of them"));
}

fn all_events_are_listed(release: u32) {
    let scene = recorded(release);
    all_events_are_drawn(&scene);
    all_events_are_tables(&scene);
    let reads = events(&scene, "jdk.SocketRead", "host", "");
    let reads: Vec<Value> = reads
        .into_iter()
        .filter(|it| it["frames"].to_string().contains("readSocket"))
        .collect();
    assert_eq!(reads.len(), 40);
    assert_eq!(sum(&reads, "bytesRead"), 120);
    let reads = events(&scene, "FileRead", "path", "known.bin");
    assert_eq!((reads.len(), sum(&reads, "bytesRead")), (30, 210));
    let thrown = events(&scene, "jdk.JavaExceptionThrow", "thrownClass", "Refused");
    assert_eq!(thrown.len(), 25);
    assert!(
        thrown
            .iter()
            .all(|it| it["frames"].to_string().contains("RecordedEvents.refuse"))
    );
    let orders = events(&scene, "acme.Order", "customer", "customer ");
    assert_eq!((orders.len(), sum(&orders, "size")), (12, 78_000));
    assert_eq!(sum(&orders, "items"), -66);
    let express = orders.iter().filter(|it| it["express"] == true).count();
    assert_eq!(express, 6);
    assert_eq!(orders[11]["price"], 11.5);
    assert_eq!(orders[0]["eventThread"], "main");

    let types = json(&scene, &["events", "r.jfr", "--json"]);
    let types = types["types"].as_array().expect("types");
    let order = types
        .iter()
        .find(|it| it["name"] == "acme.Order")
        .expect("the type");
    assert_eq!(order["label"], "Order Placed");
    assert_eq!(
        (&order["count"], &order["with_stacks"]),
        (&Value::from(12), &Value::from(12))
    );
    let fields = order["fields"].as_array().expect("fields");
    let size = fields
        .iter()
        .find(|it| it["name"] == "size")
        .expect("the field");
    assert_eq!(
        (&size["type"], &size["is_bytes"]),
        (&Value::from("long"), &Value::from(true))
    );
    let plain = types
        .iter()
        .find(|it| it["name"] == "acme.Plain")
        .expect("the type");
    assert_eq!(
        (&plain["count"], &plain["with_stacks"]),
        (&Value::from(1), &Value::from(0))
    );

    let largest = [
        "events", "r.jfr", "--event", "Order", "--sort", "bytes", "--top", "2",
    ];
    let text = stdout(&run(&mut scene.hprof_rs(&largest), ""));
    assert!(
        text.contains("acme.Order (Order Placed): 12 events, 12 with stacks"),
        "{text}"
    );
    let (first, second) = (text.find("size=12000"), text.find("size=11000"));
    assert!(
        first.is_some() && first < second && !text.contains("size=10000"),
        "{text}"
    );
    assert!(text.contains("at RecordedEvents.order (line "), "{text}");

    let error = refused(&scene, &["events", "r.jfr", "--event", "jdk.SockedRead"]);
    assert!(error.contains("near it are jdk.SocketRead"), "{error}");
    assert!(
        error.contains("events with stacks, the most jdk."),
        "{error}"
    );
    let error = refused(&scene, &["events", "r.jfr", "--event", "jdk.ThreadSleep"]);
    assert!(error.contains("threshold of 3600"), "{error}");
    let error = refused(
        &scene,
        &["events", "r.jfr", "--event", "jdk.JavaMonitorWait"],
    );
    assert!(error.contains("its settings leave it out"), "{error}");
}

/// The rows of a query, each an array.
fn rows(scene: &Scene, sql: &str) -> Vec<Value> {
    let answer = json(scene, &["query", "r.jfr", sql, "--json", "--arrays"]);
    answer["rows"].as_array().expect("rows").clone()
}

/// Each type of events is a table.
fn all_events_are_tables(scene: &Scene) {
    let one = |sql: &str| rows(scene, sql).remove(0);
    let sql = "SELECT count(*), sum(bytesRead), min(duration) >= 0 FROM jdk.SocketRead
               WHERE stackTrace LIKE '%RecordedEvents.readSocket%'";
    assert_eq!(one(sql), serde_json::json!([40, 120, 1]));
    let sql = "SELECT sum(bytesRead) FROM FileRead WHERE path LIKE '%known.bin'";
    assert_eq!(one(sql), serde_json::json!([210]));
    let sql = "SELECT count(*), sum(size), sum(items), sum(express), max(price), min(eventThread)
               FROM acme.Order WHERE topFrame LIKE 'RecordedEvents.order (%'";
    assert_eq!(
        one(sql),
        serde_json::json!([12, 78_000, -66, 6, 11.5, "main"])
    );
    // Start times are in the order of the text and of the number.
    let sql = "SELECT group_concat(items), min(startTime LIKE '20__-%Z'), max(length(startTime))
               FROM (SELECT * FROM \"acme.order\" ORDER BY startTime)";
    let ordered = "0,-1,-2,-3,-4,-5,-6,-7,-8,-9,-10,-11";
    assert_eq!(one(sql), serde_json::json!([ordered, 1, 30]));
    let sql = "SELECT count(*) FROM acme.Order a JOIN Plain b ON b.startNanos >= a.startNanos";
    assert_eq!(one(sql), serde_json::json!([12]));
    assert_eq!(
        one("SELECT count(*) FROM acme.Never"),
        serde_json::json!([0])
    );
    let same = "SELECT (SELECT count(*) FROM jdk.JavaExceptionThrow),
                count(*) FROM JavaExceptionThrow WHERE thrownClass = 'RecordedEvents$Refused'";
    assert_eq!(one(same)[1], 25);

    let listed = stdout(&run(
        &mut scene.hprof_rs(&["query", "r.jfr", "--tables"]),
        "",
    ));
    assert!(
        listed.contains("acme.Order: 12 rows, Order Placed"),
        "{listed}"
    );
    assert!(!listed.contains("acme.Never"), "{listed}");
    let schema = json(scene, &["query", "r.jfr", "--json"]);
    let tables = schema["tables"].as_array().expect("tables");
    let order = tables.iter().find(|it| it["name"] == "acme.Order");
    let order = order.expect("the table");
    assert_eq!(
        (&order["short_name"], &order["rows"]),
        (&"Order".into(), &12.into())
    );
    let columns = order["columns"].as_array().expect("columns");
    let names: Vec<&str> = columns
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    let expected = [
        "startTime",
        "startNanos",
        "duration",
        "eventThread",
        "customer",
        "size",
    ];
    assert!(
        expected.iter().all(|name| names.contains(name)),
        "{names:?}"
    );

    for (sql, expected) in [
        (
            "SELECT * FROM jdk.SockedRead",
            "did you mean jdk.SocketRead?",
        ),
        ("SELECT hots FROM jdk.SocketRead", "did you mean host?"),
        ("DROP TABLE x", "SELECT * FROM jdk.SocketRead"),
        ("SELECT field('0x1', 'a')", "there is no function field"),
    ] {
        let output = run(&mut scene.hprof_rs(&["query", "r.jfr", sql]), "");
        assert!(!output.status.success(), "{sql}");
        let error = stderr(&output);
        assert!(error.contains(expected), "{sql}: {error}");
    }
}

#[test]
fn all_events_of_jdk_17_are_listed() {
    all_events_are_listed(17);
}

#[test]
fn all_events_of_jdk_25_are_listed() {
    all_events_are_listed(25);
}
