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
use java_test_harness::{Jdk, Run, Running, classes};
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

/// A JVM 17 with a thread that burns CPU.
fn spinning() -> Running {
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
    running
}

/// Records with samples of 1 ms.
fn record(scene: &Scene, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let arguments = [&["record", "--options", "interval=1"], arguments].concat();
    let mut command = scene.hprof_rs(&arguments);
    run(command.envs(environment.iter().copied()), "")
}

/// The address of a receiver that is away.
fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    format!("http://{address}")
}

/// A real JVM is recorded, and the receiver fails twice before it takes what was recorded.
#[test]
fn a_receiver_that_fails_twice_gets_all_samples_of_a_jvm() {
    let scene = Scene::new();
    let running = spinning();
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

#[test]
fn windows_of_a_recording_add_up_to_it() {
    let scene = Scene::new();
    let running = spinning();
    let pid = running.pid().to_string();
    let receiver = Receiver::start(&["503 Away", "200 OK"]);
    let url = format!("http://{}", receiver.address);
    let recorded = record(
        &scene,
        &[
            &pid, "-d", "5", "-o", "cpu.jfr", "--push", &url, "--every", "1s",
        ],
        &[("OTEL_RESOURCE_ATTRIBUTES", "stage=test")],
    );
    let said = stderr(&recorded);
    assert!(recorded.status.success(), "{said}");
    assert!(said.contains("pushed "), "{said}");
    let received = receiver.received();
    // The first attempt has failed.
    let requests: Vec<Request> = received[1..]
        .iter()
        .map(|it| Request::of(&it.unpacked()))
        .collect();
    assert!(requests.len() >= 2, "{}: {said}", requests.len());
    let mut end = 0;
    for request in &requests {
        request.check();
        let resource = request.resource();
        assert_eq!(
            (resource["service.name"], resource["stage"]),
            ("Spin", "test")
        );
        assert!(!resource["host.name"].is_empty());
        let resource = request.resource_profiles[0].resource.as_ref();
        let mut attributes = resource.expect("a resource").attributes.iter();
        let number = attributes.find(|it| it.key == "process.pid");
        let number = number.and_then(|it| it.value.as_ref()).map(|it| it.number);
        assert_eq!(number, Some(running.pid().into()));
        let profile = &request.profiles()[0];
        // The agent relates its clock to that of the system anew each time.
        let begin = profile.time_unix_nano;
        assert!(begin + 1_000_000 >= end, "from {begin}, before {end}");
        end = profile.time_unix_nano + profile.duration_nano;
        let mut samples = profile.samples.iter();
        assert!(samples.all(|it| !it.times.is_empty()), "with times");
    }
    let sum: u64 = requests.iter().map(|it| it.sum("samples")).sum();
    assert_eq!(sum, total(&scene, "cpu.jfr"));
}

#[test]
fn a_program_is_recorded_for_a_receiver_alone() {
    let scene = Scene::new();
    let java = Jdk::feature_release(17).home().join("bin/java");
    let (java, classes) = (java.to_str().expect("a path"), classes());
    let classes = classes.to_str().expect("a path");
    let receiver = Receiver::start(&["200 OK"]);
    let endpoint = format!("http://{}", receiver.address);
    let recorded = record(
        &scene,
        &["--push", "--", java, "-cp", classes, "Spin", "0.7"],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
            ("OTEL_SERVICE_NAME", "shop"),
        ],
    );
    assert!(recorded.status.success(), "{}", stderr(&recorded));
    let received = receiver.received();
    assert_eq!(received.len(), 1);
    let request = Request::of(&received[0].unpacked());
    request.check();
    assert_eq!(request.resource()["service.name"], "shop");
    assert!(request.sum("samples") > 0);
    let mut samples = request.profiles()[0].samples.iter();
    assert!(samples.any(|it| request.frames(it).contains(&("Spin.hot", Some("jvm")))));
    let files = fs::read_dir(scene.path("")).expect("a folder").flatten();
    let mut names = files.map(|it| it.file_name());
    assert!(names.all(|name| name == "cache"), "no file was asked for");
}

