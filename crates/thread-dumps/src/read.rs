//! Which form a dump has.

use std::borrow::Cow;
use std::fmt;

use crate::frames::Frames;
use crate::model::Dump;
use crate::{beans, hprof, javacore, json, plain, text};

/// The forms that are read, for messages.
const FORMS: &str = "jstack and jhsdb jstack, jcmd PID Thread.print and Thread.dump_to_file, kill -3, VisualVM and \
                     other JMX tools, Spring Boot's threaddump, ThreadInfo.toString, javacores of OpenJ9, MONITOR DUMP of HPROF's text profiles";

/// Why a file has no thread dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoDump {
    /// Nothing in it looks like one.
    None,
    /// Dumps begin in it, and no thread is in them.
    NoThreads,
    /// It begins like a dump in JSON, and is none, or is damaged there.
    Json(String),
}

impl fmt::Display for NoDump {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => out.write_str("no thread dump is in it")?,
            Self::NoThreads => {
                out.write_str("a thread dump begins in it, but no thread is in it")?
            }
            Self::Json(why) => return write!(out, "the JSON is no thread dump: {why}"),
        }
        write!(
            out,
            "; `jstack PID`, `jcmd PID Thread.print` and `kill -3 PID` make one. These forms are read: {FORMS}"
        )
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
    /// How many dumps were left out because no thread is in them.
    pub without_threads: usize,
}

impl Dumps {
    /// Reads all dumps of a file and adds them; returns how many.
    ///
    /// # Errors
    /// If it has no thread.
    pub fn add(&mut self, file: &[u8]) -> Result<usize, NoDump> {
        let text = decoded(file);
        let text = text.trim_start_matches('\u{feff}');
        let mut found = all(text, &mut self.frames)?;
        let begun = found.len();
        found.retain(|dump| !dump.threads.is_empty());
        if found.is_empty() {
            return Err(match begun {
                0 => NoDump::None,
                _ => NoDump::NoThreads,
            });
        }
        self.without_threads += begun - found.len();
        let count = found.len();
        self.dumps.extend(found);
        Ok(count)
    }
}

impl Dumps {
    /// Adds the virtual threads of a dump in JSON to the last dump, which has none; returns how many.
    ///
    /// # Errors
    /// If that is no dump in JSON.
    pub fn add_virtual_threads(&mut self, file: &[u8]) -> Result<usize, NoDump> {
        let dump = json::dump(&decoded(file), &mut self.frames).map_err(NoDump::Json)?;
        let found = dump.threads.into_iter().filter(|thread| thread.is_virtual);
        let found: Vec<_> = found.collect();
        let count = found.len();
        if let Some(last) = self.dumps.last_mut() {
            last.threads.extend(found);
        }
        Ok(count)
    }
}

/// The dumps of a text, in the form that it has.
fn all(text: &str, frames: &mut Frames) -> Result<Vec<Dump>, NoDump> {
    // A log in JSON may have dumps between its lines.
    let no_json = match begins_like_json(text) {
        true => {
            let found = match beans::looks_like_one(text) {
                true => beans::dump(text, frames),
                false => json::dump(text, frames),
            };
            match found {
                Ok(dump) => return Ok(vec![dump]),
                Err(why) => Some(why),
            }
        }
        false => None,
    };
    if hprof::looks_like_one(text) {
        return Ok(hprof::dumps(text, frames));
    }
    let mut found = match text.lines().any(javacore::is_line) {
        true => javacore::dumps(text, frames),
        false => text::dumps(text, frames),
    };
    if found.is_empty() {
        found.extend(plain::dump(text, frames));
    }
    match no_json {
        // Lines of a log begin with brackets too.
        Some(why) if found.is_empty() && text.trim_start().starts_with('{') => {
            Err(NoDump::Json(why))
        }
        _ => Ok(found),
    }
}

/// True for an object, or a list of objects.
fn begins_like_json(text: &str) -> bool {
    let text = text.trim_start();
    let list = text.strip_prefix('[').map(str::trim_start);
    text.starts_with('{') || list.is_some_and(|first| first.starts_with('{'))
}

/// True if thread dumps begin in the beginning of a file, which may be cut anywhere.
pub fn begins_in(head: &[u8]) -> bool {
    let text = decoded(head);
    let text = text.trim_start_matches('\u{feff}');
    if begins_like_json(text) && (text.contains("\"threadDump\"") || beans::looks_like_one(text)) {
        return true;
    }
    let is_begin = |line: &str| text::is_head(line) || javacore::is_line(line);
    text.lines().any(is_begin) || plain::dump(text, &mut Frames::default()).is_some()
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
/// If it has no thread.
pub fn read(file: &[u8]) -> Result<Dumps, NoDump> {
    let mut dumps = Dumps::default();
    dumps.add(file)?;
    Ok(dumps)
}
