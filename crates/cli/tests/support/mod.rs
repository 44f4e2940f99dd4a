//! A folder with an own cache for each test, and the command in it.
#![allow(dead_code)] // Each test uses a part of it.

pub mod browser;
pub mod listener;
pub mod phones;
pub mod terminal;

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use java_test_harness::Running;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The home of one test.
pub struct Scene {
    folder: TempDir,
}

impl Scene {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn cache(&self) -> PathBuf {
        self.path("cache")
    }

    /// The command with arguments, in the test's folder and with its cache.
    pub fn hprof_rs(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hprof-rs"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("XDG_CACHE_HOME", self.cache())
            .env_remove("JAVA_TOOL_OPTIONS")
            .env_remove("_JAVA_OPTIONS")
            .env_remove("JDK_JAVA_OPTIONS")
            .env_remove("_JAVA_HPROF_OPTIONS");
        command
    }

    pub fn profile(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

/// The path of a file of the test data.
pub fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../format/tests/data");
    path.join(name)
        .to_str()
        .expect("a path in UTF-8")
        .to_owned()
}

/// A larger file, from the folder named by `HPROF_FIXTURES` or from one beside the workspace. If it
/// is not there, says so.
#[allow(clippy::disallowed_macros)]
pub fn shared(name: &str) -> Option<PathBuf> {
    let manifest = env!("CARGO_MANIFEST_DIR");
    let named = env::var_os("HPROF_FIXTURES").map(PathBuf::from);
    let beside = ["fixtures", "goldens"];
    let beside = beside.map(|folder| PathBuf::from(format!("{manifest}/../../../shared/{folder}")));
    let mut paths = (named.iter().chain(&beside)).map(|folder| folder.join(name));
    let found = paths.find(|path| path.exists());
    if found.is_none() {
        println!("{name} is not there: set HPROF_FIXTURES to the folder that holds it");
    }
    found
}

/// The program that the tests profile, in source form.
pub fn burn() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Burn.java");
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// The `java` to test with.
pub fn java() -> String {
    let path = match env::var_os("JAVA_HOME") {
        Some(home) => Path::new(&home).join("bin/java"),
        None => PathBuf::from("java"),
    };
    let found = Command::new(&path).arg("-version").output();
    let works = found.as_ref().is_ok_and(|output| output.status.success());
    assert!(
        works,
        "these tests need a JDK of release 11 or later: set JAVA_HOME, put java on PATH, or run \
         `scripts/setup java` ({} -version: {found:?})",
        path.display()
    );
    path.into_os_string()
        .into_string()
        .expect("a path in UTF-8")
}

/// Runs a command to its end with `input` as its standard input.
pub fn run(command: &mut Command, input: &str) -> Output {
    start(command, input)
        .wait_with_output()
        .expect("the command's output")
}

pub fn start(command: &mut Command, input: &str) -> Child {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A command that ends without reading closes the pipe.
    let _ = stdin.write_all(input.as_bytes());
    child
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Stops a JVM by a signal, and returns once each of its threads has stopped: `kill` returns before,
/// and a thread that runs until then may still answer.
pub fn stop(jvm: &Running) {
    let pid = jvm.pid();
    let process = Pid::from_raw(pid.cast_signed()).expect("a pid");
    kill_process(process, Signal::STOP).expect("a signal");
    jvm.wait_until("the stop", |_| {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("its threads");
        threads.flatten().all(|thread| {
            let status = fs::read_to_string(thread.path().join("status"));
            status.map_or(true, |text| text.contains("State:\tT"))
        })
    });
}

/// Lets a stopped JVM go on.
pub fn resume(jvm: &Running) {
    let process = Pid::from_raw(jvm.pid().cast_signed()).expect("a pid");
    kill_process(process, Signal::CONT).expect("a signal");
}
