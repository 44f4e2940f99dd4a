//! Sentences about an answer that its rows cannot tell.

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock, PoisonError};

use hprof_analysis::numbers::ObjectNumber;
use rusqlite::types::ValueRef;

use super::Heap;
use super::table::Cell;
use crate::render::screen::count;

/// Characters of a text that are read.
const TEXT: usize = 1 << 20;

/// Facts that are noted while SQLite asks for rows.
#[derive(Default)]
pub(super) struct Notes {
    /// An identifier that the query writes in a form that nothing equals, and the right one.
    misspelt: OnceLock<(String, String)>,
    /// An identifier in such a form that names no object.
    unknown: OnceLock<String>,
    /// The columns and functions that gave a part of a text.
    cut: Mutex<BTreeSet<&'static str>>,
}

impl Heap {
    /// Returns the sentences for the user who asked.
    pub fn hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        let cut = self.notes.cut.lock();
        let cut: Vec<&str> = (cut.unwrap_or_else(PoisonError::into_inner).iter())
            .copied()
            .collect();
        if !cut.is_empty() {
            hints.push(format!(
                "{} gave only the first {} characters of longer texts",
                cut.join(", "),
                count(TEXT as u64)
            ));
        }
        if let Some((written, right)) = self.notes.misspelt.get() {
            hints.push(format!(
                "no row has the identifier {written}: identifiers are text in lower case without leading zeros; \
                 write '{right}'"
            ));
        } else if let Some(written) = self.notes.unknown.get() {
            let mut hint = format!("no object has the identifier {written}: identifiers are text");
            if !self.snapshot.graph().is_empty()
                && let Cell::Text(example) = self.id(ObjectNumber::new(0))
            {
                hint.push_str(&format!(" such as '{example}'"));
            }
            hints.push(hint);
        }
        hints
    }

    /// The text of a string up to a limit, which is noted if the text is longer.
    pub(super) fn text(&self, object: ObjectNumber, asked_by: &'static str) -> Option<String> {
        let text = self.snapshot.string(object, TEXT)?;
        // A character has a byte at least.
        if text.len() >= TEXT && self.snapshot.string_length(object)? > TEXT as u64 {
            let mut cut = (self.notes.cut.lock()).unwrap_or_else(PoisonError::into_inner);
            cut.insert(asked_by);
        }
        Some(text)
    }

    /// Notes that a query looks for an identifier that no row has, if it names an object in
    /// another form.
    pub(super) fn note_misspelt(&self, id: ValueRef<'_>) {
        let (written, found) = self.wanted(id);
        if let Some(object) = found
            && let Cell::Text(right) = self.id(object)
            && written != format!("'{right}'")
        {
            self.notes
                .misspelt
                .get_or_init(|| (written, right.into_owned()));
        }
    }

    /// Notes that the text of a query has a number, or digits in another form, that name no
    /// object. Values of columns are no mistake of the query's author.
    pub(super) fn note_unknown(&self, id: ValueRef<'_>) {
        let is_misspelt = match id {
            ValueRef::Integer(_) | ValueRef::Real(_) => true,
            ValueRef::Text(text) => {
                let text = String::from_utf8_lossy(text);
                let number = digits(&text).and_then(|digits| u64::from_str_radix(digits, 16).ok());
                number.is_some_and(|number| *text != format!("{number:#x}"))
            }
            ValueRef::Null | ValueRef::Blob(_) => false,
        };
        if is_misspelt && let (written, None) = self.wanted(id) {
            self.notes.unknown.get_or_init(|| written);
        }
    }

    /// An identifier as the query writes it, and the object that it names.
    fn wanted(&self, id: ValueRef<'_>) -> (String, Option<ObjectNumber>) {
        let graph = self.snapshot.graph();
        match id {
            ValueRef::Integer(number) => (number.to_string(), graph.number(number as u64)),
            ValueRef::Real(number) => (number.to_string(), None),
            ValueRef::Text(text) => {
                let text = String::from_utf8_lossy(text);
                // SQLite compares a number with text as text.
                let number = || graph.number(text.parse::<u64>().ok()?);
                (format!("'{text}'"), self.named(&text).or_else(number))
            }
            ValueRef::Null | ValueRef::Blob(_) => (String::new(), None),
        }
    }
}

/// An identifier without `0x`, if the rest are digits.
pub(super) fn digits(id: &str) -> Option<&str> {
    let digits = id.strip_prefix("0x").or_else(|| id.strip_prefix("0X"));
    let digits = digits.unwrap_or(id);
    (digits.bytes().all(|byte| byte.is_ascii_hexdigit()) && !digits.is_empty()).then_some(digits)
}
