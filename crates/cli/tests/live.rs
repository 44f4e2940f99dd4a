//! `listen`, `attach`, `control` and `run --listen` with real agents in real JVMs.

#![allow(clippy::disallowed_macros)]

mod support;

use std::path::PathBuf;

use java_test_harness::{Jdk, Run, Running, Signal, each_jdk};
use serde_json::Value;
use support::listener::Listener;
use support::{Scene, burn, java, run, stderr, stdout};

/// A JVM with the agent that the command carries.
fn start(scene: &Scene, jdk: &'static Jdk, class: &str, options: &str) -> Running {
    let output = run(&mut scene.hprof_rs(&["agent-path"]), "");
    let library = stdout(&output);
    let argument = format!("-agentpath:{}={options}", library.trim());
    Run::new(jdk).jvm_arg(argument).class(class).start()
}

fn check(scene: &Scene, event: &Value) {
    assert_eq!(event["complete"], true, "{event}");
    let path = scene.path("").join(event["file"].as_str().expect("a file"));
    let output = run(&mut scene.hprof_rs(&["check", path.to_str().unwrap()]), "");
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
}

#[test]
fn a_jvm_that_is_killed_leaves_a_valid_file() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        let mut listener = Listener::start(&scene, None);
        let options = format!("cpu=samples,format=b,net={}", listener.address);
        let jvm = start(&scene, jdk, "Idle", &options);
        jvm.wait_for_line("ready");
        listener.event("identified", |_| true);
        jvm.signal(Signal::Kill);
        let event = listener.ended(1);
        let path = scene.path("").join(event["file"].as_str().expect("a file"));
        let output = run(&mut scene.hprof_rs(&["check", path.to_str().unwrap()]), "");
        assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    });
}

#[test]
fn ipv6_and_unix_sockets_carry_streams_and_commands() {
    let jdk = Jdk::feature_release(17);
    let mut scenes = vec![("unix", Scene::new())];
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        scenes.push(("[::1]:0", Scene::new()));
    } else {
        eprintln!("not tested: this machine has no IPv6");
    }
    for (kind, scene) in scenes {
        let address = match kind {
            "unix" => format!("unix:{}", scene.path("socket").display()),
            _ => kind.to_owned(),
        };
        let mut listener = Listener::start_on(&scene, &address, None);
        let options = format!("cpu=samples,format=b,net={}", listener.address);
        let jvm = start(&scene, jdk, "Idle", &options);
        jvm.wait_for_line("ready");
        listener.event("identified", |event| event["main"] == "Idle");
        listener.type_line("dump heap");
        let answer = listener.event("answered", |event| event["command"] == "dump heap");
        assert_eq!(answer["done"], true, "{answer}");
        jvm.signal(Signal::Terminate);
        check(&scene, &listener.ended(1));
        assert_eq!(jvm.finish().files(), [""; 0], "all went to the listener");
    }
}

/// Runs `control` and reads its JSON.
fn control(scene: &Scene, pid: u32, request: &str) -> Value {
    let pid = pid.to_string();
    let output = run(
        &mut scene.hprof_rs(&["control", "--json", &pid, request]),
        "",
    );
    assert!(
        output.status.success(),
        "{request}: {}{}",
        stdout(&output),
        stderr(&output)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn an_attached_agent_works_is_commanded_and_goes() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        let jvm = Run::new(jdk).class("Idle").start();
        jvm.wait_for_line("ready");
        let pid = jvm.pid().to_string();
        let output = run(&mut scene.hprof_rs(&["control", &pid, "status"]), "");
        assert_eq!(output.status.code(), Some(1));
        assert!(
            stderr(&output).contains("hprof-rs attach"),
            "{}",
            stderr(&output)
        );
        for round in 1..=2 {
            let file: PathBuf = scene.path(&format!("attached-{round}.txt"));
            let options = format!("cpu=samples,file={}", file.display());
            let output = run(&mut scene.hprof_rs(&["attach", &pid, &options]), "");
            let text = stderr(&output);
            assert!(output.status.success(), "{text}{}", jvm.stderr());
            assert_eq!(
                text.contains("JEP 451"),
                jdk.feature() >= 21 && round == 1,
                "{text}"
            );
            let listed = run(&mut scene.hprof_rs(&["ps", "--json"]), "");
            let listed: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
            let rows = listed.as_array().expect("a list");
            let row = rows
                .iter()
                .find(|row| row["pid"] == jvm.pid())
                .expect("it is listed");
            assert_eq!(row["agent_loaded"], true);
            assert_eq!(row["agent_state"], "running");
            let status = control(&scene, jvm.pid(), "status");
            assert_eq!(status["values"]["modes"], "cpu=samples", "{status}");
            control(&scene, jvm.pid(), "stop");
            let status = control(&scene, jvm.pid(), "status");
            assert_eq!(status["values"]["state"], "stopped", "{status}");
            control(&scene, jvm.pid(), "start");
            control(&scene, jvm.pid(), "reset");
            assert!(control(&scene, jvm.pid(), "metrics")["values"].is_object());
            control(&scene, jvm.pid(), "detach");
            let profile = std::fs::read_to_string(&file).expect("the profile");
            assert!(profile.contains("CPU SAMPLES END"), "{profile}");
        }
        assert_eq!(jvm.stdout(), "ready\n", "the program ran on undisturbed");
    });
}

#[test]
fn run_with_listen_shows_the_profile_at_the_end() {
    let scene = Scene::new();
    let (java, burn) = (java(), burn());
    let arguments = [
        "run", "--listen", "--save", "in", "--", &java, &burn, "300", "42", "x",
    ];
    let output = run(&mut scene.hprof_rs(&arguments), "hello");
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(42), "{text}");
    assert_eq!(stdout(&output), "got hello and 300|42|x\n");
    assert!(text.contains("hprof-rs: the profile is in in/"), "{text}");
    assert!(
        text.contains("look at it with: hprof-rs summary in/"),
        "{text}"
    );
    assert!(text.contains("Burn.spin"), "{text}");
    assert_eq!(std::fs::read_dir(scene.path("in")).unwrap().count(), 1);
}
