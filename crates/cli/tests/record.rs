//! `hprof-rs record`: a file at the end, and nothing left in the JVM.

#![allow(clippy::disallowed_macros)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use java_test_harness::rights::{self, NOBODY};
use java_test_harness::{Jdk, Run, Running, Signal, classes, each_jdk};
use support::terminal::Terminal;
use support::{Scene, run, stderr};

/// A thread that burns CPU, three quarters of the time in `hot` and one quarter in `warm`.
fn spinning(jdk: &'static Jdk) -> Running {
    let running = Run::new(jdk).class("Spin").args(["600"]).start();
    running.wait_until("the spinning thread", |running| {
        let names = names(running);
        names.iter().any(|name| name.starts_with("spinner"))
    });
    running
}

/// The names of the JVM's threads.
fn names(running: &Running) -> BTreeSet<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", running.pid())).unwrap();
    let tasks = tasks.flatten();
    tasks
        .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
        .collect()
}

/// The CPU time of the JVM, in hundredths of a second as proc(5) counts it.
fn burnt(running: &Running) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{}/stat", running.pid())).unwrap();
    // The name, in parentheses, can hold anything; utime and stime are fields 14 and 15.
    let fields = stat.rsplit_once(')').unwrap().1;
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks
        .map(|ticks| Duration::from_millis(10) * ticks.parse().unwrap())
        .sum()
}

/// Returns the names of the agent's threads.
fn threads(running: &Running) -> BTreeSet<String> {
    let mut names = names(running);
    names.retain(|name| name.starts_with("HPROF"));
    names
}

#[track_caller]
fn assert_nothing_is_left(scene: &Scene, running: &Running) {
    let pid = running.pid().to_string();
    let status = run(&mut scene.hprof_rs(&["control", &pid, "status"]), "");
    assert_eq!(status.status.code(), Some(1), "the agent is still at work");
    let began = Instant::now();
    while !threads(running).is_empty() {
        assert!(
            began.elapsed() < Duration::from_secs(180),
            "{:?}",
            threads(running)
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(running.files(), [""; 0], "the program's folder has files");
}

#[test]
fn a_running_jvm_becomes_a_flame_graph_and_is_as_before() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        let running = spinning(jdk);
        let pid = running.pid().to_string();
        // Twice: it can be recorded again.
        for (output, part) in [("cpu.html", "Spin.hot"), ("cpu.collapsed", "Spin.hot")] {
            let record = [
                "record",
                &pid,
                "-d",
                "2",
                "-o",
                output,
                "--options",
                "interval=1",
            ];
            let output_of = run(&mut scene.hprof_rs(&record), "");
            assert!(output_of.status.success(), "{}", stderr(&output_of));
            let text = fs::read_to_string(scene.path(output)).unwrap();
            assert!(text.contains(part), "{output} lacks {part}");
        }
        let lines = fs::read_to_string(scene.path("cpu.collapsed")).unwrap();
        let samples = |method: &str| -> u64 {
            let lines = lines.lines().filter(|line| line.contains(method));
            lines
                .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
                .sum()
        };
        let (hot, warm) = (samples("Spin.hot"), samples("Spin.warm"));
        // One thread has at most a sample a millisecond, and a busy machine lets it run for a part of the time.
        assert!((100..2500).contains(&(hot + warm)), "{hot} and {warm}");
        let share = hot as f64 / (hot + warm) as f64;
        assert!((0.6..0.9).contains(&share), "{hot} and {warm}");
        assert_nothing_is_left(&scene, &running);
    });
}

