//! Servers over object storage, as users meet them.

use std::fs;
use std::process::Command;
use std::sync::atomic::Ordering;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::s3::{Fault, KEY, S3, SECRET};
use crate::server::{Server, chain, eventually};
use crate::support::browser::Browser;
use crate::support::{Scene, data, run, stderr, stdout};
use crate::uploads::{begin, offset, send};

/// A server over the storage, with a cache of this name that is large enough.
fn server(scene: &Scene, cache: &str, environment: &[(String, String)]) -> Server {
    server_with(scene, cache, "200MB", environment)
}

/// A server over the storage, with a cache of this name and size.
fn server_with(scene: &Scene, cache: &str, size: &str, environment: &[(String, String)]) -> Server {
    let command = [
        "serve",
        "--folder",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--memory",
        "1G",
    ];
    let storage = [
        "--store",
        "s3://dumps/team",
        "--cache",
        cache,
        "--cache-size",
        size,
    ];
    let mut command = scene.hprof_rs(&command);
    command.args(storage).envs(environment.iter().cloned());
    Server::of_command(&mut command)
}

fn capture(scene: &Scene, server: &Server, arguments: &[&str]) -> Command {
    let url = format!("http://{}", server.address);
    let mut command = scene.hprof_rs(&["capture", "--server", &url]);
    command.args(arguments).env("HPROF_RS_TOKEN", &server.token);
    command
}

fn objects(s3: &S3, below: &str) -> usize {
    let folder = s3.folder.path().join("dumps/team").join(below);
    fs::read_dir(folder).map_or(0, |entries| entries.count())
}

#[test]
fn a_capture_goes_straight_to_the_storage_and_is_viewed_by_the_server() {
    let (scene, s3) = (Scene::new(), S3::start());
    let server = server(&scene, "first", &s3.environment(30));
    s3.faults.set(7, &[Fault::SlowDown, Fault::Internal]);
    let heap = data("hprof-32.bin");
    let output = run(&mut capture(&scene, &server, &[&heap]), "");
    s3.faults.set(0, &[]);
    let shown = stdout(&output) + &stderr(&output);
    assert!(output.status.success(), "{shown}");
    assert!(
        !shown.contains("Signature") && !shown.contains(KEY),
        "{shown}"
    );
    assert!(!shown.contains("sending to the server"), "{shown}");
    let link = stdout(&output);
    let id = link.trim().rsplit('/').next().unwrap().to_owned();
    assert_eq!((objects(&s3, "blobs"), objects(&s3, "uploads")), (1, 0));
    let path = format!("/api/v1/dumps/{id}");
    let dump = server.get(&path).json();
    assert_eq!(dump["job"]["state"], "done", "{dump}");
    assert_eq!(dump["bytes"], fs::metadata(&heap).unwrap().len());
    let overview = server.get(&format!("{path}/overview"));
    assert_eq!(overview.status, 200, "{}", overview.text());
    assert!(server.get(&format!("{path}/file")).body == fs::read(&heap).unwrap());
    // Through the server, it is the one that is there.
    let again = run(
        &mut capture(&scene, &server, &["--through-server", &heap]),
        "",
    );
    assert_eq!(stdout(&again).trim().rsplit('/').next().unwrap(), id);
    assert_eq!(objects(&s3, "blobs"), 1);
    drop(server);
    // A server that has nothing on its disk fetches dump and index, whatever fails on the way.
    let server = self::server(&scene, "second", &s3.environment(2));
    s3.faults
        .set(3, &[Fault::Truncated, Fault::Flipped, Fault::Silence]);
    let again = server.get(&format!("{path}/overview"));
    s3.faults.set(0, &[]);
    assert_eq!(again.json(), overview.json());
    assert_eq!(server.request("DELETE", &path, &[], b"").status, 204);
    eventually("the objects go", || {
        let left = objects(&s3, "blobs") + objects(&s3, "dumps");
        (left == 0).then_some(())
    });
}

