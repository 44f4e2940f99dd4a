//! Dumps: in, analysed, shown, changed, out.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::server::Server;
use crate::support::{Scene, data};

fn known() -> String {
    data("hprof-32.bin")
}

#[test]
fn an_upload_becomes_a_report_and_events_tell_how_far_it_is() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let events = format!("http://{}/api/v1/events", server.address);
    let events = server.agent.get(&events);
    let bearer = format!("Bearer {}", server.token);
    let events = events.header("authorization", bearer).call().unwrap();
    let mut lines = BufReader::new(events.into_body().into_reader()).lines();

    let id = server.upload(Path::new(&known()));
    let mut states = Vec::new();
    let mut phases = Vec::new();
    let mut headline = Value::Null;
    while headline.is_null() {
        let line = lines.next().expect("another event").unwrap();
        let Some(data) = line.strip_prefix("data: ") else {
            continue;
        };
        let event: Value = serde_json::from_str(data).unwrap();
        if event["dump"] == id.as_str() {
            states.push(event["state"].as_str().unwrap().to_owned());
            phases.extend(event["phase"].as_str().map(str::to_owned));
        } else {
            assert_eq!(event["id"], id.as_str());
            headline = event["headline"].clone();
        }
    }
    states.dedup();
    phases.dedup();
    assert_eq!(states, ["queued", "running", "done"]);
    for phase in ["reading", "graph", "dominators", "report"] {
        assert!(phases.iter().any(|it| it == phase), "{phase}: {phases:?}");
    }

    let dump = server.wait_for(&id, "done");
    assert_eq!(dump["kind"], "heap");
    assert_eq!(dump["headline"], headline);
    assert_eq!(dump["name"], "hprof-32.bin");
    let report = server.get(&format!("/api/v1/dumps/{id}/report"));
    assert_eq!(report.json()["summary"], dump["summary"]);
    assert_eq!(report.json()["file"], "hprof-32.bin");
    let page = server.get(&format!("/api/v1/dumps/{id}/report.html"));
    assert!(page.text().starts_with("<!"), "{}", page.text());
    assert!(page.header("content-disposition").starts_with("attachment"));
    // Views of the finished analysis answer.
    let overview = server.get(&format!("/api/v1/dumps/{id}/overview"));
    assert_eq!(overview.status, 200, "{}", overview.text());
}

#[test]
fn equal_bytes_are_kept_once_and_come_back_as_they_were() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let one = server.upload(Path::new(&known()));
    let two = server.upload(Path::new(&known()));
    assert_eq!(one, two);
    let list = server.get("/api/v1/dumps").json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(fs::read_dir(scene.path("serve/dumps")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(scene.path("serve/parts")).unwrap().count(), 0);
    let bytes = fs::read(known()).unwrap();
    let path = format!("/api/v1/dumps/{one}/file");
    assert!(server.get(&path).body == bytes);
    let range = server.request("GET", &path, &[("range", "bytes=100-199")], b"");
    assert_eq!(range.status, 206);
    assert!(range.body == bytes[100..200]);
    assert_eq!(
        range.header("content-range"),
        format!("bytes 100-199/{}", bytes.len())
    );
}

#[test]
fn compressed_dumps_and_profiles_are_taken() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let packed = scene.path("heap.hprof.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&fs::read(known()).unwrap()).unwrap();
    fs::write(&packed, encoder.finish().unwrap()).unwrap();
    let heap = server.upload(&packed);
    let profile = server.upload(Path::new(&data("cpu-samples.txt")));
    assert_eq!(server.wait_for(&heap, "done")["kind"], "heap");
    let profile = server.wait_for(&profile, "done");
    assert_eq!(profile["kind"], "profile");
    let headline = profile["headline"].as_str().unwrap();
    assert!(headline.starts_with("CPU samples: "), "{headline}");
    // The next question needs no unpacking.
    let unpacked = scene.path(&format!("serve/analyses/{heap}/unpacked"));
    assert_eq!(fs::read(unpacked).unwrap(), fs::read(known()).unwrap());
    let overview = server.get(&format!("/api/v1/dumps/{heap}/overview"));
    assert_eq!(overview.status, 200, "{}", overview.text());
}

#[test]
fn files_of_the_command_line_and_of_allowed_folders_are_added_without_a_copy() {
    use std::os::unix::fs::MetadataExt;
    let scene = Scene::new();
    let root = scene.path("root");
    fs::create_dir_all(root.join("below")).unwrap();
    let file = root.join("below/a.hprof");
    fs::copy(known(), &file).unwrap();
    let given = scene.path("given.txt");
    fs::copy(data("cpu-samples.txt"), &given).unwrap();
    let flags = ["given.txt", "--allow-root", root.to_str().unwrap()];
    let server = Server::start(&scene, &flags);
    let answer = server.post("/api/v1/dumps", &json!({"path": file, "name": "b.hprof"}));
    assert_eq!(answer.status, 201, "{}", answer.text());
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(answer.json()["name"], "b.hprof");
    server.wait_for(&id, "done");
    let kept = fs::metadata(scene.path(&format!("serve/dumps/{id}"))).unwrap();
    assert_eq!(kept.ino(), fs::metadata(&file).unwrap().ino());
    // The user's own file stays when the dump goes.
    let deleted = server.request("DELETE", &format!("/api/v1/dumps/{id}"), &[], b"");
    assert_eq!(deleted.status, 204);
    assert!(file.exists());
    let list = crate::server::eventually("the file of the command line", || {
        let list = server.get("/api/v1/dumps").json();
        (list["items"].as_array().unwrap().len() == 1).then_some(list)
    });
    assert_eq!(list["items"][0]["name"], "given.txt");
}

