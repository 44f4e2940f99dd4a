//! `slow=`: which methods are timed, and which of their calls are slow.

use std::time::Duration;

use super::patterns::glob;

/// Which calls of a method are slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlowThreshold {
    /// None: the calls are timed, and the slowest ones listed.
    #[default]
    None,
    /// Those that take as long or longer.
    Time(Duration),
    /// Those above this share of the calls so far, in thousandths of a percent: 99,000 is p99.
    Share(u32),
}

/// The class of the names of spans: `span.checkout` is the span `checkout`.
pub const SPANS: &str = "span";

/// A pattern of methods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowPattern {
    /// Class and method with a dot between them, and `*` for any characters.
    pub text: String,
    /// Which of their calls are slow.
    pub threshold: SlowThreshold,
}

impl SlowPattern {
    /// Returns whether it matches a method of the class with this name, with dots.
    #[must_use]
    pub fn matches(&self, class: &str, method: &str) -> bool {
        let name = format!("{class}.{method}");
        glob(self.text.as_bytes(), name.as_bytes())
    }

    /// Returns whether it may match a method of the class with this name, with dots.
    #[must_use]
    pub fn may_match(&self, class: &str) -> bool {
        let certain = self.text.split('*').next().unwrap_or_default();
        match certain.strip_prefix(class) {
            Some(rest) => rest.is_empty() || rest.starts_with('.'),
            None => class.starts_with(certain),
        }
    }

    /// Returns whether it is of spans, which programs name, and of no methods.
    #[must_use]
    pub fn is_of_spans(&self) -> bool {
        let name = self.text.strip_prefix(SPANS);
        name.is_some_and(|name| name.starts_with('.'))
    }

    /// The class that it names, if there is one only.
    #[must_use]
    pub fn class(&self) -> Option<&str> {
        let (class, _) = self.text.rsplit_once('.')?;
        (!class.contains('*')).then_some(class)
    }
}

/// The methods whose calls are timed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SlowMethods(Vec<SlowPattern>);

impl SlowMethods {
    /// Reads patterns with colons between them, each possibly followed by a colon and a threshold.
    ///
    /// # Errors
    /// Why a pattern can match no method, or what is wrong with a threshold.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut patterns: Vec<SlowPattern> = Vec::new();
        for part in text.split(':') {
            match threshold(part)? {
                Some(threshold) => match patterns.last_mut() {
                    Some(last) if last.threshold == SlowThreshold::None => {
                        last.threshold = threshold;
                    }
                    _ => return Err(format!("'{part}' follows no method")),
                },
                None => patterns.push(SlowPattern {
                    text: pattern(part)?,
                    threshold: SlowThreshold::None,
                }),
            }
        }
        Ok(Self(patterns))
    }

    /// With spans of any name behind the other patterns, unless these have them.
    #[must_use]
    pub(super) fn with_all_spans(mut self) -> Self {
        let all = SlowPattern {
            text: format!("{SPANS}.*"),
            threshold: SlowThreshold::None,
        };
        if !self.0.iter().any(|it| it.text == all.text) {
            self.0.push(all);
        }
        self
    }

    /// Returns whether there are patterns of methods, not of spans alone.
    #[must_use]
    pub fn has_methods(&self) -> bool {
        self.0.iter().any(|it| !it.is_of_spans())
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The patterns, in the order in which they were given.
    #[must_use]
    pub fn patterns(&self) -> &[SlowPattern] {
        &self.0
    }
}

/// Reads a part that is a threshold; `None` if it is none.
fn threshold(part: &str) -> Result<Option<SlowThreshold>, String> {
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '.');
    if let Some(share) = part.strip_prefix('p')
        && share.starts_with(|c: char| c.is_ascii_digit())
        && digits(share)
    {
        let share = share.parse().ok().map(|share: f64| share * 1000.0);
        return match share {
            Some(share) if share > 0.0 && share < 100_000.0 => {
                Ok(Some(SlowThreshold::Share(share.round() as u32)))
            }
            _ => Err(format!("'{part}' is no percentile between p0 and p100")),
        };
    }
    if !part.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(None);
    }
    let end = part.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = part.split_at(end.unwrap_or(part.len()));
    let nanos = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "" => return Err(format!("'{part}' needs a unit, as in {part}ms")),
        _ => return Err(format!("'{part}' is no time such as 200ms, 1.5s or 50us")),
    };
    match number.parse::<f64>() {
        Ok(number) if number > 0.0 && number * nanos < 1e15 => {
            let time = Duration::from_nanos((number * nanos).round() as u64);
            Ok(Some(SlowThreshold::Time(time)))
        }
        _ => Err(format!("'{part}' is no time that a call can take")),
    }
}

