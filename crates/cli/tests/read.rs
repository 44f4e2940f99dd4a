//! The commands that read files.

mod support;

use std::fs;
use std::io::Read;
use std::process::Output;

use support::{Scene, data, run, start, stderr, stdout};

fn read(arguments: &[&str]) -> Output {
    run(&mut Scene::new().hprof_rs(arguments), "")
}

fn text(arguments: &[&str]) -> String {
    let output = read(arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    stdout(&output)
}

fn json(arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&text(arguments)).expect("JSON")
}

#[test]
fn a_summary_fits_a_screen() {
    for file in [
        "hprof-32.bin",
        "heap-sites-b.hprof",
        "cpu-samples.txt",
        "cpu-times-thread.txt",
        "monitor.txt",
    ] {
        let summary = text(&["summary", &data(file)]);
        assert!(summary.lines().count() <= 30, "{summary}");
        assert!(!summary.contains('\x1b'), "colours in a pipe: {summary}");
        assert!(summary.contains("HPROF"), "{summary}");
    }
    let summary = json(&["summary", "--json", &data("hprof-32.bin")]);
    assert!(summary["dumps"][0]["objects"].as_u64() > Some(1000));
    assert_eq!(summary["damage"]["count"], 0);
}

#[test]
fn a_summary_with_rows_is_histogram_and_top_in_one() {
    let file = data("hprof-32.bin");
    let summary = json(&["summary", "--json", "--top", "7", &file]);
    let histogram = json(&["histogram", "--json", "--top", "7", &file]);
    let top = json(&["top", "--json", "--top", "7", &file]);
    let dump = &summary["dumps"][0];
    assert_eq!(dump["histogram"], histogram["histogram"]["rows"]);
    assert_eq!(dump["largest_arrays"], top["arrays"]);
    let shown = text(&["summary", "--top", "7", &file]);
    let arrays = text(&["top", "--top", "7", &file]);
    assert!(shown.contains(&arrays), "{shown}\n{arrays}");
}

