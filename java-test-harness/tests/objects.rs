//! `object` of the control socket and of `net=`: live objects, with ids that stay.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use hprof_wire::control::Reply;
use java_test_harness::{FrontEnd, Run, Running, control_socket, each_collector, each_jdk};

fn try_ask(running: &Running, request: &str) -> Reply {
    let mut stream = UnixStream::connect(control_socket(running.pid())).expect("a control socket");
    writeln!(stream, "{request}").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    Reply::parse(&reply).unwrap_or_else(|| panic!("no reply: {reply}"))
}

#[track_caller]
fn ask(running: &Running, request: &str) -> Reply {
    let reply = try_ask(running, request);
    assert_eq!(reply.error, None, "{request}");
    reply
}

#[track_caller]
fn value<'a>(reply: &'a Reply, name: &str) -> &'a str {
    let found = reply.get(name);
    found.unwrap_or_else(|| panic!("no {name} in {reply}"))
}

/// The values of an object, by name.
fn object(reply: &Reply, number: usize) -> BTreeMap<&str, &str> {
    let prefix = format!("object.{number}.");
    let values = reply.values.iter();
    let values =
        values.filter_map(|(name, value)| Some((name.strip_prefix(&prefix)?, value.as_str())));
    values.collect()
}

/// A value without the id at its end.
fn without_id(text: &str) -> &str {
    text.rsplit_once(" #").map_or(text, |(text, _)| text)
}

fn start(run: Run, carts: u32) -> Running {
    let running = run
        .jvm_arg("-Xmx512m")
        .class("Carts")
        .args([carts.to_string()])
        .start();
    running.wait_for_line("ready");
    running
}

fn end(running: Running) {
    std::fs::write(running.path("end"), "").unwrap();
    let outcome = running.finish().expect_status(0);
    assert!(outcome.stdout.ends_with("ended\n"), "{}", outcome.stdout);
    assert!(
        !outcome.stderr.contains("HPROF ERROR"),
        "{}",
        outcome.stderr
    );
}

/// Loads the agent without a mode.
fn idle(jdk: &'static java_test_harness::Jdk) -> Run {
    Run::new(jdk).agent("cpu=samples,interval=1000,doe=n")
}

#[test]
fn fields_referrers_and_ids_are_those_of_the_object() {
    each_collector(|jdk, collector| {
        let running = start(idle(jdk).jvm_args(collector.arguments()), 1000);
        let reply = ask(&running, "object Carts$Cart where=owner=owner 7");
        assert_eq!(value(&reply, "shown"), "1", "{reply}");
        let cart = object(&reply, 1);
        assert_eq!(cart["class"], "Carts$Cart");
        for (field, expected) in [
            ("total", "21"),
            ("number", "7"),
            ("owner", "\"owner 7\""),
            ("rank", "java.lang.Integer 7"),
            ("state", "Carts$State"),
            ("data", "byte[3]"),
            ("others", "Carts$Cart[2]"),
            ("isOpen", "true"),
            ("itself", "Carts$Cart"),
        ] {
            let found = cart[format!("field.{field}").as_str()];
            assert_eq!(without_id(found), expected, "{field}: {reply}");
        }
        let id = cart["id"];
        assert!(
            cart["field.itself"].ends_with(&format!(" #{id}")),
            "{reply}"
        );
        // The map, the static field, and itself.
        let referrers: Vec<&str> = cart
            .iter()
            .filter_map(|(name, referrer)| name.starts_with("referrer.").then_some(*referrer))
            .collect();
        for expected in [
            "1 java.util.HashMap$Node",
            "1 static field of Carts",
            "1 Carts$Cart",
        ] {
            assert!(referrers.contains(&expected), "{expected}: {referrers:?}");
        }
        assert!(value(&reply, "pause_ms").parse::<f64>().unwrap() > 0.0);
        // An object that it refers to can be asked for by its id.
        let data = cart["field.data"].rsplit_once('#').unwrap().1;
        let reply = ask(&running, &format!("object #{data} referrers=n"));
        let data = object(&reply, 1);
        let elements: Vec<&str> = (0..3)
            .map(|at| data[format!("element.{at}").as_str()])
            .collect();
        assert_eq!((data["length"], elements), ("3", vec!["1", "2", "7"]));
        assert_eq!(value(&reply, "pauses"), "0", "{reply}");
        end(running);
    });
}