#[test]
fn a_receiver_that_is_away_does_not_take_the_recording_along() {
    let scene = Scene::new();
    let running = spinning();
    let pid = running.pid().to_string();
    let url = nowhere();
    let push = ["-d", "2", "--push", &url, "--push-patience", "0"];
    let with_file = ["-o", "cpu.collapsed", "--every", "1s"];
    let recorded = record(&scene, &[&[&*pid], &push[..], &with_file].concat(), &[]);
    let said = stderr(&recorded);
    assert_eq!(recorded.status.code(), Some(1), "{said}");
    let lines: Vec<&str> = said.lines().filter(|it| it.contains(&url)).collect();
    assert!(
        lines.len() == 1 && lines[0].contains("not delivered to"),
        "{said}"
    );
    let text = fs::read_to_string(scene.path("cpu.collapsed")).expect("the file");
    assert!(text.contains("Spin.hot"), "{text}");
    // Without a file the profile is kept.
    let temporary = scene.path("temporary");
    fs::create_dir(&temporary).expect("a folder");
    let temporary = temporary.to_str().expect("a path");
    let recorded = record(
        &scene,
        &[&[&*pid], &push[..]].concat(),
        &[("TMPDIR", temporary)],
    );
    let said = stderr(&recorded);
    assert_eq!(recorded.status.code(), Some(1), "{said}");
    let kept = said
        .split_whitespace()
        .find(|it| it.ends_with(".hprof.txt:"));
    let kept = kept.expect(&said).trim_end_matches(':');
    assert!(total(&scene, kept) > 0);
}

#[test]
fn mistakes_are_found_before_anything_is_recorded() {
    let scene = Scene::new();
    let running = spinning();
    let pid = running.pid().to_string();
    for (arguments, says) in [
        (&[&*pid, "--push-as", "otlp"][..], "add --push URL"),
        (&[&pid, "--every", "10s"], "--push"),
        (&["--push", &pid], "write the process before --push"),
        (&[&pid, "--push", "ftp://a"], "http"),
        (&[&pid, "--push"], "there is no receiver"),
        (&[&pid, "--push", "http://a", "--open"], "add -o FILE"),
        (
            &[&pid, "--push", "http://a", "--push-headers", "/dev/zero"],
            "too long",
        ),
    ] {
        let recorded = record(&scene, arguments, &[]);
        let said = stderr(&recorded);
        assert!(!recorded.status.success() && said.contains(says), "{said}");
    }
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("its libraries");
    assert!(!maps.contains("hprof_rs"), "the agent is loaded");
}

#[test]
fn a_program_that_run_starts_is_sent_by_kind_while_it_runs() {
    let scene = Scene::new();
    let java = Jdk::feature_release(17).home().join("bin/java");
    let (java, classes) = (java.to_str().expect("a path"), classes());
    let classes = classes.to_str().expect("a path");
    // It is away at first.
    let receiver = Receiver::start(&["503 Away", "200 OK"]);
    let url = format!("http://{}", receiver.address);
    let agent = "cpu=samples,interval=1,heap=sites,heapinterval=1k";
    let mut command = scene.hprof_rs(&["run", "--push", &url, "--every", "1s", "--agent", agent]);
    command.args(["--", java, "-cp", classes, "Spin", "3"]);
    let ran = run(command.env("OTEL_RESOURCE_ATTRIBUTES", "stage=test"), "");
    let said = stderr(&ran);
    assert!(ran.status.success(), "{said}");
    assert!(said.contains("pushed "), "{said}");
    let received = receiver.received();
    let requests: Vec<Request> = received[1..]
        .iter()
        .map(|it| Request::of(&it.unpacked()))
        .collect();
    assert!(requests.len() >= 2, "{}: {said}", requests.len());
    for request in &requests {
        request.check();
        let resource = request.resource();
        assert_eq!(
            (resource["service.name"], resource["stage"]),
            ("Spin", "test")
        );
    }
    for kind in ["samples", "alloc_space"] {
        let has = |it: &&Request| it.profiles().iter().any(|one| it.kind(one).0 == kind);
        let with = requests.iter().filter(has);
        let sum: u64 = with.map(|it| it.sum(kind)).sum();
        assert!(sum > 0, "{kind}");
    }
    let files = fs::read_dir(scene.path("")).expect("a folder").flatten();
    let mut names = files.map(|it| it.file_name());
    assert!(names.all(|name| name == "cache"), "no file was asked for");
    for (arguments, says) in [
        (&["run", "--push", &url, "--listen"][..], "one of the two"),
        (&["run", "--push", &url, "--agent", "file=x.txt"], "options"),
        (&["run", "--push", "ftp://a"], "http"),
    ] {
        let mut command = scene.hprof_rs(arguments);
        let refused = run(command.args(["--", java, "-version"]), "");
        let said = stderr(&refused);
        assert!(!refused.status.success() && said.contains(says), "{said}");
    }
}