#[test]
fn an_upload_whose_end_the_storage_refuses_is_completed_later() {
    let (scene, s3) = (Scene::new(), S3::start());
    let server = server(&scene, "first", &s3.environment(30));
    let bytes = fs::read(data("hprof-32.bin")).unwrap();
    let path = begin(&server, bytes.len());
    s3.faults.set(1, &[Fault::Refused]);
    let answer = send(&server, &path, 0, &bytes);
    answer.assert_problem(503, "storage-refuses");
    // As a sender does that has lost this answer.
    assert_eq!(offset(&server, &path), bytes.len());
    s3.faults.set(0, &[]);
    let answer = send(&server, &path, bytes.len(), b"");
    assert_eq!(answer.status, 204, "{}", answer.text());
    server.wait_for(answer.header("hprof-dump"), "done");
    assert_eq!(offset(&server, &path), bytes.len());
    let parts = scene.path("first/parts");
    assert_eq!(fs::read_dir(parts).unwrap().count(), 0);
}

#[test]
fn what_is_no_dump_is_refused_and_leaves_nothing_in_the_storage() {
    let (scene, s3) = (Scene::new(), S3::start());
    let server = server(&scene, "first", &s3.environment(30));
    fs::write(scene.path("other.json"), "{\"no\": \"dump\"}").unwrap();
    let output = run(&mut capture(&scene, &server, &["other.json"]), "");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("JSON"), "{}", stderr(&output));
    assert_eq!((objects(&s3, "blobs"), objects(&s3, "uploads")), (0, 0));
}

#[test]
fn a_wrong_key_ends_the_start_and_is_not_repeated() {
    let (scene, s3) = (Scene::new(), S3::start());
    let mut environment = s3.environment(5);
    environment.push((
        "AWS_SECRET_ACCESS_KEY".to_owned(),
        "not-the-secret".to_owned(),
    ));
    let command = ["serve", "--folder", "serve", "--store", "s3://dumps/team"];
    let output = run(scene.hprof_rs(&command).envs(environment), "");
    assert!(!output.status.success());
    let said = stderr(&output);
    assert!(said.contains("refuses"), "{said}");
    for key in [KEY, SECRET, "not-the-secret"] {
        assert!(!said.contains(key), "{said}");
    }
}

#[test]
fn a_wrong_sha256_fails_the_job_before_the_analysis() {
    let (scene, s3) = (Scene::new(), S3::start());
    let server = server(&scene, "first", &s3.environment(30));
    let bytes = fs::read(data("hprof-32.bin")).unwrap();
    let file = json!({"name": "heap.hprof", "length": bytes.len()});
    let begun = server.post("/api/v1/direct-uploads", &file).json();
    let path = format!("/api/v1/direct-uploads/{}", begun["id"].as_str().unwrap());
    let wanted = json!({"pieces": [1]});
    let found = server.post(&format!("{path}/addresses"), &wanted).json();
    let address = found["addresses"][0].as_str().unwrap();
    assert!(address.starts_with(begun["origin"].as_str().unwrap()));
    let sent = server.agent.put(address).send(&bytes[..]).unwrap();
    let etag = sent.headers()["etag"].to_str().unwrap();
    let completion = json!({"etags": [etag], "sha256": "0".repeat(64)});
    let dump = server.post(&format!("{path}/complete"), &completion);
    assert_eq!(dump.status, 201, "{}", dump.text());
    let id = "0".repeat(16);
    let error = server.wait_for(&id, "failed")["job"]["error"].take();
    assert!(
        error["detail"].as_str().unwrap().contains("SHA-256"),
        "{error}"
    );
    assert_eq!(error["can_retry"], false);
}

/// The bytes of all files below a folder's `dumps` and `analyses`.
fn cached(folder: &std::path::Path) -> u64 {
    let below = |name: &str| fs::read_dir(folder.join(name)).unwrap().flatten();
    let size = |path: std::path::PathBuf| match path.is_dir() {
        true => fs::read_dir(path)
            .unwrap()
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum(),
        false => path.metadata().unwrap().len(),
    };
    let all = below("dumps").chain(below("analyses"));
    all.map(|entry| size(entry.path())).sum::<u64>()
}

