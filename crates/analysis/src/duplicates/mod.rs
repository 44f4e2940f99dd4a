//! Arrays of primitives with equal contents, such as those of equal strings.
//!
//! A first walk over the dump gives each array a digest of 64 bits, by which the arrays are put in
//! groups. The digest has a new random key each time (SipHash-1-3), so that the author of a dump cannot
//! give it two arrays of one digest. Of a billion arrays two have one digest by chance in three of a hundred runs: then
//! the report counts one array more as wasted. A second walk compares the contents within the groups that are reported.

mod groups;
mod walk;

use std::io;

use hprof_format::binary::{BasicType, SubRecord};
use serde::Serialize;

use crate::heap::{StringUses, Text};
use crate::numbers::ObjectNumber;
use crate::parallel;
use crate::snapshot::{Snapshot, Value, decimal};
use groups::{Group, PARTS, Parts, keep_largest};
use walk::{Digest, confirm, enter, keyed_digest};

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
    find(snapshot, most, &keyed_digest())
}

fn find(snapshot: &Snapshot, most: usize, digest: &impl Digest) -> io::Result<Duplicates> {
    let parts = Parts::new(snapshot.store());
    // What is known of each string is kept in memory.
    let strings = (!snapshot.store().is_limited()).then(|| StringUses::new(snapshot));
    let (seen, uses) = enter(snapshot, digest, &parts, strings.as_ref());
    parts.check()?;
    let counted = parallel::run(0, PARTS, |tasks| {
        let (mut wasted, mut groups) = (0, Vec::new());
        for part in tasks {
            parts.count(part, snapshot.graph(), most, &mut wasted, &mut groups);
        }
        (wasted, groups)
    });
    let mut found = Duplicates {
        blank: seen.blank,
        arrays: seen.arrays,
        bytes: seen.bytes,
        ..Duplicates::default()
    };
    let mut groups = Vec::new();
    for (wasted, more) in counted {
        found.wasted_bytes += wasted;
        groups.extend(more);
    }
    keep_largest(&mut groups, most);
    let before: u64 = groups.iter().map(|group| group.wasted_bytes).sum();
    let strings = strings.map(|strings| strings.counting(uses));
    let texts = confirm(snapshot, digest, &mut groups, strings.as_ref());
    if let Some(strings) = strings.map(|strings| strings.report(texts)) {
        found.strings = Some(strings.strings);
        found.wasted_in_strings = Some(strings.waste);
    }
    let after: u64 = groups.iter().map(|group| group.wasted_bytes).sum();
    found.wasted_bytes -= before - after;
    let row = |group: Group| {
        let object = ObjectNumber::new(group.first as usize);
        let (element, preview) = preview(snapshot, object);
        Duplicate {
            count: group.count,
            bytes: snapshot.graph().size(object),
            wasted_bytes: group.wasted_bytes,
            object,
            element,
            is_string: seen.of_strings.has(object.index()),
            preview,
        }
    };
    found.groups = groups.into_iter().map(row).collect();
    Ok(found)
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
