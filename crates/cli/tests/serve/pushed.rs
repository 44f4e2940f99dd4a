//! Profiles that programs push to `hprof-rs serve`: of a JVM, of files, of made-up senders; kept over `kill -9`.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use hprof_stacks::pictures::message::Message;
use java_test_harness::{Jdk, Run};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;

use crate::machines::Fleet;
use crate::prometheus;
use crate::server::{Server, eventually, is_running, signal};
use crate::support::{Scene, run, stderr, stdout};

/// The costs of methods themselves in a flame graph.
fn own_costs(flame: &Value) -> BTreeMap<String, u64> {
    let mut costs = BTreeMap::new();
    let mut open = vec![&flame["root"]];
    while let Some(node) = open.pop() {
        let name = &flame["frames"][node["f"].as_u64().unwrap() as usize];
        *costs.entry(plain(name)).or_default() += node["s"].as_u64().unwrap();
        open.extend(node["c"].as_array().into_iter().flatten());
    }
    costs.retain(|_, cost| *cost > 0);
    costs
}

fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

fn flame(server: &Server, selector: &str) -> Value {
    let path = format!(
        "/api/v1/continuous/flame?kind=samples&least=0&from=0&selector={}",
        encoded(selector)
    );
    let answer = server.get(&path);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// The samples of a file, and those of methods themselves, as `hprof-rs samples` counts them.
fn samples(scene: &Scene, file: &str) -> (u64, BTreeMap<String, u64>) {
    let arguments = [
        "samples",
        "--json",
        "--measure",
        "samples",
        "--by",
        "tree",
        file,
    ];
    let output = run(&mut scene.hprof_rs(&arguments), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let value: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let mut costs = BTreeMap::new();
    let mut open: Vec<&Value> = value["rows"].as_array().expect("a tree").iter().collect();
    while let Some(node) = open.pop() {
        *costs.entry(plain(&node["name"])).or_default() += node["self"].as_u64().unwrap();
        open.extend(node["children"].as_array().into_iter().flatten());
    }
    costs.retain(|_, cost| *cost > 0);
    (value["total"].as_u64().expect("a total"), costs)
}

/// A name without the mark of native frames, which OTLP has in an attribute.
fn plain(name: &Value) -> String {
    let name = name.as_str().expect("a name");
    name.strip_prefix("[native] ").unwrap_or(name).to_owned()
}

/// A JVM is recorded for the server, every two seconds; then the recording is pushed as a file, in both protocols.
#[test]
fn the_samples_of_a_jvm_are_those_of_its_recording() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--no-jvms"]);
    let url = format!("http://{}", server.address);
    let headers = format!("Authorization: Bearer {}\n", server.token);
    fs::write(scene.path("headers"), headers).unwrap();
    let running = Run::new(Jdk::feature_release(17))
        .class("Spin")
        .args(["600"])
        .start();
    let pid = running.pid().to_string();
    let options = ["--options", "interval=1", "--push-headers", "headers"];
    let to = ["-d", "5", "-o", "cpu.jfr", "--push", &url, "--every", "2s"];
    let arguments = [&["record", &*pid], &options[..], &to[..]].concat();
    let recorded = run(&mut scene.hprof_rs(&arguments), "");
    assert!(recorded.status.success(), "{}", stderr(&recorded));
    drop(running);
    let (total, own) = samples(&scene, "cpu.jfr");
    assert!(total > 0);
    let check = |server: &Server, service: &str| {
        let flame = flame(server, &format!("service=\"{service}\""));
        assert_eq!(flame["total"], total, "{service}: {}", flame["notes"]);
        assert_eq!(own_costs(&flame), own, "{service}");
    };
    check(&server, "Spin");
    for (service, url) in [("file", url.clone()), ("pyro", format!("pyroscope+{url}"))] {
        let arguments = ["push", "cpu.jfr", &url, "--push-headers", "headers"];
        let mut command = scene.hprof_rs(&arguments);
        let pushed = run(command.env("OTEL_SERVICE_NAME", service), "");
        assert!(pushed.status.success(), "{}", stderr(&pushed));
        check(&server, service);
    }
    let series = server
        .get("/api/v1/continuous/series?selector=service%3D%22Spin%22")
        .json();
    assert_eq!(series["labels"]["process.pid"], serde_json::json!([pid]));
    let kinds = series["series"].as_array().unwrap().iter();
    let kinds: BTreeSet<&str> = kinds.map(|it| it["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains("samples"), "{series}");
    // Values over time add up to the same, and threads do.
    let path = "/api/v1/continuous/values?kind=samples&by=thread&selector=service%3D%22Spin%22";
    let values = server.get(path).json();
    let lanes = values["lanes"].as_array().unwrap().iter();
    let sums = lanes.map(|lane| {
        let values = lane["values"].as_array().unwrap().iter();
        let sum: u64 = values.map(|it| it.as_u64().unwrap()).sum();
        assert_eq!(lane["total"], sum);
        (lane["group"].as_str().unwrap().to_owned(), sum)
    });
    let sums: BTreeMap<String, u64> = sums.collect();
    assert_eq!(sums.values().sum::<u64>(), total, "{sums:?}");
    assert!(
        sums.keys().any(|name| name.starts_with("spinner")),
        "{sums:?}"
    );
    server.kill();
    let server = Server::start(&scene, &["--no-jvms"]);
    check(&server, "Spin");
    check(&server, "pyro");
    // The same as a table, while the server has the store.
    let folder = scene.path("serve");
    let folder = folder.to_str().expect("a path");
    let arguments = ["export", "--pushed", folder, "--kind", "samples"];
    let to = [
        "--selector",
        "service=\"Spin\"",
        "--parquet",
        "spin.parquet",
    ];
    let exported = run(
        &mut scene.hprof_rs(&[arguments.as_slice(), &to].concat()),
        "",
    );
    assert!(exported.status.success(), "{}", stderr(&exported));
    let file = fs::File::open(scene.path("spin.parquet")).expect("the table");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let (mut sum, mut methods) = (0, BTreeMap::new());
    for row in reader.get_row_iter(None).expect("rows") {
        let row = row.expect("a row");
        let columns: BTreeMap<&String, &Field> = row.get_column_iter().collect();
        let text = |name: &str| match columns[&name.to_owned()] {
            Field::Str(text) => text.clone(),
            other => panic!("{name}: {other:?}"),
        };
        let Field::Long(value) = columns[&"value".to_owned()] else {
            panic!("{columns:?}")
        };
        assert_eq!(text("service"), "Spin");
        assert!(text("stack").ends_with(&text("method")));
        assert!(text("labels").contains("\"process.pid\""));
        sum += *value as u64;
        *methods.entry(text("method")).or_default() += *value as u64;
    }
    assert_eq!((sum, methods), (total, own));
    let none = [
        arguments.as_slice(),
        &["--to", "1990-01-01T00:00:00Z", "--parquet", "x.parquet"],
    ];
    let refused = run(&mut scene.hprof_rs(&none.concat()), "");
    let said = stderr(&refused);
    assert!(!refused.status.success() && !said.is_empty(), "{said}");
    assert!(!scene.path("x.parquet").exists());
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// Senders push without pause while the server is killed, again and again.
#[test]
fn nothing_that_was_acknowledged_is_lost_when_the_server_is_killed() {
    let scene = Scene::new();
    let (acknowledged, number) = (Mutex::new(BTreeSet::new()), AtomicU64::new(0));
    for round in 0..3 {
        let server = Server::start(&scene, &["--no-jvms"]);
        let wanted = (round + 1) * 40;
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    loop {
                        let number = number.fetch_add(1, Ordering::Relaxed);
                        let uri = format!(
                            "http://{}/ingest?name=shop&from={}&until={}",
                            server.address,
                            now() - 10,
                            now()
                        );
                        let bearer = format!("Bearer {}", server.token);
                        let request = server.agent.post(uri).header("authorization", bearer);
                        let answer = request.send(format!("main;push{number} 1\n").as_bytes());
                        match answer {
                            Ok(answer) => {
                                assert_eq!(answer.status(), 200);
                                acknowledged.lock().unwrap().insert(number);
                            }
                            // It was killed.
                            Err(_) => return,
                        }
                    }
                });
            }
            eventually("pushes", || {
                (acknowledged.lock().unwrap().len() > wanted).then_some(())
            });
            signal(server.pid(), libc::SIGKILL);
        });
        eventually("its end", || (!is_running(server.pid())).then_some(()));
        drop(server);
    }
    let server = Server::start(&scene, &["--no-jvms"]);
    let flame = flame(&server, "service=\"shop\"");
    let own = own_costs(&flame);
    let acknowledged = acknowledged.into_inner().unwrap();
    for number in &acknowledged {
        assert_eq!(own.get(&format!("push{number}")), Some(&1), "push {number}");
    }
    // No push counts twice, also those without an answer.
    assert!(own.values().all(|value| *value == 1), "{own:?}");
    assert!(own.len() as u64 <= number.into_inner());
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn message(fields: &[(u64, &[u8])]) -> Vec<u8> {
    Message::of(fields).0
}

