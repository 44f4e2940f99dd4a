//! The documents: each link leads somewhere, each console block shows what its commands print.

mod sessions;
#[path = "../support/mod.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use java_test_harness::Jdk;
use sessions::{Place, sessions};
use support::Scene;

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository")
}

/// README.md, its neighbours, and all below docs/.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root().join("docs")];
    for name in [
        "README",
        "ARCHITECTURE",
        "CONTRIBUTING",
        "SECURITY",
        "CHANGELOG",
    ] {
        found.push(root().join(format!("{name}.md")));
    }
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => open.push(path),
                false if path.extension().is_some_and(|it| it == "md") => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    assert!(found.len() > 30, "{found:?}");
    found
}

/// A document without its blocks of code.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The places that links of a document lead to: `](here)`, `href="here"` and `src="here"`.
fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (open, close) in [("](", ')'), ("href=\"", '"'), ("src=\"", '"')] {
        let mut rest = text;
        while let Some((_, after)) = rest.split_once(open) {
            let (target, after) = after.split_once(close).expect("a whole link");
            found.push(target.to_owned());
            rest = after;
        }
    }
    found
}

/// The fragments of a document: its headings as GitHub and mdBook name them.
fn fragments(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let mut found = BTreeSet::new();
    for heading in headings {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let name: String = title.chars().filter(is_kept).collect();
        let name = name.replace(' ', "-");
        let mut number = 0;
        let mut unique = name.clone();
        while !found.insert(unique) {
            number += 1;
            unique = format!("{name}-{number}");
        }
    }
    found
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    let mut checked = 0;
    let mut wrong = Vec::new();
    for document in documents() {
        let text = prose(&fs::read_to_string(&document).expect("a document"));
        for target in targets(&text) {
            if target.starts_with("https://") || target.starts_with("http://localhost") {
                continue;
            }
            let (path, fragment) = target.split_once('#').unwrap_or((&target, ""));
            let path = match path {
                "" => document.clone(),
                path => document.parent().expect("a folder").join(path),
            };
            let is_there = match (path.exists(), fragment) {
                (false, _) => false,
                (true, "") => true,
                (true, fragment) => {
                    let text = fs::read_to_string(&path).expect("a document");
                    fragments(&prose(&text)).contains(fragment)
                }
            };
            if !is_there {
                wrong.push(format!("{}: {target}", document.display()));
            }
            checked += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 120, "{checked} links");
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).expect("the table of contents");
    let listed: BTreeSet<PathBuf> = targets(&summary).into_iter().map(PathBuf::from).collect();
    for document in documents() {
        // The site has the documents of the repository's root beside those of docs/.
        let inside = document.strip_prefix(&docs).map(Path::to_owned);
        let name = inside
            .unwrap_or_else(|_| PathBuf::from("..").join(document.file_name().expect("a name")));
        if name == Path::new("SUMMARY.md") {
            continue;
        }
        assert!(
            listed.contains(&name),
            "SUMMARY.md lacks {}",
            name.display()
        );
    }
}

/// The files below a folder, by an ending.
fn below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(below(&path, ending)),
            false if path.extension().is_some_and(|it| it == ending) => found.push(path),
            false => {}
        }
    }
    found
}

#[test]
#[allow(clippy::disallowed_macros)]
fn the_site_has_no_broken_link_and_loads_nothing_from_elsewhere() {
    let cache = ["HPROF_RS_CACHE", "XDG_CACHE_HOME", "HOME"].map(std::env::var_os);
    let cache = match cache {
        [Some(own), ..] => PathBuf::from(own),
        [_, Some(cache), _] => PathBuf::from(cache).join("hprof-rs"),
        [.., home] => PathBuf::from(home.expect("a home")).join(".cache/hprof-rs"),
    };
    if !cache.join("mdbook").is_dir() {
        println!("skipped, as mdBook is missing; `scripts/setup site` installs it");
        return;
    }
    let scene = Scene::new();
    let site = scene.path("site");
    let built = Command::new(root().join("scripts/site"))
        .arg(&site)
        .output();
    let built = built.expect("the script runs");
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let pages = below(&site, "html");
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for page in &pages {
        let text = fs::read_to_string(page).expect("a page");
        for (mark, loads) in [("href=\"", false), ("src=\"", true)] {
            for target in text.split(mark).skip(1) {
                let target = target.split('"').next().expect("a target");
                if target.starts_with("http") || target.starts_with("data:") {
                    assert!(
                        !(loads && target.starts_with("http")),
                        "{}: {target}",
                        page.display()
                    );
                    continue;
                }
                let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
                let to = match path {
                    "" => page.clone(),
                    path => page.parent().expect("a folder").join(path),
                };
                let has = |id: &str| {
                    let text = fs::read_to_string(&to).unwrap_or_default();
                    text.contains(&format!("id=\"{id}\""))
                };
                if !to.is_file() || !fragment.is_empty() && !has(fragment) {
                    wrong.push(format!("{}: {target}", page.display()));
                }
                checked += 1;
            }
        }
    }
    // The page for addresses that do not exist is for servers, at whose root it assumes the site.
    wrong.retain(|it| !it.contains("404.html"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        pages.len() > 35 && checked > 500,
        "{} pages, {checked} links",
        pages.len()
    );
}

/// The words of a text that do not change from run to run.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split_whitespace();
    let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let stays = |word: &&str| word.len() > 1 && !word.contains(|c: char| c.is_ascii_digit());
    words.filter(stays).map(str::to_owned).collect()
}

#[test]
fn console_blocks_show_what_their_commands_print() {
    let classes = tempfile::tempdir().expect("a folder");
    let compiled = Command::new(Jdk::compiler().home().join("bin/javac"))
        .arg("-d")
        .arg(classes.path())
        .arg(root().join("docs/examples/Shop.java"))
        .status();
    assert!(compiled.expect("javac").success());
    let (mut ran, mut left_out) = (0, BTreeMap::new());
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document");
        let mut place = None;
        for session in sessions(&text) {
            let at = format!("{}:{}", document.display(), session.line);
            if let Some(reason) = session.mark.strip_prefix("not run: ") {
                left_out.insert(at, reason.to_owned());
                continue;
            }
            assert!(
                session.mark.starts_with("run: "),
                "{at}: say in a comment above what the block runs with, or why it does not run"
            );
            let place = place.get_or_insert_with(|| Place::new(classes.path()));
            let printed = place.run(&session);
            assert_eq!(printed.len(), session.steps.len(), "{at}: {printed:?}");
            for (step, (command, expected)) in session.steps.iter().enumerate() {
                let (output, status) = &printed[step];
                // A status that the next command prints is part of the example.
                let is_shown = session
                    .steps
                    .get(step + 1)
                    .is_some_and(|next| next.0 == "echo $?");
                assert!(
                    is_shown || *status == 0,
                    "{at}: {command}: status {status}: {output}"
                );
                let expected = words(&expected.join("\n"));
                let found = words(output);
                let missing: Vec<&String> = expected.difference(&found).collect();
                let share = missing.len() * 100 / expected.len().max(1);
                assert!(
                    share <= 40,
                    "{at}: {command} printed no {missing:?}: {output}"
                );
            }
            ran += 1;
        }
    }
    assert!(ran >= 12, "{ran} blocks ran; left out: {left_out:?}");
    assert!(left_out.len() <= 3, "{left_out:?}");
}
