//! Which form a dump has.

use std::borrow::Cow;
use std::fmt;

use crate::frames::Frames;
use crate::model::Dump;
use crate::{json, plain, text};

/// Why a file has no thread dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoDump {
    /// Nothing in it looks like one.
    None,
    /// It begins like a dump in JSON, and is none, or is damaged there.
    Json(String),
}

impl fmt::Display for NoDump {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => out.write_str(
                "no thread dump is in it; `jstack PID`, `jcmd PID Thread.print` and `kill -3 PID` make one",
            ),
            Self::Json(why) => write!(out, "the JSON is no thread dump: {why}"),
        }
    }
}

impl std::error::Error for NoDump {}

/// Thread dumps with the frames of their stacks.
#[derive(Debug, Default)]
pub struct Dumps {
    /// The dumps, in the order in which they were read.
    pub dumps: Vec<Dump>,
    /// Their frames.
    pub frames: Frames,
}

impl Dumps {
    /// Reads all dumps of a file and adds them; returns how many.
    ///
    /// # Errors
    /// If it has none.
    pub fn add(&mut self, file: &[u8]) -> Result<usize, NoDump> {
        let text = decoded(file);
        let text = text.trim_start_matches('\u{feff}');
        let frames = &mut self.frames;
        let found = if text.trim_start().starts_with('{') {
            vec![json::dump(text, frames).map_err(NoDump::Json)?]
        } else {
            let found = text::dumps(text, frames);
            match found.is_empty() {
                true => plain::dump(text, frames).into_iter().collect(),
                false => found,
            }
        };
        if found.is_empty() {
            return Err(NoDump::None);
        }
        let count = found.len();
        self.dumps.extend(found);
        Ok(count)
    }
}

/// The text of a file. Shells of Windows write UTF-16.
fn decoded(file: &[u8]) -> Cow<'_, str> {
    let unit: fn([u8; 2]) -> u16 = match file {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return String::from_utf8_lossy(file),
    };
    let pairs = file.chunks_exact(2);
    let units = pairs.map(|pair| unit([pair[0], pair[1]]));
    let characters = char::decode_utf16(units);
    let characters = characters.map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER));
    Cow::Owned(characters.collect())
}

/// Reads all dumps of a file.
///
/// # Errors
/// If it has none.
pub fn read(file: &[u8]) -> Result<Dumps, NoDump> {
    let mut dumps = Dumps::default();
    dumps.add(file)?;
    Ok(dumps)
}
