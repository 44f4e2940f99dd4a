//! Finds the ends of sub-records in a heap dump that comes in pieces.

use crate::binary::tags::heap as tag;
use crate::binary::{IdSize, Stop, decode_sub_record, fixed_length, width_of_type};

/// The longest fixed part: that of a class dump, up to the number of its constants.
const MAX_HEAD: usize = 1 + 7 * 8 + 10;

/// The place within a sub-record that came in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Before the tag.
    Start,
    /// Behind the tag, in the part of fixed length.
    Fixed,
    /// In the list of constants of a class, with this many left.
    Constants(u16),
    /// In the list of static fields.
    Statics(u16),
    /// In the list of instance fields.
    Fields(u16),
}

/// Walks over the sub-records of one heap dump or segment.
#[derive(Debug)]
pub(super) struct SubRecords {
    id: usize,
    id_size: IdSize,
    step: Step,
    /// The bytes of the present step that have come.
    small: [u8; MAX_HEAD],
    filled: usize,
    /// Bytes to pass over before the next step.
    skip: u64,
    /// The bytes seen.
    seen: u64,
    /// The bytes up to the end of the last whole sub-record.
    whole: u64,
    /// True after something that is no sub-record: no end can be found any more.
    is_broken: bool,
}

impl SubRecords {
    pub(super) fn new(id_size: IdSize) -> Self {
        Self {
            id: id_size.bytes(),
            id_size,
            step: Step::Start,
            small: [0; MAX_HEAD],
            filled: 0,
            skip: 0,
            seen: 0,
            whole: 0,
            is_broken: false,
        }
    }

    /// The bytes up to the end of the last whole sub-record.
    pub(super) fn whole(&self) -> u64 {
        self.whole
    }

    /// True if what was pushed ends with a sub-record.
    pub(super) fn is_whole(&self) -> bool {
        self.whole == self.seen
    }

    /// Takes the next bytes of the dump.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.is_broken {
                self.seen += bytes.len() as u64;
                return;
            }
            if self.is_whole() {
                bytes = self.pass_whole_ones(bytes);
            }
            bytes = self.pass_piece(bytes);
        }
    }

    /// Passes over the sub-records that lie in `bytes` as a whole; nearly all do.
    fn pass_whole_ones<'a>(&mut self, mut bytes: &'a [u8]) -> &'a [u8] {
        loop {
            match decode_sub_record(bytes, self.id_size) {
                Ok((_, length)) => {
                    bytes = &bytes[length..];
                    self.seen += length as u64;
                    self.whole = self.seen;
                }
                Err(Stop::Incomplete { .. }) => return bytes,
                Err(Stop::Tag(_) | Stop::Type(_)) => {
                    self.is_broken = true;
                    self.seen += bytes.len() as u64;
                    return &[];
                }
            }
        }
    }

    /// Takes a part of a sub-record that came in several pieces; returns the rest.
    fn pass_piece<'a>(&mut self, mut bytes: &'a [u8]) -> &'a [u8] {
        while !bytes.is_empty() && !self.is_broken {
            if self.skip > 0 {
                let here =
                    usize::try_from(self.skip).map_or(bytes.len(), |skip| skip.min(bytes.len()));
                bytes = &bytes[here..];
                self.seen += here as u64;
                self.skip -= here as u64;
            } else {
                let missing = self.needed() - self.filled;
                let here = missing.min(bytes.len());
                self.small[self.filled..self.filled + here].copy_from_slice(&bytes[..here]);
                self.filled += here;
                self.seen += here as u64;
                bytes = &bytes[here..];
                if here < missing {
                    return bytes;
                }
                let next = self.next_step();
                self.is_broken = next.is_none();
                self.step = next.unwrap_or(Step::Start);
                if self.step != Step::Fixed {
                    self.filled = 0;
                }
            }
            if self.skip == 0 && self.step == Step::Start && self.filled == 0 && !self.is_broken {
                self.whole = self.seen;
                return bytes;
            }
        }
        bytes
    }

    /// The bytes that the present step consists of.
    fn needed(&self) -> usize {
        match self.step {
            Step::Start => 1,
            Step::Fixed => 1 + fixed_length(self.small[0], self.id_size).unwrap_or(0),
            // The number of elements of the next list.
            Step::Constants(0) | Step::Statics(0) => 2,
            Step::Constants(_) => 3,
            Step::Statics(_) | Step::Fields(_) => self.id + 1,
        }
    }

    /// The step after the present one, whose bytes are complete; `None` if the bytes are invalid.
    fn next_step(&mut self) -> Option<Step> {
        let (id, small) = (self.id, &self.small);
        let u2 = |at: usize| u16::from_be_bytes([small[at], small[at + 1]]);
        let u4 = |at: usize| {
            u64::from(u32::from_be_bytes([
                small[at],
                small[at + 1],
                small[at + 2],
                small[at + 3],
            ]))
        };
        let width = |code: u8| width_of_type(code, self.id_size).map(|width| width as u64);
        let (next, skip) = match self.step {
            Step::Start => (
                fixed_length(small[0], self.id_size).map(|_| Step::Fixed)?,
                0,
            ),
            Step::Fixed => match small[0] {
                tag::CLASS_DUMP => (Step::Constants(u2(1 + 7 * id + 8)), 0),
                tag::INSTANCE_DUMP => (Step::Start, u4(1 + 2 * id + 4)),
                tag::OBJECT_ARRAY_DUMP => (Step::Start, u4(1 + id + 4) * id as u64),
                tag::PRIMITIVE_ARRAY_DUMP => {
                    (Step::Start, u4(1 + id + 4) * width(small[1 + id + 8])?)
                }
                tag::PRIMITIVE_ARRAY_NO_DATA => {
                    width(small[1 + id + 8])?;
                    (Step::Start, 0)
                }
                _ => (Step::Start, 0),
            },
            Step::Constants(0) => (Step::Statics(u2(0)), 0),
            Step::Constants(left) => (Step::Constants(left - 1), width(small[2])?),
            Step::Statics(0) => (fields_left(u2(0)), 0),
            Step::Statics(left) => (Step::Statics(left - 1), width(small[id])?),
            Step::Fields(left) => {
                width(small[id])?;
                (fields_left(left - 1), 0)
            }
        };
        self.skip = skip;
        Some(next)
    }
}

fn fields_left(count: u16) -> Step {
    match count {
        0 => Step::Start,
        left => Step::Fields(left),
    }
}
