//! Selectors of series: `service="shop",pod=~"a.*"`.

use regex::Regex;

use crate::batch::Series;

/// The label of threads, which rows have and series have not.
pub(super) const THREAD: &str = "thread";

/// Short names of labels.
const SHORT: [(&str, &str); 7] = [
    ("service", "service.name"),
    ("host", "host.name"),
    ("pod", "k8s.pod.name"),
    ("namespace", "k8s.namespace.name"),
    ("container", "container.id"),
    ("version", "service.version"),
    ("pid", "process.pid"),
];

/// How a value is compared.
#[derive(Debug, Clone)]
enum Test {
    Is(String),
    IsNot(String),
    Matches(Regex),
    MatchesNot(Regex),
}

/// Conditions, all of which must hold.
#[derive(Debug, Clone, Default)]
pub struct Selector {
    conditions: Vec<(String, Test)>,
}

/// The full name of a label.
pub(super) fn full(name: &str) -> &str {
    let known = SHORT.iter().find(|known| known.0 == name);
    known.map_or(name, |known| known.1)
}

/// True if two names of labels are the same but for dots, which Pyroscope's labels cannot have.
fn is_like(one: &str, other: &str) -> bool {
    let plain = |byte: u8| if byte == b'.' { b'_' } else { byte };
    one.len() == other.len() && one.bytes().map(plain).eq(other.bytes().map(plain))
}

/// The value of a label of a series; empty if it has none.
pub(super) fn value<'a>(series: &'a Series, name: &str) -> &'a str {
    let labelled = |name: &str| {
        series.labels.get(name).or_else(|| {
            let mut labels = series.labels.iter();
            labels.find(|label| is_like(label.0, name)).map(|it| it.1)
        })
    };
    // A sender may have labels with the short names, too.
    let found = labelled(full(name)).or_else(|| labelled(name));
    found.map_or("", String::as_str)
}

impl Test {
    fn holds(&self, value: &str) -> bool {
        match self {
            Self::Is(text) => value == text,
            Self::IsNot(text) => value != text,
            Self::Matches(regex) => regex.is_match(value),
            Self::MatchesNot(regex) => !regex.is_match(value),
        }
    }
}

impl Selector {
    /// Parses conditions with commas or `and` between them, in braces or not.
    ///
    /// # Errors
    /// A sentence that says what is expected where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut rest = text.trim();
        if let Some(inner) = rest.strip_prefix('{') {
            rest = inner
                .strip_suffix('}')
                .ok_or("selector: a } is missing at the end")?
                .trim();
        }
        let mut selector = Self::default();
        while !rest.is_empty() {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || "._-/".contains(c)));
            let (name, behind) = rest.split_at(end.unwrap_or(rest.len()));
            let behind = behind.trim_start();
            if name.is_empty() {
                return Err(format!(
                    "selector: the name of a label is expected at {rest:?}, as in service=\"shop\""
                ));
            }
            let operators = ["=~", "!~", "!=", "="];
            let operator = operators.into_iter().find(|it| behind.starts_with(it));
            let operator = operator.ok_or_else(|| {
                format!("selector: one of = != =~ !~ is expected behind {name:?}")
            })?;
            let quoted = behind
                .get(operator.len()..)
                .unwrap_or_default()
                .trim_start();
            let (value, behind) = quoted_value(quoted)
                .ok_or_else(|| format!("selector: {name}{operator} needs a value in quotes"))?;
            let regex = |text: &str| {
                let built = regex::RegexBuilder::new(&format!("^(?:{text})$"))
                    .size_limit(1 << 20)
                    .build();
                built.map_err(|_| {
                    format!("selector: {name}{operator}: {text:?} is no regular expression")
                })
            };
            let test = match operator {
                "=" => Test::Is(value),
                "!=" => Test::IsNot(value),
                "=~" => Test::Matches(regex(&value)?),
                _ => Test::MatchesNot(regex(&value)?),
            };
            selector.conditions.push((name.to_owned(), test));
            let behind = behind.trim_start();
            let next = behind
                .strip_prefix(',')
                .or_else(|| behind.strip_prefix("and "));
            rest = match next {
                Some(next) => next.trim_start(),
                None if behind.is_empty() => "",
                None => {
                    return Err(format!("selector: a comma is expected at {behind:?}"));
                }
            };
        }
        Ok(selector)
    }

    /// True if a series holds all conditions that are not of its threads.
    pub(super) fn takes(&self, series: &Series) -> bool {
        self.conditions
            .iter()
            .filter(|condition| condition.0 != THREAD)
            .all(|(name, test)| test.holds(value(series, name)))
    }

    /// True if some condition is of threads.
    pub(super) fn has_threads(&self) -> bool {
        self.conditions.iter().any(|it| it.0 == THREAD)
    }

    /// True if a thread holds all conditions of threads.
    pub(super) fn takes_thread(&self, thread: &str) -> bool {
        self.conditions
            .iter()
            .filter(|condition| condition.0 == THREAD)
            .all(|condition| condition.1.holds(thread))
    }
}

/// The text in quotes at the start, in which a backslash is before quotes and backslashes, and what is behind it.
fn quoted_value(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut value = String::new();
    let mut is_escaped = false;
    for (at, c) in inner.char_indices() {
        match c {
            '"' if !is_escaped => return Some((value, inner.get(at + 1..).unwrap_or_default())),
            '\\' if !is_escaped => {
                is_escaped = true;
                continue;
            }
            // Other escapes are those of regular expressions.
            c => {
                if is_escaped && c != '"' && c != '\\' {
                    value.push('\\');
                }
                value.push(c);
            }
        }
        is_escaped = false;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::batch::series;
    use super::super::kind;
    use super::*;

    #[test]
    fn conditions_are_of_labels_and_threads() {
        let labels = [
            ("service.name", "shop"),
            ("k8s.pod.name", "a-1"),
            ("odd_key", "x\"y"),
        ];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let series = series(labels, &kind::of_sender("samples", "count"));
        for (text, takes) in [
            ("", true),
            ("service=\"shop\"", true),
            ("{service=\"shop\", pod=~\"a.*\"}", true),
            ("service=\"shop\" and pod!~\"a-\\d\"", false),
            ("pod=~\"a\"", false),
            ("service!=\"shop\"", false),
            ("service_name=\"shop\"", true),
            ("odd.key=\"x\\\"y\"", true),
            ("zone=\"\"", true),
            ("thread=\"main\"", true),
        ] {
            let selector = Selector::parse(text).expect(text);
            assert_eq!(selector.takes(&series), takes, "{text}");
        }
        let threads = Selector::parse("thread=~\"worker-.*\"").unwrap();
        assert!(threads.has_threads() && threads.takes_thread("worker-1"));
        assert!(!threads.takes_thread("main"));
        for wrong in [
            "service",
            "service=shop",
            "=\"a\"",
            "a=\"b\" c=\"d\"",
            "a=~\"(\"",
            "{a=\"b\"",
        ] {
            let error = Selector::parse(wrong).expect_err(wrong);
            assert!(error.starts_with("selector: "), "{error}");
        }
    }
}
