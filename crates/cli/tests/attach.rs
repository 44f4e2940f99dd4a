//! `hprof-rs ps` and `hprof-rs attach` with real JVMs.

#![allow(clippy::disallowed_macros)]

#[path = "support/prometheus.rs"]
mod prometheus;
mod support;

use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use java_test_harness::rights::{self, NOBODY};
use java_test_harness::{Jdk, Run, Running, classes, each_release, each_release_since};
use serde_json::Value;
use support::{Scene, resume, run, stderr, stdout, stop};
use tempfile::TempDir;

fn idle(jdk: &'static Jdk, arguments: &[&str]) -> Running {
    let running = Run::new(jdk)
        .jvm_args(arguments)
        .class("Idle")
        .args(["one", "two words"])
        .start();
    running.wait_for_line("ready");
    running
}

/// The row of a process in `ps --json`.
fn listed(scene: &Scene, pid: u32) -> Option<Value> {
    let output = run(&mut scene.hprof_rs(&["ps", "--json"]), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = all.as_array().expect("a list");
    rows.iter().find(|row| row["pid"] == pid).cloned()
}

fn attach(scene: &Scene, pid: u32, arguments: &[&str]) -> std::process::Output {
    let pid = pid.to_string();
    let arguments = [&["attach", &pid], arguments].concat();
    run(&mut scene.hprof_rs(&arguments), "")
}

/// Checks that a JVM answers as jcmd would have it.
fn assert_answers(scene: &Scene, pid: u32, feature: u32) {
    // Twice: the first starts the attach listener, the second finds it.
    for _ in 0..2 {
        let output = attach(scene, pid, &["--jcmd", "VM.version"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let text = stdout(&output);
        assert!(text.contains(&format!("JDK {feature}")), "{text}");
    }
}

#[test]
fn every_release_is_listed_and_answers() {
    each_release(|jdk| {
        let scene = Scene::new();
        let jvm = idle(jdk, &[]);
        let row = listed(&scene, jvm.pid()).expect("the JVM is listed");
        assert_eq!(row["program"], "Idle");
        assert_eq!(row["arguments"], serde_json::json!(["one", "two words"]));
        assert_eq!(row["agent_loaded"], false);
        assert_eq!(row["in_container"], false);
        let version = row["jdk"].as_str().expect("a version");
        assert!(version.starts_with(&jdk.feature().to_string()), "{version}");
        assert_answers(&scene, jvm.pid(), jdk.feature());
        let output = attach(&scene, jvm.pid(), &["--jcmd", "nonsense"]);
        assert_eq!(output.status.code(), Some(1));
        let text = stderr(&output);
        assert!(text.contains("Unknown diagnostic command"), "{text}");
        assert_eq!(jvm.stdout(), "ready\n", "no thread dump by the signal");
    });
}

#[test]
fn a_jvm_without_counters_is_found_by_its_libraries() {
    each_release(|jdk| {
        let scene = Scene::new();
        let jvm = idle(jdk, &["-XX:-UsePerfData"]);
        let row = listed(&scene, jvm.pid()).expect("the JVM is listed");
        assert_eq!(row["program"], "Idle");
        let version = row["jdk"].as_str().expect("a version");
        assert!(version.starts_with(&jdk.feature().to_string()), "{version}");
    });
}

#[test]
fn refusals_say_what_to_do() {
    let scene = Scene::new();
    let none = u32::MAX >> 2;
    for (pid, words) in [
        (none, "there is no process"),
        (std::process::id(), "is no JVM"),
    ] {
        let output = attach(&scene, pid, &[]);
        assert_eq!(output.status.code(), Some(1));
        let text = stderr(&output);
        assert!(
            text.contains(words) && text.contains("hprof-rs ps"),
            "{text}"
        );
    }
    let output = attach(&scene, none, &["cpu=sampels"]);
    assert!(stderr(&output).contains("did you mean cpu=samples?"));
}

#[test]
fn a_jvm_that_refuses_is_left_alone() {
    each_release(|jdk| {
        let scene = Scene::new();
        for counters in ["-XX:+UsePerfData", "-XX:-UsePerfData"] {
            let jvm = idle(jdk, &["-XX:+DisableAttachMechanism", counters]);
            let output = attach(&scene, jvm.pid(), &[]);
            assert_eq!(output.status.code(), Some(1));
            let text = stderr(&output);
            assert!(text.contains("-XX:+DisableAttachMechanism"), "{text}");
            assert_eq!(jvm.stdout(), "ready\n", "no thread dump by a signal");
        }
    });
}

#[test]
fn a_jvm_closed_to_agents_says_so() {
    each_release_since(21, |jdk| {
        let scene = Scene::new();
        let jvm = idle(jdk, &["-XX:-EnableDynamicAgentLoading"]);
        let output = attach(&scene, jvm.pid(), &[]);
        assert_eq!(output.status.code(), Some(1));
        let text = stderr(&output);
        assert!(text.contains("JEP 451"), "{text}");
        assert_answers(&scene, jvm.pid(), jdk.feature());
    });
}

#[test]
fn a_jvm_that_reads_no_signals_is_not_killed() {
    each_release(|jdk| {
        let scene = Scene::new();
        // Without signal handlers SIGQUIT would end the VM; it listens from the start instead.
        let jvm = idle(jdk, &["-Xrs"]);
        assert_answers(&scene, jvm.pid(), jdk.feature());
    });
}

/// A JVM that is killed in the end.
struct Foreign(Child);

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = std::fs::remove_file(format!("/tmp/.java_pid{}", self.0.id()));
    }
}

/// Waits until the program named by its last argument is listed.
fn wait_for(scene: &Scene, word: &str) -> Value {
    let start = Instant::now();
    loop {
        let output = run(&mut scene.hprof_rs(&["ps", "--json", word]), "");
        let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let rows = all.as_array().expect("a list");
        let found = rows.iter().find(|row| row["program"] == "Idle");
        if let Some(row) = found {
            return row.clone();
        }
        assert!(
            start.elapsed() < Duration::from_secs(180),
            "{}",
            stdout(&output)
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_jvm_with_a_root_and_ids_of_its_own_is_reached() {
    if !rights::may_make_containers() {
        return;
    }
    each_release(|jdk| {
        let scene = Scene::new();
        let word = format!("container-{}-{}", std::process::id(), jdk.feature());
        // What a container is made of: its own mounts, with its own /tmp, and process ids.
        let script = "mount -t tmpfs tmpfs /tmp && cd / && exec \"$0\" -cp \"$1\" Idle \"$2\"";
        // Outside of /tmp, which the container does not see.
        let shared = tempfile::tempdir_in("/var/tmp").unwrap();
        std::fs::copy(classes_file(), shared.path().join("Idle.class")).unwrap();
        let child = Command::new("unshare")
            .args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .args(["sh", "-c", script])
            .arg(jdk.home().join("bin/java"))
            .arg(shared.path())
            .arg(&word)
            .stdout(Stdio::null())
            .spawn()
            .expect("unshare");
        let _child = Foreign(child);
        let row = wait_for(&scene, &word);
        assert_eq!(
            (&row["in_container"], &row["inner_pid"]),
            (&true.into(), &1.into())
        );
        let pid = u32::try_from(row["pid"].as_u64().expect("a number")).expect("a pid");
        assert_answers(&scene, pid, jdk.feature());
    });
}

/// A JVM of [`NOBODY`], and its row in the list; none if this machine has no JDK for it.
fn idle_of_nobody(scene: &Scene, folder: &TempDir) -> Option<(Foreign, &'static Jdk, Value)> {
    if !rights::may_act_for_others() {
        return None;
    }
    let is_open = |jdk: &&Jdk| !jdk.home().starts_with("/root");
    let Some(jdk) = Jdk::tested().into_iter().find(is_open) else {
        eprintln!("not tested: this takes a JDK that everybody can read");
        return None;
    };
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let word = format!(
        "nobody-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    std::fs::copy(classes_file(), folder.path().join("Idle.class")).unwrap();
    let child = Command::new(jdk.home().join("bin/java"))
        .arg("-cp")
        .arg(folder.path())
        .args(["Idle", &word])
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .stdout(Stdio::null())
        .spawn()
        .expect("java");
    let child = Foreign(child);
    let row = wait_for(scene, &word);
    Some((child, jdk, row))
}

fn open_folder() -> TempDir {
    tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir()
        .unwrap()
}

fn pid_of(row: &Value) -> u32 {
    u32::try_from(row["pid"].as_u64().expect("a number")).expect("a pid")
}

#[test]
fn root_reaches_the_jvms_of_others() {
    let scene = Scene::new();
    let folder = open_folder();
    let Some((_child, jdk, row)) = idle_of_nobody(&scene, &folder) else {
        return;
    };
    assert_eq!(row["uid"], NOBODY);
    assert_answers(&scene, pid_of(&row), jdk.feature());
}

#[test]
fn a_socket_left_by_a_dead_jvm_of_root_is_not_in_the_way() {
    let scene = Scene::new();
    let folder = open_folder();
    let Some((_child, jdk, row)) = idle_of_nobody(&scene, &folder) else {
        return;
    };
    let pid = pid_of(&row);
    // As a JVM of root that had this number and was killed leaves it.
    let path = std::path::PathBuf::from(format!("/tmp/.java_pid{pid}"));
    let _ = std::fs::remove_file(&path);
    let left = UnixListener::bind(&path).expect("a socket");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&path, mode).unwrap();

    // While a process listens, it may be in use.
    let output = attach(&scene, pid, &["--jcmd", "VM.version"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("is not the socket of its JVM"), "{text}");
    assert!(path.exists());

    drop(left);
    assert_answers(&scene, pid, jdk.feature());
}

fn classes_file() -> std::path::PathBuf {
    classes().join("Idle.class")
}

#[test]
fn the_next_steps_are_shown() {
    let scene = Scene::new();
    let jvm = idle(Jdk::tested()[0], &["-XX:+EnableDynamicAgentLoading"]);
    let file = jvm.path("profile.txt").display().to_string();
    let output = attach(&scene, jvm.pid(), &[&format!("cpu=samples,file={file}")]);
    let text = stderr(&output);
    assert!(output.status.success(), "{text}");
    let control = format!("hprof-rs control {} ", jvm.pid());
    for words in [
        format!("the profile will be in {file}"),
        format!("{control}dump"),
        format!("{control}detach"),
    ] {
        assert!(text.contains(&words), "{text}");
    }
}

/// The agent's reason is on the caller's terminal, whether it is there or comes now, and so is what helps.
#[test]
fn an_agent_that_refuses_says_why_and_what_helps() {
    let scene = Scene::new();
    let jvm = idle(Jdk::tested()[0], &["-XX:+EnableDynamicAgentLoading"]);
    let pid = jvm.pid();
    let refused = |options: &str, words: &[&str]| {
        let output = attach(&scene, pid, &[options]);
        let text = stderr(&output);
        assert!(!output.status.success(), "{text}");
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    };
    let missing = "cpu=samples,file=/no/such/folder/p.txt";
    refused(
        missing,
        &["refuses: can't create profile file: /no/such/folder"],
    );
    let file = jvm.path("p.txt").display().to_string();
    let output = attach(&scene, pid, &[&format!("cpu=samples,file={file}")]);
    assert!(output.status.success(), "{}", stderr(&output));
    let run = format!("a run with cpu=samples is under way there; its profile goes to {file}");
    let detach = format!("hprof-rs control {pid} detach");
    refused("heap=sites", &["heap=sites cannot be added", &run, &detach]);
    let dump = format!("hprof-rs dump {pid}");
    refused("heap=dump", &["heap=dump cannot be added", &dump, &detach]);
}

#[test]
fn a_heap_dump_is_there_at_once_and_stays() {
    each_release(|jdk| {
        for format in ["a", "b"] {
            let scene = Scene::new();
            let jvm = idle(jdk, &[]);
            let file = jvm.path("dump").display().to_string();
            let options = format!("heap=dump,format={format},file={file}");
            let output = attach(&scene, jvm.pid(), &[&options]);
            let text = stderr(&output);
            assert!(output.status.success(), "{text}");
            assert!(
                text.contains(&format!("the profile is in {file}")),
                "{text}"
            );
            assert!(text.contains(&format!("hprof-rs summary {file}")), "{text}");
            let before = std::fs::read(&file).expect("the dump");
            // Its run has ended, so that the next one begins.
            let second = jvm.path("second").display().to_string();
            let options = format!("heap=dump,format={format},file={second}");
            let output = attach(&scene, jvm.pid(), &[&options]);
            assert!(output.status.success(), "{}", stderr(&output));
            assert!(std::fs::metadata(&second).expect("the dump").len() > 4096);
            let after = std::fs::read(&file).expect("the dump");
            assert!(after == before, "{} bytes", after.len());
            let output = run(&mut scene.hprof_rs(&["summary", &file]), "");
            assert!(output.status.success(), "{}", stderr(&output));
        }
    });
}

/// A run that dumps at its end dumps now too, and goes on.
#[test]
fn a_run_for_heap_dumps_dumps_on_request() {
    let scene = Scene::new();
    let running = Run::new(Jdk::tested()[0])
        .agent("heap=dump,format=b,file=heap.hprof")
        .class("Idle")
        .args(["one", "two words"])
        .start();
    running.wait_for_line("ready");
    let pid = running.pid().to_string();
    let file = running.path("heap.hprof");
    let start = run(
        &mut scene.hprof_rs(&["control", &pid, "start", "heap=dump"]),
        "",
    );
    assert!(start.status.success(), "{}", stderr(&start));
    let first = std::fs::metadata(&file).expect("a dump").len();
    assert!(first > 4096, "{first} bytes");
    let output = attach(&scene, running.pid(), &["heap=dump"]);
    let text = stderr(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("control"), "{text}");
    assert!(!text.contains("has left"), "{text}");
    let second = std::fs::metadata(&file).expect("a dump").len();
    assert!(second > first + 4096, "{first}, then {second} bytes");
}

#[test]
fn a_stopped_jvm_is_given_up_in_time() {
    let scene = Scene::new();
    let jvm = idle(Jdk::tested()[0], &[]);
    let output = attach(&scene, jvm.pid(), &["cpu=samples"]);
    assert!(output.status.success(), "{}", stderr(&output));
    stop(&jvm);
    let text = jvm.pid().to_string();
    for (arguments, words) in [
        (
            &["attach", &text, "--timeout", "1", "--jcmd", "VM.version"][..],
            "is stopped by a signal",
        ),
        (
            &["attach", &text, "--timeout", "1", "cpu=samples"],
            "is stopped by a signal",
        ),
        // The agent's own socket.
        (
            &["control", &text, "--timeout", "1", "status"],
            "within 1 s",
        ),
    ] {
        let start = Instant::now();
        let output = run(&mut scene.hprof_rs(arguments), "");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let text = stderr(&output);
        assert!(text.contains(words), "{text}");
        assert!(start.elapsed() < Duration::from_secs(180), "{arguments:?}");
    }
    resume(&jvm);
    let output = run(&mut scene.hprof_rs(&["control", &text, "status"]), "");
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_jvm_that_is_still_starting_is_waited_for() {
    each_release(|jdk| {
        for _ in 0..5 {
            let scene = Scene::new();
            let jvm = Run::new(jdk)
                .jvm_arg("-XX:-UsePerfData")
                .class("Idle")
                .start();
            let file = jvm.path("profile.txt").display().to_string();
            let options = format!("cpu=samples,file={file}");
            // At first it is a launcher, which has not loaded the VM.
            let output = attach(&scene, jvm.pid(), &[&options]);
            let text = stderr(&output);
            assert!(output.status.success(), "{text}{}", jvm.stderr());
            jvm.wait_for_line("ready");
        }
    });
}

#[test]
fn a_dump_lands_in_the_callers_folder() {
    each_release(|jdk| {
        let scene = Scene::new();
        let jvm = idle(jdk, &[]);
        let pid = jvm.pid().to_string();
        let dump = |arguments: &[&str]| {
            let arguments = [&["dump", &pid], arguments].concat();
            let output = run(&mut scene.hprof_rs(&arguments), "");
            assert!(output.status.success(), "{}", stderr(&output));
            stderr(&output)
        };
        // A second dump leaves the first alone.
        let names = [format!("Idle-{pid}.hprof"), format!("Idle-{pid}-2.hprof")];
        for name in &names {
            let said = dump(&[]);
            assert!(said.contains(&format!("hprof-rs report {name}")), "{said}");
        }
        dump(&["--strip", "--live", "-o", "new/folder/x.hprof.gz"]);
        for name in [&names[0], &names[1], "new/folder/x.hprof.gz"] {
            let output = run(&mut scene.hprof_rs(&["check", name]), "");
            assert!(stdout(&output).contains(": sound ("), "{}", stdout(&output));
        }
        // The third command-line argument of the program is text of its heap.
        let strings = |name| {
            stdout(&run(
                &mut scene.hprof_rs(&["strings", "--top", "0", name]),
                "",
            ))
        };
        assert!(strings(&names[0]).contains("two words"));
        assert!(!strings("new/folder/x.hprof.gz").contains("two words"));
        let row = listed(&scene, jvm.pid()).expect("the JVM is listed");
        assert_eq!(row["agent_loaded"], false, "no run is left");
    });
}

/// As `jmap` does: commands for heap dumps take a process id, and the others name the command that helps.
#[test]
fn commands_for_files_take_running_jvms() {
    let scene = Scene::new();
    let jvm = idle(Jdk::tested()[0], &[]);
    let pid = jvm.pid().to_string();
    for command in ["histogram", "threads", "leaks"] {
        let output = run(&mut scene.hprof_rs(&[command, &pid]), "");
        let said = stderr(&output);
        assert!(output.status.success(), "{command}: {said}");
        assert!(
            said.contains(&format!("process {pid} writes a heap dump")),
            "{said}"
        );
        assert!(
            said.contains(&format!("`hprof-rs dump {pid}` keeps one")),
            "{said}"
        );
    }
    let output = run(&mut scene.hprof_rs(&["histogram", "--json", &pid]), "");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let file = json["file"].as_str().expect("a name");
    assert!(file.contains(&format!("(process {pid})")), "{file}");
    for command in ["samples", "gc", "sites"] {
        let output = run(&mut scene.hprof_rs(&[command, &pid]), "");
        let said = stderr(&output);
        assert!(!output.status.success(), "{command}: {said}");
        assert!(
            said.contains(&format!("`hprof-rs record {pid} -d 30")),
            "{command}: {said}"
        );
    }
    let output = run(&mut scene.hprof_rs(&["leaks", "4294967295"]), "");
    assert!(
        stderr(&output).contains("it is no JVM's process id"),
        "{}",
        stderr(&output)
    );
    let left: Vec<_> = std::fs::read_dir(scene.path(""))
        .expect("a folder")
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_name_of_no_program_is_refused() {
    let scene = Scene::new();
    for command in ["attach", "dump", "live", "record"] {
        let said = stderr(&run(&mut scene.hprof_rs(&[command, "no.such.Program"]), ""));
        assert!(said.contains("no running JVM has"), "{said}");
    }
}

/// The figures of a JVM are those of its collections, with the agent's when it is there.
#[test]
fn figures_of_jvm_and_agent_are_read_by_prometheus() {
    let scene = Scene::new();
    let jvm = idle(Jdk::feature_release(17), &["-Xmx64m", "-XX:+UseG1GC"]);
    let pid = jvm.pid().to_string();
    let figures = || {
        let output = run(&mut scene.hprof_rs(&["metrics", &pid]), "");
        assert!(output.status.success(), "{}", stderr(&output));
        prometheus::samples(&stdout(&output))
    };
    let labels = format!("{{pid=\"{pid}\",program=\"Idle\"}}");
    let up = format!("hprof_rs_agent_up{labels}");
    let before = figures();
    assert_eq!(before[&up], 0.0);
    assert!(before[&format!("hprof_rs_jvm_resident_bytes{labels}")] > 1e6);
    assert!(
        before[&format!("hprof_rs_jvm_threads{labels}")] >= 1.0,
        "{before:?}"
    );
    let collections = |figures: &std::collections::BTreeMap<String, f64>| -> f64 {
        let all = figures.iter();
        let all = all.filter(|it| it.0.starts_with("hprof_rs_jvm_gc_total{"));
        all.map(|it| it.1).sum()
    };
    let attached = attach(&scene, jvm.pid(), &["cpu=samples"]);
    assert!(attached.status.success(), "{}", stderr(&attached));
    let collected = run(&mut scene.hprof_rs(&["control", &pid, "gc"]), "");
    assert!(collected.status.success(), "{}", stderr(&collected));
    let after = figures();
    assert_eq!(after[&up], 1.0);
    assert!(collections(&after) > collections(&before), "{after:?}");
    assert_eq!(after[&format!("hprof_rs_agent_lost_samples{labels}")], 0.0);
    assert!(after[&format!("hprof_rs_agent_threads_live{labels}")] >= 1.0);
    let heap = after
        .keys()
        .filter(|key| key.starts_with("hprof_rs_jvm_heap_used_bytes{"));
    assert!(heap.count() > 1, "{after:?}");
    let output = run(&mut scene.hprof_rs(&["metrics", &pid, "--json"]), "");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        json["metrics"].as_array().expect("a list").len(),
        after.len()
    );
    let nothing = run(&mut scene.hprof_rs(&["metrics", "1"]), "");
    assert!(stderr(&nothing).contains("no JVM"), "{}", stderr(&nothing));
    assert_eq!(nothing.status.code(), Some(1));
}
