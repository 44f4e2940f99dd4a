//! Counts what is in a file, from the description of the format alone.
//!
//! Written apart from the readers and as plainly as can be, so that the two are unlikely to have a
//! mistake in common: no types of the crate, every width spelt out, a panic at anything odd.

use std::collections::BTreeMap;

/// By tag; sub-records have 0x100 added to theirs.
pub type Counts = BTreeMap<u16, u64>;

fn number(file: &[u8], at: usize, width: usize) -> usize {
    file[at..at + width]
        .iter()
        .fold(0, |sum, &byte| sum << 8 | usize::from(byte))
}

/// The width of a value of a type.
fn width(code: u8, id: usize) -> usize {
    match code {
        1 | 2 => id,
        4 | 8 => 1,
        5 | 9 => 2,
        6 | 10 => 4,
        7 | 11 => 8,
        _ => panic!("type {code}"),
    }
}

/// The length of the sub-record at an index, with its tag.
pub fn sub_record_length(file: &[u8], at: usize, id: usize) -> usize {
    1 + match file[at] {
        // An object, and nothing else.
        0xff | 0x05 | 0x07 | 0x89 | 0x8a | 0x8b | 0x8c | 0x8d | 0x90 => id,
        // With the identifier of the reference.
        0x01 => id + id,
        // With the serial of a thread, and a frame or trace.
        0x02 | 0x03 | 0x08 | 0x8e => id + 4 + 4,
        // With the serial of a thread.
        0x04 | 0x06 => id + 4,
        // The number of the heap and its name.
        0xfe => 4 + id,
        // Object, trace, class, length; values.
        0x21 => {
            let length = number(file, at + 1 + id + 4 + id, 4);
            id + 4 + id + 4 + length
        }
        // Array, trace, length, class; elements.
        0x22 => {
            let length = number(file, at + 1 + id + 4, 4);
            id + 4 + 4 + id + length * id
        }
        // Array, trace, length, type; elements.
        0x23 => {
            let length = number(file, at + 1 + id + 4, 4);
            let element = width(file[at + 1 + id + 4 + 4], id);
            id + 4 + 4 + 1 + length * element
        }
        // A primitive array without elements.
        0xc3 => id + 4 + 4 + 1,
        // A class.
        0x20 => {
            // Class, trace, super class, loader, signers, domain, two reserved, size.
            let mut end = at + 1 + id + 4 + 6 * id + 4;
            let constants = number(file, end, 2);
            end += 2;
            for _ in 0..constants {
                // Index, type, value.
                end += 2 + 1 + width(file[end + 2], id);
            }
            let statics = number(file, end, 2);
            end += 2;
            for _ in 0..statics {
                // Name, type, value.
                end += id + 1 + width(file[end + id], id);
            }
            let fields = number(file, end, 2);
            // Name, type.
            end += 2 + fields * (id + 1);
            end - at - 1
        }
        tag => panic!("sub-record {tag:#x} at {at}"),
    }
}

/// Where the records of a file start, and where its sub-records do.
#[derive(Default)]
pub struct Places {
    /// By tag.
    pub counts: Counts,
    /// The starts of all records.
    pub records: Vec<usize>,
    /// The starts of all sub-records.
    pub sub_records: Vec<usize>,
}

/// Walks over a sound file.
pub fn walk(file: &[u8]) -> Places {
    assert_eq!(&file[..17], b"JAVA PROFILE 1.0.");
    let id = number(file, 19, 4);
    let mut places = Places::default();
    let mut at = 31;
    while at < file.len() {
        let tag = file[at];
        places.records.push(at);
        *places.counts.entry(u16::from(tag)).or_default() += 1;
        // Tag, time, length.
        let end = at + 1 + 4 + 4 + number(file, at + 5, 4);
        if tag == 0x0c || tag == 0x1c {
            let mut sub = at + 9;
            while sub < end {
                places.sub_records.push(sub);
                *places
                    .counts
                    .entry(0x100 + u16::from(file[sub]))
                    .or_default() += 1;
                sub += sub_record_length(file, sub, id);
            }
            assert_eq!(sub, end, "a sub-record crosses the end of its segment");
        }
        at = end;
    }
    assert_eq!(at, file.len(), "a record crosses the end of the file");
    places
}
