//! The header of a binary file.

use super::damage::HeaderError;
use crate::binary::IdSize;

/// The version of a file, which tells the dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// `1.0.1`: heap dumps are one record each.
    V1_0_1,
    /// `1.0.2`: heap dumps come in segments.
    V1_0_2,
    /// `1.0.3`: Android.
    V1_0_3,
}

/// The header of a binary file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileHeader {
    /// The version.
    pub version: Version,
    /// The width of identifiers.
    pub id_size: IdSize,
    /// Creation time in milliseconds since 1970-01-01 UTC.
    pub created_millis: u64,
}

const WORDS: &[u8] = b"JAVA PROFILE ";

impl FileHeader {
    /// The length of a header in bytes.
    pub const LENGTH: usize = 31;

    /// Reads the header at the start of a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        if bytes.starts_with(&[0x1f, 0x8b]) {
            return Err(HeaderError::Gzip);
        }
        let Some(rest) = bytes.strip_prefix(WORDS) else {
            let is_start = !bytes.is_empty() && WORDS.starts_with(bytes);
            return Err(if is_start {
                HeaderError::TooShort
            } else {
                HeaderError::NotHprof
            });
        };
        let end = rest.iter().position(|&byte| byte == 0 || byte == b',');
        let version = &rest[..end.unwrap_or(rest.len()).min(32)];
        let Some(end) = end else {
            let is_short = version.len() < 6;
            return Err(if is_short {
                HeaderError::TooShort
            } else {
                unknown(version)
            });
        };
        if rest[end] == b',' {
            return Err(HeaderError::Text);
        }
        let version = match version {
            b"1.0.1" => Version::V1_0_1,
            b"1.0.2" => Version::V1_0_2,
            b"1.0.3" => Version::V1_0_3,
            other => return Err(unknown(other)),
        };
        let Some(numbers) = rest[end + 1..].first_chunk::<12>() else {
            return Err(HeaderError::TooShort);
        };
        let id_size = match crate::binary::u4(numbers, 0) {
            4 => IdSize::Four,
            8 => IdSize::Eight,
            other => return Err(HeaderError::IdSize(other)),
        };
        Ok(Self {
            version,
            id_size,
            created_millis: crate::binary::u8(numbers, 4),
        })
    }

    /// The header as bytes.
    pub fn to_bytes(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..WORDS.len()].copy_from_slice(WORDS);
        bytes[13..18].copy_from_slice(match self.version {
            Version::V1_0_1 => b"1.0.1",
            Version::V1_0_2 => b"1.0.2",
            Version::V1_0_3 => b"1.0.3",
        });
        bytes[22] = self.id_size.bytes() as u8;
        bytes[23..].copy_from_slice(&self.created_millis.to_be_bytes());
        bytes
    }
}

fn unknown(version: &[u8]) -> HeaderError {
    HeaderError::Version(String::from_utf8_lossy(version).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headers_survive_writing_and_reading() {
        for version in [Version::V1_0_1, Version::V1_0_2, Version::V1_0_3] {
            for id_size in [IdSize::Four, IdSize::Eight] {
                let header = FileHeader {
                    version,
                    id_size,
                    created_millis: 0x0123_4567_89ab_cdef,
                };
                let bytes = header.to_bytes();
                assert_eq!(FileHeader::parse(&bytes), Ok(header));
                for cut in 1..bytes.len() {
                    assert_eq!(FileHeader::parse(&bytes[..cut]), Err(HeaderError::TooShort));
                }
            }
        }
    }

    #[test]
    fn says_what_a_file_is_instead() {
        let error = |bytes: &[u8]| FileHeader::parse(bytes).unwrap_err();
        assert_eq!(error(b""), HeaderError::NotHprof);
        assert_eq!(error(b"PK\x03\x04"), HeaderError::NotHprof);
        assert_eq!(error(b"\x1f\x8b\x08"), HeaderError::Gzip);
        let text = b"JAVA PROFILE 1.0.1, created Fri Nov 20 10:34:08 2026\n";
        assert_eq!(error(text), HeaderError::Text);
        let beta = b"JAVA PROFILE 1.0\0\0\0\0\x04\0\0\0\0\0\0\0\0";
        assert_eq!(error(beta), HeaderError::Version("1.0".into()));
        let odd = b"JAVA PROFILE 1.0.2\0\0\0\0\x05\0\0\0\0\0\0\0\0";
        assert_eq!(error(odd), HeaderError::IdSize(5));
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(tail in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = FileHeader::parse(&tail);
            let _ = FileHeader::parse(&[WORDS, &tail].concat());
        }
    }
}
