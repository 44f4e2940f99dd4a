//! `hprof-rs mcp`, spoken to as an assistant would: over pipes, a line of JSON at a time.

mod client;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::thread;
use std::time::{Duration, Instant};

use client::{Client, PATIENCE, processes_of};
use java_test_harness::{Run, each_jdk};
use serde_json::{Value, json};
use support::{Scene, data, run, stdout};

fn row<'a>(answer: &'a Value, list: &str, key: &str, text: &str) -> &'a Value {
    let rows = answer[list].as_array().expect("rows");
    let found = rows
        .iter()
        .find(|row| row[key].as_str().is_some_and(|it| it.contains(text)));
    found.unwrap_or_else(|| panic!("{text}: {answer}"))
}

#[test]
fn an_assistant_finds_the_field_that_leaks() {
    each_jdk(|jdk| {
        let run = Run::new(jdk).class("LeakStaticMap").args(["leak.hprof"]);
        let outcome = run.run().expect_status(0);
        let path = outcome.path("leak.hprof");
        let scene = Scene::new();
        let folder = path.parent().expect("a folder").display().to_string();
        let mut client = Client::new(&scene, &[&folder]);

        let listed = client.ask("list_files", json!({}));
        let file = row(&listed, "files", "file", "leak.hprof")["file"].clone();
        let opened = client.ask("open", json!({"file": file}));
        assert_eq!(opened["kind"], "heap dump");
        let headline = opened["headline"].as_str().expect("text");
        assert!(
            headline.contains("HashMap with 5,000 entries"),
            "{headline}"
        );
        assert!(
            opened["next_steps"][0]
                .as_str()
                .expect("text")
                .contains("suspects")
        );

        // What keeps the heap alive?
        let suspects = client.ask("suspects", json!({"file": file}));
        let suspect = &suspects["items"][0];
        let first = suspect["title"].as_str().expect("text");
        assert!(
            first.contains("static field LeakStaticMap.SESSIONS"),
            "{suspect}"
        );

        // Who holds it?
        let path = json!({"file": file, "object": suspect["object"]});
        let path = client.ask("path_to_root", path);
        let step = row(&path, "items", "field", ".SESSIONS (static)");
        let map = step["object"].clone();
        let holders = json!({"file": file, "object": map, "direction": "in"});
        let holders = client.ask("references", holders);
        let holder = row(&holders, "rows", "field", "SESSIONS");
        assert_eq!(holder["name"], "class LeakStaticMap");

        // What does it keep?
        // A map keeps its table, which keeps the entries.
        let table = json!({"file": file, "node": suspect["object"], "limit": 1});
        let table = client.ask("dominators", table)["rows"][0]["node"].clone();
        let kept = json!({"file": file, "node": table, "limit": 3});
        let kept = client.ask("dominators", kept);
        assert_eq!(kept["rows"].as_array().expect("rows").len(), 3);
        assert_eq!(kept["more"], "ask again with offset=3");
        let kept = json!({"file": file, "node": table, "limit": 3, "offset": 3});
        assert_eq!(client.ask("dominators", kept)["offset"], 3);

        // The field.
        let class = json!({"file": file, "class": "LeakStaticMap$Session", "limit": 1});
        let class = client.ask("class", class);
        assert_eq!(class["class"]["instances"], 5000);
        let session = class["rows"][0]["object"].clone();
        let fields = client.ask("object", json!({"file": file, "object": session}));
        let user = row(&fields, "rows", "name", "user");
        assert!(
            user["value"].as_str().expect("text").contains("user "),
            "{user}"
        );
        let paths = json!({"file": file, "class": "LeakStaticMap$Session"});
        let paths = client.ask("paths_to_class", paths);
        assert_eq!(paths["live_instances"], 5000);

        let counted = json!({
            "file": file,
            "sql": "SELECT count(*) AS n FROM objects WHERE class = 'LeakStaticMap$Session'",
        });
        assert_eq!(client.ask("query", counted)["rows"], json!([[5000]]));
        let histogram = json!({"file": file, "filter": "LeakStaticMap.Session$"});
        assert_eq!(
            client.ask("histogram", histogram)["rows"][0]["objects"],
            5000
        );
        let threads = client.ask("threads", json!({"file": file}));
        let main = row(&threads, "rows", "name", "main")["object"].clone();
        let main = client.ask("thread", json!({"file": file, "object": main}));
        assert!(main["frames"].to_string().contains("HeapDump"), "{main}");
        let waste = client.ask("waste", json!({"file": file, "kind": "collections"}));
        row(&waste, "rows", "name", "HashMap");
        let diff = client.ask("diff", json!({"before": file, "after": file, "limit": 3}));
        assert_eq!(diff["rows"][0]["shallow_delta"], 0);
        client.end();

        // What was read is there for the next conversation, without a worker.
        let mut client = Client::new(&scene, &[&folder]);
        let begun = Instant::now();
        client.ask("open", json!({"file": "leak.hprof", "wait_seconds": 60}));
        assert!(begun.elapsed() < Duration::from_secs(60));
        client.end();
    });
}

