//! The figures of dumps that the catalogue keeps for questions over many dumps.

use std::collections::BTreeMap;

use crate::time::Millis;

/// Classes of a dump that are kept: those that retain most.
pub const MAX_CLASSES: usize = 100;
/// Suspects of a dump that are kept.
pub const MAX_SUSPECTS: usize = 10;
/// The service, host or build of a dump that has no such label, as exported tables have it too.
pub const NO_LABEL: &str = "unknown";
/// Characters of a service, host or build.
const MAX_LABEL: usize = 200;
/// Larger figures are no sizes of heaps. Sums of a million of them fit into 64 bits.
const MAX_AMOUNT: u64 = 1 << 43;

/// The figures of a heap dump. Sizes are bytes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// When the dump was taken; without it the time counts at which it came.
    pub taken_at: Option<Millis>,
    /// Objects that roots reach.
    pub live_objects: u64,
    /// Their shallow size.
    pub live_bytes: u64,
    /// The bytes that equal strings and arrays waste.
    pub array_waste: u64,
    /// The bytes that equal strings waste, where they were counted.
    pub string_waste: Option<u64>,
    /// The classes that retain most, the largest first.
    pub classes: Vec<ClassFigures>,
    /// The leak suspects, the largest first.
    pub suspects: Vec<SuspectFigures>,
}

/// The live objects of a class. Sizes are bytes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClassFigures {
    /// Its name, without what differs from run to run.
    pub name: String,
    /// The objects.
    pub objects: u64,
    /// Their own size.
    pub shallow: u64,
    /// The bytes that would be free without them.
    pub retained: u64,
}

/// A leak suspect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SuspectFigures {
    /// 16 hexadecimal digits that are equal for equal signatures.
    pub code: String,
    /// The classes and fields that hold it: equal for equal suspects of different dumps.
    pub signature: String,
    /// The suspicion in a sentence.
    pub title: String,
    /// The bytes that it keeps alive.
    pub retained: u64,
    /// Their share of the live heap, from 0 to 1.
    pub share: f64,
}

/// A figure as databases keep it.
pub(super) fn kept(amount: u64) -> i64 {
    amount.min(MAX_AMOUNT).cast_signed()
}

/// The service, host and build of a dump with these labels.
pub(super) fn places(labels: &BTreeMap<String, String>) -> [String; 3] {
    ["service", "host", "build"].map(|key| {
        let value = labels.get(key).map_or("", |value| value.trim());
        let value: String = value
            .chars()
            .filter(|&c| c != '\0')
            .take(MAX_LABEL)
            .collect();
        match value.is_empty() {
            true => NO_LABEL.to_owned(),
            false => value,
        }
    })
}