/// Commands as people who know async-profiler type them.
#[test]
fn the_options_of_async_profiler_are_known() {
    let scene = Scene::new();
    let running = spinning(Jdk::feature_release(17));
    let pid = running.pid().to_string();
    let record = |output: &str, arguments: &[&str]| {
        let record = [
            "record", &pid, "-d", "1", "-e", "cpu", "-i", "1ms", "-o", output,
        ];
        run(&mut scene.hprof_rs(&[&record[..], arguments].concat()), "")
    };
    let text = |arguments: &[&str]| {
        let recorded = record("x.collapsed", arguments);
        assert!(recorded.status.success(), "{}", stderr(&recorded));
        fs::read_to_string(scene.path("x.collapsed")).unwrap()
    };
    let hot = text(&["-I", "Spin.hot"]);
    assert!(
        !hot.is_empty() && hot.lines().all(|line| line.contains("Spin.hot")),
        "{hot}"
    );
    let others = text(&["-X", "*.hot*"]);
    assert!(
        others.contains("Spin.warm") && !others.contains("Spin.hot"),
        "{others}"
    );
    let none = record("none.collapsed", &["-I", "com.acme"]);
    assert!(!none.status.success());
    let said = stderr(&none);
    assert!(
        said.contains("what --include and --exclude ask for"),
        "{said}"
    );
    // Threads apart: their names are there.
    let threads = record("t.hprof.txt", &["-t"]);
    assert!(threads.status.success(), "{}", stderr(&threads));
    let by_thread = run(
        &mut scene.hprof_rs(&["samples", "--by", "thread", "t.hprof.txt"]),
        "",
    );
    let by_thread = String::from_utf8(by_thread.stdout).unwrap();
    assert!(by_thread.contains("spinner"), "{by_thread}");
    assert_nothing_is_left(&scene, &running);
}

#[test]
fn threads_that_wait_are_recorded_on_the_wall_clock() {
    let scene = Scene::new();
    let run_of = Run::new(Jdk::feature_release(21)).class("States");
    let running = run_of.args(["600"]).start();
    running.wait_until("the threads", |running| {
        names(running).contains("spinner\n")
    });
    let pid = running.pid().to_string();
    let filter = "filter=sleep*:waiter,depth=8";
    let record = ["record", &pid, "-d", "2", "--wall", "-o", "wall.collapsed"];
    let record = [&record[..], &["--options", filter]].concat();
    let recorded = run(&mut scene.hprof_rs(&record), "");
    assert!(recorded.status.success(), "{}", stderr(&recorded));
    let text = fs::read_to_string(scene.path("wall.collapsed")).unwrap();
    for (state, method) in [
        ("[sleeping]", "java.lang.Thread.sleep"),
        ("[waiting]", "java.lang.Object.wait"),
    ] {
        let lines = text.lines().filter(|line| line.contains(method));
        let roots: Vec<bool> = lines.map(|line| line.contains(state)).collect();
        assert!(roots.contains(&true) && !roots.contains(&false), "{text}");
    }
    assert!(!text.contains("States.spin"), "{text}");
    // Without further options all threads are looked at.
    let record = ["record", &pid, "-d", "1", "--wall", "-o", "all.collapsed"];
    let recorded = run(&mut scene.hprof_rs(&record), "");
    assert!(recorded.status.success(), "{}", stderr(&recorded));
    let text = fs::read_to_string(scene.path("all.collapsed")).unwrap();
    assert!(text.contains("States.spin"), "{text}");
    assert_nothing_is_left(&scene, &running);
}

#[test]
fn an_interrupt_writes_what_there_is_and_the_end_of_the_jvm_too() {
    let scene = Scene::new();
    let running = spinning(Jdk::feature_release(17));
    let pid = running.pid().to_string();
    let start = |output: &str| {
        let mut command =
            scene.hprof_rs(&["record", &pid, "-o", output, "--options", "interval=1"]);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        // It has looked once or twice.
        std::thread::sleep(Duration::from_secs(3));
        child
    };
    let recording = start("interrupted.collapsed");
    // SAFETY: a signal to a child that was not waited for.
    unsafe { libc::kill(recording.id() as i32, libc::SIGINT) };
    let ended = recording.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", stderr(&ended));
    let text = fs::read_to_string(scene.path("interrupted.collapsed")).unwrap();
    assert!(text.contains("Spin.hot"), "{text}");
    assert_nothing_is_left(&scene, &running);

    let recording = start("killed.collapsed");
    running.signal(Signal::Kill);
    let ended = recording.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", stderr(&ended));
    let said = stderr(&ended);
    assert!(said.contains("recorded until then"), "{said}");
    let text = fs::read_to_string(scene.path("killed.collapsed")).unwrap();
    assert!(text.contains("Spin.hot"), "{text}");
}

