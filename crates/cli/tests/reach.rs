//! JVMs whose sockets are gone, and those that show less of themselves: chroots and hidden processes.

#![allow(clippy::disallowed_macros)]

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use java_test_harness::rights::{self, NOBODY};
use java_test_harness::{Jdk, Run, Running, Signal, classes, control_socket, each_jdk};
use support::{Scene, run, stderr, stdout};
use tempfile::TempDir;

fn profiled(jdk: &'static Jdk) -> Running {
    let running = Run::new(jdk)
        .agent("cpu=samples,doe=n")
        .jvm_arg("-XX:+EnableDynamicAgentLoading")
        .class("Idle")
        .start();
    running.wait_for_line("ready");
    running.wait_until("the control socket", |it| control_socket(it.pid()).exists());
    running
}

fn ask(scene: &Scene, arguments: &[&str]) -> Output {
    run(&mut scene.hprof_rs(arguments), "")
}

#[test]
fn an_agent_whose_socket_a_cleaner_has_removed_is_reached_again() {
    // JDK 11 knows no such flag, and takes agents anyway.
    each_jdk(|jdk| {
        let scene = Scene::new();
        let jvm = profiled(jdk);
        let pid = jvm.pid().to_string();
        let status = ["control", &pid, "status"];
        let first = ask(&scene, &status);
        assert!(stdout(&first).contains("cpu=samples"), "{}", stderr(&first));
        // Twice, and the one of the VM as well.
        for _ in 0..2 {
            fs::remove_file(control_socket(jvm.pid())).unwrap();
            let _ = fs::remove_file(format!("/tmp/.java_pid{pid}"));
            let again = ask(&scene, &status);
            assert!(again.status.success(), "{}", stderr(&again));
            assert!(stdout(&again).contains("cpu=samples"), "{}", stdout(&again));
        }
        // The first socket's thread has ended, and the last one's socket is the one that is there.
        let direct = ask(&scene, &status);
        assert!(direct.status.success(), "{}", stderr(&direct));
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let names = threads
            .flatten()
            .filter_map(|it| fs::read_to_string(it.path().join("comm")).ok());
        assert_eq!(
            names
                .filter(|name| name.starts_with("HPROF control"))
                .count(),
            1
        );
        jvm.signal(Signal::Terminate);
        let outcome = jvm.finish();
        assert!(!control_socket(outcome.pid).exists());
    });
}

#[test]
fn the_socket_of_a_killed_jvm_goes_with_the_next_ps() {
    let scene = Scene::new();
    let jdk = Jdk::tested()[0];
    let (live, killed) = (profiled(jdk), profiled(jdk));
    killed.signal(Signal::Kill);
    let killed = killed.finish();
    let left = control_socket(killed.pid);
    assert!(left.exists());
    // A young one may belong to a JVM that starts.
    assert!(ask(&scene, &["ps"]).status.success());
    assert!(left.exists());
    for socket in [&left, &control_socket(live.pid())] {
        let touched = Command::new("touch")
            .args(["-d", "2 minutes ago"])
            .arg(socket)
            .status();
        assert!(touched.unwrap().success());
    }
    assert!(ask(&scene, &["ps"]).status.success());
    assert!(!left.exists());
    assert!(control_socket(live.pid()).exists());
}

