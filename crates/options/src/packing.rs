//! Output files that are compressed while they are written.

use std::path::{Path, PathBuf};

use crate::name_end::{split, with_pid};

/// How the output file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Gzip members of one block each, as HotSpot compresses its dumps.
    Gzip,
    /// Zstandard frames of one block each.
    Zstd,
}

/// The ends of names.
const ENDS: [(&str, Packing); 2] = [(".hprof.gz", Packing::Gzip), (".hprof.zst", Packing::Zstd)];

impl Packing {
    /// The compression that the name of a file selects.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        split(path, &ENDS).map(|(_, _, packing)| packing)
    }
}

/// The name that `force=n` takes when a compressed file of the name `path` exists already:
/// `app.hprof.gz` becomes `app.9128.hprof.gz`.
#[must_use]
pub fn unique_packed_name(path: &Path, pid: u32) -> PathBuf {
    with_pid(path, &ENDS, pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_select_compression_and_keep_their_end() {
        for (name, packing, unique) in [
            ("a.hprof.gz", Some(Packing::Gzip), "a.7.hprof.gz"),
            ("d/a.b.HPROF.ZST", Some(Packing::Zstd), "d/a.b.7.HPROF.ZST"),
            ("a.gz", None, "a.gz.7"),
            ("a.hprof", None, "a.hprof.7"),
            (".hprof.gz", None, ".hprof.gz.7"),
        ] {
            let path = Path::new(name);
            assert_eq!(Packing::of_name(path), packing, "{name}");
            assert_eq!(unique_packed_name(path, 7), Path::new(unique), "{name}");
        }
    }
}
