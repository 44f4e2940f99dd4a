//! The file that is sent: stripped if asked for, and compressed for the way.
//!
//! Compression is in members of one mebibyte each, as HotSpot's own (JDK-8237354), so that all
//! cores take part here and at the server.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::thread;

use anyhow::{Context, ensure};
use flate2::{Compression, GzBuilder};
use hprof_analysis::input::{Compression as Packed, Input};
use hprof_analysis::strip::{StripPlan, StripPolicy};

use super::meter::Meter;
use crate::render::out::tell;
use crate::render::screen::{count, plural};

/// The plain bytes of a member.
const BLOCK: usize = 1 << 20;
/// The most threads that compress.
const MAX_THREADS: usize = 16;

/// The steps before a file is sent.
#[derive(Debug, Clone, Copy)]
pub struct Packing {
    /// Blank the values of fields and arrays, as `hprof-rs strip` does.
    pub strips: bool,
    /// Compress what is not compressed.
    pub compresses: bool,
}

/// Makes the file to send. Gives none if the file itself is to be sent.
///
/// # Errors
/// If it cannot be read, holds no heap dump that could be stripped, or there is no room.
pub fn pack(
    file: &mut File,
    name: &str,
    packing: Packing,
    room: impl FnOnce() -> anyhow::Result<File>,
) -> anyhow::Result<Option<File>> {
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    (&mut *file).take(512).read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(0))?;
    let is_packed = Packed::of(&head) != Packed::None;
    if !packing.strips && (is_packed || !packing.compresses) {
        return Ok(None);
    }
    let mut to = room()?;
    if packing.strips {
        strip(file, &head, name, packing.compresses, &mut to)?;
    } else {
        let meter = Meter::begin("compressing", file.metadata()?.len());
        let mut blocks = Blocks::new(&mut to);
        // What it lacks is filled in, as blocks are taken for HotSpot's.
        let plain = Input::from_file(name, file)?.into_reader();
        copy(meter.read(plain), &mut blocks).context("cannot compress")?;
        blocks.finish().context("cannot compress")?;
    }
    to.seek(SeekFrom::Start(0))?;
    Ok(Some(to))
}

fn copy(mut from: impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; BLOCK];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => to.write_all(buffer.get(..length).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn strip(
    file: &File,
    head: &[u8],
    name: &str,
    compresses: bool,
    to: &mut File,
) -> anyhow::Result<()> {
    let length = file.metadata()?.len();
    let is_plain = Packed::of(head) == Packed::None;
    // The length of what is compressed is not known.
    let meter = Meter::begin("stripping", if is_plain { 2 * length } else { 0 });
    let read = || -> io::Result<_> {
        let input = Input::from_file(name, file).map_err(io::Error::other)?;
        Ok(meter.read(input.into_reader()))
    };
    let plan = StripPlan::of(read, StripPolicy::default());
    let plan = plan.with_context(|| format!("cannot strip {name}"))?;
    let stripped = if compresses {
        let mut blocks = Blocks::new(to);
        let stripped = plan.copy(read()?, &mut blocks)?;
        blocks.finish()?;
        stripped
    } else {
        let mut plain = BufWriter::with_capacity(BLOCK, to);
        let stripped = plan.copy(read()?, &mut plain)?;
        plain.flush()?;
        stripped
    };
    ensure!(
        stripped.bytes > 0,
        "{name} holds nothing that could be sent"
    );
    if stripped.unknown > 0 {
        tell!(
            "hprof-rs: {name}: {} of unknown kinds, of which only the heads are sent",
            plural(stripped.unknown, "record", "records"),
        );
    }
    if let Some(end) = stripped.ends_at {
        tell!(
            "hprof-rs: {name} is damaged or cut short at byte {}: what is sent ends there",
            count(end),
        );
    }
    Ok(())
}

/// Writes gzip members of [`BLOCK`] plain bytes, compressed on all cores.
struct Blocks<W> {
    to: W,
    threads: usize,
    waiting: Vec<u8>,
    is_first: bool,
}

impl<W: Write> Blocks<W> {
    fn new(to: W) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            to,
            threads: cores.min(MAX_THREADS),
            waiting: Vec::new(),
            is_first: true,
        }
    }

    /// Compresses what waits, each block on a thread of its own.
    fn compress(&mut self) -> io::Result<()> {
        let blocks = self.waiting.chunks(BLOCK);
        let packed: Vec<io::Result<Vec<u8>>> = thread::scope(|scope| {
            let started: Vec<_> = blocks
                .enumerate()
                .map(|(number, block)| {
                    let is_first = self.is_first && number == 0;
                    scope.spawn(move || member(block, is_first))
                })
                .collect();
            let joined = started.into_iter().map(|thread| match thread.join() {
                Ok(packed) => packed,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect()
        });
        for member in packed {
            self.to.write_all(&member?)?;
        }
        self.is_first = false;
        self.waiting.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        if !self.waiting.is_empty() || self.is_first {
            self.compress()?;
        }
        self.to.flush()
    }
}

impl<W: Write> Write for Blocks<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let most = BLOCK * self.threads;
        let taken = bytes.len().min(most - self.waiting.len());
        self.waiting.extend(bytes.iter().take(taken));
        if self.waiting.len() == most {
            self.compress()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A gzip member; the first says how long the blocks are.
fn member(block: &[u8], is_first: bool) -> io::Result<Vec<u8>> {
    let builder = match is_first {
        true => GzBuilder::new().comment(format!("HPROF BLOCKSIZE={BLOCK}")),
        false => GzBuilder::new(),
    };
    let room = Vec::with_capacity(block.len() / 2);
    let mut packer = builder.write(room, Compression::fast());
    packer.write_all(block)?;
    packer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn packed(file: &mut File, strips: bool, compresses: bool) -> anyhow::Result<Option<File>> {
        let packing = Packing { strips, compresses };
        pack(file, "x", packing, || Ok(tempfile::tempfile()?))
    }

    fn plain(file: &File) -> Vec<u8> {
        let mut bytes = Vec::new();
        let input = Input::from_file("x", file).unwrap();
        input.into_reader().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn blocks_are_read_back_whatever_their_number() {
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 7] {
            let mut bytes = b"JAVA PROFILE 1.0.2\0".to_vec();
            bytes.extend((0..length).map(|number| (number * 7 / 3) as u8));
            let sent = packed(&mut file_of(&bytes), false, true).unwrap().unwrap();
            assert!(plain(&sent) == bytes, "{length}");
        }
    }

    #[test]
    fn what_is_compressed_already_is_sent_as_it_is() {
        let gzip = member(b"JAVA PROFILE 1.0.2\0", true).unwrap();
        assert!(packed(&mut file_of(&gzip), false, true).unwrap().is_none());
        let plain = file_of(b"JAVA PROFILE 1.0.2\0");
        assert!(packed(&mut { plain }, false, false).unwrap().is_none());
    }

    #[test]
    fn a_text_cannot_be_stripped() {
        let mut text = file_of(b"hello, this is no dump");
        assert!(packed(&mut text, true, true).is_err());
    }
}
