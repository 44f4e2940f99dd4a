//! `hprof-rs record` on a disk that becomes full meanwhile: nothing is lost that is not named.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use java_test_harness::{Jdk, Run, Running, rights};
use support::{Scene, run, stderr, stdout};

/// A mounted file system with a size limit. `None` without the right to mount.
struct TinyDisk {
    folder: tempfile::TempDir,
}

impl TinyDisk {
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().ok()?;
        let mut mount = Command::new("mount");
        let size = format!("size={size}");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]);
        mount.arg(folder.path());
        rights::may(&mut mount, "to mount a file system").then_some(Self { folder })
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Leaves no byte.
    fn fill(&self) {
        let full = fs::write(self.path("filler"), vec![1; 8 << 20]);
        assert!(full.is_err(), "the disk is large");
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).status();
    }
}

fn spinning() -> Running {
    let running = Run::new(Jdk::feature_release(17)).class("Spin");
    let running = running.args(["600"]).start();
    running.wait_until("the spinning thread", |running| {
        let tasks = fs::read_dir(format!("/proc/{}/task", running.pid())).unwrap();
        let mut names = tasks
            .flatten()
            .filter_map(|it| fs::read_to_string(it.path().join("comm")).ok());
        names.any(|name| name.starts_with("spinner"))
    });
    running
}

/// A recording that has begun, and its messages.
fn record(command: &mut Command) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("recording Spin"), "{line}");
    (child, said)
}

/// Interrupts a recording; its exit status, and what it says.
fn end(mut child: Child, mut said: BufReader<std::process::ChildStderr>) -> (Option<i32>, String) {
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut text = String::new();
    said.read_to_string(&mut text).unwrap();
    (child.wait().unwrap().code(), text)
}

#[track_caller]
fn assert_unharmed(scene: &Scene, running: &Running) {
    let pid = running.pid().to_string();
    let status = run(&mut scene.hprof_rs(&["control", &pid, "status"]), "");
    assert_eq!(status.status.code(), Some(1), "the agent is still at work");
    assert!(Path::new(&format!("/proc/{pid}/task")).exists());
    assert_eq!(running.files(), [""; 0], "the program's folder has files");
}

#[test]
fn what_does_not_fit_on_the_disk_is_kept_elsewhere() {
    let Some(disk) = TinyDisk::mount("4k") else {
        return;
    };
    let scene = Scene::new();
    let running = spinning();
    let pid = running.pid().to_string();
    let output = disk.path("cpu.html");
    let (child, said) = record(&mut scene.hprof_rs(&["record", &pid, "-o", &output]));
    std::thread::sleep(Duration::from_secs(2));
    disk.fill();
    let (code, text) = end(child, said);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("cannot write") && text.contains("No space left"),
        "{text}"
    );
    assert!(!Path::new(&output).exists());
    // The message has the command that gives the output.
    let kept = text.split("what was recorded is in ").nth(1).unwrap();
    let kept = PathBuf::from(kept.split(':').next().unwrap());
    let samples = run(
        &mut scene.hprof_rs(&["samples", &kept.display().to_string()]),
        "",
    );
    fs::remove_file(&kept).unwrap();
    assert!(
        stdout(&samples).contains("Spin.hot"),
        "{}",
        stderr(&samples)
    );
    assert_unharmed(&scene, &running);
}

#[test]
fn what_is_lost_is_named() {
    let Some(disk) = TinyDisk::mount("64k") else {
        return;
    };
    let scene = Scene::new();
    let running = spinning();
    let pid = running.pid().to_string();
    let output = disk.path("cpu.html");
    let mut command = scene.hprof_rs(&["record", &pid, "-o", &output]);
    command.env("TMPDIR", disk.folder.path());
    let (child, said) = record(&mut command);
    std::thread::sleep(Duration::from_secs(2));
    disk.fill();
    let (code, text) = end(child, said);
    assert_eq!(code, Some(1), "{text}");
    let lost = text.split(" s are lost").next().unwrap();
    let words: Vec<&str> = lost.split_whitespace().rev().collect();
    let (seconds, samples) = (words[0], words[3]);
    assert!(words[2] == "samples" && words[1] == "of", "{text}");
    assert!(seconds.parse::<u64>().unwrap() >= 1, "{text}");
    assert!(
        samples.replace(',', "").parse::<u64>().unwrap() > 10,
        "{text}"
    );
    assert_unharmed(&scene, &running);
}

#[test]
fn the_next_file_has_what_did_not_fit_before() {
    let Some(disk) = TinyDisk::mount("1m") else {
        return;
    };
    let scene = Scene::new();
    let running = spinning();
    let pid = running.pid().to_string();
    disk.fill();
    let output = disk.path("cpu-%t.collapsed");
    let options = ["record", &pid, "--loop", "2s", "-o", &output];
    let (child, mut said) = record(&mut scene.hprof_rs(&options));
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("the next file has this time too"), "{line}");
    fs::remove_file(disk.path("filler")).unwrap();
    let files = || {
        let files = fs::read_dir(disk.folder.path()).unwrap().flatten();
        let files = files.filter(|it| it.path().extension().is_some_and(|it| it == "collapsed"));
        files.map(|it| it.path()).collect::<Vec<_>>()
    };
    let began = Instant::now();
    while files().is_empty() {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "no file was written"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let (code, text) = end(child, said);
    assert_eq!(code, Some(0), "{text}");
    assert!(files().len() >= 2, "{text}");
    assert_unharmed(&scene, &running);
}
