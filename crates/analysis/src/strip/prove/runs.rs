//! Runs: windows of an original in a row in a copy.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;

use serde::Serialize;
use siphasher::sip128::{Hasher128, SipHasher13};

use super::Proof;
use super::allowed::{Allowed, By};
use crate::strip::StripError;
use crate::strip::contents::{Chunk, Kind, Place};
use crate::strip::redact::Secrets;
use crate::strip::shapes::Shapes;
use crate::strip::windows::{WINDOW, WindowTable, each_window};

/// More bytes than the numbers of threads have.
const NUMBER: usize = 64;

/// Contents of the original that are in the copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Where the record or sub-record starts in the copy, in bytes.
    pub offset: u64,
    /// The kind of place: `text`, `array`, `fields`, `static`, `constant`, `instance`, `unknown-record` or
    /// `unreadable`.
    pub place: &'static str,
    /// The identifier of the object, class or string, in hexadecimal.
    pub id: Option<String>,
    /// The class of the object, or the type of the array.
    pub class: Option<String>,
    /// The fields that hold the bytes.
    pub field: Option<String>,
    /// The first element in the array, or the first byte in the text or record.
    pub index: Option<u64>,
    /// The length in bytes.
    pub bytes: u64,
    /// A hash of the bytes, with a key that is only in the memory of this run: equal bytes have equal hashes within a
    /// proof, and no reader of the proof can try values.
    pub hash: String,
    /// The policy that allows them; `None` if none does.
    pub allowed_by: Option<By>,
    /// The detector that finds them in the copy, or `known` for what one has found in the original.
    pub detector: Option<&'static str>,
}

/// A run that may continue.
struct Open {
    start: u64,
    end: u64,
    hasher: SipHasher13,
    /// The bytes of fields, and the first ones of names of threads.
    bytes: Vec<u8>,
}

/// Joins marked windows to runs.
pub(super) struct Runs<'r> {
    allowed: Allowed<'r>,
    shapes: &'r Shapes,
    /// The secrets of the original.
    known: &'r Secrets,
    each: &'r mut dyn FnMut(&Run) -> io::Result<()>,
    keyed: SipHasher13,
    open: Option<Open>,
    ended: Vec<Open>,
}

impl<'r> Runs<'r> {
    pub fn new(
        allowed: Allowed<'r>,
        shapes: &'r Shapes,
        known: &'r Secrets,
        each: &'r mut dyn FnMut(&Run) -> io::Result<()>,
    ) -> Self {
        // The standard library's hashers have keys from the system's random numbers.
        let key = || RandomState::new().hash_one(0);
        Self {
            allowed,
            shapes,
            known,
            each,
            keyed: SipHasher13::new_with_keys(key(), key()),
            open: None,
            ended: Vec::new(),
        }
    }

    /// Looks at the next chunk of a place, the last one of it that matters if `is_last`.
    pub fn see(
        &mut self,
        place: &Place,
        chunk: Chunk<'_>,
        is_last: bool,
        table: &WindowTable,
        proof: &mut Proof,
    ) -> Result<(), StripError> {
        let needed = match place.kind {
            Kind::Fields { .. } => usize::MAX,
            Kind::Text(text) if self.shapes.is_thread_name(text) => NUMBER,
            _ => 0,
        };
        let start = chunk.seen.saturating_sub(WINDOW - 1);
        each_window(chunk.bytes, start, |at, window| {
            if !table.is_marked(window) {
                return;
            }
            let at = chunk.at + at as u64;
            if self.open.as_ref().is_none_or(|open| at >= open.end) {
                self.ended.extend(self.open.replace(Open {
                    start: at,
                    end: at,
                    hasher: self.keyed,
                    bytes: Vec::new(),
                }));
            }
            if let Some(open) = &mut self.open {
                let from = (open.end - chunk.at) as usize;
                open.end = at + WINDOW as u64;
                let bytes = &chunk.bytes[from..(open.end - chunk.at) as usize];
                open.hasher.write(bytes);
                if open.bytes.len() < needed {
                    open.bytes.extend_from_slice(bytes);
                }
            }
        });
        if is_last {
            self.ended.extend(self.open.take());
        }
        for ended in std::mem::take(&mut self.ended) {
            let run = self.run(place, &ended);
            self.tell(&run, proof)?;
        }
        match place.kind {
            Kind::Text(text) if self.shapes.is_name(text) => Ok(()),
            Kind::Text(_) | Kind::Array { .. } => self.known(place, chunk, proof),
            _ => Ok(()),
        }
    }

