//! Workers and servers that are killed, files that are damaged: no job is lost, none is stuck.

use std::fs;
use std::path::Path;

use crate::server::{Server, chain, eventually, is_running, signal};
use crate::support::{Scene, data, run, stderr};

/// Objects of a dump whose analysis takes a second or more.
const MANY: u32 = 600_000;

#[test]
fn a_job_survives_kill_9_of_its_worker_and_fails_when_that_happens_again() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--jobs", "1"]);
    let id = server.upload(&chain(&scene.path("chain.hprof"), MANY));
    let first = server.worker();
    signal(first, libc::SIGKILL);
    let second = eventually("the second attempt", || {
        server.workers().into_iter().find(|pid| *pid != first)
    });
    assert_eq!(server.dump(&id)["job"]["attempt"], 2);
    signal(second, libc::SIGKILL);
    let dump = server.wait_for(&id, "failed");
    let error = &dump["job"]["error"];
    assert_eq!(error["title"], "The worker was killed", "{error}");
    assert_eq!(error["can_retry"], true);
    let report = server.get(&format!("/api/v1/dumps/{id}/report"));
    report.assert_problem(409, "not-ready");
    assert_eq!(
        fs::read_dir(scene.path("serve/attempts")).unwrap().count(),
        0
    );

    let job = dump["job"]["id"].as_i64().unwrap();
    let retried = server.request("POST", &format!("/api/v1/jobs/{job}/retry"), &[], b"");
    assert_eq!(retried.status, 200, "{}", retried.text());
    let dump = server.wait_for(&id, "done");
    assert_eq!(dump["job"]["attempt"], 3);
    assert_eq!(dump["summary"]["live_objects"], u64::from(MANY) + 2);
}

#[test]
fn a_job_survives_kill_9_of_the_server_and_its_worker_goes_with_it() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--jobs", "1"]);
    let id = server.upload(&chain(&scene.path("chain.hprof"), MANY));
    let waiting = server.upload(Path::new(&data("hprof-32.bin")));
    let worker = server.worker();
    assert_eq!(server.dump(&waiting)["job"]["state"], "queued");
    server.kill();
    eventually("the end of the worker", || {
        (!is_running(worker)).then_some(())
    });

    let server = Server::start(&scene, &["--jobs", "1"]);
    let dump = server.wait_for(&id, "done");
    assert_eq!(dump["job"]["attempt"], 2);
    assert_eq!(server.wait_for(&waiting, "done")["job"]["attempt"], 1);
    assert_eq!(
        fs::read_dir(scene.path("serve/attempts")).unwrap().count(),
        0
    );
}

#[test]
fn a_server_that_is_asked_to_end_ends_its_workers_and_continues_later() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--jobs", "1"]);
    let id = server.upload(&chain(&scene.path("chain.hprof"), MANY));
    let worker = server.worker();
    server.terminate();
    assert!(!is_running(worker));
    let server = Server::start(&scene, &[]);
    server.wait_for(&id, "done");
}

#[test]
fn a_job_is_cancelled_whether_it_runs_or_waits() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--jobs", "1"]);
    let running = server.upload(&chain(&scene.path("chain.hprof"), MANY));
    let waiting = server.upload(Path::new(&data("hprof-32.bin")));
    let worker = server.worker();
    for id in [&waiting, &running] {
        let job = server.dump(id)["job"]["id"].as_i64().unwrap();
        let path = format!("/api/v1/jobs/{job}/cancel");
        assert_eq!(
            server.request("POST", &path, &[], b"").json()["state"],
            "cancelled"
        );
        let again = server.request("POST", &path, &[], b"");
        again.assert_problem(409, "conflict");
    }
    eventually("the end of the worker", || {
        (!is_running(worker)).then_some(())
    });
    assert_eq!(
        server.get("/api/v1/jobs?state=cancelled").json()["items"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    eventually("the files of the attempt", || {
        let left = fs::read_dir(scene.path("serve/attempts")).unwrap().count();
        (left == 0).then_some(())
    });
    // The queue continues.
    let id = server.upload(Path::new(&data("cpu-samples.txt")));
    server.wait_for(&id, "done");
}

#[test]
fn a_dump_that_is_deleted_while_it_is_analysed_leaves_nothing() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--jobs", "1"]);
    let id = server.upload(&chain(&scene.path("chain.hprof"), MANY));
    let worker = server.worker();
    let path = format!("/api/v1/dumps/{id}");
    assert_eq!(server.request("DELETE", &path, &[], b"").status, 204);
    eventually("the end of the worker", || {
        (!is_running(worker)).then_some(())
    });
    eventually("an empty folder", || {
        let folders = ["dumps", "analyses", "attempts", "parts"];
        let left = |name: &str| {
            fs::read_dir(scene.path("serve").join(name))
                .unwrap()
                .count()
        };
        (folders.into_iter().map(left).sum::<usize>() == 0).then_some(())
    });
}

#[test]
fn a_truncated_dump_is_analysed_as_far_as_it_goes_and_garbage_fails_with_a_reason() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let bytes = fs::read(data("hprof-32.bin")).unwrap();
    let cut = scene.path("cut.hprof");
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let cut = server.upload(&cut);
    let garbage = scene.path("garbage.hprof.gz");
    fs::write(&garbage, [&[0x1f, 0x8b, 8, 0][..], &[7; 1000]].concat()).unwrap();
    let garbage = server.upload(&garbage);
    server.wait_for(&cut, "done");
    let report = server.get(&format!("/api/v1/dumps/{cut}/report")).json();
    assert!(
        !report["notes"].as_array().unwrap().is_empty(),
        "{}",
        report["notes"]
    );
    let failed = server.wait_for(&garbage, "failed");
    let error = &failed["job"]["error"];
    assert_eq!(error["can_retry"], false, "{error}");
    let detail = error["detail"].as_str().unwrap();
    assert!(
        detail.contains("garbage.hprof.gz") && !detail.contains("/dumps/"),
        "{detail}"
    );
}

#[test]
fn a_memory_limit_below_what_any_job_needs_is_refused() {
    let scene = Scene::new();
    let refused = run(&mut scene.hprof_rs(&["serve", "--memory", "1M"]), "");
    assert!(!refused.status.success());
    assert!(
        stderr(&refused).contains("at least 64M"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn two_servers_do_not_share_a_folder() {
    let scene = Scene::new();
    let _server = Server::start(&scene, &[]);
    let second = ["serve", "--folder", "serve", "--listen", "127.0.0.1:0"];
    let output = run(&mut scene.hprof_rs(&second), "");
    assert!(!output.status.success());
    assert!(
        stderr(&output).contains("another server uses"),
        "{}",
        stderr(&output)
    );
}