/// Clients of Pyroscope for Python and Rust, and Alloy, send by its push service, with a password as the token.
#[test]
fn pyroscopes_push_service_takes_profiles_with_their_labels() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--no-jvms"]);
    fs::write(scene.path("a.collapsed"), "main;work 7\nmain;rest 4\n").unwrap();
    let arguments = ["convert", "a.collapsed", "-o", "a.pb.gz"];
    let converted = run(&mut scene.hprof_rs(&arguments), "");
    assert!(converted.status.success(), "{}", stderr(&converted));
    let profile = fs::read(scene.path("a.pb.gz")).unwrap();
    let label = |name: &str, value: &str| message(&[(1, name.as_bytes()), (2, value.as_bytes())]);
    let sample = message(&[(1, &profile), (2, b"5b5a0d65")]);
    let series = message(&[
        (1, &label("__name__", "process_cpu")),
        (1, &label("service_name", "shop")),
        (1, &label("zone", "b")),
        (2, &sample),
    ]);
    let body = message(&[(1, &series)]);
    let path = "/push.v1.PusherService/Push";
    let proto = ("content-type", "application/proto");
    let token = |user: &str| {
        let pair = format!("{user}:{}", server.token);
        format!("Basic {}", BASE64_STANDARD.encode(pair))
    };
    let (basic, bearer) = (token("12345"), format!("Bearer {}", server.token));
    // A request that is repeated counts once.
    for authorization in [&basic, &bearer] {
        let headers = [proto, ("authorization", authorization)];
        let answer = server.bare_request("POST", path, &headers, &body);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, proto.1),
            "{}",
            answer.text()
        );
        assert!(answer.body.is_empty());
    }
    let found = flame(&server, "service=\"shop\",zone=\"b\"");
    assert_eq!(found["total"], 11, "{found}");
    let own = [("work".to_owned(), 7), ("rest".to_owned(), 4)];
    assert_eq!(own_costs(&found), own.into_iter().collect());

    for (headers, body, status, code) in [
        (vec![proto], &body[1..], 400, "invalid_argument"),
        (
            vec![("content-type", "application/json")],
            b"{}",
            415,
            "invalid_argument",
        ),
    ] {
        let answer = server.request("POST", path, &headers, body);
        assert_eq!(answer.status, status, "{}", answer.text());
        assert_eq!(answer.json()["code"], code);
    }
    let wrong = [proto, ("authorization", "Basic bm9ib2R5OndpdGhvdXQ=")];
    let refused = server.bare_request("POST", path, &wrong, &body);
    refused.assert_problem(401, "no-token");
    // A browser sends a password to any page that asks for it.
    let series = "/api/v1/continuous/series";
    let refused = server.bare_request("GET", series, &[("authorization", &basic)], b"");
    refused.assert_problem(401, "no-token");
}

