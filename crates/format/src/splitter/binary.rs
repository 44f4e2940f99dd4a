//! The binary format.

use super::sub_record::SubRecords;
use super::{Cut, Patch};
use crate::binary::tags::record as tag;
use crate::reader::{FileHeader, HeaderError};

/// The bytes of a record's body that are shown at most.
const KEPT: usize = 4096;
const RECORD_HEAD: usize = 9;

/// A part of a binary profile that has come in as a whole.
#[derive(Debug, PartialEq)]
pub enum BinaryPart<'a> {
    /// The header of the file.
    Header(FileHeader),
    /// A record.
    Record {
        /// Its tag.
        tag: u8,
        /// Microseconds since the creation time in the header, modulo 2^32.
        micros: u32,
        /// The length of its body.
        length: u32,
        /// The body, or its first 4,096 bytes; nothing for heap dumps.
        body: &'a [u8],
    },
}

/// Where in the file the splitter is.
#[derive(Debug)]
enum Place {
    Header,
    RecordHead,
    Body {
        tag: u8,
        micros: u32,
        length: u32,
        left: u32,
    },
    Heap {
        tag: u8,
        micros: u32,
        length: u32,
        left: u32,
        subs: SubRecords,
    },
}

/// Splits a binary profile into records.
#[derive(Debug)]
pub struct BinarySplitter {
    place: Place,
    /// The beginning of what is at hand: header, head or body of a record.
    small: Vec<u8>,
    header: Option<FileHeader>,
    /// The bytes that were pushed.
    offset: u64,
    /// The bytes up to the end of the last whole record.
    whole: u64,
    /// True between a segment of a heap dump and the end of that dump.
    dump_is_open: bool,
    last_micros: u32,
    damaged: u64,
}

impl Default for BinarySplitter {
    fn default() -> Self {
        Self::new()
    }
}

impl BinarySplitter {
    /// At the start of a file.
    #[must_use]
    pub fn new() -> Self {
        Self {
            place: Place::Header,
            small: Vec::new(),
            header: None,
            offset: 0,
            whole: 0,
            dump_is_open: false,
            last_micros: 0,
            damaged: 0,
        }
    }

    /// The header, once it has come.
    #[must_use]
    pub fn header(&self) -> Option<&FileHeader> {
        self.header.as_ref()
    }

    /// The bytes that were pushed.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes up to the end of the last whole record.
    #[must_use]
    pub fn whole(&self) -> u64 {
        self.whole
    }

    /// The heap dumps and segments in which something is no sub-record.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Takes the next bytes, and shows what they complete.
    ///
    /// # Errors
    /// If the file does not begin as it should; nothing else is an error.
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        mut show: impl FnMut(BinaryPart<'_>),
    ) -> Result<(), HeaderError> {
        while !bytes.is_empty() {
            match &mut self.place {
                Place::Header => {
                    bytes = fill(&mut self.small, bytes, FileHeader::LENGTH);
                    self.offset = self.small.len() as u64;
                    if self.small.len() == FileHeader::LENGTH {
                        let header = FileHeader::parse(&self.small)?;
                        self.header = Some(header);
                        self.go_on();
                        show(BinaryPart::Header(header));
                    }
                }
                Place::RecordHead => {
                    let before = self.small.len();
                    bytes = fill(&mut self.small, bytes, RECORD_HEAD);
                    self.offset += (self.small.len() - before) as u64;
                    if self.small.len() == RECORD_HEAD {
                        self.begin_record(&mut show);
                    }
                }
                Place::Body { left, .. } => {
                    let (here, rest) = split(bytes, *left);
                    let kept = here.len().min(KEPT - self.small.len());
                    self.small.extend_from_slice(&here[..kept]);
                    *left -= here.len() as u32;
                    self.offset += here.len() as u64;
                    bytes = rest;
                    self.end_record(&mut show);
                }
                Place::Heap { left, subs, .. } => {
                    let (here, rest) = split(bytes, *left);
                    subs.push(here);
                    *left -= here.len() as u32;
                    self.offset += here.len() as u64;
                    bytes = rest;
                    self.end_record(&mut show);
                }
            }
        }
        Ok(())
    }

    /// The repair if the stream ends here; `None` if the file is complete.
    #[must_use]
    pub fn end(&self) -> Option<Cut> {
        let mut cut = Cut {
            keep: self.whole,
            patch: None,
            append: Vec::new(),
        };
        let mut is_in_segment = self.dump_is_open;
        match &self.place {
            Place::RecordHead if self.small.is_empty() && !self.dump_is_open => return None,
            Place::Heap { tag, subs, .. } if subs.whole() > 0 => {
                let body = self.whole + RECORD_HEAD as u64;
                cut.keep = body + subs.whole();
                cut.patch = Some(Patch {
                    at: body - 4,
                    // Not above the length that the head states.
                    length: u32::try_from(subs.whole()).unwrap_or(u32::MAX),
                });
                is_in_segment |= *tag == tag::HEAP_DUMP_SEGMENT;
            }
            _ => {}
        }
        if is_in_segment {
            cut.append.push(tag::HEAP_DUMP_END);
            cut.append.extend(self.last_micros.to_be_bytes());
            cut.append.extend([0; 4]);
        }
        Some(cut)
    }

    /// A record's head has come.
    fn begin_record(&mut self, show: &mut impl FnMut(BinaryPart<'_>)) {
        let u4 = |at: usize| {
            let four = self.small.get(at..).and_then(|bytes| bytes.first_chunk());
            four.map_or(0, |bytes| u32::from_be_bytes(*bytes))
        };
        let (tag, micros, length) = (self.small[0], u4(1), u4(5));
        self.last_micros = micros;
        self.small.clear();
        let left = length;
        self.place = match (tag, &self.header) {
            (tag::HEAP_DUMP | tag::HEAP_DUMP_SEGMENT, Some(header)) => Place::Heap {
                tag,
                micros,
                length,
                left,
                subs: SubRecords::new(header.id_size),
            },
            _ => Place::Body {
                tag,
                micros,
                length,
                left,
            },
        };
        self.end_record(show);
    }

    /// Shows the present record if it is whole.
    fn end_record(&mut self, show: &mut impl FnMut(BinaryPart<'_>)) {
        let (tag, micros, length) = match &self.place {
            Place::Body {
                tag,
                micros,
                length,
                left: 0,
            } => (*tag, *micros, *length),
            Place::Heap {
                tag,
                micros,
                length,
                left: 0,
                subs,
            } => {
                self.damaged += u64::from(!subs.is_whole());
                (*tag, *micros, *length)
            }
            _ => return,
        };
        match tag {
            tag::HEAP_DUMP_SEGMENT => self.dump_is_open = true,
            tag::HEAP_DUMP_END => self.dump_is_open = false,
            _ => {}
        }
        show(BinaryPart::Record {
            tag,
            micros,
            length,
            body: &self.small,
        });
        self.go_on();
    }

    /// To the next record.
    fn go_on(&mut self) {
        self.whole = self.offset;
        self.small.clear();
        self.place = Place::RecordHead;
    }
}

/// Moves bytes to `small` until that has `length`; returns the rest.
fn fill<'a>(small: &mut Vec<u8>, bytes: &'a [u8], length: usize) -> &'a [u8] {
    let here = (length - small.len()).min(bytes.len());
    let (here, rest) = bytes.split_at(here);
    small.extend_from_slice(here);
    rest
}

fn split(bytes: &[u8], left: u32) -> (&[u8], &[u8]) {
    let here = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    bytes.split_at(here)
}