/// A thread that works and one that waits for a task, on the wall clock.
const WALL: &str = "\
JAVA PROFILE 1.0.1, created Mon Jan  1 00:00:00 2024

THREAD START (obj=50000001, id = 200001, name=\"main\", group=\"main\")
THREAD START (obj=50000002, id = 200002, name=\"pool-1-thread-1\", group=\"main\")
TRACE 300001: (thread=200001)
\tA.work(A.java:10)
TRACE 300002: (thread=200002)
\tjava.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1)
CPU SAMPLES BEGIN (total = 300) Mon Jan  1 00:00:01 2024
rank   self  accum   count trace method
   1 66.67% 66.67%     200 300002 java.util.concurrent.ThreadPoolExecutor.getTask
   2 33.33% 100.00%     100 300001 A.work
CPU SAMPLES END
# hprof-rs: clock=wall
";

#[test]
fn threads_that_wait_for_work_are_left_out_unless_they_are_asked_for() {
    let scene = Scene::new();
    fs::write(scene.path("wall.txt"), WALL).expect("writable");
    let profile = "wall.txt";
    let mut client = Client::new(&scene, &[]);
    for (busy, total, left_out, rows) in [
        (json!(null), 100, json!(200), 1),
        (json!(true), 100, json!(200), 1),
        (json!(false), 300, json!(null), 2),
    ] {
        let tree = client.ask("call_tree", json!({"file": profile, "busy": busy}));
        assert_eq!(tree["total"], total, "{tree}");
        assert_eq!(tree["waits_left_out"], left_out, "{tree}");
        let methods = client.ask("methods", json!({"file": profile, "busy": busy}));
        assert_eq!(
            methods["rows"].as_array().map(Vec::len),
            Some(rows),
            "{methods}"
        );
        assert_eq!(methods["waits_left_out"], left_out, "{methods}");
    }
    client.end();
}

#[test]
fn an_assistant_asks_where_time_goes() {
    let scene = Scene::new();
    let profile = data("cpu-samples-b.hprof");
    let mut client = Client::new(&scene, &[&profile]);
    let opened = client.ask("open", json!({"file": profile}));
    assert_eq!(opened["kind"], "profile", "{opened}");
    let methods = client.ask("methods", json!({"file": profile, "sort": "-total"}));
    let rows = methods["rows"].as_array().expect("rows");
    let costs: Vec<u64> = rows
        .iter()
        .map(|row| row["total"].as_u64().expect("a number"))
        .collect();
    assert!(costs.is_sorted_by(|a, b| a >= b), "{methods}");
    let all = opened["total"].as_u64().expect("a number");
    // The callers of the costliest method, and the method itself with its callees, make up its cost.
    for row in rows.iter().take(5) {
        for tool in ["callers", "callees"] {
            let around = json!({"file": profile, "method": row["name"], "limit": 200});
            let around = client.ask(tool, around);
            let around = around["rows"].as_array().expect("rows");
            let sum: u64 = around
                .iter()
                .map(|it| it["total"].as_u64().expect("a number"))
                .sum();
            assert_eq!(
                Some(sum),
                row["total"].as_u64(),
                "{tool} of {row}: {around:?}"
            );
        }
    }
    let tree = json!({"file": profile, "least_percent": 5});
    let tree = client.ask("call_tree", tree);
    assert_eq!(tree["lines"][0]["total"], all);
    let refusal = client.refusal("suspects", json!({"file": profile}));
    assert!(refusal.contains("is a profile"), "{refusal}");
    let refusal = client.refusal("callers", json!({"file": profile, "method": "no.such"}));
    assert!(refusal.contains("no stack"), "{refusal}");
    client.end();
}

#[test]
fn an_assistant_reads_logs() {
    let scene = Scene::new();
    let log = "[0.010s][info][gc] Using G1\n\
        [0.200s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->3M(256M) 4.500ms\n\
        [0.400s][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 150M->5M(256M) 2.500ms\n";
    fs::write(scene.path("gc.log"), log).expect("a file");
    let threads = "2026-01-01 00:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17 mixed mode):\n\n\
        \"main\" #1 prio=5 os_prio=0 cpu=10.00ms elapsed=1.00s tid=0x1 nid=0x2 runnable  [0x3]\n   \
        java.lang.Thread.State: RUNNABLE\n\tat Main.work(Main.java:5)\n\n";
    fs::write(scene.path("threads.txt"), threads).expect("a file");
    let mut client = Client::new(&scene, &[]);
    let listed = client.ask("list_files", json!({}));
    assert_eq!(
        row(&listed, "files", "file", "gc.log")["kind"],
        "garbage collection log"
    );
    assert_eq!(
        row(&listed, "files", "file", "threads.txt")["kind"],
        "thread dump"
    );
    let answer = client.ask("gc_log", json!({"file": "gc.log"}));
    assert!(answer["lines"].to_string().contains("4.5"), "{answer}");
    let answer = client.ask("thread_dumps", json!({"files": ["threads.txt"]}));
    assert!(
        answer["lines"].to_string().contains("Main.work"),
        "{answer}"
    );
    let killed = "kernel: Memory cgroup out of memory: Killed process 42 (java) total-vm:8kB, anon-rss:2011111kB, \
                  file-rss:1kB, shmem-rss:0kB\n";
    fs::write(scene.path("kernel.log"), killed).expect("a file");
    let answer = client.ask("process_memory", json!({"file": "kernel.log"}));
    let lines = answer["lines"].to_string();
    assert!(
        lines.contains("its cgroup had reached its limit"),
        "{answer}"
    );
    let refusal = client.refusal("process_memory", json!({"file": "threads.txt"}));
    assert!(refusal.contains("threads.txt: neither"), "{refusal}");
    let recording = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../foreign/tests/data/jdk25-gc.jfr.gz"
    );
    fs::copy(recording, scene.path("r.jfr.gz")).expect("a copy");
    let answer = client.ask("recording_findings", json!({"file": "r.jfr.gz"}));
    let said = stdout(&run(
        &mut scene.hprof_rs(&["report", "--json", "r.jfr.gz"]),
        "",
    ));
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert!(said["findings"][0]["headline"].is_string(), "{said}");
    assert_eq!(answer["findings"], said["findings"]);
    let file = answer["file"].as_str().expect("a name");
    assert!(file.ends_with("r.jfr.gz"), "{answer}");
    let refusal = client.refusal("recording_findings", json!({"file": "gc.log"}));
    assert!(refusal.contains("gc.log is no recording"), "{refusal}");
    let refusal = client.refusal("gc_log", json!({"file": "threads.txt"}));
    assert!(refusal.contains("threads.txt"), "{refusal}");
    assert!(!refusal.contains("/proc/"), "{refusal}");
    client.end();
}

