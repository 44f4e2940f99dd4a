//! Reads a dump that the VM writes, in pieces of about a mebibyte, while it is being written.
//!
//! The reader of the format crate hands out one sub-record at a time. Here whole runs of them are
//! handed out, in a buffer that may be changed, so that a dump can be copied
//! with small changes at the speed of memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hprof_format::binary::{IdSize, Record, SubRecords, tags};
use hprof_format::reader::{Damage, FileHeader, HeaderError};

use super::parts::{Part, Parts};
use super::primitive_array;
use crate::os::holes;

/// Why a dump of the VM cannot be passed on.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The VM's file cannot be read.
    #[error("cannot read the VM's dump: {0}")]
    Read(#[from] io::Error),
    /// The VM's file is no dump.
    #[error("the VM's dump cannot be used: {0}")]
    Header(#[from] HeaderError),
    /// The VM's file is damaged.
    #[error("the VM's dump is damaged {0}")]
    Damaged(#[from] Damage),
    /// It has identifiers of four bytes, ours have eight.
    #[error("the VM's dump has identifiers of 4 bytes")]
    NarrowIds,
    /// It ends without its end mark.
    #[error("the VM's dump ends too early, after {0} bytes")]
    Unfinished(u64),
    /// The profile cannot be written; the owner of the output reports that.
    #[error("cannot write: {0}")]
    Output(#[source] io::Error),
}

/// Takes in what a dump holds.
pub trait Visitor {
    /// A record outside the heap.
    fn record(&mut self, record: &Record<'_>) -> Result<(), DumpError>;

    /// A segment of the heap begins: the place of its head in the file, and how many bytes follow that.
    fn segment(&mut self, _head: u64, _length: u64) {}

    /// Takes in the whole sub-records at the start of `bytes` and returns how long they are. A
    /// sub-record that is cut off by the end is shown again later, with all of its bytes.
    /// `offset` is the place in the file, for reports.
    fn sub_records(&mut self, bytes: &mut [u8], offset: u64) -> Result<usize, DumpError>;

    /// Takes in a primitive array too large for the buffer: its head, which is at `offset` in the
    /// file, and its elements, which need not be read.
    fn large_array(
        &mut self,
        head: &[u8; primitive_array::HEAD],
        elements: &mut dyn Read,
        offset: u64,
    ) -> Result<(), DumpError>;
}

/// Tells whether the VM still writes.
#[derive(Default)]
pub struct Growth {
    finished: AtomicBool,
}

impl Growth {
    /// The VM has written all it will write.
    pub fn finish(&self) {
        self.finished.store(true, Ordering::Release);
    }

    /// Returns true if the VM has written all it will write.
    pub fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }

    /// Waits a little for more.
    pub fn wait(&self) {
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// A dump that is read from start to end.
pub struct DumpReader<'a> {
    growth: &'a Growth,
    /// Taken while the VM writes them.
    parts: Option<Parts>,
    file: File,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where `start` is in the file.
    offset: u64,
    is_at_end: bool,
    /// Free the disk space of what was read.
    frees: bool,
    freed: u64,
}

const BUFFER: usize = 1 << 20;
const RECORD_HEAD: usize = 9;
/// Disk space is freed in steps of this: the file system first writes what is freed, so that small steps
/// take longer.
const FREE_STEP: u64 = 32 << 20;
/// The steps on a disk that has less than [`LITTLE_ROOM`].
const SMALL_FREE_STEP: u64 = 4 << 20;
/// Less room than this is little.
const LITTLE_ROOM: u64 = 64 << 20;

impl<'a> DumpReader<'a> {
    /// Reads `file` from its start, and waits for more until `growth` tells that there is no more. With `frees`, the disk space of what was read is given back, as
    /// the copy takes as much: the file cannot be read again.
    pub fn new(file: &File, growth: &'a Growth, frees: bool) -> Result<Self, DumpError> {
        let mut file = file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        Ok(Self {
            growth,
            parts: None,
            file,
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            offset: 0,
            is_at_end: false,
            frees,
            freed: 0,
        })
    }

    /// Takes the parts of the dump away from the VM as it writes them, and reads them as they are.
    pub fn take_parts(&mut self, parts: Parts) {
        self.parts = Some(parts);
    }

    /// Shows the whole dump to `visitor`.
    pub fn read(mut self, visitor: &mut dyn Visitor) -> Result<(), DumpError> {
        let parts = self.names(visitor)?;
        self.objects(&parts, visitor)
    }

    /// Shows what comes before the heap to `visitor`: names and stacks. Returns the parts that were
    /// taken.
    pub fn names(&mut self, visitor: &mut dyn Visitor) -> Result<Vec<Part>, DumpError> {
        self.fill(FileHeader::LENGTH)?;
        let header = FileHeader::parse(self.unread())?;
        if header.id_size != IdSize::Eight {
            return Err(DumpError::NarrowIds);
        }
        self.skip(FileHeader::LENGTH);
        while self.fill(RECORD_HEAD)? && !is_heap(self.unread()[0]) {
            self.step(visitor)?;
        }
        let Some(parts) = self.parts.take() else {
            return Ok(Vec::new());
        };
        self.fill(Parts::START)?;
        Ok(parts.end(self.unread())?)
    }

    /// How many bytes were shown.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Shows the heap after [`Self::names`]. The first of `parts` holds the classes, so they come before
    /// all other objects.
    pub fn objects(mut self, parts: &[Part], visitor: &mut dyn Visitor) -> Result<(), DumpError> {
        for part in parts {
            let mut reader = DumpReader::new(&part.file, self.growth, true)?;
            while reader.step(visitor)?.is_some() {}
        }
        let mut ended = false;
        while let Some(tag) = self.step(visitor)? {
            ended |= tag == tags::record::HEAP_DUMP_END;
        }
        match ended {
            true => Ok(()),
            false => Err(DumpError::Unfinished(self.offset)),
        }
    }

    /// Shows the next record to `visitor` and returns its tag, `None` at the end of the file.
    pub fn step(&mut self, visitor: &mut dyn Visitor) -> Result<Option<u8>, DumpError> {
        if !self.fill(1)? {
            return Ok(None);
        }
        if !self.fill(RECORD_HEAD)? {
            return Err(DumpError::Unfinished(self.offset));
        }
        let head = self.unread();
        let tag = head[0];
        let length = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        match tag {
            tags::record::HEAP_DUMP | tags::record::HEAP_DUMP_SEGMENT => {
                let length = u64::from(match length {
                    0 => self.final_length()?,
                    length => length,
                });
                visitor.segment(self.offset, length);
                self.skip(RECORD_HEAD);
                self.heap(length, visitor)?;
            }
            tags::record::HEAP_DUMP_END => self.skip(RECORD_HEAD),
            _ => self.record(tag, length as usize, visitor)?,
        }
        Ok(Some(tag))
    }

    /// All bytes of the file are `by` bytes farther from its start than they were.
    ///
    /// # Errors
    /// The file system's.
    pub fn shift(&mut self, by: u64) -> io::Result<()> {
        self.file
            .seek_relative(i64::try_from(by).unwrap_or(i64::MAX))?;
        self.offset += by;
        Ok(())
    }

    fn record(
        &mut self,
        tag: u8,
        length: usize,
        visitor: &mut dyn Visitor,
    ) -> Result<(), DumpError> {
        if !self.fill(RECORD_HEAD + length)? {
            return Err(DumpError::Unfinished(self.offset));
        }
        let body = &self.unread()[RECORD_HEAD..RECORD_HEAD + length];
        let at = self.offset + RECORD_HEAD as u64;
        match Record::decode(tag, body, IdSize::Eight, at) {
            Some(record) => visitor.record(&record)?,
            None => {
                return Err(Damage::ShortRecord {
                    offset: self.offset,
                    tag,
                    length: length as u64,
                }
                .into());
            }
        }
        self.skip(RECORD_HEAD + length);
        Ok(())
    }

    /// The length of a segment that had none when it was read: before JDK 14 the VM writes it last.
    fn final_length(&mut self) -> io::Result<u32> {
        while !self.growth.is_finished() {
            self.growth.wait();
        }
        let mut length = [0; 4];
        self.file.read_exact_at(&mut length, self.offset + 5)?;
        Ok(u32::from_be_bytes(length))
    }

    fn heap(&mut self, length: u64, visitor: &mut dyn Visitor) -> Result<(), DumpError> {
        let mut left = length;
        let mut needed = 1;
        while left > 0 {
            if !self.fill(needed)? {
                return Err(DumpError::Unfinished(self.offset));
            }
            let window = (self.end - self.start).min(usize::try_from(left).unwrap_or(usize::MAX));
            let offset = self.offset;
            let bytes = &mut self.buffer[self.start..self.start + window];
            let done = visitor.sub_records(bytes, offset)?;
            if done > 0 {
                self.skip(done);
                left -= done as u64;
                needed = 1;
                continue;
            }
            let window = &self.buffer[self.start..self.start + window];
            if let Some((head, elements)) = primitive_array::large(window, BUFFER / 2) {
                let whole = head.len() as u64 + elements;
                if whole > left {
                    return Err(too_long(offset, head[0], whole, left));
                }
                self.large_array(&head, elements, visitor)?;
                left -= whole;
                needed = 1;
            } else {
                needed = self.missing(left, offset)?;
            }
        }
        Ok(())
    }

    /// How many bytes to have at once for the sub-record that the buffer cuts off.
    fn missing(&self, left: u64, offset: u64) -> Result<usize, DumpError> {
        let unread = self.end - self.start;
        let bytes = &self.unread()[..unread.min(usize::try_from(left).unwrap_or(usize::MAX))];
        match SubRecords::new(bytes, IdSize::Eight, offset).next() {
            Some(Err(Damage::SubRecordBody { expected, tag, .. })) if expected > left => {
                Err(too_long(offset, tag, expected, left))
            }
            Some(Err(Damage::SubRecordBody { expected, .. })) => {
                // A class is decoded list by list, so `expected` may be one list's end only.
                Ok(usize::try_from(expected)
                    .unwrap_or(usize::MAX)
                    .max(unread + 1))
            }
            Some(Err(damage)) => Err(damage.into()),
            // The visitor refused what can be decoded.
            _ => Err(DumpError::Unfinished(offset)),
        }
    }

    fn large_array(
        &mut self,
        head: &[u8; primitive_array::HEAD],
        elements: u64,
        visitor: &mut dyn Visitor,
    ) -> Result<(), DumpError> {
        let offset = self.offset;
        self.skip(head.len());
        let mut rest = Elements {
            reader: self,
            left: elements,
        };
        visitor.large_array(head, &mut rest, offset)?;
        let unread = rest.left;
        self.pass_over(unread)
    }

    fn unread(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    fn skip(&mut self, length: usize) {
        self.start += length;
        self.offset += length as u64;
    }

    /// Passes over bytes that may not be in the buffer.
    fn pass_over(&mut self, length: u64) -> Result<(), DumpError> {
        let buffered = (self.end - self.start).min(usize::try_from(length).unwrap_or(usize::MAX));
        self.skip(buffered);
        let rest = length - buffered as u64;
        // Beyond what is written yet this is no error; the next read waits.
        self.file
            .seek_relative(i64::try_from(rest).unwrap_or(i64::MAX))?;
        self.offset += rest;
        Ok(())
    }

    /// Reads until `length` bytes are unread, or the file ends; true if they are.
    fn fill(&mut self, length: usize) -> io::Result<bool> {
        while self.end - self.start < length && !self.is_at_end {
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            if self.buffer.len() < length {
                // A damaged length must not make us ask for memory that the file cannot fill.
                let more = (2 * self.buffer.len()).min(length.max(BUFFER));
                if self.end == self.buffer.len() {
                    self.buffer.resize(more, 0);
                }
            }
            // Asked before the reading: what was written last is then read.
            let is_finished = self.growth.is_finished();
            if let Some(parts) = &mut self.parts {
                parts.look();
            }
            match self.file.read(&mut self.buffer[self.end..]) {
                Ok(0) if is_finished => self.is_at_end = true,
                Ok(0) => self.growth.wait(),
                Ok(found) => self.end += found,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            self.free();
        }
        Ok(self.end - self.start >= length)
    }

    fn free(&mut self) {
        let read = self.offset - self.freed;
        if !self.frees || read < SMALL_FREE_STEP {
            return;
        }
        let has_room = || holes::free_bytes(&self.file).is_ok_and(|free| free >= LITTLE_ROOM);
        if read < FREE_STEP && has_room() {
            return;
        }
        let (from, to) = (self.freed, self.offset / 4096 * 4096);
        // A file system without holes fails here, and the space is freed with the file.
        self.frees = holes::punch(&self.file, from..to).is_ok();
        self.freed = to;
    }
}

/// Returns true if records of this tag come after all names and stacks.
fn is_heap(tag: u8) -> bool {
    use tags::record::{HEAP_DUMP, HEAP_DUMP_END, HEAP_DUMP_SEGMENT};
    matches!(tag, HEAP_DUMP | HEAP_DUMP_SEGMENT | HEAP_DUMP_END)
}

fn too_long(offset: u64, tag: u8, expected: u64, found: u64) -> DumpError {
    Damage::SubRecordBody {
        offset,
        tag,
        expected,
        lost: found,
    }
    .into()
}

/// The elements of a large array.
struct Elements<'a, 'b> {
    reader: &'a mut DumpReader<'b>,
    left: u64,
}

impl Read for Elements<'_, '_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 || out.is_empty() {
            return Ok(0);
        }
        if !self.reader.fill(1)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let unread = self.reader.unread();
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let length = unread.len().min(out.len()).min(most);
        out[..length].copy_from_slice(&unread[..length]);
        self.reader.skip(length);
        self.left -= length as u64;
        Ok(length)
    }
}

#[cfg(test)]
mod tests;
