//! Finds secrets in the texts of a dump, so that a copy can be without them and with all else.
//!
//! A secret that is found in one place goes wherever else its bytes are, in Latin-1 and in UTF-16 of
//! either byte order: in other strings, in buffers, in literals outside of the heap.

pub(super) mod blank;
mod detectors;
mod named;
mod text;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read};

use hprof_format::binary::BasicType;
use rustc_hash::FxHashMap;
use serde::Serialize;
use siphasher::sip128::{Hasher128, SipHasher13};

pub(crate) use detectors::is_secret_name;
pub use detectors::{Detectors, SecretKind};

use self::named::named_arrays;
use self::text::{Narrowed, each_form, narrowed};
use super::StripError;
use super::contents::{Chunk, Kind, OVERLAP, Place, walk};
use super::shapes::Shapes;

/// Values of properties that are no secrets, whatever the property is called.
const WORDS: [&[u8]; 4] = [b"true", b"false", b"null", b"none"];
/// The shortest value that a name makes a secret, in characters.
const MIN_NAMED: usize = 4;
/// The most places of a secret that are listed.
const MAX_PLACES: usize = 8;

/// A secret that was found in one or more places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundSecret {
    /// Its kind.
    pub kind: SecretKind,
    /// A hash of its text with a key that is only in the memory of this run: equal secrets have equal hashes within a list.
    pub hash: String,
    /// The property, variable or field whose name tells that it is a secret.
    pub name: Option<String>,
    /// Its length in characters.
    pub length: u64,
    /// How often it was found.
    pub count: u64,
    /// The first places: `byte[] 0x7fe0a8` for an array, `text 0x3c` for a string outside of the heap.
    pub places: Vec<String>,
}

/// The secrets of a dump.
#[derive(Debug, Default)]
pub struct Secrets {
    found: Vec<FoundSecret>,
    by_hash: FxHashMap<(SecretKind, u64, u64), usize>,
    /// Windows of secrets, with the bytes of a secret that must be there in a row.
    windows: FxHashMap<u64, u8>,
    /// Secrets in arrays (`true`) and strings outside of the heap.
    spots: FxHashMap<(bool, u64), Vec<Spot>>,
}

/// A secret in the bytes of an array or string.
#[derive(Debug)]
pub(super) struct Spot {
    /// Where it begins, in bytes from the start of the array or string.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
    /// Where the record or sub-record starts in the file.
    pub offset: u64,
    row: u32,
}

fn spot_row(spot: &Spot) -> usize {
    spot.row as usize
}

impl Secrets {
    /// Looks for secrets in a file that `open` opens.
    pub(super) fn of<R: Read>(
        open: &mut impl FnMut() -> io::Result<R>,
        shapes: &Shapes,
        detectors: &Detectors,
    ) -> Result<Self, StripError> {
        let named = named_arrays(open, shapes)?;
        let mut secrets = Self::default();
        let key = || RandomState::new().hash_one(0);
        let keyed = SipHasher13::new_with_keys(key(), key());
        walk(open()?, shapes, &mut |place, chunk| {
            let name = match place.kind {
                Kind::Array { array, .. } => named.get(&array.get()),
                _ => None,
            };
            match place.kind {
                Kind::Text(text) if shapes.is_name(text) => {}
                _ => secrets.see(place, chunk, name.map(|name| &**name), detectors, keyed),
            }
            Ok(true)
        })?;
        Ok(secrets)
    }

    /// The secrets, those that were found first first.
    pub fn found(&self) -> &[FoundSecret] {
        &self.found
    }

    fn see(
        &mut self,
        place: &Place,
        chunk: Chunk<'_>,
        name: Option<&str>,
        detectors: &Detectors,
        keyed: SipHasher13,
    ) {
        let views = match place.kind {
            Kind::Array { element, .. } => narrowed(element, chunk.bytes),
            Kind::Text(_) => narrowed(BasicType::Byte, chunk.bytes),
            _ => return,
        };
        for view in views {
            self.look(place, chunk, name, view, detectors, keyed);
        }
    }