#[test]
fn a_recording_that_is_killed_leaves_nothing_in_the_jvm() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        let running = spinning(jdk);
        let pid = running.pid().to_string();
        let mut command = scene.hprof_rs(&["record", &pid, "-o", "lost.html", "--all"]);
        let mut recording = command.stderr(Stdio::piped()).spawn().unwrap();
        running.wait_until("the agent's threads", |running| {
            !threads(running).is_empty()
        });
        std::thread::sleep(Duration::from_secs(1));
        recording.kill().unwrap();
        recording.wait().unwrap();
        running.wait_until("the agent's threads to end", |running| {
            threads(running).is_empty()
        });
        assert_nothing_is_left(&scene, &running);
    });
}

/// At first it is a launcher, which has not loaded the VM.
#[test]
fn a_jvm_that_is_still_starting_is_recorded_and_has_metrics() {
    let scene = Scene::new();
    for _ in 0..5 {
        let running = Run::new(Jdk::feature_release(17)).class("Spin");
        let running = running.args(["60"]).start();
        let pid = running.pid().to_string();
        let output = run(&mut scene.hprof_rs(&["metrics", &pid]), "");
        assert!(output.status.success(), "{}", stderr(&output));
        let running = Run::new(Jdk::feature_release(17)).class("Spin");
        let running = running.args(["60"]).start();
        let pid = running.pid().to_string();
        let arguments = ["record", &pid, "-d", "1", "-o", "cpu.collapsed"];
        let output = run(&mut scene.hprof_rs(&arguments), "");
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

#[test]
fn mistakes_are_found_before_the_agent_is_loaded() {
    let scene = Scene::new();
    let running = spinning(Jdk::feature_release(17));
    let pid = running.pid().to_string();
    for (arguments, part) in [
        (&["-d", "0"][..], "from 1 second"),
        (&["-o", "x.unknown"], "tells no format"),
        (&["-o", "."], "is a folder"),
        // Root cannot write there either.
        (&["-o", "/proc/x.html"], "cannot write to the folder /proc"),
        (&["-o", "missing/x.html"], "there is no folder missing"),
        (&["--options", "file=/tmp/x"], "a live recording takes"),
        (&["--all", "--cpu"], "cannot be used with"),
        // Those of async-profiler.
        (
            &["-e", "heat-map"],
            "cpu, wall, alloc, lock, native, nativelock, calls and all are events; of the kernel, one of page-faults",
        ),
        (&["-e", "cpu,wall"], "one of cpu, wall and calls"),
        (&["-i", "10"], "a number with a unit: 1ms, 10ms"),
        (&["-i", "500us"], "whole milliseconds"),
        (
            &["-e", "alloc", "-i", "10ms"],
            "alloc and native take bytes, as in -i 512k",
        ),
        (&["-i", "64k"], "cpu and wall take a time, as in -i 10ms"),
        (&["-I", ""], "a pattern names a package, class or method"),
    ] {
        let all = [&["record", &pid][..], arguments].concat();
        let output = run(&mut scene.hprof_rs(&all), "");
        assert!(!output.status.success(), "{arguments:?}");
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
        // It has no such option.
        assert!(!stderr(&output).contains("--to"), "{}", stderr(&output));
    }
    for command in ["record", "live"] {
        for pid in ["abc", "0", "99999999999"] {
            let output = run(&mut scene.hprof_rs(&[command, pid]), "");
            assert!(!output.status.success());
            let said = stderr(&output);
            assert!(said.contains("`hprof-rs ps` lists the JVMs"), "{said}");
        }
    }
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    assert!(!maps.contains("hprof_rs"), "the agent is loaded");
    let nobody = run(&mut scene.hprof_rs(&["record", "1", "-d", "1"]), "");
    assert!(
        stderr(&nobody).contains("there is no JVM 1"),
        "{}",
        stderr(&nobody)
    );
}

#[test]
fn a_program_is_recorded_from_its_start_to_its_end() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        let java = jdk.home().join("bin/java");
        let (java, classes) = (java.to_str().unwrap(), classes());
        let classes = classes.to_str().unwrap();
        // Ends before anybody has looked at it, and with a status of its own.
        let record = [
            "record",
            "-o",
            "cpu.collapsed",
            "--options",
            "interval=1",
            "--",
            java,
            "-cp",
            classes,
            "Spin",
            "0.7",
        ];
        let ended = run(&mut scene.hprof_rs(&record), "");
        assert!(ended.status.success(), "{}", stderr(&ended));
        let lines = fs::read_to_string(scene.path("cpu.collapsed")).unwrap();
        assert!(lines.contains("Spin.hot"), "{lines}");
        let missing = [
            "record", "-o", "x.html", "--", java, "-cp", classes, "Missing",
        ];
        let ended = run(&mut scene.hprof_rs(&missing), "");
        assert_eq!(ended.status.code(), Some(1), "{}", stderr(&ended));
    });
}