/// A Python that has Pyroscope's client: the one that `HPROF_RS_PYROSCOPE` names, or that `scripts/setup pyroscope` has
/// fetched.
fn client_of_pyroscope() -> Option<PathBuf> {
    if let Some(named) = env::var_os("HPROF_RS_PYROSCOPE") {
        return Some(PathBuf::from(named));
    }
    let found = java_test_harness::cache_folder().join("pyroscope/bin/python");
    if found.exists() {
        return Some(found);
    }
    assert!(
        env::var_os("CI").is_none(),
        "no client of Pyroscope: run scripts/setup pyroscope"
    );
    println!("no client of Pyroscope: run scripts/setup pyroscope for this test");
    None
}

/// Works for some seconds; the client sends every second, and at the end.
const PYTHON: &str = "
import os, time, pyroscope
pyroscope.configure(application_name='shop.py', server_address=os.environ['SERVER'], tags={'zone': 'b'},
                    basic_auth_username='any', basic_auth_password=os.environ['TOKEN'], upload_interval=1)
def work(end):
    sum = 0
    while time.time() < end:
        for at in range(1000):
            sum += at * at
work(time.time() + float(os.environ['SECONDS']))
pyroscope.shutdown()
";

#[test]
fn a_program_with_pyroscopes_client_has_a_flame_graph() {
    let Some(python) = client_of_pyroscope() else {
        return;
    };
    let scene = Scene::new();
    let server = Server::start(&scene, &["--no-jvms"]);
    let mut own = BTreeMap::new();
    // It takes samples by the clock, and a program that gets no CPU has few.
    for seconds in ["3", "10", "30"] {
        let mut client = Command::new(&python);
        let client = client.args(["-c", PYTHON]).env("SECONDS", seconds);
        let client = client.env("SERVER", format!("http://{}", server.address));
        let output = run(client.env("TOKEN", &server.token), "");
        assert!(output.status.success(), "{}", stderr(&output));
        let query =
            "flame?kind=time&least=0&from=0&selector=service%3D%22shop.py%22,zone%3D%22b%22";
        let flame = server.get(&format!("/api/v1/continuous/{query}")).json();
        own = own_costs(&flame);
        if own.get("work").is_some_and(|&millis| millis >= 1000) {
            break;
        }
    }
    let all: u64 = own.values().sum();
    let work = own.get("work").copied().unwrap_or(0);
    assert!(work >= 1000 && work * 10 >= all * 8, "{work} of {all} ms");
}

