//! Restores dumps that KOOM has written without the elements of primitive arrays.
//!
//! KOOM hooks the writes of ART's dumper and leaves these elements out (`hprof_strip.cpp` of KOOM). The
//! heads of the arrays keep their counts, and the segments of the app's heap keep their lengths. So a segment
//! is whole again, to the byte, when zeros stand for the elements: that tells such a dump from a damaged one.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hprof_format::binary::{BasicType, IdSize, SubRecords, tags};
use hprof_format::reader::{Buffer, Damage, FileHeader};

/// The most bytes of a segment that are held. ART begins a new segment after 4096 bytes or 128 objects, so
/// only a very large array of references makes longer ones.
const MAX_HELD: u64 = 8 << 20;
/// The most bytes that zeros stand for, in all segments together: no heap of a phone is larger. A made file
/// could claim more than any disk holds.
const MAX_MISSING: u64 = 4 << 30;
/// The bytes of a segment that are looked at first.
const FIRST_LOOK: u64 = 64 << 10;
/// The bytes of a record's head: tag, time, length.
const RECORD_HEAD: usize = 9;
/// The most bytes that are passed on at once.
const CHUNK: u64 = 32 << 10;
/// ART's files have identifiers of this width.
const IDS: IdSize = IdSize::Four;
/// The bytes of a primitive array before its elements: tag, identifier, trace, count, type.
const ARRAY_HEAD: usize = 14;

/// Says whether the elements of arrays are in the file.
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
    /// Places in `ready` where zeros come first, and their numbers; the next one last.
    zeros: Vec<(usize, u64)>,
    /// The zeros of all segments so far.
    missing: u64,
    /// Why the input ends, to be told after all that has come.
    failure: Option<io::Error>,
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
            zeros: Vec::new(),
            missing: 0,
            failure: None,
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
        self.segment(length)
    }

    fn segment(&mut self, length: u64) -> io::Result<()> {
        let mut held = FIRST_LOOK;
        let fit = loop {
            let is_all = !self.input.fill(RECORD_HEAD as u64 + held)?;
            let body = &self.input.unread()[RECORD_HEAD..];
            match Segment::of(body, length) {
                Fit::Short if !is_all && held < MAX_HELD => held *= 2,
                fit => break fit,
            }
        };
        let unread = self.input.unread();
        let body = &unread[RECORD_HEAD..];
        let segment = match fit {
            Fit::Exact(segment)
                if begins_record(&body[segment.end..])
                    && self.missing + segment.missing() <= MAX_MISSING =>
            {
                segment
            }
            // The first array with elements does not fit without them, or the fit is unknown.
            _ => {
                self.elements = Elements::Present;
                return Ok(());
            }
        };
        if !segment.arrays.is_empty() {
            self.elements = Elements::Missing;
            self.left_out.0.store(true, Ordering::Release);
        }
        self.missing += segment.missing();
        self.ready
            .extend_from_slice(&unread[..RECORD_HEAD + segment.end]);
        let arrays = segment.arrays.iter().rev();
        self.zeros
            .extend(arrays.map(|&(at, missing)| (RECORD_HEAD + at, missing)));
        self.input.skip(RECORD_HEAD + segment.end);
        Ok(())
    }
}

impl<R: Read> Read for Restored<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some((place, left)) = self.zeros.last_mut()
            && *place == self.at
        {
            let most = usize::try_from(*left).unwrap_or(usize::MAX);
            let length = buffer.len().min(most);
            buffer[..length].fill(0);
            *left -= length as u64;
            if *left == 0 {
                self.zeros.pop();
            }
            return Ok(length);
        }
        if self.at == self.ready.len()
            && self.elements != Elements::Present
            && let Err(error) = self.advance()
        {
            // What has come before is worth reading.
            self.failure = Some(error);
            self.elements = Elements::Present;
        }
        if self.at == self.ready.len() && self.elements == Elements::Present {
            self.ready = Vec::new();
            self.at = 0;
            let failure = self.failure.take_if(|_| self.input.unread().is_empty());
            return failure.map_or_else(|| self.input.read(buffer), Err);
        }
        let zeros = self.zeros.last();
        let end = zeros.map_or(self.ready.len(), |(place, _)| *place);
        let length = buffer.len().min(end - self.at);
        buffer[..length].copy_from_slice(&self.ready[self.at..][..length]);
        self.at += length;
        Ok(length)
    }
}

