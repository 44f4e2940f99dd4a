//! `hprof-rs stacks` on running JVMs and on dumps that their own tools make.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use java_test_harness::{Jdk, Run, Running, Signal, each_jdk};
use serde_json::Value;
use support::browser::Browser;
use support::{Scene, resume, run, stderr, stdout, stop};

/// The report that `hprof-rs stacks` prints as JSON.
fn report(scene: &Scene, arguments: &[&str]) -> Value {
    let output = run(
        &mut scene.hprof_rs(&[&["stacks", "--json"], arguments].concat()),
        "",
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    json["report"].clone()
}

/// The names of the threads that have Java frames, but for those that come with a request.
fn names(report: &Value) -> BTreeSet<String> {
    let stacks = report["stacks"].as_array().expect("stacks");
    let threads = report["threads"].as_array().expect("threads").iter();
    let has_frames = |thread: &&Value| {
        let stack = thread["stack"].as_u64().expect("a stack") as usize;
        !stacks[stack]["frames"]
            .as_array()
            .expect("frames")
            .is_empty()
    };
    let names = threads
        .filter(has_frames)
        .map(|thread| thread["name"].as_str().expect("a name"));
    names
        .filter(|name| *name != "Attach Listener")
        .map(str::to_owned)
        .collect()
}

fn deadlocked(jdk: &'static Jdk) -> Running {
    let jvm = Run::new(jdk).class("Deadlock").start();
    jvm.wait_for_line("ready");
    jvm
}

#[test]
fn a_running_jvm_and_the_dumps_of_its_own_tools_show_the_same_threads() {
    each_jdk(|jdk| {
        let jvm = deadlocked(jdk);
        let scene = Scene::new();
        let own = report(&scene, &[&jvm.pid().to_string()]);
        fs::write(scene.path("print.txt"), jvm.jcmd(&["Thread.print", "-l"])).expect("a file");
        // As kill -3 does.
        jvm.signal(Signal::Quit);
        jvm.wait_until("a dump", |jvm| jvm.stdout().contains("Found 3 deadlocks."));
        fs::write(scene.path("app.log"), jvm.stdout()).expect("a file");
        let mut all = vec![
            own,
            report(&scene, &["print.txt"]),
            report(&scene, &["app.log"]),
        ];
        if jdk.feature() >= 21 {
            let file = scene.path("threads.json");
            jvm.jcmd(&[
                "Thread.dump_to_file",
                "-format=json",
                file.to_str().expect("a path"),
            ]);
            let json = report(&scene, &["threads.json"]);
            assert_eq!(names(&json), names(&all[0]));
            // Monitors are in it from JDK 24 on; who owns a ReentrantLock is not.
            if jdk.feature() >= 24 {
                assert_eq!(json["deadlocks"].as_array().expect("deadlocks").len(), 1);
            }
        }
        for report in all.drain(..) {
            assert_eq!(report["deadlocks"].as_array().expect("deadlocks").len(), 3);
            assert_eq!(report["dumps"][0]["is_cut"], false);
            let names = names(&report);
            for name in [
                "main",
                "monitor-1",
                "lock-2",
                "mixed-1",
                "Reference Handler",
            ] {
                assert!(names.contains(name), "{name}: {names:?}");
            }
            let locks = report["locks"].as_array().expect("locks").iter();
            let owned = locks.filter(|lock| !lock["owner"].is_null());
            assert_eq!(owned.count(), 6, "{}", report["locks"]);
        }
    });
}

#[test]
fn several_dumps_of_a_jvm_show_who_is_busy() {
    let jdk = Jdk::feature_release(17);
    let jvm = Run::new(jdk).class("Spin").args(["60"]).start();
    jvm.wait_until("a thread that spins", |jvm| {
        jvm.jcmd(&["Thread.print"]).contains("spinner-0")
    });
    let scene = Scene::new();
    let pid = jvm.pid().to_string();
    let arguments = [&*pid, "--dumps", "2", "--interval", "1"];
    let report = report(&scene, &arguments);
    let busiest = &report["moved"]["busy"][0];
    assert_eq!(busiest["name"], "spinner-0", "{}", report["moved"]);
    assert!(busiest["cpu_ms"].as_f64() > Some(50.0), "{busiest}");
    assert!(
        report["moved"]["elapsed_ms"].as_f64() >= Some(900.0),
        "{}",
        report["moved"]
    );
}

#[test]
fn dumps_of_other_tools_are_read_and_those_without_threads_refused() {
    let scene = Scene::new();
    let sample = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../thread-dumps/tests/data/");
        format!("{folder}{name}")
    };
    for (name, form, threads) in [
        ("jmx.txt", "jmx", 3),
        ("actuator.json", "beans", 10),
        ("agent.txt", "agent", 10),
        ("thread-info.txt", "thread_info", 11),
        ("javacore.txt", "javacore", 8),
    ] {
        let file = sample(name);
        let report = report(&scene, &[&file]);
        let last = &report["dumps"][0];
        assert_eq!(last["source"], form);
        assert_eq!(last["threads"], threads);
        assert_eq!(
            report["deadlocks"].as_array().expect("deadlocks").len(),
            1,
            "{name}"
        );
        // Other commands name the one that reads it.
        let output = run(&mut scene.hprof_rs(&["summary", &file]), "");
        let said = stderr(&output);
        assert!(said.contains("hprof-rs stacks FILE"), "{name}: {said}");
    }
    let head = "2026-11-23 02:50:00\nFull thread dump OpenJDK 64-Bit Server VM (17 mixed mode):\n\n\"a\" unknown\n";
    fs::write(scene.path("none.txt"), head).expect("a file");
    for arguments in [
        &["stacks", "none.txt"][..],
        &["stacks", "--json", "none.txt"],
    ] {
        let output = run(&mut scene.hprof_rs(arguments), "");
        assert_eq!(output.status.code(), Some(1));
        let said = stderr(&output);
        assert!(
            said.contains("no thread is in it") && said.contains("VisualVM"),
            "{said}"
        );
        assert!(stdout(&output).is_empty());
    }
}

