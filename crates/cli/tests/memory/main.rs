//! `hprof-rs memory` on running JVMs: the rows add up, and the first sentence names the cause.

mod native;
mod record;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::path::Path;

use java_test_harness::{Jdk, Run, Running, each_jdk, each_release};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::{Scene, run, stderr, stdout};

/// A program, what to ask for, and the cause that must come first.
struct Case {
    mode: &'static str,
    jvm: &'static [&'static str],
    command: &'static [&'static str],
    cause: &'static str,
}

const fn case(mode: &'static str, cause: &'static str) -> Case {
    Case {
        mode,
        jvm: &[],
        command: &[],
        cause,
    }
}

const CASES: [Case; 15] = [
    case("healthy", "healthy"),
    case("heap", "heap"),
    Case {
        // 150 MiB of objects in 154 MiB of old generation.
        jvm: &["-Xmx164m", "-Xmn10m", "-XX:+UseSerialGC"],
        ..case("heap", "heap_full")
    },
    Case {
        jvm: &["-Xms512m"],
        ..case("empty-heap", "heap_keeps_empty")
    },
    case("threads", "threads"),
    case("direct", "direct_buffers"),
    Case {
        command: &["--gc"],
        ..case("direct-unreachable", "direct_buffers_wait")
    },
    case("mapped", "mapped_files"),
    case("loaders", "metaspace"),
    Case {
        command: &["--objects"],
        ..case("deflaters", "compressors")
    },
    Case {
        command: &["--objects"],
        ..case("inflaters", "compressors")
    },
    Case {
        command: &["--objects"],
        ..case("sockets", "thread_buffers")
    },
    case("deflaters", "native_memory"),
    case("unsafe", "direct_buffers"),
    case("arenas", "arenas_keep_free"),
];

/// The file that a program maps, whose name no page may take for markup.
const MAPPED: &str = "<img src=x onerror=alert(1)>.bin";

fn started(jdk: &'static Jdk, mode: &str, jvm: &[&str]) -> Running {
    let jvm = Run::new(jdk)
        .jvm_args(jvm)
        .class("NativeMemory")
        .args([mode, MAPPED])
        .start();
    jvm.wait_for_line("ready");
    jvm
}

fn tracked(jdk: &'static Jdk, mode: &str, jvm: &[&str]) -> Running {
    started(
        jdk,
        mode,
        &[jvm, &["-XX:NativeMemoryTracking=summary"]].concat(),
    )
}

/// The account, without cgroups unless the arguments name some.
fn account(scene: &Scene, jvm: &Running, arguments: &[&str]) -> Value {
    let pid = jvm.pid().to_string();
    let none: &[&str] = match arguments.contains(&"--cgroups") {
        true => &[],
        false => &["--cgroups", "none"],
    };
    let all = [&["memory", "--json", &pid], none, arguments].concat();
    let output = run(&mut scene.hprof_rs(&all), "");
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

fn first_cause(account: &Value) -> &str {
    account["causes"][0]["cause"].as_str().expect("a cause")
}

/// The resident bytes of a row; 0 if there is none.
fn row(account: &Value, kind: &str) -> u64 {
    let rows = account["table"]["rows"].as_array().expect("rows");
    let found = rows.iter().find(|row| row["kind"] == kind);
    found.map_or(0, |row| row["resident"].as_u64().expect("bytes"))
}

/// The rows add up to the resident set, which is the kernel's within what it adds up late and what comes between two readings
/// on a busy machine, and no more than this part of it is unexplained.
fn check_sum(account: &Value, most: f64) {
    let rows = account["table"]["rows"].as_array().expect("rows");
    let sum: u64 = rows.iter().filter_map(|row| row["resident"].as_u64()).sum();
    let resident = account["table"]["resident"].as_u64().expect("bytes");
    assert_eq!(sum, resident, "{account:#}");
    let of_kernel = account["status"]["resident"].as_u64().expect("bytes");
    let off = of_kernel.abs_diff(resident) as f64 / resident as f64;
    assert!(off < 0.06, "{of_kernel} {resident}");
    let unexplained = row(account, "unexplained") as f64 / resident as f64;
    assert!(unexplained <= most, "{unexplained}: {account:#}");
}

#[test]
fn the_first_sentence_names_the_cause() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        for case in &CASES {
            let jvm = tracked(jdk, case.mode, case.jvm);
            let account = account(&scene, &jvm, case.command);
            assert_eq!(
                first_cause(&account),
                case.cause,
                "{}: {account:#}",
                case.mode
            );
            check_sum(&account, 0.02);
        }
    });
}