    /// Looks at one way to read a chunk as text.
    fn look(
        &mut self,
        place: &Place,
        chunk: Chunk<'_>,
        name: Option<&str>,
        Narrowed { text, width }: Narrowed,
        detectors: &Detectors,
        keyed: SipHasher13,
    ) {
        let is_value = text.len() >= MIN_NAMED && !WORDS.contains(&&*text);
        if let Some(name) = name.filter(|_| is_value && !is_blank(chunk.bytes)) {
            // A named value longer than a chunk goes chunk by chunk.
            let span = chunk.seen / width..text.len();
            self.note(
                place,
                chunk,
                SecretKind::Password,
                Some(name),
                &text,
                span,
                width,
                keyed,
            );
            return;
        }
        detectors.find(&text, |kind, start, end| {
            // What reaches to the end is found as a whole in the next chunk, unless it is too long.
            let is_cut = !chunk.is_last && end == text.len() && (end - start) * width < OVERLAP;
            // What ends with the chunk before was cut there.
            if !is_cut
                && end * width >= chunk.seen
                && !is_blank(&chunk.bytes[start * width..end * width])
            {
                self.note(place, chunk, kind, None, &text, start..end, width, keyed);
            }
        });
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one find")]
    fn note(
        &mut self,
        place: &Place,
        chunk: Chunk<'_>,
        kind: SecretKind,
        name: Option<&str>,
        text: &[u8],
        span: std::ops::Range<usize>,
        width: usize,
        mut keyed: SipHasher13,
    ) {
        let secret = &text[span.clone()];
        keyed.write(secret);
        let hash = keyed.finish128();
        let row = *self
            .by_hash
            .entry((kind, hash.h1, hash.h2))
            .or_insert_with(|| {
                self.found.push(FoundSecret {
                    kind,
                    hash: format!("{:016x}{:016x}", hash.h1, hash.h2),
                    name: name.map(str::to_owned),
                    length: secret.len() as u64,
                    count: 0,
                    places: Vec::new(),
                });
                self.found.len() - 1
            });
        let (is_array, id, shown) = match place.kind {
            Kind::Array { array, element } => {
                let id = array.get();
                (true, id, format!("{}[] {id:#x}", element.name()))
            }
            Kind::Text(text) => (false, text.get(), format!("text {:#x}", text.get())),
            _ => return,
        };
        let found = &mut self.found[row];
        found.count += 1;
        if found.places.len() < MAX_PLACES {
            found.places.push(shown);
        }
        if found.count == 1 {
            let raw = &chunk.bytes[span.start * width..span.end * width];
            each_form(secret, raw, |window, needed| {
                let known = self.windows.entry(window).or_insert(needed);
                *known = needed.min(*known);
            });
        }
        let from = chunk.at + (span.start * width) as u64;
        let to = chunk.at + (span.end * width) as u64;
        let spot = Spot {
            from,
            to,
            offset: place.offset,
            row: row as u32,
        };
        self.spots.entry((is_array, id)).or_default().push(spot);
    }

    /// Overwrites the secrets in some bytes of an array, or of a string outside of the heap, that start `at` bytes from its start.
    pub(super) fn redact(&self, is_array: bool, id: u64, at: u64, bytes: &mut [u8]) {
        let mut spans = Vec::new();
        self.each_known(bytes, |span| spans.push(span));
        let end = at + bytes.len() as u64;
        let of_place = self.spots.get(&(is_array, id)).into_iter().flatten();
        let of_place = of_place.filter(|spot| spot.from < end && spot.to > at);
        spans.extend(of_place.map(|spot| {
            let from = spot.from.saturating_sub(at) as usize;
            from..(spot.to.min(end) - at) as usize
        }));
        for span in spans {
            blank::blank(&mut bytes[span]);
        }
    }

    /// Each place with a secret, in no order: `true` for an array, the identifier, the spot and the kind.
    pub(super) fn spots(&self) -> impl Iterator<Item = (bool, u64, &Spot, SecretKind)> {
        let places = self.spots.iter();
        places.flat_map(move |(&(is_array, id), spots)| {
            let of = move |spot| (is_array, id, spot, self.found[spot_row(spot)].kind);
            spots.iter().map(of)
        })
    }
}

/// True for bytes that were overwritten.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == b'*' || byte == 0)
}
