//! How a version of opentelemetry-proto numbers the fields of profiles and samples
//! (`profiles/v1development/profiles.proto` of its releases).

use super::tables::Tables;
use super::{Value, fixed_numbers, numbers, whole};
use crate::pprof::wire::fixed;

/// Times of samples and profiles are later than this: 2000-01-01, in nanoseconds. Lengths are shorter.
const SOME_TIME: u64 = 946_684_800_000_000_000;

/// The versions that differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Layout {
    /// Version 1.7: samples are ranges of the profile's locations.
    Ranges,
    /// Versions 1.8 and 1.9: values before attributes.
    ValuesFirst,
    /// Version 1.10 and later.
    #[default]
    AttributesFirst,
}

/// The signs of versions.
#[derive(Debug, Default)]
pub(super) struct Signs {
    ranges: u64,
    values_first: u64,
    attributes_first: u64,
    /// The largest number in field 2 of samples.
    largest: u64,
    /// True if the id of a profile is where version 1.8 has it.
    is_eight: bool,
}

/// The head of a profile.
#[derive(Default)]
pub(super) struct Head<'a> {
    /// Type and unit of the values.
    pub kinds: Vec<[u64; 3]>,
    pub samples: Vec<&'a [u8]>,
    pub locations: Vec<u64>,
    pub from: u64,
    pub length: u64,
    pub attributes: Vec<u64>,
}

/// A sample.
#[derive(Default)]
pub(super) struct Sample {
    /// The place of its stack, or begin and length of its range.
    pub stack: (u64, u64),
    pub values: Vec<u64>,
    pub attributes: Vec<u64>,
    pub times: Vec<u64>,
}

impl Signs {
    /// Looks at a profile.
    pub(super) fn look(&mut self, profile: &[u8]) {
        for (field, value) in whole(profile) {
            match (field, value) {
                // Its time, where others have its length.
                (4, Value::Number(SOME_TIME..)) => self.ranges += 1,
                (2, Value::Bytes(sample)) => self.look_at_sample(sample),
                (8, Value::Bytes(id)) if id.len() == 16 => self.is_eight = true,
                _ => {}
            }
        }
    }

    fn look_at_sample(&mut self, sample: &[u8]) {
        for (field, value) in whole(sample) {
            match (field, value) {
                (2, Value::Number(_)) => self.ranges += 1,
                (2, value) => {
                    let mut all = Vec::new();
                    numbers(value, &mut all);
                    self.largest = all.into_iter().fold(self.largest, u64::max);
                }
                (3, Value::Bytes(_)) | (4, Value::Number(_)) => self.values_first += 1,
                (3, Value::Number(_)) | (4, Value::Bytes(_)) => self.attributes_first += 1,
                _ => {}
            }
        }
    }

    /// The layout that the signs show.
    pub(super) fn found(&self, tables: &Tables<'_>) -> Layout {
        if self.ranges > 0 {
            return Layout::Ranges;
        }
        match self.values_first.cmp(&self.attributes_first) {
            std::cmp::Ordering::Greater => Layout::ValuesFirst,
            std::cmp::Ordering::Less => Layout::AttributesFirst,
            // Field 2 has values, or attributes of samples that count once each.
            std::cmp::Ordering::Equal => {
                let fits = self.largest < tables.attribute_count() as u64;
                match fits && !self.is_eight {
                    true => Layout::AttributesFirst,
                    false => Layout::ValuesFirst,
                }
            }
        }
    }
}

impl Layout {
    /// The fields of a profile.
    pub(super) fn head<'a>(self, profile: &'a [u8]) -> Head<'a> {
        let mut head = Head::default();
        let is_old = self == Self::Ranges;
        for (field, value) in whole(profile) {
            match (field, value) {
                (1, Value::Bytes(kind)) => head.kinds.push(fixed(kind)),
                (2, Value::Bytes(sample)) => head.samples.push(sample),
                (3, value) if is_old => numbers(value, &mut head.locations),
                (3, value) => {
                    let mut time = Vec::new();
                    fixed_numbers(value, &mut time);
                    head.from = time.first().copied().unwrap_or_default();
                }
                (4, Value::Number(number)) if is_old => head.from = number,
                (4, Value::Number(number)) => head.length = number,
                (5, Value::Number(number)) if is_old => head.length = number,
                (14, value) if is_old => numbers(value, &mut head.attributes),
                (11 | 12, value) if !is_old && is_packed(value) => {
                    numbers(value, &mut head.attributes);
                }
                _ => {}
            }
        }
        if !is_old {
            head.kinds.truncate(1);
        }
        head
    }

    /// The fields of a sample.
    pub(super) fn sample(self, sample: &[u8]) -> Sample {
        let mut found = Sample::default();
        for (field, value) in whole(sample) {
            match (self, field, value) {
                (_, 1, Value::Number(number)) => found.stack.0 = number,
                (Self::Ranges, 2, Value::Number(number)) => found.stack.1 = number,
                (Self::Ranges, 3, value)
                | (Self::ValuesFirst, 2, value)
                | (Self::AttributesFirst, 4, value) => numbers(value, &mut found.values),
                (Self::Ranges, 4, value)
                | (Self::ValuesFirst, 3, value)
                | (Self::AttributesFirst, 2, value) => numbers(value, &mut found.attributes),
                (Self::Ranges, 6, value) => numbers(value, &mut found.times),
                (Self::ValuesFirst | Self::AttributesFirst, 5, value) => {
                    fixed_numbers(value, &mut found.times);
                }
                _ => {}
            }
        }
        found
    }
}

/// True for the numbers of attributes; the payload in another format has its bytes in the same field of another version.
fn is_packed(value: Value<'_>) -> bool {
    match value {
        Value::Number(_) => true,
        Value::Bytes(bytes) => bytes.len() <= 256,
    }
}
