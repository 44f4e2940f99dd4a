//! Agents that stream to the server: watched, controlled, kept.

use java_test_harness::{Jdk, Run, Signal};
use serde_json::{Value, json};

use crate::server::{Server, eventually};
use crate::support::Scene;
use crate::support::listener::{FakeAgent, beginning};

fn free_port() -> String {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().port().to_string()
}

#[track_caller]
fn ok(answer: &crate::server::Answer) -> Value {
    assert!(answer.status < 300, "{}", answer.text());
    answer.json()
}

/// The path below `/api/v1` of the only agent of the network.
fn sender(server: &Server) -> String {
    eventually("the agent", || {
        let list = ok(&server.get("/api/v1/jvms"));
        let items = list["items"].as_array().unwrap();
        let far = items.iter().find(|it| it["place"] == "network")?;
        Some(format!("/api/v1/jvms/{}", far["id"].as_str().unwrap()))
    })
}

/// The samples of all tables of a profile.
fn samples(server: &Server, dump: &str) -> u64 {
    let path = format!("/api/v1/dumps/{dump}/profile/flame?dimension=samples");
    ok(&server.get(&path))["total"].as_u64().unwrap()
}

#[test]
fn an_agent_of_the_network_is_watched_and_controlled_while_it_streams() {
    for jdk in Jdk::tested() {
        let scene = Scene::new();
        let port = free_port();
        let server = Server::start(&scene, &["--agents", &port]);
        let jvm = Run::new(jdk)
            .agent(&format!(
                "cpu=samples,interval=1,heap=sites,heapinterval=16k,live=estimate,thread=y,\
                 depth=32,cutoff=0,net=127.0.0.1:{port}"
            ))
            .class("Busy")
            .args(["1"])
            .start();
        jvm.wait_for_line("ready");
        let path = sender(&server);
        let detail = ok(&server.get(&path));
        assert_eq!(detail["offers"], json!(["cpu", "alloc"]), "{detail}");
        assert_eq!(detail["pid"], jvm.pid());
        let lock = server.post(&format!("{path}/attach"), &json!({"modes": ["lock"]}));
        lock.assert_problem(409, "conflict");
        assert!(lock.text().contains("monitor=y"), "{}", lock.text());
        // It is asked through its stream, which has no way to the JVM itself.
        let heap = server.get(&format!("{path}/histogram"));
        heap.assert_problem(409, "conflict");

        let modes = json!({"modes": ["cpu", "alloc"]});
        let detail = ok(&server.post(&format!("{path}/attach"), &modes));
        assert_eq!(detail["live"], true, "{detail}");
        let total = |dimension: &str| {
            let answer = server.get(&format!("{path}/profile/flame?dimension={dimension}"));
            (answer.status == 200).then(|| answer.json()["total"].as_u64().unwrap())
        };
        let first = eventually("samples", || total("samples").filter(|it| *it > 0));
        eventually("more samples", || total("samples").filter(|it| *it > first));
        eventually("allocation", || total("allocated-bytes"));
        let methods = ok(&server.get(&format!("{path}/profile/methods?filter=Busy")));
        assert!(methods["total"].as_u64().unwrap() > 0, "{methods}");

        let stopped = ok(&server.post(&format!("{path}/stop"), &json!({"modes": ["cpu"]})));
        assert_eq!(stopped["modes"], json!(["alloc"]));
        // What was counted before it stopped may still come.
        let mut last = total("samples");
        eventually("an end of samples", || {
            std::thread::sleep(std::time::Duration::from_millis(2500));
            let now = total("samples");
            let is_still = now == last;
            last = now;
            is_still.then_some(())
        });
        ok(&server.post(&format!("{path}/start"), &json!({"modes": ["cpu"]})));
        eventually("samples again", || {
            total("samples").filter(|it| Some(*it) > last)
        });

        let kept = ok(&server.post(&format!("{path}/keep"), &json!({"name": "so far"})));
        let kept = kept["id"].as_str().unwrap().to_owned();
        server.wait_for(&kept, "done");
        let ended = ok(&server.post(&format!("{path}/detach"), &json!({})));
        assert_eq!(
            (&ended["live"], &ended["can"]["record"]),
            (&json!(false), &json!(true))
        );
        let watched = total("samples").unwrap();
        assert!(watched >= samples(&server, &kept), "it lost samples");

        jvm.signal(Signal::Terminate);
        jvm.finish();
        let whole = eventually("the whole stream", || {
            let list = ok(&server.get("/api/v1/dumps"));
            let dumps = list["items"].as_array().unwrap();
            let dump = dumps.iter().find(|dump| dump["labels"]["main"] == "Busy")?;
            Some(dump["id"].as_str().unwrap().to_owned())
        });
        server.wait_for(&whole, "done");
        // Watching moves counts from the agent into the stream, and loses none.
        assert!(
            samples(&server, &whole) >= watched,
            "the stream lost samples"
        );
    }
}

