//! `hprof-rs listen` with agents of many kinds, played by the test.

mod support;

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use hprof_wire::command::{Command, Control, SiteFlags, ThreadObject};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use rustix::process::Signal;
use support::listener::{FakeAgent, Listener, beginning, record, reply, string};
use support::{Scene, run, stderr, stdout};

/// A profile of the JDK's agent.
fn data(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../format/tests/data");
    std::fs::read(folder.join(name)).expect(name)
}

fn saved(event: &serde_json::Value) -> PathBuf {
    PathBuf::from(event["file"].as_str().expect("a file"))
}

/// Reads a file with the command that finds all damage: `sound`, `incomplete`, or what it says
/// otherwise.
fn check(scene: &Scene, path: &Path) -> String {
    let output = run(&mut scene.hprof_rs(&["check", path.to_str().unwrap()]), "");
    let text = stdout(&output) + &stderr(&output);
    for word in ["sound", "incomplete"] {
        if text.contains(&format!(": {word} (")) {
            return word.to_owned();
        }
    }
    text
}

#[test]
fn streams_are_saved_as_they_come() {
    let scene = Scene::new();
    let mut listener = Listener::start(&scene, None);
    let names = [
        "cpu-samples-b.hprof",
        "heap-sites-b.hprof",
        "hprof-32.bin",
        "cpu-samples.txt",
    ];
    for (number, name) in names.iter().enumerate() {
        let bytes = data(name);
        let mut agent = FakeAgent::connect(&listener.address);
        // In pieces that cut everything in the middle.
        for part in bytes.chunks(if number == 0 { 7 } else { 10_007 }) {
            agent.send(part);
        }
        agent.close();
        let event = listener.ended(number as u64 + 1);
        assert_eq!(event["complete"], true, "{event}");
        let path = scene.path("").join(saved(&event));
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{name}");
        assert_eq!(check(&scene, &path), "sound");
    }
    listener.type_line("quit");
    assert_eq!(listener.finish(), Some(0));
}

#[test]
fn a_stream_that_dies_becomes_a_valid_file_marked_as_cut() {
    let scene = Scene::new();
    let mut listener = Listener::start(&scene, None);
    let mut number = 0;
    for name in ["hprof-32.bin", "heap-sites-b.hprof", "cpu-samples.txt"] {
        let bytes = data(name);
        for (share, is_reset) in [(0.3, false), (0.61, true), (0.95, true)] {
            let part = &bytes[..(bytes.len() as f64 * share) as usize];
            let mut agent = FakeAgent::connect(&listener.address);
            agent.send(part);
            number += 1;
            if is_reset {
                // What is on its way is lost with a reset.
                let whole = part.len() as u64;
                loop {
                    listener.type_line("list");
                    let list = listener.event("list", |_| true);
                    let agents = list["agents"].as_array().unwrap();
                    let came = agents
                        .iter()
                        .find(|it| it["agent"] == number)
                        .map(|it| &it["bytes"]);
                    if came == Some(&whole.into()) {
                        break;
                    }
                }
                agent.reset();
            } else {
                agent.close();
            }
            let event = listener.ended(number);
            assert_eq!(event["complete"], false, "{name} {share}");
            assert!(event["fault"].is_string());
            let path = saved(&event);
            assert!(path.to_str().unwrap().contains(".cut.hprof"), "{path:?}");
            let found = check(&scene, &scene.path("").join(path));
            // The JDK's agent writes classes behind their objects, so a dump may lack some.
            let is_dump = name == "hprof-32.bin";
            // A text profile without its table has no result; binary files have no mark of where one was to come.
            let table = b"CPU SAMPLES BEGIN (";
            let lacks_table =
                name.ends_with(".txt") && !part.windows(table.len()).any(|window| window == table);
            let is_right = match found.as_str() {
                "sound" => !lacks_table,
                "incomplete" => is_dump || lacks_table,
                _ => false,
            };
            assert!(is_right, "{name} {share}: {found}");
        }
    }
}

#[test]
fn the_first_sites_of_a_cut_dump_are_kept() {
    let scene = Scene::new();
    let mut listener = Listener::start(&scene, None);
    let mut bytes = beginning(7, "App");
    let root = |number: u64| [&[0x05][..], &number.to_be_bytes()].concat();
    let segment: Vec<u8> = (0..1000).flat_map(root).collect();
    bytes.extend(record(0x1c, &segment));
    bytes.truncate(bytes.len() - 5);
    let mut agent = FakeAgent::connect(&listener.address);
    agent.send(&bytes);
    agent.close();
    let path = saved(&listener.ended(1));
    assert!(path.ends_with("App-7.cut.hprof"), "{path:?}");
    let output = run(
        &mut scene.hprof_rs(&["summary", "--json", path.to_str().unwrap()]),
        "",
    );
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = summary.to_string();
    assert!(text.contains("999"), "{text}");
}

