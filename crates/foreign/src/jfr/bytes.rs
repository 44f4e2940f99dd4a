//! The bytes of a chunk: compressed integers and strings.

use std::borrow::Cow;

/// A place in bytes, from which values are read. A value that does not end before the bytes do is
/// `None`.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Reads from a place on.
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The place of the next value.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// A compressed integer: seven bits in each byte, the lowest first; the ninth byte has eight.
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for index in 0..9 {
            let byte = u64::from(self.byte()?);
            if index == 8 {
                return Some(value | byte << 56);
            }
            value |= (byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                break;
            }
        }
        Some(value)
    }

    /// A number of things that take a byte or more each, so that no more can be meant than bytes
    /// are left.
    pub(super) fn length(&mut self) -> Option<usize> {
        let length = usize::try_from(self.number()?).ok()?;
        (length <= self.left()).then_some(length)
    }

    /// A string in one of its encodings.
    pub(super) fn text(&mut self) -> Option<Text<'a>> {
        Some(match self.byte()? {
            0 => Text::None,
            1 => Text::Utf8(&[]),
            2 => Text::Pooled(self.number()?),
            3 => {
                let length = self.length()?;
                Text::Utf8(self.take(length)?)
            }
            4 => {
                let count = self.length()?;
                let start = self.at;
                for _ in 0..count {
                    self.number()?;
                }
                Text::Chars(self.bytes.get(start..self.at)?)
            }
            5 => {
                let length = self.length()?;
                Text::Latin1(self.take(length)?)
            }
            _ => return None,
        })
    }
}

/// A string as a chunk has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text<'a> {
    /// There is none.
    None,
    /// It is in the pool of strings.
    Pooled(u64),
    /// Its bytes in UTF-8.
    Utf8(&'a [u8]),
    /// UTF-16 as compressed integers.
    Chars(&'a [u8]),
    /// ISO 8859-1.
    Latin1(&'a [u8]),
}

impl<'a> Text<'a> {
    /// Its bytes, as the chunk has them.
    pub(super) fn length(self) -> usize {
        match self {
            Self::None | Self::Pooled(_) => 0,
            Self::Utf8(bytes) | Self::Chars(bytes) | Self::Latin1(bytes) => bytes.len(),
        }
    }

    /// The characters; none of a string that is elsewhere.
    pub(super) fn decode(self) -> Cow<'a, str> {
        match self {
            Self::None | Self::Pooled(_) => Cow::Borrowed(""),
            Self::Utf8(bytes) => String::from_utf8_lossy(bytes),
            Self::Latin1(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) if text.is_ascii() => Cow::Borrowed(text),
                _ => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
            },
            Self::Chars(bytes) => {
                let mut cursor = Cursor::new(bytes, 0);
                let mut units = Vec::new();
                while let Some(unit) = cursor.number() {
                    units.push(unit as u16);
                }
                Cow::Owned(String::from_utf16_lossy(&units))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_take_one_to_nine_bytes() {
        for (bytes, value) in [
            (&[0x05][..], 5),
            (&[0x80, 0x01], 128),
            (&[0x85, 0x80, 0x80, 0x00], 5),
            (&[0xff; 9], u64::MAX),
        ] {
            let mut cursor = Cursor::new(bytes, 0);
            assert_eq!(cursor.number(), Some(value));
            assert_eq!(cursor.left(), 0);
        }
        assert_eq!(Cursor::new(&[0x80], 0).number(), None);
    }

    #[test]
    fn strings_have_six_encodings() {
        for (bytes, text) in [
            (&[0][..], ""),
            (&[1], ""),
            (&[3, 3, b'a', 0xc3, 0xa4], "aä"),
            (&[4, 2, 0x61, 0xac, 0x41], "a\u{20ac}"),
            (&[5, 2, b'a', 0xe4], "aä"),
        ] {
            let found = Cursor::new(bytes, 0).text().expect("it is whole");
            assert_eq!(found.decode(), text);
        }
        let pooled = Cursor::new(&[2, 7], 0).text();
        assert_eq!(pooled, Some(Text::Pooled(7)));
        assert_eq!(Cursor::new(&[9], 0).text(), None);
        assert_eq!(Cursor::new(&[3, 200, 1, b'a'], 0).text(), None);
    }
}