#[test]
fn a_heap_dump_in_text_has_a_histogram() {
    let file = data("heap-dump-excerpt.txt");
    let found = json(&["histogram", "--json", "--top", "0", &file]);
    let rows = found["histogram"]["rows"].as_array().unwrap();
    // As many objects as there are lines of them.
    let text = std::fs::read_to_string(&file).unwrap();
    let is_object = |line: &&str| line.starts_with("OBJ ") || line.starts_with("ARR ");
    let lines = text.lines().filter(is_object).count() as u64;
    let sum: u64 = rows
        .iter()
        .map(|row| row["objects"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, lines);
    assert_eq!(found["histogram"]["layout_source"], "stated");
    let threads = rows
        .iter()
        .find(|row| row["name"] == "java.lang.Thread")
        .unwrap();
    let each = threads["shallow_bytes"].as_u64().unwrap() / threads["objects"].as_u64().unwrap();
    assert_eq!(each, 368);
    let summary = self::text(&["summary", &file]);
    assert!(summary.contains("Heap dump in text"), "{summary}");
    assert!(summary.contains("java.lang.Thread"), "{summary}");
}

#[test]
fn a_histogram_adds_up() {
    let all = json(&["histogram", "--json", "--top", "0", &data("hprof-32.bin")]);
    let total = &all["histogram"]["total"];
    for key in ["objects", "shallow_bytes", "value_bytes"] {
        let rows = all["histogram"]["rows"].as_array().unwrap();
        let sum: u64 = rows.iter().map(|row| row[key].as_u64().unwrap()).sum();
        assert_eq!(Some(sum), total[key].as_u64(), "{key}");
    }
    let few = text(&["histogram", "--top", "3", &data("hprof-32.bin")]);
    assert!(few.contains("more (--top 0 for all)"), "{few}");
    let filtered = text(&[
        "histogram",
        "--filter",
        "java.util.HashMap",
        &data("hprof-32.bin"),
    ]);
    assert!(!filtered.contains("java.lang.String"), "{filtered}");
    let other = read(&["histogram", "--dump", "7", &data("hprof-32.bin")]);
    assert_eq!(other.status.code(), Some(1));
    assert!(stderr(&other).contains("holds 1 heap dump, not 7"));
}

/// Two threads were in one place, and two virtual threads have no names.
#[test]
fn equal_stacks_of_threads_are_one_row() {
    let scene = Scene::new();
    let start = |id: u32, name: &str| {
        format!("THREAD START (obj=5000{id}, id = {id}, name=\"{name}\", group=\"main\")\n")
    };
    let trace = |serial: u32, thread: u32, line: u32| {
        format!("TRACE {serial}: (thread={thread})\n\tApp.work(App.java:{line})\n")
    };
    let profile = [
        "JAVA PROFILE 1.0.1, created Fri Nov 20 10:34:10 2026\n\n--------\n\n",
        &start(200_001, "main"),
        &start(200_002, ""),
        &start(200_003, ""),
        &trace(300_001, 200_001, 7),
        &trace(300_002, 200_002, 9),
        &trace(300_003, 200_003, 9),
        "CPU SAMPLES BEGIN (total = 10) Fri Nov 20 10:34:12 2026\n\
         rank   self  accum   count trace method\n\
         \u{20}  1 40.00% 40.00%       4 300001 App.work\n\
         \u{20}  2 30.00% 70.00%       3 300002 App.work\n\
         \u{20}  3 30.00% 100.00%       3 300003 App.work\n\
         CPU SAMPLES END\n",
    ];
    std::fs::write(scene.path("p.txt"), profile.concat()).expect("a file");
    let shown = |arguments: &[&str]| {
        let output = run(
            &mut scene.hprof_rs(&[&["samples", "p.txt"], arguments].concat()),
            "",
        );
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let traces = shown(&["--by", "trace"]);
    assert!(
        traces.contains("6 samples (60.0%), 2 traces from 300002 on\n"),
        "{traces}"
    );
    assert_eq!(
        traces.matches("    App.work (App.java:9)\n").count(),
        1,
        "{traces}"
    );
    let threads = shown(&["--by", "thread"]);
    assert!(threads.contains("(2 threads without a name"), "{threads}");
    let json: serde_json::Value =
        serde_json::from_str(&shown(&["--by", "trace", "--json"])).expect("JSON");
    assert_eq!(json["rows"][0]["cost"], 6);
    assert_eq!(
        json["rows"][0]["traces"],
        serde_json::json!([300_002, 300_003])
    );
}

#[test]
fn samples_are_summed_up_in_every_way() {
    let file = data("cpu-samples.txt");
    let methods = json(&["samples", "--json", "--top", "0", &file]);
    let rows = methods["rows"].as_array().unwrap();
    let own: u64 = rows.iter().map(|row| row["self"].as_u64().unwrap()).sum();
    assert_eq!(Some(own), methods["total"].as_u64());
    for by in ["method", "trace", "tree"] {
        let shown = text(&["samples", "--by", by, &file]);
        assert!(shown.contains("Spin.hot"), "{by}: {shown}");
    }
    let threads = text(&["samples", "--by", "thread", &data("cpu-samples-thread.txt")]);
    assert!(threads.contains("spinner"), "{threads}");
    let other = read(&["samples", "--measure", "live-bytes", &file]);
    assert!(
        stderr(&other).contains("it has: samples"),
        "{}",
        stderr(&other)
    );
}

#[test]
fn sites_and_threads_are_shown() {
    let sites = text(&["sites", "--stacks", &data("heap-sites-b.hprof")]);
    assert!(
        sites.contains("int[]") && sites.contains("Alloc.main"),
        "{sites}"
    );
    let threads = text(&["threads", &data("hprof-32.bin")]);
    assert!(threads.contains("\"main\""), "{threads}");
}

#[test]
fn records_are_listed_from_a_pipe_too() {
    let file = data("cpu-samples-b.hprof");
    let listed = text(&["records", &file]);
    assert!(
        listed
            .lines()
            .any(|line| line.contains("CPU_SAMPLES") && line.contains("total="))
    );
    let scene = Scene::new();
    let mut command = scene.hprof_rs(&["records", "-"]);
    command.stdin(fs::File::open(&file).unwrap());
    assert_eq!(stdout(&command.output().unwrap()), listed);
    let only = text(&["records", "--only", "0x05", "--top", "2", &file]);
    assert_eq!(
        only.lines().filter(|line| line.contains(" TRACE ")).count(),
        2
    );
}

#[test]
fn check_tells_by_its_status() {
    assert_eq!(
        read(&["check", &data("hprof-32.bin")]).status.code(),
        Some(0)
    );
    let scene = Scene::new();
    let whole = fs::read(data("hprof-32.bin")).unwrap();
    fs::write(scene.path("cut"), &whole[..whole.len() - 1]).unwrap();
    fs::write(scene.path("other"), "nothing of the kind").unwrap();
    let cut = run(&mut scene.hprof_rs(&["check", "cut"]), "");
    assert_eq!(cut.status.code(), Some(1));
    assert!(
        stdout(&cut).contains("damaged in 1 place"),
        "{}",
        stdout(&cut)
    );
    let other = run(&mut scene.hprof_rs(&["check", "other"]), "");
    assert_eq!(other.status.code(), Some(2));
    assert!(
        stderr(&other).contains("not an HPROF file"),
        "{}",
        stderr(&other)
    );
}

#[test]
fn a_diff_of_a_file_with_itself_is_empty() {
    let file = data("hprof-32.bin");
    assert_eq!(text(&["diff", &file, &file]), "No difference.\n");
    let profile = data("cpu-samples.txt");
    let other = data("cpu-samples-thread.txt");
    let changes = text(&["diff", &profile, &other]);
    assert!(changes.contains("Spin.hot"), "{changes}");
    let output = read(&["diff", &file, &profile]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    // The lambda's class has another address in each file, and yet is the same.
    assert!(!changes.contains("0x"), "{changes}");
}

#[test]
fn a_diff_draws_and_fails_when_asked() {
    let scene = Scene::new();
    let (before, after) = (data("cpu-samples.txt"), data("cpu-samples-thread.txt"));
    for name in ["diff.html", "diff.svg"] {
        let arguments = ["diff", "--normalize", "--flamegraph", name, &before, &after];
        let output = run(&mut scene.hprof_rs(&arguments), "");
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(scene.profile(name).contains("Spin.hot"), "{name}");
    }
    let page = scene.profile("diff.html");
    assert!(page.contains("\"title\":\"After: ") && page.contains("\"title\":\"Before: "));
    let output = run(
        &mut scene.hprof_rs(&["diff", "--flamegraph", "diff.png", &before, &after]),
        "",
    );
    assert_eq!(output.status.code(), Some(2));
    let status = |options: &[&str]| {
        let mut arguments = vec!["diff"];
        arguments.extend(options);
        arguments.extend([after.as_str(), &before]);
        run(&mut scene.hprof_rs(&arguments), "").status.code()
    };
    assert_eq!(status(&["--fail-above", "1000000"]), Some(0));
    assert_eq!(status(&["--fail-row-above", "0"]), Some(1));
    assert_eq!(
        status(&["--fail-row-above", "0", "--least", "1000000"]),
        Some(0)
    );
}

#[test]
fn calls_of_cpu_old_are_shown() {
    let file = data("cpu-old-excerpt.txt");
    let methods = text(&["samples", &file]);
    assert!(methods.contains("Counts.fib(int)\n"), "{methods}");
    let pairs = json(&["samples", "--json", "--by", "trace", "--top", "0", &file]);
    let rows = pairs["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["caller"].is_string()));
    let calls: u64 = rows.iter().map(|row| row["calls"].as_u64().unwrap()).sum();
    let by_method = json(&["samples", "--json", "--top", "0", &file]);
    let by_method = by_method["rows"].as_array().unwrap();
    let sum: u64 = by_method
        .iter()
        .map(|row| row["calls"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, calls);
}

#[test]
fn a_reader_may_go_away() {
    let scene = Scene::new();
    let mut command = scene.hprof_rs(&["records", "--sub", &data("hprof-32.bin")]);
    let mut child = start(&mut command, "");
    let mut some = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_strict_reading_fails_at_the_first_damage() {
    let scene = Scene::new();
    let mut bytes = fs::read(data("hprof-32.bin")).unwrap();
    fs::write(scene.path("whole"), &bytes).unwrap();
    // The tag of the first string.
    bytes[46] = 0x40;
    fs::write(scene.path("damaged"), &bytes).unwrap();
    for command in ["summary", "histogram", "top", "threads", "records", "check"] {
        let whole = run(&mut scene.hprof_rs(&[command, "--strict", "whole"]), "");
        assert!(whole.status.success(), "{command}: {}", stderr(&whole));
        let output = run(&mut scene.hprof_rs(&[command, "--strict", "damaged"]), "");
        assert_eq!(output.status.code(), Some(1), "{command}");
        let error = stderr(&output);
        assert!(error.contains("at byte 46: "), "{command}: {error}");
        let lenient = run(&mut scene.hprof_rs(&[command, "damaged"]), "");
        assert!(!stdout(&lenient).is_empty(), "{command}");
    }
}
