//! Facts of a JDK, and how those of two JDKs differ.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Names and values, by section.
#[derive(Debug, Default)]
pub struct Facts(BTreeMap<&'static str, BTreeMap<String, String>>);

impl Facts {
    /// Adds a fact. The values of equal names in one section are joined.
    pub fn add(&mut self, section: &'static str, name: &str, value: &str) {
        let values = self.0.entry(section).or_default();
        let known = values.entry(name.to_owned()).or_default();
        if known.is_empty() {
            value.clone_into(known);
        } else if known != value {
            *known = format!("{known}; {value}");
        }
    }

    /// How many facts there are of a section.
    pub fn count(&self, section: &str) -> usize {
        self.0.get(section).map_or(0, BTreeMap::len)
    }

    fn value(&self, section: &str, name: &str) -> Option<&str> {
        Some(self.0.get(section)?.get(name)?)
    }
}

/// The facts that differ, as Markdown tables. `uses` says whether the agent depends on a name.
pub fn differences(of: [&str; 2], facts: &[Facts; 2], uses: impl Fn(&str) -> bool) -> String {
    let [old, new] = facts;
    let sections: BTreeSet<&str> = old.0.keys().chain(new.0.keys()).copied().collect();
    let mut text = String::new();
    for section in sections {
        let [olds, news] = [old, new].map(|it| it.0.get(section));
        let names: BTreeSet<&String> = [olds, news]
            .into_iter()
            .flatten()
            .flat_map(BTreeMap::keys)
            .collect();
        let mut rows: Vec<_> = names
            .into_iter()
            .filter(|name| old.value(section, name) != new.value(section, name))
            .map(|name| (!uses(name), name))
            .collect();
        // Facts that the agent depends on come first.
        rows.sort();
        let _ = writeln!(
            text,
            "\n## {section}: {} differ, {} of them used by the agent\n",
            rows.len(),
            rows.iter().filter(|(unused, _)| !unused).count()
        );
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(
            text,
            "| Name | {} | {} | Used |\n|---|---|---|---|",
            of[0], of[1]
        );
        for (unused, name) in rows {
            let show = |facts: &Facts| {
                facts
                    .value(section, name)
                    .unwrap_or("absent")
                    .replace('|', "\\|")
            };
            let used = if unused { "no" } else { "yes" };
            let _ = writeln!(
                text,
                "| `{name}` | {} | {} | {used} |",
                show(old),
                show(new)
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_listed_with_those_that_matter_first() {
        let mut old = Facts::default();
        let mut new = Facts::default();
        for facts in [&mut old, &mut new] {
            facts.add("fields", "A::same", "int");
        }
        old.add("fields", "A::gone", "int");
        new.add("fields", "A::wide", "long");
        old.add("fields", "A::wide", "int");
        new.add("flags", "New", "bool");
        let text = differences(["27", "28"], &[old, new], |name| name == "A::wide");
        let fields = "## fields: 2 differ, 1 of them used by the agent\n\n| Name | 27 | 28 | Used |\n|---|---|---|---|\n\
            | `A::wide` | int | long | yes |\n| `A::gone` | int | absent | no |\n";
        assert!(text.contains(fields), "{text}");
        assert!(text.contains("| `New` | absent | bool | no |"), "{text}");
    }
}
