//! Modified UTF-8, the encoding of names inside the JVM (JVM specification 4.4.7).
//!
//! It differs from UTF-8 in two points: U+0000 is the two bytes C0 80, and a supplementary
//! character is a pair of surrogates of three bytes each.
//!
//! The crate `simd_cesu8` decodes it too, by vector instructions behind `unsafe`. The agent runs inside
//! other people's JVMs, and names are short: the decoder here is safe code.

use std::borrow::Cow;

/// Appends `text` in modified UTF-8.
pub fn encode(text: &str, out: &mut Vec<u8>) {
    if text.bytes().all(|byte| byte != 0 && byte < 0xf0) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    for c in text.chars() {
        if c == '\0' {
            out.extend_from_slice(&[0xc0, 0x80]);
        } else if c.len_utf8() < 4 {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            for &mut unit in c.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(&three_bytes(unit));
            }
        }
    }
}

/// Decodes modified UTF-8, and plain UTF-8 as well.
///
/// Never fails: dumps in the wild hold bytes that are no text at all. Each byte that does not
/// fit, and each lone surrogate, becomes U+FFFD.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(decode_slowly(bytes)),
    }
}

fn three_bytes(unit: u16) -> [u8; 3] {
    let [high, low] = unit.to_be_bytes();
    [
        0xe0 | high >> 4,
        0x80 | (high & 0x0f) << 2 | low >> 6,
        0x80 | low & 0x3f,
    ]
}

fn decode_slowly(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while !rest.is_empty() {
        let (c, used) = first_char(rest);
        text.push(c.unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = &rest[used..];
    }
    text
}

/// The first character of a non-empty slice and the number of bytes it takes, at least one.
fn first_char(bytes: &[u8]) -> (Option<char>, usize) {
    if let [0xc0, 0x80, ..] = bytes {
        return (Some('\0'), 2);
    }
    match surrogate(bytes) {
        Some(unit @ 0xd800..=0xdbff) => match surrogate(&bytes[3..]) {
            Some(low @ 0xdc00..=0xdfff) => {
                let code = 0x10000 + ((u32::from(unit) & 0x3ff) << 10 | u32::from(low) & 0x3ff);
                (char::from_u32(code), 6)
            }
            _ => (None, 3),
        },
        Some(_) => (None, 3),
        None => {
            let width = match bytes[0] {
                0..0x80 => 1,
                0x80..0xe0 => 2,
                0xe0..0xf0 => 3,
                _ => 4,
            };
            let c = bytes
                .get(..width)
                .and_then(|head| std::str::from_utf8(head).ok());
            match c.and_then(|head| head.chars().next()) {
                Some(c) => (Some(c), width),
                None => (None, 1),
            }
        }
    }
}

/// The surrogate that the first three bytes encode, if they do.
fn surrogate(bytes: &[u8]) -> Option<u16> {
    match *bytes {
        [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, ..] => {
            Some(0xd000 | u16::from(second & 0x3f) << 6 | u16::from(third & 0x3f))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        encode(text, &mut out);
        out
    }

    #[test]
    fn differs_from_utf8_in_two_points() {
        assert_eq!(encoded("a\0ß€"), b"a\xc0\x80\xc3\x9f\xe2\x82\xac");
        assert_eq!(encoded("\u{10400}"), b"\xed\xa0\x81\xed\xb0\x80");
    }

    #[test]
    fn decodes_leniently() {
        assert_eq!(decode(b"\xed\xa0\x81x"), "\u{fffd}x");
        assert_eq!(decode(b"\xed\xb0\x80"), "\u{fffd}");
        assert_eq!(decode(b"a\xffb\xc3"), "a\u{fffd}b\u{fffd}");
        assert_eq!(decode("\u{10400}\u{fffd}".as_bytes()), "\u{10400}\u{fffd}");
    }

    /// A UTF-16 unit by the table of the specification, 4.4.7.
    fn unit_by_the_book(unit: u16) -> Vec<u8> {
        let bits = |shift: u32, count: u32| (unit >> shift & ((1 << count) - 1)) as u8;
        match unit {
            0x0001..=0x007f => vec![bits(0, 7)],
            0x0000 | 0x0080..=0x07ff => vec![0xc0 | bits(6, 5), 0x80 | bits(0, 6)],
            0x0800.. => vec![0xe0 | bits(12, 4), 0x80 | bits(6, 6), 0x80 | bits(0, 6)],
        }
    }

    proptest! {
        /// Strings of Java may hold any units, lone surrogates too.
        #[test]
        fn units_decode_by_the_book(
            units in prop::collection::vec(
                prop_oneof![any::<u16>(), 0xd700..0xe100u16, 0..0x100u16],
                0..24,
            )
        ) {
            let bytes: Vec<u8> = units.iter().copied().flat_map(unit_by_the_book).collect();
            prop_assert_eq!(decode(&bytes).into_owned(), String::from_utf16_lossy(&units));
        }

        #[test]
        fn text_encodes_by_the_book(text in any::<String>()) {
            let bytes: Vec<u8> = text.encode_utf16().flat_map(unit_by_the_book).collect();
            prop_assert_eq!(encoded(&text), bytes);
        }

        #[test]
        fn decode_undoes_encode(text in any::<String>()) {
            let bytes = encoded(&text);
            prop_assert!(!bytes.contains(&0));
            let decoded = decode(&bytes);
            prop_assert_eq!(decoded.as_ref(), text.as_str());
        }

        #[test]
        fn any_bytes_decode(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            decode(&bytes);
        }
    }
}
