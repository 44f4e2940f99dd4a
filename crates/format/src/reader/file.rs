//! Walks over the records of a file in memory.

use super::damage::{Damage, HeaderError};
use super::header::FileHeader;
use super::resync::{self, Search};
use crate::binary::tags::record as tag;
use crate::binary::{IdSize, OPEN_ENDED, Record, u4};

/// The length of a record's head: tag, time, length.
pub(crate) const RECORD_HEAD: usize = 9;

/// A record with its place in the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Positioned<'a> {
    /// Where the record starts, in bytes from the start of the file.
    pub offset: u64,
    /// Microseconds since the creation time in the header, modulo 2^32; 0 in heap dumps of VMs.
    pub micros: u32,
    /// The record.
    pub record: Record<'a>,
}

/// Walks over the records of a file in memory.
///
/// ```
/// use hprof_format::{binary::BinaryWriter, model::*, reader::Reader, writer::ProfileWriter};
///
/// let mut writer = BinaryWriter::new(Vec::new());
/// let settings = Settings { depth: 4, ..Settings::default() };
/// writer.begin(&Header { created_millis: 0, created_ctime: "", settings })?;
/// let file = writer.into_inner();
/// let tags: Vec<u8> = Reader::new(&file)?.map(|found| found.unwrap().record.tag()).collect();
/// assert_eq!(tags, [0x0e, 0x05]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    header: FileHeader,
    file: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads the header of a file.
    pub fn new(file: &'a [u8]) -> Result<Self, HeaderError> {
        Ok(Self {
            header: FileHeader::parse(file)?,
            file,
            at: FileHeader::LENGTH,
        })
    }

    /// The header.
    pub fn header(&self) -> &FileHeader {
        &self.header
    }

    /// Where in the file the next record starts.
    pub fn offset(&self) -> u64 {
        self.at as u64
    }

    /// Goes to a place in the file where a record is known to start, such as one of an index.
    pub fn seek(&mut self, offset: u64) {
        self.at = usize::try_from(offset).map_or(self.file.len(), |at| at.min(self.file.len()));
    }

    fn give_up(&mut self) {
        self.at = self.file.len();
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Positioned<'a>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.file[self.at..];
        let offset = self.at as u64;
        if rest.is_empty() {
            return None;
        }
        let Some((head, after)) = rest.split_first_chunk::<RECORD_HEAD>() else {
            self.give_up();
            return Some(Err(Damage::RecordHead {
                offset,
                found: rest.len() as u64,
            }));
        };
        let (tag, micros, length) = (head[0], u4(head, 1), u64::from(u4(head, 5)));
        if !is_record(head, after, self.header.id_size) {
            let lost = match resync::find_records(&rest[1..], self.header.id_size, true) {
                Search::Found(at) => 1 + at,
                Search::NotBelow(_) => rest.len(),
            };
            self.at += lost;
            return Some(Err(no_record(head, offset, lost as u64)));
        }
        let (length, is_open_ended) = real_length(tag, length, after);
        let found = after.len() as u64;
        let body = &after[..length.min(found) as usize];
        self.at += RECORD_HEAD + body.len();
        let missing = match is_open_ended {
            true => OPEN_ENDED,
            false => length - body.len() as u64,
        };
        if missing > 0 && !is_heap(tag) {
            return Some(Err(Damage::RecordBody {
                offset,
                tag,
                expected: length,
                found,
            }));
        }
        let start = offset + RECORD_HEAD as u64;
        Some(
            match Record::decode(tag, body, self.header.id_size, start) {
                Some(record) => Ok(Positioned {
                    offset,
                    micros,
                    record: record.of_segment(missing),
                }),
                None => Err(Damage::ShortRecord {
                    offset,
                    tag,
                    length,
                }),
            },
        )
    }
}

impl std::iter::FusedIterator for Reader<'_> {}

impl Record<'_> {
    fn of_segment(self, missing: u64) -> Self {
        match self {
            Self::HeapDump(heap) => Self::HeapDump(heap.of_segment(missing)),
            Self::HeapDumpSegment(heap) => Self::HeapDumpSegment(heap.of_segment(missing)),
            other => other,
        }
    }
}