#[test]
fn the_agent_sends_what_a_program_does_while_it_runs() {
    // It is away at first.
    let receiver = Receiver::start(&["503 Away", "200 OK"]);
    let url = format!("http://{}", receiver.address);
    let modes = "cpu=samples,interval=1,heap=sites,heapinterval=1k,live=estimate";
    let outcome = Run::new(Jdk::feature_release(17))
        .agent(&format!("continuous={url},pushevery=1,{modes}"))
        .class("Spin")
        .args(["3"])
        .env("OTEL_RESOURCE_ATTRIBUTES", "stage=test")
        .env(
            "OTEL_EXPORTER_OTLP_HEADERS",
            "Authorization=Bearer%20secret",
        )
        .run();
    assert_eq!(outcome.status, Some(0), "{}", outcome.report());
    assert_eq!(outcome.files(), [] as [String; 0], "it writes no file");
    let said = &outcome.stderr;
    assert!(said.contains("tried again: status 503"), "{said}");
    assert!(!said.contains("secret"), "{said}");
    let received = receiver.received();
    assert_eq!(received[0].body, received[1].body, "the same request again");
    assert!(received[0].has("authorization: Bearer secret"));
    assert_eq!(received[0].line, "POST /v1development/profiles HTTP/1.1");
    let requests: Vec<Request> = received[1..]
        .iter()
        .map(|it| Request::of(&it.unpacked()))
        .collect();
    assert!(requests.len() >= 2, "{}", requests.len());
    let mut end = 0;
    for request in &requests {
        request.check();
        let resource = request.resource();
        assert_eq!(
            (resource["service.name"], resource["stage"]),
            ("Spin", "test")
        );
        assert!(!resource["host.name"].is_empty());
        let profile = &request.profiles()[0];
        // Windows side by side.
        assert!(end == 0 || profile.time_unix_nano == end);
        end = profile.time_unix_nano + profile.duration_nano;
    }
    let of = |kind: &str| {
        let has = |it: &&Request| it.profiles().iter().any(|one| it.kind(one).0 == kind);
        let with = requests.iter().filter(has);
        with.map(|it| it.sum(kind)).sum::<u64>()
    };
    assert!(of("samples") > 0 && of("alloc_space") > 0);
    let samples = requests
        .iter()
        .flat_map(|it| it.profiles().iter().map(move |one| (it, one)));
    let mut samples = samples.flat_map(|(it, one)| one.samples.iter().map(move |at| (it, at)));
    assert!(samples.any(|(request, sample)| {
        let attributes = request.attributes(&sample.attributes);
        let thread = attributes.get("thread.name");
        let is_spinner = thread.is_some_and(|name| name.starts_with("spinner"));
        is_spinner && request.frames(sample).contains(&("Spin.hot", Some("jvm")))
    }));
}

#[test]
fn an_agent_whose_receiver_is_away_ends_with_its_program_and_reports_it() {
    let outcome = Run::new(Jdk::feature_release(17))
        .agent("continuous=y,cpu=samples,interval=1")
        .class("Spin")
        .args(["0.5"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", nowhere())
        .run();
    assert_eq!(outcome.status, Some(0), "{}", outcome.report());
    let said = &outcome.stderr;
    assert!(
        said.contains("not delivered to http://127.0.0.1:"),
        "{said}"
    );
    assert!(said.contains("1 of 1 profiles"), "{said}");
    for (options, says) in [
        ("continuous=https://a", "run --push"),
        ("continuous=y", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ("continuous=http://a,file=x", "leave out file=x"),
        ("continuous=http://a,heap=dump", "stacks"),
    ] {
        let outcome = Run::new(Jdk::feature_release(17))
            .agent(options)
            .class("Spin")
            .args(["0.1"])
            .run();
        assert_ne!(outcome.status, Some(0), "{options}");
        let said = &outcome.stderr;
        assert!(said.contains(says), "{options}: {said}");
    }
}