#[test]
fn commands_arrive_and_answers_are_shown() {
    let scene = Scene::new();
    let script = "dump samples cutoff=0.25; @1 dump sites changed gc; @App depth 9; \
                  sampling off 0x1122334455667788; clear sites; summary; gc; wait 60; quit";
    let mut listener = Listener::start(&scene, Some(script));
    let mut agent = FakeAgent::connect(&listener.address);
    agent.send(&beginning(42, "com.acme.App"));
    let expected = [
        Command::CpuSamples {
            flags: 0,
            cutoff: 0.25,
        },
        Command::AllocSites {
            flags: SiteFlags::from_bits(5),
            cutoff: 0.0,
        },
        Command::Control(Control::Depth(9)),
        Command::Control(Control::CpuSamplingOff(ThreadObject::Wide(
            0x1122_3344_5566_7788,
        ))),
        Command::Control(Control::ClearSites),
        Command::HeapSummary,
        Command::ForceGc,
    ];
    // A name is known once the listener has read it, so the first command is waited for.
    let mut table = [
        string(10, b"spin"),
        string(11, b"()V"),
        string(12, b"App.java"),
    ]
    .concat();
    table.extend(string(13, b"App"));
    let id = |number: u64| number.to_be_bytes();
    table.extend(record(
        0x02,
        &[&[0, 0, 0, 1][..], &id(50), &[0; 4], &id(13)].concat(),
    ));
    let frame = [
        &id(60)[..],
        &id(10),
        &id(11),
        &id(12),
        &[0, 0, 0, 1, 0, 0, 0, 4],
    ]
    .concat();
    table.extend(record(0x04, &frame));
    let trace = [&[0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1][..], &id(60)].concat();
    table.extend(record(0x05, &trace));
    table.extend(record(
        0x0d,
        &[0, 0, 0, 100, 0, 0, 0, 1, 0, 0, 0, 75, 0, 0, 0, 9],
    ));
    let mut summary = vec![0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 7];
    summary.extend([0, 0, 0, 0, 0, 0, 0, 8]);
    for (at, command) in expected.into_iter().enumerate() {
        let frame = agent.command();
        assert_eq!(frame.command, command);
        match at {
            0 => agent.send(&table),
            5 => agent.send(&record(0x07, &summary)),
            _ => {}
        }
        let outcome = if at == 1 {
            "refused no sites are recorded"
        } else {
            "done"
        };
        agent.send(&reply(100 + at as u64, &frame, outcome));
    }
    let samples = listener.event("answered", |event| event["command"] == "dump samples");
    assert_eq!(samples["table"]["total"], 100);
    let row = serde_json::json!([{"method": "App.spin", "cost": 75}]);
    assert_eq!(samples["table"]["rows"], row);
    let sites = listener.event("answered", |event| event["command"] == "dump sites");
    assert_eq!(sites["refused"], "no sites are recorded");
    let summary = listener.event("answered", |event| event["command"] == "summary");
    assert_eq!(summary["table"]["allocated_bytes"], (1_u64 << 32) + 7);
    let ended = listener.ended(1);
    assert_eq!(ended["complete"], true, "left at a good place: {ended}");
    assert!(saved(&ended).ends_with("com.acme.App-42.hprof"));
    assert_eq!(listener.finish(), Some(1), "a command was refused");
}

#[test]
fn agents_that_mark_no_answers_are_understood() {
    let scene = Scene::new();
    let script = "dump heap; gc; sampling on 0x50000001; wait 60; quit";
    let mut listener = Listener::start(&scene, Some(script));
    let mut agent = FakeAgent::connect(&listener.address);
    let bytes = data("hprof-32.bin");
    assert_eq!(agent.command().command, Command::DumpHeap);
    assert_eq!(agent.command().command, Command::ForceGc);
    let on = agent.command().command;
    // The JDK's agent reads the id in the byte order of its machine.
    let id = ThreadObject::Narrow(0x0100_0050);
    assert_eq!(on, Command::Control(Control::CpuSamplingOn(id)));
    agent.send(&bytes);
    let event = listener.event("answered", |_| true);
    assert_eq!(
        (&event["command"], &event["done"]),
        (&"dump heap".into(), &true.into())
    );
    assert_eq!(listener.finish(), Some(0));
}

#[test]
fn garbage_hurts_nobody_else() {
    let scene = Scene::new();
    let mut listener = Listener::start(&scene, None);
    let good = data("cpu-samples-b.hprof");
    let mut agent = FakeAgent::connect(&listener.address);
    agent.send(&good[..good.len() / 2]);
    let garbage = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..3000),
        // A valid header with anything after it.
        prop::collection::vec(any::<u8>(), 0..3000).prop_map(|rest| {
            [
                &b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0"[..],
                &rest,
            ]
            .concat()
        }),
        ".{0,300}".prop_map(|rest| format!(
            "JAVA PROFILE 1.0.1, created Fri Feb  6 13:13:42 2004\n\n{rest}"
        )
        .into_bytes()),
        // A heap dump that says it has 4 GiB.
        prop::collection::vec(any::<u8>(), 0..300).prop_map(|rest| {
            let head = [0x1c, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
            [&beginning(1, "../../x\u{1b}[2J")[..], &head, &rest].concat()
        }),
    ];
    let mut number = 1;
    let mut runner = TestRunner::default();
    for _ in 0..60 {
        let bytes = garbage.new_tree(&mut runner).unwrap().current();
        let mut peer = FakeAgent::connect(&listener.address);
        peer.send(&bytes);
        peer.close();
        number += 1;
        let event = listener.ended(number);
        if event["file"].is_string() {
            let path = scene.path("").join(saved(&event));
            assert_eq!(path.parent(), Some(scene.path("saved").as_path()));
            // Damage inside may be there, but it can be read to its end.
            let output = run(&mut scene.hprof_rs(&["check", path.to_str().unwrap()]), "");
            assert_ne!(
                output.status.code(),
                Some(2),
                "{} {bytes:?}",
                stderr(&output)
            );
        }
    }
    agent.send(&good[good.len() / 2..]);
    agent.close();
    let event = listener.ended(1);
    assert_eq!(
        std::fs::read(scene.path("").join(saved(&event))).unwrap(),
        good
    );
    assert!(listener.peak_memory() < 100 << 20);
}

