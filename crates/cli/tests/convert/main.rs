//! `convert`: every output is read back by something that knows its format.

mod formats;
mod measures;
mod otlp;
#[path = "../support/otlp.rs"]
mod otlp_messages;
#[path = "../support/mod.rs"]
mod support;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use flate2::read::GzDecoder;
use prost::Message;
use serde_json::Value;
use support::{Scene, data, run, stderr, stdout};

/// Converts a file of the test data, and gives what was made.
fn convert(file: &str, name: &str, more: &[&str]) -> Vec<u8> {
    let scene = Scene::new();
    let file = data(file);
    let mut arguments = vec!["convert", &file, "-o", name];
    arguments.extend(more);
    let output = run(&mut scene.hprof_rs(&arguments), "");
    assert!(output.status.success(), "{}", stderr(&output));
    fs::read(scene.path(name)).expect("the output")
}

fn text(file: &str, name: &str, more: &[&str]) -> String {
    String::from_utf8(convert(file, name, more)).expect("UTF-8")
}

fn samples(file: &str, measure: &str) -> u64 {
    let output = run(
        &mut Scene::new().hprof_rs(&["samples", "--json", "--measure", measure, &data(file)]),
        "",
    );
    let value: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    value["total"].as_u64().expect("a total")
}

const PROFILES: [&str; 6] = [
    "cpu-samples.txt",
    "cpu-samples-thread.txt",
    "cpu-samples-b.hprof",
    "cpu-times-thread.txt",
    "heap-sites-thread.txt",
    "monitor-time.txt",
];

#[test]
fn collapsed_stacks_hold_all_costs() {
    for file in PROFILES {
        let measure = first_measure(file);
        let lines = text(file, "p.collapsed", &[]);
        let sum: u64 = lines
            .lines()
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap())
            .sum();
        assert_eq!(sum, samples(file, measure), "{file}");
    }
}

fn first_measure(file: &str) -> &'static str {
    match file {
        "cpu-times-thread.txt" => "time",
        "heap-sites-thread.txt" => "live-bytes",
        "monitor-time.txt" => "contention",
        _ => "samples",
    }
}

#[test]
fn pictures_and_pages_need_nothing_else() {
    for file in PROFILES {
        for name in ["p.svg", "p.html"] {
            let made = text(file, name, &[]);
            for link in [
                " src=",
                "href=\"http",
                "href=&quot;http",
                "url(http",
                "@import",
                "fetch(",
            ] {
                assert!(!made.contains(link), "{file} as {name} has {link}");
            }
            assert!(made.contains("color-scheme"), "no dark colours");
        }
    }
    let page = text("heap-sites-thread.txt", "p.html", &[]);
    assert_eq!(page.matches("\"unit\":").count(), 4, "live and allocated");
    assert!(!page.contains("<iframe"), "one document");
    let one = text(
        "heap-sites-thread.txt",
        "p.html",
        &["--measure", "allocated-objects"],
    );
    assert_eq!(one.matches("\"unit\":").count(), 1);
    let titled = text(
        "cpu-samples.txt",
        "p.svg",
        &["--title", "a < b", "--icicle"],
    );
    assert!(titled.contains("a &lt; b"));
}

#[test]
fn a_dash_is_standard_output_and_no_file() {
    let scene = Scene::new();
    let to_file = data("cpu-samples.txt");
    let named = run(
        &mut scene.hprof_rs(&["convert", "--to", "json", "-o", "-", &to_file]),
        "",
    );
    assert!(named.status.success(), "{}", stderr(&named));
    let unnamed = run(
        &mut scene.hprof_rs(&["convert", "--to", "json", &to_file]),
        "",
    );
    assert_eq!(stdout(&named), stdout(&unnamed));
    assert!(!scene.path("-").exists());
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = scene.hprof_rs(&["summary", &to_file]);
    let full = command.stdout(full).output().unwrap();
    assert_eq!(full.status.code(), Some(1));
    assert!(
        stderr(&full).contains("cannot write to standard output"),
        "{}",
        stderr(&full)
    );
}

#[test]
fn heap_dumps_become_pictures_and_tables() {
    let page = text("hprof-32.bin", "heap.html", &[]);
    assert!(page.contains("Heap by package and class") && page.contains("java.lang.String"));
    // The file has allocation sites too.
    assert!(page.contains("Allocated bytes"));
    let lines = text("hprof-32.bin", "heap.collapsed", &["--heap"]);
    assert!(lines.contains("java;lang;java.lang.String "), "{lines}");
    let made = convert("hprof-32.bin", "heap.csv", &["--heap"]);
    let mut table = csv::Reader::from_reader(&made[..]);
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert!(rows.iter().any(|row| &row[0] == "java.lang.String"));
    let scene = Scene::new();
    let output = run(
        &mut scene.hprof_rs(&[
            "convert",
            "--heap",
            &data("hprof-32.bin"),
            "-o",
            "heap.pprof",
        ]),
        "",
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("its heap dump can become"),
        "{}",
        stderr(&output)
    );
}

fn lines_of(file: &str) -> std::io::Cursor<Vec<u8>> {
    std::io::Cursor::new(convert(file, "p.csv", &[]))
}