/// A build starts several: the first is recorded, and the others run as they would have run.
/// The agent's reason is in the output of `record`, which fails, and in the file of a run, as text and JSON.
#[test]
fn a_mode_that_counts_nothing_has_its_reason_everywhere() {
    let reason = "cpu=times has counted no call: the program loaded no class that include= and exclude= choose";
    let scene = Scene::new();
    let jdk = Jdk::compiler();
    let java = jdk.home().join("bin/java");
    let (java, classes) = (java.to_str().unwrap(), classes().to_str().unwrap());
    let options = "include=no.such.*";
    let record = [
        "record",
        "--calls",
        "-o",
        "x.html",
        "--options",
        options,
        "--",
        java,
        "-cp",
        classes,
        "HelloWorld",
    ];
    let ended = run(&mut scene.hprof_rs(&record), "");
    assert_eq!(ended.status.code(), Some(1), "{}", stderr(&ended));
    assert!(stderr(&ended).contains(reason), "{}", stderr(&ended));
    assert!(!scene.path("x.html").exists());
    let without =
        "cpu=samples has no sample with a stack: depth=0 keeps no stacks, so leave it out";
    for (asked, file, reason) in [
        (format!("cpu=times,{options}"), "a.txt", reason),
        (
            "cpu=samples,depth=0,format=b".to_owned(),
            "b.hprof",
            without,
        ),
    ] {
        let file = scene.path(file);
        let file = file.to_str().unwrap();
        let agent = format!("{asked},file={file}");
        let done = run(
            &mut scene.hprof_rs(&[
                "run",
                "--agent",
                &agent,
                "--",
                java,
                "-cp",
                classes,
                "HelloWorld",
            ]),
            "",
        );
        assert!(done.status.success(), "{}", stderr(&done));
        let summary = run(&mut scene.hprof_rs(&["summary", "--json", file]), "");
        assert!(summary.status.success(), "{}", stderr(&summary));
        let json: serde_json::Value = serde_json::from_slice(&summary.stdout).unwrap();
        let expected = serde_json::json!([{"mode": "cpu", "why": reason}]);
        assert_eq!(json["nothing_counted"], expected, "{json}");
        let summary = run(&mut scene.hprof_rs(&["summary", file]), "");
        let text = String::from_utf8_lossy(&summary.stdout).into_owned();
        assert!(text.contains(reason), "{text}");
    }
}