/// Kills the process when dropped.
struct Foreign(Child);

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Foreign {
    fn wait_until_it_spins(&self) {
        let began = Instant::now();
        while !names(self.0.id())
            .iter()
            .any(|it| it.starts_with("spinner"))
        {
            assert!(
                began.elapsed() < Duration::from_secs(180),
                "no thread spins"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The names of a JVM's threads.
fn names(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    let names = tasks
        .flatten()
        .map(|task| fs::read_to_string(task.path().join("comm")));
    names.flatten().collect()
}

/// A program that burns CPU, so that a recording has something to show.
fn copy_program(folder: &Path) {
    for entry in fs::read_dir(classes()).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("Spin") || name == "Cpu.class" {
            fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
    }
}

/// A folder outside of `/tmp`, open to all.
fn open_folder() -> TempDir {
    let mut builder = tempfile::Builder::new();
    builder
        .permissions(Permissions::from_mode(0o755))
        .tempdir_in("/var/tmp")
        .unwrap()
}

#[test]
fn a_jvm_in_a_chroot_is_recorded_again_and_again() {
    if !rights::may_make_containers() {
        return;
    }
    let jdk = Jdk::tested()[0];
    let scene = Scene::new();
    let folder = open_folder();
    copy_program(folder.path());
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    // A file system of its own in /tmp, so that paths from outside mean nothing inside.
    let script = "mount --bind / \"$0\" && mount -t tmpfs tmpfs \"$0/tmp\" && \
                  mount --rbind /proc \"$0/proc\" && mount --rbind /dev \"$0/dev\" && \
                  exec chroot \"$0\" \"$@\"";
    let child = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(&root)
        .arg(jdk.home().join("bin/java"))
        .arg("-cp")
        .arg(folder.path())
        .args(["Spin", "600"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let jvm = Foreign(child);
    jvm.wait_until_it_spins();
    let pid = jvm.0.id().to_string();
    let inside = |arguments: &[&str]| {
        let command = scene.hprof_rs(arguments);
        let mut entered = Command::new("nsenter");
        entered
            .args(["--target", &pid, "--mount", "--"])
            .arg(command.get_program())
            .args(command.get_args())
            .env("XDG_CACHE_HOME", folder.path().join("cache"))
            .current_dir("/");
        run(&mut entered, "")
    };
    let file = folder.path().join("profile.html");
    let record = ["record", &pid, "-d", "1", "-o", file.to_str().unwrap()];
    // Within the mount namespace of the JVM, and from outside.
    for number in 0..2 {
        let output = inside(&record);
        assert!(output.status.success(), "{number}: {}", stderr(&output));
        let output = ask(&scene, &record);
        assert!(output.status.success(), "{number}: {}", stderr(&output));
    }
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let libraries = maps
        .lines()
        .filter(|line| line.ends_with("/libhprof_rs.so"));
    let mut paths: Vec<_> = libraries
        .filter_map(|line| line.split_whitespace().last())
        .collect();
    paths.dedup();
    assert_eq!(paths.len(), 1, "one agent: {paths:?}");
    let row = stdout(&inside(&["ps", "--json"]));
    let rows: serde_json::Value = serde_json::from_str(&row).unwrap();
    let rows = rows.as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row["pid"].as_u64().is_some_and(|it| it.to_string() == pid))
        .expect("it is listed");
    assert_eq!(row["agent_loaded"], true);
    assert!(row["jdk"].is_string(), "{row}");
}

/// A JDK whose launcher its user can run, but not read: the kernel hides such a process as it does one
/// with more rights (setcap, setuid).
fn hidden_home(folder: &Path) -> Option<PathBuf> {
    let is_open = |jdk: &&Jdk| !jdk.home().starts_with("/root");
    let Some(jdk) = Jdk::tested().into_iter().find(is_open) else {
        eprintln!("not tested: this takes a JDK that everybody can read");
        return None;
    };
    let home = folder.join("jdk");
    fs::create_dir_all(home.join("bin")).unwrap();
    for entry in fs::read_dir(jdk.home()).unwrap().flatten() {
        if entry.file_name() != "bin" {
            std::os::unix::fs::symlink(entry.path(), home.join(entry.file_name())).unwrap();
        }
    }
    let java = home.join("bin/java");
    fs::copy(jdk.home().join("bin/java").canonicalize().unwrap(), &java).unwrap();
    fs::set_permissions(&java, Permissions::from_mode(0o711)).unwrap();
    Some(java)
}

#[test]
fn a_hidden_jvm_of_this_user_is_reached() {
    if !rights::may_act_for_others() {
        return;
    }
    let folder = open_folder();
    let Some(java) = hidden_home(folder.path()) else {
        return;
    };
    copy_program(folder.path());
    let child = Command::new(java)
        .args(["-cp", folder.path().to_str().unwrap(), "Spin", "600"])
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let jvm = Foreign(child);
    jvm.wait_until_it_spins();
    let pid = jvm.0.id().to_string();
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    std::os::unix::fs::chown(&own, Some(NOBODY), Some(NOBODY)).unwrap();
    let scene = Scene::new();
    let as_nobody = |arguments: &[&str]| {
        let command = scene.hprof_rs(arguments);
        let program = own.join("hprof-rs");
        if !program.exists() {
            // The one of the tests may lie where that user sees nothing.
            fs::copy(command.get_program(), &program).unwrap();
            fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        }
        let mut other = Command::new(program);
        other
            .args(arguments)
            .current_dir(&own)
            .env("HOME", &own)
            .env("XDG_CACHE_HOME", own.join("cache"))
            .uid(NOBODY)
            .gid(NOBODY);
        run(&mut other, "")
    };
    let hides = Command::new("cat")
        .arg(format!("/proc/{pid}/maps"))
        .uid(NOBODY)
        .output()
        .unwrap();
    assert!(
        !hides.status.success(),
        "the process is hidden from its user"
    );
    let ok = |arguments: &[&str]| {
        let output = as_nobody(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            stderr(&output)
        );
        stdout(&output)
    };
    let row = |text: String| -> serde_json::Value {
        let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
        let rows = rows.as_array().unwrap();
        rows.iter()
            .find(|row| row["pid"].as_u64().is_some_and(|it| it.to_string() == pid))
            .expect("it is listed")
            .clone()
    };
    assert_eq!(row(ok(&["ps", "--json"]))["program"], "Spin");
    assert!(ok(&["stacks", &pid]).contains("main"));
    for number in 0..2 {
        ok(&["record", &pid, "-d", "1", "-o", "cpu.html"]);
        assert!(fs::remove_file(own.join("cpu.html")).is_ok(), "{number}");
    }
    ok(&["attach", &pid, "cpu=samples,doe=n,file=/tmp/hidden.txt"]);
    assert!(ok(&["control", &pid, "status"]).contains("cpu=samples"));
    assert_eq!(row(ok(&["ps", "--json"]))["agent_loaded"], true);
    // Its socket is removed: attaching makes another.
    let socket = format!("/tmp/.hprof_rs_{NOBODY}/pid{pid}");
    fs::remove_file(&socket).unwrap();
    ok(&["attach", &pid, "cpu=samples"]);
    assert!(ok(&["control", &pid, "status"]).contains("cpu=samples"));
    ok(&["control", &pid, "detach"]);
}
