//! `hprof-rs push`: receivers that take profiles, take them late, refuse them, or never answer.

#[path = "support/otlp.rs"]
mod otlp_messages;
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use flate2::read::GzDecoder;
use java_test_harness::{Jdk, Run};
use otlp_messages::Request;
use serde_json::Value;
use support::{Scene, data, run, stderr, stdout};

/// A request as it came.
#[derive(Debug, Clone)]
struct Received {
    line: String,
    headers: Vec<String>,
    body: Vec<u8>,
}

impl Received {
    fn unpacked(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut packed = GzDecoder::new(&self.body[..]);
        packed.read_to_end(&mut bytes).expect("gzip");
        bytes
    }

    fn has(&self, header: &str) -> bool {
        self.headers
            .iter()
            .any(|it| it.eq_ignore_ascii_case(header))
    }
}

/// A server that gives these answers in order, the last one again and again.
struct Receiver {
    address: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    fn start(answers: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address").to_string();
        let received = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&received);
        thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(stream);
                while let Some(request) = request(&mut reader) {
                    let mut all = all.lock().expect("the requests");
                    let answer = answers[all.len().min(answers.len() - 1)];
                    all.push(request);
                    drop(all);
                    if answer.is_empty() {
                        break;
                    }
                    let answer = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n");
                    if reader.get_mut().write_all(answer.as_bytes()).is_err() {
                        break;
                    }
                }
                // One that never answers keeps the connection.
                open.push(reader);
            }
        });
        Self { address, received }
    }

    fn received(&self) -> Vec<Received> {
        self.received.lock().expect("the requests").clone()
    }
}

/// The next request of a connection.
fn request(reader: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let length = lines.iter().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then_some(value)
    });
    let mut body = vec![0; length?.parse().expect("a length")];
    reader.read_exact(&mut body).ok()?;
    let line = lines.remove(0);
    Some(Received {
        line,
        headers: lines,
        body,
    })
}

fn push(scene: &Scene, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let arguments = [&["push"], arguments].concat();
    let mut command = scene.hprof_rs(&arguments);
    run(command.envs(environment.iter().copied()), "")
}

fn total(scene: &Scene, file: &str) -> u64 {
    let output = run(
        &mut scene.hprof_rs(&["samples", "--json", "--measure", "samples", file]),
        "",
    );
    let value: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    value["total"].as_u64().expect("a total")
}

/// A real JVM is recorded, and the receiver fails twice before it takes what was recorded.
#[test]
fn a_receiver_that_fails_twice_gets_all_samples_of_a_jvm() {
    let scene = Scene::new();
    let running = Run::new(Jdk::feature_release(17))
        .class("Spin")
        .args(["600"])
        .start();
    running.wait_until("the spinning thread", |running| {
        let tasks = fs::read_dir(format!("/proc/{}/task", running.pid())).expect("its threads");
        let mut tasks = tasks.flatten();
        tasks.any(|task| {
            let name = fs::read_to_string(task.path().join("comm"));
            name.is_ok_and(|name| name.starts_with("spinner"))
        })
    });
    let pid = running.pid().to_string();
    let recorded = run(
        &mut scene.hprof_rs(&[
            "record",
            &pid,
            "-d",
            "2",
            "-o",
            "cpu.jfr",
            "--options",
            "interval=1",
        ]),
        "",
    );
    assert!(recorded.status.success(), "{}", stderr(&recorded));
    let receiver = Receiver::start(&["503 Away", "429 Later\r\nRetry-After: 0", "200 OK"]);
    fs::write(scene.path("headers"), "Authorization: Bearer secret\n").expect("a file");
    let url = format!("http://{}", receiver.address);
    let pushed = push(
        &scene,
        &["cpu.jfr", &url, "--push-headers", "headers"],
        &[("OTEL_SERVICE_NAME", "shop")],
    );
    let said = stderr(&pushed);
    assert!(pushed.status.success(), "{said}");
    assert!(said.contains("pushed 1 request"), "{said}");
    assert!(!said.contains("secret"), "{said}");
    let received = receiver.received();
    assert_eq!(received.len(), 3, "two failures and the one that counts");
    let last = &received[2];
    assert_eq!(last.line, "POST /v1development/profiles HTTP/1.1");
    assert!(last.has("content-type: application/x-protobuf"), "{last:?}");
    assert!(last.has("content-encoding: gzip"), "{last:?}");
    assert!(last.has("authorization: Bearer secret"), "{last:?}");
    assert_eq!(last.body, received[0].body, "the same request again");
    let request = Request::of(&last.unpacked());
    request.check();
    assert_eq!(request.resource()["service.name"], "shop");
    assert_eq!(request.sum("samples"), total(&scene, "cpu.jfr"));
    let samples = &request.profiles()[0].samples;
    assert!(samples.iter().all(|it| !it.times.is_empty()), "with times");
    assert!(samples.iter().any(|it| {
        let attributes = request.attributes(&it.attributes);
        let thread = attributes.get("thread.name");
        let is_spinner = thread.is_some_and(|name| name.starts_with("spinner"));
        is_spinner && request.frames(it).contains(&("Spin.hot", Some("jvm")))
    }));
}

