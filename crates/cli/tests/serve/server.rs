//! A server for one test, and requests to it. Every wait has a deadline.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Scene;

/// The limit of every wait; a machine under load is slow.
const DEADLINE: Duration = Duration::from_secs(240);

/// Waits until a value is there.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < DEADLINE, "not in time: {what}");
        sleep(Duration::from_millis(10));
    }
}

/// An answer.
pub struct Answer {
    pub status: u16,
    pub headers: ureq::http::HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }

    /// The problem that it is, of this kind and status.
    #[track_caller]
    pub fn assert_problem(&self, status: u16, kind: &str) {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["type"], kind, "{problem}");
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].as_str().unwrap().len() > 10, "{problem}");
    }
}

/// A server that runs.
pub struct Server {
    child: Child,
    pub address: String,
    pub token: String,
    pub agent: ureq::Agent,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// A server in the folder `serve` of a scene.
    pub fn start(scene: &Scene, flags: &[&str]) -> Self {
        let mut arguments = vec!["serve", "--folder", "serve", "--listen", "127.0.0.1:0"];
        if !flags.contains(&"--memory") {
            arguments.extend(["--memory", "1G"]);
        }
        arguments.extend(flags);
        Self::of_command(&mut scene.hprof_rs(&arguments))
    }

    /// The server that a command becomes.
    pub fn of_command(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("standard output");
        // The link comes at once, or standard output ends.
        let read = BufReader::new(stdout).read_line(&mut line);
        read.expect("a line");
        let link = line.trim().strip_prefix("Open http://").expect("a link");
        let (address, token) = link.split_once("/?token=").expect("a token");
        Self {
            child,
            address: address.to_owned(),
            token: token.to_owned(),
            agent: ureq::Agent::config_builder()
                .http_status_as_error(false)
                .max_redirects(0)
                .timeout_global(Some(DEADLINE))
                .allow_non_standard_methods(true)
                .build()
                .new_agent(),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the server as `kill -9` does.
    pub fn kill(mut self) {
        self.child.kill().expect("a running server");
        self.child.wait().expect("an end");
    }

    /// Asks it to end, and waits until it has.
    pub fn terminate(mut self) {
        signal(self.pid(), libc::SIGTERM);
        let status = eventually("the end of the server", || self.child.try_wait().unwrap());
        assert!(status.success(), "{status}");
    }

    /// A request with the token of the link.
    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let mut all = vec![("authorization", bearer.as_str())];
        all.extend(headers);
        self.bare_request(method, path, &all, body)
    }

    /// A request with nothing but these headers.
    pub fn bare_request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let uri = format!("http://{}{path}", self.address);
        let mut request = ureq::http::Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = self.agent.run(request.body(body).unwrap());
        let mut answer = answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        Answer {
            status: answer.status().as_u16(),
            headers: answer.headers().clone(),
            body: answer.body_mut().read_to_vec().expect("a body"),
        }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        let body = body.to_string();
        let kind = [("content-type", "application/json")];
        self.request("POST", path, &kind, body.as_bytes())
    }

    /// Uploads a file, and gives the dump's id.
    #[track_caller]
    pub fn upload(&self, file: &Path) -> String {
        let name = file.file_name().unwrap().to_str().unwrap();
        let path = format!("/api/v1/dumps?name={name}");
        let answer = self.request("PUT", &path, &[], &fs::read(file).unwrap());
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    pub fn dump(&self, id: &str) -> Value {
        self.get(&format!("/api/v1/dumps/{id}")).json()
    }

    /// Waits until the last job of a dump is in a state, and gives the dump.
    #[track_caller]
    pub fn wait_for(&self, id: &str, state: &str) -> Value {
        eventually(&format!("{id} {state}"), || {
            let dump = self.dump(id);
            let is = dump["job"]["state"].as_str().unwrap_or_default();
            let has_ended = ["done", "failed", "cancelled"].contains(&is);
            assert!(!has_ended || is == state, "{dump}");
            (is == state).then_some(dump)
        })
    }

    /// Waits for a worker process, and gives its number.
    pub fn worker(&self) -> u32 {
        eventually("a worker", || self.workers().first().copied())
    }

    /// The worker processes.
    pub fn workers(&self) -> Vec<u32> {
        let Ok(threads) = fs::read_dir(format!("/proc/{}/task", self.pid())) else {
            return Vec::new();
        };
        let children = |thread: fs::DirEntry| {
            fs::read_to_string(thread.path().join("children")).unwrap_or_default()
        };
        let text: String = threads.flatten().map(children).collect();
        text.split_whitespace()
            .map(|it| it.parse().unwrap())
            .collect()
    }

    /// Sends bytes, and gives whatever comes back until the server ends the connection.
    pub fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(bytes).expect("a server that reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an end");
        String::from_utf8_lossy(&answer).into_owned()
    }
}

