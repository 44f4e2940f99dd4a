//! Tables of profiles.

use std::collections::{BTreeMap, BTreeSet};

use crate::read::{Row, table};
use crate::support::{Scene, data};
use crate::{export, json_of};
use serde_json::Value;

/// Compares the costs of a measure with those of `samples`, by the innermost method.
fn compare(name: &str, measure: &str) {
    let scene = Scene::new();
    let file = data(name);
    let lake = export(&scene, &file, &[]);
    let stacks = table(&lake, "stacks");
    let number = |row: &Row, name: &str| row[name].as_i64().expect("a number");
    let top: BTreeMap<i64, &Value> = stacks
        .iter()
        .map(|row| (number(row, "stack"), &row["top"]))
        .collect();
    let mut found: BTreeMap<String, i64> = BTreeMap::new();
    let mut samples = table(&lake, "samples");
    samples.retain(|row| row["measure"] == measure);
    for row in &samples {
        if let Some(top) = top.get(&number(row, "stack")).and_then(|top| top.as_str()) {
            *found.entry(top.to_owned()).or_default() += number(row, "value");
        }
    }
    let arguments = [
        "samples",
        "--json",
        "--top",
        "0",
        "--by",
        "method",
        "--measure",
        measure,
    ];
    let answer = json_of(&scene, &[&arguments[..], &[&file]].concat());
    let rows = answer["rows"].as_array().expect("rows").iter();
    let own = rows.map(|row| {
        let name = row["name"].as_str().expect("a name").to_owned();
        (name, row["self"].as_i64().expect("a number"))
    });
    // What has no frames is a row of its own there.
    let tops: BTreeSet<&str> = top.values().filter_map(|top| top.as_str()).collect();
    let own = own.filter(|(name, cost)| *cost > 0 && tops.contains(name.as_str()));
    let expected: BTreeMap<String, i64> = own.collect();
    found.retain(|_, value| *value > 0);
    assert_eq!(found, expected, "{name}");
    assert!(!found.is_empty(), "{name}");

    // Frames and folded stacks are two forms of one thing.
    let frames = table(&lake, "frames");
    assert_eq!(
        frames.len() as i64,
        stacks.iter().map(|row| number(row, "frames")).sum::<i64>()
    );
    for stack in &stacks {
        let folded = stack["folded"].as_str().expect("a text");
        let names = folded.split(';').filter(|name| !name.is_empty());
        assert_eq!(names.count() as i64, number(stack, "frames"), "{folded}");
    }
    let summary = &table(&lake, "summary")[0];
    assert_eq!(summary["kind"], "profile");
    assert_eq!(summary["stacks"], stacks.len() as i64);
    let exists = |table: &str| lake.join(table).exists();
    assert!(
        exists("sites") && !exists("objects"),
        "a profile has no objects"
    );
}

#[test]
fn costs_of_profiles_in_text_and_binary_agree_with_samples() {
    compare("cpu-samples.txt", "samples");
    compare("cpu-samples-b.hprof", "samples");
    compare("cpu-times-thread.txt", "time");
    compare("monitor-time.txt", "contention");
}

#[test]
fn sites_have_what_the_file_states() {
    for name in ["heap-sites-b.hprof", "heap-sites-thread.txt"] {
        compare(name, "live-bytes");
        let scene = Scene::new();
        let lake = export(&scene, &data(name), &[]);
        let sites = table(&lake, "sites");
        let mut samples = table(&lake, "samples");
        samples.retain(|row| row["measure"] == "live-bytes");
        let sum = |rows: &[Row], column: &str| -> i64 {
            rows.iter()
                .map(|row| row[column].as_i64().expect("a number"))
                .sum()
        };
        assert_eq!(sum(&sites, "live_bytes"), sum(&samples, "value"), "{name}");
    }
}