#[test]
fn hostile_questions_are_refused_and_the_next_is_answered() {
    let scene = Scene::new();
    let inside = scene.path("in");
    fs::create_dir(&inside).expect("a folder");
    fs::copy(data("hprof-32.bin"), inside.join("heap.hprof")).expect("a copy");
    fs::copy(data("hprof-32.bin"), scene.path("secret.hprof")).expect("a copy");
    symlink("../secret.hprof", inside.join("link.hprof")).expect("a link");
    fs::write(inside.join("text.hprof"), "JAVA PROFILE? no").expect("a file");
    fs::write(inside.join("empty.hprof"), "").expect("a file");
    let mut client = Client::new(&scene, &["in"]);
    let secret = scene.path("secret.hprof").display().to_string();
    for file in [
        "../secret.hprof",
        &secret,
        "link.hprof",
        "/etc/passwd",
        "/proc/self/environ",
        "",
        "-",
    ] {
        for tool in ["open", "histogram", "gc_log"] {
            let refusal = client.refusal(tool, json!({"file": file}));
            let is_told = refusal.contains("not among") || refusal.contains("there is no file");
            assert!(is_told, "{tool} {file}: {refusal}");
        }
    }
    for (file, why) in [
        ("text.hprof", "text.hprof"),
        ("empty.hprof", "empty"),
        ("in", "no file"),
    ] {
        let refusal = client.refusal("open", json!({"file": file}));
        assert!(refusal.contains(why), "{file}: {refusal}");
        assert!(
            !refusal.contains("/proc/") && !refusal.contains("/tmp/hprof"),
            "{refusal}"
        );
    }
    for (tool, arguments, why) in [
        (
            "object",
            json!({"file": "heap.hprof", "object": "0xdead"}),
            "no object",
        ),
        (
            "object",
            json!({"file": "heap.hprof", "object": "zzz"}),
            "hexadecimal",
        ),
        (
            "class",
            json!({"file": "heap.hprof", "class": "no.Such"}),
            "no class",
        ),
        (
            "histogram",
            json!({"file": "heap.hprof", "limit": 1_000_000_000}),
            "1 to 200",
        ),
        (
            "histogram",
            json!({"file": "heap.hprof", "limit": 0}),
            "1 to 200",
        ),
        (
            "histogram",
            json!({"file": "heap.hprof", "limit": -1}),
            "arguments of histogram",
        ),
        (
            "histogram",
            json!({"file": "heap.hprof", "sort": "nothing"}),
            "no such column",
        ),
        (
            "histogram",
            json!({"file": "heap.hprof", "filter": "("}),
            "filter",
        ),
        (
            "histogram",
            json!({"file": "heap.hprof", "top": 5}),
            "no argument top",
        ),
        ("histogram", json!({"file": 5}), "arguments of histogram"),
        ("histogram", json!({}), "file"),
        (
            "query",
            json!({"file": "heap.hprof", "sql": "DROP TABLE objects"}),
            "SELECT",
        ),
        (
            "query",
            json!({"file": "heap.hprof", "sql": "SELECT 1", "limit": 99_999}),
            "1 to 1000",
        ),
        (
            "open",
            json!({"file": "heap.hprof", "wait_seconds": 1_000_000}),
            "wait_seconds",
        ),
        ("rm", json!({}), "there is no tool rm"),
        ("thread_dumps", json!({"files": []}), "1 to 20"),
    ] {
        let refusal = client.refusal(tool, arguments.clone());
        assert!(refusal.contains(why), "{tool} {arguments}: {refusal}");
    }
    client.write("{ this is no JSON");
    client.write("[]");
    client.write(r#"{"jsonrpc": "2.0", "id": 7777, "method": "no/such"}"#);
    client.write(&format!(
        r#"{{"jsonrpc": "2.0", "x": "{}"}}"#,
        "y".repeat(2 << 20)
    ));
    let found = client.ask(
        "histogram",
        json!({"file": "heap.hprof", "offset": 100_000_000}),
    );
    assert_eq!(found["rows"], json!([]));
    // Every row of the largest page, and a long answer of a query, stay below the limit.
    client.ask("histogram", json!({"file": "heap.hprof", "limit": 200}));
    let wide = "SELECT id, class, printf('%.5000c', 'x') AS wide FROM objects";
    let wide = client.ask(
        "query",
        json!({"file": "heap.hprof", "sql": wide, "limit": 1000}),
    );
    assert_eq!(wide["left_out"], true);
    client.end();
}

#[test]
fn a_cancelled_question_ends_its_work() {
    let scene = Scene::new();
    fs::copy(data("hprof-32.bin"), scene.path("heap.hprof")).expect("a copy");
    let mut client = Client::new(&scene, &[]);
    client.ask("open", json!({"file": "heap.hprof"}));
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let call = json!({"name": "query", "arguments": {"file": "heap.hprof", "sql": endless}});
    let id = client.begin("tools/call", call);
    let begun = Instant::now();
    // Until the query's process is there.
    while processes_of(&client.child) == 0 {
        assert!(begun.elapsed() < PATIENCE, "no query begins");
        thread::sleep(Duration::from_millis(20));
    }
    let cancelled = json!({"requestId": id, "reason": "enough"});
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
    while processes_of(&client.child) > 0 {
        assert!(begun.elapsed() < PATIENCE, "the query does not end");
        thread::sleep(Duration::from_millis(20));
    }
    let found = client.ask(
        "query",
        json!({"file": "heap.hprof", "sql": "SELECT 1 AS one"}),
    );
    assert_eq!(found["rows"], json!([[1]]));
    client.end();
}

#[test]
fn reading_goes_on_without_who_asked_and_ends_when_they_cancel() {
    let scene = Scene::new();
    for name in ["later", "cancelled"] {
        let name = scene.path(&format!("{name}.hprof"));
        fs::copy(data("hprof-32.bin"), name).expect("a copy");
    }
    let mut client = Client::new(&scene, &[]);
    let later = json!({"file": "later.hprof", "wait_seconds": 0});
    let refusal = client.refusal("open", later.clone());
    assert!(refusal.contains("still being read"), "{refusal}");
    let begun = Instant::now();
    // No call waits, and still the file is read.
    while client.text("open", later.clone()).1 {
        assert!(begun.elapsed() < PATIENCE, "it is not read");
        thread::sleep(Duration::from_millis(20));
    }
    let call = json!({"name": "open", "arguments": {"file": "cancelled.hprof"}});
    let id = client.begin("tools/call", call);
    let reason = json!({"requestId": id});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": reason}));
    while processes_of(&client.child) > 0 {
        assert!(begun.elapsed() < PATIENCE, "the worker does not end");
        thread::sleep(Duration::from_millis(20));
    }
    let opened = client.ask("open", json!({"file": "cancelled.hprof"}));
    assert_eq!(opened["kind"], "heap dump");
    client.end();
}
