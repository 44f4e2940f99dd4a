//! `export`: the tables are read back and compared with what other commands say of the same file.

#![allow(clippy::disallowed_macros)]

mod fleet;
#[path = "../../../analysis/tests/common/made.rs"]
mod made;
mod profiles;
mod read;
#[allow(dead_code)] // Other tests use all of it.
#[path = "../../../server/tests/support/s3.rs"]
mod s3;
mod storage;
#[path = "../support/mod.rs"]
mod support;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use java_test_harness::{Run, each_jdk};
use read::{Row, files, metadata, sums, table};
use serde_json::Value;
use support::{Scene, data, run, shared, stderr, stdout};

/// Exports a file into the folder `lake` of a scene.
fn export(scene: &Scene, file: &str, arguments: &[&str]) -> PathBuf {
    let mut all = vec!["export", file, "--parquet", "lake"];
    all.extend(arguments);
    let output = run(&mut scene.hprof_rs(&all), "");
    assert!(output.status.success(), "{}", stderr(&output));
    scene.path("lake")
}

fn json_of(scene: &Scene, arguments: &[&str]) -> Value {
    let output = run(&mut scene.hprof_rs(arguments), "");
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

/// The rows of a query: the first column as the key, numbers after it.
fn query(scene: &Scene, file: &str, sql: &str) -> BTreeMap<String, Vec<i64>> {
    let answer = json_of(
        scene,
        &["query", "--no-index", "--json", "--arrays", file, sql],
    );
    let rows = answer["rows"].as_array().expect("rows").iter();
    let key = |cell: &Value| cell.as_str().unwrap_or_default().to_owned();
    let number = |cell: &Value| match cell {
        Value::String(id) => id_of(id),
        cell => cell.as_i64().unwrap_or(0),
    };
    rows.map(|row| {
        let cells = row.as_array().expect("cells");
        (key(&cells[0]), cells[1..].iter().map(number).collect())
    })
    .collect()
}

fn id_of(text: &str) -> i64 {
    let digits = text.strip_prefix("0x").expect("an identifier");
    u64::from_str_radix(digits, 16).expect("an identifier") as i64
}

/// Compares all tables of a heap dump with what `query` and `histogram` find.
fn compare(file: &str) {
    let scene = Scene::new();
    let lake = export(&scene, file, &["--no-index"]);
    let objects = table(&lake, "objects");
    let expected = query(
        &scene,
        file,
        "SELECT class, count(*), sum(size), sum(retained), sum(live) FROM objects GROUP BY class",
    );
    let mut found = sums(&objects, "class", &["shallow", "retained"]);
    for row in &objects {
        let live = i64::from(!row["depth"].is_null());
        let sums = found.get_mut(row["class"].as_str().unwrap()).unwrap();
        sums.resize(4, 0);
        sums[3] += live;
    }
    assert_eq!(found, expected, "{file}");
    compare_dominators(&scene, file, &objects);

    let references = table(&lake, "references");
    let expected = query(
        &scene,
        file,
        "SELECT kind, count(*), sum(strong) FROM references
         WHERE NOT (kind = 'class' AND name = 'class') GROUP BY kind",
    );
    assert_eq!(
        sums(&references, "kind", &["is_strong"]),
        expected,
        "{file}"
    );
    let expected = query(
        &scene,
        file,
        "SELECT source, count(*), sum(length(name)) FROM references
         WHERE kind IN ('field', 'static') GROUP BY source",
    );
    let mut found: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for row in &references {
        if row["kind"] == "field" || row["kind"] == "static" {
            let id = format!("{:#x}", row["source"].as_i64().unwrap());
            let sums = found.entry(id).or_insert_with(|| vec![0, 0]);
            sums[0] += 1;
            sums[1] += row["name"].as_str().unwrap().chars().count() as i64;
        }
    }
    assert_eq!(found, expected, "{file}");

    let expected = query(
        &scene,
        file,
        "SELECT name, count(*), sum(objects), sum(live), sum(size), sum(retained) FROM classes GROUP BY name",
    );
    let columns = ["instances", "live_instances", "shallow", "retained"];
    assert_eq!(
        sums(&table(&lake, "classes"), "name", &columns),
        expected,
        "{file}"
    );

    let histogram = json_of(&scene, &["histogram", "--json", "--top", "0", file]);
    let rows = histogram["histogram"]["rows"]
        .as_array()
        .expect("rows")
        .iter();
    let row = |row: &Value| {
        let number = |name: &str| row[name].as_i64().unwrap();
        let name = row["name"].as_str().unwrap().to_owned();
        (name, vec![1, number("objects"), number("shallow_bytes")])
    };
    let expected: BTreeMap<String, Vec<i64>> = rows.map(row).collect();
    let found = table(&lake, "histogram");
    assert_eq!(
        sums(&found, "class", &["instances", "shallow"]),
        expected,
        "{file}"
    );

    let expected = query(
        &scene,
        file,
        "SELECT kind, count(*), sum(retained) FROM roots GROUP BY kind",
    );
    assert_eq!(
        sums(&table(&lake, "roots"), "kind", &["retained"]),
        expected,
        "{file}"
    );
    let expected = query(
        &scene,
        file,
        "SELECT class, count(*), sum(retained), sum(frames), sum(locals) FROM threads GROUP BY class",
    );
    let found = sums(
        &table(&lake, "threads"),
        "class",
        &["retained", "frames", "locals"],
    );
    assert_eq!(found, expected, "{file}");

    let leaks = json_of(&scene, &["leaks", "--no-index", "--json", file]);
    let suspects = leaks["leaks"]["suspects"].as_array().expect("suspects");
    let findings = table(&lake, "findings");
    let in_table: Vec<&Value> = findings.iter().map(|row| &row["retained"]).collect();
    let expected: Vec<&Value> = suspects.iter().map(|it| &it["retained_bytes"]).collect();
    assert_eq!(in_table, expected, "{file}");

    let summary = &table(&lake, "summary")[0];
    assert_eq!(summary["objects"], objects.len() as i64);
    assert_eq!(summary["kind"], "heap");
    assert_eq!(summary["suspects"], findings.len() as i64);
}

/// Compares each object with its row, and depths with the tree.
fn compare_dominators(scene: &Scene, file: &str, objects: &[Row]) {
    let sql = "SELECT id, size, retained, dominator FROM objects";
    let expected = query(scene, file, sql);
    let number = |row: &Row, name: &str| row[name].as_i64().unwrap_or(0);
    let depths: BTreeMap<i64, i64> = objects
        .iter()
        .map(|row| (number(row, "id"), number(row, "depth")))
        .collect();
    let mut order = Vec::new();
    for row in objects {
        let id = number(row, "id");
        let found = ["shallow", "retained", "dominator"].map(|name| number(row, name));
        assert_eq!(expected[&format!("{id:#x}")], found, "{file}: {id:#x}");
        if !row["depth"].is_null() {
            let above = depths.get(&number(row, "dominator")).copied().unwrap_or(0);
            assert_eq!(number(row, "depth"), above + 1, "{file}: {id:#x}");
        }
        order.push((row["class"].as_str().unwrap(), number(row, "class_id"), id));
    }
    assert_eq!(expected.len(), objects.len(), "{file}");
    assert!(order.is_sorted(), "{file}");
}

#[test]
fn tables_of_a_dump_with_identifiers_of_4_bytes_agree_with_other_commands() {
    compare(&data("hprof-32.bin"));
}

#[test]
fn tables_of_a_dump_of_android_agree_with_other_commands() {
    if let Some(file) = shared("hprof-android.bin") {
        compare(file.to_str().unwrap());
    }
}

#[test]
fn tables_of_a_dump_of_a_jvm_agree_with_other_commands() {
    let is_compared = std::sync::atomic::AtomicBool::new(false);
    each_jdk(|jdk| {
        if is_compared.swap(true, std::sync::atomic::Ordering::Relaxed) {
            return;
        }
        let run = Run::new(jdk).class("KnownHeap").args(["known.hprof"]);
        let outcome = run.run().expect_status(0);
        compare(&outcome.path("known.hprof").display().to_string());
    });
}

#[test]
fn an_export_that_is_repeated_replaces_the_files() {
    let scene = Scene::new();
    let arguments = [
        "--service",
        "a/b c",
        "--host",
        "web=1",
        "--date",
        "2026-11-22",
    ];
    let with_strings = [&arguments[..], &["--strings"]].concat();
    let lake = export(&scene, &data("hprof-32.bin"), &with_strings);
    let first: Vec<(PathBuf, Vec<u8>)> = contents(&lake);
    let lake = export(&scene, &data("hprof-32.bin"), &with_strings);
    assert!(contents(&lake) == first, "equal files");
    assert_eq!(first.len(), 14);
    let part = "service=a%2Fb%20c/host=web%3D1/date=2026-11-22/dump=";
    for (path, _) in &first {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let path = path.strip_prefix(&lake).unwrap().to_str().unwrap();
        assert!(path.starts_with(&format!("{name}/{part}")), "{path}");
        let file = lake.join(path);
        assert_eq!(metadata(&file, "hprof-rs.schema").as_deref(), Some("1"));
        assert_eq!(metadata(&file, "service").as_deref(), Some("a/b c"));
    }
    // The texts of an earlier export must not stay when they are no longer wanted.
    let lake = export(&scene, &data("hprof-32.bin"), &arguments);
    let names: BTreeSet<PathBuf> = contents(&lake).into_iter().map(|file| file.0).collect();
    assert_eq!(names.len(), 13);
    assert!(!names.iter().any(|path| path.ends_with("strings.parquet")));
}

fn contents(lake: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).expect("a file");
        (path, bytes)
    };
    files(lake).into_iter().map(read).collect()
}