#[test]
fn rows_add_up_on_all_releases_with_and_without_tracking() {
    let check = |jdk: &'static Jdk| {
        let scene = Scene::new();
        for (options, most) in [
            (&["-XX:NativeMemoryTracking=summary"][..], 0.02),
            (&[], 0.08),
        ] {
            for mode in ["threads", "direct"] {
                let jvm = started(jdk, mode, options);
                let account = account(&scene, &jvm, &[]);
                check_sum(&account, most);
                // 200 buffers of 1 MiB, with tracking in a row of their own.
                let buffers = row(&account, "direct_buffers") + row(&account, "native_malloc");
                assert_eq!(buffers >= 200 << 20, mode == "direct", "{account:#}");
                let rows = account["table"]["rows"].as_array().expect("rows");
                let stacks = rows.iter().find(|row| row["kind"] == "thread_stacks");
                let threads = stacks
                    .and_then(|row| row["count"].as_u64())
                    .expect("threads");
                assert_eq!(threads >= 600, mode == "threads", "{threads}");
            }
        }
    };
    if let Some(jdk) = Jdk::find(8) {
        check(jdk);
    }
    each_release(check);
}

/// Cgroups of both versions, as a container sees its own.
fn cgroups(scene: &Scene, limit: u64, anonymous: u64, shared: u64, cache: u64) -> String {
    let folder = scene.path("cgroup");
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    let (file, current) = (shared + cache, anonymous + shared + cache);
    write("memory.max", limit.to_string());
    write("memory.current", current.to_string());
    write(
        "memory.stat",
        format!("anon {anonymous}\nfile {file}\nshmem {shared}\n"),
    );
    write("memory/memory.limit_in_bytes", limit.to_string());
    write("memory/memory.usage_in_bytes", current.to_string());
    write(
        "memory/memory.stat",
        format!("total_rss {anonymous}\ntotal_cache {file}\ntotal_shmem {shared}\n"),
    );
    folder.to_str().expect("a path in UTF-8").to_owned()
}

#[test]
fn the_limit_of_a_container_counts() {
    let jdk = Jdk::feature_release(17);
    let scene = Scene::new();
    let jvm = tracked(jdk, "direct", &[]);
    let mib = |number: u64| number << 20;
    for (limit, anonymous, shared, cache, cause) in [
        // -Xmx512m and 200 MiB of buffers.
        (700, 250, 0, 0, "heap_too_large"),
        (2000, 250, 900, 0, "tmpfs"),
        (2000, 1500, 0, 0, "other_processes"),
    ] {
        let folder = cgroups(&scene, mib(limit), mib(anonymous), mib(shared), mib(cache));
        let account = account(&scene, &jvm, &["--cgroups", &folder]);
        assert_eq!(first_cause(&account), cause, "{account:#}");
        assert_eq!(account["group"]["limit"], mib(limit));
    }
    let jvm = tracked(jdk, "healthy", &[]);
    let folder = cgroups(&scene, mib(2000), mib(100), 0, mib(1000));
    let account = account(&scene, &jvm, &["--cgroups", &folder]);
    assert_eq!(first_cause(&account), "page_cache", "{account:#}");
}