fn pattern(part: &str) -> Result<String, String> {
    let pattern = part.replace(['/', '#'], ".");
    if pattern.is_empty() {
        return Err("one of the methods is empty".to_owned());
    }
    if pattern.contains("<init>") || pattern.contains("<clinit>") {
        return Err("constructors and class initializers are not timed".to_owned());
    }
    if pattern.contains(['(', ')']) {
        return Err(
            "write no parameters: all methods of a name are timed, each by itself".to_owned(),
        );
    }
    if let Some(c) = pattern.chars().find(|&c| " ;[]<>\"".contains(c)) {
        return Err(format!("'{c}' is in no name of a method"));
    }
    if !pattern.contains(['.', '*']) {
        return Err(format!(
            "'{part}' names no class: write it as com.acme.Api.{part}, or *.{part}"
        ));
    }
    Ok(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> SlowMethods {
        SlowMethods::parse(text).unwrap()
    }

    #[test]
    fn thresholds_follow_their_patterns() {
        let methods = parse("com.acme.Api.handle:200ms:com/acme/Db.*:p99.9:a.B.c:*.get:1.5s");
        let found: Vec<_> = methods
            .patterns()
            .iter()
            .map(|it| (it.text.as_str(), it.threshold))
            .collect();
        let time = |nanos| SlowThreshold::Time(Duration::from_nanos(nanos));
        assert_eq!(
            found,
            [
                ("com.acme.Api.handle", time(200_000_000)),
                ("com.acme.Db.*", SlowThreshold::Share(99_900)),
                ("a.B.c", SlowThreshold::None),
                ("*.get", time(1_500_000_000)),
            ]
        );
    }

    #[test]
    fn patterns_match_methods() {
        for (pattern, class, method, fits) in [
            ("com.acme.Api.handle", "com.acme.Api", "handle", true),
            ("com.acme.Api.handle", "com.acme.Api", "handleAll", false),
            ("com.acme.Api.*", "com.acme.Api", "handle", true),
            ("com.acme.*", "com.acme.sub.Api", "handle", true),
            ("*.handle", "com.acme.Api", "handle", true),
            ("*Api.get*", "com.acme.Api", "getAll", true),
            ("*Api.get*", "com.acme.Apis", "getAll", false),
        ] {
            let methods = parse(pattern);
            let pattern = &methods.patterns()[0];
            assert_eq!(pattern.matches(class, method), fits, "{pattern:?} {class}");
            assert!(!fits || pattern.may_match(class), "{pattern:?} {class}");
        }
        let methods = parse("com.acme.Api.handle:*.get");
        let [api, get] = methods.patterns() else {
            panic!("two");
        };
        assert!(!api.may_match("com.acme.ApiClient") && !api.may_match("com.acme2.Api"));
        assert!(api.may_match("com.acme.Api") && get.may_match("x.Y"));
        assert_eq!((api.class(), get.class()), (Some("com.acme.Api"), None));
    }

    #[test]
    fn spans_are_patterns_of_their_own() {
        let methods = parse("span.checkout:200ms:a.B.c").with_all_spans();
        let found: Vec<_> = methods
            .patterns()
            .iter()
            .map(|it| (it.text.as_str(), it.is_of_spans()))
            .collect();
        let expected = [("span.checkout", true), ("a.B.c", false), ("span.*", true)];
        assert_eq!(found, expected);
        assert!(methods.has_methods());
        let spans = parse("span.*:5ms").with_all_spans();
        assert_eq!(spans, parse("span.*:5ms"));
        assert!(!spans.has_methods() && !parse("spans.B.c").patterns()[0].is_of_spans());
    }

    #[test]
    fn mistakes_are_explained() {
        for (text, why) in [
            ("", "empty"),
            ("a.B.c::200ms", "empty"),
            ("200ms", "follows no method"),
            ("a.B.c:200ms:300ms", "follows no method"),
            ("a.B.c:200", "needs a unit, as in 200ms"),
            ("a.B.c:200parsecs", "is no time"),
            ("a.B.c:p100", "no percentile"),
            ("a.B.c:0ms", "is no time"),
            ("handle", "com.acme.Api.handle, or *.handle"),
            ("a.B.c(int)", "write no parameters"),
            ("a.B.<init>", "constructors"),
            ("a.B.c d", "' ' is in no name"),
        ] {
            let said = SlowMethods::parse(text).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
