//! Files with more or fewer measures than the format that they are converted to.

use serde_json::json;

use super::*;

/// A file of speedscope with measures of one method, by title.
fn made(scene: &Scene, measures: &[(&str, u64)]) -> String {
    let profiles: Vec<Value> = (measures.iter())
        .map(|(title, cost)| {
            let stack = match title.contains("bytes") || title.contains("contention") {
                true => vec![0, 1],
                false => vec![0],
            };
            json!({"type": "sampled", "name": format!("{title} of x"), "unit": "none",
                "startValue": 0, "endValue": cost, "samples": [stack], "weights": [cost]})
        })
        .collect();
    let file = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": "a.B.work"}, {"name": "byte[]", "file": "<class>"}]},
        "profiles": profiles,
    });
    let path = scene.path("made.speedscope.json");
    fs::write(&path, file.to_string()).expect("a file");
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// Runs a command that succeeds; its standard output and standard error.
fn told(scene: &Scene, arguments: &[&str]) -> (String, String) {
    let output = run(&mut scene.hprof_rs(arguments), "");
    assert!(output.status.success(), "{}", stderr(&output));
    (stdout(&output), stderr(&output))
}

/// The measures of a file with their totals.
fn totals(scene: &Scene, file: &str) -> Value {
    let summary = told(scene, &["summary", "--json", file]).0;
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let profiles = summary["profiles"].as_array().expect("profiles").iter();
    let pairs = profiles.map(|it| {
        (
            it["measure"].as_str().unwrap().to_owned(),
            it["total"].clone(),
        )
    });
    pairs.collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn classes_stay_classes_in_files_for_other_tools() {
    for (file, measure) in [
        ("heap-sites-thread.txt", "allocated-bytes"),
        ("heap-sites-thread.txt", "live-objects"),
        ("monitor-time.txt", "contention"),
    ] {
        for name in ["p.pb.gz", "p.speedscope.json", "p.firefox.json", "p.jfr"] {
            if name == "p.jfr" && measure == "live-objects" {
                continue;
            }
            let scene = Scene::new();
            let original = data(file);
            told(&scene, &["convert", &original, "-o", name]);
            let compare = ["diff", "--measure", measure, &original, name];
            let (differences, remarks) = told(&scene, &compare);
            assert_eq!(differences, "No difference.\n", "{file} as {name}");
            assert_eq!(remarks, "", "{file} as {name}");
        }
    }
}

#[test]
fn samples_and_milliseconds_are_not_added_up_in_binary_hprof() {
    let scene = Scene::new();
    let file = made(&scene, &[("CPU samples", 18), ("CPU time", 80)]);
    let (_, said) = told(&scene, &["convert", &file, "-o", "both.hprof"]);
    assert!(said.contains("left out: CPU milliseconds"), "{said}");
    assert_eq!(totals(&scene, "both.hprof"), json!({"samples": 18}));
    let time = ["convert", "--event", "time", &file, "-o", "time.hprof"];
    let (_, said) = told(&scene, &time);
    assert!(!said.contains("left out"), "{said}");
    assert_eq!(totals(&scene, "time.hprof"), json!({"time": 80}));
    // Text has a table of each.
    let (_, said) = told(&scene, &["convert", &file, "-o", "both.txt"]);
    assert!(
        said.contains("left out: the numbers of calls, which the file lacks"),
        "{said}"
    );
    let both = totals(&scene, "both.txt");
    assert_eq!((&both["samples"], &both["time"]), (&json!(18), &json!(80)));
}

#[test]
fn hprof_of_one_measure_has_its_table_alone() {
    let scene = Scene::new();
    let measures = [
        ("CPU samples", 18),
        ("Allocated bytes", 4096),
        ("Monitor contention", 7),
    ];
    let file = made(&scene, &measures);
    let alloc = ["convert", "--event", "alloc", &file, "-o", "alloc.txt"];
    told(&scene, &alloc);
    let text = scene.profile("alloc.txt");
    assert!(
        text.contains("SITES BEGIN") && !text.contains("CPU SAMPLES BEGIN"),
        "{text}"
    );
    assert!(!text.contains("MONITOR TIME BEGIN"), "{text}");
    let lock = ["convert", "--event", "lock", &file, "-o", "lock.txt"];
    let (_, said) = told(&scene, &lock);
    assert!(
        said.contains("left out: the numbers of waits, which the file lacks"),
        "{said}"
    );
    assert_eq!(totals(&scene, "lock.txt"), json!({"contention": 7}));
    let lock = ["convert", "--event", "lock", &file, "-o", "lock.hprof"];
    let output = run(&mut scene.hprof_rs(&lock), "");
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("binary format has no place for contention"),
        "{said}"
    );
    assert!(!scene.path("lock.hprof").exists());
}

#[test]
fn sites_of_more_than_four_gigabytes_are_told_of_in_binary_hprof() {
    let scene = Scene::new();
    for (bytes, is_told) in [(u64::from(u32::MAX), false), (1 << 32, true)] {
        let file = made(&scene, &[("Allocated bytes", bytes)]);
        let (_, said) = told(&scene, &["convert", &file, "-o", "large.hprof"]);
        assert_eq!(
            said.contains("of 1 site what is above 4,294,967,295"),
            is_told,
            "{said}"
        );
        let (_, said) = told(&scene, &["convert", &file, "-o", "large.txt"]);
        assert!(!said.contains("4,294,967,295"), "{said}");
    }
}

#[test]
fn sites_do_not_call_all_dead_where_the_file_does_not_tell() {
    let scene = Scene::new();
    let file = made(&scene, &[("CPU time", 80), ("Allocated bytes", 4096)]);
    let (text, _) = told(&scene, &["sites", &file]);
    assert!(
        text.starts_with("Allocation sites: 4.1 kB allocated; the file has no live figures\n"),
        "{text}"
    );
    let row = text.lines().nth(2).expect("a row").split_whitespace();
    let row: Vec<&str> = row.take(6).collect();
    assert_eq!(row, ["100.0%", "-", "-", "4,096", "-", "byte[]"]);
    let (rows, _) = told(&scene, &["sites", "--json", &file]);
    let rows: Value = serde_json::from_str(&rows).expect("JSON");
    assert_eq!(rows["sites"][0]["live_bytes"], Value::Null);
    // The methods that allocate are shown, as those of no other measure stand for them.
    let (text, _) = told(&scene, &["summary", &file]);
    let own = text.split_once("\n\nAllocated bytes: 4,096 bytes\n");
    assert!(
        own.is_some_and(|(_, rows)| rows.contains("a.B.work")),
        "{text}"
    );
    let (_, said) = told(&scene, &["convert", &file, "-o", "made.txt"]);
    assert!(
        said.contains("left out: live objects, which the file lacks"),
        "{said}"
    );
    // Of one table the lines stand together.
    let (text, _) = told(&scene, &["summary", "made.txt"]);
    let lines = "\n\nLive bytes: 0 bytes\nLive objects: 0 objects\nAllocated bytes: 4,096 bytes\n";
    assert!(text.contains(lines), "{text}");
}

#[test]
fn a_recording_of_cpu_time_says_that_milliseconds_are_samples() {
    let scene = Scene::new();
    let file = made(&scene, &[("CPU time", 80)]);
    let (_, said) = told(&scene, &["convert", &file, "-o", "made.jfr"]);
    assert!(
        said.contains("CPU time is written as a sample for each millisecond"),
        "{said}"
    );
    assert_eq!(totals(&scene, "made.jfr"), json!({"samples": 80}));
}
