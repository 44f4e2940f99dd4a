//! Opens whatever holds a profile: files, pipes, compressed files.

mod blocks;
mod compression;
mod koom;
mod members;
mod pipe;
mod tar;
mod unpacked;
mod zstd;

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::{Advice, Mmap, UncheckedAdvice};
use thiserror::Error;

pub use compression::Compression;
pub use koom::LeftOut;
pub use members::{Each, members};

use koom::Restored;
use unpacked::Unpacked;

/// Why an input cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The operating system refuses.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A folder.
    #[error("{} is a folder; give the file in it", .0.display())]
    Folder(PathBuf),
    /// Nothing is in it.
    #[error("{} is empty", .0.display())]
    Empty(PathBuf),
    /// A known compression that is not built in.
    #[error("{} is compressed with {tool}; decompress it first: {tool} -dc {} | hprof-rs COMMAND -", .path.display(), .path.display())]
    Compression {
        /// The file.
        path: PathBuf,
        /// The program that decompresses it.
        tool: &'static str,
    },
    /// A tar archive in which no file can be chosen.
    #[error("cannot read the tar archive {}: {reason}", .path.display())]
    Tar {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A zip archive without a readable member.
    #[error("cannot read the zip archive {}: {reason}", .path.display())]
    Zip {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// An opened input.
pub struct Input {
    /// The name to show: the path, or `standard input`.
    pub name: String,
    /// The size of the file on disk in bytes, if it is a file.
    pub file_bytes: Option<u64>,
    /// How the file is compressed.
    pub compression: Compression,
    /// Tells whether elements of arrays were left out, which is known once the file has been read.
    pub left_out: LeftOut,
    pub(crate) source: Source,
}

/// Tells the system not to map two megabytes of a file where one byte of it is read, as it does where its cache holds them in
/// one piece (since Linux 5.4): the process would seem far larger than what it works on.
pub(crate) fn in_small_pages(map: &Mmap) {
    #[cfg(target_os = "linux")]
    // Only a hint, which some systems do not take.
    let _ = map.advise(memmap2::Advice::NoHugePage);
    #[cfg(not(target_os = "linux"))]
    let _ = map;
}

/// Tells the system that a part of a mapped file is not needed for now, so that the process seems
/// no larger than what it works on.
pub(crate) fn forget(map: &Mmap, range: Range<usize>) {
    // SAFETY: the map is of a file and never written to, so pages that are dropped come back from
    // the file, with the same bytes, when they are touched again.
    let dropped =
        unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, range.start, range.len()) };
    // Only a hint.
    let _ = dropped;
}

/// The stretches of a file, of a megabyte each, that end between two places: what may be forgotten
/// after a part was walked over. One call for each of millions of small parts would take longer
/// than the parts.
pub(crate) fn whole_stretches(from: u64, to: u64) -> Option<Range<usize>> {
    const STRETCH: u64 = 1 << 20;
    let (first, end) = (from / STRETCH * STRETCH, to / STRETCH * STRETCH);
    // Offsets of mapped bytes fit a usize.
    (first < end).then_some(first as usize..end as usize)
}

/// Where the uncompressed bytes come from.
pub(crate) enum Source {
    /// All in memory at once.
    Mapped(Mmap),
    /// Likewise, but of no file.
    Bytes(Vec<u8>),
    /// One after the other.
    Stream(Box<dyn Read + Send>),
}

/// The bytes that come one after the other, with zeros where elements of arrays were left out.
fn stream_of(plain: impl Read + Send + 'static, left_out: &LeftOut) -> Source {
    Source::Stream(Box::new(Restored::new(plain, left_out.clone())))
}

/// As [`stream_of`], of what a decoder gives.
fn unpacked(
    plain: impl Read + Send + 'static,
    compression: Compression,
    left_out: &LeftOut,
) -> Source {
    stream_of(Unpacked::new(plain, compression), left_out)
}

/// Maps a file that is only read.
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is only read, as bytes, which have no invalid values. If another process
    // cuts the file meanwhile, access ends this process with SIGBUS; that is the contract of
    // every program that maps files, and no memory is corrupted.
    let map = unsafe { Mmap::map(file) }?;
    in_small_pages(&map);
    // Only a hint: without it the same bytes come, a little later.
    let _ = map.advise(Advice::Sequential);
    Ok(map)
}

