//! The file that is sent: stripped if asked for, and compressed for the way.
//!
//! Compression is in members of one mebibyte each, as HotSpot's own (JDK-8237354), so that all
//! cores take part here and at the server.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use anyhow::{Context, ensure};
use hprof_analysis::input::{Compression as Packed, Input};
use hprof_analysis::strip::{StripPlan, StripPolicy};
use hprof_packing::BLOCK;

use super::meter::Meter;
use crate::blocks::Blocks;
use crate::render::out::tell;
use crate::render::screen::{count, plural};

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

    #[test]
    fn what_is_compressed_already_is_sent_as_it_is() {
        let mut gzip = packed(&mut file_of(b"JAVA PROFILE 1.0.2\0"), false, true)
            .unwrap()
            .unwrap();
        assert!(packed(&mut gzip, false, true).unwrap().is_none());
        let plain = file_of(b"JAVA PROFILE 1.0.2\0");
        assert!(packed(&mut { plain }, false, false).unwrap().is_none());
    }

    #[test]
    fn a_text_cannot_be_stripped() {
        let mut text = file_of(b"hello, this is no dump");
        assert!(packed(&mut text, true, true).is_err());
    }
}
