//! Sentences of `query` on standard error about answers that are less than they seem.

use std::fs;

use serde_json::json;

use crate::made::Made;
use crate::made::Put::Ref;
use crate::support::{Scene, run, stderr, stdout};
use crate::{command, dump, rows};

#[test]
fn an_identifier_in_another_form_gets_a_hint() {
    let id = rows("SELECT id FROM objects WHERE class = 'java.lang.String' LIMIT 1")[0][0]
        .as_str()
        .unwrap()
        .to_owned();
    let digits = id.strip_prefix("0x").unwrap();
    let right = format!("write '{id}'");
    for form in [
        id.clone(),
        format!("'{digits}'"),
        format!("'0X{digits}'"),
        format!("'0x00{digits}'"),
    ] {
        let sql = format!("SELECT count(*) FROM objects WHERE id = {form}");
        let output = command(&["query", &dump(), &sql]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stderr(&output).contains(&right), "{}", stderr(&output));
        if form != id {
            // A number is none.
            let sql = format!("SELECT describe({form}) = describe('{id}')");
            assert_eq!(rows(&sql), [json!([1])], "{form}");
        }
    }
    // Nothing is said of the right form, nor of a text that is no identifier.
    for form in [&id, "0xfffffffffffffff8", "a name"] {
        let sql = format!("SELECT count(*) FROM objects WHERE id = '{form}'");
        assert_eq!(stderr(&command(&["query", &dump(), &sql])), "");
    }
}

#[test]
fn an_identifier_in_another_form_that_names_no_object_gets_a_hint() {
    for form in ["123", "1.5", "'7b'", "'0X7B'", "'0x007b'"] {
        let sql = format!("SELECT count(*) FROM objects WHERE id = {form}");
        let said = stderr(&command(&["query", &dump(), &sql]));
        let hint = format!("no object has the identifier {form}: identifiers are text such as '0x");
        assert!(said.contains(&hint), "{form}: {said}");
    }
    // Numbers among the values of a column are no mistake.
    let sql = "SELECT count(*) FROM fields f JOIN objects o ON o.id = f.value";
    assert_eq!(stderr(&command(&["query", &dump(), sql])), "");
}

#[test]
fn json_has_the_sentences_and_says_whether_rows_are_left_out() {
    let ask = |sql: &str, limit: &str| -> serde_json::Value {
        let output = command(&["query", "--json", "--limit", limit, &dump(), sql]);
        serde_json::from_str(&stdout(&output)).expect("JSON")
    };
    let answer = ask("SELECT count(*) FROM objects WHERE id = '0X7B'", "1");
    assert_eq!(answer["truncated"], json!(false));
    let note = answer["notes"][0].as_str().expect("a sentence");
    assert!(note.starts_with("no object has the identifier '0X7B'"));
    let answer = ask("SELECT id FROM objects", "3");
    assert_eq!(answer["rows"].as_array().map(Vec::len), Some(3));
    assert_eq!(
        (&answer["truncated"], &answer["notes"]),
        (&json!(true), &json!([]))
    );
}

#[test]
fn a_text_that_is_cut_is_told_by_column() {
    let mut made = Made::new();
    let object = made.object();
    let class = made.class("java.lang.String", object, &[("value", Ref(0))]);
    let holder = made.class("app.Holder", object, &[("name", Ref(0))]);
    let (whole, long) = ("w".repeat(1 << 20), "l".repeat((1 << 20) + 1));
    let (whole, long) = (made.string(class, &whole), made.string(class, &long));
    let holder = made.instance(holder, &[("name", Ref(long))]);
    for root in [whole, long, holder] {
        made.root(0xff, root);
    }
    let scene = Scene::new();
    fs::write(scene.path("long.hprof"), made.bytes()).expect("a dump");
    let ask = |sql: &str| {
        let output = run(
            &mut scene.hprof_rs(&["query", "--csv", "long.hprof", sql]),
            "",
        );
        (stdout(&output), stderr(&output))
    };
    let strings =
        |id: u64| format!("SELECT length(value), length FROM strings WHERE id = '{id:#x}'");
    let (answer, said) = ask(&strings(whole));
    assert_eq!(
        (answer.lines().nth(1), said.as_str()),
        (Some("1048576,1048576"), "")
    );
    let (answer, said) = ask(&strings(long));
    assert_eq!(answer.lines().nth(1), Some("1048576,1048577"));
    assert_eq!(
        said,
        "hprof-rs: strings.value gave only the first 1,048,576 characters of longer texts\n"
    );
    for (sql, name) in [
        (format!("SELECT length(text('{long:#x}'))"), "text()"),
        (
            format!("SELECT length(field('{holder:#x}', 'name'))"),
            "field()",
        ),
        (
            format!("SELECT length(value) FROM fields WHERE object = '{holder:#x}'"),
            "fields.value",
        ),
    ] {
        let (answer, said) = ask(&sql);
        assert_eq!(answer.lines().nth(1), Some("1048576"), "{sql}");
        assert!(said.contains(&format!("{name} gave only")), "{said}");
    }
}
