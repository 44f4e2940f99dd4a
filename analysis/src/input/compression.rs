//! Knows compressed files by their first bytes and decompresses them.

use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use memmap2::Mmap;
use serde::Serialize;
use zip::ZipArchive;

use super::OpenError;
use super::pipe;

/// The bytes that tell how a file is compressed.
pub const HEAD: usize = 8;

/// How much compressed data is read at once.
const BUFFER: usize = 256 * 1024;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, of one member or of many: HotSpot writes one per MiB (JDK-8237354).
    Gzip,
    /// The first file in a zip archive.
    Zip,
}

impl Compression {
    /// The compression of a file that begins like this.
    pub fn of(head: &[u8]) -> Self {
        if head.starts_with(&[0x1f, 0x8b]) {
            Self::Gzip
        } else if head.starts_with(b"PK\x03\x04") {
            Self::Zip
        } else {
            Self::None
        }
    }

    /// The word for it in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zip => "zip",
        }
    }
}

/// The program for a compression that is known but not built in.
pub fn foreign_tool(head: &[u8]) -> Option<&'static str> {
    let magics: [(&[u8], &str); 4] = [
        (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
        (&[0xfd, b'7', b'z', b'X', b'Z'], "xz"),
        (b"BZh", "bzip2"),
        (&[0x04, 0x22, 0x4d, 0x18], "lz4"),
    ];
    magics
        .iter()
        .find(|(magic, _)| head.starts_with(magic))
        .map(|&(_, tool)| tool)
}

/// All members of a gzip file, one after the other.
pub fn gunzip(compressed: impl Read) -> impl Read {
    MultiGzDecoder::new(BufReader::with_capacity(BUFFER, compressed))
}

/// The first file in a zip archive.
pub fn unzip(map: Mmap, path: &Path) -> Result<impl Read + Send + use<>, OpenError> {
    let fail = |reason: String| OpenError::Zip {
        path: path.to_owned(),
        reason,
    };
    let mut archive = ZipArchive::new(Cursor::new(map)).map_err(|error| fail(error.to_string()))?;
    let mut files = (0..archive.len()).filter(|&index| {
        archive
            .name_for_index(index)
            .is_some_and(|name| name.is_ok_and(|name| !name.ends_with('/')))
    });
    let Some(index) = files.next() else {
        return Err(fail("there is no file in it".to_owned()));
    };
    if files.next().is_some() {
        return Err(fail(
            "there are several files in it; extract one".to_owned(),
        ));
    }
    // A look ahead, since the thread that decompresses has nobody to tell.
    archive
        .by_index(index)
        .map_err(|error| fail(error.to_string()))?;
    Ok(pipe::from_producer(move |send| {
        let mut file = archive.by_index(index).map_err(std::io::Error::other)?;
        pipe::copy(&mut file, send)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressions_are_known_by_their_magic() {
        assert_eq!(Compression::of(&[0x1f, 0x8b, 8]), Compression::Gzip);
        assert_eq!(Compression::of(b"PK\x03\x04"), Compression::Zip);
        assert_eq!(Compression::of(b"JAVA PRO"), Compression::None);
        assert_eq!(Compression::of(b""), Compression::None);
        assert_eq!(foreign_tool(b"BZh91AY"), Some("bzip2"));
        assert_eq!(foreign_tool(b"JAVA"), None);
    }
}
