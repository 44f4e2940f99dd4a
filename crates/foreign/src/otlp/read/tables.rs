//! The dictionary of a request.

use super::{Value, numbers, whole};
use crate::pprof::wire::fixed;

/// The tables, whose entries are read when they are asked for.
#[derive(Default)]
pub(super) struct Tables<'a> {
    locations: Vec<&'a [u8]>,
    functions: Vec<&'a [u8]>,
    strings: Vec<&'a [u8]>,
    attributes: Vec<&'a [u8]>,
    stacks: Vec<&'a [u8]>,
}

/// An entry.
fn at<'a>(table: &[&'a [u8]], index: u64) -> Option<&'a [u8]> {
    let index = usize::try_from(index).ok()?;
    table.get(index).copied()
}

impl<'a> Tables<'a> {
    pub(super) fn new(dictionary: &'a [u8]) -> Self {
        let mut tables = Self::default();
        for (field, value) in whole(dictionary) {
            let Value::Bytes(bytes) = value else {
                continue;
            };
            match field {
                2 => tables.locations.push(bytes),
                3 => tables.functions.push(bytes),
                5 => tables.strings.push(bytes),
                6 => tables.attributes.push(bytes),
                7 => tables.stacks.push(bytes),
                _ => {}
            }
        }
        tables
    }

    /// How many attributes there are.
    pub(super) fn attribute_count(&self) -> usize {
        self.attributes.len()
    }

    pub(super) fn string(&self, index: u64) -> String {
        String::from_utf8_lossy(at(&self.strings, index).unwrap_or_default()).into_owned()
    }

    pub(super) fn location(&self, index: u64) -> &'a [u8] {
        at(&self.locations, index).unwrap_or_default()
    }

    /// The name of a function; none for one that is not there or has none.
    pub(super) fn function(&self, index: u64) -> Option<String> {
        let [_, name, system_name] = fixed(at(&self.functions, index)?);
        let name = if name == 0 { system_name } else { name };
        Some(self.string(name)).filter(|name| !name.is_empty())
    }

    /// The file of a function; empty for one that has none.
    pub(super) fn file(&self, index: u64) -> String {
        let [_, _, _, file] = fixed(at(&self.functions, index).unwrap_or_default());
        match file {
            0 => String::new(),
            file => self.string(file),
        }
    }

    /// The locations of a stack, innermost first.
    pub(super) fn stack(&self, index: u64) -> Vec<u64> {
        let mut locations = Vec::new();
        for (field, value) in whole(at(&self.stacks, index).unwrap_or_default()) {
            if field == 1 {
                numbers(value, &mut locations);
            }
        }
        locations
    }

    /// Key and value of an attribute. In version 1.7 the key is text, later the place of one.
    pub(super) fn attribute(&self, index: u64) -> Option<(String, String)> {
        let (mut key, mut value) = (String::new(), None);
        for (field, part) in whole(at(&self.attributes, index)?) {
            match (field, part) {
                (1, Value::Number(string)) => key = self.string(string),
                (1, Value::Bytes(bytes)) => key = String::from_utf8_lossy(bytes).into_owned(),
                (2, Value::Bytes(any)) => value = text(any),
                _ => {}
            }
        }
        value.filter(|_| !key.is_empty()).map(|value| (key, value))
    }
}

/// An `AnyValue` as text; none for lists and bytes.
pub(super) fn text(any: &[u8]) -> Option<String> {
    let mut found = None;
    for (field, value) in whole(any) {
        match (field, value) {
            (1, Value::Bytes(bytes)) => found = Some(String::from_utf8_lossy(bytes).into_owned()),
            (2, Value::Number(number)) => found = Some((number != 0).to_string()),
            (3, Value::Number(number)) => found = Some(number.cast_signed().to_string()),
            (4, Value::Bytes(bytes)) => {
                let bytes = bytes.try_into().ok();
                found = bytes.map(|bytes| f64::from_le_bytes(bytes).to_string());
            }
            _ => {}
        }
    }
    found
}
