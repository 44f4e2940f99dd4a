//! Long paths show the steps at both ends, and count the others.

mod common;

use common::made::Made;
use common::made::Put::Ref;
use hprof_analysis::leaks::{LeakOptions, leaks};
use hprof_analysis::paths::{Line, Path, PathSearch};
use hprof_analysis::snapshot::Snapshot;

/// A dump in which a static field holds a list of `length` nodes by turns of the classes, whose last one holds
/// a large array.
fn list(classes: &[&str], length: usize) -> (Snapshot, u64) {
    let mut made = Made::new();
    let object = made.object();
    let fields = [("next", Ref(0)), ("data", Ref(0))];
    let classes: Vec<u64> = (classes.iter())
        .map(|name| made.class(name, object, &fields))
        .collect();
    let data = made.primitives(8, 100_000, &[0; 100_000]);
    let mut node = 0;
    for at in (0..length).rev() {
        let data = if node == 0 { data } else { 0 };
        let values = [("next", Ref(node)), ("data", Ref(data))];
        node = made.instance(classes[at % classes.len()], &values);
    }
    let holder = made.class_with("app.Holder", object, &[], &[("HEAD", Ref(node))], 0);
    made.root(0x05, holder);
    (made.open(), data)
}

fn path(snapshot: &Snapshot, id: u64) -> Path {
    let object = snapshot.graph().number(id).unwrap();
    let objects = PathSearch::new().to(snapshot, object).unwrap().unwrap();
    Path::new(snapshot, &objects)
}

fn in_words(path: &Path, ends: usize) -> Vec<String> {
    let word = |line: &Line<'_>| match line {
        Line::More(left_out) => format!("({left_out})"),
        Line::Step(step) => {
            let edge = step.edge.as_ref().map(ToString::to_string);
            format!("{} {}", edge.unwrap_or_default(), step.description)
        }
    };
    path.lines(ends).iter().map(word).collect()
}

#[test]
fn a_path_leaves_out_the_middle_of_a_long_list() {
    let (snapshot, data) = list(&["app.Node"], 10_000);
    let path = path(&snapshot, data);
    let expected = [
        " class app.Holder",
        ".HEAD (static) app.Node",
        ".next app.Node",
        ".next app.Node",
        ".next app.Node",
        "(9993)",
        ".next app.Node",
        ".next app.Node",
        ".next app.Node",
        ".data byte[] of 100,000 elements",
    ];
    assert_eq!(in_words(&path, 12), expected);
    // A reader of JSON sees where something is missing, and how much.
    let json = serde_json::to_value(&path).unwrap();
    assert_eq!(json["steps"][5]["more"], 9993);
    assert!(json["steps"][4].get("more").is_none(), "{json}");
    assert_eq!(path.positions()[4..6], [4, 9998]);
    // The steps that a reader has no room for count as well.
    assert_eq!(in_words(&path, 2)[2], "(9998)");
}

#[test]
fn a_path_leaves_out_nothing_of_a_short_list() {
    let (snapshot, data) = list(&["app.Node"], 8);
    let path = path(&snapshot, data);
    assert_eq!(path.steps.len(), 10);
    assert!(path.steps.iter().all(|step| step.more == 0));
}

#[test]
fn a_path_is_bounded_whose_steps_are_not_equal() {
    let (snapshot, data) = list(&["app.Node", "app.Link"], 10_000);
    let path = path(&snapshot, data);
    assert_eq!(path.steps.len(), 100);
    let all: u64 = path.steps.iter().map(|step| step.more + 1).sum();
    assert_eq!(all, 10_002);
    assert_eq!(in_words(&path, 12)[12], format!("({})", 10_002 - 24));
}

#[test]
fn what_a_long_list_ends_with_is_a_suspect_with_a_short_path() {
    for classes in [&["app.Node"][..], &["app.Node", "app.Link"]] {
        let (snapshot, data) = list(classes, 2_000);
        let found = leaks(&snapshot, LeakOptions::default()).unwrap();
        let suspect = &found.suspects[0];
        assert!(suspect.path.steps.len() <= 100);
        let accumulation = snapshot.graph().id(suspect.accumulation_point);
        assert!(accumulation == data, "{suspect:?}");
        assert!(
            suspect.signature.starts_with("byte[] in app.Holder.HEAD, "),
            "{}",
            suspect.signature
        );
    }
}
