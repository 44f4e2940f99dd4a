//! Keeps names from breaking lines.
//!
//! Names come from class files and running programs and may hold anything. The text format has
//! no escapes of its own, so this crate uses those of Java: `\\`, `\"` within quotes,
//! and `\uXXXX` for control characters and the line and paragraph separators. Ordinary names
//! come out unchanged.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// A name within a line.
pub(crate) struct Name<'a>(pub &'a str);

/// A name as the last column of a row, without blanks: readers split rows at them. It need not be exact, as
/// the trace of the row has the name.
pub(crate) struct Column<'a>(pub &'a str);

/// A remark, in which backslashes mean nothing special.
pub(crate) struct Remark<'a>(pub &'a str);

/// A name within double quotes.
pub(crate) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escape(self.0, f, |c| c == '\\')
    }
}

impl fmt::Display for Column<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pieces = self.0.split(char::is_whitespace);
        pieces.next().map_or(Ok(()), |first| Name(first).fmt(f))?;
        pieces.try_for_each(|piece| write!(f, "_{}", Name(piece)))
    }
}

impl fmt::Display for Remark<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escape(self.0, f, |_| false)
    }
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escape(self.0, f, |c| matches!(c, '\\' | '"'))
    }
}

fn breaks_lines(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

fn escape(text: &str, f: &mut fmt::Formatter<'_>, also: impl Fn(char) -> bool) -> fmt::Result {
    let is_plain = |byte| matches!(byte, b' '..=b'~') && !also(char::from(byte));
    if text.bytes().all(is_plain) {
        return f.write_str(text);
    }
    let needs_escape = |c: char| breaks_lines(c) || also(c);
    let mut rest = text;
    while let Some((at, c)) = rest.char_indices().find(|&(_, c)| needs_escape(c)) {
        f.write_str(&rest[..at])?;
        if breaks_lines(c) {
            write!(f, "\\u{:04x}", u32::from(c))?;
        } else {
            f.write_char('\\')?;
            f.write_char(c)?;
        }
        rest = &rest[at + c.len_utf8()..];
    }
    f.write_str(rest)
}

/// Undoes the escapes. A backslash that begins no escape, as there are in files of the JDK's agent,
/// stays.
pub(crate) fn unescape(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find('\\') else {
        return Cow::Borrowed(text);
    };
    let mut plain = text[..first].to_owned();
    let mut rest = &text[first..];
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        let escape = &rest[at..];
        let (c, length) = first_escape(escape).unwrap_or(('\\', 1));
        plain.push(c);
        rest = &escape[length..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// The character of the escape at the start of `text`, and the length of the escape.
fn first_escape(text: &str) -> Option<(char, usize)> {
    match text.as_bytes() {
        [b'\\', c @ (b'\\' | b'"'), ..] => Some((char::from(*c), 2)),
        [b'\\', b'u', ..] => {
            let digits = text
                .get(2..6)
                .filter(|hex| hex.bytes().all(|c| c.is_ascii_hexdigit()))?;
            let unit = u16::from_str_radix(digits, 16).ok()?;
            match char::from_u32(unit.into()) {
                Some(c) => Some((c, 6)),
                None => Some((surrogates(unit, text.get(6..12)?)?, 12)),
            }
        }
        _ => None,
    }
}

/// The character beyond U+FFFF that a first surrogate and the escape of a second one make.
fn surrogates(first: u16, second: &str) -> Option<char> {
    let digits = second.strip_prefix("\\u")?;
    let digits = Some(digits).filter(|hex| hex.bytes().all(|c| c.is_ascii_hexdigit()))?;
    let second = u16::from_str_radix(digits, 16).ok()?;
    char::decode_utf16([first, second]).next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_names_are_unchanged() {
        for name in [
            "java.util.Map$Entry",
            "<init>",
            "int[]",
            "größe",
            "名前",
            "a \"b\"",
            "",
        ] {
            assert_eq!(Name(name).to_string(), name);
        }
    }

    #[test]
    fn quotes_backslashes_and_controls_are_escaped() {
        assert_eq!(Quoted("a\"b\\c").to_string(), r#"a\"b\\c"#);
        assert_eq!(
            Name("a\nb\tc\r\0\u{7f}\u{85}\u{2028}").to_string(),
            r"a\u000ab\u0009c\u000d\u0000\u007f\u0085\u2028"
        );
    }

    #[test]
    fn a_backslash_without_an_escape_stays() {
        for text in [
            r"C:\temp",
            r"\u12",
            r"\ud800",
            r"\udc00\ud800",
            r"\u+123",
            "\\",
        ] {
            assert_eq!(unescape(text), text);
        }
    }

    #[test]
    fn a_character_beyond_the_first_plane_is_two_escapes() {
        assert_eq!(unescape(r"a\udb40\udc41b\u202e"), "a\u{e0041}b\u{202e}");
        assert_eq!(unescape(r"\ud800\u0041"), r"\ud800A");
    }

    proptest! {
        #[test]
        fn unescape_undoes_escape(text in any::<String>(), odd in "[\\\\\"u0-9\n]{0,12}") {
            for text in [text, odd] {
                let (name, quoted) = (Name(&text).to_string(), Quoted(&text).to_string());
                prop_assert_eq!(unescape(&name), text.as_str());
                prop_assert_eq!(unescape(&quoted), text.as_str());
            }
        }

        #[test]
        fn never_a_control_character(text in any::<String>()) {
            let shown = Quoted(&text).to_string();
            prop_assert!(!shown.chars().any(breaks_lines));
            prop_assert!(!Remark(&text).to_string().chars().any(breaks_lines));
            prop_assert!(!Name(&text).to_string().chars().any(breaks_lines));
        }
    }
}