#[test]
fn what_is_no_jvm_or_no_dump_is_refused() {
    let scene = Scene::new();
    fs::write(scene.path("other.txt"), "no dump\n").expect("a file");
    for (arguments, words) in [
        (&["stacks", "other.txt"][..], "jcmd PID Thread.print"),
        (&["stacks", "missing.txt"], "cannot read missing.txt"),
        (
            &["stacks", "other.txt", "--dumps", "2"],
            "--dumps takes dumps of a running JVM",
        ),
        (
            &["stacks", "other.txt", "-o", "x.txt"],
            "end the name in .html",
        ),
        (&["stacks", "4000000000"], "4000000000"),
    ] {
        let output = run(&mut scene.hprof_rs(arguments), "");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(
            stderr(&output).contains(words),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn the_tables_name_owners_and_what_moved() {
    let scene = Scene::new();
    let data = format!("{}/../thread-dumps/tests/data", env!("CARGO_MANIFEST_DIR"));
    let log = format!("{data}/jdk8-in-log.txt");
    let output = run(&mut scene.hprof_rs(&["stacks", &log, &log]), "");
    let text = stdout(&output);
    for part in [
        "http-nio-8080-exec-*",
        "com.example.Cache 0x00000000d5f06e58",
        "BLOCKED by http-nio-8080-exec-1",
        "at com.example.Cache.load(Cache.java:60)",
        "What moved",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn laptops_and_phones_show_the_page_in_light_and_dark() {
    let Some(browser) = Browser::open(1280, 800) else {
        return;
    };
    let scene = Scene::new();
    let data = |name: &str| format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"));
    let deadlocks = data("crates/server/tests/data/threads-jdk25.txt");
    let output = run(
        &mut scene.hprof_rs(&["stacks", "-o", "page.html", &deadlocks, &deadlocks]),
        "",
    );
    assert!(output.status.success(), "{}", stderr(&output));
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        for (device, width, height, is_phone) in
            [("laptop", 1280, 800, false), ("phone", 390, 844, true)]
        {
            browser.metrics(width, height, is_phone);
            browser.go(&scene.path("page.html"), &format!("?{device}-{scheme}"));
            let wide = browser.value("document.documentElement.scrollWidth");
            assert!(wide.as_u64() <= Some(u64::from(width)), "{wide}");
            let text = browser.text("document.getElementById('deadlocks').textContent");
            assert!(
                text.contains("\u{201c}monitor-1\u{201d} waits for"),
                "{text}"
            );
            for part in ["summary", "dumps", "moved", "locks", "stacks", "threads"] {
                browser.value(&format!(
                    "document.getElementById('{part}').scrollIntoView()"
                ));
                browser.screenshot(&format!("stacks-{part}-{device}-{scheme}.png"));
            }
            assert_eq!(browser.inaccessible(), [] as [String; 0]);
            assert_eq!(browser.complaints(), [] as [String; 0]);
        }
    }
}

/// The deadlock is the first thing on the screen, with the lines and locks of both threads.
#[test]
fn a_deadlock_comes_first_with_its_stacks() {
    let jvm = deadlocked(Jdk::feature_release(17));
    let scene = Scene::new();
    let output = run(&mut scene.hprof_rs(&["stacks", &jvm.pid().to_string()]), "");
    let text = stdout(&output);
    assert!(text.starts_with("Deadlock of 2 threads\n"), "{text}");
    let step = text.find("\"monitor-1\" waits for java.lang.StringBuilder 0x");
    let step = step.unwrap_or_else(|| panic!("{text}"));
    let frames = &text[step..];
    let line = frames.lines().nth(1).unwrap_or_default();
    assert!(
        line.starts_with("    at Deadlock.monitors(Deadlock.java:"),
        "{line}"
    );
    let end = text.find("\nLocks ").unwrap_or_else(|| panic!("{text}"));
    assert!(step < end, "{text}");
}

/// The JVM's own dump leaves them out.
#[test]
fn virtual_threads_of_a_running_jvm_are_shown() {
    for feature in [21, 25] {
        let jdk = Jdk::feature_release(feature);
        let jvm = Run::new(jdk).class("ParkedVirtual").start();
        jvm.wait_for_line("parked");
        let report = report(&Scene::new(), &[&jvm.pid().to_string()]);
        let last = &report["dumps"][0];
        assert_eq!(last["virtual_threads"], 50, "JDK {feature}");
        let mut groups = report["stacks"].as_array().expect("groups").iter();
        let found = groups.find(|group| group["threads"] == 50);
        let group = found.unwrap_or_else(|| panic!("JDK {feature}: {report}"));
        let frames = group["frames"].to_string();
        assert!(frames.contains("ParkedVirtual.park"), "{frames}");
    }
}

#[test]
fn a_jvm_that_is_stopped_is_named_at_once() {
    let jvm = deadlocked(Jdk::feature_release(17));
    let scene = Scene::new();
    let pid = jvm.pid().to_string();
    stop(&jvm);
    let began = Instant::now();
    for command in [&["stacks", &pid][..], &["record", &pid, "-d", "1"]] {
        let output = run(&mut scene.hprof_rs(command), "");
        assert!(!output.status.success());
        let said = stderr(&output);
        assert!(
            said.contains(&format!("process {pid} is stopped")),
            "{said}"
        );
        assert!(said.contains(&format!("kill -CONT {pid}")), "{said}");
    }
    // Nothing was waited for: an answer may take a minute.
    assert!(began.elapsed() < Duration::from_secs(50));
    resume(&jvm);
    assert!(!names(&report(&scene, &[&pid])).is_empty());
}