#[test]
fn a_binary_stream_gives_heap_dumps_on_demand() {
    let jdk = Jdk::feature_release(17);
    let scene = Scene::new();
    let port = free_port();
    let server = Server::start(&scene, &["--agents", &port]);
    let jvm = Run::new(jdk)
        .agent(&format!("heap=dump,format=b,doe=n,net=127.0.0.1:{port}"))
        .class("Busy")
        .args(["1"])
        .start();
    jvm.wait_for_line("ready");
    let path = sender(&server);
    let watch = server.post(&format!("{path}/attach"), &json!({"modes": ["cpu"]}));
    watch.assert_problem(409, "conflict");
    assert!(watch.text().contains("format=a"), "{}", watch.text());
    let dump = ok(&server.post(&format!("{path}/dump"), &json!({})));
    let dump = server.wait_for(dump["id"].as_str().unwrap(), "done");
    assert_eq!(dump["kind"], "heap", "{dump}");
    let id = dump["id"].as_str().unwrap();
    let threads = ok(&server.get(&format!(
        "/api/v1/dumps/{id}/histogram?filter=^java.lang.Thread$"
    )));
    assert_eq!(threads["total"], 1, "{threads}");
    // The connection is as it was.
    assert_eq!(ok(&server.get(&path))["can"]["dump"], true);
    let left = std::fs::read_dir(scene.path("serve/agents")).unwrap();
    assert_eq!(left.count(), 1, "the copy is left");
}

#[test]
fn a_stream_that_is_longer_than_an_upload_may_be_is_cut() {
    let scene = Scene::new();
    let port = free_port();
    let server = Server::start(&scene, &["--agents", &port, "--max-upload", "100k"]);
    let mut agent = FakeAgent::connect(&format!("127.0.0.1:{port}"));
    agent.send(&beginning(4242, "com.acme.App"));
    sender(&server);
    let name = crate::support::listener::string(7, &[b'x'; 1000]);
    for _ in 0..1000 {
        agent.send(&name);
    }
    eventually("the dump", || {
        let list = ok(&server.get("/api/v1/dumps"));
        let dump = list["items"].as_array().unwrap().first().cloned()?;
        let is_cut = dump["name"].as_str().unwrap().contains(".cut");
        (is_cut && dump["bytes"].as_u64().unwrap() <= 100 << 10).then_some(())
    });
}

#[test]
fn a_stream_of_an_agent_becomes_a_dump_with_its_origin() {
    let scene = Scene::new();
    let port = free_port();
    let server = Server::start(&scene, &["--no-jvms", "--agents", &port]);
    let address = format!("127.0.0.1:{port}");
    let mut agent = FakeAgent::connect(&address);
    agent.send(&beginning(4242, "com.acme.App"));
    let listed = eventually("the agent", || {
        let list = ok(&server.get("/api/v1/jvms"));
        list["items"].as_array().unwrap().first().cloned()
    });
    assert_eq!(
        (&listed["place"], &listed["pid"]),
        (&json!("network"), &json!(4242))
    );
    assert_eq!(
        (&listed["name"], &listed["attachable"]),
        (&json!("App"), &json!(false))
    );
    let detail = ok(&server.get(&format!("/api/v1/jvms/{}", listed["id"].as_str().unwrap())));
    assert_eq!(detail["can"]["record"], false);
    agent.close();
    let dump = eventually("the dump", || {
        let list = ok(&server.get("/api/v1/dumps"));
        let dump = list["items"].as_array().unwrap().first().cloned();
        dump.filter(|dump| dump["labels"]["main"] == "App")
    });
    assert_eq!(dump["labels"]["pid"], "4242");
    assert!(
        dump["name"]
            .as_str()
            .unwrap()
            .starts_with("com.acme.App-4242"),
        "{dump}"
    );
    eventually("an empty folder", || {
        let left = std::fs::read_dir(scene.path("serve/agents"))
            .unwrap()
            .count();
        (left == 0).then_some(())
    });
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(scene.path("serve"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0, "others can enter the server's folder");
}
