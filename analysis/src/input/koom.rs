//! Restores dumps that KOOM has written without the elements of primitive arrays.
//!
//! KOOM hooks the writes of ART's dumper and leaves these elements out (`hprof_strip.cpp` of KOOM). The
//! heads of the arrays keep their counts, and the segments of the app's heap keep their lengths. So a segment
//! is whole again, to the byte, when zeros stand for the elements: that tells such a dump from a damaged one.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hprof_format::binary::{BasicType, IdSize, SubRecords, tags};
use hprof_format::reader::{Buffer, FileHeader};

/// ART begins a segment after 4096 bytes or 128 objects, so only a very large array makes longer ones.
const MAX_SEGMENT: u64 = 256 << 20;
/// The bytes of a record's head: tag, time, length.
const RECORD_HEAD: usize = 9;
/// The most bytes that are passed on at once.
const CHUNK: u64 = 1 << 20;
/// ART's files have identifiers of this width.
const IDS: IdSize = IdSize::Four;
/// The bytes of a primitive array before its elements: tag, identifier, trace, count, type.
const ARRAY_HEAD: usize = 14;

/// Whether the elements of arrays are in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Elements {
    /// No array with elements has come yet.
    Unknown,
    /// They are, or the file is none of KOOM's: the rest is passed on as it is.
    Present,
    /// They are not.
    Missing,
}

/// Says whether elements were left out of a file, as far as it was read.
#[derive(Debug, Clone, Default)]
pub struct LeftOut(Arc<AtomicBool>);

impl LeftOut {
    /// True if KOOM has left the elements of primitive arrays out, so that zeros stand for them.
    pub fn is_so(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A dump with zeros for the elements that KOOM has left out; other files as they are.
pub struct Restored<R> {
    input: Buffer<R>,
    elements: Elements,
    left_out: LeftOut,
    has_begun: bool,
    /// The bytes of a record that are still to be passed on.
    passing: u64,
    ready: Vec<u8>,
    at: usize,
}

impl<R: Read> Restored<R> {
    /// Restores what `input` gives, and says in `left_out` whether there was anything to restore.
    pub fn new(input: R, left_out: LeftOut) -> Self {
        Self {
            input: Buffer::new(input),
            elements: Elements::Unknown,
            left_out,
            has_begun: false,
            passing: 0,
            ready: Vec::new(),
            at: 0,
        }
    }

    /// Puts bytes into `ready`, unless all that is left can be passed on as it is, or nothing is.
    fn advance(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.at = 0;
        if !self.has_begun {
            self.has_begun = true;
            self.input.fill(FileHeader::LENGTH as u64)?;
            let ids = FileHeader::parse(self.input.unread()).map(|header| header.id_size);
            match ids {
                Ok(IDS) => self.passing = FileHeader::LENGTH as u64,
                _ => self.elements = Elements::Present,
            }
        }
        if self.elements == Elements::Present {
            return Ok(());
        }
        if self.passing > 0 {
            let length = self.passing.min(CHUNK);
            self.input.fill(length)?;
            self.passing -= length;
            return self.pass(length);
        }
        self.record()
    }

    /// Passes on up to `length` of the bytes that have come in.
    fn pass(&mut self, length: u64) -> io::Result<()> {
        let unread = self.input.unread();
        let length = usize::try_from(length).map_or(unread.len(), |most| most.min(unread.len()));
        self.ready.extend_from_slice(&unread[..length]);
        self.input.skip(length);
        Ok(())
    }

    fn record(&mut self) -> io::Result<()> {
        if !self.input.fill(RECORD_HEAD as u64)? {
            return self.pass(CHUNK);
        }
        let head = self.input.unread();
        let length = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let (tag, length) = (head[0], u64::from(length));
        let is_heap = matches!(
            tag,
            tags::record::HEAP_DUMP | tags::record::HEAP_DUMP_SEGMENT
        );
        if !is_heap {
            self.passing = RECORD_HEAD as u64 + length;
            return self.advance();
        }
        if length > MAX_SEGMENT {
            self.elements = Elements::Present;
            return Ok(());
        }
        self.input.fill(RECORD_HEAD as u64 + length + 1)?;
        self.segment(length);
        Ok(())
    }

    fn segment(&mut self, length: u64) {
        let unread = self.input.unread();
        let body = &unread[RECORD_HEAD..];
        let whole = match self.elements {
            Elements::Unknown => Segment::of(body, length, false),
            Elements::Present | Elements::Missing => None,
        };
        if let Some(whole) = whole {
            if !whole.arrays.is_empty() {
                self.elements = Elements::Present;
            }
            let end = RECORD_HEAD + whole.end;
            self.ready.extend_from_slice(&unread[..end]);
            self.input.skip(end);
            return;
        }
        let restored = Segment::of(body, length, true);
        let Some(segment) = restored.filter(|found| begins_record(&body[found.end..])) else {
            self.elements = Elements::Present;
            return;
        };
        self.elements = Elements::Missing;
        self.left_out.0.store(true, Ordering::Release);
        self.ready.extend_from_slice(&unread[..RECORD_HEAD]);
        let mut from = 0;
        for (at, missing) in segment.arrays {
            self.ready.extend_from_slice(&body[from..at]);
            self.ready.resize(self.ready.len() + missing, 0);
            from = at;
        }
        self.ready.extend_from_slice(&body[from..segment.end]);
        self.input.skip(RECORD_HEAD + segment.end);
    }
}

impl<R: Read> Read for Restored<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.ready.len() && self.elements != Elements::Present {
            self.advance()?;
        }
        if self.at == self.ready.len() && self.elements == Elements::Present {
            return self.input.read(buffer);
        }
        let length = buffer.len().min(self.ready.len() - self.at);
        buffer[..length].copy_from_slice(&self.ready[self.at..][..length]);
        self.at += length;
        Ok(length)
    }
}

