//! Rules against the figures of a report.

use serde_json::Value;

use super::limit::size;
use super::{Kind, Rule, Verdict};
use crate::views::report::{REPORT_ROWS, Report, Retained};

/// Judges a rule by a report.
pub fn judge(rule: &Rule, report: &Report) -> Verdict {
    let found = measure(rule, report);
    let is_above = found.number.is_some_and(|number| number > rule.limit);
    let passed = found.number.is_some() && !is_above && !found.may_be_more;
    let mut sentence = found.sentence;
    if is_above {
        // Rounded, the figure may read like the limit.
        if let Some(number) = found.number.filter(|_| rule.kind.is_size())
            && size(number) == size(rule.limit)
        {
            let exact = format!("{} ({number} bytes)", size(number));
            sentence = sentence.replacen(&size(number), &exact, 1);
        }
        sentence.push_str(&format!(", above {}", rule.written));
    } else if found.may_be_more {
        sentence.push_str(", and how much more is not known");
    }
    sentence.push('.');
    // Figures of a part say nothing about the whole.
    if let Some(note) = report.notes.first().filter(|_| passed) {
        sentence.push_str(&format!(" Mind that {note}."));
    }
    Verdict {
        rule: rule.to_string(),
        passed: Some(passed),
        sentence: Some(sentence),
    }
}

/// A measured value.
struct Measured {
    /// The figure, or what it is at most; none if nothing is known.
    number: Option<u64>,
    /// True if the figure is a lower bound.
    may_be_more: bool,
    sentence: String,
}

impl Measured {
    fn is(number: u64, sentence: String) -> Self {
        Self {
            number: Some(number),
            may_be_more: false,
            sentence,
        }
    }

    fn unknown(sentence: String) -> Self {
        Self {
            number: None,
            may_be_more: false,
            sentence,
        }
    }
}

fn plural(number: u64, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    }
}

fn measure(rule: &Rule, report: &Report) -> Measured {
    let total = |key: &str| report.summary.get(key).and_then(Value::as_u64);
    let named = rule.name.as_deref();
    match (rule.kind, named) {
        (Kind::Retained, name) => largest_of(&report.classes, name, "class", "keeps", retained),
        (Kind::Package, name) => largest_of(&report.packages, name, "package", "keeps", retained),
        (Kind::Objects, Some(name)) => {
            largest_of(&report.classes, Some(name), "class", "has", objects)
        }
        (Kind::ClassLoaders, Some(name)) => loaders(&report.loaders, name),
        (Kind::Largest, _) => match report.objects.first() {
            Some(object) => Measured::is(
                object.retained_bytes,
                format!(
                    "{} keeps {} alive",
                    object.description,
                    size(object.retained_bytes)
                ),
            ),
            None => Measured::is(0, "no object keeps anything alive".to_owned()),
        },
        (Kind::Duplicates, _) => {
            let bytes = report.duplicates.wasted_bytes;
            Measured::is(
                bytes,
                format!("equal strings and arrays waste {}", size(bytes)),
            )
        }
        (Kind::Suspects, _) => {
            let number = report.leaks.suspects.len() as u64;
            let mut sentence = match number {
                0 => "there is no leak suspect".to_owned(),
                number => format!(
                    "there are {}",
                    plural(number, "leak suspect", "leak suspects")
                ),
            };
            if let Some(first) = report.leaks.suspects.first() {
                sentence.push_str(&format!(" ({})", first.headline));
            }
            Measured::is(number, sentence)
        }
        (kind, _) => {
            let (key, what) = match kind {
                Kind::Live => ("live_bytes", "live objects"),
                Kind::Unreached => ("unreached_bytes", "objects that no root reaches"),
                Kind::Objects => ("live_objects", "live objects"),
                Kind::Classes => ("classes", "classes"),
                Kind::ClassLoaders => ("loaders", "class loaders"),
                _ => ("threads", "threads"),
            };
            match total(key) {
                None => Measured::unknown(format!("the report has no {key}")),
                Some(bytes) if kind.is_size() => {
                    Measured::is(bytes, format!("{what} take {}", size(bytes)))
                }
                Some(number) => Measured::is(number, format!("there are {number} {what}")),
            }
        }
    }
}