#[test]
fn a_full_code_cache_is_named() {
    let jdk = Jdk::feature_release(17);
    let small = [
        "-Xcomp",
        "-XX:ReservedCodeCacheSize=2560k",
        "-XX:InitialCodeCacheSize=2560k",
        "-XX:-UseCodeCacheFlushing",
    ];
    let jvm = started(jdk, "code", &small);
    let account = account(&Scene::new(), &jvm, &[]);
    assert_eq!(first_cause(&account), "code_cache_full", "{account:#}");
}

#[test]
fn watching_names_the_row_that_grows() {
    let jdk = Jdk::feature_release(17);
    let scene = Scene::new();
    let jvm = started(jdk, "grows", &[]);
    let pid = jvm.pid().to_string();
    let watch = [
        "memory",
        &pid,
        "--watch",
        "1s",
        "--count",
        "3",
        "--json",
        "--cgroups",
        "none",
    ];
    let output = run(&mut scene.hprof_rs(&watch), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let looks: Vec<Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(looks.len(), 3);
    assert!(looks[0].get("growth").is_none());
    assert_eq!(
        looks[2]["growth"]["rows"][0]["kind"], "native_malloc",
        "{:#}",
        looks[2]
    );
    let parts = run(&mut scene.hprof_rs(&["memory", &pid, "--parts"]), "");
    let parts = stdout(&parts);
    for part in ["<boot class loader>", "libjvm.so", "non-nmethods"] {
        assert!(parts.contains(part), "{part}: {parts}");
    }
    let text = run(&mut scene.hprof_rs(&["memory", &pid, "--no-attach"]), "");
    assert!(text.status.success(), "{}", stderr(&text));
    let none = run(&mut scene.hprof_rs(&["memory", "no.such.Main"]), "");
    assert_eq!(none.status.code(), Some(1));
    assert!(stderr(&none).contains("no JVM runs"), "{}", stderr(&none));
    assert!(stdout(&text).contains("unexplained"), "{}", stdout(&text));
    assert!(
        stderr(&text).contains("the JVM was not asked"),
        "{}",
        stderr(&text)
    );
}

#[test]
fn what_a_killed_process_has_left_is_read() {
    let scene = Scene::new();
    let line = "kernel: Memory cgroup out of memory: Killed process 4242 (java) total-vm:8123456kB, anon-rss:2011111kB, \
                file-rss:1234kB, shmem-rss:0kB, UID:1000 pgtables:5000kB oom_score_adj:0\n";
    let output = run(&mut scene.hprof_rs(&["memory", "--post-mortem", "-"]), line);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.starts_with(
            "The kernel killed process 4242 (java), as its cgroup had reached its limit"
        ),
        "{text}"
    );
    let output = run(
        &mut scene.hprof_rs(&["memory", "--post-mortem", "-"]),
        "nothing\n",
    );
    assert_eq!(output.status.code(), Some(1));
    // A report that a JVM has written.
    let jdk = Jdk::feature_release(17);
    let jvm = tracked(jdk, "direct", &[]);
    let pid = Pid::from_raw(jvm.pid().cast_signed()).expect("a pid");
    kill_process(pid, Signal::SEGV).expect("a signal");
    jvm.wait_until("the report", |jvm| {
        let report = fs::read_to_string(jvm.path("hs_err.log")).unwrap_or_default();
        report.contains("END.")
    });
    let report = jvm.path("hs_err.log");
    let report = report.to_str().expect("a path in UTF-8");
    let output = run(
        &mut scene.hprof_rs(&["memory", "--json", "--post-mortem", report]),
        "",
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let remains = &json["remains"];
    assert_eq!(remains["max_heap"], 512 << 20, "{remains:#}");
    assert!(
        remains["resident"]
            .as_u64()
            .is_some_and(|bytes| bytes > 200 << 20),
        "{remains:#}"
    );
    let categories = remains["tracking"]["categories"]
        .as_array()
        .expect("categories");
    assert!(
        categories
            .iter()
            .any(|category| category["name"] == "Other"),
        "{remains:#}"
    );
}
