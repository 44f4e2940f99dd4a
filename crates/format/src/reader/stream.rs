//! Walks over the records of a file that comes in piece by piece.

use std::io::{self, Read};

use thiserror::Error;

use super::buffer::{Buffer, CHUNK};
use super::damage::{Damage, HeaderError};
use super::file::{
    Positioned, RECORD_HEAD, is_heap, is_overflow, is_record, is_sub_record_tag, no_record,
};
use super::header::FileHeader;
use super::resync::{self, Search};
use crate::binary::{
    IdSize, OPEN_ENDED, Record, Stop, SubRecord, damage_of, decode_start, decode_sub_record, tags,
    u4,
};

/// Sub-records above this many bytes are not held in memory.
const LONG: u64 = 1 << 20;
/// The bytes that are kept of them.
const START: usize = 4 << 10;

/// Something a [`StreamReader`] met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event<'a> {
    /// A record other than a heap dump or segment.
    Record(Positioned<'a>),
    /// The beginning of a heap dump or segment. Its sub-records follow.
    Heap {
        /// Where the record starts, in bytes from the start of the file.
        offset: u64,
        /// Microseconds since the creation time in the header, modulo 2^32.
        micros: u32,
        /// True for a `HEAP DUMP SEGMENT`, false for a `HEAP DUMP`.
        is_segment: bool,
    },
    /// A sub-record of the heap dump or segment that began last.
    SubRecord {
        /// Where the sub-record starts, in bytes from the start of the file.
        offset: u64,
        /// The sub-record.
        sub_record: SubRecord<'a>,
    },
    /// A sub-record that is too long to be held in memory.
    LongSubRecord {
        /// Where the sub-record starts, in bytes from the start of the file.
        offset: u64,
        /// The sub-record with only the first of its values.
        start: SubRecord<'a>,
        /// The length of its values in bytes.
        bytes: u64,
    },
}

