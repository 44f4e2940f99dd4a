//! A thousand tiny hostile files: no command takes memory without bound, none dies of one.
//!
//! A sample of them goes through a command or two each; `HPROF_RS_HOSTILE=all` takes every file
//! through every command and prints the peak of each, which takes an hour in a debug build;
//! `HPROF_RS_HOSTILE=135` takes the file of that number alone, and keeps it in the temporary folder.

#![allow(clippy::disallowed_macros)]

mod corpus;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use support::Scene;

/// The files.
const FILES: usize = 1000;
/// Without `HPROF_RS_HOSTILE`, one in this many files is read.
const SAMPLE: usize = 7;
/// The value of `--memory`, in bytes.
const LIMIT: u64 = 96 << 20;
/// The limit with its code, of which a debug build has 60 MB, and with allocations until
/// the limit is seen.
const MAX_MEMORY: u64 = 256 << 20;
/// The memory limit without `--memory`, for uncompressed files, in bytes.
const MAX_MEMORY_OF_PLAIN: u64 = 192 << 20;
/// A generous time for 64 kB, on a busy machine.
const MAX_TIME: Duration = Duration::from_secs(60);

const COMMANDS: &[&[&str]] = &[
    &["check"],
    &["summary"],
    &["summary", "--json"],
    &["histogram"],
    &["top"],
    &["samples"],
    &["samples", "--by", "tree"],
    &["samples", "--by", "trace", "--json"],
    &["sites"],
    &["strings"],
    &["threads"],
    &["threads", "--retained"],
    &["report", "-o", "-"],
    &["leaks"],
    &["collections"],
    &["duplicates"],
    &["finalizers"],
    &["classloaders"],
    &["growth"],
    &["android"],
    &["paths", "*"],
    &["dominators"],
    &["retained"],
    &["object", "0x1000"],
    &["referrers", "0x1010"],
    &["references", "0x1000"],
    &[
        "query",
        "SELECT class, count(*) FROM objects GROUP BY class",
    ],
    &["convert", "--to", "json"],
    &["convert", "--to", "html"],
    &["convert", "--to", "csv"],
    &["convert", "--to", "text"],
    &["convert", "--to", "pprof", "-o", "out.pb.gz"],
    &["convert", "--to", "speedscope"],
    &["convert", "--to", "firefox"],
    &["strip", "-o", "stripped"],
    &["diff"],
    &["records", "--sub", "--top", "5000"],
    &["gc"],
    &["stacks"],
];

struct Ran {
    status: ExitStatus,
    peak: u64,
    time: Duration,
    errors: String,
}

/// Runs a command to its end, and the memory that it occupied at most.
// It is waited for below, by a call that tells the memory too.
#[allow(clippy::zombie_processes)]
fn ran(command: &mut Command) -> Ran {
    let started = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("the command");
    let mut errors = Vec::new();
    let mut pipe = child.stderr.take().expect("a pipe");
    pipe.read_to_end(&mut errors).expect("the pipe");
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: the child was not waited for yet, and both places are valid to be written to.
    let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, usage.as_mut_ptr()) };
    assert_eq!(waited, child.id() as i32);
    // SAFETY: all of it is numbers, for which zeros are valid, and the call has filled it.
    let usage = unsafe { usage.assume_init() };
    Ran {
        status: ExitStatus::from_raw(status),
        peak: usage.ru_maxrss as u64 * 1024,
        time: started.elapsed(),
        errors: String::from_utf8_lossy(&errors).into_owned(),
    }
}

/// The arguments of a command for a file.
fn arguments(command: &[&str], path: &Path, is_limited: bool) -> Vec<String> {
    let file = path.display().to_string();
    let mut all = vec![command[0].to_owned()];
    if is_limited {
        all.extend(["--memory".to_owned(), (LIMIT >> 20).to_string() + "M"]);
    }
    all.push(file.clone());
    if matches!(command[0], "diff" | "growth") {
        all.push(file);
    }
    all.extend(command[1..].iter().map(|&argument| argument.to_owned()));
    all
}

/// The highest peak of each command, with the file.
#[derive(Default)]
struct Peaks(Mutex<BTreeMap<String, (u64, String, Duration)>>);

impl Peaks {
    fn add(&self, command: &[&str], is_limited: bool, name: &str, ran: &Ran) {
        let mut key = command.join(" ");
        key.push_str(if is_limited { " (limited)" } else { "" });
        let mut peaks = self.0.lock().expect("no panic");
        let peak = peaks.entry(key).or_default();
        if ran.peak > peak.0 {
            (peak.0, peak.1) = (ran.peak, name.to_owned());
        }
        peak.2 = peak.2.max(ran.time);
    }

    fn print(&self) {
        for (command, (peak, name, time)) in self.0.lock().expect("no panic").iter() {
            let time = time.as_secs_f64();
            println!("{command} | {} MB | {name} | {time:.1} s", peak >> 20);
        }
    }
}

