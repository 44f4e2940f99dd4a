//! `hprof-rs gc`, `stacks` and `summary` on recordings of Flight Recorder, checked against the JVM's own counters and the
//! JDK's `jfr print`.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use java_test_harness::{Collector, Jdk, Run, each_collector, each_jdk};
use serde_json::Value;
use support::{Scene, run, stderr, stdout};

/// The answer of a command as JSON.
fn json(scene: &Scene, arguments: &[&str]) -> Value {
    let output = run(&mut scene.hprof_rs(arguments), "");
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

/// The collections of a file.
fn log(scene: &Scene, path: &Path) -> Value {
    let path = path.to_str().expect("a path in UTF-8");
    json(scene, &["gc", "--json", path])["logs"][0].clone()
}

/// The values of all events with one of some names, by the JDK's tool.
fn printed(jdk: &Jdk, file: &Path, events: &str) -> Vec<Value> {
    let mut print = Command::new(jdk.tool("jfr"));
    print.args(["print", "--json", "--events", events]);
    let output = print.arg(file).output().expect("jfr print runs");
    assert!(output.status.success(), "{output:?}");
    let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let events = printed["recording"]["events"].as_array().expect("events");
    events.iter().map(|event| event["values"].clone()).collect()
}

/// Milliseconds of `PT0.0398S`.
fn millis(duration: &Value) -> f64 {
    let text = duration.as_str().expect("a duration");
    let seconds = text.strip_prefix("PT").and_then(|it| it.strip_suffix('S'));
    let seconds = seconds.expect("seconds").parse::<f64>();
    seconds.expect("a number") * 1000.0
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// How many pauses of kinds with this family there are.
fn of_family(log: &Value, family: &str) -> u64 {
    let kinds = log["kinds"].as_array().expect("kinds").iter();
    let kinds = kinds.filter(|kind| kind["family"] == family);
    kinds.map(|kind| kind["count"].as_u64().unwrap()).sum()
}

/// The number that a bean has counted, as the figures of a log or recording have it.
fn counted(log: &Value, bean: &str) -> Option<u64> {
    let cycles = |name: &str| {
        let rows = log["cycles"].as_array().expect("cycles").iter();
        let rows = rows.filter(|row| row["name"].as_str().is_some_and(|it| it.starts_with(name)));
        rows.map(|row| row["count"].as_u64().unwrap()).sum()
    };
    Some(match bean {
        "Copy" | "PS Scavenge" | "G1 Young Generation" => of_family(log, "young"),
        "MarkSweepCompact" | "PS MarkSweep" | "G1 Old Generation" => of_family(log, "full"),
        "G1 Concurrent GC" => of_family(log, "phase"),
        "ZGC Pauses" | "Shenandoah Pauses" => log["pauses"]["count"].as_u64().unwrap(),
        "ZGC Minor Cycles" => cycles("Minor"),
        "ZGC Major Cycles" => cycles("Major"),
        "ZGC" | "ZGC Cycles" => log["counts"]["concurrent_cycles"].as_u64().unwrap(),
        // The bean counts what ends a cycle that was given up once more.
        "Shenandoah Cycles" => {
            log["counts"]["concurrent_cycles"].as_u64().unwrap()
                + of_family(log, "degenerated")
                + of_family(log, "full")
        }
        _ => return None,
    })
}

/// The lines of a log on collections before one.
fn before(log: &str, first: u64) -> String {
    let is_before = |line: &&str| {
        let number = line
            .split_once(" GC(")
            .and_then(|(_, rest)| rest.split_once(')'));
        let number = number.and_then(|(number, _)| number.parse::<u64>().ok());
        number.is_none_or(|number| number < first)
    };
    let lines = log.lines().filter(is_before);
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn collections_are_those_that_the_jvm_counts() {
    each_collector(|jdk, collector| {
        // Concurrent collectors do not collect before the recording has begun, as they then have room.
        let heap = match collector {
            Collector::Z | Collector::Shenandoah => ["-Xmx400m", "-Xms400m"],
            _ => ["-Xmx96m", "-Xms32m"],
        };
        let outcome = Run::new(jdk)
            .jvm_args(collector.arguments().iter().copied())
            .jvm_args(heap)
            .jvm_args([
                "-Xlog:gc*:file=gc.log:uptime,level,tags",
                "-XX:StartFlightRecording=filename=gc.jfr,settings=default",
            ])
            .class("GcBeans")
            .args(["400"])
            .run()
            .expect_status(0);
        let file = outcome.path("gc.jfr");
        let scene = Scene::new();
        let recorded = log(&scene, &file);
        // A stop of 10 ms or more is recorded, and shorter ones are not.
        for note in recorded["notes"].as_array().expect("notes") {
            let note = note.as_str().expect("a sentence");
            assert!(note.contains("stops below 10.0 ms are not in it"), "{note}");
        }

        let collections = printed(jdk, &file, "jdk.GarbageCollection");
        assert_eq!(recorded["recording"]["collections"], collections.len());
        let phases = printed(jdk, &file, "jdk.GCPhasePause");
        assert_eq!(recorded["pauses"]["count"], phases.len());
        // `jfr print` shows nanoseconds; ticks of the clock are rounded once for each.
        let sum = number(&recorded["pauses"]["sum_ms"]);
        for (events, field) in [(&phases, "duration"), (&collections, "sumOfPauses")] {
            let expected: f64 = events.iter().map(|event| millis(&event[field])).sum();
            assert!((sum - expected).abs() < 0.01, "{field}: {sum} {expected}");
        }
        let longest = phases.iter().map(|event| millis(&event["duration"]));
        let longest = longest.fold(0.0, f64::max);
        assert!((number(&recorded["pauses"]["max_ms"]) - longest).abs() < 0.001);

        let ids = collections
            .iter()
            .map(|event| event["gcId"].as_u64().unwrap());
        let first = ids.min().expect("a collection");
        let text = fs::read_to_string(outcome.path("gc.log")).expect("a log");
        let earlier = scene.path("earlier.log");
        fs::write(&earlier, before(&text, first)).expect("a file");
        let earlier = log(&scene, &earlier);
        let whole = log(&scene, &outcome.path("gc.log"));
        let beans = outcome.stdout.lines();
        for line in beans.filter_map(|line| line.strip_prefix("bean=")) {
            let parts: Vec<&str> = line.split('|').collect();
            let Some(found) = counted(&recorded, parts[0]) else {
                continue;
            };
            let before = counted(&earlier, parts[0]).unwrap_or(0);
            let expected = parts[1].parse::<u64>().expect("a number") - before;
            // The end of the recording allocates, so that the JVM may collect once more after it has printed its beans.
            let most = counted(&whole, parts[0]).expect("a count") - before;
            // Beans count each pause of a cycle, recordings those of cycles that have ended.
            let least = match collector {
                Collector::Z | Collector::Shenandoah => expected.saturating_sub(4),
                _ => expected,
            };
            assert!(
                (least..=most).contains(&found),
                "{line}: {found}, {before} before, {most} in the log: {}",
                recorded["kinds"]
            );
            // A cycle of Shenandoah has four pauses.
            assert!(most - expected <= 4, "{line}: {most} in the log");
        }

        assert_eq!(recorded["collector"], whole["collector"]);
        let limit = if heap[0] == "-Xmx400m" {
            400 << 20
        } else {
            96 << 20
        };
        assert_eq!(recorded["heap"]["max"], limit);
        let causes = |log: &Value| {
            ["causes", "cycle_causes"]
                .map(|it| log[it].to_string())
                .concat()
        };
        if collector != Collector::Shenandoah || jdk.feature() > 11 {
            assert!(
                causes(&recorded).contains("System.gc()"),
                "{}",
                causes(&recorded)
            );
        }
        let worst = &recorded["worst"][0];
        let at = number(&worst["at_ms"]);
        let from = number(&recorded["from_ms"]);
        assert!(
            (from..=from + number(&recorded["duration_ms"])).contains(&at),
            "{at}"
        );
        assert!(number(&recorded["heap"]["peak_used"]) <= number(&recorded["heap"]["max"]));
    });
}

/// Cycles follow each other, and the heap before and after them shows a third of what was allocated.
#[test]
fn allocation_of_concurrent_collectors_is_that_of_threads() {
    each_collector(|jdk, collector| {
        if !matches!(collector, Collector::Z | Collector::Shenandoah) {
            return;
        }
        let jvm = Run::new(jdk)
            .jvm_args(collector.arguments().iter().copied())
            .jvm_args([
                "-Xmx400m",
                "-Xms400m",
                "-XX:StartFlightRecording=settings=default",
            ])
            .class("GcBeans")
            .args(["400", "end"])
            .start();
        jvm.wait_for_line("kept=");
        let scene = Scene::new();
        let file = scene.path("gc.jfr");
        // The main thread still lives, and the end of a chunk has its counter.
        jvm.jcmd(&["JFR.dump", &format!("filename={}", file.display())]);
        let printed = jvm.stdout();
        let mut lines = printed.lines();
        let allocated = lines.find_map(|line| line.strip_prefix("allocated="));
        let allocated = allocated.and_then(|it| it.parse::<f64>().ok());
        let allocated = allocated.expect("the bytes of the main thread");
        let recorded = log(&scene, &file);
        let found = number(&recorded["allocation"]["bytes"]);
        // What the thread has allocated before the recording began, and others since: some 20 MB.
        let slack = f64::from(32 << 20);
        assert!(
            (allocated - slack..=allocated + slack).contains(&found),
            "{found} of {allocated}"
        );
        assert_eq!(recorded["allocation"]["is_exact"], false);
    });
}

/// Settings that record every stop, for JDKs that take no settings of single events on the command line.
const STOPS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0">
  <event name="jdk.SafepointBegin"><setting name="enabled">true</setting><setting name="threshold">0 ms</setting></event>
  <event name="jdk.SafepointEnd"><setting name="enabled">true</setting><setting name="threshold">0 ms</setting></event>
  <event name="jdk.ExecuteVMOperation"><setting name="enabled">true</setting><setting name="threshold">0 ms</setting></event>
  <event name="jdk.GarbageCollection"><setting name="enabled">true</setting><setting name="threshold">0 ms</setting></event>
  <event name="jdk.GCPhasePause"><setting name="enabled">true</setting><setting name="threshold">0 ms</setting></event>
  <event name="jdk.GCConfiguration"><setting name="enabled">true</setting><setting name="period">everyChunk</setting></event>
</configuration>
"#;

/// How often each operation stopped the program, and for how many milliseconds.
fn operations(log: &Value) -> BTreeMap<String, (u64, f64)> {
    let rows = log["operations"].as_array().expect("operations").iter();
    let rows = rows.map(|row| {
        let name = row["name"].as_str().expect("a name").to_owned();
        let count = row["count"].as_u64().expect("a count");
        (name, (count, number(&row["sum_ms"])))
    });
    rows.collect()
}

#[test]
fn stops_are_those_of_the_log() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        fs::write(scene.path("stops.jfc"), STOPS).expect("a file");
        let settings = scene.path("stops.jfc").display().to_string();
        let outcome = Run::new(jdk)
            .jvm_args(["-XX:+UseParallelGC", "-Xmx96m", "-Xms32m"])
            .jvm_arg("-Xlog:gc*,safepoint:file=gc.log:uptime,level,tags")
            .jvm_arg(format!(
                "-XX:StartFlightRecording=filename=gc.jfr,settings={settings}"
            ))
            .class("GcBeans")
            .args(["400"])
            .run()
            .expect_status(0);
        let (recorded, logged) = (
            log(&scene, &outcome.path("gc.jfr")),
            log(&scene, &outcome.path("gc.log")),
        );
        let pauses = recorded["pauses"]["count"].as_u64().expect("a count");
        let stops = |log: &Value| log["stops"]["count"].as_u64().expect("a count");
        // A collection of Parallel may have two pauses, of the young generation and of all.
        assert!(
            pauses > 3 && 2 * stops(&recorded) >= pauses,
            "{}",
            recorded["stops"]
        );
        assert_eq!(recorded["notes"], serde_json::json!([]));
        assert_eq!(recorded["reaching"]["count"], stops(&recorded));
        // The log begins before the recording and ends after it.
        assert!(stops(&recorded) <= stops(&logged), "{}", recorded["stops"]);
        // JDK 11 logs no operations.
        let (found, all) = (operations(&recorded), operations(&logged));
        let mut compared = 0;
        for (name, (count, sum)) in &found {
            let Some((most, whole)) = all.get(name) else {
                continue;
            };
            assert!(count <= most, "{name}: {count} of {most}");
            // All of them are in the recording: the clocks stop at about the same moments.
            if count == most {
                assert!(
                    (0.5 * sum..=sum + 10.0).contains(whole),
                    "{name}: {sum} {whole}"
                );
                compared += 1;
            }
        }
        // System.gc() at least.
        assert!(all.is_empty() || compared > 0, "{found:?} {all:?}");
        let share = number(&recorded["stopped"]);
        let expected = number(&recorded["stops"]["sum_ms"]) / number(&recorded["duration_ms"]);
        assert!((share - expected).abs() < 1e-6, "{share} {expected}");
        let worst = &recorded["worst_stops"][0];
        let longest = number(&recorded["stops"]["max_ms"]);
        assert_eq!(number(&worst["stop_ms"]), longest);
        assert!(number(&worst["reaching_ms"]) <= longest);
        assert!(!worst["operation"].as_str().expect("a name").is_empty());
        let path = outcome.path("gc.jfr").display().to_string();
        let text = stdout(&run(&mut scene.hprof_rs(&["gc", &path]), ""));
        for part in [
            "of the time), longest",
            "to safepoint at most",
            "Longest stops",
            "Operations that stopped",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    });
}

#[test]
fn thread_dumps_are_those_of_the_jvm() {
    each_jdk(|jdk| {
        let jvm = Run::new(jdk)
            .jvm_arg("-XX:StartFlightRecording=settings=default")
            .class("Deadlock")
            .start();
        jvm.wait_for_line("ready");
        let scene = Scene::new();
        let file = scene.path("threads.jfr");
        let file = file.to_str().expect("a path");
        // The end of a chunk has a dump.
        jvm.jcmd(&["JFR.dump", &format!("filename={file}")]);
        let own = json(&scene, &["stacks", "--json", &jvm.pid().to_string()]);
        let recorded = json(&scene, &["stacks", "--json", file]);
        let names = |answer: &Value| -> BTreeSet<String> {
            let threads = answer["report"]["threads"].as_array().expect("threads");
            let names = threads.iter().filter(|it| !it["id"].is_null());
            let names = names.map(|it| it["name"].as_str().expect("a name").to_owned());
            names.filter(|name| name != "Attach Listener").collect()
        };
        assert_eq!(names(&recorded), names(&own));
        let report = &recorded["report"];
        assert_eq!(report["deadlocks"].as_array().map(Vec::len), Some(3));
        let dumps = report["dumps"].as_array().expect("dumps");
        let expected = printed(jdk, Path::new(file), "jdk.ThreadDump");
        assert_eq!(dumps.len(), expected.len());
        assert!(dumps.len() > 1, "{}", dumps.len());
        for (dump, event) in dumps.iter().zip(&expected) {
            assert_eq!(dump["is_cut"], false);
            let text = event["result"].as_str().expect("a text");
            assert!(text.starts_with(dump["time"].as_str().expect("a time")));
        }
        // The first was taken before the program began.
        let first = json(&scene, &["stacks", "--json", file, "--dump", "1"]);
        assert_eq!(first["report"]["dumps"].as_array().map(Vec::len), Some(1));
        assert!(!names(&first).contains("monitor-1"));
        let output = run(&mut scene.hprof_rs(&["stacks", file, "--dump", "99"]), "");
        assert!(!output.status.success());
        assert!(
            stderr(&output).contains("--dump 99: there are"),
            "{}",
            stderr(&output)
        );

        let summary = json(&scene, &["summary", "--json", file]);
        assert_eq!(summary["thread_dumps"], expected.len());
        let text = stdout(&run(&mut scene.hprof_rs(&["stacks", file]), ""));
        for part in ["Dumps", "monitor-1", "Deadlock"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    });
}

/// A recording of another crate's tests, uncompressed.
fn sample(scene: &Scene, name: &str) -> PathBuf {
    let packed = format!(
        "{}/../foreign/tests/data/{name}.gz",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut packed = flate2::read::GzDecoder::new(fs::File::open(packed).expect("a sample"));
    let path = scene.path(name);
    let mut file = fs::File::create(&path).expect("a file");
    std::io::copy(&mut packed, &mut file).expect("it is whole");
    path
}

#[test]
fn a_recording_is_known_by_its_content_however_it_is_packed_or_called() {
    let scene = Scene::new();
    let plain = sample(&scene, "jdk25-gc.jfr");
    let bytes = fs::read(&plain).expect("a file");
    fs::write(scene.path("gc.log"), &bytes).expect("a file");
    let packed = format!(
        "{}/../foreign/tests/data/jdk25-gc.jfr.gz",
        env!("CARGO_MANIFEST_DIR")
    );
    let expected = log(&scene, &plain);
    assert_eq!(expected["pauses"]["count"], 41);
    for path in [&scene.path("gc.log"), Path::new(&packed)] {
        let mut found = log(&scene, path);
        found["file"] = expected["file"].clone();
        assert_eq!(found, expected);
    }
    let dumps = json(&scene, &["stacks", "--json", &packed]);
    assert_eq!(dumps["report"]["dumps"].as_array().map(Vec::len), Some(2));
    // Text of a terminal.
    let output = run(&mut scene.hprof_rs(&["summary", "jdk25-gc.jfr"]), "");
    let text = stdout(&output);
    for part in [
        "40 garbage collections: `hprof-rs gc` shows them",
        "2 thread dumps: `hprof-rs stacks` shows them",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for (command, output) in [("gc", "gc.html"), ("stacks", "threads.html")] {
        let done = run(
            &mut scene.hprof_rs(&[command, "jdk25-gc.jfr", "-o", output]),
            "",
        );
        assert!(done.status.success(), "{}", stderr(&done));
        let page = fs::read_to_string(scene.path(output)).expect("a page");
        assert!(page.contains("jdk25-gc.jfr"));
    }
}

#[test]
fn damage_is_told_and_what_is_there_is_shown() {
    let scene = Scene::new();
    let bytes = fs::read(sample(&scene, "jdk25-gc.jfr")).expect("a file");
    let mut damaged = bytes.repeat(2);
    damaged.truncate(bytes.len() + 60);
    fs::write(scene.path("damaged.jfr"), &damaged).expect("a file");
    for (command, place) in [("gc", "pauses"), ("stacks", "report")] {
        let output = run(&mut scene.hprof_rs(&[command, "--json", "damaged.jfr"]), "");
        // What is there is shown, and the status says that something is missing.
        assert_eq!(output.status.code(), Some(1));
        let said = stderr(&output);
        let at = format!(
            "damaged.jfr: Damaged at byte {}: a chunk has no whole head",
            bytes.len()
        );
        assert!(said.contains(&at), "{said}");
        let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        let found = if command == "gc" {
            &json["logs"][0][place]
        } else {
            &json[place]
        };
        assert!(!found.is_null());
    }
}

#[test]
fn a_recording_without_them_says_which_settings_record_them() {
    let scene = Scene::new();
    sample(&scene, "jdk17.jfr");
    for (command, words) in [
        ("gc", "no garbage collection is in the recording"),
        ("gc", "jdk.GarbageCollection"),
        ("stacks", "no thread dump is in the recording"),
        ("stacks", "jdk.ThreadDump"),
    ] {
        let output = run(&mut scene.hprof_rs(&[command, "jdk17.jfr"]), "");
        assert!(!output.status.success());
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}