#[test]
fn csv_has_a_column_for_each_measure() {
    let mut table = csv::Reader::from_reader(lines_of("heap-sites-thread.txt"));
    let head: Vec<String> = table.headers().unwrap().iter().map(str::to_owned).collect();
    let at = |name: &str| head.iter().position(|column| column == name).unwrap();
    let sums: HashMap<&str, u64> = ["live-bytes", "allocated-objects"]
        .map(|name| (name, at(name)))
        .into_iter()
        .map(|(name, column)| {
            let mut table = csv::Reader::from_reader(lines_of("heap-sites-thread.txt"));
            let sum = table
                .records()
                .map(|row| row.unwrap()[column].parse::<u64>().unwrap())
                .sum();
            (name, sum)
        })
        .collect();
    for (name, sum) in sums {
        assert_eq!(sum, samples("heap-sites-thread.txt", name), "{name}");
    }
    let stacks = table
        .records()
        .map(|row| row.unwrap()[at("stack")].to_owned());
    assert!(
        stacks
            .into_iter()
            .any(|stack| stack.ends_with("Alloc.main"))
    );
}

#[test]
fn json_holds_traces_and_tables() {
    let value: Value = serde_json::from_str(&text("cpu-times-thread.txt", "p.json", &[])).unwrap();
    let rows = value["cpu"][0]["rows"].as_array().unwrap();
    let traces = value["traces"].as_array().unwrap();
    let serials: Vec<&Value> = traces.iter().map(|trace| &trace["serial"]).collect();
    assert!(rows.iter().all(|row| serials.contains(&&row["trace"])));
    assert!(rows.iter().all(|row| row["calls"].is_u64()));
    assert!(
        traces
            .iter()
            .any(|trace| !trace["frames"].as_array().unwrap().is_empty())
    );
}

/// All that a profile counts, by measure, with the stacks.
fn content(scene: &Scene, file: &str) -> String {
    let output = run(&mut scene.hprof_rs(&["convert", "--to", "csv", file]), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let mut lines: Vec<&str> = Vec::new();
    let text = stdout(&output);
    lines.extend(text.lines());
    lines[1..].sort_unstable();
    lines.join("\n")
}

#[test]
fn text_becomes_binary_and_text_again() {
    for file in [
        "cpu-samples-thread.txt",
        "heap-sites-thread.txt",
        "cpu-samples-b.hprof",
    ] {
        let scene = Scene::new();
        let original = data(file);
        for (from, to) in [
            (original.as_str(), "a.hprof"),
            ("a.hprof", "b.txt"),
            ("b.txt", "c.hprof"),
        ] {
            let output = run(&mut scene.hprof_rs(&["convert", from, "-o", to]), "");
            assert!(output.status.success(), "{}", stderr(&output));
            let check = run(&mut scene.hprof_rs(&["check", to]), "");
            assert!(check.status.success(), "{}", stdout(&check));
        }
        assert!(
            scene
                .profile("b.txt")
                .starts_with("JAVA PROFILE 1.0.1, created ")
        );
        let whole = content(&scene, &original);
        for made in ["a.hprof", "b.txt", "c.hprof"] {
            assert_eq!(content(&scene, made), whole, "{file} as {made}");
        }
    }
    let scene = Scene::new();
    let monitor = data("monitor-time.txt");
    let output = run(
        &mut scene.hprof_rs(&["convert", &monitor, "-o", "m.hprof"]),
        "",
    );
    assert!(
        stderr(&output).contains("left out: monitor contention"),
        "{}",
        stderr(&output)
    );
    let output = run(
        &mut scene.hprof_rs(&["convert", &monitor, "-o", "m.txt"]),
        "",
    );
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(content(&scene, "m.txt"), content(&scene, &monitor));
}

#[test]
fn what_cannot_be_told_is_asked_for() {
    let file = data("cpu-samples.txt");
    let scene = Scene::new();
    let output = run(&mut scene.hprof_rs(&["convert", &file]), "");
    assert!(stderr(&output).contains("--to"), "{}", stderr(&output));
    let output = run(&mut scene.hprof_rs(&["convert", &file, "-o", "x.xyz"]), "");
    assert!(
        stderr(&output).contains("tells no format"),
        "{}",
        stderr(&output)
    );
    let output = run(
        &mut scene.hprof_rs(&["convert", "--measure", "live-bytes", &file, "-o", "x.svg"]),
        "",
    );
    assert!(
        stderr(&output).contains("it has: samples"),
        "{}",
        stderr(&output)
    );
    assert!(!scene.path("x.svg").exists());
}

#[test]
fn the_ending_of_a_name_that_is_no_text_tells_the_format() {
    let scene = Scene::new();
    let name = OsStr::from_bytes(b"caf\xe9.CSV");
    let mut command = scene.hprof_rs(&["convert", &data("cpu-samples.txt"), "-o"]);
    let output = run(command.arg(name), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let made = fs::read_to_string(scene.path("").join(name)).expect("the output");
    assert!(
        made.lines()
            .next()
            .is_some_and(|head| head.contains("samples,")),
        "{made}"
    );
}
