//! The small objects that make others visible.

use std::io;

use serde::{Deserialize, Serialize};

use crate::ids::{ContentHash, DumpId};
use crate::store::{Fault, PartId, Pieces};

/// The largest that is read, in bytes.
pub(super) const MAX_BYTES: usize = 1 << 20;
/// The most files of an analysis.
const MAX_FILES: usize = 64;

/// `dumps/DUMP`: where the bytes of a dump are. Direct uploads choose the name of their bytes before
/// the hash is known, and storage copies no large object; so bytes have a name of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DumpEntry {
    /// The bytes are `blobs/BLOB`: 32 hexadecimal digits.
    pub blob: String,
    /// Their number.
    pub bytes: u64,
    /// Their SHA-256: 64 hexadecimal digits.
    pub sha256: String,
}

/// `analyses/DUMP/ATTEMPT.json`: the files of an attempt that was published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AnalysisEntry {
    /// The files lie below `analyses/DUMP/RUN/`: 32 hexadecimal digits by chance, so that no two
    /// processes write to the same place.
    pub run: String,
    /// The files.
    pub files: Vec<FileEntry>,
}

/// `uploads/BLOB`: an upload that does not pass through a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UploadEntry {
    /// The storage's name for it.
    pub upload: String,
    /// The bytes there will be.
    pub bytes: u64,
    /// The bytes of every piece but the last.
    pub piece: u64,
}

impl UploadEntry {
    /// An entry as it was read, checked.
    pub(super) fn parse(bytes: &[u8]) -> io::Result<Self> {
        let entry: Self = parse(bytes, "an upload")?;
        match entry.piece > 0 {
            true => Ok(entry),
            false => Err(damaged("an upload")),
        }
    }

    pub(super) fn pieces(&self) -> Pieces {
        Pieces {
            bytes: self.bytes,
            piece: self.piece,
        }
    }
}

/// A wish that the storage cannot fulfil, in words for the caller.
pub(super) fn invalid(words: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, words)
}

/// A file of an analysis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileEntry {
    /// Its name in the folder.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its SHA-256: 64 hexadecimal digits.
    pub sha256: String,
    /// When it was written, in nanoseconds since 1970: an index is for one file of one time.
    pub modified_nanos: u64,
}

fn damaged(what: &str) -> io::Error {
    Fault::Damaged(format!(
        "the storage holds no valid entry for {what}; delete the dump"
    ))
    .into()
}

fn parse<T: serde::de::DeserializeOwned>(bytes: &[u8], what: &str) -> io::Result<T> {
    if bytes.len() > MAX_BYTES {
        return Err(damaged(what));
    }
    serde_json::from_slice(bytes).map_err(|_| damaged(what))
}

impl DumpEntry {
    /// An entry as it was read, checked.
    pub(super) fn parse(bytes: &[u8], dump: &DumpId) -> io::Result<Self> {
        let entry: Self = parse(bytes, dump.as_str())?;
        let is_whole = entry.blob.parse::<PartId>().is_ok()
            && is_hash(&entry.sha256)
            && entry.sha256.starts_with(dump.as_str());
        match is_whole {
            true => Ok(entry),
            false => Err(damaged(dump.as_str())),
        }
    }

    /// An entry for a blob.
    pub(super) fn new(blob: &PartId, bytes: u64, sha256: &ContentHash) -> Self {
        Self {
            blob: blob.as_str().to_owned(),
            bytes,
            sha256: sha256.as_str().to_owned(),
        }
    }
}

impl AnalysisEntry {
    /// An entry as it was read, checked: its names lead nowhere else.
    pub(super) fn parse(bytes: &[u8], dump: &DumpId) -> io::Result<Self> {
        let entry: Self = parse(bytes, dump.as_str())?;
        let is_name = |name: &str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            !name.is_empty() && !name.starts_with('.') && name.bytes().all(is_plain)
        };
        let is_whole = entry.run.parse::<PartId>().is_ok()
            && entry.files.len() <= MAX_FILES
            && entry
                .files
                .iter()
                .all(|file| is_name(&file.name) && is_hash(&file.sha256));
        match is_whole {
            true => Ok(entry),
            false => Err(damaged(dump.as_str())),
        }
    }

    /// The bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        let sizes = self.files.iter().map(|file| file.bytes);
        sizes.fold(0, u64::saturating_add)
    }
}

fn is_hash(text: &str) -> bool {
    text.parse::<ContentHash>().is_ok()
}

/// Readings of a small object before its storage counts as broken.
const READINGS: usize = 8;

/// The bytes that two readings in turn have: entries have no hash, and a byte that changes on the way could name
/// another blob.
pub(super) fn agreed(mut read: impl FnMut() -> io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    let mut last = read()?;
    for _ in 1..READINGS {
        let next = read()?;
        if next == last {
            return Ok(next);
        }
        last = next;
    }
    Err(Fault::Unavailable("it gives other bytes at each reading".to_owned()).into())
}

/// The number of the attempt in the name of an entry.
pub(super) fn attempt_of(name: &str) -> Option<u32> {
    name.strip_suffix(".json")?.parse().ok()
}

/// The name of the entry of an attempt; later ones come later in every listing.
pub(super) fn name_of(attempt: u32) -> String {
    format!("{attempt:010}.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_leads_elsewhere_is_refused() {
        let dump: DumpId = "0a1b2c3d4e5f6071".parse().unwrap();
        let entry = |name: &str| AnalysisEntry {
            run: "0".repeat(32),
            files: vec![FileEntry {
                name: name.to_owned(),
                bytes: 1,
                sha256: "0".repeat(64),
                modified_nanos: 0,
            }],
        };
        let parsed = |entry: &AnalysisEntry| {
            AnalysisEntry::parse(&serde_json::to_vec(entry).unwrap(), &dump)
        };
        let whole = entry("report.json");
        assert_eq!(parsed(&whole).unwrap(), whole);
        for name in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "/etc/passwd",
            ".hidden",
            "a\0b",
        ] {
            assert!(parsed(&entry(name)).is_err(), "{name}");
        }
        let blob = |blob: &str, sha256: &str| {
            let entry = DumpEntry {
                blob: blob.to_owned(),
                bytes: 1,
                sha256: sha256.to_owned(),
            };
            DumpEntry::parse(&serde_json::to_vec(&entry).unwrap(), &dump)
        };
        let hash = format!("{dump}{}", "0".repeat(48));
        assert!(blob(&"0".repeat(32), &hash).is_ok());
        assert!(blob("../../x", &hash).is_err());
        assert!(blob(&"0".repeat(32), &"0".repeat(64)).is_err());
    }

    #[test]
    fn a_reading_alone_is_not_believed() {
        let of = |readings: &[&str]| {
            let mut left = readings.iter();
            agreed(|| {
                let next = left.next().ok_or(io::ErrorKind::NotFound)?;
                Ok(next.as_bytes().to_vec())
            })
        };
        assert_eq!(of(&["a", "a"]).unwrap(), b"a");
        assert_eq!(of(&["b", "a", "c", "a", "a"]).unwrap(), b"a");
        assert_eq!(of(&["a"]).unwrap_err().kind(), io::ErrorKind::NotFound);
        let error = of(&["a", "b", "a", "b", "a", "b", "a", "b"]).unwrap_err();
        assert!(error.to_string().contains("other bytes"), "{error}");
    }

    #[test]
    fn names_of_attempts_are_read_back() {
        assert_eq!(attempt_of(&name_of(7)), Some(7));
        assert!(name_of(9) < name_of(10));
        assert_eq!(attempt_of("x.json"), None);
    }
}