#[test]
fn a_report_is_sent_without_fetching_the_dump_and_its_index() {
    let (scene, s3) = (Scene::new(), S3::start());
    let first = server(&scene, "first", &s3.environment(30));
    let output = run(&mut capture(&scene, &first, &[&data("hprof-32.bin")]), "");
    let link = stdout(&output);
    let id = link.trim().rsplit('/').next().unwrap();
    let paths = ["report", "report.html"].map(|name| format!("/api/v1/dumps/{id}/{name}"));
    let of_first = paths.each_ref().map(|path| first.get(path));
    drop(first);
    let second = server(&scene, "second", &s3.environment(30));
    for (path, of_first) in paths.iter().zip(&of_first) {
        let sent = second.get(path);
        assert_eq!((sent.status, of_first.status), (200, 200), "{path}");
        assert!(
            sent.body == of_first.body && !sent.body.is_empty(),
            "{path}"
        );
        for name in ["content-type", "content-disposition", "content-length"] {
            assert_eq!(sent.header(name), of_first.header(name), "{path}: {name}");
        }
    }
    assert_eq!(cached(&scene.path("second")), 0);
    let none = second.get(&format!("/api/v1/dumps/{}/report", "0".repeat(id.len())));
    assert_eq!(none.status, 404);
}

#[test]
fn a_view_closes_others_that_nobody_looks_at_when_the_cache_is_full() {
    let (scene, s3) = (Scene::new(), S3::start());
    let first = server(&scene, "first", &s3.environment(30));
    let mut bytes = fs::read(data("hprof-32.bin")).unwrap();
    // The time in its head.
    bytes[30] ^= 1;
    fs::write(scene.path("other.hprof"), &bytes).unwrap();
    let ids = [data("hprof-32.bin"), "other.hprof".to_owned()].map(|file| {
        let output = run(&mut capture(&scene, &first, &[&file]), "");
        stdout(&output)
            .trim()
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned()
    });
    drop(first);
    let room = (cached(&scene.path("first")) * 7 / 10).to_string();
    let small = server_with(&scene, "small", &room, &s3.environment(30));
    for id in ids.iter().chain(&ids) {
        let view = small.get(&format!("/api/v1/dumps/{id}/overview"));
        assert_eq!(view.status, 200, "{}", view.text());
        let limit: u64 = room.parse().unwrap();
        assert!(cached(&scene.path("small")) <= limit);
    }
}

#[test]
fn bytes_that_somebody_announced_wrongly_give_way_to_the_right_ones() {
    let (scene, s3) = (Scene::new(), S3::start());
    let server = server(&scene, "first", &s3.environment(30));
    let heap = data("hprof-32.bin");
    let right = fs::read(&heap).unwrap();
    let sha256: String = Sha256::digest(&right)
        .iter()
        .map(|it| format!("{it:02x}"))
        .collect();
    let wrong = [b"JAVA PROFILE 1.0.2\0", &[0; 1000][..]].concat();
    let occupy = || {
        let file = json!({"name": "wrong.hprof", "length": wrong.len()});
        let begun = server.post("/api/v1/direct-uploads", &file).json();
        let path = format!("/api/v1/direct-uploads/{}", begun["id"].as_str().unwrap());
        let wanted = json!({"pieces": [1]});
        let found = server.post(&format!("{path}/addresses"), &wanted).json();
        let address = found["addresses"][0].as_str().unwrap();
        let sent = server.agent.put(address).send(&wrong[..]).unwrap();
        let etag = sent.headers()["etag"].to_str().unwrap();
        let completion = json!({"etags": [etag], "sha256": sha256});
        let dump = server.post(&format!("{path}/complete"), &completion);
        assert_eq!(dump.status, 201, "{}", dump.text());
        server.wait_for(&sha256[..16], "failed");
    };
    for through in [&["--through-server"][..], &[]] {
        occupy();
        let output = run(
            &mut capture(&scene, &server, &[through, &[&*heap]].concat()),
            "",
        );
        assert!(output.status.success(), "{through:?}: {}", stderr(&output));
        let path = format!("/api/v1/dumps/{}", &sha256[..16]);
        assert_eq!(
            server.get(&path).json()["job"]["state"],
            "done",
            "{through:?}"
        );
        assert!(
            server.get(&format!("{path}/file")).body == right,
            "{through:?}"
        );
        assert_eq!(server.request("DELETE", &path, &[], b"").status, 204);
    }
}

