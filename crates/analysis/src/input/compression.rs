//! Knows compressed files by their first bytes and decompresses them.

use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use memmap2::Mmap;
use serde::Serialize;
use zip::ZipArchive;

use super::OpenError;
use super::pipe;
use super::zstd::Frames;

/// The bytes that tell how a file is compressed.
pub const HEAD: usize = 8;

/// How much compressed data is read at once.
const BUFFER: usize = 256 * 1024;
/// The memory in KiB that an xz file may ask for; `xz -9` asks for 64 MiB.
const XZ_MEMORY: u32 = 512 << 10;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, of one member or of many: HotSpot writes one per MiB (JDK-8237354).
    Gzip,
    /// The only file in a zip archive.
    Zip,
    /// zstd, of any number of frames.
    Zstd,
    /// xz, of any number of streams.
    Xz,
    /// bzip2, of any number of streams.
    Bzip2,
}

impl Compression {
    /// The compression of a file that begins like this.
    pub fn of(head: &[u8]) -> Self {
        if head.starts_with(&[0x1f, 0x8b]) {
            Self::Gzip
        } else if head.starts_with(b"PK\x03\x04") {
            Self::Zip
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Self::Zstd
        } else if head.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
            Self::Xz
        } else if head.starts_with(b"BZh") {
            Self::Bzip2
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
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
        }
    }
}

/// The program for a compression that is known but not built in.
pub fn foreign_tool(head: &[u8]) -> Option<&'static str> {
    head.starts_with(&[0x04, 0x22, 0x4d, 0x18]).then_some("lz4")
}

/// The plain bytes of a stream, decompressed on a thread of its own. Not for zip archives, which
/// need all of the file.
pub fn decompress(
    compression: Compression,
    compressed: impl Read + Send + 'static,
) -> Box<dyn Read + Send> {
    let buffered = BufReader::with_capacity(BUFFER, compressed);
    match compression {
        Compression::None | Compression::Zip => Box::new(buffered),
        Compression::Gzip => Box::new(pipe::in_background(MultiGzDecoder::new(buffered))),
        Compression::Zstd => Box::new(pipe::in_background(Frames::new(buffered))),
        Compression::Xz => {
            let xz = XzReader::new_mem_limit(buffered, true, XZ_MEMORY);
            Box::new(pipe::in_background(xz))
        }
        Compression::Bzip2 => Box::new(pipe::in_background(MultiBzDecoder::new(buffered))),
    }
}

/// The only file in a zip archive, or the only one of them whose name ends with `.hprof`: Matrix sends a
/// text along with a dump.
pub fn unzip(map: Mmap, path: &Path) -> Result<impl Read + Send + use<>, OpenError> {
    let fail = |reason: String| OpenError::Zip {
        path: path.to_owned(),
        reason,
    };
    let mut archive = ZipArchive::new(Cursor::new(map)).map_err(|error| fail(error.to_string()))?;
    let (mut files, mut dumps) = (Vec::new(), Vec::new());
    for index in 0..archive.len() {
        let Some(Ok(name)) = archive.name_for_index(index) else {
            continue;
        };
        if !name.ends_with('/') {
            files.push(index);
        }
        if name.to_ascii_lowercase().ends_with(".hprof") {
            dumps.push(index);
        }
    }
    let index = match (files.as_slice(), dumps.as_slice()) {
        ([], _) => return Err(fail("there is no file in it".to_owned())),
        ([only], _) | (_, [only]) => *only,
        _ => {
            return Err(fail(
                "there are several files in it; extract one".to_owned(),
            ));
        }
    };
    // A look ahead, since the decompressing thread cannot report it.
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
        assert_eq!(Compression::of(b"BZh91AY"), Compression::Bzip2);
        assert_eq!(foreign_tool(&[4, 0x22, 0x4d, 0x18]), Some("lz4"));
        assert_eq!(foreign_tool(b"JAVA"), None);
    }
}