#[test]
fn dumps_are_changed_listed_in_pages_and_deleted() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--jobs", "2"]);
    let names = ["cpu-samples.txt", "monitor.txt", "cpu-times-thread.txt"];
    let ids = names.map(|name| server.upload(Path::new(&data(name))));
    let change = json!({"note": "50 % off", "labels": {"service": "shop"}, "pinned": true});
    let kind = [("content-type", "application/json")];
    let path = format!("/api/v1/dumps/{}", ids[1]);
    let changed = server.request("PATCH", &path, &kind, change.to_string().as_bytes());
    assert_eq!(changed.json()["note"], "50 % off");
    assert_eq!(changed.json()["pinned"], true);
    assert_eq!(changed.json()["name"], "monitor.txt");
    for (query, count) in [
        ("50%25", 0),
        ("50%20%25", 1),
        ("shop", 1),
        ("CPU-", 2),
        ("", 3),
    ] {
        let found = server.get(&format!("/api/v1/dumps?q={query}")).json();
        assert_eq!(
            found["items"].as_array().unwrap().len(),
            count,
            "{query}: {found}"
        );
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    for _ in 0..3 {
        let page = server.get(&format!("/api/v1/dumps?limit=1{cursor}")).json();
        seen.push(page["items"][0]["id"].as_str().unwrap().to_owned());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => cursor.clear(),
        }
    }
    assert_eq!(cursor, "", "the third page is the last");
    seen.sort();
    let mut all = ids.to_vec();
    all.sort();
    assert_eq!(seen, all);
    let renamed = json!({"name": "../a\u{0}\u{1b}b"}).to_string();
    let renamed = server.request("PATCH", &path, &kind, renamed.as_bytes());
    assert_eq!(renamed.json()["name"], "ab", "{}", renamed.text());
    let unknown = server.request("PATCH", &path, &kind, br#"{"bytes": 0}"#);
    unknown.assert_problem(400, "bad-request");
    assert_eq!(server.request("DELETE", &path, &[], b"").status, 204);
    server.get(&path).assert_problem(404, "not-found");
    server
        .request("DELETE", &path, &[], b"")
        .assert_problem(404, "not-found");
    assert!(!scene.path(&format!("serve/dumps/{}", ids[1])).exists());
}

#[test]
fn what_is_neither_dump_nor_profile_is_refused_with_a_sentence() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    for (bytes, word) in [
        (&b"{\"a\": 1}"[..], "JSON"),
        (b"\x7fELF\x02\x01", "ELF"),
        (b"", "dump"),
    ] {
        let answer = server.request("PUT", "/api/v1/dumps?name=x", &[], bytes);
        answer.assert_problem(415, "not-a-dump");
        assert!(answer.text().contains(word), "{}", answer.text());
    }
    assert_eq!(fs::read_dir(scene.path("serve/parts")).unwrap().count(), 0);
    assert_eq!(server.get("/api/v1/dumps").json()["items"], json!([]));
}

#[test]
fn the_description_names_every_route_and_the_page_is_at_its_own_addresses() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let document = server.get("/api/v1/openapi.json").json();
    for path in [
        "/api/v1/server",
        "/api/v1/dumps",
        "/api/v1/dumps/{id}",
        "/api/v1/dumps/{id}/file",
        "/api/v1/jobs/{id}/cancel",
        "/api/v1/uploads/{id}",
        "/api/v1/events",
        "/api/v1/dumps/{id}/histogram",
    ] {
        assert!(document["paths"][path].is_object(), "{path}");
    }
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for name in ["Dump", "Job", "Problem"] {
        assert!(schemas.contains_key(name), "{name}");
    }
    let packed = [("accept-encoding", "gzip")];
    let packed = server.request("GET", "/api/v1/openapi.json", &packed, b"");
    assert_eq!(packed.header("content-encoding"), "gzip");
    let page = server.get("/");
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(
        server.get("/dumps/0a1b2c3d4e5f6071/histogram").body,
        page.body
    );
    server
        .get("/api/v1/nothing")
        .assert_problem(404, "not-found");
    server
        .get("/assets/nothing.js")
        .assert_problem(404, "not-found");
    server
        .request("DELETE", "/api/v1/server", &[], b"")
        .assert_problem(405, "method-not-allowed");
    assert_eq!(server.get("/healthz").text(), "ok\n");
    let metrics = server.get("/metrics").text();
    assert!(metrics.contains("\nhprof_rs_dumps 0\n"), "{metrics}");
}

#[test]
fn an_idle_server_takes_little_memory() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let id = server.upload(Path::new(&known()));
    server.wait_for(&id, "done");
    let mut status = String::new();
    let mut file = fs::File::open(format!("/proc/{}/status", server.pid())).unwrap();
    file.read_to_string(&mut status).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("RssAnon:"))
        .unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kilobytes < 40_000, "{line}");
}
