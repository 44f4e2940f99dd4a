//! Live JVMs: recorded, looked at, left as they were.

use java_test_harness::{Jdk, Run, Running, Signal};
use serde_json::{Value, json};

use crate::server::{Server, eventually};
use crate::support::Scene;

fn jdks() -> impl Iterator<Item = &'static Jdk> {
    Jdk::tested().into_iter()
}

/// A running JVM with its path below `/api/v1`.
fn jvm(jdk: &'static Jdk, class: &str, arguments: &[&str]) -> (Running, String) {
    let jvm = Run::new(jdk)
        .class(class)
        .args(arguments.iter().copied())
        .start();
    jvm.wait_for_line("ready");
    let path = format!("/api/v1/jvms/{}", jvm.pid());
    (jvm, path)
}

#[track_caller]
fn ok(answer: &crate::server::Answer) -> Value {
    assert!(answer.status < 300, "{}", answer.text());
    answer.json()
}

#[test]
fn a_recording_of_a_jvm_grows_and_leaves_nothing_behind() {
    for jdk in jdks() {
        let scene = Scene::new();
        let server = Server::start(&scene, &[]);
        let (jvm, path) = jvm(jdk, "Busy", &["1"]);
        let list = ok(&server.get("/api/v1/jvms"));
        let own = list["items"].as_array().unwrap().iter();
        let own: Vec<_> = own.filter(|it| it["pid"] == jvm.pid()).collect();
        assert_eq!(own.len(), 1, "{list}");
        assert_eq!(
            (&own[0]["name"], &own[0]["attachable"]),
            (&json!("Busy"), &json!(true))
        );
        assert_eq!(
            (&own[0]["agent"], &own[0]["live"]),
            (&json!(false), &json!(false))
        );
        server
            .get(&format!("{path}/profile"))
            .assert_problem(409, "not-ready");

        let modes = json!({
            "modes": ["cpu", "alloc", "lock"], "options": "interval=1,heapinterval=16k",
        });
        let detail = ok(&server.post(&format!("{path}/attach"), &modes));
        assert_eq!(detail["modes"], json!(["cpu", "alloc", "lock"]));
        let total = |parameters: &str| {
            let answer = server.get(&format!("{path}/profile/flame?{parameters}"));
            (answer.status == 200).then(|| answer.json()["total"].as_u64().unwrap())
        };
        let first = eventually("samples", || total("dimension=samples"));
        eventually("more samples", || {
            total("dimension=samples").filter(|it| *it > first)
        });
        eventually("allocation", || total("dimension=allocated-bytes"));
        let about = ok(&server.get(&format!("{path}/profile")));
        assert_eq!(
            (&about["kind"], &about["has_timeline"]),
            (&json!("cpu"), &json!(true))
        );
        let methods = ok(&server.get(&format!("{path}/profile/methods?filter=Busy")));
        assert!(methods["total"].as_u64().unwrap() > 0, "{methods}");
        let tree = ok(&server.get(&format!("{path}/profile/tree?last=5")));
        assert!(tree["total"].as_u64().unwrap() > 0, "{tree}");
        let timeline = ok(&server.get(&format!("{path}/timeline")));
        let samples = timeline["buckets"].as_array().unwrap().iter();
        let samples: u64 = samples.map(|it| it["samples"].as_u64().unwrap()).sum();
        assert!(samples >= first, "{timeline}");
        let cost = eventually("the agent's cost", || {
            let cost = ok(&server.get(&path))["cost"].clone();
            (!cost.is_null()).then_some(cost)
        });
        assert!(cost["memory_bytes"].as_u64().unwrap() > 0, "{cost}");

        let kept = ok(&server.post(&format!("{path}/keep"), &json!({"name": "busy"})));
        let id = kept["id"].as_str().unwrap();
        assert_eq!(server.wait_for(id, "done")["kind"], "profile");
        let profile = ok(&server.get(&format!("/api/v1/dumps/{id}/profile/flame")));
        assert!(profile["total"].as_u64().unwrap() >= first, "{profile}");

        let detail = ok(&server.post(&format!("{path}/detach"), &json!({})));
        assert!(detail["ended"].is_string(), "{detail}");
        assert_eq!(detail["live"], false);
        // What was recorded can still be seen, and the program runs on.
        assert!(total("dimension=samples").unwrap() >= first);
        let sockets = std::fs::read_dir(scene.path("serve/live")).unwrap().count();
        assert_eq!(sockets, 0, "a socket is left");
        jvm.signal(Signal::Terminate);
        let run = jvm.finish();
        assert_eq!(run.files(), [""; 0], "the program's folder has files");
    }
}

