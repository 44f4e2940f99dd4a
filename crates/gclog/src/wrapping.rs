//! Encodings of logs, and the text that containers put around each line.

use std::borrow::Cow;

/// The beginnings of files that tell their encoding.
const UTF8: &[u8] = b"\xef\xbb\xbf";
const UTF16_LITTLE: &[u8] = b"\xff\xfe";
const UTF16_BIG: &[u8] = b"\xfe\xff";
/// Stands for a character that is not ASCII. No part of a log that is looked at has one.
const OTHER: u8 = b'?';
/// A prefix of a container's name or time is no longer, in bytes.
const MAX_PREFIX: usize = 96;

/// Makes ASCII of UTF-16, which shells of Windows write, and leaves out the mark of an encoding.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    encoding: Option<Encoding>,
    /// Bytes that may be the beginning of a mark, or half of a character.
    held: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Bytes,
    Utf16 { is_big: bool },
}

impl Decoder {
    /// The next bytes of a log, decoded.
    pub fn decode<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.encoding == Some(Encoding::Bytes) {
            return Cow::Borrowed(bytes);
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let encoding = match self.encoding {
            Some(encoding) => encoding,
            None => {
                let marks = [UTF8, UTF16_LITTLE, UTF16_BIG];
                let may_be = |mark: &&[u8]| mark.len() > all.len() && mark.starts_with(&all);
                if marks.iter().any(may_be) {
                    self.held = all;
                    return Cow::Borrowed(b"");
                }
                let (encoding, mark) = match &all[..] {
                    text if text.starts_with(UTF8) => (Encoding::Bytes, UTF8.len()),
                    text if text.starts_with(UTF16_LITTLE) => {
                        (Encoding::Utf16 { is_big: false }, 2)
                    }
                    text if text.starts_with(UTF16_BIG) => (Encoding::Utf16 { is_big: true }, 2),
                    _ => (Encoding::Bytes, 0),
                };
                all.drain(..mark);
                *self.encoding.insert(encoding)
            }
        };
        let Encoding::Utf16 { is_big } = encoding else {
            return Cow::Owned(all);
        };
        let units = all.chunks_exact(2);
        self.held = units.remainder().to_vec();
        let decoded = units.map(|unit| match (is_big, unit) {
            (false, &[byte, 0]) | (true, &[0, byte]) if byte.is_ascii() => byte,
            _ => OTHER,
        });
        Cow::Owned(decoded.collect())
    }

    /// The bytes that were held when a file ended; another may begin.
    pub fn end(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        match self.encoding.take() {
            Some(Encoding::Utf16 { .. }) => Vec::new(),
            _ => held,
        }
    }
}

/// A line without what container runtimes and `docker compose logs` put around it. `buffer` holds it if it was
/// in JSON.
pub(crate) fn message<'a>(line: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
    match line.first() {
        // Docker: {"log":"[0.1s][info][gc] Using G1\n","stream":"stdout","time":"..."}
        Some(b'{') => match json_text(line) {
            Some(text) => {
                unescape(text, buffer);
                buffer
            }
            None => line,
        },
        Some(byte) if byte.is_ascii_alphanumeric() => {
            let head = &line[..line.len().min(MAX_PREFIX)];
            // Kubernetes: 2026-11-23T02:50:00.123456789Z stdout F [0.1s]...
            for stream in [&b" stdout F "[..], b" stderr F "] {
                if byte.is_ascii_digit()
                    && let Some(at) = memchr::memmem::find(head, stream)
                {
                    return &line[at + stream.len()..];
                }
            }
            // docker compose: app-1  | [0.1s]...
            let is_name = |byte: &u8| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b' ')
            };
            match memchr::memmem::find(head, b" | ") {
                Some(at) if line[..at].iter().all(is_name) => &line[at + 3..],
                _ => line,
            }
        }
        _ => line,
    }
}

/// The part of a line after the quote with which the text of a log begins in Docker's JSON.
fn json_text(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"{\"log\":")?;
    rest.trim_ascii_start().strip_prefix(b"\"")
}

/// The text of a string in JSON up to its end, or to that of the line.
fn unescape(text: &[u8], buffer: &mut Vec<u8>) {
    buffer.clear();
    let mut rest = text.iter();
    while let Some(&byte) = rest.next() {
        match byte {
            b'"' => break,
            b'\\' => match rest.next() {
                Some(b'n' | b'r') | None => {}
                Some(b't') => buffer.push(b'\t'),
                Some(b'u') => {
                    let digits: Vec<u8> = rest.by_ref().take(4).copied().collect();
                    let code = std::str::from_utf8(&digits).ok();
                    let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                    buffer.push(code.filter(u8::is_ascii).unwrap_or(OTHER));
                }
                Some(&other) => buffer.push(other),
            },
            _ => buffer.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_leave_the_line_as_it_was() {
        let line = "[0.1s][info][gc] GC(0) Pause Young 2M->1M(4M) 1ms";
        for wrapped in [
            line.to_owned(),
            format!("2026-11-23T02:50:00.123456789Z stdout F {line}"),
            format!("app-1  | {line}"),
            format!("{{\"log\": \"{line}\\r\\n\"}}"),
            format!(
                "{{\"log\":\"{}\\n\",\"stream\":\"stdout\"}}",
                line.replace('>', "\\u003e")
            ),
        ] {
            let mut buffer = Vec::new();
            let found = message(wrapped.as_bytes(), &mut buffer);
            assert_eq!(String::from_utf8_lossy(found), line);
        }
        for other in ["a: b | [gc]", "{\"message\":\"[gc]\"}", "", "{"] {
            assert_eq!(message(other.as_bytes(), &mut Vec::new()), other.as_bytes());
        }
    }

    #[test]
    fn utf_16_is_read_in_pieces_of_any_size() {
        let line = "[0.1s][gc] GC(0) \u{e4}\n";
        let units = line.encode_utf16();
        let little: Vec<u8> = units.clone().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = units.flat_map(u16::to_be_bytes).collect();
        for (mark, text, expected) in [
            (UTF16_LITTLE, little, "[0.1s][gc] GC(0) ?\n"),
            (UTF16_BIG, big, "[0.1s][gc] GC(0) ?\n"),
            (UTF8, line.as_bytes().to_vec(), line),
            (b"", line.as_bytes().to_vec(), line),
            (b"", vec![0xef, 0xbb], ""),
        ] {
            let file = [mark, &text].concat();
            for length in 1..5 {
                let mut decoder = Decoder::default();
                let pieces = file
                    .chunks(length)
                    .map(|piece| decoder.decode(piece).into_owned());
                let mut found = pieces.collect::<Vec<_>>().concat();
                assert_eq!(found, expected.as_bytes(), "{length}");
                found.extend(decoder.end());
                assert!(found.len() >= expected.len());
            }
        }
    }
}
