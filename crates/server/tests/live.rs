//! Live JVMs over HTTP, with a machine whose JVMs and agents are made up.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Request, StatusCode};
use hprof_analysis::contents::Contents;
use hprof_server::Config;
use hprof_server::catalogue::{Role, SqliteCatalogue};
use hprof_server::live::{
    JvmFacts, Machine, MemoryNow, MemoryRow, Pid, Refused, RefusedKind, Socket,
};
use hprof_server::state::AppState;
use hprof_server::store::FolderStore;
use hprof_stacks::events::Chunk;
use hprof_wire::control::{self, Reply};
use hprof_wire::frames::{FrameReader, Incoming};
use serde_json::Value;
use tower::ServiceExt;

/// Threads of a JVM that the fakes print.
const THREADS: &str = "Full thread dump X:\n\n\"main\" #1 prio=5 os_prio=0 cpu=5.00ms elapsed=1.00s tid=0x1 nid=0x10 runnable\n   \
    java.lang.Thread.State: RUNNABLE\n\tat App.main(App.java:1)\n";

/// The writing side of an agent's stream.
type Out = Arc<Mutex<UnixStream>>;

/// JVMs 1 to 99 of the user of the server; 13 belongs to another user, 14 is in a container, and 15
/// has an agent of another user.
#[derive(Debug, Default)]
struct Fake {
    agents: Mutex<BTreeMap<Pid, Out>>,
    requests: Mutex<Vec<String>>,
    /// The options with which agents were loaded.
    options: Mutex<Vec<String>>,
    dumps: Mutex<u32>,
}

impl Fake {
    fn asked(&self, what: &str) -> usize {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|it| it.starts_with(what)).count()
    }
}

impl Machine for Fake {
    fn jvms(&self) -> Result<Vec<JvmFacts>, Refused> {
        self.requests.lock().unwrap().push("list".to_owned());
        [1, 13, 14, 15]
            .map(|pid| self.jvm(Pid(pid)))
            .into_iter()
            .collect()
    }

    fn jvm(&self, pid: Pid) -> Result<JvmFacts, Refused> {
        if pid.0 > 99 {
            return Err(Refused::new(RefusedKind::Missing, "there is no such JVM"));
        }
        let only = |number: u32, text: &str| (pid.0 == number).then(|| text.to_owned());
        Ok(JvmFacts {
            pid,
            began: 7,
            name: "App".to_owned(),
            version: Some("17.0.1".to_owned()),
            user: "me".to_owned(),
            uptime: Some(5),
            resident: if pid.0 == 16 { u64::MAX } else { 1 },
            refusal: only(13, "it belongs to somebody else"),
            apart: only(14, "it is in a container"),
            has_agent: pid.0 == 15,
            in_container: pid.0 == 14,
        })
    }

