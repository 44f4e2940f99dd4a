//! The commands that follow references through a heap dump.

#![allow(clippy::disallowed_macros)]

#[path = "../../analysis/tests/common/made.rs"]
mod made;
mod support;

use std::fs;
use std::path::Path;
use std::process::Output;

use made::Made;
use made::Put::Ref;
use serde_json::{Value, json};
use support::{Scene, run, stderr, stdout};

fn dump() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../format/tests/data/hprof-32.bin");
    path.to_str().expect("a path in UTF-8").to_owned()
}

fn heap(arguments: &[&str]) -> Output {
    run(&mut Scene::new().hprof_rs(arguments), "")
}

fn text(arguments: &[&str]) -> String {
    let output = heap(arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    stdout(&output)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(arguments)).expect("JSON")
}

#[test]
fn one_can_go_from_the_suspect_to_each_object_on_its_path() {
    let dump = dump();
    let leaks = json(&["leaks", "--json", &dump]);
    // Nothing stands out in it.
    assert_eq!(leaks["leaks"]["suspects"], json!([]));
    let suspect = &leaks["leaks"]["largest"];
    let words = text(&["leaks", &dump]);
    assert!(
        words.contains(suspect["headline"].as_str().unwrap()),
        "{words}"
    );
    let steps = suspect["path"]["steps"].as_array().unwrap();
    for pair in steps.windows(2) {
        let (from, to) = (
            pair[0]["id"].as_str().unwrap(),
            pair[1]["id"].as_str().unwrap(),
        );
        let found = json(&["references", "--top", "100000", "--json", &dump, from]);
        let targets = found["references"].as_array().unwrap();
        assert!(
            targets.iter().any(|row| row["object"]["id"] == to),
            "{from} {to}"
        );
        let found = json(&["referrers", "--top", "100000", "--json", &dump, to]);
        let sources = found["referrers"].as_array().unwrap();
        assert!(
            sources.iter().any(|row| row["object"]["id"] == from),
            "{from} {to}"
        );
    }
    let id = suspect["accumulation_id"].as_str().unwrap();
    let path = json(&["paths", "--json", &dump, id]);
    assert_eq!(
        path["paths"][0]["steps"].as_array().unwrap().len(),
        steps.len()
    );
    let several = json(&["paths", "-k", "3", "--json", &dump, id]);
    assert_eq!(
        several["paths"][0]["steps"].as_array().unwrap().len(),
        steps.len()
    );
    for command in [
        "object",
        "paths",
        "dominators",
        "retained",
        "references",
        "referrers",
    ] {
        assert!(!text(&[command, &dump, id]).is_empty());
    }
}

