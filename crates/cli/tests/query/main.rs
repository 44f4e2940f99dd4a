//! `query`, and the small commands for heap dumps, checked against each other: each command has a
//! way of its own to its figures, and SQL over the tables is another.

#![allow(clippy::disallowed_macros)]

mod damaged;
#[path = "../../../analysis/tests/common/made.rs"]
mod made;
mod markdown;
mod notes;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::process::Output;
use std::process::Stdio;

use made::Made;
use made::Put::{Int, Ref};
use serde_json::{Value, json};
use support::{Scene, data, run, shared, stderr, stdout};

fn command(arguments: &[&str]) -> Output {
    run(&mut Scene::new().hprof_rs(arguments), "")
}

fn text(arguments: &[&str]) -> String {
    let output = command(arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    stdout(&output)
}

fn json_of(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(arguments)).expect("JSON")
}

fn dump() -> String {
    data("hprof-32.bin")
}

/// The rows of a query, each an array.
fn rows(sql: &str) -> Vec<Value> {
    let answer = json_of(&["query", "--json", &dump(), sql]);
    let columns = answer["columns"].as_array().unwrap().clone();
    let in_order = |row: &Value| {
        let cells = columns
            .iter()
            .map(|name| row[name.as_str().unwrap()].clone());
        Value::Array(cells.collect())
    };
    answer["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(in_order)
        .collect()
}

#[test]
fn tables_agree_with_each_other() {
    assert_eq!(
        rows("SELECT count(*), sum(live), (SELECT sum(objects) FROM classes) FROM objects"),
        [json!([2926, 2628, 2926])]
    );
    assert_eq!(
        rows(
            "SELECT count(*) FROM (SELECT class, count(*) AS n FROM objects GROUP BY class) AS o
             JOIN (SELECT name, sum(objects) AS n FROM classes GROUP BY name) AS c
             ON o.class = c.name WHERE o.n <> c.n"
        ),
        [json!([0])]
    );
    // Found by their target and found by a walk over all, references are the same ones.
    assert_eq!(
        rows(
            "SELECT count(*) FROM objects o JOIN references r ON r.target = o.id
             WHERE o.class = 'java.lang.Thread'"
        ),
        rows("SELECT count(*) FROM references WHERE target_class = 'java.lang.Thread'")
    );
    assert_eq!(
        rows(
            "SELECT name, target FROM references WHERE source = '0x500002fc' AND kind <> 'class'
             EXCEPT SELECT name, target FROM fields WHERE object = '0x500002fc'"
        ),
        Vec::<Value>::new()
    );
    assert_eq!(
        rows(
            "SELECT name, (SELECT count(*) FROM roots WHERE object = t.id) FROM threads t LIMIT 1"
        ),
        [json!(["main", 1])]
    );
    assert_eq!(
        rows("SELECT value, text(id), length FROM strings WHERE value LIKE 'Sun Micro%' LIMIT 1"),
        [json!([
            "Sun Microsystems Inc.",
            "Sun Microsystems Inc.",
            21
        ])]
    );
    assert_eq!(
        rows("SELECT field('0x500002fc', 'group.name'), field('0x500002fc', 'no.such')"),
        [json!(["main", null])]
    );
    assert_eq!(
        rows("SELECT path(id) FROM objects WHERE id = '0x500002fc'"),
        [json!([
            "running thread \"main\" > java.lang.Thread \"main\""
        ])]
    );
}

#[test]
fn answers_come_as_tables_csv_and_json() {
    let sql = "SELECT name, objects, NULL AS empty, 1.5 AS half FROM classes
               WHERE name = 'java.lang.Thread'";
    let objects =
        rows("SELECT count(*) FROM objects WHERE class = 'java.lang.Thread'")[0][0].clone();
    assert_eq!(
        text(&["query", "--csv", &dump(), sql]),
        format!("name,objects,empty,half\njava.lang.Thread,{objects},,1.5\n")
    );
    let table = text(&["query", &dump(), sql]);
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("name              objects  empty  half"));
    assert!(lines.next().unwrap().ends_with(" 1.5"), "{table}");
    let output = command(&["query", "--limit", "3", &dump(), "SELECT id FROM objects"]);
    assert_eq!(stdout(&output).lines().count(), 4);
    assert!(stderr(&output).contains("--limit 0"), "{}", stderr(&output));
    let listed = text(&["query"]);
    for word in [
        "objects",
        "classes",
        "references",
        "roots",
        "threads",
        "field(id, 'name')",
    ] {
        assert!(listed.contains(word), "{listed}");
    }
    let scene = Scene::new();
    let piped = run(
        &mut scene.hprof_rs(&["query", "--csv", &dump(), "-"]),
        "SELECT 1 AS one",
    );
    assert_eq!(stdout(&piped), "one\n1\n");
}

