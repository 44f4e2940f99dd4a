//! `kill -9` of worker and server in each phase of a job, and a disk that fills up in each.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use java_test_harness::rights;
use serde_json::Value;

use crate::server::{Server, advance, chain, eventually, is_running, signal};
use crate::support::{Scene, data};

/// The phases of a heap dump's job after the queue.
const PHASES: [&str; 5] = ["reading", "graph", "dominators", "index", "report"];
/// Objects of a dump, enough to see each phase.
const OBJECTS: u32 = 120_000;

/// Checks that the analysis of a chain of objects is whole.
#[track_caller]
fn assert_whole(server: &Server, dump: &Value, objects: u32) {
    assert_eq!(
        dump["summary"]["live_objects"],
        u64::from(objects) + 2,
        "{dump}"
    );
    let id = dump["id"].as_str().unwrap();
    let report = server.get(&format!("/api/v1/dumps/{id}/report")).json();
    assert_eq!(report["summary"]["live_objects"], u64::from(objects) + 2);
    assert_eq!(
        report["notes"],
        serde_json::json!([]),
        "{}",
        report["notes"]
    );
    let tree = server.get(&format!("/api/v1/dumps/{id}/dominators?by=object"));
    assert_eq!(tree.status, 200, "{}", tree.text());
}

fn attempts(scene: &Scene) -> usize {
    fs::read_dir(scene.path("serve/attempts")).unwrap().count()
}

#[test]
fn a_worker_that_is_killed_in_any_phase_is_started_once_more() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--jobs", "1"]);
    for (number, phase) in PHASES.into_iter().enumerate() {
        let objects = OBJECTS + number as u32;
        let id = server.upload(&chain(&scene.path("chain.hprof"), objects));
        let worker = advance(&server, &id, phase);
        signal(worker, libc::SIGKILL);
        let dump = server.wait_for(&id, "done");
        assert_eq!(dump["job"]["attempt"], 2, "{phase}");
        assert_whole(&server, &dump, objects);
        assert_eq!(attempts(&scene), 0, "{phase}");
    }
}

#[test]
fn a_server_that_is_killed_in_any_phase_continues_at_its_next_start() {
    let scene = Scene::new();
    let mut server = Server::start(&scene, &["--jobs", "1"]);
    for (number, phase) in ["queued"].into_iter().chain(PHASES).enumerate() {
        let objects = OBJECTS + number as u32;
        let other = match phase {
            // One before it, whose worker is stopped, keeps it in the queue.
            "queued" => {
                let other = server.upload(&chain(&scene.path("other.hprof"), OBJECTS * 2));
                let worker = server.worker();
                signal(worker, libc::SIGSTOP);
                Some((other, worker))
            }
            _ => None,
        };
        let id = server.upload(&chain(&scene.path("chain.hprof"), objects));
        let (worker, attempt) = match &other {
            &Some((_, worker)) => (worker, 1),
            None => (advance(&server, &id, phase), 2),
        };
        if other.is_some() {
            assert_eq!(server.dump(&id)["job"]["state"], "queued");
        }
        server.kill();
        eventually("the end of the worker", || {
            (!is_running(worker)).then_some(())
        });
        server = Server::start(&scene, &["--jobs", "1"]);
        let dump = server.wait_for(&id, "done");
        assert_eq!(dump["job"]["attempt"], attempt, "{phase}");
        assert_whole(&server, &dump, objects);
        if let Some((other, _)) = other {
            assert_whole(&server, &server.wait_for(&other, "done"), OBJECTS * 2);
        }
        assert_eq!(attempts(&scene), 0, "{phase}");
    }
}

/// A disk of 160 MB in a mount namespace of the server's own, as far as the machine allows that.
struct SmallDisk {
    scene: Scene,
    server: Server,
}

/// The command that gives a program a mount namespace, if there is one.
fn unshare() -> Option<Vec<&'static str>> {
    let as_root = vec!["unshare", "--mount"];
    let as_user = vec!["unshare", "--user", "--map-root-user", "--mount"];
    let works = |words: &Vec<&str>| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command.args(["sh", "-c", "mount -t tmpfs tmpfs /mnt"]);
        command.output().is_ok_and(|it| it.status.success())
    };
    let found = [as_root, as_user].into_iter().find(works);
    if found.is_none() {
        rights::may(
            &mut Command::new("false"),
            "to mount a small disk (unshare, mount)",
        );
    }
    found
}