#[test]
fn the_other_jvms_of_a_command_run_undisturbed() {
    let scene = Scene::new();
    let java = Jdk::feature_release(17).home().join("bin/java");
    let (java, classes) = (java.to_str().unwrap(), classes().to_str().unwrap());
    let script = format!("{java} -cp {classes} Spin 0.5; {java} -cp {classes} Spin 0.5; echo $?");
    let began = Instant::now();
    let record = ["record", "-o", "cpu.collapsed", "--", "sh", "-c", &script];
    let ended = run(&mut scene.hprof_rs(&record), "");
    assert!(ended.status.success(), "{}", stderr(&ended));
    let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(printed.ends_with("\n0\n"), "{printed}");
    assert!(!stderr(&ended).contains("is lost"), "{}", stderr(&ended));
    assert!(began.elapsed() < Duration::from_secs(180));
}

#[test]
fn a_command_without_a_jvm_is_named() {
    let scene = Scene::new();
    let ended = run(
        &mut scene.hprof_rs(&["record", "--", "sh", "-c", "exit 3"]),
        "",
    );
    assert_eq!(ended.status.code(), Some(3));
    assert!(
        stderr(&ended).contains("has started no JVM"),
        "{}",
        stderr(&ended)
    );
}

#[test]
fn a_recording_without_end_keeps_the_last_files() {
    let scene = Scene::new();
    let running = spinning(Jdk::feature_release(17));
    let pid = running.pid().to_string();
    let began = burnt(&running);
    let mut record = scene.hprof_rs(&["record", &pid, "-d", "120", "--loop", "1s", "--keep", "2"]);
    record.args(["--options", "interval=10", "-o", "cpu-%t.collapsed"]);
    let mut recording = record.stderr(Stdio::piped()).spawn().unwrap();
    // A second without a look has no file: the files are counted, not the seconds.
    let mut wrote = 0;
    let mut said = String::new();
    for line in BufReader::new(recording.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        wrote += usize::from(line.contains("wrote cpu-"));
        if wrote == 6 {
            // SAFETY: a signal to a child that was not waited for.
            unsafe { libc::kill(recording.id() as i32, libc::SIGINT) };
        }
        said += &line;
        said.push('\n');
    }
    assert!(recording.wait().unwrap().success(), "{said}");
    assert!(wrote >= 6, "{said}");
    let all = burnt(&running) - began;
    let names = fs::read_dir(scene.path(".")).unwrap().flatten();
    let names: Vec<_> = names
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name.starts_with("cpu-"))
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let samples = |name: &String| -> u32 {
        let lines = fs::read_to_string(scene.path(name)).unwrap();
        let counts = lines.lines().filter_map(|line| line.rsplit(' ').next());
        counts.map(|count| count.parse::<u32>().unwrap()).sum()
    };
    // Two of six or more, of which some may have two seconds where a look was late: not all that was recorded.
    let kept = Duration::from_millis(10) * names.iter().map(samples).sum::<u32>();
    assert!(!kept.is_zero(), "{said}");
    assert!(4 * kept < 3 * all, "{kept:?} of {all:?}: {said}");
    assert_nothing_is_left(&scene, &running);
}

/// Records the only JVM in a container, or of another user, as root.
#[track_caller]
fn assert_recorded_from_outside(scene: &Scene, is_meant: impl Fn(&serde_json::Value) -> bool) {
    let began = Instant::now();
    let pid = loop {
        let output = run(&mut scene.hprof_rs(&["ps", "--json"]), "");
        let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let found = all.as_array().unwrap().iter().find(|row| is_meant(row));
        if let Some(row) = found {
            break row["pid"].to_string();
        }
        assert!(began.elapsed() < Duration::from_secs(180), "{all}");
        std::thread::sleep(Duration::from_millis(100));
    };
    let record = ["record", &pid, "-d", "2", "-o", "outside.collapsed"];
    let ended = run(&mut scene.hprof_rs(&record), "");
    assert!(ended.status.success(), "{}", stderr(&ended));
    let lines = fs::read_to_string(scene.path("outside.collapsed")).unwrap();
    assert!(lines.contains("Spin.hot"), "{lines}");
    // The library stays, as the JVM has it; the socket goes.
    let folders = ["tmp", "var/tmp", "dev/shm"].map(|it| format!("/proc/{pid}/root/{it}"));
    let inside = folders.iter().flat_map(fs::read_dir).flatten().flatten();
    let ours = inside.filter(|entry| {
        entry
            .file_name()
            .to_string_lossy()
            .starts_with(".hprof-rs-")
    });
    for folder in ours {
        let names = fs::read_dir(folder.path()).unwrap().flatten();
        for entry in names {
            assert!(entry.file_type().unwrap().is_dir(), "{:?}", entry.path());
        }
    }
}