#[test]
fn a_browser_sends_its_file_straight_to_the_storage() {
    let Some(browser) = Browser::open(1280, 800) else {
        return;
    };
    let (scene, s3) = (Scene::new(), S3::start());
    let server = server(&scene, "first", &s3.environment(30));
    browser.visit(&format!(
        "http://{}/?token={}",
        server.address, server.token
    ));
    let page = server.get("/");
    let policy = page.header("content-security-policy");
    let origin = s3.environment(30)[0].1.clone();
    assert!(
        policy.contains(&format!("connect-src 'self' {origin};")),
        "{policy}"
    );
    assert_eq!(server.get("/api/v1/server").json()["direct_uploads"], true);
    let list = server.get("/api/v1/dumps");
    let of_data = list.header("content-security-policy");
    assert!(!of_data.contains(&origin), "{of_data}");
    // Three pieces, of which the storage refuses some at first.
    let heap = chain(&scene.path("chain.hprof"), 1_700_000);
    let length = fs::metadata(&heap).unwrap().len();
    assert!(length > 2 * (16 << 20), "{length}");
    s3.faults.set(4, &[Fault::SlowDown, Fault::Internal]);
    browser.wait_for("!!document.querySelector('#files')");
    browser.type_into("#files", &heap.display().to_string());
    eventually("the dump", || {
        let dumps = server.get("/api/v1/dumps").json();
        (dumps["items"][0]["name"] == "chain.hprof").then_some(())
    });
    s3.faults.set(0, &[]);
    let dump = server.get("/api/v1/dumps").json()["items"][0].take();
    let id = dump["id"].as_str().unwrap();
    assert_eq!(dump["bytes"], length);
    assert!(s3.faults.from_pages.load(Ordering::Relaxed) >= 3);
    assert_eq!((objects(&s3, "blobs"), objects(&s3, "uploads")), (1, 0));
    // The worker has compared the page's SHA-256.
    server.wait_for(id, "done");
    let sha256 = Sha256::digest(fs::read(&heap).unwrap());
    let sha256: String = sha256.iter().map(|it| format!("{it:02x}")).collect();
    assert_eq!(dump["sha256"], sha256);
    assert_eq!(
        fs::read_dir(scene.path("serve/parts")).map_or(0, Iterator::count),
        0
    );
    assert_eq!(browser.inaccessible(), [] as [String; 0]);
}

#[test]
fn a_page_whose_bytes_pass_through_the_server_may_ask_nobody_else() {
    let (scene, s3) = (Scene::new(), S3::start());
    let command = [
        "serve",
        "--folder",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--memory",
        "1G",
    ];
    let mut command = scene.hprof_rs(&command);
    command.args(["--store", "s3://dumps/team", "--strip-redact"]);
    let stripping = Server::of_command(command.envs(s3.environment(30)));
    let page = stripping.get("/");
    let policy = page.header("content-security-policy");
    assert!(policy.contains("connect-src 'self';"), "{policy}");
    assert_eq!(
        stripping.get("/api/v1/server").json()["direct_uploads"],
        false
    );
    let file = json!({"name": "heap.hprof", "length": 1});
    stripping
        .post("/api/v1/direct-uploads", &file)
        .assert_problem(409, "no-direct-upload");
}
