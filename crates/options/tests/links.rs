//! Links between the documents lead somewhere.

use std::fs;
use std::path::{Path, PathBuf};

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut documents = Vec::new();
    for folder in [root.clone(), root.join("docs")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "md") {
                documents.push(path);
            }
        }
    }
    documents
}

/// The targets of Markdown links, and of `href` and `src`.
fn links(text: &str) -> Vec<&str> {
    [("](", ')'), ("href=\"", '"'), ("src=\"", '"')]
        .iter()
        .flat_map(|&(begin, end)| {
            text.split(begin)
                .skip(1)
                .filter_map(move |rest| rest.split_once(end).map(|(link, _)| link))
        })
        .collect()
}

/// The anchors that GitHub gives a document's headings.
fn anchors(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            line.trim_start_matches('#')
                .trim()
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let mut checked = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            if link.contains("://") {
                continue;
            }
            checked += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => document.clone(),
                _ => document.parent().unwrap().join(file),
            };
            let shown = document.display();
            assert!(target.exists(), "{shown}: {link} leads nowhere");
            if !anchor.is_empty() {
                let anchors = anchors(&fs::read_to_string(&target).unwrap());
                assert!(
                    anchors.iter().any(|it| it == anchor),
                    "{shown}: {link} has no such heading: {anchors:?}"
                );
            }
        }
    }
    assert!(checked > 40, "{checked} links");
}
