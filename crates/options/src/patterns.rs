//! `include=` and `exclude=`: which classes are counted.

/// Names of classes and packages, with `*` for any characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patterns(Vec<String>);

impl Patterns {
    /// Reads patterns with colons between them; `/` is as good as `.`.
    ///
    /// # Errors
    /// Why a pattern can match no class.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let patterns = text.split(':').map(|pattern| {
            let pattern = pattern.replace('/', ".");
            match pattern.chars().find(|&c| " ;[]()<>\"".contains(c)) {
                _ if pattern.is_empty() => Err("one of them is empty".to_owned()),
                Some(c) => Err(format!("'{c}' is in no name of a class")),
                None => Ok(pattern),
            }
        });
        patterns.collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether one of them matches the class with this internal name
    /// (`java/lang/Thread$State`). Without `*`, it names the class, a class around
    /// it, or a package around it.
    pub fn matches(&self, class: &str) -> bool {
        let class: Vec<u8> = class
            .bytes()
            .map(|b| if b == b'/' { b'.' } else { b })
            .collect();
        self.0.iter().any(|pattern| {
            let pattern = pattern.as_bytes();
            if pattern.contains(&b'*') {
                return glob(pattern, &class);
            }
            class
                .strip_prefix(pattern)
                .is_some_and(|rest| rest.is_empty() || matches!(rest[0], b'.' | b'$'))
        })
    }
}

/// Returns whether all of `text` matches `pattern`, in which `*` matches any bytes.
pub fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where the last star was, and how far it reaches by now.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, t));
            p += 1;
        } else if pattern.get(p) == Some(&text[t]) {
            p += 1;
            t += 1;
        } else if let Some((at, reach)) = star {
            star = Some((at, reach + 1));
            p = at + 1;
            t = reach + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, name, fits) in [
            ("a.B", "a.B", true),
            ("a.B", "a.BC", false),
            ("a.*", "a.BC", true),
            ("*C", "a.BC", true),
            ("*.B*D*", "a.BCD", true),
            ("*.B*X*", "a.BCD", false),
            ("aa*aa", "aaa", false),
        ] {
            let found = glob(pattern.as_bytes(), name.as_bytes());
            assert_eq!(found, fits, "{pattern} {name}");
        }
    }

    fn matches(pattern: &str, class: &str) -> bool {
        Patterns::parse(pattern).unwrap().matches(class)
    }

    #[test]
    fn names_and_globs() {
        for (pattern, class) in [
            ("java.lang.Thread", "java/lang/Thread"),
            ("java.lang.Thread", "java/lang/Thread$State"),
            ("java.lang", "java/lang/Thread"),
            ("java", "java/lang/ref/Reference"),
            ("java/lang/*", "java/lang/Thread"),
            ("java.lang.*", "java/lang/ref/Reference"),
            ("*Test", "com/example/SomeTest"),
            ("com.*.Test*", "com/example/deep/TestCase"),
            ("org.other:com.example", "com/example/A"),
            ("*", "A"),
        ] {
            assert!(matches(pattern, class), "{pattern} {class}");
        }
        for (pattern, class) in [
            ("java.lang.Thread", "java/lang/ThreadGroup"),
            ("java.lang.*", "java/language/A"),
            ("*Test", "com/example/TestCase"),
            ("java.lang", "java"),
            ("com.*.Test", "com/Test"),
        ] {
            assert!(!matches(pattern, class), "{pattern} {class}");
        }
    }

    #[test]
    fn what_can_match_nothing_is_refused() {
        for text in ["", "a::b", "a:", "a b", "[I", "java.util.List<String>"] {
            assert!(Patterns::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_glob_matches_as_a_slow_one_does(pattern in "[ab*]{0,8}", text in "[ab]{0,10}") {
            fn slow(pattern: &[u8], text: &[u8]) -> bool {
                match pattern {
                    [] => text.is_empty(),
                    [b'*', rest @ ..] => (0..=text.len()).any(|at| slow(rest, &text[at..])),
                    [c, rest @ ..] => text.first() == Some(c) && slow(rest, &text[1..]),
                }
            }
            let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(glob(pattern, text), slow(pattern, text));
        }
    }
}
