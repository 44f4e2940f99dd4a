//! From the report of a dump to the figures that the catalogue keeps.

use std::collections::HashMap;

use hprof_analysis::names::family;
use serde_json::Value;

use crate::catalogue::{ClassFigures, Figures, MAX_CLASSES, MAX_SUSPECTS, SuspectFigures};
use crate::ids::SuspectCode;
use crate::time::Millis;
use crate::views::report::Report;

/// Characters of a name, signature or title that are kept. Longer ones are made to be long.
const MAX_TEXT: usize = 1000;

/// A text as every database takes it.
fn cut(text: &str) -> String {
    let kept = text.chars().filter(|&c| c != '\0');
    kept.take(MAX_TEXT).collect()
}

impl Figures {
    /// The figures of a report.
    pub fn of(report: &Report) -> Self {
        let total = |key: &str| report.summary.get(key).and_then(Value::as_u64);
        let taken_at = report.created_millis.and_then(|it| i64::try_from(it).ok());
        // Tools that do not know it write 0.
        let taken_at = taken_at.filter(|&time| time > 0);
        let suspects = report.leaks.suspects.iter();
        // Without a signature it cannot be told whether two are one.
        let suspects = suspects.filter(|suspect| !suspect.signature.is_empty());
        Self {
            taken_at: taken_at.map(Millis),
            live_objects: total("live_objects").unwrap_or(0),
            live_bytes: total("live_bytes").unwrap_or(0),
            array_waste: report.duplicates.wasted_bytes,
            string_waste: report.duplicates.wasted_in_strings,
            classes: classes(report),
            suspects: suspects
                .take(MAX_SUSPECTS)
                .map(|suspect| SuspectFigures {
                    code: SuspectCode::of_signature(&suspect.signature)
                        .as_str()
                        .to_owned(),
                    signature: cut(&suspect.signature),
                    title: cut(&suspect.headline),
                    retained: suspect.retained_bytes,
                    share: suspect.share.clamp(0.0, 1.0),
                })
                .collect(),
        }
    }
}

/// The classes that retain most. Classes whose names differ only in what changes from run to run are one.
fn classes(report: &Report) -> Vec<ClassFigures> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut classes: Vec<ClassFigures> = Vec::new();
    for row in &report.classes {
        let name = cut(&family(&row.name));
        let at = *places.entry(name).or_insert_with_key(|name| {
            classes.push(ClassFigures {
                name: name.clone(),
                ..ClassFigures::default()
            });
            classes.len() - 1
        });
        if let Some(class) = classes.get_mut(at) {
            class.objects = class.objects.saturating_add(row.objects);
            class.shallow = class.shallow.saturating_add(row.shallow_bytes);
            class.retained = class.retained.saturating_add(row.retained_bytes);
        }
    }
    classes.sort_by_key(|class| std::cmp::Reverse(class.retained));
    classes.truncate(MAX_CLASSES);
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(json: &Value) -> Report {
        serde_json::from_value(json.clone()).unwrap()
    }

    #[test]
    fn the_largest_classes_are_kept_and_lambdas_of_one_place_are_one_class() {
        let lambda = |number: u64| {
            serde_json::json!({
                "name": format!("com.example.Cart$$Lambda/0x{:016x}", 0x7f00_0000_1000_u64 + number),
                "objects": 1, "shallow_bytes": 16, "retained_bytes": 2000,
            })
        };
        let mut rows = vec![lambda(1), lambda(2)];
        rows.extend((0..200).map(|number| {
            serde_json::json!({
                "name": format!("com.example.Class{number}"),
                "objects": 10, "shallow_bytes": 100, "retained_bytes": 1000 - number,
            })
        }));
        let figures = Figures::of(&report(&serde_json::json!({
            "created_millis": 5, "summary": {"live_objects": 7, "live_bytes": 70},
            "duplicates": {"wasted_bytes": 9, "wasted_in_strings": null}, "classes": rows,
        })));
        assert_eq!(figures.taken_at, Some(Millis(5)));
        assert_eq!((figures.live_objects, figures.live_bytes), (7, 70));
        assert_eq!((figures.array_waste, figures.string_waste), (9, None));
        assert_eq!(figures.classes.len(), MAX_CLASSES);
        let first = &figures.classes[0];
        assert_eq!(
            (first.objects, first.shallow, first.retained),
            (2, 32, 4000)
        );
        assert!(!first.name.contains("7f00"), "{}", first.name);
        assert_eq!(figures.classes[1].name, "com.example.Class0");
    }

    #[test]
    fn suspects_are_known_by_their_signatures_and_texts_have_bounds() {
        let long = format!("a\0{}", "x".repeat(5000));
        let suspect = |signature: &str, headline: &str| {
            serde_json::json!({"signature": signature, "headline": headline, "share": 0.5,
                "retained_bytes": 3})
        };
        let figures = Figures::of(&report(&serde_json::json!({
            "created_millis": u64::MAX,
            "leaks": {"suspects": [suspect("A in B.c", "one"), suspect("A in B.c", "two"),
                suspect("", "of an earlier version"), suspect(&long, &long)]},
        })));
        assert_eq!(figures.taken_at, None);
        let codes: Vec<&str> = figures.suspects.iter().map(|it| it.code.as_str()).collect();
        assert_eq!(codes.len(), 3);
        assert_eq!(codes[0], codes[1]);
        assert_ne!(codes[0], codes[2]);
        assert_eq!(codes[0].len(), 16);
        assert_eq!(figures.suspects[2].signature.chars().count(), MAX_TEXT);
        assert!(!figures.suspects[2].title.contains('\0'));
    }
}