    fn socket(&self, pid: Pid) -> Result<Socket, Refused> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent");
        self.requests.lock().unwrap().push(format!("socket {pid}"));
        Ok(Socket {
            listener: UnixListener::bind(&path).unwrap(),
            path,
            process: Some(Pid(std::process::id())),
            name: Box::new(folder),
        })
    }

    fn load_agent(&self, pid: Pid, options: &str) -> Result<(), Refused> {
        self.options.lock().unwrap().push(options.to_owned());
        let socket = options
            .split(',')
            .find_map(|it| it.strip_prefix("net=unix:"));
        let mut stream = UnixStream::connect(socket.unwrap()).unwrap();
        stream
            .write_all(
                b"JAVA PROFILE 1.0.1, created x\nTHREAD START (obj=1, id = 200001, \
                  name=\"main\", group=\"main\")\n",
            )
            .unwrap();
        let out: Out = Arc::new(Mutex::new(stream.try_clone().unwrap()));
        self.agents.lock().unwrap().insert(pid, Arc::clone(&out));
        std::thread::spawn(move || {
            let mut frames = FrameReader::new();
            let mut buffer = [0; 100];
            while let Ok(length @ 1..) = stream.read(&mut buffer) {
                frames.push(&buffer[..length], |incoming| {
                    if let Incoming::Command(frame) = incoming {
                        let mark = format!("# hprof-rs reply: serial={} done\n", frame.serial);
                        let _ = out.lock().unwrap().write_all(mark.as_bytes());
                    }
                });
            }
        });
        Ok(())
    }

    fn control(&self, pid: Pid, request: &control::Request, _: Duration) -> Result<Reply, Refused> {
        self.requests
            .lock()
            .unwrap()
            .push(format!("{request} {pid}"));
        let mut reply = Reply::default();
        if pid.0 == 15 {
            reply.push("state", "running");
            reply.push("output", "/home/you/java.hprof.txt");
            return Ok(reply);
        }
        let agent = self.agents.lock().unwrap().get(&pid).cloned();
        let Some(agent) = agent else {
            return Err(Refused::new(RefusedKind::Missing, "there is no agent"));
        };
        match request {
            control::Request::Dump(_) => {
                let mut dumps = self.dumps.lock().unwrap();
                *dumps += 1;
                let trace = 300_000 + *dumps;
                let text = format!(
                    "TRACE {trace}: (thread=200001)\n\tApp.work(App.java:{dumps})\n\
                     CPU SAMPLES BEGIN (total = 10) Sat Nov 21 03:10:42 2026\n\
                     rank   self  accum   count trace method\n\
                     \u{20}  1 100.00% 100.00%      10 {trace} App.work\n\
                     CPU SAMPLES END\n"
                );
                agent.lock().unwrap().write_all(text.as_bytes()).unwrap();
            }
            control::Request::Metrics => {
                reply.push("profile_thread_cpu_ms", 12);
                reply.push("table_bytes", 1000);
            }
            control::Request::Detach => {
                let agent = self.agents.lock().unwrap().remove(&pid);
                if let Some(agent) = agent {
                    let _ = agent.lock().unwrap().shutdown(std::net::Shutdown::Both);
                }
            }
            _ => {}
        }
        Ok(reply)
    }

    fn histogram(&self, pid: Pid, live: bool) -> Result<String, Refused> {
        self.requests
            .lock()
            .unwrap()
            .push(format!("histogram {live} {pid}"));
        Ok("   1:  3  72  [I\n".to_owned())
    }

    fn thread_dump(&self, _: Pid) -> Result<String, Refused> {
        Ok(THREADS.to_owned())
    }

    fn memory(&self, pid: Pid) -> Result<MemoryNow, Refused> {
        self.requests.lock().unwrap().push(format!("memory {pid}"));
        let name = "Java heap".to_owned();
        Ok(MemoryNow {
            resident: 4096,
            rows: vec![MemoryRow {
                name,
                resident: 4096,
                ..MemoryRow::default()
            }],
            ..MemoryNow::default()
        })
    }

    fn heap_dump(&self, _: Pid, file: &Path, _: bool) -> Result<(), Refused> {
        std::fs::write(file, b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0").unwrap();
        Ok(())
    }

    fn profile_file(&self, contents: &Contents, _: &[Chunk]) -> Result<Vec<u8>, Refused> {
        let total: u64 = contents.cpu.iter().map(|table| table.total).sum();
        Ok(format!("TRACE 300001:\n# {total}\n").into_bytes())
    }
}