#[test]
fn garbage_is_passed_over_and_what_is_collected_is_gone() {
    each_jdk(|jdk| {
        let running = start(idle(jdk), 1000);
        // Nothing refers to carts with negative numbers.
        let reply = ask(&running, "object Carts$Cart where=number=-5");
        assert_eq!(value(&reply, "shown"), "0", "{reply}");
        let reply = ask(&running, "object Carts$Cart where=number=3");
        let id = object(&reply, 1)["id"].to_owned();
        let again = ask(&running, &format!("object #{id}"));
        assert_eq!(object(&again, 1)["field.number"], "3");
        std::fs::write(running.path("drop"), "").unwrap();
        running.wait_for_line("dropped");
        let reply = ask(&running, &format!("object #{id}"));
        assert_eq!((value(&reply, "shown"), value(&reply, "gone")), ("0", "1"));
        end(running);
    });
}

#[test]
fn mistakes_are_answered_and_harm_nothing() {
    each_jdk(|jdk| {
        let running = start(idle(jdk), 10);
        for (request, part) in [
            ("object", "needs a class"),
            (
                "object com.acme.Nothing",
                "no class com.acme.Nothing is loaded",
            ),
            (
                "object Carts$Cart where=colour=red",
                "it has total, number, owner",
            ),
            ("object Carts$Cart limit=0", "from 1 to 1000"),
            ("object byte[] where=x=1", "no field x"),
        ] {
            let error = try_ask(&running, request).error.unwrap_or_default();
            assert!(error.contains(part), "{request}: {error}");
        }
        // Interfaces, enums, classes and strings.
        assert_eq!(value(&ask(&running, "object java.util.Map"), "shown"), "0");
        let states = ask(&running, "object Carts$State");
        assert_eq!(value(&states, "shown"), "2", "{states}");
        let classes = ask(&running, "object java.lang.Class limit=1 referrers=n");
        assert!(object(&classes, 1).contains_key("names"), "{classes}");
        let text = ask(&running, "object java.lang.String limit=1 referrers=n");
        assert!(object(&text, 1)["text"].starts_with('"'), "{text}");
        end(running);
    });
}

/// Resident bytes of a process.
fn resident(running: &Running) -> i64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.unwrap().trim().trim_end_matches(" kB");
    number.parse::<i64>().unwrap() << 10
}

#[test]
fn ids_stay_through_collections_and_memory_comes_back() {
    each_jdk(|jdk| {
        let running = start(
            idle(jdk).jvm_arg("-Xms512m").jvm_arg("-XX:+AlwaysPreTouch"),
            20_000,
        );
        let first = ask(&running, "object Carts$Cart limit=50");
        let ids: Vec<(String, String)> = (1..=50)
            .map(|number| {
                let cart = object(&first, number);
                (cart["id"].to_owned(), cart["field.number"].to_owned())
            })
            .collect();
        let ask_all = |rounds: usize| {
            for round in 0..rounds {
                if round % 20 == 0 {
                    running.jcmd(&["GC.run"]);
                }
                let (id, number) = &ids[round % ids.len()];
                let reply = ask(&running, &format!("object #{id} referrers=n"));
                let cart = object(&reply, 1);
                assert_eq!(
                    cart.get("field.number").copied(),
                    Some(number.as_str()),
                    "{reply}"
                );
                let name = format!("object Carts$Cart referrers=n where=number={number}");
                let reply = ask(&running, &name);
                let found = object(&reply, 1).get("id").copied().unwrap_or("none");
                assert_eq!(found, id, "{name} in round {round}: {reply}");
            }
        };
        // Caches of the VM and of the allocator fill.
        ask_all(20);
        let before = resident(&running);
        ask_all(100);
        let forgotten = ask(&running, "object forget");
        assert!(value(&forgotten, "forgotten").parse::<u32>().unwrap() >= 50);
        let more = resident(&running) - before;
        assert!(more < 16 << 20, "{more} bytes more");
        let gone = ask(&running, &format!("object #{}", ids[0].0));
        assert_eq!(value(&gone, "gone"), "1");
        end(running);
    });
}

#[test]
fn a_front_end_asks_for_objects_too() {
    each_jdk(|jdk| {
        let front_end = FrontEnd::new();
        let options = format!("cpu=samples,doe=n,{}", front_end.option());
        let running = start(Run::new(jdk).agent(&options), 100);
        let peer = front_end.accept();
        let began = Instant::now();
        let line = b"object Carts$Cart limit=1 where=number=42";
        let answer = peer.ask(0x40, 5, line);
        assert_eq!(answer, "done", "after {:?}", began.elapsed());
        let text = String::from_utf8_lossy(&peer.received()).into_owned();
        assert!(
            text.contains("# hprof-rs value: serial=5 object.1.field.number=42\n"),
            "{text}"
        );
        let refused = peer.ask(0x40, 6, b"start file=/tmp/x,heap=dump");
        assert!(
            refused.starts_with("refused options come from"),
            "{refused}"
        );
        std::fs::write(running.path("end"), "").unwrap();
        running.finish().expect_status(0);
    });
}
