//! Recordings of the JDK Flight Recorder that are read for collections or thread dumps, not as profiles.

use std::io::{Cursor, ErrorKind, Read};

use anyhow::Context;
use hprof_analysis::input::Input;
use hprof_foreign::jfr::facts::{Skipped, is_recording};
use hprof_foreign::jfr::unreadable;

use crate::memory;
use crate::partly_read;

/// The bytes that tell a recording.
const MAGIC: u64 = 4;
/// Damaged places that are named one by one.
const PLACES: usize = 3;

/// An opened file.
pub enum Opened {
    /// A recording, of which all bytes are at hand.
    Recording {
        /// Its bytes, uncompressed.
        input: Input,
        /// It is compressed, and its end is missing.
        is_cut_short: bool,
    },
    /// Anything else.
    Other(Input),
}

/// Looks whether a file is a recording, compressed or not.
///
/// # Errors
/// If it cannot be read, or is a recording of another version.
pub fn open(input: Input) -> anyhow::Result<Opened> {
    let name = input.name.clone();
    if let Some(bytes) = input.mapped() {
        if !is_recording(bytes) {
            return Ok(Opened::Other(input));
        }
        ensure_readable(&name, bytes)?;
        return Ok(Opened::Recording {
            input,
            is_cut_short: false,
        });
    }
    let mut stream = input.into_reader();
    let mut bytes = Vec::new();
    let mut is_cut_short = false;
    let mut read = |stream: &mut dyn Read, bytes: &mut Vec<u8>| match stream.read_to_end(bytes) {
        Ok(length) => {
            memory::has_read(length as u64);
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            is_cut_short = true;
            Ok(())
        }
        Err(error) => Err(error).with_context(|| format!("cannot read {name}")),
    };
    read(&mut stream.by_ref().take(MAGIC), &mut bytes)?;
    if !is_recording(&bytes) {
        let stream = Cursor::new(bytes).chain(stream);
        return Ok(Opened::Other(Input::from_reader(&name, stream)));
    }
    read(&mut stream, &mut bytes)?;
    ensure_readable(&name, &bytes)?;
    Ok(Opened::Recording {
        input: Input::from_bytes(&name, bytes),
        is_cut_short,
    })
}

fn ensure_readable(name: &str, bytes: &[u8]) -> anyhow::Result<()> {
    match unreadable(bytes) {
        Some(unreadable) => Err(unreadable).with_context(|| name.to_owned()),
        None => Ok(()),
    }
}

/// Sentences on damage. The command will fail if bytes of the recording were not read.
pub fn damage(name: &str, skipped: &Skipped, is_cut_short: bool) -> Vec<String> {
    partly_read::note_recording(name, skipped);
    let shown = skipped.damage.iter().take(PLACES);
    let mut notes: Vec<String> = shown
        .map(|damage| format!("Damaged {}.", damage.message))
        .collect();
    let more = skipped.damaged.saturating_sub(notes.len() as u64);
    if more > 0 {
        notes.push(format!("{more} more places are damaged."));
    }
    if is_cut_short {
        notes.push("The compressed file is damaged or cut short.".to_owned());
    }
    notes
}
