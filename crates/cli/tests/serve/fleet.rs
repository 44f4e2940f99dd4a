//! A fleet: servers and workers as processes of their own that share PostgreSQL and a store, and are
//! killed at the worst moments.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

use crate::machines::{Fleet, Worker, report_of_one_machine};
use crate::server::{Server, chain, eventually, is_running, signal};
use crate::support::{Scene, data, run, stderr};
use crate::uploads::{begin, break_off, offset, send};

/// Objects of the smallest generated dump; its analysis takes about a second.
const OBJECTS: u32 = 150_000;

/// Collects a server's events until it ends.
fn events(server: &Server) -> Arc<Mutex<String>> {
    let heard = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&heard);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let request = format!(
        "GET /api/v1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        server.address, server.token
    );
    stream.write_all(request.as_bytes()).unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..count]);
            kept.lock().unwrap().push_str(&text);
        }
    });
    heard
}

#[test]
fn every_dump_is_analysed_once_whoever_is_killed() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let (one, two) = (fleet.server("one"), fleet.server("two"));
    let heard = events(&two);
    let mut workers: Vec<Worker> = (0..3).map(|_| fleet.worker("", "2")).collect();
    let mut files: Vec<PathBuf> = (0..7)
        .map(|number| {
            let path = fleet.scene.path(&format!("chain-{number}.hprof"));
            // Workers tell of progress once a second, so some jobs have to take longer than that.
            let long = if number % 3 == 0 { 1_500_000 } else { 0 };
            chain(&path, OBJECTS + 10_000 * number + long)
        })
        .collect();
    files.push(data("hprof-32.bin").into());
    files.push(data("cpu-samples.txt").into());
    let mut dumps = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let server = if number % 2 == 0 { &one } else { &two };
        dumps.push(server.upload(file));
    }

    // One server is killed while an upload comes; the upload continues at the other.
    let last = chain(&fleet.scene.path("heap.hprof"), OBJECTS - 10_000);
    let bytes = fs::read(&last).unwrap();
    let path = begin(&one, bytes.len());
    break_off(&one, &path, 0, bytes.len(), &bytes[..bytes.len() / 2]);
    eventually("half of the upload", || {
        (offset(&two, &path) > 0).then_some(())
    });
    one.kill();
    let at = offset(&two, &path);
    let answer = send(&two, &path, at, &bytes[at..]);
    assert_eq!(answer.status, 204, "{}", answer.text());
    dumps.push(answer.header("hprof-dump").to_owned());
    files.push(last);

    // Each worker is killed in the middle of a job.
    for worker in &mut workers {
        worker.kill_at_work();
        *worker = fleet.worker("", "2");
    }

    // The database crashes. Servers and workers say so, and go on after its return.
    assert!(workers[0].is_ready());
    fleet.cluster.stop();
    let away = two.get("/api/v1/dumps");
    away.assert_problem(503, "database-away");
    assert_eq!(away.header("retry-after"), "3");
    assert!(!workers[0].is_ready());
    fleet.cluster.resume();
    eventually("a worker that is ready", || {
        workers[0].is_ready().then_some(())
    });
    eventually("a server that answers", || {
        (two.get("/api/v1/dumps").status == 200).then_some(())
    });

    let one = fleet.server("one");
    for (number, (id, file)) in dumps.iter().zip(&files).enumerate() {
        let server = if number % 2 == 0 { &one } else { &two };
        let dump = server.wait_for(id, "done");
        assert_eq!(dump["name"], file.file_name().unwrap().to_str().unwrap());
        let report = server.get(&format!("/api/v1/dumps/{id}/report"));
        assert_eq!(report.status, 200, "{}", report.text());
        let expected = report_of_one_machine(&fleet.scene, file);
        assert!(
            report.body == expected,
            "{id} differs from the report of one machine"
        );
    }
    let sum =
        "SELECT count(*), count(DISTINCT dump), count(*) FILTER (WHERE state = 'done') FROM jobs";
    assert_eq!(fleet.ask(sum), "10|10|10");
    let attempts: u32 = fleet.ask("SELECT sum(attempt) FROM jobs").parse().unwrap();
    assert!(
        attempts >= 13,
        "{attempts} attempts, and three workers were killed"
    );
    // Nothing of attempts is left, and the other server has told of progress here.
    assert_eq!(
        fs::read_dir(fleet.scene.path("store/attempts"))
            .unwrap()
            .count(),
        0
    );
    let heard = heard.lock().unwrap();
    let phases = |line: &str| {
        let event: Value = serde_json::from_str(line.strip_prefix("data: ")?).ok()?;
        let is_told = event["state"] == "running" && event["phase"].is_string();
        is_told.then(|| event["worker"].as_str().map(str::to_owned))?
    };
    assert!(
        heard.lines().find_map(phases).is_some(),
        "no progress was told: {heard}"
    );
}

