//! Texts of strings: only when they are asked for, and without secrets if that is asked for.

use std::fs;

use crate::export;
use crate::read::{files, rows, table};
use crate::support::{Scene, data};
use serde_json::Value;

/// All texts in all tables.
fn texts(lake: &std::path::Path) -> Vec<String> {
    let cells = files(lake)
        .into_iter()
        .flat_map(|path| rows(&path))
        .flatten();
    let text = |(_, value): (String, Value)| value.as_str().map(str::to_owned);
    cells.filter_map(text).collect()
}

#[test]
fn texts_of_strings_are_there_only_if_asked_for() {
    // A property's value of the program that made the dump.
    let is_known = |text: &String| text.contains("Java Virtual Machine Specification");
    let scene = Scene::new();
    let lake = export(&scene, &data("hprof-32.bin"), &["--no-index"]);
    assert!(!texts(&lake).iter().any(is_known));
    let lake = export(&scene, &data("hprof-32.bin"), &["--no-index", "--strings"]);
    assert!(texts(&lake).iter().any(is_known));
}

#[test]
fn secrets_are_blank_in_all_tables_with_redact() {
    let scene = Scene::new();
    let bytes = fs::read(data("hprof-32.bin")).unwrap();
    fs::write(scene.path("it.hprof"), bytes).unwrap();
    let pattern = "Java Virtual Machine Specification";
    let arguments = [
        "--no-index",
        "--strings",
        "--redact",
        "--redact-pattern",
        pattern,
    ];
    let lake = export(&scene, "it.hprof", &arguments);
    assert!(!texts(&lake).iter().any(|text| text.contains(pattern)));
    // All else is there, and the dump's name is that of the file as it came.
    let strings = table(&lake, "strings");
    assert!(
        strings.iter().any(|row| row["text"] == "java.version"),
        "{}",
        strings.len()
    );
    let plain = export(&scene, "it.hprof", &["--no-index"]);
    assert_eq!(table(&plain, "summary").len(), 1);
}
