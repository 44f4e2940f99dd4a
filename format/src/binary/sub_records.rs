//! Iterates over the sub-records of a heap dump.

use super::body::IdSize;
use super::sub_record::{Stop, SubRecord, decode};
use crate::reader::Damage;

/// The sub-records of a heap dump or segment.
///
/// Iterates over them and over at most one [`Damage`], which is always the last item: as
/// sub-records have no length, nothing behind a damaged one can be read. A segment
/// can be searched for the next sound place with [`SubRecords::new`] on a part of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubRecords<'a> {
    rest: &'a [u8],
    offset: u64,
    missing: u64,
    id_size: IdSize,
}

impl<'a> SubRecords<'a> {
    /// The sub-records in `bytes`, which start at byte `offset` of the file.
    pub fn new(bytes: &'a [u8], id_size: IdSize, offset: u64) -> Self {
        Self {
            rest: bytes,
            offset,
            missing: 0,
            id_size,
        }
    }

    /// Tells that the file lacks the last `missing` bytes of the segment.
    pub(crate) fn cut(self, missing: u64) -> Self {
        Self { missing, ..self }
    }

    /// Where in the file the next sub-record starts.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes from the next sub-record on.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The width of identifiers.
    pub fn id_size(&self) -> IdSize {
        self.id_size
    }

    #[cold]
    fn stop(&mut self, stop: Stop) -> Damage {
        let (offset, tag) = (self.offset, self.rest.first().copied().unwrap_or(0));
        let damage = damage_of(stop, offset, tag, self.rest.len() as u64);
        self.offset += self.rest.len() as u64;
        self.rest = &[];
        self.missing = 0;
        damage
    }

    #[cold]
    fn end(&mut self) -> Option<Damage> {
        let missing = std::mem::take(&mut self.missing);
        (missing > 0).then_some(Damage::SegmentCut {
            offset: self.offset,
            missing,
        })
    }
}

/// The report about an undecodable sub-record with `found` bytes to the end of its segment.
pub(crate) fn damage_of(stop: Stop, offset: u64, tag: u8, found: u64) -> Damage {
    match stop {
        Stop::Incomplete { needed } => Damage::SubRecordBody {
            offset,
            tag,
            expected: needed,
            found,
        },
        Stop::Tag(tag) => Damage::SubRecordTag {
            offset,
            tag,
            lost: found,
        },
        Stop::Type(code) => Damage::Type {
            offset,
            code,
            lost: found,
        },
    }
}

impl<'a> Iterator for SubRecords<'a> {
    type Item = Result<SubRecord<'a>, Damage>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return self.end().map(Err);
        }
        match decode(self.rest, self.id_size) {
            Ok((sub, length)) => {
                self.rest = &self.rest[length..];
                self.offset += length as u64;
                Some(Ok(sub))
            }
            Err(stop) => Some(Err(self.stop(stop))),
        }
    }
}

impl std::iter::FusedIterator for SubRecords<'_> {}