/// Whether a file in memory is one that KOOM has written without elements.
pub fn lacks_elements(file: &[u8]) -> bool {
    let mut restored = Restored::new(file, LeftOut::default());
    while restored.elements == Elements::Unknown {
        let is_over = restored.advance().is_err() || restored.ready.is_empty();
        if is_over {
            break;
        }
    }
    restored.elements == Elements::Missing
}

/// Whether a record of a known kind, or the end of the file, comes next.
fn begins_record(rest: &[u8]) -> bool {
    use tags::record as known;
    rest.first().is_none_or(|tag| {
        matches!(
            *tag,
            known::UTF8..=known::CONTROL_SETTINGS | known::HEAP_DUMP_SEGMENT | known::HEAP_DUMP_END
        )
    })
}

/// The sub-records of a segment.
struct Segment {
    /// Where they end in the file's bytes.
    end: usize,
    /// The ends of the heads of arrays that are not empty, and the bytes of their elements.
    arrays: Vec<(usize, usize)>,
}

impl Segment {
    /// Walks over sub-records that fill `length` bytes exactly, elements included; `None` if they do not.
    fn of(bytes: &[u8], length: u64, lacks_elements: bool) -> Option<Self> {
        let length = usize::try_from(length).ok()?;
        let (mut at, mut filled) = (0, 0);
        let mut arrays = Vec::new();
        while filled < length {
            let rest = bytes.get(at..)?;
            if *rest.first()? == tags::heap::PRIMITIVE_ARRAY_DUMP {
                let head = rest.get(..ARRAY_HEAD)?;
                let count = u32::from_be_bytes([head[9], head[10], head[11], head[12]]);
                let width = BasicType::from_code(head[13])?.width(IDS);
                let elements = usize::try_from(count).ok()?.checked_mul(width)?;
                at += ARRAY_HEAD;
                filled += ARRAY_HEAD + elements;
                if filled > length {
                    return None;
                }
                if elements > 0 {
                    arrays.push((at, elements));
                }
                if !lacks_elements {
                    at += elements;
                }
                continue;
            }
            let mut subs = SubRecords::new(rest, IDS, 0);
            subs.next()?.ok()?;
            let passed = usize::try_from(subs.offset()).ok()?;
            at += passed;
            filled += passed;
        }
        (filled == length && at <= bytes.len()).then_some(Self { end: at, arrays })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &[u8] = b"JAVA PROFILE 1.0.3\0\0\0\0\x04\0\0\0\0\0\0\0\0";

    fn record(tag: u8, body: &[u8], length: usize) -> Vec<u8> {
        let mut record = vec![tag, 0, 0, 0, 0];
        record.extend((length as u32).to_be_bytes());
        record.extend(body);
        record
    }

    fn array(count: u32, elements: &[u8]) -> Vec<u8> {
        let mut array = vec![tags::heap::PRIMITIVE_ARRAY_DUMP, 0, 0, 0, 9, 0, 0, 0, 0];
        array.extend(count.to_be_bytes());
        array.push(5);
        array.extend(elements);
        array
    }

    /// A file of a string, a root, arrays of 0, 3 and 300 characters in two segments, and an end.
    fn file(with_elements: bool, fill: u8) -> Vec<u8> {
        let elements = |count: usize| vec![fill; if with_elements { 2 * count } else { 0 }];
        let root = [tags::heap::ROOT_STICKY_CLASS, 0, 0, 0, 9];
        let first = [&root[..], &array(0, &[])].concat();
        let second = [
            array(3, &elements(3)),
            root.to_vec(),
            array(300, &elements(300)),
        ]
        .concat();
        let stated = 2 * ARRAY_HEAD + root.len() + 606;
        let segment = tags::record::HEAP_DUMP_SEGMENT;
        [
            HEADER.to_vec(),
            record(tags::record::UTF8, b"\0\0\0\x01name", 8),
            record(segment, &first, first.len()),
            record(segment, &second, stated),
            record(segment, &second, stated),
            record(tags::record::HEAP_DUMP_END, &[], 0),
        ]
        .concat()
    }

    fn restored(file: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let left_out = LeftOut::default();
        let mut input = Restored::new(file, left_out.clone());
        input.read_to_end(&mut out).unwrap();
        assert_eq!(left_out.is_so(), out != file);
        out
    }

    #[test]
    fn missing_elements_become_zeros() {
        assert!(lacks_elements(&file(false, 0)));
        assert!(restored(&file(false, 0)) == file(true, 0));
    }

    #[test]
    fn other_files_stay_as_they_are() {
        let whole = file(true, 7);
        for cut in 0..whole.len() {
            assert!(!lacks_elements(&whole[..cut]));
            assert!(restored(&whole[..cut]) == whole[..cut], "{cut}");
        }
        let mut wide = file(false, 0);
        wide[22] = 8;
        assert!(!lacks_elements(&wide) && restored(&wide) == wide);
    }

    #[test]
    fn a_dump_that_is_cut_short_is_restored_up_to_its_last_whole_segment() {
        let (stripped, whole) = (file(false, 0), file(true, 0));
        let restored = restored(&stripped[..stripped.len() - 12]);
        let last = whole.len() - 9 - 9 - (2 * ARRAY_HEAD + 5 + 606);
        assert!(restored[..last] == whole[..last]);
        assert!(restored.len() < whole.len());
    }
}