#[test]
fn mistakes_are_explained() {
    for (sql, words) in [
        (
            "SELECT clas FROM objects",
            "did you mean class?\n  Columns of objects: id, class",
        ),
        (
            "SELECT * FROM object",
            "did you mean objects?\n  Tables: objects, classes",
        ),
        ("SELECT feild(id, 'x') FROM objects", "did you mean field?"),
        ("SELECT id, FROM objects", "^"),
        ("DELETE FROM objects", "a query begins with SELECT"),
        ("SELECT 1; SELECT 2", "one query at a time"),
    ] {
        let output = command(&["query", &dump(), sql]);
        assert_eq!(output.status.code(), Some(1), "{sql}");
        assert!(
            stderr(&output).contains(words),
            "{sql}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn dominators_and_retained_are_those_of_the_tables() {
    let tops = json_of(&["dominators", "--top", "5", "--json", &dump()]);
    let tops: Vec<Value> = (tops["children"].as_array().unwrap().iter())
        .map(|node| json!([node["object"]["id"], node["object"]["retained_bytes"]]))
        .collect();
    let sql = "SELECT id, retained FROM objects WHERE live AND dominator IS NULL
               ORDER BY retained DESC LIMIT 5";
    assert_eq!(tops, rows(sql));
    assert_eq!(tops[0], json!(["0x5000002d", 68816]));

    let all = json_of(&["retained", "--json", "--top", "0", &dump()]);
    let by_class: Vec<Value> = (all["rows"].as_array().unwrap().iter().take(5))
        .map(|row| json!([row["name"], row["retained_bytes"]]))
        .collect();
    let sql = "SELECT name, retained FROM classes ORDER BY retained DESC, name LIMIT 5";
    assert_eq!(by_class, rows(sql));
    for row in rows("SELECT name, retained FROM classes WHERE live ORDER BY 2 DESC LIMIT 20") {
        let name = row[0].as_str().unwrap();
        let set = json_of(&["retained", "--json", &dump(), name]);
        assert_eq!(set["retained_bytes"], row[1], "{name}");
    }
    let set = json_of(&["retained", "--json", &dump(), "java.lang.Thread"]);
    let threads = &set["classes"][0];
    assert_eq!(
        (&threads["name"], &threads["objects"], &threads["bytes"]),
        (&json!("java.lang.Thread"), &json!(5), &json!(560))
    );
}

#[test]
fn referrers_and_references_are_those_of_the_tables() {
    let main = "0x500002fc";
    let found = json_of(&["references", "--json", &dump(), main]);
    let found: Vec<Value> = (found["references"].as_array().unwrap().iter())
        .map(|row| json!([row["edge"]["name"], row["object"]["id"]]))
        .collect();
    let sql = format!("SELECT name, target FROM references WHERE source = '{main}' AND strong");
    let mut expected = rows(&sql);
    // The command tells each object once.
    let mut seen = Vec::new();
    expected.retain(|row| {
        !seen.contains(&row[1]) && {
            seen.push(row[1].clone());
            true
        }
    });
    assert_eq!(found.len(), 7);
    assert_eq!(found, expected);
    let found = json_of(&["referrers", "--json", &dump(), main]);
    let found: Vec<Value> = (found["referrers"].as_array().unwrap().iter())
        .map(|row| json!([row["edge"]["name"], row["object"]["id"]]))
        .collect();
    let sql = format!("SELECT name, source FROM references WHERE target = '{main}' AND strong");
    assert_eq!(found, [json!(["0", "0x50000b52"])]);
    assert_eq!(found, rows(&sql));
}

#[test]
fn collections_duplicates_finalizers_and_loaders_tell_what_is_there() {
    let all = json_of(&["collections", "--json", "--top", "0", &dump()]);
    let maps = (all["collections"].as_array().unwrap().iter())
        .find(|row| row["name"] == "java.util.HashMap")
        .unwrap();
    let sql = "SELECT count(*), sum(field(id, 'size')), sum(field(id, 'size') = 0) FROM objects
               WHERE class = 'java.util.HashMap' AND live";
    assert_eq!(
        json!([maps["collections"], maps["elements"], maps["empty"]]),
        rows(sql)[0]
    );
    assert_eq!(rows(sql)[0], json!([14, 16, 7]));

    let all = json_of(&["duplicates", "--json", &dump()]);
    let largest = &all["duplicates"]["groups"][0];
    assert_eq!(
        json!([largest["count"], largest["bytes"], largest["wasted_bytes"]]),
        json!([3, 8208, 16416])
    );
    let sql = "SELECT count(*), sum(size) FROM objects
               WHERE live AND class IN ('byte[]', 'char[]', 'int[]', 'long[]', 'short[]',
                                        'boolean[]', 'float[]', 'double[]')";
    assert_eq!(
        json!([all["duplicates"]["arrays"], all["duplicates"]["bytes"]]),
        rows(sql)[0]
    );

    let all = json_of(&["finalizers", "--json", &dump()]);
    let first = &all["finalizers"][0];
    assert_eq!(
        json!([first["name"], first["registered"], first["queued"]]),
        json!(["java.io.FileInputStream", 3, 0])
    );
    let all = json_of(&["classloaders", "--json", &dump()]);
    let loaders = all["loaders"].as_array().unwrap();
    let classes: u64 = loaders
        .iter()
        .map(|row| row["classes"].as_u64().unwrap())
        .sum();
    assert_eq!(loaders[0]["id"], "0x500002eb");
    assert_eq!(
        rows("SELECT count(*) FROM classes WHERE id NOT NULL"),
        [json!([classes])]
    );
    assert_eq!(all["duplicate_classes"], json!([]));

    let all = json_of(&["threads", "--retained", "--json", &dump()]);
    let main = &all["threads"][0];
    let sql = "SELECT name, retained, locals FROM threads LIMIT 1";
    assert_eq!(
        rows(sql),
        [json!([main["name"], main["retained_bytes"], 0])]
    );
}

#[test]
fn tables_say_how_many_rows_they_leave_out() {
    for (command, key) in [
        ("collections", "collections"),
        ("finalizers", "finalizers"),
        ("classloaders", "loaders"),
    ] {
        let all = json_of(&[command, "--json", "--top", "0", &dump()]);
        let rows = all[key].as_array().unwrap().len();
        let text = text(&[command, "--top", "1", &dump()]);
        let note = format!("... {} more (--top 0 for all)", rows - 1);
        assert_eq!(text.contains(&note), rows > 1, "{command}: {text}");
    }
}

#[test]
fn growth_tells_nothing_of_equal_dumps() {
    let same = json_of(&["growth", "--json", &dump(), &dump()]);
    assert_eq!(same["classes"], json!([]));
    assert_eq!(same["paths"], json!([]));
    assert_eq!(same["live_bytes"][0], same["live_bytes"][1]);
}

#[test]
fn a_mapping_file_gives_original_names() {
    let scene = Scene::new();
    let text = "com.example.Session -> java.lang.Thread:\n    java.lang.String user -> name\n";
    fs::write(scene.path("mapping.txt"), text).unwrap();
    let told = |arguments: &[&str]| {
        let output = run(&mut scene.hprof_rs(arguments), "");
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let mapping = ["--mapping", "mapping.txt"];
    let sql = "SELECT name FROM references WHERE source = '0x500002fc' LIMIT 1";
    let dump = dump();
    assert_eq!(
        told(&[&["query", "--csv"], &mapping[..], &[&dump, sql]].concat()),
        "name\nuser\n"
    );
    for command in [
        &["retained", "--top", "0"][..],
        &["report", "--md"],
        &["leaks"],
    ] {
        let words = told(&[command, &mapping[..], &[&dump]].concat());
        assert!(!words.contains("java.lang.Thread "), "{words}");
    }
    assert!(
        told(&[&["retained", "--top", "0"], &mapping[..], &[&dump]].concat())
            .contains("com.example.Session")
    );
    fs::write(scene.path("mapping.txt"), "nothing").unwrap();
    let output = run(
        &mut scene.hprof_rs(&[&["leaks"], &mapping[..], &[&dump]].concat()),
        "",
    );
    assert!(
        stderr(&output).contains("original.Class -> short.Name:"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn numbers_are_printed_as_java_does() {
    let sql =
        "SELECT 4.9e-324 AS least, 1.5e300 AS large, 9e999 AS most, 1.0e7 AS bound, 0.1 AS tenth";
    let csv = text(&["query", "--csv", &dump(), sql]);
    assert_eq!(
        csv.lines().nth(1),
        Some("4.9E-324,1.5E300,Infinity,1.0E7,0.1")
    );
    let table = text(&["query", &dump(), sql]);
    assert!(table.contains("4.9E-324"), "{table}");
    assert_eq!(rows("SELECT 9e999, 0.5"), [json!(["Infinity", 0.5])]);
}

#[test]
fn the_class_of_an_object_is_one_of_its_references() {
    let thread = "0x500002fc";
    let object = json_of(&["object", "--json", &dump(), thread]);
    let class = object["class_id"].as_str().expect("an id");
    assert!(
        text(&["object", &dump(), thread]).contains(&format!("Class: java.lang.Thread {class}"))
    );
    let references = json_of(&["references", "--json", &dump(), thread]);
    let all = references["references"].as_array().expect("rows");
    let of_class = all
        .iter()
        .find(|row| row["object"]["id"] == class)
        .expect("a row");
    assert_eq!(of_class["edge"], json!({"kind": "class", "name": "class"}));
    let referrers = json_of(&["referrers", "--top", "100000", "--json", &dump(), class]);
    let all = referrers["referrers"].as_array().expect("rows");
    let is_instance = |row: &&Value| row["edge"]["name"] == "class";
    let instances = all.iter().filter(is_instance).count();
    let found = rows("SELECT objects FROM classes WHERE name = 'java.lang.Thread'");
    assert_eq!(found, [json!([instances])]);
    assert_eq!(
        rows(&format!(
            "SELECT count(*) FROM references WHERE target = '{class}' AND name = 'class'"
        )),
        found
    );
    assert!(all.iter().any(|row| row["object"]["id"] == thread));
}

#[test]
fn rows_as_arrays_keep_columns_of_one_name_apart() {
    let sql = "SELECT 1 AS a, 'x' AS a, NULL AS b UNION ALL SELECT 2, 'y', 0.5";
    let answer = json_of(&["query", "--json", "--arrays", &dump(), sql]);
    assert_eq!(answer["columns"], json!(["a", "a", "b"]));
    assert_eq!(answer["rows"], json!([[1, "x", null], [2, "y", 0.5]]));
}

#[test]
fn the_tables_are_told_to_programs_too() {
    let schema = json_of(&["query", "--json"]);
    for table in schema["tables"].as_array().expect("tables") {
        let name = table["name"].as_str().expect("a name");
        let sql = format!("SELECT * FROM {name} LIMIT 0");
        let answer = json_of(&["query", "--json", "--arrays", &dump(), &sql]);
        let columns = table["columns"].as_array().expect("columns").iter();
        let names: Vec<_> = columns.map(|column| column["name"].clone()).collect();
        assert_eq!(answer["columns"], Value::Array(names));
    }
    assert_eq!(schema["functions"][0]["call"], "field(id, 'name')");
}

#[test]
fn a_field_without_a_name_is_told_of_in_words() {
    let output = command(&["query", &dump(), "SELECT field('0x1', NULL)"]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("the second argument of field"), "{said}");
}

#[test]
fn comma_separated_values_end_quietly_where_nobody_reads_on() {
    let sql = "SELECT a.id, b.id FROM objects a, objects b LIMIT 200000";
    let scene = Scene::new();
    let mut command = scene.hprof_rs(&["query", "--csv", &dump(), sql]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut first = [0; 10];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*stderr(&output)), (Some(0), ""));
    let full = std::fs::File::create("/dev/full").unwrap();
    let mut command = scene.hprof_rs(&["query", "--csv", &dump(), "SELECT id FROM objects"]);
    let output = command
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = stderr(&output);
    assert!(
        said.starts_with("hprof-rs: cannot write to standard output"),
        "{said}"
    );
}
