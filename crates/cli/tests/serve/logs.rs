//! Files that are no dumps of HPROF: recordings, thread dumps, logs of collections.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};

use crate::server::Server;
use crate::support::{Scene, run, stdout};

fn path(of: &str) -> String {
    format!("{}/../../{of}", env!("CARGO_MANIFEST_DIR"))
}

/// Uploads a file; its entry once it is analysed.
fn analysed(server: &Server, file: &str) -> Value {
    let id = server.upload(Path::new(file));
    server.wait_for(&id, "done")
}

#[test]
fn a_recording_is_a_profile_like_others() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let packed = path("crates/foreign/tests/data/async-profiler.jfr.gz");
    let mut plain = Vec::new();
    let mut unpacking = flate2::read::GzDecoder::new(fs::File::open(&packed).unwrap());
    unpacking.read_to_end(&mut plain).unwrap();
    fs::write(scene.path("plain.jfr"), plain).unwrap();
    for file in [packed, scene.path("plain.jfr").display().to_string()] {
        let dump = analysed(&server, &file);
        assert_eq!(dump["kind"], "profile", "{dump}");
        let id = dump["id"].as_str().unwrap();
        let about = server.get(&format!("/api/v1/dumps/{id}/profile")).json();
        let dimensions = about["dimensions"].as_array().unwrap().iter();
        let keys: Vec<&str> = dimensions.filter_map(|it| it["key"].as_str()).collect();
        for key in ["samples", "wall", "allocated-bytes", "contention"] {
            assert!(keys.contains(&key), "{file}: {keys:?}");
        }
        let methods = server.get(&format!("/api/v1/dumps/{id}/profile/methods"));
        assert!(
            methods.text().contains("Recorded.mostly"),
            "{}",
            methods.text()
        );
        let page = server.get(&format!("/api/v1/dumps/{id}/profile.html"));
        assert!(page.text().contains("\"times\":{\"from\""), "{file}");
    }
}

#[test]
fn thread_dumps_are_recognised_and_have_a_report() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    for name in ["threads-jdk11.txt", "threads-jdk25.txt"] {
        let dump = analysed(&server, &path(&format!("crates/server/tests/data/{name}")));
        assert_eq!(dump["kind"], "thread_dump", "{dump}");
        assert_eq!(
            dump["headline"],
            "2 threads wait for each other without an end."
        );
        let id = dump["id"].as_str().unwrap();
        let report = server.get(&format!("/api/v1/dumps/{id}/report")).json();
        assert_eq!(report["title"], name);
        assert_eq!(report["report"]["deadlocks"].as_array().unwrap().len(), 3);
        let page = server.get(&format!("/api/v1/dumps/{id}/report.html"));
        assert!(page.text().contains("monitor-1"));
        // It has no views of heap dumps and profiles.
        for view in ["overview", "profile"] {
            let view = server.get(&format!("/api/v1/dumps/{id}/{view}"));
            assert_eq!(view.status, 409, "{}", view.text());
        }
    }
}

#[test]
fn garbage_collection_logs_are_recognised_and_have_a_report() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let dump = analysed(&server, &path("crates/gclog/tests/data/jdk8-cms.log"));
    assert_eq!(dump["kind"], "gc_log", "{dump}");
    assert!(
        dump["headline"]
            .as_str()
            .is_some_and(|it| it.ends_with('.'))
    );
    let id = dump["id"].as_str().unwrap();
    let report = server.get(&format!("/api/v1/dumps/{id}/report")).json();
    let log = &report["logs"][0];
    assert_eq!(log["file"], "jdk8-cms.log");
    assert!(log["pauses"]["count"].as_u64().unwrap() > 0);
    assert!(log["timeline"]["buckets"].is_array() && log["findings"].is_array());
    let page = server.get(&format!("/api/v1/dumps/{id}/report.html"));
    assert!(page.text().starts_with("<!"), "{}", page.text());
}