#[test]
fn many_agents_at_once_take_little_memory() {
    let scene = Scene::new();
    let mut listener = Listener::start(&scene, None);
    let count = 50_u64;
    // Each stream has one record of 2 MB, and many small ones.
    let stream = |number: u64| {
        let mut bytes = beginning(1000 + number as u32, "Many");
        bytes.extend(string(2, &vec![b'x'; 2 << 20]));
        for id in 0..20_000 {
            bytes.extend(string(
                1000 + id,
                format!("{number} string {id}").as_bytes(),
            ));
        }
        bytes
    };
    std::thread::scope(|scope| {
        for number in 0..count {
            let address = listener.address.as_str();
            scope.spawn(move || {
                let mut agent = FakeAgent::connect(address);
                agent.send(&stream(number));
                agent.close();
            });
        }
    });
    for number in 1..=count {
        assert_eq!(listener.ended(number)["complete"], true);
    }
    for number in 0..count {
        let path = listener
            .folder
            .join(format!("Many-{}.hprof", 1000 + number));
        assert_eq!(std::fs::read(&path).unwrap(), stream(number), "{path:?}");
    }
    let peak = listener.peak_memory();
    assert!(peak < 100 << 20, "{peak}");
}

#[test]
fn a_signal_ends_it_without_losing_anything() {
    let scene = Scene::new();
    for signal in [Signal::TERM, Signal::INT] {
        let mut listener = Listener::start(&scene, None);
        let mut agent = FakeAgent::connect(&listener.address);
        let mut bytes = beginning(9, "App");
        bytes.extend(string(5, b"in the middle"));
        agent.send(&bytes[..bytes.len() - 3]);
        listener.event("identified", |_| true);
        listener.signal(signal);
        let event = listener.ended(1);
        assert_eq!(event["complete"], false);
        assert_eq!(check(&scene, &scene.path("").join(saved(&event))), "sound");
        assert_eq!(listener.finish(), Some(0));
    }
    let names = std::fs::read_dir(scene.path("saved")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names, ["App-9-2.cut.hprof", "App-9.cut.hprof"]);
}

#[test]
fn a_unix_socket_serves_and_goes() {
    let scene = Scene::new();
    let path = scene.path("s");
    let address = format!("unix:{}", path.display());
    let script = "wait end 60; quit";
    let mut listener = Listener::start_on(&scene, &address, Some(script));
    assert_eq!(listener.address, address);
    let bytes = data("cpu-samples.txt");
    UnixStream::connect(&path)
        .unwrap()
        .write_all(&bytes)
        .unwrap();
    let event = listener.ended(1);
    assert!(saved(&event).ends_with("agent-1.hprof.txt"), "{event}");
    assert_eq!(listener.finish(), Some(0));
    assert!(!path.exists());
}

#[test]
fn mistakes_are_told_before_it_listens() {
    let scene = Scene::new();
    for (arguments, words) in [
        (&["--exec", "dumb heap"][..], "did you mean `dump heap`?"),
        (&["host-without-port"], "expected HOST:PORT"),
        (&["--save", "/proc/1/no"], "/proc/1/no"),
    ] {
        let arguments = [&["listen"], arguments].concat();
        let output = run(&mut scene.hprof_rs(&arguments), "");
        assert!(!output.status.success());
        let text = stderr(&output);
        assert!(text.contains(words), "{text}");
    }
    let mut listener = Listener::start(&scene, Some("wait agents 1 0.2; @7 gc; quit"));
    let event = listener.event("mistake", |_| true);
    assert!(
        event["text"].as_str().unwrap().contains("in vain"),
        "{event}"
    );
    FakeAgent::connect(&listener.address).close();
    assert_eq!(listener.finish(), Some(1));
}

#[test]
fn people_get_lines() {
    let scene = Scene::new();
    let arguments = ["listen", "127.0.0.1:0", "--exec", "list; quit"];
    let output = run(&mut scene.hprof_rs(&arguments), "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("listening on 127.0.0.1:"), "{text}");
    assert!(text.contains("no agents yet"), "{text}");
}
