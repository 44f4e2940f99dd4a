//! Rules of dumps, and values that the server blanks.

use std::fs;
use std::path::Path;

use java_test_harness::contains;
use serde_json::json;

use crate::server::{Server, chain};
use crate::support::{Scene, data, run, stderr, stdout};

#[test]
fn a_broken_rule_is_told_by_dump_job_and_status() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    chain(&scene.path("chain.hprof"), 10_000);
    let link = format!("http://{}/?token={}", server.address, server.token);
    let check = |rules: &[&str]| {
        let mut command = scene.hprof_rs(&["capture", "chain.hprof", "--server", &link]);
        for rule in rules {
            command.args(["--fail-above", rule]);
        }
        run(&mut command, "")
    };
    let kept = check(&["objects:Node=10000", "retained:Node=1GB"]);
    assert_eq!(kept.status.code(), Some(0), "{}", stderr(&kept));
    assert!(stdout(&kept).contains("kept: objects:Node=10000: class Node has 10000 live objects."));
    // The dump is known by now, and its job done.
    let broken = check(&["objects:Node=9999", "retained:N*=100kB", "threads=5"]);
    assert_eq!(broken.status.code(), Some(1), "{}", stderr(&broken));
    let text = stdout(&broken);
    assert!(text.contains("BROKEN: objects:Node=9999: class Node has 10000 live objects, above"));
    assert!(text.contains("BROKEN: retained:N*=100kB: class Node keeps 160.0 kB alive, above"));
    assert!(text.contains("kept: threads=5"), "{text}");
    let dumps = server.get("/api/v1/dumps").json();
    let dump = &dumps["items"][0];
    assert_eq!(dump["rules"][0]["passed"], false);
    assert_eq!(dump["rules"], dump["job"]["rules"]);
    assert_eq!(dump["rules"].as_array().unwrap().len(), 3);
}

#[test]
fn report_judges_rules_without_a_server() {
    let scene = Scene::new();
    chain(&scene.path("chain.hprof"), 10_000);
    let check = |rule: &str| {
        let report = ["report", "--md", "chain.hprof", "--fail-above", rule];
        let output = run(&mut scene.hprof_rs(&report), "");
        assert!(
            stdout(&output).contains("Node"),
            "the report is printed in any case"
        );
        (output.status.code(), stderr(&output))
    };
    let (status, text) = check("objects:Node=10000");
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("kept: objects:Node=10000: class Node has 10000 live objects."));
    let (status, text) = check("objects:Node=9999");
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("BROKEN: objects:Node=9999"), "{text}");
}

#[test]
fn rules_are_set_by_every_way_in_and_by_a_change() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let heap = fs::read(data("hprof-32.bin")).unwrap();
    let rules = "fail_above=suspects=0,live=1GB";
    let put = server.request("PUT", &format!("/api/v1/dumps?name=a&{rules}"), &[], &heap);
    assert_eq!(put.status, 201, "{}", put.text());
    let id = put.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/dumps/{id}");
    let dump = server.wait_for(&id, "done");
    assert_eq!(dump["rules"][1]["rule"], "live=1GB");
    assert_eq!(dump["rules"][1]["passed"], true, "{}", dump["rules"]);
    let patch = |rules: serde_json::Value| {
        let body = json!({"fail_above": rules}).to_string();
        let kind = [("content-type", "application/json")];
        server.request("PATCH", &path, &kind, body.as_bytes())
    };
    let changed = patch(json!(["live=1B"])).json();
    assert_eq!(changed["rules"][0]["passed"], false);
    patch(json!(["nonsense"])).assert_problem(400, "bad-request");
    patch(json!(vec!["live=1B"; 65])).assert_problem(400, "bad-request");
    assert_eq!(patch(json!([])).json()["rules"], json!([]));
    let wrong = server.request("PUT", "/api/v1/dumps?fail_above=x", &[], &heap);
    wrong.assert_problem(400, "bad-request");

    let profile = fs::read(data("cpu-samples.txt")).unwrap();
    let put = server.request("PUT", &format!("/api/v1/dumps?{rules}"), &[], &profile);
    let id = put.json()["id"].as_str().unwrap().to_owned();
    let dump = server.wait_for(&id, "done");
    assert_eq!(dump["rules"][0]["passed"], false);
    let sentence = dump["rules"][0]["sentence"].as_str().unwrap();
    assert!(sentence.contains("no heap dump"), "{sentence}");
}

/// Returns true if a text of the program is in any file of the server.
fn is_kept(folder: &Path, text: &[u8]) -> bool {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut entries = entries.map(|entry| entry.path());
    entries.any(|path| match path.is_dir() {
        true => is_kept(&path, text),
        false => {
            let bytes = fs::read(&path).unwrap_or_default();
            contains(&bytes, text)
        }
    })
}

/// A text of the dump's program, in UTF-16 as its strings have it.
const SECRET: &[u8] = b"\0u\0s\0e\0r\0.\0h\0o\0m\0e";