/// Returns true if a file in memory is one that KOOM has written without elements.
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

/// Returns true if a record of a known kind, or the end of the file, comes next.
fn begins_record(rest: &[u8]) -> bool {
    use tags::record as known;
    rest.first().is_none_or(|tag| {
        matches!(
            *tag,
            known::UTF8..=known::CONTROL_SETTINGS | known::HEAP_DUMP_SEGMENT | known::HEAP_DUMP_END
        )
    })
}

/// The sub-records of a segment without elements of arrays.
struct Segment {
    /// Where they end in the file's bytes.
    end: usize,
    /// The ends of the heads of arrays that are not empty, and the bytes of their elements.
    arrays: Vec<(usize, u64)>,
}

/// Says whether sub-records without elements are the ones of a segment.
enum Fit {
    /// They fill its length, if their elements are added.
    Exact(Segment),
    /// There are too few bytes to tell.
    Short,
    /// They do not.
    No,
}

impl Segment {
    /// The bytes of all elements.
    fn missing(&self) -> u64 {
        self.arrays.iter().map(|(_, missing)| missing).sum()
    }

    /// Walks over sub-records up to the length of their segment, elements included.
    fn of(bytes: &[u8], length: u64) -> Fit {
        let (mut at, mut filled) = (0, 0u64);
        let mut arrays = Vec::new();
        while filled < length {
            let rest = &bytes[at..];
            let Some(&tag) = rest.first() else {
                return Fit::Short;
            };
            let mut passed = ARRAY_HEAD;
            if tag == tags::heap::PRIMITIVE_ARRAY_DUMP {
                let Some(head) = rest.get(..ARRAY_HEAD) else {
                    return Fit::Short;
                };
                let count = u32::from_be_bytes([head[9], head[10], head[11], head[12]]);
                let Some(element) = BasicType::from_code(head[13]) else {
                    return Fit::No;
                };
                let elements = u64::from(count) * element.width(IDS) as u64;
                filled += elements;
                if filled > length {
                    return Fit::No;
                }
                if elements > 0 {
                    arrays.push((at + ARRAY_HEAD, elements));
                }
            } else {
                let mut subs = SubRecords::new(rest, IDS, 0);
                match subs.next() {
                    Some(Ok(_)) => passed = subs.offset() as usize,
                    Some(Err(Damage::SubRecordBody { .. })) | None => return Fit::Short,
                    Some(Err(_)) => return Fit::No,
                }
            }
            at += passed;
            filled += passed as u64;
        }
        match filled == length {
            true => Fit::Exact(Self { end: at, arrays }),
            false => Fit::No,
        }
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
    fn a_file_that_claims_more_than_a_phone_holds_stays_as_it_is() {
        let huge = array(0x7fff_fff0, &[]);
        let stated = ARRAY_HEAD + 0xffff_ffe0;
        let segment = record(tags::record::HEAP_DUMP_SEGMENT, &huge, stated);
        let file = [HEADER, &segment, &segment, &segment].concat();
        let mut input = Restored::new(&*file, LeftOut::default());
        let (mut buffer, mut total) = (vec![0; 1 << 20], 0);
        loop {
            match input.read(&mut buffer).unwrap() {
                0 => break,
                length => total += length as u64,
            }
        }
        let restored = RECORD_HEAD as u64 + stated as u64;
        assert_eq!(
            total,
            HEADER.len() as u64 + restored + 2 * segment.len() as u64
        );
    }

    #[test]
    fn what_came_before_an_error_is_read_first() {
        struct Failing<'a>(&'a [u8]);
        impl Read for Failing<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                match self.0.len() {
                    0 => Err(io::ErrorKind::UnexpectedEof.into()),
                    _ => self.0.read(buffer),
                }
            }
        }
        let whole = file(true, 7);
        for cut in [20, 45, 80, 200, whole.len()] {
            let mut out = Vec::new();
            let mut input = Restored::new(Failing(&whole[..cut]), LeftOut::default());
            assert!(input.read_to_end(&mut out).is_err(), "{cut}");
            assert!(out == whole[..cut], "{cut}");
        }
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
