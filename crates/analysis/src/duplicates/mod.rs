//! Arrays of primitives with equal contents, such as those of equal strings.
//!
//! One walk over the dump gives each array a digest of 73 bits, by which the arrays are put in
//! groups. The digest has a new random key each time (SipHash-1-3), so that the author of a dump cannot
//! give it two arrays of one digest. Of ten million arrays two have one by chance in one of 200 million runs, of a billion in one
//! of 20,000: then the report counts one array more as wasted. So contents are not compared. The walk needs no dominators: a command that knows that it will ask for duplicates has it done while they
//! are computed ([`OpenOptions::digests`](crate::snapshot::OpenOptions)).

mod digests;
mod groups;
mod strings;

use std::io;

use hprof_format::binary::{BasicType, SubRecord};
use serde::Serialize;

use crate::gate;
use crate::heap::Text;
use crate::marks::{Marks, SharedMarks};
use crate::numbers::ObjectNumber;
use crate::parallel;
use crate::snapshot::{Snapshot, Value, decimal};
pub(crate) use digests::Digests;
use groups::{Entry, Group, PARTS, Traits, keep_largest};
use strings::{StringSums, by_walks, of_live_strings};

/// Arrays with equal contents.
#[derive(Debug, Clone, Serialize)]
pub struct Duplicate {
    /// How many there are.
    pub count: u64,
    /// The bytes that one takes.
    pub bytes: u64,
    /// The bytes that all but one take.
    pub wasted_bytes: u64,
    /// One of them, by number.
    pub object: ObjectNumber,
    /// The type of the elements.
    pub element: &'static str,
    /// True if strings consist of them.
    pub is_string: bool,
    /// The text, of strings, else the first elements.
    pub preview: String,
}

/// All duplicates of a dump.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Duplicates {
    /// Live arrays of primitives.
    pub arrays: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Live arrays whose elements were blanked, in a dump from which a tool stripped
    /// contents; they are not compared, and in no other figure.
    pub blank: u64,
    /// The bytes that could be saved if equal arrays were one.
    pub wasted_bytes: u64,
    /// All strings, live or not; unknown where memory is limited.
    pub strings: Option<u64>,
    /// The bytes of all strings and arrays but one of each text, as [`strings`](crate::heap::strings) has it;
    /// unknown where memory is limited.
    pub wasted_in_strings: Option<u64>,
    /// The groups that waste most.
    pub groups: Vec<Duplicate>,
}

/// Characters of a text that are kept.
const PREVIEW: usize = 200;

/// Finds live arrays with equal contents, the `most` groups that waste most.
///
/// # Errors
/// If there is no room for what is known of each array.
pub fn duplicates(snapshot: &Snapshot, most: usize) -> io::Result<Duplicates> {
    let digests = match snapshot.take_digests() {
        Some(digests) => digests?,
        None => Digests::of(
            &snapshot.file,
            snapshot.graph(),
            snapshot.store(),
            Some(snapshot.dominators()),
            0,
        )?,
    };
    Ok(find(snapshot, most, &digests))
}

fn find(snapshot: &Snapshot, most: usize, digests: &Digests) -> Duplicates {
    let is_stripped = snapshot.is_stripped();
    let live = (!digests.only_live).then(|| live(snapshot));
    let counted = parallel::run(0, PARTS, |tasks| {
        let mut counting = Counting {
            snapshot,
            digests,
            live: live.as_ref(),
            is_stripped,
            most,
            found: Duplicates::default(),
            groups: Vec::new(),
            strings: StringSums::default(),
        };
        for part in tasks {
            let entries = digests.parts.take(part);
            entries
                .chunk_by(Entry::is_like)
                .for_each(|equal| counting.add(equal));
        }
        (counting.found, counting.groups, counting.strings)
    });
    let mut found = Duplicates::default();
    let (mut groups, mut strings) = (Vec::new(), Vec::new());
    for (sums, more, of_strings) in counted {
        found.arrays += sums.arrays;
        found.bytes += sums.bytes;
        found.blank += sums.blank;
        found.wasted_bytes += sums.wasted_bytes;
        groups.extend(more);
        strings.push(of_strings);
    }
    keep_largest(&mut groups, most);
    if let Some(arrays) = &digests.strings {
        let (count, waste) = match arrays.sums(strings.into_iter()) {
            Some(sums) => (sums.strings, sums.waste),
            None => by_walks(snapshot),
        };
        found.strings = Some(count);
        found.wasted_in_strings = Some(waste);
    }
    let of_strings = of_live_strings(snapshot, groups.iter().map(|group| group.first));
    let row = |group: Group| {
        let object = group.first;
        let (element, preview) = preview(snapshot, object);
        Duplicate {
            count: group.count,
            bytes: snapshot.graph().size(object),
            wasted_bytes: group.wasted_bytes,
            object,
            element,
            is_string: of_strings.contains(&object),
            preview,
        }
    };
    found.groups = groups.into_iter().map(row).collect();
    found
}

