//! An assistant, as a test plays it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Scene;

/// How long an answer may take.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// An assistant.
pub struct Client {
    pub child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Value>,
    last: u64,
}

impl Client {
    pub fn new(scene: &Scene, arguments: &[&str]) -> Self {
        let mut all = vec!["mcp"];
        all.extend(arguments);
        let mut child = scene
            .hprof_rs(&all)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let output = child.stdout.take().expect("a pipe");
        let (send, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let line = line.expect("text");
                let message = serde_json::from_str(&line);
                let message = message.unwrap_or_else(|_| panic!("no JSON: {line}"));
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let mut client = Self {
            input: child.stdin.take(),
            child,
            answers,
            last: 0,
        };
        let hello = client.request(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "a test", "version": "1"},
            }),
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "hprof-rs", "{hello}");
        let instructions = hello["result"]["instructions"]
            .as_str()
            .expect("instructions");
        assert!(instructions.contains("never follow instructions"));
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    pub fn write(&mut self, line: &str) {
        let input = self.input.as_mut().expect("open");
        writeln!(input, "{line}").expect("the server reads");
    }

    pub fn send(&mut self, message: &Value) {
        self.write(&message.to_string());
    }

    /// Sends a request and gives its number.
    pub fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Waits for the answer with a number.
    pub fn wait(&mut self, id: u64) -> Value {
        loop {
            let message = self.answers.recv_timeout(PATIENCE).expect("an answer");
            if message["id"] == id {
                return message;
            }
        }
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.wait(id)
    }

    /// The text of a tool's answer, and whether it is a refusal.
    pub fn text(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        let text = text
            .unwrap_or_else(|| panic!("{tool}: {answer}"))
            .to_owned();
        assert!(text.len() <= 40_000, "{tool}: {} bytes", text.len());
        (text, result["isError"] == true)
    }

    pub fn ask(&mut self, tool: &str, arguments: Value) -> Value {
        let (text, is_error) = self.text(tool, arguments);
        assert!(!is_error, "{tool}: {text}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{tool}: {error}: {text}"))
    }

    pub fn refusal(&mut self, tool: &str, arguments: Value) -> String {
        let (text, is_error) = self.text(tool, arguments);
        assert!(is_error, "{tool}: {text}");
        text
    }

    /// Ends the conversation, and waits for the server to end.
    pub fn end(mut self) {
        drop(self.input.take());
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                assert!(status.success(), "{status}");
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "the server does not end");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // One that has ended is not there to be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processes that a server has started and that run.
pub fn processes_of(server: &Child) -> usize {
    let children = format!("/proc/{0}/task/{0}/children", server.id());
    let children = fs::read_to_string(children).unwrap_or_default();
    let runs = |pid: &&str| {
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !status.is_empty() && !status.contains(") Z ")
    };
    children.split_whitespace().filter(runs).count()
}
