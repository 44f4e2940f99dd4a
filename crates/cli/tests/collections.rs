//! Collections of real JVMs: how many elements each has.

mod support;

use std::path::Path;

use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::snapshot::{OpenOptions, Snapshot, Value};
use java_test_harness::{Outcome, Run, each_jdk};
use support::{Scene, run, stderr, stdout};

const DUMP: &str = "collections.hprof";

fn dump(jdk: &'static java_test_harness::Jdk) -> Outcome {
    Run::new(jdk)
        .class("KnownCollections")
        .args([DUMP])
        .run()
        .expect_status(0)
}

fn open(path: &Path) -> Snapshot {
    Snapshot::open(path, &OpenOptions::default()).expect("a snapshot")
}

/// The collections that the program says something of: what, how many elements, the object.
fn known(snapshot: &Snapshot) -> Vec<(String, i64, ObjectNumber)> {
    let is_known = |&object: &ObjectNumber| snapshot.class_name(object) == "KnownCollections$Known";
    (snapshot.graph().objects())
        .filter(is_known)
        .map(|object| {
            let what = snapshot.field_object(object, "what").expect("a name");
            let what = snapshot.string(what, 100).expect("a text");
            let size = snapshot.field(object, "size");
            let size = size.and_then(|size| size.integer()).expect("a size");
            let collection = snapshot.field_object(object, "collection");
            (what, size, collection.expect("a collection"))
        })
        .collect()
}

#[test]
fn every_collection_tells_its_size_or_that_it_is_unknown() {
    each_jdk(|jdk| {
        let outcome = dump(jdk);
        let snapshot = open(&outcome.path(DUMP));
        let all = known(&snapshot);
        assert!(all.len() > 150, "{}", all.len());
        let mut wrong = Vec::new();
        for (what, size, object) in all {
            let found = snapshot.collection(object).and_then(|it| it.size);
            if found != u64::try_from(size).ok() {
                let class = snapshot.class_name(object);
                wrong.push(format!("{what} ({class}): {size}, found {found:?}"));
            }
        }
        assert!(wrong.is_empty(), "{jdk}: {wrong:#?}");
    });
}

#[test]
fn every_collection_lists_as_many_elements_as_it_has() {
    each_jdk(|jdk| {
        let outcome = dump(jdk);
        let snapshot = open(&outcome.path(DUMP));
        let mut wrong = Vec::new();
        let has_null = ["singletonList", "singletonMap.values"];
        for (what, size, object) in known(&snapshot) {
            let found = snapshot.collection_elements(object, 1000);
            let is_null = found.iter().any(|(key, _)| *key == Value::Null);
            let expected = usize::try_from(size).unwrap_or(found.len()).min(1000);
            if found.len() != expected || is_null != has_null.contains(&what.as_str()) {
                let class = snapshot.class_name(object);
                wrong.push(format!("{what} ({class}): {expected}, found {found:?}"));
            }
        }
        assert!(wrong.is_empty(), "{jdk}: {wrong:#?}");
    });
}

#[test]
fn the_table_of_collections_says_what_it_does_not_know() {
    each_jdk(|jdk| {
        let outcome = dump(jdk);
        let path = outcome.path(DUMP).display().to_string();
        let collections = |more: &[&str]| {
            let arguments = [&["collections", "--top", "0", &path], more].concat();
            let output = run(&mut Scene::new().hprof_rs(&arguments), "");
            assert!(output.status.success(), "{}", stderr(&output));
            stdout(&output)
        };
        let all: serde_json::Value = serde_json::from_str(&collections(&["--json"])).expect("JSON");
        let rows = all["collections"].as_array().expect("rows");
        let row = |name: &str| {
            let row = rows.iter().find(|row| row["name"] == name);
            let row = row.unwrap_or_else(|| panic!("no {name}"));
            ["collections", "empty", "unknown"].map(|key| row[key].as_u64().expect("a number"))
        };
        let [properties, empty, unknown] = row("java.util.Properties");
        assert!(empty < properties && unknown == 0, "{properties} {empty}");
        assert_eq!(row("KnownCollections$1"), [1, 0, 1]);
        assert_eq!(row("java.util.TreeMap$AscendingSubMap"), [1, 0, 1]);
        let text = collections(&[]);
        let own = text
            .lines()
            .find(|line| line.ends_with("KnownCollections$1"));
        assert!(own.is_some_and(|line| line.contains('?')), "{text}");
        assert!(text.contains("the number of elements is unknown"), "{text}");
    });
}