#[test]
fn a_dump_that_is_cut_short_gives_what_is_there_and_says_so() {
    let scene = Scene::new();
    let bytes = fs::read(data("hprof-32.bin")).unwrap();
    fs::write(scene.path("cut.hprof"), &bytes[..bytes.len() * 3 / 4]).unwrap();
    let lake = export(&scene, "cut.hprof", &["--no-index", "--memory", "200M"]);
    let objects = table(&lake, "objects");
    assert!(objects.len() > 500, "{}", objects.len());
    let summary = &table(&lake, "summary")[0];
    assert_eq!(summary["is_partial"], true);
    let notes = summary["notes"].as_str().unwrap();
    assert!(notes.contains("2856 bytes skipped"), "{summary:?}");
}

#[test]
fn an_export_that_fails_leaves_no_file() {
    let scene = Scene::new();
    fs::create_dir(scene.path("lake")).unwrap();
    // A file in the place of the last table's folder.
    fs::write(scene.path("lake/summary"), "").unwrap();
    let file = data("hprof-32.bin");
    let arguments = ["export", &file, "--parquet", "lake", "--no-index"];
    let output = run(&mut scene.hprof_rs(&arguments), "");
    assert!(!output.status.success());
    assert!(
        stderr(&output).contains("cannot write to lake"),
        "{}",
        stderr(&output)
    );
    assert_eq!(files(&scene.path("lake")), [scene.path("lake/summary")]);
}
