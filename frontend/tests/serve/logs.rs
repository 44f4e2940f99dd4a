//! Files that are no dumps of HPROF: recordings, thread dumps, logs of collections.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::server::Server;
use crate::support::Scene;

fn path(of: &str) -> String {
    format!("{}/../{of}", env!("CARGO_MANIFEST_DIR"))
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
    let packed = path("foreign/tests/data/async-profiler.jfr.gz");
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
    }
}

#[test]
fn thread_dumps_are_recognised_and_have_a_report() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    for name in ["threads-jdk11.txt", "threads-jdk25.txt"] {
        let dump = analysed(&server, &path(&format!("platform/tests/data/{name}")));
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
    let dump = analysed(&server, &path("gclog/tests/data/jdk8-cms.log"));
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
            "platform/tests/data/threads-jdk25.txt",
        ),
        ("gc.log", "gc_log", "gclog/tests/data/unified-g1.log"),
    ] {
        let log = fs::read_to_string(path(of)).unwrap();
        let file = scene.path(name);
        fs::write(&file, format!("{chatter}{log}")).unwrap();
        let dump = analysed(&server, &file.display().to_string());
        assert_eq!(dump["kind"], kind, "{dump}");
    }
}