#[test]
fn wrong_pushes_are_refused_as_their_protocol_has_it() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--no-jvms"]);
    let otlp = "/v1development/profiles";
    let protobuf = ("content-type", "application/x-protobuf");
    let bearer = format!("Bearer {}", server.token);
    let nobody = server.bare_request("POST", otlp, &[protobuf], b"");
    nobody.assert_problem(401, "no-token");
    let reader = ["serve", "--folder", "serve", "--new-token", "reader"];
    let reader = stdout(&run(&mut scene.hprof_rs(&reader), ""));
    let reader = format!("Bearer {}", reader.trim());
    let headers = [protobuf, ("authorization", &*reader)];
    server
        .bare_request("POST", otlp, &headers, b"")
        .assert_problem(403, "wrong-role");
    let headers = [protobuf, ("authorization", &*bearer)];
    assert_eq!(server.bare_request("POST", otlp, &headers, b"").status, 200);

    let answer = server.post(otlp, &serde_json::json!({}));
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (415, "application/json")
    );
    assert_eq!(answer.json()["code"], 3);
    let gzip = ("content-encoding", "gzip");
    let zeros = packed(&vec![0; 64 << 20]);
    for (headers, body, status, says) in [
        (vec![protobuf], &b"no message"[..], 400, "no part of"),
        (vec![protobuf, gzip], b"no gzip", 400, "gzip"),
        (vec![protobuf, gzip], &zeros, 413, "unpacked"),
        (
            vec![protobuf, ("content-encoding", "br")],
            b"",
            415,
            "gzip or none",
        ),
    ] {
        let answer = server.request("POST", otlp, &headers, body);
        assert_eq!(answer.status, status, "{}", answer.text());
        assert_eq!(answer.header("content-type"), protobuf.1);
        // The code of a google.rpc.Status, and its message.
        assert_eq!(answer.body[..2], [0x08, 3]);
        assert!(answer.text().contains(says), "{}", answer.text());
    }
    for (query, body, says) in [
        ("name=", &b"a 1\n"[..], "service"),
        ("name=shop&from=x", b"a 1\n", "from"),
        ("name=shop", b"\0\0\0", "no profile"),
    ] {
        let answer = server.request("POST", &format!("/ingest?{query}"), &[], body);
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(answer.text().contains(says), "{}", answer.text());
    }
    let later = now() + 100_000;
    let path = format!("/ingest?name=shop&from={later}&until={later}");
    let answer = server.request("POST", &path, &[], b"a 1\n");
    assert!(
        answer.status == 400 && answer.text().contains("clock"),
        "{}",
        answer.text()
    );
    for (query, says) in [
        ("flame?kind=samples&selector=service", "selector"),
        ("flame?kind=samples&from=5&to=5", "from"),
        ("flame?kind=samples&filter=(", "filter"),
        ("values?kind=samples&steps=0", "steps"),
        ("flame", "kind"),
    ] {
        let answer = server.get(&format!("/api/v1/continuous/{query}"));
        answer.assert_problem(400, "bad-request");
        assert!(answer.text().contains(says), "{}", answer.text());
    }
    let empty = flame(&server, "");
    assert_eq!(empty["total"], 0);
    assert!(
        empty["notes"][0].as_str().unwrap().contains("no series"),
        "{empty}"
    );
}