#[test]
fn the_heap_and_the_threads_of_a_jvm_are_shown_as_they_are() {
    for jdk in jdks() {
        let scene = Scene::new();
        let server = Server::start(&scene, &[]);
        let (_jvm, path) = jvm(jdk, "Deadlock", &[]);
        let table = ok(&server.get(&format!("{path}/histogram?filter=^java.lang.String$")));
        assert_eq!(table["total"], 1, "{table}");
        assert!(
            table["rows"][0]["objects"].as_u64().unwrap() > 100,
            "{table}"
        );
        let live = ok(&server.get(&format!("{path}/histogram?live=true&sort=-objects")));
        assert!(live["total"].as_u64().unwrap() > 100, "{live}");
        let now = ok(&server.get(&format!("{path}/threads")));
        let deadlocks = now["deadlocks"].as_array().unwrap();
        assert_eq!(deadlocks.len(), 3, "{now}");
        let memory = ok(&server.get(&format!("{path}/memory")));
        let rows = memory["rows"].as_array().unwrap();
        let sum: u64 = rows.iter().filter_map(|row| row["resident"].as_u64()).sum();
        assert_eq!(memory["resident"], sum, "{memory}");
        let heap = rows.iter().find(|row| row["name"] == "Java heap");
        assert!(
            heap.unwrap()["committed"].as_u64() > Some(1 << 20),
            "{memory}"
        );
        assert!(!memory["causes"].as_array().unwrap().is_empty(), "{memory}");
        let threads = now["threads"].as_array().unwrap();
        for deadlock in deadlocks {
            let names = deadlock["threads"].as_array().unwrap();
            assert_eq!(names.len(), 2, "{deadlock}");
            for name in names {
                let thread = threads.iter().find(|it| it["name"] == *name).unwrap();
                let owner = &thread["waits_for"]["owner"];
                assert!(names.contains(owner), "{thread}");
                assert_eq!(thread["holds"].as_array().unwrap().len(), 1, "{thread}");
            }
        }
        let main = threads.iter().find(|it| it["name"] == "main").unwrap();
        assert!(
            main["frames"].to_string().contains("Deadlock.main"),
            "{main}"
        );
        assert!(main["os_id"].is_u64() && main["cpu_ms"].is_f64(), "{main}");

        let dump = ok(&server.post(&format!("{path}/dump"), &json!({"live": true})));
        let dump = server.wait_for(dump["id"].as_str().unwrap(), "done");
        assert_eq!(dump["kind"], "heap");
        assert!(
            dump["name"].as_str().unwrap().starts_with("Deadlock-"),
            "{dump}"
        );
        let left = std::fs::read_dir(scene.path("serve/live")).unwrap().count();
        assert_eq!(left, 0, "the JVM's own name of the dump is left");
    }
}

#[test]
fn agents_go_with_the_server_and_after_it_was_killed() {
    let jdk = Jdk::feature_release(17);
    let scene = Scene::new();
    let (jvm, path) = jvm(jdk, "Busy", &["1"]);
    let status = || {
        let pid = jvm.pid().to_string();
        let output = scene.hprof_rs(&["control", &pid, "status"]).output();
        output.unwrap().status.success()
    };
    let modes = json!({"modes": ["cpu"]});
    let server = Server::start(&scene, &[]);
    ok(&server.post(&format!("{path}/attach"), &modes));
    assert!(status(), "no agent");
    server.terminate();
    assert!(!status(), "the agent outlives the server");

    let server = Server::start(&scene, &[]);
    ok(&server.post(&format!("{path}/attach"), &modes));
    server.kill();
    eventually("the agent to leave", || (!status()).then_some(()));
    let server = Server::start(&scene, &[]);
    ok(&server.post(&format!("{path}/attach"), &modes));
    // The end of the program ends the recording.
    jvm.signal(Signal::Terminate);
    eventually("the end of the recording", || {
        let detail = ok(&server.get(&path));
        detail["ended"].is_string().then_some(())
    });
    assert_eq!(
        jvm.finish().files(),
        [""; 0],
        "the program's folder has files"
    );
}

#[test]
fn what_is_no_jvm_or_not_for_the_server_is_refused_with_the_reason() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let own = format!("/api/v1/jvms/{}", server.pid());
    let modes = json!({"modes": ["cpu"]});
    server
        .post(&format!("{own}/attach"), &modes)
        .assert_problem(404, "not-found");
    server
        .get("/api/v1/jvms/0")
        .assert_problem(404, "not-found");
    server
        .get("/api/v1/jvms/..%2f1")
        .assert_problem(404, "not-found");
    let unknown = server.post(&format!("{own}/attach"), &json!({"modes": ["walk"]}));
    unknown.assert_problem(400, "bad-request");
    let file = json!({"modes": ["cpu"], "options": "file=/tmp/x"});
    let file = server.post(&format!("{own}/attach"), &file);
    file.assert_problem(400, "bad-request");
    drop(server);
    let server = Server::start(&scene, &["--no-jvms"]);
    server.get("/api/v1/jvms").assert_problem(404, "not-found");
}