pub(crate) fn is_heap(tag: u8) -> bool {
    matches!(tag, tag::HEAP_DUMP | tag::HEAP_DUMP_SEGMENT)
}

/// True if `head`, with `after` following it, is the head of a record, sound as far as that can be
/// seen.
///
/// It looks at the start of the body in `after`, and for records with unknown tags that are short
/// enough also at the next head.
pub(crate) fn is_record(head: &[u8; RECORD_HEAD], after: &[u8], id_size: IdSize) -> bool {
    let (tag, length) = (head[0], u64::from(u4(head, 5)));
    let start = &after[..length
        .min(after.len() as u64)
        .min(resync::BODY_START as u64) as usize];
    if *head == [0; RECORD_HEAD] || resync::is_too_long(tag, length, start, id_size) {
        return false;
    }
    let next = after.get(length as usize..).unwrap_or_default();
    resync::is_known(tag) || resync::is_followed(next, id_size)
}

/// The report about a head that is none.
pub(crate) fn no_record(head: &[u8; RECORD_HEAD], offset: u64, lost: u64) -> Damage {
    if *head == [0; RECORD_HEAD] {
        return Damage::ZeroFill { offset, lost };
    }
    let (tag, length) = (head[0], u64::from(u4(head, 5)));
    Damage::NoRecord {
        offset,
        tag,
        length,
        lost,
    }
}

/// The length of a record whose head states `length`, with `after` following the head, and whether
/// that only means that it reaches to the end of the file.
fn real_length(tag: u8, length: u64, after: &[u8]) -> (u64, bool) {
    let left = after.len() as u64;
    if !is_heap(tag) {
        (length, false)
    } else if tag == tag::HEAP_DUMP && is_overflow(length, left) {
        (left, false)
    } else if length == 0 && after.first().is_some_and(|&next| is_sub_record_tag(next)) {
        // The writer died before it could patch the length in.
        (left, true)
    } else {
        (length, false)
    }
}

/// True if a heap dump that states `length` in fact reaches to the end of the file, `left` bytes
/// away: old VMs wrote the length modulo 2^32 (Eclipse bug 404679).
pub(crate) fn is_overflow(length: u64, left: u64) -> bool {
    left > 1 << 32 && (left - length).is_multiple_of(1 << 32)
}

/// True for tags of sub-records that are no tags of records.
///
/// If such a tag follows a heap dump that states length 0, the dump is not empty: VMs that patch
/// the length in at the end begin their dumps with classes.
pub(crate) fn is_sub_record_tag(tag: u8) -> bool {
    matches!(tag, 0x08 | 0x20..=0x23 | 0x89..=0x8e | 0x90 | 0xc3 | 0xfe | 0xff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_overflowed_is_known_by_the_bytes_left() {
        let gib4 = 1u64 << 32;
        assert!(is_overflow(5, gib4 + 5));
        assert!(is_overflow(5, 3 * gib4 + 5));
        assert!(!is_overflow(5, gib4 + 6));
        assert!(!is_overflow(5, 5));
        assert!(!is_overflow(0, gib4));
    }

    #[test]
    fn a_dump_of_length_0_is_empty_unless_a_sub_record_follows() {
        assert_eq!(
            real_length(tag::HEAP_DUMP, 0, &[tag::HEAP_DUMP_END, 0, 0]),
            (0, false)
        );
        assert_eq!(real_length(tag::HEAP_DUMP, 0, &[]), (0, false));
        assert_eq!(real_length(tag::HEAP_DUMP, 0, &[0, 0, 0]), (0, false));
        for tag in [tag::HEAP_DUMP, tag::HEAP_DUMP_SEGMENT] {
            assert_eq!(real_length(tag, 0, &[0x20, 0, 0, 0]), (4, true));
        }
        let end = real_length(tag::HEAP_DUMP_END, 0, &[0x20, 0, 0, 0]);
        assert_eq!(end, (0, false));
    }
}
