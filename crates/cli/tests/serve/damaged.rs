//! Truncated and hostile files through upload and job: each ends, and says what it is.

use std::fs;

use serde_json::Value;

use crate::corpus;
use crate::server::{Server, eventually};
use crate::support::{Scene, data};

/// The hostile files that are sent; each kind of contents and packing is among them.
const HOSTILE: usize = 104;
/// The places at which a dump is cut.
const CUTS: usize = 24;

/// Sends bytes; gives the dump's id if the server takes them.
fn send(server: &Server, name: &str, bytes: &[u8]) -> Option<String> {
    let answer = server.request("PUT", &format!("/api/v1/dumps?name={name}"), &[], bytes);
    if answer.status == 415 {
        answer.assert_problem(415, "not-a-dump");
        return None;
    }
    assert_eq!(answer.status, 201, "{name}: {}", answer.text());
    Some(answer.json()["id"].as_str().unwrap().to_owned())
}

/// Waits for the end of a dump's job, whatever it is.
fn end(server: &Server, id: &str) -> Value {
    eventually("the end of a job", || {
        let dump = server.dump(id);
        let state = dump["job"]["state"].as_str().unwrap_or_default();
        matches!(state, "done" | "failed").then_some(dump)
    })
}

#[test]
fn the_job_of_every_hostile_file_ends_and_none_ends_the_server() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--jobs", "2", "--memory", "512M"]);
    let sent: Vec<_> = (0..HOSTILE)
        .map(corpus::file)
        .filter_map(|file| Some((send(&server, &file.name, &file.bytes)?, file)))
        .collect();
    assert!(sent.len() > HOSTILE / 2, "{} were taken", sent.len());
    assert!(sent.iter().any(|(_, file)| file.is_packed));
    for (id, file) in &sent {
        let name = &file.name;
        let dump = end(&server, id);
        let path = format!("/api/v1/dumps/{id}/report");
        if dump["job"]["state"] == "done" {
            assert_eq!(server.get(&path).status, 200, "{name}");
            assert!(dump["summary"].is_object(), "{name}: {dump}");
        } else {
            let error = &dump["job"]["error"];
            let detail = error["detail"].as_str().unwrap();
            assert!(
                detail.len() > 10 && !detail.contains("/attempts/"),
                "{name}: {error}"
            );
            assert_ne!(error["title"], "The analyser failed", "{name}: {error}");
            server.get(&path).assert_problem(409, "not-ready");
        }
    }
    let left = server.get("/api/v1/server").json()["jobs"].take();
    assert_eq!((&left["running"], &left["queued"]), (&0.into(), &0.into()));
    assert_eq!(
        fs::read_dir(scene.path("serve/attempts")).unwrap().count(),
        0
    );
}

#[test]
fn a_dump_that_is_cut_anywhere_says_so() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--jobs", "2"]);
    let bytes = fs::read(data("hprof-32.bin")).unwrap();
    let whole = send(&server, "whole", &bytes).unwrap();
    let whole = end(&server, &whole)["summary"].take();
    assert_eq!(whole["damage"], serde_json::Value::Null);
    let whole = whole["live_objects"].as_u64().unwrap();
    let numbers = &mut corpus::Numbers::new(15);
    let cuts: Vec<_> = (0..CUTS)
        .map(|_| 1000 + numbers.below(bytes.len() - 1000))
        .filter_map(|length| Some((length, send(&server, "cut", &bytes[..length])?)))
        .collect();
    for (length, id) in cuts {
        let dump = end(&server, &id);
        if dump["job"]["state"] == "failed" || dump["kind"] == "profile" {
            // Before the heap there is nothing to analyse.
            continue;
        }
        let report = server.get(&format!("/api/v1/dumps/{id}/report")).json();
        let notes = report["notes"].as_array().unwrap();
        assert!(!notes.is_empty(), "cut at {length}: {}", report["summary"]);
        // Between two records nothing shows that more came.
        if notes
            .iter()
            .any(|note| note.to_string().contains("what is shown is the rest"))
        {
            assert_eq!(
                dump["summary"]["damage"], "cut",
                "cut at {length}: {notes:?}"
            );
        }
        assert!(dump["summary"]["live_objects"].as_u64().unwrap() <= whole);
    }
}

#[test]
fn a_file_without_data_is_no_profile_with_nothing_to_say() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let bytes = fs::read(data("hprof-32.bin")).unwrap();
    let bare = send(&server, "bare", &bytes[..31]).unwrap();
    let bare = end(&server, &bare);
    assert_eq!(bare["job"]["state"], "failed", "{bare}");
    let detail = bare["job"]["error"]["detail"].as_str().unwrap();
    let sentence = "the file holds a header and nothing else: it is cut short";
    assert!(detail.contains(sentence), "{detail}");
    // The names come before the heap.
    let names = send(&server, "names", &bytes[..2000]).unwrap();
    let names = end(&server, &names);
    assert_eq!(
        names["headline"],
        "The file holds neither a heap dump nor a profile: it may be cut short."
    );
}
