//! docs/troubleshooting.md quotes messages as they are in the sources.

use std::fs;
use std::path::Path;

/// Messages of the VM, not of this project.
const OF_THE_VM: [&str; 3] = [
    "Could not find agent library",
    "WARNING: A JVM TI agent has been loaded dynamically",
    "return code: -1",
];

/// The prefixes of lines of the agent and the command.
const BEGINNINGS: [&str; 4] = [
    "HPROF ERROR: ",
    "HPROF: ",
    "hprof-rs: ",
    "hprof option error: ",
];

#[test]
fn every_message_that_is_quoted_is_in_the_sources() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = String::new();
    for crate_name in [
        "agent",
        "crates/analysis",
        "crates/cli",
        "crates/foreign",
        "crates/options",
        "crates/server",
        "crates/thread-dumps",
        "crates/wire",
    ] {
        collect(&workspace.join(crate_name).join("src"), &mut sources);
    }
    // The document cannot show the code marks that some messages have.
    let sources = as_printed(&sources).replace('`', "");
    let document = fs::read_to_string(workspace.join("docs/troubleshooting.md")).unwrap();
    let messages = quoted(&document);
    assert!(messages.len() > 40, "{messages:?}");
    let missing: Vec<String> = messages
        .iter()
        .filter(|message| !OF_THE_VM.iter().any(|start| message.starts_with(start)))
        .flat_map(|message| pieces(message))
        .filter(|piece| !sources.contains(piece.as_str()))
        .collect();
    assert!(missing.is_empty(), "nobody says {missing:#?}");
}

/// The text of all source files below a folder, tests left out.
fn collect(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).unwrap();
            // Unit tests stand at the end, and quote messages as well.
            let end = text.find("#[cfg(test)]\nmod tests {");
            sources.push_str(&text[..end.unwrap_or(text.len())]);
        }
    }
}

/// String literals as they are printed, with `…` for what is put in.
fn as_printed(sources: &str) -> String {
    let mut text = String::with_capacity(sources.len());
    let mut rest = sources;
    while let Some(at) = rest.find(['\\', '{']) {
        let (before, tail) = rest.split_at(at);
        text.push_str(before);
        rest = &tail[1..];
        if tail.starts_with('{') {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "_.:?#".contains(c);
            let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(0)];
            if rest[name.len()..].starts_with('}') {
                rest = &rest[name.len() + 1..];
                text.push_str(match name {
                    "TOOL_OPTIONS" => "JAVA_TOOL_OPTIONS",
                    _ => "…",
                });
            }
        } else if rest.starts_with('\n') {
            // A literal continues in the next line.
            rest = rest.trim_start();
        }
    }
    text.push_str(rest);
    text
}

/// The texts in bold code marks, or in code marks at the start of a list item.
fn quoted(document: &str) -> Vec<String> {
    let mut messages = Vec::new();
    for paragraph in document.split("\n\n") {
        let bold = paragraph.split("**").skip(1).step_by(2);
        let items = paragraph
            .split("\n- ")
            .chain(paragraph.strip_prefix("- "))
            .filter(|item| item.starts_with('`'))
            .filter_map(|item| item.split_once("`:").map(|(code, _)| code));
        let codes = bold.flat_map(|text| text.split('`').skip(1).step_by(2));
        for code in codes.chain(items.map(|code| &code[1..])) {
            messages.push(code.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    messages
}

/// The parts of a message that are always the same.
fn pieces(message: &str) -> Vec<String> {
    let mut text = message;
    for beginning in BEGINNINGS {
        text = text.strip_prefix(beginning).unwrap_or(text);
    }
    text.split('…')
        .flat_map(|piece| piece.split(": "))
        .map(|piece| {
            piece
                .trim_matches([' ', ':', '(', ')', ';', ','])
                .to_owned()
        })
        .filter(|piece| piece.len() > 2)
        .collect()
}