struct Site {
    state: AppState,
    fake: Arc<Fake>,
    admin: String,
    reader: String,
    runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

fn site() -> Site {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::open(folder.path()).unwrap();
    let catalogue = SqliteCatalogue::open(&folder.path().join("catalogue.db")).unwrap();
    let fake = Arc::new(Fake::default());
    let config = Config {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        folder: folder.path().to_owned(),
        fleet: Default::default(),
        store: None,
        executable: "/bin/false".into(),
        memory: 1 << 30,
        workers: 1,
        allowed_roots: Vec::new(),
        max_upload: 1 << 30,
        strip: None,
        connections: hprof_server::ConnectionLimits::default(),
        pace: hprof_server::MinimumPace::default(),
        hosts: Vec::new(),
        tls: None,
        behind_proxy: false,
        max_rate: 10_000,
        keep_pushed: Default::default(),
        keep: Default::default(),
        recognise: |_| None,
        machine: Some(Arc::clone(&fake) as Arc<dyn Machine>),
        network: None,
    };
    let state = AppState::new(config, Box::new(catalogue), Arc::new(store));
    let token = |role| state.add_token(role, "test").unwrap().reveal().to_owned();
    let (admin, reader) = (token(Role::Admin), token(Role::Reader));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    Site {
        state,
        fake,
        admin,
        reader,
        runtime,
        _folder: folder,
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.state.live().unwrap().close(Duration::from_secs(20));
    }
}

impl Site {
    fn send(&self, token: &str, method: &str, path: &str, body: &str) -> (StatusCode, Value) {
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1/jvms{path}"))
            .header("host", "127.0.0.1")
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(Body::from(body.to_owned()))
            .unwrap();
        self.runtime.block_on(async {
            let router = hprof_server::api::router(self.state.clone());
            let response = router.oneshot(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let bytes = axum::body::to_bytes(body, 64 << 20).await.unwrap();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let json = serde_json::from_str(&text).unwrap_or(Value::String(text));
            (parts.status, json)
        })
    }

    fn get(&self, path: &str) -> (StatusCode, Value) {
        self.send(&self.reader, "GET", path, "")
    }

    fn post(&self, path: &str, body: &str) -> (StatusCode, Value) {
        self.send(&self.admin, "POST", path, body)
    }

    #[track_caller]
    fn ok(&self, path: &str) -> Value {
        let (status, json) = self.get(path);
        assert_eq!(status, StatusCode::OK, "{path}: {json}");
        json
    }

    #[track_caller]
    fn done(&self, path: &str, body: &str) -> Value {
        let (status, json) = self.post(path, body);
        assert!(status.is_success(), "{path}: {json}");
        json
    }

    #[track_caller]
    fn refused(&self, path: &str, body: &str, status: StatusCode, detail: &str) {
        let (found, json) = self.post(path, body);
        assert_eq!(found, status, "{path}: {json}");
        assert!(json["detail"].as_str().unwrap().contains(detail), "{json}");
    }

    fn eventually(&self, what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(120), "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

const CPU: &str = r#"{"modes": ["cpu"]}"#;

#[test]
fn the_other_clock_begins_a_recording_anew() {
    let site = site();
    let began = site.done(
        "/1/attach",
        r#"{"modes": ["cpu", "lock"], "options": "depth=9"}"#,
    );
    assert_eq!(began["clock"], "cpu");
    let dimension = || site.get("/1/profile").1["dimensions"][0]["key"].clone();
    site.eventually("CPU samples", || dimension() == "samples");
    let anew = site.done("/1/start", r#"{"modes": ["wall"]}"#);
    assert_eq!(
        (&anew["clock"], &anew["live"]),
        (&"wall".into(), &true.into())
    );
    assert_eq!(anew["modes"], serde_json::json!(["wall", "lock"]));
    assert_eq!(
        site.fake.asked("detach"),
        1,
        "a run of the agent has one clock"
    );
    let options = site.fake.options.lock().unwrap().clone();
    assert!(
        options[0].starts_with("cpu=samples,monitor=y,"),
        "{options:?}"
    );
    // What is kept of it has times.
    assert!(options[0].contains(",timeline=y"), "{options:?}");
    assert!(options[1].starts_with("monitor=y,cpu=wall,"), "{options:?}");
    assert!(options[1].contains(",depth=9,"), "{options:?}");
    site.eventually("samples of the wall clock", || dimension() == "wall");
    let timeline = site.ok("/1/timeline");
    let samples = timeline["buckets"].as_array().unwrap();
    let sum: u64 = samples.iter().filter_map(|it| it["samples"].as_u64()).sum();
    assert!(sum >= 10, "{timeline}");
    // The clock that is there continues the recording.
    site.done("/1/stop", r#"{"modes": ["wall"]}"#);
    let again = site.done("/1/start", r#"{"modes": ["wall"]}"#);
    assert_eq!(
        (&again["clock"], site.fake.asked("detach")),
        (&"wall".into(), 1)
    );
    let both = r#"{"modes": ["wall", "cpu"]}"#;
    site.refused("/1/start", both, StatusCode::BAD_REQUEST, "two clocks");
}

#[test]
fn a_recording_grows_ends_and_stays() {
    let site = site();
    assert_eq!(site.get("/1/profile").0, StatusCode::CONFLICT);
    let detail = site.done("/1/attach", CPU);
    assert_eq!(
        (&detail["live"], &detail["modes"][0]),
        (&true.into(), &"cpu".into())
    );
    let total = || {
        site.get("/1/profile/flame").1["total"]
            .as_u64()
            .unwrap_or(0)
    };
    // Ten with each look, a second apart: the last second has two looks at most.
    site.eventually("samples", || total() >= 40);
    let about = site.ok("/1/profile");
    assert_eq!(about["threads"][0]["name"], "main");
    assert!(about["revision"].as_u64().unwrap() >= 2, "{about}");
    assert_eq!(about["has_timeline"], true);
    // The last second has fewer samples than the whole recording.
    let last = site.ok("/1/profile/flame?last=1")["total"]
        .as_u64()
        .unwrap();
    assert!(last < total(), "{last}");
    let methods = site.ok("/1/profile/methods");
    assert_eq!(methods["rows"][0]["name"], "App.work");
    let tree = site.ok("/1/profile/tree");
    assert_eq!(tree["rows"][0]["percent"], 100.0);
    let timeline = site.ok("/1/timeline");
    assert!(!timeline["buckets"].as_array().unwrap().is_empty());
    let detail = site.done("/1/detach", "");
    assert_eq!(
        (&detail["live"], &detail["modes"]),
        (&false.into(), &Value::Array(vec![]))
    );
    assert!(detail["ended"].is_string(), "{detail}");
    let kept = total();
    assert!(kept >= 40);
    let dump = site.done("/1/keep", r#"{"name": "mine.txt"}"#);
    assert_eq!(dump["name"], "mine.txt");
    let id = dump["id"].as_str().unwrap().parse().unwrap();
    let file = std::fs::read_to_string(site.state.store().dump(&id).unwrap()).unwrap();
    assert!(file.contains(&format!("# {kept}")), "{file}");
    // A new recording takes the place of the old one.
    site.done("/1/attach", CPU);
    assert!(total() < kept);
}

#[test]
fn the_end_of_the_program_ends_its_recording() {
    let site = site();
    site.done("/2/attach", CPU);
    let agent = site.fake.agents.lock().unwrap().remove(&Pid(2)).unwrap();
    agent
        .lock()
        .unwrap()
        .shutdown(std::net::Shutdown::Both)
        .unwrap();
    site.eventually("the end", || site.ok("/2")["ended"].is_string());
}

#[test]
fn modes_stop_and_start_one_by_one() {
    let site = site();
    site.done("/3/attach", r#"{"modes": ["cpu", "lock"]}"#);
    let detail = site.done("/3/stop", CPU);
    assert_eq!(detail["modes"], serde_json::json!(["lock"]));
    let detail = site.done("/3/attach", r#"{"modes": ["alloc"]}"#);
    assert_eq!(detail["modes"], serde_json::json!(["alloc", "lock"]));
    let asked = "start heap=sites,heapinterval=512k,live=estimate 3";
    assert_eq!(site.fake.asked(asked), 1);
    let detail = site.done("/3/start", CPU);
    assert_eq!(detail["modes"], serde_json::json!(["cpu", "alloc", "lock"]));
    site.refused("/4/stop", CPU, StatusCode::CONFLICT, "not recorded");
}

#[test]
fn a_jvm_in_a_container_is_recorded_through_a_socket_in_there() {
    let site = site();
    assert_eq!(site.ok("/14")["can"]["record"], true);
    site.done("/14/attach", CPU);
    assert_eq!(site.fake.asked("socket 14"), 1);
    site.done("/14/detach", "{}");
}

#[test]
fn what_the_server_must_not_touch_is_refused_with_the_reason() {
    let site = site();
    let list = site.ok("");
    assert_eq!(list["items"].as_array().unwrap().len(), 4);
    assert_eq!(list["items"][1]["reason"], "it belongs to somebody else");
    site.ok("");
    assert_eq!(site.fake.asked("list"), 1, "a list is shared for a moment");
    site.refused("/13/attach", CPU, StatusCode::FORBIDDEN, "somebody else");
    site.refused(
        "/15/attach",
        CPU,
        StatusCode::CONFLICT,
        "/home/you/java.hprof.txt",
    );
    site.refused("/14/dump", "{}", StatusCode::FORBIDDEN, "container");
    site.refused("/16/dump", "{}", StatusCode::INSUFFICIENT_STORAGE, "memory");
    site.refused("/100/attach", CPU, StatusCode::NOT_FOUND, "no such JVM");
    let file = r#"{"modes": ["cpu"], "options": "file=/etc/passwd"}"#;
    site.refused("/1/attach", file, StatusCode::BAD_REQUEST, "options");
    assert_eq!(
        site.fake.asked("detach"),
        0,
        "somebody's agent was detached"
    );
    for path in ["/1/attach", "/1/detach", "/1/dump", "/1/keep"] {
        let (status, _) = site.send(&site.reader, "POST", path, CPU);
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}");
    }
    for pid in 20..28 {
        site.done(&format!("/{pid}/attach"), CPU);
    }
    site.refused("/28/attach", CPU, StatusCode::CONFLICT, "detach one");
}

#[test]
fn heap_and_threads_are_asked_seldom_and_garbage_is_for_admins() {
    let site = site();
    let table = site.ok("/1/histogram");
    assert_eq!(table["rows"][0]["name"], "int[]");
    assert_eq!(table["rows"][0]["shallow"], 72);
    site.ok("/1/histogram?sort=name");
    assert_eq!(site.fake.asked("histogram"), 1);
    let (status, _) = site.get("/1/histogram?live=true");
    assert_eq!(status, StatusCode::FORBIDDEN);
    let (status, _) = site.send(&site.admin, "GET", "/1/histogram?live=true", "");
    assert_eq!(status, StatusCode::OK);
    assert_eq!(site.fake.asked("histogram true"), 1);
    assert_eq!(site.ok("/1/threads")["threads"][0]["os_id"], 16);
    let memory = site.ok("/1/memory");
    assert_eq!(memory["rows"][0]["resident"], memory["resident"]);
    site.ok("/1/memory");
    assert_eq!(site.fake.asked("memory"), 1);
    assert_eq!(site.get("/13/memory").0, StatusCode::FORBIDDEN);
    let dump = site.done("/1/dump", r#"{"live": false}"#);
    assert_eq!(dump["name"], "App-1.hprof");
}

#[test]
fn the_end_of_the_server_detaches_all_agents() {
    let site = site();
    site.done("/5/attach", CPU);
    site.done("/6/attach", CPU);
    site.state.live().unwrap().close(Duration::from_secs(20));
    assert_eq!(site.fake.asked("detach"), 2);
    assert!(site.fake.agents.lock().unwrap().is_empty());
    site.refused("/7/attach", CPU, StatusCode::CONFLICT, "stops");
}

#[test]
fn the_agents_of_a_killed_server_are_found_again() {
    let site = site();
    let live = site.state.live().unwrap();
    std::fs::create_dir_all(live.folder()).unwrap();
    std::fs::write(live.folder().join("left.hprof"), "x").unwrap();
    live.recover();
    assert_eq!(std::fs::read_dir(live.folder()).unwrap().count(), 0);
    // An agent of another user stays.
    assert_eq!(site.fake.asked("detach"), 0);
}