#[test]
fn a_worker_that_is_asked_to_end_gives_its_job_back_at_once() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let server = fleet.server("one");
    // Its lease would keep the job for an hour.
    let mut first = fleet.worker("", "3600");
    let id = server.upload(&chain(&fleet.scene.path("a.hprof"), 4 * OBJECTS));
    eventually("a job", || first.job());
    signal(first.child.id(), libc::SIGTERM);
    let status = eventually("the end of the worker", || first.child.try_wait().unwrap());
    assert!(status.success(), "{status}");
    assert_eq!(server.dump(&id)["job"]["state"], "queued");
    let second = fleet.worker("", "3600");
    // Cancelling reaches a worker of another process.
    let job = eventually("the job elsewhere", || second.job());
    let number = server.dump(&id)["job"]["id"].as_i64().unwrap();
    let path = format!("/api/v1/jobs/{number}/cancel");
    assert_eq!(server.request("POST", &path, &[], b"").status, 200);
    eventually("the end of its process", || {
        (!is_running(job)).then_some(())
    });
    let path = format!("/api/v1/jobs/{number}/retry");
    assert_eq!(server.request("POST", &path, &[], b"").status, 200);
    let dump = server.wait_for(&id, "done");
    assert_eq!(dump["job"]["attempt"], 3);
}

#[test]
fn a_worker_that_was_thought_dead_changes_nothing_when_it_wakes() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let server = fleet.server("one");
    let sleeper = fleet.worker("", "1");
    let id = server.upload(&chain(&fleet.scene.path("a.hprof"), 2 * OBJECTS));
    let job = eventually("a job", || sleeper.job());
    let all = [sleeper.child.id(), job];
    for pid in all {
        signal(pid, libc::SIGSTOP);
    }
    let second = fleet.worker("", "60");
    let dump = server.wait_for(&id, "done");
    assert_eq!(dump["job"]["attempt"], 2, "{dump}");
    let path = format!("/api/v1/dumps/{id}/report");
    let report = server.get(&path).body;
    // Its worker ends the process and reaps it as soon as it wakes.
    for pid in all.into_iter().rev() {
        signal(pid, libc::SIGCONT);
    }
    eventually("the end of its process", || {
        (!is_running(job)).then_some(())
    });
    eventually("the files of its attempt", || {
        let left = fs::read_dir(fleet.scene.path("store/attempts")).unwrap();
        (left.count() == 0).then_some(())
    });
    let dump = server.dump(&id);
    assert_eq!(
        (&dump["job"]["state"], &dump["job"]["attempt"]),
        (&"done".into(), &2.into())
    );
    let who = dump["job"]["worker"].as_str().unwrap();
    assert!(who.ends_with(&format!(":{}", second.child.id())), "{who}");
    assert!(server.get(&path).body == report);
    // It works on: the next job may be its own.
    drop(second);
    let id = server.upload(Path::new(&data("hprof-32.bin")));
    server.wait_for(&id, "done");
}

#[test]
fn a_password_among_the_arguments_is_refused_and_never_shown() {
    let scene = Scene::new();
    let url = "postgres://me:hunter2@localhost/x";
    for command in ["serve", "worker"] {
        let arguments = [command, "--store", "store", "--database", url];
        let refused = run(&mut scene.hprof_rs(&arguments), "");
        assert!(!refused.status.success());
        let said = stderr(&refused);
        assert!(
            said.contains("--database-file") && !said.contains("hunter2"),
            "{said}"
        );
    }
    let alone = run(&mut scene.hprof_rs(&["worker"]), "");
    assert!(
        stderr(&alone).contains("HPROF_RS_DATABASE"),
        "{}",
        stderr(&alone)
    );
}
