//! The file that is sent: stripped if asked for, and compressed for the way.
//!
//! Compression is in members of one mebibyte each, as HotSpot's own (JDK-8237354), so that all
//! cores take part here and at the server.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use anyhow::{Context, ensure};
use hprof_analysis::input::{Compression, Input};
use hprof_analysis::strip::{Form, StripPlan};
use hprof_packing::BLOCK;
use hprof_server::intake::StripFigures;

use super::meter::Meter;
use crate::blocks::Blocks;
use crate::render::out::tell;
use crate::render::screen::{count, plural};
use crate::strip_rules::{StripWork, figures, say_bitmaps};

/// The steps before a file is sent.
#[derive(Debug, Clone, Copy)]
pub struct Packing<'p> {
    /// Blank values, as `hprof-rs strip` does.
    pub strip: Option<&'p StripWork>,
    /// Compress what is not compressed.
    pub compresses: bool,
}

/// A file that was made to be sent.
#[derive(Debug)]
pub struct Packed {
    /// The file, at its start.
    pub file: File,
    /// The values that it is without; none if it was not stripped.
    pub figures: Option<StripFigures>,
}

/// Makes the file to send. Gives none if the file itself is to be sent.
///
/// # Errors
/// If it cannot be read, holds no heap dump that could be stripped, or there is no room.
pub fn pack(
    file: &mut File,
    name: &str,
    packing: Packing<'_>,
    room: impl FnOnce() -> anyhow::Result<File>,
) -> anyhow::Result<Option<Packed>> {
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    (&mut *file).take(512).read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(0))?;
    let is_packed = Compression::of(&head) != Compression::None;
    if packing.strip.is_none() && (is_packed || !packing.compresses) {
        return Ok(None);
    }
    let mut to = room()?;
    let mut figures = None;
    if let Some(work) = packing.strip {
        figures = Some(strip(file, &head, name, packing, work, &mut to)?);
    } else {
        let meter = Meter::begin("compressing", file.metadata()?.len());
        let mut blocks = Blocks::new(&mut to);
        // What it lacks is filled in, as blocks are taken for HotSpot's.
        let plain = Input::from_file(name, file)?.into_reader();
        copy(meter.read(plain), &mut blocks).context("cannot compress")?;
        blocks.finish().context("cannot compress")?;
    }
    to.seek(SeekFrom::Start(0))?;
    Ok(Some(Packed { file: to, figures }))
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
    packing: Packing<'_>,
    work: &StripWork,
    to: &mut File,
) -> anyhow::Result<StripFigures> {
    let length = file.metadata()?.len();
    let is_plain = Compression::of(head) == Compression::None;
    // The length of what is compressed is not known.
    let meter = Meter::begin("stripping", if is_plain { 2 * length } else { 0 });
    let read = || -> io::Result<_> {
        let input = Input::from_file(name, file).map_err(io::Error::other)?;
        Ok(meter.read(input.into_reader()))
    };
    let plan = StripPlan::of(read, work.policy(Form::Same));
    let plan = plan.with_context(|| format!("cannot strip {name}"))?;
    let stripped = if packing.compresses {
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
    say_bitmaps(&plan);
    work.say_unused();
    let figures = figures(&plan, &stripped);
    if work.rules().redact {
        tell!(
            "hprof-rs: {name}: {} found and overwritten",
            plural(figures.secrets, "secret was", "secrets were"),
        );
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use hprof_server::intake::StripRules;

    use super::*;

    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn packed(file: &mut File, strips: bool, compresses: bool) -> anyhow::Result<Option<Packed>> {
        let work = strips.then(|| StripWork::new(StripRules::default()).unwrap());
        let packing = Packing {
            strip: work.as_ref(),
            compresses,
        };
        pack(file, "x", packing, || Ok(tempfile::tempfile()?))
    }

    #[test]
    fn what_is_compressed_already_is_sent_as_it_is() {
        let mut gzip = packed(&mut file_of(b"JAVA PROFILE 1.0.2\0"), false, true)
            .unwrap()
            .unwrap()
            .file;
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