/// Lets a worker go on in short slices until its job is in a phase, and leaves it stopped there.
#[track_caller]
pub fn advance(server: &Server, id: &str, phase: &str) -> u32 {
    let worker = server.worker();
    let began = Instant::now();
    loop {
        signal(worker, libc::SIGSTOP);
        // A slice ends when this thread wants it to, however many other programs wait for the cores.
        run_when_idle(worker);
        // What it has said is read meanwhile.
        sleep(Duration::from_millis(4));
        let job = server.dump(id)["job"].take();
        if job["phase"] == phase {
            return worker;
        }
        assert_eq!(job["state"], "running", "{phase} was not seen: {job}");
        assert!(began.elapsed() < DEADLINE, "{phase} does not come: {job}");
        signal(worker, libc::SIGCONT);
        sleep(Duration::from_millis(1));
    }
}

/// Has the threads of a process give way to all others (`SCHED_IDLE`).
fn run_when_idle(pid: u32) {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return;
    };
    for thread in threads.flatten() {
        let name = thread.file_name();
        let Some(tid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let priority = libc::sched_param { sched_priority: 0 };
        // SAFETY: the parameter lives until the call returns. A thread that has ended meanwhile is an error.
        unsafe { libc::sched_setscheduler(tid, libc::SCHED_IDLE, &raw const priority) };
    }
}

/// Returns true if a process is there and no zombie.
pub fn is_running(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

pub fn signal(pid: u32, signal: libc::c_int) {
    // SAFETY: a call without pointers; the process is one that this test started.
    let result = unsafe { libc::kill(pid as libc::pid_t, signal) };
    assert_eq!(result, 0, "kill {pid}");
}

/// A JVM that runs and answers no request to attach: the thread that would is held, as by a debugger.
/// Its process is not stopped. The thread goes on when this is dropped, in the thread that made it.
pub struct Unanswering {
    thread: libc::pid_t,
}

impl Unanswering {
    pub fn hold(pid: u32) -> Self {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let dispatcher = threads.map(|it| it.unwrap().path()).find(|thread| {
            // The kernel keeps 15 characters of "Signal Dispatcher".
            fs::read_to_string(thread.join("comm")).is_ok_and(|name| name == "Signal Dispatch\n")
        });
        let dispatcher = dispatcher.expect("a JVM");
        let thread = dispatcher.file_name().unwrap().to_str().unwrap();
        let thread: libc::pid_t = thread.parse().unwrap();
        let none = std::ptr::null_mut::<libc::c_void>();
        for request in [libc::PTRACE_SEIZE, libc::PTRACE_INTERRUPT] {
            // SAFETY: neither request takes memory; the thread belongs to a process that this test started.
            let result = unsafe { libc::ptrace(request, thread, none, none) };
            assert_eq!(result, 0, "{request}: {}", io::Error::last_os_error());
        }
        let mut status = 0;
        // SAFETY: a number to write to.
        let found = unsafe { libc::waitpid(thread, &mut status, libc::__WALL) };
        assert!(found == thread && libc::WIFSTOPPED(status), "{status}");
        Self { thread }
    }
}

impl Drop for Unanswering {
    fn drop(&mut self) {
        let none = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: as in `hold`.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, self.thread, none, none) };
    }
}

/// Writes a heap dump of a chain of `count` objects, whose analysis takes a while.
pub fn chain(path: &Path, count: u32) -> PathBuf {
    let mut dump = b"JAVA PROFILE 1.0.2\0".to_vec();
    let put = |to: &mut Vec<u8>, number: u32| to.extend(number.to_be_bytes());
    put(&mut dump, 4);
    dump.extend([0; 8]);
    let record = |to: &mut Vec<u8>, tag: u8, body: &[u8]| {
        to.push(tag);
        to.extend([0; 4]);
        to.extend((body.len() as u32).to_be_bytes());
        to.extend(body);
    };
    for (id, text) in [(1_u32, "Node"), (2, "next"), (3, "java/lang/Object")] {
        let mut body = id.to_be_bytes().to_vec();
        body.extend(text.bytes());
        record(&mut dump, 0x01, &body);
    }
    for (serial, class, name) in [(1_u32, 16_u32, 3_u32), (2, 24, 1)] {
        let mut body = Vec::new();
        for number in [serial, class, 0, name] {
            put(&mut body, number);
        }
        record(&mut dump, 0x02, &body);
    }
    let mut heap = Vec::new();
    for (class, base, fields) in [(16_u32, 0_u32, 0_u16), (24, 16, 1)] {
        heap.push(0x20);
        for number in [class, 0, base, 0, 0, 0, 0, 0, u32::from(fields) * 4] {
            put(&mut heap, number);
        }
        heap.extend([0; 4]);
        heap.extend(fields.to_be_bytes());
        if fields == 1 {
            put(&mut heap, 2);
            heap.push(2);
        }
    }
    let address = |number: u32| 0x1000 + 16 * number;
    heap.push(0x05);
    put(&mut heap, 24);
    heap.push(0x01);
    put(&mut heap, address(0));
    put(&mut heap, 1);
    for number in 0..count {
        heap.push(0x21);
        let next = if number + 1 < count {
            address(number + 1)
        } else {
            0
        };
        for value in [address(number), 0, 24, 4, next] {
            put(&mut heap, value);
        }
    }
    record(&mut dump, 0x0c, &heap);
    fs::write(path, dump).expect("a file");
    path.to_owned()
}
