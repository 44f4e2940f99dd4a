//! `report --md` of a dump whose names are mark-up.

use std::fs;

use crate::made::Made;
use crate::made::Put::Ref;
use crate::support::{Scene, run, stderr, stdout};

/// The end of code, a link, a picture, a tag, a cell, a heading, and a line from right to left.
const EVIL: &str = "EVIL`EVIL``EVIL[EVIL](http://x)![EVIL](y)<img src=x EVIL>|EVIL\\|EVIL\n# EVIL\u{202e}*EVIL*@EVIL";

/// The text without its blocks and spans of code, by the rules of CommonMark.
fn without_code(text: &str) -> String {
    let mut outside = String::new();
    let mut is_block = false;
    for line in text.lines() {
        if line.trim_end() == "```" {
            is_block = !is_block;
            continue;
        }
        let mut rest = line;
        while !is_block && let Some(at) = rest.find('`') {
            outside.push_str(&rest[..at]);
            let fence = rest[at..].len() - rest[at..].trim_start_matches('`').len();
            rest = &rest[at + fence..];
            let mut from = 0;
            // A span ends at a row of just as many.
            rest = loop {
                let start = from + rest[from..].find('`').expect("a span that ends");
                let length = rest[start..].len() - rest[start..].trim_start_matches('`').len();
                from = start + length;
                if length == fence {
                    break &rest[from..];
                }
            };
        }
        if !is_block {
            outside.push_str(rest);
        }
        outside.push('\n');
    }
    assert!(!is_block, "a block that does not end: {text}");
    outside
}

#[test]
fn names_from_the_dump_are_code_in_markdown() {
    let mut made = Made::new();
    let object = made.object();
    let string = made.class("java.lang.String", object, &[("value", Ref(0))]);
    let field = format!("field{EVIL}");
    let class = format!("a.B{EVIL}");
    let holder = made.class(&class, object, &[(field.as_str(), Ref(0))]);
    let array_of = format!("[L{class};");
    let array_of = made.class(&array_of.replace('.', "/"), object, &[]);
    let texts: Vec<u64> = (0..2)
        .map(|_| made.string(string, &EVIL.repeat(200).replace('\u{202e}', "")))
        .collect();
    let items: Vec<u64> = (0..400).map(|_| made.instance(holder, &[])).collect();
    let all = made.array(array_of, &[items, texts].concat());
    let top = made.instance(holder, &[(field.as_str(), Ref(all))]);
    made.native(top);
    let scene = Scene::new();
    fs::write(scene.path("evil.hprof"), made.bytes()).expect("a dump");
    let output = run(&mut scene.hprof_rs(&["report", "--md", "evil.hprof"]), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("## Leak suspects\n\n### 1. "), "{text}");
    assert!(text.matches("EVIL").count() > 50, "{text}");
    assert!(!text.contains('\u{202e}'), "{text}");
    let outside = without_code(&text);
    assert!(!outside.contains("EVIL"), "{outside}");
    // Every row of a table has the cells of its head: pipes of names are no ends of cells.
    let ends = |row: &str| {
        row.replace("\\\\", "")
            .replace("\\|", "")
            .matches('|')
            .count()
    };
    let mut width = None;
    for line in text.lines() {
        match line.starts_with("| ") {
            true => assert_eq!(ends(line), *width.get_or_insert(ends(line)), "{line}"),
            false if line.starts_with("|--") => {}
            false => width = None,
        }
    }
}
