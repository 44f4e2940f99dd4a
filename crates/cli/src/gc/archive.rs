//! The files of a rotated log in an archive: zip, or tar in any compression.

use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use flate2::read::MultiGzDecoder;
use hprof_analysis::input::members;
use hprof_gclog::{Reader, first_time};

use super::rotated::{is_log, stem};
use crate::memory;

/// The beginning of a file, in which its first time is.
const BEGINNING: u64 = 64 << 10;
/// Bytes that are read at once.
const PIECE: usize = 1 << 20;
/// The files of a log in an archive that are read: a tar archive is walked again for each that is out of order.
const MAX_FILES: usize = 100;

/// A log of an archive, as far as it is read.
pub struct Archived {
    /// It has taken all files.
    pub reader: Reader,
    /// Their names in the order in which they were read.
    pub parts: Vec<String>,
}

/// Reads the only log of an archive with several files; none of other files.
///
/// # Errors
/// If the archive is damaged, or has several logs.
pub fn read(path: &Path) -> anyhow::Result<Option<Archived>> {
    let damaged = || format!("cannot read the archive {}", path.display());
    let mut logs: Vec<(i64, String)> = Vec::new();
    let mut files = 0;
    let mut look = |name: &str, contents: &mut dyn Read| {
        files += 1;
        let mut beginning = Vec::new();
        // What comes before damage is enough.
        let _ = plain(name, contents)
            .take(BEGINNING)
            .read_to_end(&mut beginning);
        if is_log(&beginning) {
            let time = first_time(&beginning).unwrap_or(i64::MAX);
            logs.push((time, name.to_owned()));
        }
        Ok(logs.len() <= MAX_FILES)
    };
    if !members(path, &mut look).unwrap_or(false) || files < 2 || logs.is_empty() {
        return Ok(None);
    }
    ensure!(
        logs.len() <= MAX_FILES,
        "{}: more than {MAX_FILES} logs are in the archive; extract it, and give the folder",
        path.display()
    );
    let mut stems: Vec<&str> = logs.iter().map(|(_, name)| stem(name)).collect();
    stems.sort_unstable();
    stems.dedup();
    if stems.len() > 1 {
        bail!(
            "{} has several logs: extract one of {}",
            path.display(),
            stems.join(", ")
        );
    }
    logs.sort();
    let mut reader = Reader::new();
    let mut left = logs.iter().map(|(_, name)| name).peekable();
    let mut piece = vec![0; PIECE];
    let mut is_first = true;
    while left.peek().is_some() {
        let before = left.len();
        let mut take = |name: &str, contents: &mut dyn Read| {
            if left.next_if(|next| *next == name).is_some() {
                if !std::mem::take(&mut is_first) {
                    reader.next_file();
                }
                feed(&mut reader, &mut plain(name, contents), &mut piece)?;
            }
            Ok(left.peek().is_some())
        };
        members(path, &mut take).with_context(damaged)?;
        ensure!(left.len() < before, damaged());
    }
    Ok(Some(Archived {
        reader,
        parts: logs.into_iter().map(|(_, name)| name).collect(),
    }))
}

/// The contents of a file, which may be compressed by itself.
fn plain<'a>(name: &str, contents: &'a mut dyn Read) -> Box<dyn Read + 'a> {
    match name.ends_with(".gz") {
        true => Box::new(MultiGzDecoder::new(contents)),
        false => Box::new(contents),
    }
}

fn feed(reader: &mut Reader, contents: &mut dyn Read, piece: &mut [u8]) -> io::Result<()> {
    loop {
        match contents.read(piece) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                reader.feed(&piece[..length]);
                memory::has_read(length as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