    fn tell(&mut self, run: &Run, proof: &mut Proof) -> Result<(), StripError> {
        let tally = match run.allowed_by {
            Some(by) => proof.allowed.entry(by).or_default(),
            None => &mut proof.forbidden,
        };
        tally.runs += 1;
        tally.bytes += run.bytes;
        Ok((self.each)(run)?)
    }

    /// Tells of secrets of the original that are in a chunk.
    fn known(
        &mut self,
        place: &Place,
        chunk: Chunk<'_>,
        proof: &mut Proof,
    ) -> Result<(), StripError> {
        let mut spans = Vec::new();
        let known = self.known;
        known.each_known(chunk.bytes, |span| spans.push(span));
        for span in spans.into_iter().filter(|span| span.end > chunk.seen) {
            let mut hasher = self.keyed;
            hasher.write(&chunk.bytes[span.clone()]);
            let found = Open {
                start: chunk.at + span.start as u64,
                end: chunk.at + span.end as u64,
                hasher,
                bytes: Vec::new(),
            };
            let run = Run {
                allowed_by: None,
                detector: Some("known"),
                ..self.run(place, &found)
            };
            self.tell(&run, proof)?;
        }
        Ok(())
    }

    /// Tells of secrets that detectors find in the copy.
    pub fn detected(&mut self, secrets: &Secrets, proof: &mut Proof) -> Result<(), StripError> {
        for (is_array, id, spot, kind) in secrets.spots() {
            let run = Run {
                offset: spot.offset,
                place: if is_array { "array" } else { "text" },
                id: Some(format!("{id:#x}")),
                class: None,
                field: None,
                index: None,
                bytes: spot.to - spot.from,
                hash: String::new(),
                allowed_by: None,
                detector: Some(kind.word()),
            };
            self.tell(&run, proof)?;
        }
        Ok(())
    }

    fn run(&mut self, place: &Place, open: &Open) -> Run {
        let (id, class, width) = match place.kind {
            Kind::Text(text) => (Some(text.get()), None, 1),
            Kind::Array { array, element } => {
                let width = element.width(self.shapes.id_size) as u64;
                (
                    Some(array.get()),
                    Some(format!("{}[]", element.name())),
                    width,
                )
            }
            Kind::Fields { object, class, .. } | Kind::Instance { object, class } => {
                (Some(object.get()), Some(self.shapes.class_name(class)), 1)
            }
            Kind::Static { class, .. } | Kind::Constant { class, .. } => {
                (Some(class.get()), Some(self.shapes.class_name(class)), 1)
            }
            Kind::Unknown { .. } | Kind::Rest => (None, None, 1),
        };
        let length = open.end - open.start;
        let field = match place.kind {
            Kind::Fields { class, at, .. } => {
                let start = at + open.start as usize;
                Some(self.allowed.field_names(class, start, length as usize))
            }
            Kind::Static { name, .. } => Some(self.shapes.text(name).to_owned()),
            Kind::Constant { index, .. } => Some(format!("constant {index}")),
            _ => None,
        };
        let has_index = matches!(
            place.kind,
            Kind::Array { .. } | Kind::Text(_) | Kind::Unknown { .. } | Kind::Rest
        );
        let hash = open.hasher.finish128();
        Run {
            offset: place.offset,
            place: word(place.kind),
            id: id.map(|id| format!("{id:#x}")),
            class,
            field,
            index: has_index.then_some(open.start / width),
            bytes: length,
            hash: format!("{:016x}{:016x}", hash.h1, hash.h2),
            detector: None,
            allowed_by: self.allowed.by(place.kind, open.start, &open.bytes),
        }
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Text(_) => "text",
        Kind::Array { .. } => "array",
        Kind::Fields { .. } => "fields",
        Kind::Instance { .. } => "instance",
        Kind::Static { .. } => "static",
        Kind::Constant { .. } => "constant",
        Kind::Unknown { .. } => "unknown-record",
        Kind::Rest => "unreadable",
    }
}
