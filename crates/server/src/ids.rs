//! Names of things: of dumps and of jobs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

/// The name of a dump: the first 16 hexadecimal digits of the SHA-256 of its bytes, in lower case.
/// The form is checked, so it is safe as the name of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, example = "0a1b2c3d4e5f6071")]
pub struct DumpId(String);

/// The digits of a dump's name.
const DIGITS: usize = 16;

/// The name of a leak suspect in addresses: the first 16 hexadecimal digits of the SHA-256 of its
/// signature, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, example = "0a1b2c3d4e5f6071")]
pub struct SuspectCode(String);

impl SuspectCode {
    /// The code of a signature.
    pub fn of_signature(signature: &str) -> Self {
        let hash = ContentHash::of_bytes(Sha256::digest(signature.as_bytes()).into());
        Self(DumpId::of_hash(&hash).0)
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for SuspectCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The form is that of dumps' names.
        let text = String::deserialize(deserializer)?;
        let id: Result<DumpId, NoDumpId> = text.parse();
        let wrong = "a suspect's code has 16 hexadecimal digits in lower case";
        id.map(|id| Self(id.0))
            .map_err(|_| serde::de::Error::custom(wrong))
    }
}

/// A text is no name of a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a dump's id has 16 hexadecimal digits in lower case")]
pub struct NoDumpId;

impl DumpId {
    /// The dump with a content hash.
    pub fn of_hash(hash: &ContentHash) -> Self {
        Self(hash.0[..DIGITS].to_owned())
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DumpId {
    type Err = NoDumpId;

    fn from_str(text: &str) -> Result<Self, NoDumpId> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match text.len() == DIGITS && text.bytes().all(is_digit) {
            true => Ok(Self(text.to_owned())),
            false => Err(NoDumpId),
        }
    }
}

impl<'de> Deserialize<'de> for DumpId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for DumpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The SHA-256 of a dump's bytes, as 64 hexadecimal digits in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String)]
pub struct ContentHash(String);

impl ContentHash {
    /// The hash with these bytes.
    pub fn of_bytes(bytes: [u8; 32]) -> Self {
        use fmt::Write as _;
        let mut text = String::with_capacity(64);
        for byte in bytes {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    /// The hash that the catalogue has kept.
    pub(crate) fn kept(text: String) -> Self {
        Self(text)
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ContentHash {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match text.len() == 64 && text.bytes().all(is_digit) {
            true => Ok(Self(text.to_owned())),
            false => Err(()),
        }
    }
}

/// The number of a job; later jobs have larger ones.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(transparent)]
#[schema(value_type = i64)]
pub struct JobId(pub i64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_is_named_by_hexadecimal_digits_and_by_nothing_else() {
        let hash = ContentHash::of_bytes([0xab; 32]);
        let id = DumpId::of_hash(&hash);
        assert_eq!(id.as_str().parse::<DumpId>(), Ok(id.clone()));
        for wrong in [
            "",
            "..",
            "../../etc/passwd",
            "0A1B2C3D4E5F6071",
            "0a1b2c3d4e5f607",
            "%2e%2e",
        ] {
            assert_eq!(wrong.parse::<DumpId>(), Err(NoDumpId), "{wrong}");
        }
    }
}
