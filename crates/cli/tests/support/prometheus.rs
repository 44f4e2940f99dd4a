//! A strict reader of Prometheus' text format.

use std::collections::{BTreeMap, BTreeSet};

/// The samples of a text in Prometheus' format, which is checked line by line
/// (<https://prometheus.io/docs/instrumenting/exposition_formats/>).
pub fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    let (mut helped, mut typed) = (BTreeSet::new(), BTreeMap::new());
    let is_name = |name: &str| {
        let all = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        !name.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty() && name.chars().all(all)
    };
    assert!(text.ends_with('\n'), "the last line ends");
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, about) = rest.split_once(' ').expect(line);
            assert!(
                is_name(name) && !about.is_empty() && helped.insert(name),
                "{line}"
            );
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect(line);
            assert!(["counter", "gauge"].contains(&kind), "{line}");
            assert!(
                typed.insert(name, kind).is_none() && helped.contains(name),
                "{line}"
            );
        } else {
            let (key, value) = line.rsplit_once(' ').expect(line);
            let name = key.split('{').next().expect(line);
            assert!(is_name(name), "{line}");
            if let Some(labels) = key.strip_prefix(name).filter(|it| !it.is_empty()) {
                let labels = labels
                    .strip_prefix('{')
                    .and_then(|it| it.strip_suffix("\"}"));
                for label in labels.expect(line).split("\",") {
                    let (label, _) = label.split_once("=\"").expect(line);
                    assert!(is_name(label), "{line}");
                }
            }
            let kind = typed.get(name).copied();
            assert_eq!(kind == Some("counter"), name.ends_with("_total"), "{line}");
            assert!(kind.is_some(), "{line} has a type");
            let value: f64 = value.parse().expect(line);
            assert!(
                samples.insert(key.to_owned(), value).is_none(),
                "{line} comes once"
            );
        }
    }
    samples
}