impl SmallDisk {
    fn new() -> Option<Self> {
        let words = unshare()?;
        let scene = Scene::new();
        fs::create_dir(scene.path("disk")).unwrap();
        let serve = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--memory",
            "1G",
            "--jobs",
            "1",
        ];
        let inner = scene.hprof_rs(&serve);
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .args(["sh", "-c"])
            .arg("mount -t tmpfs -o size=160m tmpfs disk && exec \"$0\" \"$@\"")
            .arg(inner.get_program())
            .args(inner.get_args())
            .args(["--folder", "disk/serve"])
            .current_dir(scene.path(""));
        let server = Server::of_command(&mut command);
        Some(Self { scene, server })
    }

    /// A path on the disk, as this process sees it.
    fn path(&self, name: &str) -> PathBuf {
        let inside = self.scene.path("disk").join(name);
        let root = format!("/proc/{}/root", self.server.pid());
        Path::new(&root).join(inside.strip_prefix("/").unwrap())
    }

    /// Takes all room but N bytes.
    fn fill(&self, but: u64) {
        let mut file = File::create(self.path("filler")).unwrap();
        let block = vec![1; 64 << 10];
        while file.write_all(&block).is_ok() {}
        let length = file.metadata().unwrap().len();
        file.set_len(length.saturating_sub(but)).unwrap();
    }

    fn free(&self) {
        fs::remove_file(self.path("filler")).unwrap();
    }

    fn entries(&self, folder: &str) -> usize {
        fs::read_dir(self.path("serve").join(folder))
            .unwrap()
            .count()
    }
}

#[test]
fn an_upload_to_a_full_disk_is_refused_and_continues_when_there_is_room() {
    let Some(disk) = SmallDisk::new() else {
        return;
    };
    let server = &disk.server;
    let bytes = fs::read(chain(&disk.scene.path("chain.hprof"), 200_000)).unwrap();
    let length = bytes.len().to_string();
    let tus = ("tus-resumable", "1.0.0");
    let begin = [tus, ("upload-length", length.as_str())];
    let created = server.request("POST", "/api/v1/uploads", &begin, b"");
    assert_eq!(created.status, 201, "{}", created.text());
    let path = created.header("location").to_owned();
    disk.fill(1 << 20);
    // What announces its length is refused at once, the rest when the disk is full.
    let put = server.request("PUT", "/api/v1/dumps?name=a", &[], &bytes);
    put.assert_problem(507, "disk-full");
    let again = server.request("POST", "/api/v1/uploads", &begin, b"");
    again.assert_problem(507, "disk-full");
    let kind = ("content-type", "application/offset+octet-stream");
    let piece = [tus, kind, ("upload-offset", "0")];
    let sent = server.request("PATCH", &path, &piece, &bytes);
    sent.assert_problem(507, "disk-full");
    assert_eq!(disk.entries("dumps"), 0);
    disk.free();
    let told = server.request("HEAD", &path, &[tus], b"");
    let offset: usize = told.header("upload-offset").parse().unwrap();
    assert!(offset > 0 && offset < bytes.len(), "{offset}");
    let from = offset.to_string();
    let piece = [tus, kind, ("upload-offset", from.as_str())];
    let sent = server.request("PATCH", &path, &piece, &bytes[offset..]);
    assert_eq!(sent.status, 204, "{}", sent.text());
    let dump = server.wait_for(sent.header("hprof-dump"), "done");
    assert_whole(server, &dump, 200_000);
    assert_eq!(disk.entries("parts"), 0);
}

#[test]
fn a_job_for_which_the_disk_becomes_full_fails_with_the_reason_and_can_be_retried() {
    let Some(disk) = SmallDisk::new() else {
        return;
    };
    let server = &disk.server;
    for (number, phase) in ["queued", "graph", "report"].into_iter().enumerate() {
        let objects = OBJECTS + number as u32;
        let file = chain(&disk.scene.path("chain.hprof"), objects);
        let id = if phase == "queued" {
            disk.fill(40 << 20);
            server.upload(&file)
        } else {
            let id = server.upload(&file);
            let worker = advance(server, &id, phase);
            // The catalogue needs a little, the index and the report need more.
            disk.fill(if phase == "graph" {
                256 << 10
            } else {
                32 << 10
            });
            signal(worker, libc::SIGCONT);
            id
        };
        // On a full disk the catalogue may have to wait until the attempt's files are gone.
        let failed = server.wait_for(&id, "failed");
        let error = &failed["job"]["error"];
        assert_eq!(error["title"], "The disk is full", "{phase}: {error}");
        assert_eq!(error["can_retry"], true);
        let report = server.get(&format!("/api/v1/dumps/{id}/report"));
        report.assert_problem(409, "not-ready");
        assert_eq!(disk.entries("attempts"), 0, "{phase}");
        disk.free();
        let job = failed["job"]["id"].as_i64().unwrap();
        let retried = server.request("POST", &format!("/api/v1/jobs/{job}/retry"), &[], b"");
        assert_eq!(retried.status, 200, "{}", retried.text());
        assert_whole(server, &server.wait_for(&id, "done"), objects);
        let path = format!("/api/v1/dumps/{id}");
        assert_eq!(server.request("DELETE", &path, &[], b"").status, 204);
    }
    // The small file still fits, and the server still works.
    let id = server.upload(Path::new(&data("cpu-samples.txt")));
    server.wait_for(&id, "done");
}
