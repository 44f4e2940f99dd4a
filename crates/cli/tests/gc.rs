//! `hprof-rs gc` on logs of real JVMs, checked against the JVM's own counters, and on logs of JDK 8.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use java_test_harness::{Collector, Jdk, Outcome, Run, each_collector};
use serde_json::Value;
use support::browser::Browser;
use support::terminal::Terminal;
use support::{Scene, run, stderr, stdout};

/// The log that `hprof-rs gc` shows as JSON.
fn log(scene: &Scene, path: &Path) -> Value {
    let path = path.to_str().expect("a path in UTF-8");
    let output = run(&mut scene.hprof_rs(&["gc", "--json", path]), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    json["logs"][0].clone()
}

/// A run of GcBeans with a log, and what its beans counted: name, collections, milliseconds.
fn collected(
    jdk: &'static Jdk,
    collector: Collector,
    log: &str,
) -> (Outcome, Vec<(String, u64, f64)>) {
    let outcome = Run::new(jdk)
        .jvm_args(collector.arguments().iter().copied())
        .jvm_args(["-Xmx96m", "-Xms32m", log])
        .class("GcBeans")
        .args(["400"])
        .run()
        .expect_status(0);
    let beans = outcome
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("bean="));
    let beans = beans.map(|line| {
        let parts: Vec<&str> = line.split('|').collect();
        let number = |text: &str| text.parse::<u64>().expect("a number");
        (
            parts[0].to_owned(),
            number(parts[1]),
            number(parts[2]) as f64,
        )
    });
    let beans = beans.collect();
    (outcome, beans)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// Count and sum in milliseconds of the kinds of pauses for which this holds.
fn pauses(log: &Value, is_meant: impl Fn(&Value) -> bool) -> (u64, f64) {
    let kinds = log["kinds"].as_array().expect("kinds").iter();
    let kinds = kinds.filter(|kind| is_meant(kind));
    kinds.fold((0, 0.0), |(count, sum), kind| {
        (
            count + kind["count"].as_u64().unwrap(),
            sum + number(&kind["sum_ms"]),
        )
    })
}

/// Pauses of a cycle of ZGC or Shenandoah, at most.
const PAUSES_OF_A_CYCLE: u64 = 4;

#[test]
fn pauses_are_those_that_the_jvm_counts() {
    each_collector(|jdk, collector| {
        let flag = "-Xlog:gc*,safepoint:file=gc.log:time,uptime,pid,level,tags";
        let (outcome, beans) = collected(jdk, collector, flag);
        let scene = Scene::new();
        let log = log(&scene, &outcome.path("gc.log"));
        assert_eq!(log["lines"]["not_understood"], 0, "{}", log["lines"]);
        assert_eq!(log["lines"]["is_cut"], false);
        assert_eq!(
            log["collector"].as_str().map(str::to_lowercase),
            Some(match collector {
                Collector::Z => "zgc".to_owned(),
                other => other.to_string().to_lowercase(),
            })
        );
        // What the program stood beside its pauses: next to nothing but on a busy machine.
        let beside = number(&log["stops"]["sum_ms"]) - number(&log["pauses"]["sum_ms"]);
        let of_family = |family: &'static str| move |kind: &Value| kind["family"] == family;
        for (bean, count, millis) in beans {
            let found = match bean.as_str() {
                "Copy" | "PS Scavenge" | "G1 Young Generation" => pauses(&log, of_family("young")),
                "MarkSweepCompact" | "PS MarkSweep" | "G1 Old Generation" => {
                    pauses(&log, of_family("full"))
                }
                "G1 Concurrent GC" => pauses(&log, of_family("phase")),
                "ZGC Pauses" | "Shenandoah Pauses" => pauses(&log, |_| true),
                "ZGC" | "ZGC Cycles" => {
                    (log["counts"]["concurrent_cycles"].as_u64().unwrap(), millis)
                }
                _ => continue,
            };
            // A cycle beside the program may begin between the program's look at its beans and its end.
            let of_next_cycle = match collector {
                Collector::Z | Collector::Shenandoah => PAUSES_OF_A_CYCLE,
                _ => 0,
            };
            let counts = count..=count + of_next_cycle;
            assert!(
                counts.contains(&found.0),
                "{bean}: {counts:?} {}",
                log["kinds"]
            );
            // The beans cut milliseconds off, and start and stop their clock before the log does, which shows on a
            // busy machine.
            let least = 0.95 * millis - 5.0 - beside.max(0.0);
            let most = 2.0 * millis + 10.0 * count as f64 + 20.0;
            assert!(
                (least..=most).contains(&found.1),
                "{bean}: {found:?} {millis}"
            );
        }
        assert!(log["pauses"]["count"].as_u64() > Some(0));
        assert!(
            log["timeline"]["buckets"]
                .as_array()
                .is_some_and(|it| !it.is_empty())
        );
        let throughput = number(&log["throughput"]);
        assert!((0.0..1.0).contains(&throughput), "{throughput}");
        assert!(
            number(&log["allocation"]["bytes"]) > 1e6,
            "{}",
            log["allocation"]
        );
        // ZGC of JDK 11 logs the size of the heap only, which has reached its limit.
        let limit = match log["heap"]["max"].is_null() {
            true => &log["heap"]["peak_capacity"],
            false => &log["heap"]["max"],
        };
        assert_eq!(number(limit), f64::from(96 << 20), "{}", log["heap"]);
        assert!(
            number(&log["heap"]["peak_used"]) <= f64::from(96 << 20),
            "{}",
            log["heap"]
        );
        let stops = log["stops"]["count"].as_u64().unwrap();
        let pauses = log["pauses"]["count"].as_u64().unwrap();
        assert!(stops > 0 && pauses > 0, "{}", log["stops"]);
        // System.gc().
        let causes = ["causes", "cycle_causes"]
            .map(|name| log[name].to_string())
            .concat();
        if collector != Collector::Shenandoah {
            assert!(causes.contains("System.gc()"), "{causes}");
        }
    });
}

/// The columns of `jstat` with their values; the collectors that lack one have none.
fn jstat(jdk: &Jdk, option: &str, pid: u32) -> BTreeMap<String, f64> {
    let mut jstat = Command::new(jdk.tool("jstat"));
    let output = jstat.args([option, &pid.to_string()]).output();
    let output = output.expect("jstat runs");
    assert!(output.status.success(), "{output:?}");
    let text = stdout(&output);
    let [head, values] = text.lines().collect::<Vec<_>>()[..] else {
        panic!("{text}");
    };
    let values = values.split_ascii_whitespace().map(|it| it.parse().ok());
    let pairs = head.split_ascii_whitespace().zip(values);
    pairs
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

#[test]
fn jstat_counts_as_many_collections() {
    each_collector(|jdk, collector| {
        // The runtimes of other releases have no jstat.
        if !jdk.tool("jstat").is_file() {
            return;
        }
        let run = Run::new(jdk)
            .jvm_args(collector.arguments().iter().copied())
            .jvm_args([
                "-Xmx96m",
                "-Xms32m",
                "-Xlog:gc*:file=gc.log:uptime,level,tags",
            ])
            .class("GcBeans")
            .args(["400", "end"]);
        let (file, end) = (run.path("gc.log"), run.path("end"));
        let jvm = run.start();
        jvm.wait_for_line("kept=");
        let counted = ["-gc", "-gcutil"].map(|option| jstat(jdk, option, jvm.pid()));
        let scene = Scene::new();
        let log = log(&scene, &file);
        fs::write(end, "").expect("a file");
        jvm.finish().expect_status(0);
        let of_family = |family: &'static str| pauses(&log, |kind| kind["family"] == family);
        for columns in counted {
            for (count, time, found) in [
                ("YGC", "YGCT", of_family("young")),
                ("FGC", "FGCT", of_family("full")),
                ("CGC", "CGCT", of_family("phase")),
            ] {
                // A collector without generations counts its cycles where others count pauses of cycles.
                if matches!(collector, Collector::Z | Collector::Shenandoah) {
                    continue;
                }
                let Some(&expected) = columns.get(count) else {
                    assert_eq!(found.0, 0, "{count}: {}", log["kinds"]);
                    continue;
                };
                assert_eq!(found.0 as f64, expected, "{count}: {}", log["kinds"]);
                // The counters stop their clock before the log does (Serial by 0.2 ms) or after it (G1), and a thread may lose
                // its CPU in between.
                let millis = 1000.0 * columns[time];
                let (least, most) = (0.7 * millis - 20.0, 2.0 * millis + 10.0 * expected + 1.0);
                assert!(
                    (least..=most).contains(&found.1),
                    "{time}: {found:?} {millis}"
                );
            }
        }
    });
}

/// A log of the crate's tests.
fn sample(name: &str) -> String {
    format!("{}/../gclog/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_log_of_jdk_8_is_shown_with_findings() {
    let scene = Scene::new();
    let output = run(&mut scene.hprof_rs(&["gc", &sample("jdk8-g1.log")]), "");
    let text = stdout(&output);
    for part in [
        "G1, JVM 1.8.0_151-b12",
        "Young (initial-mark)",
        "2.0G -> 1.2G",
        "-XX:G1ReservePercent",
        "-XX:G1HeapRegionSize",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(stderr(&output), "");
}

#[test]
fn facts_fit_a_terminal_of_80_columns() {
    let scene = Scene::new();
    let log = sample("unified-g1.log");
    let mut terminal = Terminal::start(&scene, &["gc", &log], (80, 40));
    terminal.wait_for("Findings", 1);
    assert!(terminal.end().success());
    let head = terminal.shown.split("Pauses\u{1b}").next().expect("a head");
    let lines: Vec<&str> = head.lines().map(str::trim_end).collect();
    assert!(
        lines.iter().any(|line| line.starts_with("Stops")),
        "{lines:?}"
    );
    for line in lines {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn damage_is_reported_and_other_files_are_refused() {
    let scene = Scene::new();
    let log = fs::read_to_string(sample("unified-g1.log")).expect("a sample");
    let cut = &log[..log.rfind("Pause").expect("a pause") + 9];
    fs::write(scene.path("gc.log"), format!("hello\n{cut}")).expect("a file");
    let output = run(&mut scene.hprof_rs(&["gc", "gc.log"]), "");
    assert!(output.status.success());
    let said = stderr(&output);
    assert!(said.contains("not understood, first: hello"), "{said}");
    assert!(
        said.contains("The log ends within a line or a collection."),
        "{said}"
    );
    fs::write(scene.path("other.txt"), "no log\n").expect("a file");
    let output = run(&mut scene.hprof_rs(&["gc", "other.txt"]), "");
    assert!(!output.status.success());
    assert!(stderr(&output).contains("-Xlog:gc*"), "{}", stderr(&output));
    // Those of other commands are named.
    let threads = "../thread-dumps/tests/data/jdk8-in-log.txt";
    let threads = format!("{}/{threads}", env!("CARGO_MANIFEST_DIR"));
    for (command, file, words) in [
        (
            "gc",
            threads,
            "it is a thread dump (jstack): `hprof-rs stacks FILE`",
        ),
        (
            "stacks",
            sample("unified-g1.log"),
            "it is a log of the garbage collector: `hprof-rs gc FILE`",
        ),
    ] {
        let output = run(&mut scene.hprof_rs(&[command, &file]), "");
        assert!(!output.status.success());
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}

#[test]
fn rotated_and_compressed_files_are_one_log() {
    let scene = Scene::new();
    let log = fs::read_to_string(sample("unified-g1.log")).expect("a sample");
    let whole = scene.path("whole.log");
    fs::write(&whole, &log).expect("a file");
    let middle = log[log.len() / 2..].find('\n').expect("a line") + log.len() / 2 + 1;
    let file = fs::File::create(scene.path("gc.log.0")).expect("a file");
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    packed
        .write_all(&log.as_bytes()[..middle])
        .expect("written");
    packed.finish().expect("written");
    let rotated = scene.path("gc.log");
    fs::write(&rotated, &log[middle..]).expect("a file");
    let (mut one, mut other) = (self::log(&scene, &whole), self::log(&scene, &rotated));
    assert_eq!(other["files"], 2);
    assert_eq!(
        other["notes"][0],
        "These files were read as one log: gc.log.0, gc.log."
    );
    for name in ["file", "files", "parts", "notes"] {
        one[name] = Value::Null;
        other[name] = Value::Null;
    }
    assert_eq!(one, other);
}

/// JDK 8 writes `gc.log.0` and on, and no `gc.log`; people give one of them, all, the folder, or an archive.
#[test]
fn files_of_a_rotated_log_are_one_however_they_are_given() {
    let scene = Scene::new();
    let text = fs::read_to_string(sample("jdk8-histograms.log")).expect("a sample");
    let second = text.find("2021-10-07T10:05:34").expect("a line");
    let third = text.rfind("2021-10-07T10:05:40").expect("a line");
    fs::create_dir(scene.path("logs")).expect("a folder");
    let head = "OpenJDK 64-Bit Server VM (25.392-b08) for linux-amd64 JRE (1.8.0_392-b08), built on Oct 18 2023\n";
    for (name, part) in [
        ("gc.log.1", &text[..second]),
        ("gc.log.2", &text[second..third]),
        ("gc.log.0.current", &text[third..]),
    ] {
        let path = scene.path("logs").join(name);
        fs::write(path, format!("{head}{part}")).expect("a file");
    }
    fs::write(scene.path("logs").join("README"), "hello\n").expect("a file");
    let tar = Command::new("tar")
        .args(["czf", "logs.tar.gz", "logs"])
        .current_dir(scene.path("."))
        .status()
        .expect("tar");
    assert!(tar.success());
    let all = ["logs/gc.log.0.current", "logs/gc.log.1", "logs/gc.log.2"];
    let read = |arguments: &[&str]| {
        let arguments = [&["gc", "--json"], arguments].concat();
        let output = run(&mut scene.hprof_rs(&arguments), "");
        assert!(output.status.success(), "{}", stderr(&output));
        let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        (json["logs"][0].clone(), stderr(&output))
    };
    for given in [
        &all[..],
        &["logs/gc.log.2"],
        &["logs/gc.log"],
        &["logs"],
        &["logs.tar.gz"],
    ] {
        let (log, said) = read(given);
        assert_eq!(log["pauses"]["count"], 3, "{given:?}");
        assert_eq!(log["duration_ms"], 10_020.0, "{given:?}");
        assert_eq!(log["files"], 3, "{given:?}");
        assert_eq!(log["lines"]["restarts"], 0, "{given:?}");
        let names = log["parts"].as_array().expect("parts").iter();
        let names = names.map(|name| name.as_str().expect("a name").trim_start_matches("logs/"));
        let names: Vec<&str> = names.collect();
        assert_eq!(
            names,
            ["gc.log.1", "gc.log.2", "gc.log.0.current"],
            "{given:?}"
        );
        assert!(
            said.contains("These files were read as one log: "),
            "{said}"
        );
    }
    let (alone, said) = read(&["--alone", "logs/gc.log.2"]);
    assert_eq!(alone["files"], 1);
    assert_eq!(alone["pauses"]["count"], 1);
    assert!(!said.contains("as one log"), "{said}");
    // Files of several logs are none.
    fs::copy(scene.path(all[1]), scene.path("logs").join("b.log")).expect("a copy");
    for (given, words) in [
        (&["logs"][..], "give one of b.log, gc.log"),
        (&[all[0], all[1], "logs/b.log"], "files of several logs"),
    ] {
        let output = run(&mut scene.hprof_rs(&[&["gc"], given].concat()), "");
        assert!(!output.status.success());
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}

#[test]
fn figures_in_doubt_are_said_in_text_json_and_page() {
    let scene = Scene::new();
    let line =
        |at: &str| format!("{at}: [GC (Allocation Failure) 34M->10M(124M), 0.0100000 secs]\n");
    let log: String = ["720.0", "7.300", "725.0", "27722.0", "726.0", "100000.0"]
        .map(line)
        .concat();
    fs::write(scene.path("gc.log"), log).expect("a file");
    let json = self::log(&scene, &scene.path("gc.log"));
    let findings = json["findings"].as_array().expect("findings");
    let ids: Vec<&str> = findings
        .iter()
        .map(|it| it["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["times-do-not-fit", "long-gap"]);
    let output = run(&mut scene.hprof_rs(&["gc", "gc.log", "-o", "gc.html"]), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let page = fs::read_to_string(scene.path("gc.html")).expect("a page");
    let text = stdout(&run(&mut scene.hprof_rs(&["gc", "gc.log"]), ""));
    for shown in [&page, &text] {
        assert!(
            shown.contains("2 lines have a time that does not fit those around"),
            "{text}"
        );
    }
    assert!(text.contains("over 99.99% of it without a pause"), "{text}");
}

#[test]
fn laptops_and_phones_show_the_page_in_light_and_dark() {
    let Some(browser) = Browser::open(1280, 800) else {
        return;
    };
    let scene = Scene::new();
    let (before, after) = (sample("unified-g1.log"), sample("jdk8-g1.log"));
    let recording = sample("../../../foreign/tests/data/jdk25-gc.jfr.gz");
    for (name, arguments) in [
        ("one", &[&*before][..]),
        ("two", &[&before, &after]),
        ("recording", &[&recording]),
    ] {
        let page = format!("{name}.html");
        let arguments = [&["gc", "-o", &page][..], arguments].concat();
        let output = run(&mut scene.hprof_rs(&arguments), "");
        assert!(output.status.success(), "{}", stderr(&output));
        for scheme in ["light", "dark"] {
            browser.scheme(scheme);
            for (device, width, height, is_phone) in
                [("laptop", 1280, 800, false), ("phone", 390, 844, true)]
            {
                browser.metrics(width, height, is_phone);
                browser.go(&scene.path(&page), &format!("?{device}-{scheme}"));
                let wide = browser.value("document.documentElement.scrollWidth");
                assert!(wide.as_u64() <= Some(u64::from(width)), "{wide}");
                let bars = browser.value("document.querySelectorAll('.chart rect').length");
                assert!(bars.as_u64() > Some(0), "{bars}");
                let parts: &[&str] = match name {
                    "two" => &["comparison"],
                    _ => &["summary", "timeline", "pauses"],
                };
                for part in parts {
                    browser.value(&format!(
                        "document.getElementById('{part}').scrollIntoView()"
                    ));
                    browser.screenshot(&format!("gc-{name}-{part}-{device}-{scheme}.png"));
                }
                assert_eq!(browser.inaccessible(), [] as [String; 0]);
                assert_eq!(browser.complaints(), [] as [String; 0]);
            }
        }
    }
}

/// A pause of as many milliseconds in each second from the first to the ninth.
fn seconds_of_pauses(decorations: impl Fn(u32) -> String) -> String {
    let line = |second: u32| {
        format!(
            "{}[info][gc] GC({second}) Pause Young (Normal) (G1 Evacuation Pause) 30M->10M(124M) {second}.000ms\n",
            decorations(second)
        )
    };
    (1..=9).map(line).collect()
}

#[test]
fn a_part_of_the_time_of_a_log_is_shown_alone() {
    let scene = Scene::new();
    let dates = seconds_of_pauses(|second| format!("[2026-11-29T14:03:0{second}.500+0000]"));
    let uptimes = seconds_of_pauses(|second| format!("[{second}.500s]"));
    let gc = |log: &str, arguments: &[&str]| {
        let path = scene.path("part.log");
        fs::write(&path, log).expect("a log");
        let path = path.to_str().expect("a path in UTF-8");
        let arguments = [&["gc", "--json", path][..], arguments].concat();
        run(&mut scene.hprof_rs(&arguments), "")
    };
    for (log, arguments, count, left_out) in [
        (
            &dates,
            &["--from", "14:03:03Z", "--to", "14:03:06Z"][..],
            3,
            6,
        ),
        (&dates, &["--from=+2s", "--to=-2s"], 5, 4),
        (&uptimes, &["--from", "+2s"], 7, 2),
        (&uptimes, &[], 9, 0),
    ] {
        let output = gc(log, arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        let log = &json["logs"][0];
        assert_eq!(log["pauses"]["count"], count, "{arguments:?}");
        assert_eq!(log["lines"]["left_out"], left_out, "{arguments:?}");
        let said = format!("{left_out} of 9 lines outside of it are in no figure");
        assert_eq!(
            stderr(&output).contains(&said),
            left_out > 0,
            "{}",
            stderr(&output)
        );
    }
    for (log, arguments, said) in [
        (
            &uptimes,
            &["--from", "14:03:03Z"][..],
            "and no dates: choose a part by distances such as --from +30s",
        ),
        (
            &dates,
            &["--from", "14:05:00Z"],
            "nothing was recorded between",
        ),
        (
            &dates,
            &["--from=+100ms", "--to=+200ms"],
            "no collection is in this part of the log",
        ),
        (
            &seconds_of_pauses(|_| String::new()),
            &["--from", "+1s"],
            "the lines have no time",
        ),
    ] {
        let output = gc(log, arguments);
        assert!(
            !output.status.success() && stderr(&output).contains(said),
            "{}",
            stderr(&output)
        );
    }
    let output = run(&mut scene.hprof_rs(&["gc", "-", "--from", "+1s"]), &dates);
    assert!(
        stderr(&output).contains("standard input, which is read once"),
        "{}",
        stderr(&output)
    );
}