/// Why a [`StreamReader`] has nothing to show at some place.
#[derive(Debug, Error)]
pub enum StreamError {
    /// Reading failed. Nothing more comes.
    #[error("reading failed: {0}")]
    Io(#[from] io::Error),
    /// The file cannot be read at all.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// A damaged place. Reading can continue.
    #[error(transparent)]
    Damage(#[from] Damage),
}

/// The thing at the front of the buffer.
enum Step {
    Record { tag: u8, micros: u32, length: usize },
    Heap { tag: u8, micros: u32 },
    SubRecord { length: usize },
    LongSubRecord { offset: u64 },
    End,
}

/// Walks over the records of a file that comes in piece by piece, such as from a socket or a
/// decompressor.
///
/// It holds at most one record or sub-record at a time in memory, of sub-records above 1 MiB only
/// the start (see [`StreamReader::hold_long_sub_records`]), and never more than has really come in, whatever length a record states.
#[derive(Debug)]
pub struct StreamReader<R> {
    buffer: Buffer<R>,
    header: FileHeader,
    total: Option<u64>,
    /// The length of what was shown last, to be passed over next.
    shown: usize,
    /// The bytes left in the present heap dump or segment.
    heap_left: Option<u64>,
    /// Sub-records above this many bytes are passed over.
    longest: u64,
    /// The start of a long sub-record that is passed over.
    long: Vec<u8>,
}

impl<R: Read> StreamReader<R> {
    /// Reads the header of a file.
    pub fn new(input: R) -> Result<Self, StreamError> {
        // Placeholder until the header is read.
        let header = FileHeader {
            version: super::Version::V1_0_2,
            id_size: crate::binary::IdSize::Eight,
            created_millis: 0,
        };
        let mut reader = Self {
            buffer: Buffer::new(input),
            header,
            total: None,
            shown: 0,
            heap_left: None,
            longest: LONG,
            long: Vec::new(),
        };
        reader.buffer.fill(FileHeader::LENGTH as u64)?;
        reader.header = FileHeader::parse(reader.buffer.unread())?;
        reader.buffer.skip(FileHeader::LENGTH);
        Ok(reader)
    }

    /// Tells the length of the whole file in bytes, which helps with heap dumps above 4 GiB of
    /// old VMs.
    pub fn set_file_length(&mut self, length: u64) {
        self.total = Some(length);
    }

    /// Holds sub-records of any length in memory, so that no [`Event::LongSubRecord`] comes.
    pub fn hold_long_sub_records(&mut self) {
        self.longest = u64::MAX;
    }

    /// The header.
    pub fn header(&self) -> &FileHeader {
        &self.header
    }

    /// Where in the file the next thing starts, or the file has ended.
    pub fn offset(&self) -> u64 {
        self.buffer.offset() + self.shown as u64
    }

    /// The next thing in the file, `None` at its end.
    // Not an iterator, as what it shows lies in the buffer until the next call.
    #[expect(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<Result<Event<'_>, StreamError>> {
        let shown = std::mem::take(&mut self.shown);
        self.buffer.skip(shown);
        let step = match self.step() {
            Ok(step) => step,
            Err(error) => return Some(Err(error)),
        };
        let offset = self.buffer.offset();
        let id_size = self.header.id_size;
        let event = match step {
            Step::End => return None,
            Step::Heap { tag, micros } => {
                self.shown = RECORD_HEAD;
                let is_segment = tag == tags::record::HEAP_DUMP_SEGMENT;
                Ok(Event::Heap {
                    offset,
                    micros,
                    is_segment,
                })
            }
            Step::Record {
                tag,
                micros,
                length,
            } => {
                self.shown = RECORD_HEAD + length;
                let body = &self.buffer.unread()[RECORD_HEAD..RECORD_HEAD + length];
                match Record::decode(tag, body, id_size, offset + RECORD_HEAD as u64) {
                    Some(record) => Ok(Event::Record(Positioned {
                        offset,
                        micros,
                        record,
                    })),
                    None => {
                        let length = length as u64;
                        Err(Damage::ShortRecord {
                            offset,
                            tag,
                            length,
                        }
                        .into())
                    }
                }
            }
            Step::LongSubRecord { offset } => {
                // It was decoded before it was passed over.
                let (start, length) = decode_start(&self.long, id_size)?;
                let head = match start {
                    SubRecord::PrimitiveArray { .. } => 10 + id_size.bytes(),
                    _ => 9 + 2 * id_size.bytes(),
                };
                Ok(Event::LongSubRecord {
                    offset,
                    start,
                    bytes: length - head as u64,
                })
            }
            Step::SubRecord { length } => {
                self.shown = length;
                match decode_sub_record(&self.buffer.unread()[..length], id_size) {
                    Ok((sub_record, _)) => Ok(Event::SubRecord { offset, sub_record }),
                    Err(stop) => Err(damage_of(stop, offset, 0, length as u64).into()),
                }
            }
        };
        Some(event)
    }

    /// The unread bytes of the present heap dump or segment.
    fn window(&self) -> &[u8] {
        let unread = self.buffer.unread();
        let left = self.heap_left.unwrap_or(0).min(unread.len() as u64);
        &unread[..left as usize]
    }

    /// Brings the next thing into the buffer.
    fn step(&mut self) -> Result<Step, StreamError> {
        loop {
            match self.heap_left {
                None => return self.step_record(),
                Some(0) => self.heap_left = None,
                Some(left) => {
                    if !self.buffer.fill(1)? {
                        self.heap_left = None;
                        if left > OPEN_ENDED / 2 {
                            return Ok(Step::End);
                        }
                        let cut = Damage::SegmentCut {
                            offset: self.buffer.offset(),
                            missing: left,
                        };
                        return Err(cut.into());
                    }
                    match decode_sub_record(self.window(), self.header.id_size) {
                        Ok((_, length)) => {
                            self.heap_left = Some(left - length as u64);
                            return Ok(Step::SubRecord { length });
                        }
                        Err(Stop::Incomplete { needed }) if needed <= left => {
                            if needed > self.longest && self.long_start() {
                                self.heap_left = Some(left - needed);
                                return self.pass_over(needed);
                            }
                            let before = self.buffer.unread().len();
                            // More bytes may tell more, even if they are not enough.
                            if !self.buffer.fill(needed)? && self.buffer.unread().len() == before {
                                return Err(self.cut_heap(Stop::Incomplete { needed }));
                            }
                        }
                        Err(stop) => return Err(self.mend_heap(stop)),
                    }
                }
            }
        }
    }

    fn step_record(&mut self) -> Result<Step, StreamError> {
        let offset = self.buffer.offset();
        if !self.buffer.fill(RECORD_HEAD as u64)? {
            let found = self.buffer.unread().len();
            self.buffer.skip(found);
            return match found as u64 {
                0 => Ok(Step::End),
                found => Err(Damage::RecordHead { offset, found }.into()),
            };
        }
        let Some(&head) = self.buffer.unread().first_chunk::<RECORD_HEAD>() else {
            return Ok(Step::End);
        };
        let (tag, micros, length) = (head[0], u4(&head, 1), u64::from(u4(&head, 5)));
        let wanted = match (resync::is_known(tag), length) {
            (true, _) => resync::BODY_START as u64,
            (false, 0..=resync::MAX_UNKNOWN) => length + RECORD_HEAD as u64,
            (false, _) => 0,
        };
        self.buffer.fill(RECORD_HEAD as u64 + wanted)?;
        if !is_record(
            &head,
            &self.buffer.unread()[RECORD_HEAD..],
            self.header.id_size,
        ) {
            self.buffer.skip(1);
            let lost = 1 + self.search(u64::MAX, resync::find_records)?;
            return Err(no_record(&head, offset, lost).into());
        }
        if is_heap(tag) {
            let length = self.heap_length(tag, length)?;
            self.heap_left = Some(length);
            return Ok(Step::Heap { tag, micros });
        }
        if !self.buffer.fill(RECORD_HEAD as u64 + length)? {
            let found = (self.buffer.unread().len() - RECORD_HEAD) as u64;
            self.buffer.skip(self.buffer.unread().len());
            return Err(Damage::RecordBody {
                offset,
                tag,
                expected: length,
                found,
            }
            .into());
        }
        Ok(Step::Record {
            tag,
            micros,
            length: length as usize,
        })
    }

    /// The length of a heap dump or segment that states `length`; [`OPEN_ENDED`] for "to the end".
    fn heap_length(&mut self, tag: u8, length: u64) -> io::Result<u64> {
        let body = self.buffer.offset() + RECORD_HEAD as u64;
        if let Some(left) = self.total.and_then(|total| total.checked_sub(body))
            && tag == tags::record::HEAP_DUMP
            && is_overflow(length, left)
        {
            return Ok(left);
        }
        if length == 0
            && self.buffer.fill(RECORD_HEAD as u64 + 1)?
            && is_sub_record_tag(self.buffer.unread()[RECORD_HEAD])
        {
            return Ok(OPEN_ENDED);
        }
        Ok(length)
    }

    /// True if the start of a long sub-record is in the buffer; keeps it.
    fn long_start(&mut self) -> bool {
        let length = self.window().len().min(START);
        self.long.clear();
        self.long.extend_from_slice(&self.buffer.unread()[..length]);
        decode_start(&self.long, self.header.id_size).is_some()
    }

    /// Skips a sub-record whose start is kept.
    fn pass_over(&mut self, length: u64) -> Result<Step, StreamError> {
        let offset = self.buffer.offset();
        let lost = self.buffer.discard(length)?;
        if lost == length {
            return Ok(Step::LongSubRecord { offset });
        }
        self.heap_left = None;
        let tag = self.long.first().copied().unwrap_or(0);
        Err(damage_of(Stop::Incomplete { needed: length }, offset, tag, lost).into())
    }

    /// Gives up what is left of a heap dump or segment that the end of the file cuts.
    #[cold]
    fn cut_heap(&mut self, stop: Stop) -> StreamError {
        let offset = self.buffer.offset();
        let tag = self.buffer.unread().first().copied().unwrap_or(0);
        self.heap_left = None;
        let lost = self.buffer.unread().len();
        self.buffer.skip(lost);
        damage_of(stop, offset, tag, lost as u64).into()
    }

    /// Goes to the next place of the present heap dump or segment that looks sound.
    #[cold]
    fn mend_heap(&mut self, stop: Stop) -> StreamError {
        let offset = self.buffer.offset();
        let tag = self.buffer.unread().first().copied().unwrap_or(0);
        let left = self.heap_left.take().unwrap_or(1) - 1;
        self.buffer.skip(1);
        match self.search(left, resync::find_sub_records) {
            Ok(lost) => {
                // At the end of the file the segment ends too.
                let is_over =
                    lost == left || self.buffer.is_at_end() && self.buffer.unread().is_empty();
                self.heap_left = (!is_over).then_some(left - lost);
                damage_of(stop, offset, tag, 1 + lost).into()
            }
            Err(error) => error.into(),
        }
    }

    /// Goes to the first place in the next `limit` bytes that `find` finds, or to their end; the
    /// bytes passed over.
    fn search(&mut self, limit: u64, find: fn(&[u8], IdSize, bool) -> Search) -> io::Result<u64> {
        let mut passed = 0;
        loop {
            let left = limit - passed;
            self.buffer.fill(left.min((resync::LOOK + CHUNK) as u64))?;
            let unread = self.buffer.unread();
            let window = &unread[..left.min(unread.len() as u64) as usize];
            let is_end = window.len() as u64 == left || self.buffer.is_at_end();
            match find(window, self.header.id_size, is_end) {
                Search::Found(at) => {
                    self.buffer.skip(at);
                    return Ok(passed + at as u64);
                }
                Search::NotBelow(tested) => {
                    self.buffer.skip(tested);
                    passed += tested as u64;
                    if is_end {
                        return Ok(passed);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