#[test]
fn metrics_count_what_is_pushed() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--no-jvms"]);
    let path = format!("/ingest?name=shop&from={}&until={}", now() - 10, now());
    let body = b"main;work 5\nmain 1\n";
    for _ in 0..3 {
        assert_eq!(server.request("POST", &path, &[], body).status, 200);
    }
    assert_eq!(server.request("POST", &path, &[], b"\0").status, 400);
    let answer = server.get("/metrics");
    assert!(
        answer
            .header("content-type")
            .starts_with("text/plain; version=0.0.4")
    );
    let metrics = prometheus::samples(&answer.text());
    for (name, value) in [
        ("requests_total", 3.0),
        ("received_bytes_total", 3.0 * body.len() as f64),
        // The same request again: a sender that got no answer.
        ("profiles_total", 1.0),
        ("repeated_requests_total", 2.0),
        ("refused_requests_total", 1.0),
        ("memory_rows", 2.0),
        ("segments", 0.0),
        ("waiting_requests", 0.0),
    ] {
        assert_eq!(metrics[&format!("hprof_rs_pushed_{name}")], value, "{name}");
    }
    assert!(metrics["hprof_rs_resident_bytes"] > 1e6);
}

/// The sum of a service's samples at a server, and the notes of the answer.
fn samples_at(server: &Server) -> (u64, Vec<String>) {
    let flame = flame(server, "service=\"shop\"");
    let notes = flame["notes"].as_array().unwrap().iter();
    let notes = notes.map(|note| note.as_str().unwrap().to_owned());
    (flame["total"].as_u64().unwrap(), notes.collect())
}

#[test]
fn servers_of_a_fleet_have_what_each_other_received() {
    let Some(fleet) = Fleet::over_storage(30, 1 << 30) else {
        return;
    };
    let push = |server: &Server, pod: &str, samples: u64| {
        let path = format!(
            "/ingest?name=shop%7Bpod%3D{pod}%7D&from={}&until={}",
            now() - 10,
            now()
        );
        let body = format!("main;work {samples}\n");
        let answer = server.request("POST", &path, &[], body.as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    let has = |server: &Server, sum: u64| {
        eventually("what the others received", || {
            let (found, _) = samples_at(server);
            assert!(found <= sum, "{found} of {sum}");
            (found == sum).then_some(())
        });
    };
    // It is killed with a profile in its log only.
    let one = fleet.server("one");
    push(&one, "a", 5);
    one.kill();
    let one = fleet.server("one");
    let two = fleet.server("two");
    push(&two, "b", 7);
    has(&one, 12);
    has(&two, 12);
    let (_, notes) = samples_at(&one);
    assert!(
        notes
            .iter()
            .any(|it| it.contains("other servers of the fleet")),
        "{notes:?}"
    );
    let metrics = prometheus::samples(&one.get("/metrics").text());
    assert_eq!(metrics["hprof_rs_pushed_other_servers"], 1.0);
    assert!(metrics["hprof_rs_pushed_shared_age_seconds"] < 600.0);
    // One that is asked to end leaves what it has to the others.
    push(&two, "b", 1);
    two.terminate();
    let live = "SELECT count(*) FROM pushed_segments WHERE state = 'live'";
    assert_eq!(fleet.ask(live), "3");
    has(&one, 13);
    eventually("a server that is alone", || {
        let metrics = prometheus::samples(&one.get("/metrics").text());
        (metrics["hprof_rs_pushed_other_servers"] == 0.0).then_some(())
    });
    assert_eq!(samples_at(&one).1, [""; 0]);
    // A new one has all of it.
    let three = fleet.server("three");
    has(&three, 13);
    // The old window of the last hour but one lacks nothing.
    let path = format!("/api/v1/continuous/series?to={}", (now() - 3600) * 1000);
    // It has them all before the first exchange has ended, and says until then that some may be missing.
    eventually("an answer that lacks nothing", || {
        (three.get(&path).json()["notes"] == serde_json::json!([])).then_some(())
    });
    let states = "SELECT DISTINCT state FROM pushed_segments";
    assert_eq!(fleet.ask(states), "live");
}
