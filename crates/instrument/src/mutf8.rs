//! Names as class files spell them.

use std::fmt;

use hprof_java_names::mutf8;

/// A text in modified UTF-8 (Java Virtual Machine Specification 4.4.7), not checked.
///
/// ASCII but NUL is spelled as in UTF-8, so patterns of ASCII letters, digits, `/` and `$` may be
/// compared byte by byte.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mutf8<'a>(pub &'a [u8]);

impl<'a> Mutf8<'a> {
    /// The bytes as they stand in the class file.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.0
    }
}

impl PartialEq<str> for Mutf8<'_> {
    /// For `other` without NUL and without characters beyond U+FFFF, equality of the texts.
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Mutf8<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl fmt::Display for Mutf8<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&mutf8::decode(self.0))
    }
}

impl fmt::Debug for Mutf8<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_surrogate_pairs_and_nul() {
        let text = Mutf8(b"a\xc0\x80\xc3\xa9\xed\xa0\xbd\xed\xb8\x80");
        assert_eq!(text.to_string(), "a\0\u{e9}\u{1f600}");
        assert_eq!(Mutf8(b"run").to_string(), "run");
        assert!(Mutf8(b"run") == "run");
    }

    #[test]
    fn damage_becomes_replacement_characters() {
        assert_eq!(Mutf8(b"\xffa\xc3").to_string(), "\u{fffd}a\u{fffd}");
        assert_eq!(
            Mutf8(b"\xed\xa0\xbd").to_string(),
            "\u{fffd}",
            "lone surrogate"
        );
    }
}
