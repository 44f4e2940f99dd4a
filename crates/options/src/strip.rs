//! `dumplevel=` and `strip=`: which contents binary heap dumps leave out.

use super::patterns::glob;

/// The contents that a binary heap dump leaves out. Lengths never change: zeros replace the values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Strip {
    /// Nothing: level 2 of JVMPI.
    #[default]
    None,
    /// The elements of primitive arrays.
    Arrays,
    /// All primitive values, of instance fields, static fields and array elements: level 1 of JVMPI.
    Values,
    /// All primitive values but those that patterns name.
    AllBut(Keeps),
    /// All values, references too: level 0 of JVMPI.
    Contents,
}

/// Patterns for classes (`com.example.Config`, `int[]`) and fields (`com.example.Config.port`), with `*`
/// for any characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeps(Vec<String>);

/// Before the patterns of [`Strip::AllBut`].
const ALL_BUT: &str = "all-but=";

impl Strip {
    /// Reads the value of `strip=`.
    ///
    /// # Errors
    /// Why it is none, and what to write.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "arrays" => Ok(Self::Arrays),
            "values" => Ok(Self::Values),
            "all-but" => Err("all-but needs patterns, as in strip=all-but=com.example.*".into()),
            _ => match text.strip_prefix(ALL_BUT) {
                Some(patterns) => Keeps::parse(patterns).map(Self::AllBut),
                None => Err(format!("'{text}' is not")),
            },
        }
    }

    /// Returns whether all stays.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Returns whether references go too.
    #[must_use]
    pub fn empties_references(&self) -> bool {
        *self == Self::Contents
    }

    /// Returns whether the elements of primitive arrays stay that have this class, as in `int[]`.
    #[must_use]
    pub fn keeps_array(&self, class: &str) -> bool {
        match self {
            Self::None => true,
            Self::AllBut(keeps) => keeps.class(class),
            Self::Arrays | Self::Values | Self::Contents => false,
        }
    }

    /// Returns whether the value of a primitive field stays. `class` is the object's, `declaring` declares the
    /// field; of a static field both are the same.
    #[must_use]
    pub fn keeps_field(&self, class: &str, declaring: &str, field: &str) -> bool {
        match self {
            Self::None | Self::Arrays => true,
            Self::AllBut(keeps) => keeps.field(class, field) || keeps.field(declaring, field),
            Self::Values | Self::Contents => false,
        }
    }
}

impl Keeps {
    fn parse(text: &str) -> Result<Self, String> {
        let patterns = text.split(':').map(|pattern| {
            let pattern = pattern.replace('/', ".");
            match pattern.chars().find(|&c| " ;()<>\"=".contains(c)) {
                _ if pattern.is_empty() => Err("one of the patterns is empty".to_owned()),
                Some(c) => Err(format!("'{c}' is in no name of a class or field")),
                None => Ok(pattern),
            }
        });
        patterns.collect::<Result<_, _>>().map(Self)
    }

    fn class(&self, class: &str) -> bool {
        let mut patterns = self.0.iter();
        patterns.any(|pattern| glob(pattern.as_bytes(), class.as_bytes()))
    }

    fn field(&self, class: &str, field: &str) -> bool {
        self.class(class) || self.class(&format!("{class}.{field}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_patterns_are_read() {
        assert_eq!(Strip::parse("none"), Ok(Strip::None));
        assert_eq!(Strip::parse("arrays"), Ok(Strip::Arrays));
        assert_eq!(Strip::parse("values"), Ok(Strip::Values));
        let keeps = Keeps(vec!["a.B".into(), "c.*".into()]);
        assert_eq!(
            Strip::parse("all-but=a/B:c.*"),
            Ok(Strip::AllBut(keeps.clone()))
        );
        for wrong in [
            "",
            "all",
            "all-but",
            "all-but=",
            "all-but=a:",
            "values ",
            "all-but=a b",
            "NONE",
        ] {
            assert!(Strip::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn patterns_name_classes_fields_and_arrays() {
        let strip = Strip::parse("all-but=a.Config:a.Base.port:int[]:b.*.size").unwrap();
        for (class, declaring, field, stays) in [
            ("a.Config", "a.Config", "any", true),
            ("a.Sub", "a.Config", "any", true),
            ("a.Config", "a.Base", "other", true),
            ("a.Other", "a.Base", "port", true),
            ("a.Other", "a.Base", "secret", false),
            ("a.Config2", "a.Config2", "any", false),
            ("b.List", "b.List", "size", true),
            ("b.List", "b.List", "sizes", false),
        ] {
            let found = strip.keeps_field(class, declaring, field);
            assert_eq!(found, stays, "{class} {declaring} {field}");
        }
        assert!(strip.keeps_array("int[]") && !strip.keeps_array("byte[]"));
    }

    #[test]
    fn each_level_leaves_out_more_than_the_next() {
        let keeps = |strip: &Strip| {
            let field = strip.keeps_field("A", "A", "f");
            [
                strip.keeps_array("int[]"),
                field,
                !strip.empties_references(),
            ]
        };
        assert_eq!(keeps(&Strip::None), [true, true, true]);
        assert_eq!(keeps(&Strip::Arrays), [false, true, true]);
        assert_eq!(keeps(&Strip::Values), [false, false, true]);
        assert_eq!(keeps(&Strip::Contents), [false, false, false]);
    }
}