#[test]
fn a_program_may_log_for_long_before_its_first_dump_or_collection() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let chatter = "2026-11-23 02:50:00 INFO nothing of interest\n".repeat(20_000);
    for (name, kind, of) in [
        (
            "app.log",
            "thread_dump",
            "crates/server/tests/data/threads-jdk25.txt",
        ),
        ("gc.log", "gc_log", "crates/gclog/tests/data/unified-g1.log"),
    ] {
        let log = fs::read_to_string(path(of)).unwrap();
        let file = scene.path(name);
        fs::write(&file, format!("{chatter}{log}")).unwrap();
        let dump = analysed(&server, &file.display().to_string());
        assert_eq!(dump["kind"], kind, "{dump}");
    }
}

#[test]
fn a_recording_shows_its_collections_and_thread_dumps() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let dump = analysed(&server, &path("crates/foreign/tests/data/jdk25-gc.jfr.gz"));
    assert_eq!(dump["kind"], "profile", "{dump}");
    assert_eq!(dump["summary"]["collections"], 40);
    assert_eq!(dump["summary"]["dumps"], 2);
    assert!(dump["headline"].is_string(), "{dump}");
    let id = dump["id"].as_str().unwrap();
    let get = |path: &str| server.get(&format!("/api/v1/dumps/{id}/{path}"));
    let gc = get("gc").json();
    assert_eq!(gc["logs"][0]["pauses"]["count"], 41);
    assert_eq!(gc["logs"][0]["file"], "jdk25-gc.jfr.gz");
    assert_eq!(
        get("stacks").json()["report"]["dumps"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    // The findings are those of the command.
    let findings = get("findings").json();
    let file = path("crates/foreign/tests/data/jdk25-gc.jfr.gz");
    let said = run(&mut scene.hprof_rs(&["report", "--json", &file]), "");
    let said: Value = serde_json::from_str(&stdout(&said)).unwrap();
    assert_eq!(findings["findings"], said["findings"]);
    let levels = findings["findings"].as_array().unwrap().iter();
    let alarms = levels.filter(|it| it["level"] != "ok").count();
    assert_eq!(dump["summary"]["findings"], alarms);
    for page in ["gc.html", "stacks.html", "findings.html"] {
        let page = get(page);
        assert!(page.header("content-disposition").starts_with("attachment"));
        assert!(page.text().contains("jdk25-gc.jfr.gz"));
    }
    // Others have the one, or none of both.
    let log = analysed(&server, &path("crates/gclog/tests/data/unified-g1.log"));
    let threads = analysed(&server, &path("crates/server/tests/data/threads-jdk25.txt"));
    let samples = analysed(&server, &path("crates/foreign/tests/data/jdk17.jfr.gz"));
    for (dump, gc, stacks, findings) in [
        (&log, 200, 404, 404),
        (&threads, 404, 200, 404),
        (&samples, 404, 404, 200),
    ] {
        let id = dump["id"].as_str().unwrap();
        for (part, expected) in [("gc", gc), ("stacks", stacks), ("findings", findings)] {
            for end in ["", ".html"] {
                let answer = server.get(&format!("/api/v1/dumps/{id}/{part}{end}"));
                assert_eq!(
                    answer.status,
                    expected,
                    "{id} {part}{end}: {}",
                    answer.text()
                );
            }
        }
    }
    // A log and a recording can be compared.
    let log = log["id"].as_str().unwrap();
    let compared = server.get(&format!("/api/v1/gc?dumps={log},{id}")).json();
    let figures = compared["figures"].as_array().unwrap();
    let pauses = figures.iter().find(|it| it["name"] == "pauses").unwrap();
    let of_log = server.get(&format!("/api/v1/dumps/{log}/gc")).json();
    let of_log = of_log["logs"][0]["pauses"]["count"].as_f64().unwrap();
    assert_eq!(pauses["values"], json!([of_log, 41.0]));
    assert_eq!(compared["logs"][1]["name"], "jdk25-gc.jfr.gz");
}

#[test]
fn thread_dumps_of_several_files_show_what_moved() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let text = fs::read_to_string(path("crates/server/tests/data/threads-jdk25.txt")).unwrap();
    // The same threads ten seconds later: main has used five seconds of CPU time.
    let later = text
        .replace("2026-11-22 16:51:17", "2026-11-22 16:51:27")
        .replace("cpu=47.86ms elapsed=1.14s", "cpu=5047.86ms elapsed=11.14s");
    let mut ids = Vec::new();
    for (name, text) in [("later.txt", &later), ("first.txt", &text)] {
        fs::write(scene.path(name), text).unwrap();
        let dump = analysed(&server, &scene.path(name).display().to_string());
        ids.push(dump["id"].as_str().unwrap().to_owned());
    }
    let answer = server.get(&format!("/api/v1/stacks?dumps={}", ids.join(",")));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let found = answer.json();
    // By their times, not in the order of the request.
    assert_eq!(found["files"][0]["name"], "first.txt");
    assert_eq!(found["files"][1]["dumps"], 1);
    assert_eq!(found["notes"], json!([]));
    let moved = &found["report"]["moved"];
    assert_eq!(moved["elapsed_ms"], 10_000.0);
    assert_eq!((&moved["started"], &moved["ended"]), (&json!(0), &json!(0)));
    assert_eq!(moved["busy"][0]["name"], "main");
    assert_eq!(moved["busy"][0]["cpu_ms"], 5000.0);
    assert!(moved["stuck"].as_array().is_some_and(|it| !it.is_empty()));

    // Dumps of another program are no comparison.
    let other = analysed(&server, &path("crates/server/tests/data/threads-jdk11.txt"));
    let other = other["id"].as_str().unwrap();
    let log = analysed(&server, &path("crates/gclog/tests/data/jdk8-cms.log"));
    let log = log["id"].as_str().unwrap();
    let found = server
        .get(&format!("/api/v1/stacks?dumps={other},{}", ids[0]))
        .json();
    assert!(
        found["notes"].to_string().contains("different programs"),
        "{}",
        found["notes"]
    );
    let many = vec![other; 51].join(",");
    for (query, status) in [
        (format!("{other},{log}"), 409),
        (other.to_owned(), 400),
        (format!("{other},{other}"), 400),
        (many, 400),
        ("x,../../y".to_owned(), 400),
        (format!("{other},{}", "0".repeat(16)), 404),
    ] {
        let answer = server.get(&format!("/api/v1/stacks?dumps={query}"));
        assert_eq!(answer.status, status, "{query}: {}", answer.text());
    }
    let gc = server.get(&format!("/api/v1/gc?dumps={other},{log}"));
    assert_eq!(gc.status, 404, "{}", gc.text());
}