#[test]
fn a_server_that_strips_keeps_no_value_of_any_dump() {
    let scene = Scene::new();
    let root = scene.path("root");
    fs::create_dir(&root).unwrap();
    let heap = fs::read(data("hprof-32.bin")).unwrap();
    assert!(contains(&heap, SECRET));
    fs::write(root.join("heap.hprof"), &heap).unwrap();
    let flags = ["--strip", "--allow-root", root.to_str().unwrap()];
    let server = Server::start(&scene, &flags);
    let id = server.upload(Path::new(&data("hprof-32.bin")));
    let dump = server.wait_for(&id, "done");
    assert_eq!(
        (&dump["stripped"], &dump["note"]),
        (&true.into(), &"".into())
    );
    let from = json!({"path": root.join("heap.hprof")});
    let again = server.post("/api/v1/dumps", &from).json();
    assert_eq!(
        again["id"], id,
        "equal dumps are equal when they are stripped"
    );
    let copy = server.get(&format!("/api/v1/dumps/{id}/file")).body;
    // The lengths of names of threads change, and nothing else.
    assert!(copy.len().abs_diff(heap.len()) < 100, "{}", copy.len());
    assert!(!is_kept(&scene.path("serve"), SECRET));
    assert!(root.join("heap.hprof").exists());
    // Text has no values; it is kept as it is.
    let profile = server.upload(Path::new(&data("cpu-samples.txt")));
    assert_eq!(server.wait_for(&profile, "done")["stripped"], false);
}

#[test]
fn a_server_strips_by_its_policy_and_tells_what_it_did() {
    let scene = Scene::new();
    let heap = fs::read(data("hprof-32.bin")).unwrap();
    let policy = [
        "--strip-keep-strings",
        "--strip-drop",
        "java.lang.Thread",
        "--strip-redact-pattern",
        "user.home",
    ];
    let server = Server::start(&scene, &policy);
    let id = server.upload(Path::new(&data("hprof-32.bin")));
    let dump = server.wait_for(&id, "done");
    let step = &dump["strippings"][0];
    assert_eq!(
        (&dump["stripped"], &step["by"]),
        (&true.into(), &"server".into())
    );
    assert_eq!(step["rules"]["drop"], json!(["java.lang.Thread"]));
    assert!(step["figures"]["secrets"].as_u64() > Some(0), "{step}");
    let copy = server.get(&format!("/api/v1/dumps/{id}/file")).body;
    let has = |text: &[u8]| contains(&copy, text);
    // Texts stay, but those that the pattern tells of.
    assert!(has(b"\0u\0s\0e\0r\0.\0n\0a\0m\0e") && !has(SECRET));
    // Who asks for more than the server does gets it, and says nothing that the server did not do.
    let put =
        |query: &str| server.request("PUT", &format!("/api/v1/dumps?name=b&{query}"), &[], &heap);
    let dump = put("strip=true&stripped=%7B%22rules%22%3A%7B%22fields%22%3Atrue%7D%7D").json();
    let steps = dump["strippings"].as_array().unwrap();
    assert_eq!(
        (&steps[0]["by"], &steps[0]["rules"]["fields"]),
        (&"sender".into(), &true.into())
    );
    assert_eq!(
        (&steps[1]["by"], &steps[1]["rules"]["keep_strings"]),
        (&"server".into(), &false.into())
    );
    let id = dump["id"].as_str().unwrap();
    let copy = server.get(&format!("/api/v1/dumps/{id}/file")).body;
    assert!(!contains(&copy, b"\0u\0s\0e\0r\0.\0n\0a\0m\0e"));
    let claim = "/api/v1/dumps?name=c&stripped=%7B%22by%22%3A%22server%22%7D";
    let refused = server.request("PUT", claim, &[], b"JAVA");
    refused.assert_problem(400, "bad-request");
}

#[test]
fn an_upload_is_stripped_where_that_is_asked_for_and_a_damaged_one_says_so() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let heap = fs::read(data("hprof-32.bin")).unwrap();
    let put = |query: &str, body: &[u8]| {
        server.request("PUT", &format!("/api/v1/dumps?name=a&{query}"), &[], body)
    };
    put("strip=perhaps", &heap).assert_problem(400, "bad-request");
    let cut = put("strip=true", &heap[..heap.len() / 2]).json();
    let id = cut["id"].as_str().unwrap();
    assert_eq!(cut["stripped"], true, "{cut}");
    let note = cut["note"].as_str().unwrap();
    assert!(note.contains("cut short at byte"), "{note}");
    server.wait_for(id, "done");
    // Nothing of what cannot be stripped is kept.
    let garbage = [&[0x1f, 0x8b, 8, 0][..], &[7; 1000]].concat();
    put("strip=1", &garbage).assert_problem(422, "not-stripped");
    assert_eq!(fs::read_dir(scene.path("serve/parts")).unwrap().count(), 0);
    assert!(!is_kept(&scene.path("serve"), SECRET));
    assert_eq!(put("strip=false", &heap).json()["stripped"], false);
}
