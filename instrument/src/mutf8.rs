//! Names as class files spell them.

use std::fmt;

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

/// UTF-16 units of modified UTF-8; a byte out of place gives U+FFFD.
fn units(bytes: &[u8]) -> impl Iterator<Item = u16> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (unit, len) = match *rest {
            [] => return None,
            [a, ..] if a < 0x80 => (u16::from(a), 1),
            [a, b, ..] if a & 0xe0 == 0xc0 && b & 0xc0 == 0x80 => {
                (u16::from(a & 0x1f) << 6 | u16::from(b & 0x3f), 2)
            }
            [a, b, c, ..] if a & 0xf0 == 0xe0 && b & 0xc0 == 0x80 && c & 0xc0 == 0x80 => {
                let high = u16::from(a & 0x0f) << 12 | u16::from(b & 0x3f) << 6;
                (high | u16::from(c & 0x3f), 3)
            }
            _ => (0xfffd, 1),
        };
        rest = &rest[len..];
        Some(unit)
    })
}

impl fmt::Display for Mutf8<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_ascii() && !self.0.contains(&0) {
            return f.write_str(&String::from_utf8_lossy(self.0));
        }
        for decoded in char::decode_utf16(units(self.0)) {
            write!(f, "{}", decoded.unwrap_or(char::REPLACEMENT_CHARACTER))?;
        }
        Ok(())
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