#[test]
fn a_receiver_that_never_answers_is_given_up() {
    let scene = Scene::new();
    let receiver = Receiver::start(&[""]);
    let endpoint = format!("http://{}/below", receiver.address);
    let pushed = push(
        &scene,
        &[&data("cpu-samples.txt"), "--push-patience", "2"],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "200"),
        ],
    );
    let said = stderr(&pushed);
    assert_eq!(pushed.status.code(), Some(1), "{said}");
    assert!(
        said.contains("not delivered to") && said.contains("1 of 1 request"),
        "{said}"
    );
    let received = receiver.received();
    assert!(!received.is_empty());
    assert_eq!(
        received[0].line,
        "POST /below/v1development/profiles HTTP/1.1"
    );
}

#[test]
fn a_refusal_is_final() {
    let scene = Scene::new();
    let receiver = Receiver::start(&["401 No"]);
    let url = format!("http://{}/own/path", receiver.address);
    let pushed = push(&scene, &[&data("cpu-samples.txt"), &url], &[]);
    let said = stderr(&pushed);
    assert_eq!(pushed.status.code(), Some(1), "{said}");
    assert!(said.contains("check the credentials"), "{said}");
    let received = receiver.received();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].line, "POST /own/path HTTP/1.1");
}

#[test]
fn pyroscope_gets_a_request_of_pprof_for_each_measure() {
    let scene = Scene::new();
    let receiver = Receiver::start(&["200 OK"]);
    let url = format!("pyroscope+http://{}", receiver.address);
    let pushed = push(
        &scene,
        &[&data("heap-sites-thread.txt"), &url],
        &[
            ("OTEL_SERVICE_NAME", "shop"),
            ("OTEL_RESOURCE_ATTRIBUTES", "k8s.pod.name=shop-1"),
        ],
    );
    assert!(pushed.status.success(), "{}", stderr(&pushed));
    let received = receiver.received();
    assert_eq!(received.len(), 4, "live and allocated, bytes and objects");
    for request in received {
        let start = "POST /ingest?name=shop%7Bk8s_pod_name%3Dshop-1%7D&from=";
        assert!(request.line.starts_with(start), "{}", request.line);
        assert!(request.line.contains("&format=pprof"), "{}", request.line);
        assert!(!request.unpacked().is_empty());
    }
}

#[test]
fn mistakes_are_found_before_anything_is_sent() {
    let scene = Scene::new();
    let file = data("cpu-samples.txt");
    for (arguments, environment, says) in [
        (vec![file.as_str()], vec![], "give its URL"),
        (
            vec![&file],
            vec![
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ],
            "4318",
        ),
        (
            vec![&file, "http://me:secret@127.0.0.1:1"],
            vec![],
            "no user name",
        ),
        (
            vec![&file, "http://127.0.0.1:1"],
            vec![("OTEL_EXPORTER_OTLP_HEADERS", "secret")],
            "key=value",
        ),
    ] {
        let pushed = push(&scene, &arguments, &environment);
        let said = stderr(&pushed);
        assert!(!pushed.status.success() && said.contains(says), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}
