//! A running `hprof-rs listen`, and agents scripted by tests.
#![allow(dead_code)] // Each test uses a part of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use hprof_wire::command::Frame;
use hprof_wire::frames::{FrameReader, Incoming};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::Scene;

/// Waiting for longer means that something hangs.
pub const LIMIT: Duration = Duration::from_secs(100);

/// A listener with what it has said.
pub struct Listener {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Events that no test has asked for yet.
    seen: Vec<Value>,
    /// Where agents connect to.
    pub address: String,
    /// Where files are saved.
    pub folder: PathBuf,
}

impl Listener {
    /// On a free port of this machine, with these commands.
    pub fn start(scene: &Scene, script: Option<&str>) -> Self {
        Self::start_on(scene, "127.0.0.1:0", script)
    }

    pub fn start_on(scene: &Scene, address: &str, script: Option<&str>) -> Self {
        let script = script.map(|script| ["--exec", script]);
        Self::start_with(scene, address, script.as_ref().map_or(&[], |it| &it[..]))
    }

    /// With more arguments.
    pub fn start_with(scene: &Scene, address: &str, more: &[&str]) -> Self {
        let folder = scene.path("saved");
        let mut arguments = vec!["listen", "--json", address, "--save", "saved"];
        arguments.extend(more);
        let mut child = scene
            .hprof_rs(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the listener starts");
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut listener = Self {
            stdin: child.stdin.take(),
            child,
            lines,
            seen: Vec::new(),
            address: String::new(),
            folder,
        };
        let event = listener.event("listening", |_| true);
        listener.address = event["address"].as_str().expect("an address").to_owned();
        listener
    }

    /// Waits for an event.
    pub fn event(&mut self, name: &str, is_meant: impl Fn(&Value) -> bool) -> Value {
        let is_it = |event: &Value| event["event"] == name && is_meant(event);
        if let Some(at) = self.seen.iter().position(&is_it) {
            return self.seen.remove(at);
        }
        let start = Instant::now();
        loop {
            let left = LIMIT.saturating_sub(start.elapsed());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("no event {name} among {:?}", self.seen));
            let event: Value = serde_json::from_str(&line).expect("JSON");
            if is_it(&event) {
                return event;
            }
            self.seen.push(event);
        }
    }

    /// How many events of this name were seen and not asked for.
    pub fn left(&self, name: &str) -> usize {
        let named = self.seen.iter().filter(|event| event["event"] == name);
        named.count()
    }

    /// Waits for the end of an agent's stream.
    pub fn ended(&mut self, agent: u64) -> Value {
        self.event("ended", |event| event["agent"] == agent)
    }

    /// Types a line.
    pub fn type_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("an open pipe");
        writeln!(stdin, "{line}").expect("it reads");
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// The most memory that it has had, in bytes.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.expect("VmHWM").trim().trim_end_matches(" kB");
        kilobytes.parse::<u64>().expect("a number") * 1024
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Option<i32> {
        self.stdin = None;
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                return status.code();
            }
            assert!(start.elapsed() < LIMIT, "the listener does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The names of the files, sorted.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).expect("the folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names
            .map(|name| name.into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An agent that a test plays.
pub struct FakeAgent {
    pub stream: TcpStream,
    reader: FrameReader,
    frames: Vec<Frame>,
}

impl FakeAgent {
    pub fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the listener accepts");
        stream.set_read_timeout(Some(LIMIT)).expect("a time-out");
        Self {
            stream,
            reader: FrameReader::new(),
            frames: Vec::new(),
        }
    }

    /// Sends; the listener may have closed.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// The next command.
    pub fn command(&mut self) -> Frame {
        let mut buffer = [0; 100];
        while self.frames.is_empty() {
            let found = self.stream.read(&mut buffer).expect("a command");
            assert!(found > 0, "closed before a command came");
            let frames = &mut self.frames;
            self.reader
                .push(&buffer[..found], |incoming| match incoming {
                    Incoming::Command(frame) => frames.push(frame),
                    Incoming::Request { line, .. } => panic!("{line}"),
                    Incoming::Bad { error, .. } => panic!("{error}"),
                });
        }
        self.frames.remove(0)
    }

    /// Ends the stream as a JVM does.
    pub fn close(self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Breaks the connection, as when a machine has vanished.
    pub fn reset(self) {
        let zero = Some(Duration::ZERO);
        rustix::net::sockopt::set_socket_linger(&self.stream, zero).expect("a socket");
    }
}

/// A binary stream of this project's agent, without the end: its header and who it is.
pub fn beginning(pid: u32, main: &str) -> Vec<u8> {
    let mut bytes = b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0".to_vec();
    let mark =
        format!("hprof-rs agent: version=0.1.0 pid={pid} format=b modes=cpu=samples main={main}");
    bytes.extend(string(1, mark.as_bytes()));
    bytes
}

/// A record.
pub fn record(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag, 0, 0, 0, 0];
    bytes.extend((body.len() as u32).to_be_bytes());
    bytes.extend(body);
    bytes
}

/// A string with its id.
pub fn string(id: u64, text: &[u8]) -> Vec<u8> {
    record(0x01, &[&id.to_be_bytes(), text].concat())
}

/// The answer to a command.
pub fn reply(id: u64, frame: &Frame, outcome: &str) -> Vec<u8> {
    let text = format!("hprof-rs reply: serial={} {outcome}", frame.serial);
    string(id, text.as_bytes())
}