/// A map that several readers share.
#[derive(Clone)]
struct Shared(Arc<Mmap>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Compressed bytes that unpack to the first block of an archive; bzip2 needs most, 900 kB for a block.
const PACKED_HEAD: usize = 1 << 20;

/// True for a tar archive, compressed or not.
fn is_archive(map: &Mmap, compression: Compression) -> bool {
    match compression {
        Compression::None => tar::is_at(map),
        Compression::Zip => false,
        _ => {
            let packed = map[..map.len().min(PACKED_HEAD)].to_vec();
            let plain = compression::decompress(compression, Cursor::new(packed));
            let mut head = Vec::new();
            // What is damaged is no archive here; the reading says so.
            let _ = plain.take(tar::LOOKED_AT as u64).read_to_end(&mut head);
            tar::is_at(&head)
        }
    }
}

/// The only dump or profile in an archive. A compressed archive is unpacked twice: which file it is shows at its end.
fn from_archive(
    map: Mmap,
    compression: Compression,
    path: &Path,
    left_out: &LeftOut,
) -> Result<Source, OpenError> {
    let map = Shared(Arc::new(map));
    let plain = || compression::decompress(compression, Cursor::new(map.clone()));
    let member =
        tar::choose(plain(), tar::is_dump_or_profile).map_err(|reason| OpenError::Tar {
            path: path.to_owned(),
            reason,
        })?;
    let fail = |error| OpenError::Io {
        path: path.to_owned(),
        error,
    };
    let mut contents = tar::contents(plain(), &member).map_err(fail)?;
    let mut head = Vec::new();
    let mut looked_at = contents.by_ref().take(compression::HEAD as u64);
    looked_at.read_to_end(&mut head).map_err(fail)?;
    let inner = Compression::of(&head);
    let whole = Cursor::new(head).chain(contents);
    Ok(match inner {
        Compression::None | Compression::Zip => stream_of(whole, left_out),
        _ => unpacked(compression::decompress(inner, whole), inner, left_out),
    })
}

impl Input {
    /// Opens a file, or standard input for the path `-`. Compression is known by the first bytes,
    /// not by the name.
    ///
    /// # Errors
    /// If the file cannot be opened, is a folder or empty, or is compressed in a way that is not
    /// built in.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        if path == Path::new("-") {
            return Self::from_stream("standard input", io::stdin(), path);
        }
        let fail = |error| OpenError::Io {
            path: path.to_owned(),
            error,
        };
        let file = File::open(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        let name = path.display().to_string();
        if metadata.is_dir() {
            return Err(OpenError::Folder(path.to_owned()));
        }
        if !metadata.is_file() {
            // A pipe or a device has no size and cannot be mapped.
            return Self::from_stream(&name, file, path);
        }
        if metadata.len() == 0 {
            return Err(OpenError::Empty(path.to_owned()));
        }
        Self::from_map(name, map(&file).map_err(fail)?, path)
    }

    /// Reads a file that is open and uncompressed, such as a temporary one without a name.
    ///
    /// # Errors
    /// If it is empty or cannot be mapped.
    pub fn of_file(name: &str, file: &File) -> Result<Self, OpenError> {
        let fail = |error| OpenError::Io {
            path: PathBuf::from(name),
            error,
        };
        let length = file.metadata().map_err(fail)?.len();
        if length == 0 {
            return Err(OpenError::Empty(PathBuf::from(name)));
        }
        Ok(Self {
            name: name.to_owned(),
            file_bytes: Some(length),
            compression: Compression::None,
            left_out: LeftOut::default(),
            source: Source::Mapped(map(file).map_err(fail)?),
        })
    }

    /// Reads a file that is open, compressed or not.
    ///
    /// # Errors
    /// If it is empty, cannot be mapped, or is compressed in a way that is not built in.
    pub fn from_file(name: &str, file: &File) -> Result<Self, OpenError> {
        let fail = |error| OpenError::Io {
            path: PathBuf::from(name),
            error,
        };
        if file.metadata().map_err(fail)?.len() == 0 {
            return Err(OpenError::Empty(PathBuf::from(name)));
        }
        Self::from_map(name.to_owned(), map(file).map_err(fail)?, Path::new(name))
    }

    fn from_map(name: String, map: Mmap, path: &Path) -> Result<Self, OpenError> {
        if let Some(tool) = compression::foreign_tool(&map) {
            return Err(OpenError::Compression {
                path: path.to_owned(),
                tool,
            });
        }
        let file_bytes = Some(map.len() as u64);
        let compression = Compression::of(&map);
        let left_out = LeftOut::default();
        if is_archive(&map, compression) {
            let source = from_archive(map, compression, path, &left_out)?;
            return Ok(Self {
                name,
                file_bytes,
                compression,
                left_out,
                source,
            });
        }
        let source = match compression {
            Compression::None if koom::lacks_elements(&map) => {
                stream_of(Cursor::new(map), &left_out)
            }
            Compression::None => Source::Mapped(map),
            Compression::Zip => unpacked(compression::unzip(map, path)?, compression, &left_out),
            _ => match blocks::block_size(&map).filter(|_| compression == Compression::Gzip) {
                Some(size) => unpacked(blocks::inflate(map, size), compression, &left_out),
                None => {
                    let plain = compression::decompress(compression, Cursor::new(map));
                    unpacked(plain, compression, &left_out)
                }
            },
        };
        Ok(Self {
            name,
            file_bytes,
            compression,
            left_out,
            source,
        })
    }

    fn from_stream(
        name: &str,
        mut stream: impl Read + Send + 'static,
        path: &Path,
    ) -> Result<Self, OpenError> {
        let mut head = Vec::new();
        stream
            .by_ref()
            .take(tar::LOOKED_AT as u64)
            .read_to_end(&mut head)
            .map_err(|error| OpenError::Io {
                path: path.to_owned(),
                error,
            })?;
        if head.is_empty() {
            return Err(OpenError::Empty(PathBuf::from(name)));
        }
        if let Some(tool) = compression::foreign_tool(&head) {
            return Err(OpenError::Compression {
                path: path.to_owned(),
                tool,
            });
        }
        if tar::is_at(&head) {
            return Err(OpenError::Tar {
                path: PathBuf::from(name),
                reason: "all of it must be looked through, so a file is needed".to_owned(),
            });
        }
        let compression = Compression::of(&head);
        let whole = Cursor::new(head).chain(stream);
        let left_out = LeftOut::default();
        let source = match compression {
            Compression::None => stream_of(whole, &left_out),
            Compression::Zip => {
                return Err(OpenError::Zip {
                    path: PathBuf::from(name),
                    reason: "its table of contents is at its end, so a file is needed".to_owned(),
                });
            }
            _ => {
                let plain = compression::decompress(compression, whole);
                unpacked(plain, compression, &left_out)
            }
        };
        Ok(Self {
            name: name.to_owned(),
            file_bytes: None,
            compression,
            source,
            left_out,
        })
    }

    /// Wraps bytes that come from anywhere, uncompressed.
    pub fn from_reader(name: &str, reader: impl Read + Send + 'static) -> Self {
        Self {
            name: name.to_owned(),
            file_bytes: None,
            compression: Compression::None,
            left_out: LeftOut::default(),
            source: Source::Stream(Box::new(reader)),
        }
    }

    /// Wraps bytes in memory, compressed or not; a zip archive is not opened.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Self {
        let compression = Compression::of(&bytes);
        let file_bytes = Some(bytes.len() as u64);
        let left_out = LeftOut::default();
        let source = match (compression, blocks::block_size(&bytes)) {
            (Compression::None, _) if koom::lacks_elements(&bytes) => {
                stream_of(Cursor::new(bytes), &left_out)
            }
            (Compression::None | Compression::Zip, _) => Source::Bytes(bytes),
            (_, Some(size)) => unpacked(blocks::inflate(bytes, size), compression, &left_out),
            (_, None) => {
                let plain = compression::decompress(compression, Cursor::new(bytes));
                unpacked(plain, compression, &left_out)
            }
        };
        Self {
            name: name.to_owned(),
            file_bytes,
            compression,
            left_out,
            source,
        }
    }

    /// The uncompressed bytes, one after the other.
    pub fn into_reader(self) -> Box<dyn Read + Send> {
        match self.source {
            Source::Mapped(map) => Box::new(Cursor::new(map)),
            Source::Bytes(bytes) => Box::new(Cursor::new(bytes)),
            Source::Stream(stream) => stream,
        }
    }

    /// The uncompressed bytes if the whole file is in memory, which allows any number of passes.
    pub fn mapped(&self) -> Option<&[u8]> {
        match &self.source {
            Source::Mapped(map) => Some(map),
            Source::Bytes(bytes) => Some(bytes),
            Source::Stream(_) => None,
        }
    }
}