fn retained(row: &Retained) -> (u64, String) {
    (
        row.retained_bytes,
        format!("{} alive", size(row.retained_bytes)),
    )
}

fn objects(row: &Retained) -> (u64, String) {
    (
        row.objects,
        plural(row.objects, "live object", "live objects"),
    )
}

/// The row with a name, or of those that a pattern matches the largest.
fn largest_of(
    rows: &[Retained],
    name: Option<&str>,
    what: &str,
    verb: &str,
    figure: fn(&Retained) -> (u64, String),
) -> Measured {
    let name = name.unwrap_or("*");
    // The report has the rows that retain most. Others retain no more than its last, and an object
    // has at least 8 bytes and retains itself.
    let last = rows.last().filter(|_| rows.len() >= REPORT_ROWS);
    let beyond = last.map(|last| {
        let other = Retained {
            objects: last.retained_bytes / 8,
            ..last.clone()
        };
        (figure(&other).0, last.retained_bytes)
    });
    let matching = rows.iter().filter(|row| matches(name, &row.name));
    let largest = matching.max_by_key(|row| figure(row).0);
    match (largest, beyond) {
        (Some(row), beyond) => {
            let (number, words) = figure(row);
            let others = beyond.filter(|_| name.contains('*')).map_or(0, |it| it.0);
            let bound = if row.is_exact { "" } else { "at least " };
            Measured {
                number: Some(number.max(others)),
                may_be_more: !row.is_exact,
                sentence: format!("{what} {} {verb} {bound}{words}", row.name),
            }
        }
        (None, None) => Measured::is(0, format!("no live object is of a {what} {name}")),
        (None, Some((most, bytes))) => Measured::is(
            most,
            format!(
                "{what} {name} is not among the {} that keep most alive, so it keeps at most {} \
                 alive",
                rows.len(),
                size(bytes)
            ),
        ),
    }
}

/// The loaders of a class.
fn loaders(rows: &[Retained], name: &str) -> Measured {
    let class = |row: &&Retained| {
        let class = row.name.split_whitespace().next().unwrap_or_default();
        matches(name, class)
    };
    let number = rows.iter().filter(class).count() as u64;
    let sentence = format!(
        "{} of class {name}",
        match number {
            0 => "there is no class loader".to_owned(),
            1 => "there is 1 class loader".to_owned(),
            number => format!("there are {number} class loaders"),
        }
    );
    match rows.len() >= REPORT_ROWS {
        // Others may follow that retain less.
        true => Measured::unknown(format!(
            "{sentence} among the {} that keep most alive, and there are others",
            rows.len()
        )),
        false => Measured::is(number, sentence),
    }
}