/// The objects that live. Their bits are in the CPU's cache where their places would not be.
fn live(snapshot: &Snapshot) -> Marks {
    let dominators = snapshot.dominators();
    let is_live = |object| dominators.place(ObjectNumber::new(object)).is_some();
    SharedMarks::of(snapshot.graph().len(), is_live).into_marks()
}

/// The groups of some parts.
struct Counting<'a> {
    snapshot: &'a Snapshot,
    digests: &'a Digests,
    /// None if all arrays live.
    live: Option<&'a Marks>,
    is_stripped: bool,
    most: usize,
    found: Duplicates,
    groups: Vec<Group>,
    strings: StringSums,
}

impl Counting<'_> {
    /// Adds arrays with equal digests, in the order of their numbers.
    fn add(&mut self, equal: &[Entry]) {
        gate::pass();
        let graph = self.snapshot.graph();
        if let Some(strings) = &self.digests.strings {
            strings.count(graph, equal, &mut self.strings);
        }
        let is_live =
            |entry: &&Entry| (self.live).is_none_or(|live| live.has(entry.object().index()));
        let mut live = equal.iter().filter(is_live);
        let Some(first) = live.next() else {
            return;
        };
        let count = first.count() + live.map(Entry::count).sum::<u64>();
        if self.is_stripped && first.traits().has(Traits::UNIFORM) {
            self.found.blank += count;
            return;
        }
        // Equal arrays have one size.
        let bytes = graph.size(first.object());
        self.found.arrays += count;
        self.found.bytes += count * bytes;
        if count > 1 {
            let wasted_bytes = (count - 1) * bytes;
            self.found.wasted_bytes += wasted_bytes;
            self.groups.push(Group {
                count,
                wasted_bytes,
                first: first.object(),
            });
            if self.groups.len() > self.most.saturating_mul(2).saturating_add(1000) {
                keep_largest(&mut self.groups, self.most);
            }
        }
    }
}

fn preview(snapshot: &Snapshot, array: ObjectNumber) -> (&'static str, String) {
    let located = snapshot.graph().locate(snapshot.file(), array);
    let Some((
        _,
        SubRecord::PrimitiveArray {
            element, values, ..
        },
    )) = located
    else {
        return ("", String::new());
    };
    // Bytes of UTF-16 have a zero in every other place when the text is mostly Latin.
    let zeros = values
        .iter()
        .skip(1)
        .step_by(2)
        .take(64)
        .filter(|&&b| b == 0)
        .count();
    let is_utf16 = values.len() > 2 && zeros * 2 > values.len().min(128) / 2;
    let text = match element {
        BasicType::Byte | BasicType::Char => {
            let text = Text::of(element, is_utf16, None, values);
            text.map(|text| text.decode(PREVIEW))
        }
        _ => None,
    };
    let text = text.unwrap_or_else(|| {
        let elements = snapshot.primitives(array, 8);
        let words: Vec<String> = elements
            .iter()
            .map(|value| match value {
                Value::Integer(number) => number.to_string(),
                Value::Float(number) => decimal(*number),
                Value::Boolean(value) => value.to_string(),
                _ => "?".to_owned(),
            })
            .collect();
        words.join(", ")
    });
    (element.name(), text)
}

#[cfg(test)]
mod tests;
