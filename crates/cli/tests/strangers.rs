//! `hprof-rs listen` and connections of those who have nothing to send, or too much.

mod support;

use std::net::TcpStream;
use std::os::unix::net::UnixListener;

use support::listener::{FakeAgent, Listener, beginning, string};
use support::{Scene, run, stderr};

const LOCAL: &str = "127.0.0.1:0";

#[test]
fn silent_connections_lock_nobody_out() {
    let scene = Scene::new();
    let mut listener = Listener::start_with(&scene, LOCAL, &["--per-address", "20"]);
    let address = listener.address.clone();
    let connect = || TcpStream::connect(&address).expect("it accepts");
    let silent: Vec<TcpStream> = (0..100).map(|_| connect()).collect();
    let mut agent = FakeAgent::connect(&listener.address);
    agent.send(&beginning(7, "App"));
    let identified = listener.event("identified", |_| true);
    assert_eq!(identified["agent"], 101);
    // The oldest have made room.
    let first = listener.ended(1);
    let why = first["fault"].as_str().expect("a reason");
    assert!(why.contains("made room for others"), "{why}");
    // More silent ones do not push out who has begun.
    let more: Vec<TcpStream> = (0..100).map(|_| connect()).collect();
    agent.send(&string(9, b"more"));
    agent.close();
    let ended = listener.ended(101);
    assert_eq!(ended["complete"], true, "{ended}");
    drop((silent, more));
    listener.type_line("quit");
    assert_eq!(listener.finish(), Some(0));
}

#[test]
fn who_begins_no_profile_is_not_kept_for_ever() {
    let scene = Scene::new();
    let mut listener = Listener::start_with(&scene, LOCAL, &["--silence", "1"]);
    let _silent = FakeAgent::connect(&listener.address);
    let ended = listener.ended(1);
    assert_eq!(ended["fault"], "it began no profile in 1 s");
}

#[test]
fn who_says_its_name_a_hundred_thousand_times_is_named_once() {
    let scene = Scene::new();
    let mut listener = Listener::start(&scene, None);
    let mut agent = FakeAgent::connect(&listener.address);
    let mut bytes = beginning(7, "App");
    for number in 0..100_000 {
        let mark = format!(
            "hprof-rs agent: version=1 pid={number} format=b modes={} main=X",
            "x".repeat(400)
        );
        bytes.extend(string(number, mark.as_bytes()));
    }
    agent.send(&bytes);
    agent.close();
    let ended = listener.ended(1);
    assert_eq!(ended["complete"], true, "{ended}");
    listener.event("identified", |event| event["pid"] == 7);
    listener.type_line("list");
    let list = listener.event("list", |_| true);
    assert_eq!(list["agents"][0]["pid"], 7);
    assert_eq!(listener.left("identified"), 0);
}

#[test]
fn the_path_of_something_else_is_left_alone() {
    let scene = Scene::new();
    let path = scene.path("s");
    let address = format!("unix:{}", path.display());
    std::fs::write(&path, "mine").unwrap();
    let output = run(&mut scene.hprof_rs(&["listen", &address]), "");
    assert!(!output.status.success());
    let text = stderr(&output);
    assert!(text.contains("something that is no socket"), "{text}");
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    std::fs::remove_file(&path).unwrap();
    // Exchanged while it listens.
    let mut listener = Listener::start_on(&scene, &address, None);
    std::fs::remove_file(&path).unwrap();
    let _other = UnixListener::bind(&path).unwrap();
    listener.type_line("quit");
    assert_eq!(listener.finish(), Some(0));
    assert!(path.exists(), "the other's socket is gone");
}