/// Returns whether a pattern with `*` for any characters matches a whole name.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report() -> Report {
        let row = |name: &str, objects: u64, bytes: u64| json!({"name": name, "objects": objects, "retained_bytes": bytes, "is_exact": true});
        serde_json::from_value(json!({
            "summary": {"live_bytes": 2_000_000, "live_objects": 100, "loaders": 3, "threads": 9,
                "classes": 40, "unreached_bytes": 0},
            "leaks": {"suspects": [{"headline": "One map keeps 1.5 MB alive"}]},
            "objects": [{"description": "java.util.HashMap", "retained_bytes": 1_500_000}],
            "classes": [row("com.example.Cache", 2, 1_500_000), row("com.example.Key", 50, 1000)],
            "packages": [row("com.example", 52, 1_600_000)],
            "loaders": [row("boot loader", 50, 5), row("org.Plugin 0x1", 1, 4), row("org.Plugin 0x2", 1, 4)],
            "duplicates": {"wasted_bytes": 5000},
        }))
        .unwrap()
    }

    #[track_caller]
    fn check(rule: &str, passed: bool, words: &str) {
        let verdict = judge(&rule.parse().unwrap(), &report());
        let sentence = verdict.sentence.unwrap();
        assert_eq!(verdict.passed, Some(passed), "{rule}: {sentence}");
        assert!(sentence.contains(words), "{rule}: {sentence}");
    }

    #[test]
    fn a_dump_at_the_limit_keeps_the_rule() {
        check(
            "retained:com.example.Cache=1.5MB",
            true,
            "keeps 1.5 MB alive.",
        );
        check(
            "retained:com.example.Cache=1.4MB",
            false,
            "keeps 1.5 MB alive, above 1.4MB.",
        );
        check(
            "retained:com.example.*=1MB",
            false,
            "class com.example.Cache",
        );
        check("retained:com.exmaple.Cache=1MB", true, "no live object");
        check("package:com.example=1MB", false, "1.6 MB");
        check("objects:com.example.Key=49", false, "50 live objects");
        check("objects=100", true, "100 live objects");
        check("suspects=0", false, "1 leak suspect (One map");
        check("suspects=1", true, "1 leak suspect");
        check("largest=1MB", false, "java.util.HashMap");
        check("duplicates=5kB", true, "5.0 kB");
        check("classloaders=2", false, "3 class loaders");
        check("classloaders:org.Plugin=1", false, "2 class loaders");
        check("classloaders:org.Other=0", true, "no class loader");
        check("live=2MB", true, "2.0 MB");
        check("unreached=0", true, "0 B");
        check("threads=8", false, "9 threads");
        check("classes=40", true, "40 classes");
    }

    #[test]
    fn a_figure_that_reads_like_the_limit_is_told_to_the_byte() {
        for (rule, words) in [
            ("largest=1499999B", "keeps 1.5 MB alive, above 1499999B."),
            (
                "retained:com.example.Key=999B",
                "keeps 1.0 kB alive, above 999B.",
            ),
        ] {
            check(rule, false, words);
        }
        let mut report = report();
        report.objects[0].retained_bytes = 10_000_001;
        let verdict = judge(&"largest=10MB".parse().unwrap(), &report);
        let sentence = verdict.sentence.unwrap();
        assert!(
            sentence.ends_with("keeps 10.0 MB (10000001 bytes) alive, above 10MB."),
            "{sentence}"
        );
    }

    #[test]
    fn what_a_full_table_leaves_out_is_bounded_by_its_last_row() {
        let mut report = report();
        let last = report.classes[1].clone();
        report.classes.resize(REPORT_ROWS, last);
        let other = |rule: &str| judge(&rule.parse().unwrap(), &report).passed;
        assert_eq!(other("retained:a.B=1kB"), Some(true));
        assert_eq!(other("retained:a.B=999B"), Some(false));
        assert_eq!(other("objects:a.B=125"), Some(true));
        assert_eq!(other("objects:a.B=124"), Some(false));
        let last = report.loaders[1].clone();
        report.loaders.resize(REPORT_ROWS, last);
        let loaders = "classloaders:org.Plugin=9999".parse().unwrap();
        assert_eq!(judge(&loaders, &report).passed, Some(false));
    }

    #[test]
    fn a_lower_bound_passes_no_rule() {
        let mut report = report();
        report.classes[0].is_exact = false;
        let verdict = judge(&"retained:com.example.Cache=2MB".parse().unwrap(), &report);
        assert_eq!(verdict.passed, Some(false));
        assert!(verdict.sentence.unwrap().contains("not known"));
    }

    #[test]
    fn a_report_on_a_part_says_so_and_one_without_figures_passes_nothing() {
        let mut partial = report();
        partial.notes.push("the file is cut short".to_owned());
        let verdict = judge(&"live=1GB".parse().unwrap(), &partial);
        assert!(verdict.sentence.unwrap().contains("cut short"));
        let verdict = judge(&"live=1GB".parse().unwrap(), &Report::default());
        assert_eq!(verdict.passed, Some(false));
    }

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, is) in [
            ("a.B", "a.B", true),
            ("a.B", "a.Bc", false),
            ("a.*", "a.B", true),
            ("*.B", "a.c.B", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abde", false),
            ("*", "", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, name), is, "{pattern} {name}");
        }
    }
}