#[test]
fn tiny_hostile_files_take_no_memory_without_bound() {
    let wanted = std::env::var("HPROF_RS_HOSTILE").ok();
    let takes_all = wanted.is_some();
    let only: Option<usize> = wanted.and_then(|wanted| wanted.parse().ok());
    let failures = Mutex::new(Vec::new());
    let scene = Scene::new();
    let next = AtomicUsize::new(0);
    let peaks = Peaks::default();
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= FILES {
                return;
            }
            if !takes_all && !number.is_multiple_of(SAMPLE)
                || only.is_some_and(|only| only != number)
            {
                continue;
            }
            let hostile = corpus::file(number);
            let folder = scene.path(&number.to_string());
            fs::create_dir(&folder).expect("a folder");
            let path: PathBuf = folder.join(&hostile.name);
            fs::write(&path, &hostile.bytes).expect("a file");
            if only.is_some() {
                let kept = std::env::temp_dir().join(format!("hprof-rs-hostile-{}", hostile.name));
                fs::write(&kept, &hostile.bytes).expect("a file");
            }
            let mut choice = corpus::Numbers::new(number as u64 * 7 + 3);
            for (index, command) in COMMANDS.iter().enumerate() {
                // One command for each file, and another for a few.
                let chosen = index == number / SAMPLE % COMMANDS.len() || choice.below(400) == 0;
                if !takes_all && !chosen {
                    continue;
                }
                let is_limited = hostile.is_packed;
                let all = arguments(command, &path, is_limited);
                let all: Vec<&str> = all.iter().map(String::as_str).collect();
                let ran = ran(scene.hprof_rs(&all).current_dir(&folder));
                peaks.add(command, is_limited, &hostile.name, &ran);
                let what = format!(
                    "{} on {}: {:?}",
                    command.join(" "),
                    hostile.name,
                    ran.status
                );
                // Not by a signal, not by a panic (101), not by an abort.
                let code = ran.status.code();
                let most = if is_limited {
                    MAX_MEMORY
                } else {
                    MAX_MEMORY_OF_PLAIN
                };
                let is_fine =
                    matches!(code, Some(0..=3)) && ran.peak <= most && ran.time < MAX_TIME;
                if !is_fine {
                    let peak = ran.peak >> 20;
                    let failure = format!("{what} {peak} MB {:?} {}", ran.time, ran.errors);
                    failures.lock().expect("no panic").push(failure);
                }
            }
            fs::remove_dir_all(&folder).expect("the folder");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    peaks.print();
    let failures = failures.into_inner().expect("no panic");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_limit_that_is_reached_is_said_in_a_sentence() {
    let scene = Scene::new();
    let path = scene.path("many.txt");
    let mut text = "JAVA PROFILE 1.0.1, created Fri Nov 20 10:34:08 2026\nTRACE 1:\n".to_owned();
    for line in 1..1_000_000 {
        text.push_str(&format!("\tA.b(A.java:{line})\n"));
    }
    fs::write(&path, text).expect("a file");
    let path = path.display().to_string();
    for command in [&["check"][..], &["summary"], &["convert", "--to", "json"]] {
        let all = [command, &["--memory", "64M", &path]].concat();
        let ran = ran(&mut scene.hprof_rs(&all));
        assert_eq!(ran.status.code(), Some(3), "{command:?} {}", ran.errors);
        let words = "MB were read: the 67.1 MB that --memory allows are used up; allow more";
        assert!(ran.errors.contains(words), "{}", ran.errors);
        assert!(ran.peak < MAX_MEMORY, "{} MB", ran.peak >> 20);
    }
}

#[test]
fn an_interrupted_copy_leaves_nothing() {
    let scene = Scene::new();
    // An array of 1 GB, which takes no room on the disk.
    let length = 1_000_000_000_u32;
    let mut start = [
        b"JAVA PROFILE 1.0.2\0",
        &[0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0][..],
    ]
    .concat();
    start.extend([0x1c, 0, 0, 0, 0]);
    start.extend((length + 18).to_be_bytes());
    start.push(0x23);
    start.extend(8u64.to_be_bytes());
    start.extend([0; 4]);
    start.extend(length.to_be_bytes());
    start.push(8);
    let path = scene.path("large.hprof");
    fs::write(&path, &start).expect("a file");
    let file = File::options().write(true).open(&path).expect("a file");
    file.set_len(start.len() as u64 + u64::from(length))
        .expect("a file");
    let out = scene.path("out");
    fs::create_dir(&out).expect("a folder");
    let output = out.join("copy.hprof.gz").display().to_string();
    let path = path.display().to_string();
    let mut child = scene
        .hprof_rs(&["strip", &path, "-o", &output])
        .stderr(Stdio::null())
        .spawn()
        .expect("the command");
    std::thread::sleep(Duration::from_millis(500));
    let pid = rustix::process::Pid::from_child(&child);
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    let status = child.wait().expect("its end");
    let left: Vec<_> = fs::read_dir(&out).expect("a folder").collect();
    assert!(left.is_empty() || status.success(), "{left:?}");
}