#[test]
fn a_jvm_in_a_container_is_recorded_from_outside() {
    if !rights::may_make_containers() {
        return;
    }
    each_jdk(|jdk| {
        let scene = Scene::new();
        let script = "mount -t tmpfs tmpfs /tmp && cd / && exec \"$0\" -cp \"$1\" Spin 600";
        // Outside of /tmp, which the container does not see.
        let shared = tempfile::tempdir_in("/var/tmp").unwrap();
        for class in ["Spin.class", "Spin$Spinner.class", "Cpu.class"] {
            fs::copy(classes().join(class), shared.path().join(class)).unwrap();
        }
        let mut child = Command::new("unshare")
            .args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .args(["sh", "-c", script])
            .arg(jdk.home().join("bin/java"))
            .arg(shared.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("unshare");
        assert_recorded_from_outside(&scene, |row| {
            row["program"] == "Spin" && row["in_container"] == true
        });
        child.kill().unwrap();
        child.wait().unwrap();
    });
}

#[test]
fn root_records_the_jvm_of_somebody_else() {
    let is_open = |jdk: &&Jdk| !jdk.home().starts_with("/root");
    let Some(jdk) = Jdk::tested().into_iter().find(is_open) else {
        eprintln!("not tested: this takes a JDK that everybody can read");
        return;
    };
    if !rights::may_act_for_others() {
        return;
    }
    let scene = Scene::new();
    let shared = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir()
        .unwrap();
    for class in ["Spin.class", "Spin$Spinner.class", "Cpu.class"] {
        fs::copy(classes().join(class), shared.path().join(class)).unwrap();
    }
    let mut child = Command::new(jdk.home().join("bin/java"))
        .arg("-cp")
        .arg(shared.path())
        .args(["Spin", "600"])
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .stdout(Stdio::null())
        .spawn()
        .expect("java");
    assert_recorded_from_outside(&scene, |row| {
        row["program"] == "Spin" && row["uid"] == NOBODY
    });
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_screen_shows_methods_until_a_key_ends_it() {
    let scene = Scene::new();
    let running = spinning(Jdk::feature_release(17));
    let pid = running.pid().to_string();
    let piped = run(&mut scene.hprof_rs(&["live", &pid]), "");
    assert!(stderr(&piped).contains("no terminal"), "{}", stderr(&piped));
    let mut terminal = Terminal::start(&scene, &["live", &pid], (100, 20));
    // The method with three quarters of the samples, and again a second later.
    terminal.wait_for("Spin.hot", 2);
    terminal.keys.write_all(b"/warm\r").unwrap();
    terminal.wait_for("warm, Esc: all", 1);
    let without = "\x1b[7mc W a l: measure";
    let seen = terminal.shown.matches(without).count();
    terminal.keys.write_all(b"\x1b").unwrap();
    terminal.wait_for(without, seen + 1);
    // Locks begin with their key.
    terminal.keys.write_all(b"l").unwrap();
    terminal.wait_for("[l locks]", 1);
    assert!(
        terminal.shown.contains(" l locks (off) "),
        "{}",
        terminal.shown
    );
    terminal.keys.write_all(b"q").unwrap();
    assert!(terminal.end().success());
    terminal.wait_for("\x1b[?1049l", 1);
    assert_nothing_is_left(&scene, &running);
}