#[test]
fn classes_and_objects_can_be_named_or_the_error_helps() {
    let dump = dump();
    let all = json(&["retained", "--json", "--top", "0", &dump]);
    let rows = all["rows"].as_array().unwrap();
    let strings = rows
        .iter()
        .find(|row| row["name"] == "java.lang.String")
        .unwrap();
    let one = json(&["retained", "--json", &dump, "java.lang.String"]);
    assert_eq!(one["retained_bytes"], strings["retained_bytes"]);
    assert_eq!(strings["is_exact"], true);
    for by in ["package", "loader", "thread"] {
        assert!(text(&["retained", "--by", by, &dump]).contains(by));
    }
    assert!(text(&["paths", &dump, "java.lang.Th*"]).contains("reached"));
    let wrong = heap(&["retained", &dump, "string"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        stderr(&wrong).contains("is it java.lang."),
        "{}",
        stderr(&wrong)
    );
    let wrong = heap(&["object", &dump, "0x1"]);
    assert!(
        stderr(&wrong).contains("has no object 0x1"),
        "{}",
        stderr(&wrong)
    );
    let wrong = heap(&["leaks", "--memory", "1M", &dump]);
    assert!(
        stderr(&wrong).contains("at least 64M"),
        "{}",
        stderr(&wrong)
    );
}

#[test]
fn a_report_is_one_page_that_loads_nothing() {
    let scene = Scene::new();
    let output = run(
        &mut scene.hprof_rs(&["report", &dump(), "-o", "out.html"]),
        "",
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let page = fs::read_to_string(scene.path("out.html")).unwrap();
    for outside in ["src=", "http://", "@import", "url("] {
        let own = page.split("<script id=\"data\"").next().unwrap();
        assert!(!own.contains(outside), "{outside}");
    }
    let start = page.find("type=\"application/json\">").unwrap() + 24;
    let end = page[start..].find("</script>").unwrap() + start;
    let embedded: Value = serde_json::from_str(&page[start..end]).unwrap();
    let printed = json(&["report", "--json", &dump()]);
    assert_eq!(embedded["summary"], printed["summary"]);
    assert_eq!(printed["schema"], 2);
    let described = include_str!("../../../docs/report-schema.md");
    assert!(described.contains("| `schema` | 2 |"), "{described}");
    let retained: u64 = printed["leaks"]["live_bytes"].as_u64().unwrap();
    assert_eq!(printed["summary"]["live_bytes"].as_u64(), Some(retained));
    let markdown = text(&["report", "--md", &dump()]);
    assert!(markdown.contains("## Leak suspects"), "{markdown}");
}

#[test]
fn a_damaged_dump_gives_a_report_that_says_so() {
    let scene = Scene::new();
    let bytes = fs::read(dump()).unwrap();
    fs::write(scene.path("cut.hprof"), &bytes[..bytes.len() / 2]).unwrap();
    let output = run(&mut scene.hprof_rs(&["report", "--json", "cut.hprof"]), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let note = report["notes"][0].as_str().unwrap();
    assert!(
        note.contains("were not read, and what is shown is the rest"),
        "{note}"
    );
    assert!(
        stderr(&output).contains("were not read"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_index_is_kept_where_it_is_asked_for() {
    let scene = Scene::new();
    fs::create_dir(scene.path("index")).unwrap();
    let arguments = ["leaks", "--json", "--index", "index", &dump()];
    let first = run(&mut scene.hprof_rs(&arguments), "");
    assert!(scene.path("index/hprof-32.bin.hprof-rs-index").exists());
    let second = run(&mut scene.hprof_rs(&arguments), "");
    assert_eq!(stdout(&first), stdout(&second));
    let without = run(
        &mut scene.hprof_rs(&["leaks", "--json", "--no-index", &dump()]),
        "",
    );
    assert_eq!(stdout(&first), stdout(&without));
}

/// A dump in which a static field holds a list of 30,000 nodes whose last one holds a large array.
fn long_list(scene: &Scene) -> (String, String) {
    let mut made = Made::new();
    let object = made.object();
    let fields = [("next", Ref(0)), ("data", Ref(0))];
    let class = made.class("app.Node", object, &fields);
    let data = made.primitives(8, 100_000, &[0; 100_000]);
    let mut node = made.instance(class, &[("data", Ref(data))]);
    for _ in 1..30_000 {
        node = made.instance(class, &[("next", Ref(node))]);
    }
    let holder = made.class_with("app.Holder", object, &[], &[("HEAD", Ref(node))], 0);
    made.root(0x05, holder);
    let file = scene.path("list.hprof");
    fs::write(&file, made.bytes()).expect("written");
    (file.to_str().unwrap().to_owned(), format!("{data:#x}"))
}

#[test]
fn all_outputs_leave_out_the_middle_of_a_long_list() {
    let scene = Scene::new();
    let (file, data) = long_list(&scene);
    let more = "29,993 more";
    for arguments in [
        &["leaks", &file][..],
        &["paths", &file, &data],
        &["report", "--md", &file],
        &[
            "query",
            "--csv",
            &file,
            &format!("SELECT path('{data}') AS path"),
        ],
    ] {
        let text = text(arguments);
        assert!(text.contains(more), "{arguments:?}: {text}");
        assert!(text.len() < 4_000, "{arguments:?}: {text}");
    }
    let found = json(&["paths", "--json", "-k", "2", &file, &data]);
    let steps = &found["paths"][0]["steps"];
    assert_eq!(steps.as_array().unwrap().len(), 9);
    assert_eq!(steps[5]["more"], 29_993);
    let found = json(&["report", "--json", &file]);
    // The list itself is a suspect, too.
    let mut suspects = found["leaks"]["suspects"].as_array().unwrap().iter();
    assert!(suspects.any(|suspect| &suspect["path"]["steps"] == steps));
    let page = scene.path("list.html");
    let written = text_of_all(&["report", &file, "-o", page.to_str().unwrap()]);
    assert!(written.contains("wrote"), "{written}");
    assert!(fs::metadata(&page).unwrap().len() < 100_000);
}

/// Standard output and standard error of a command that succeeds.
fn text_of_all(arguments: &[&str]) -> String {
    let output = heap(arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output) + &stderr(&output)
}