#[test]
fn the_files_of_a_rotated_log_are_joined() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let log = fs::read_to_string(path("crates/gclog/tests/data/unified-g1.log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let third = lines.len() / 3;
    let parts = [
        ("gc.log.0", lines[..third].join("\n")),
        ("gc.log.1", lines[third..2 * third].join("\n")),
        ("gc.log", format!("{}\n", lines[2 * third..].join("\n"))),
    ];
    let mut ids = Vec::new();
    for (name, text) in parts.iter().rev() {
        fs::write(scene.path(name), text).unwrap();
        let dump = analysed(&server, &scene.path(name).display().to_string());
        assert_eq!(dump["kind"], "gc_log", "{dump}");
        ids.push(dump["id"].as_str().unwrap().to_owned());
    }
    let answer = server.post("/api/v1/gc", &json!({"dumps": ids}));
    assert_eq!(answer.status, 201, "{}", answer.text());
    let joined = answer.json()["id"].as_str().unwrap().to_owned();
    let joined = server.wait_for(&joined, "done");
    assert_eq!(joined["name"], "gc.log (3 files)");
    let whole = analysed(&server, &path("crates/gclog/tests/data/unified-g1.log"));
    let report = |dump: &Value| {
        let id = dump["id"].as_str().unwrap();
        let mut report = server.get(&format!("/api/v1/dumps/{id}/gc")).json();
        report["logs"][0]["file"] = Value::Null;
        report
    };
    assert_eq!(report(&joined), report(&whole));

    let threads = analysed(&server, &path("crates/server/tests/data/threads-jdk25.txt"));
    let threads = threads["id"].as_str().unwrap();
    for (body, status) in [
        (json!({"dumps": [ids[0], threads]}), 409),
        (json!({"dumps": [ids[0]]}), 400),
        (json!({"dumps": ids, "more": 1}), 400),
    ] {
        let answer = server.post("/api/v1/gc", &body);
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
    }
}
