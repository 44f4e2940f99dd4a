//! Iterates over the sub-records of a heap dump.

use super::body::IdSize;
use super::sub_record::{Stop, SubRecord, decode, decode_sized};
use crate::reader::Damage;
use crate::reader::resync::{self, Search, find_sub_records};

/// The sub-records of a heap dump or segment.
///
/// Iterates over them and over [`Damage`]. As sub-records have no length, nothing tells where the
/// one after a damaged one begins; those of a [`Reader`](crate::reader::Reader) continue at the next
/// place that looks sound, those made with [`SubRecords::new`] end with the first damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubRecords<'a> {
    rest: &'a [u8],
    offset: u64,
    /// The bytes that the file lacks; [`OPEN_ENDED`] if unknown.
    missing: u64,
    id_size: IdSize,
    recovers: bool,
}

/// Stands for a dump without a length, which the end of the file ends.
pub(crate) const OPEN_ENDED: u64 = u64::MAX;

impl<'a> SubRecords<'a> {
    /// The sub-records in `bytes`, which start at byte `offset` of the file.
    pub fn new(bytes: &'a [u8], id_size: IdSize, offset: u64) -> Self {
        Self {
            rest: bytes,
            offset,
            missing: 0,
            id_size,
            recovers: false,
        }
    }

    /// Tells that these are all sub-records of a segment, of which the file lacks the last
    /// `missing` bytes. They continue after damage then.
    pub(crate) fn of_segment(self, missing: u64) -> Self {
        Self {
            missing,
            recovers: true,
            ..self
        }
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

    /// Guesses where a sub-record starts, at or after byte `offset` of the file and less than
    /// `within` bytes away. The guess may be wrong: a caller that reads the sub-records before it
    /// has to check whether they end there.
    pub fn guess_start(&self, offset: u64, within: usize) -> Option<u64> {
        let from = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        let rest = self.rest.get(from..)?;
        let part = &rest[..rest.len().min(within.saturating_add(resync::LOOK))];
        match find_sub_records(part, self.id_size, part.len() == rest.len()) {
            Search::Found(at) => Some(offset + at as u64),
            Search::NotBelow(_) => None,
        }
    }

    /// The sub-records from byte `offset` of the file on, where one starts; none if that is
    /// outside.
    #[must_use]
    pub fn starting_at(&self, offset: u64) -> Self {
        let from = offset
            .saturating_sub(self.offset)
            .min(self.rest.len() as u64);
        Self {
            rest: &self.rest[from as usize..],
            offset: self.offset + from,
            ..*self
        }
    }

    #[cold]
    fn stop(&mut self, stop: Stop) -> Damage {
        let (offset, tag) = (self.offset, self.rest.first().copied().unwrap_or(0));
        let lost = self.skipped(stop);
        self.rest = &self.rest[lost..];
        self.offset += lost as u64;
        if self.rest.is_empty() {
            self.missing = 0;
        }
        damage_of(stop, offset, tag, lost as u64)
    }

    /// The bytes to the next place at which reading can continue.
    fn skipped(&self, stop: Stop) -> usize {
        let all = self.rest.len();
        let there = (all as u64).saturating_add(self.missing);
        // A sub-record that the end of the file cuts is the last.
        let is_cut = matches!(stop, Stop::Incomplete { needed } if needed <= there);
        if !self.recovers || is_cut || all == 0 {
            return all;
        }
        match find_sub_records(&self.rest[1..], self.id_size, true) {
            Search::Found(at) => 1 + at,
            Search::NotBelow(_) => all,
        }
    }

    #[cold]
    fn end(&mut self) -> Option<Damage> {
        let missing = std::mem::take(&mut self.missing);
        (missing > 0 && missing != OPEN_ENDED).then_some(Damage::SegmentCut {
            offset: self.offset,
            missing,
        })
    }
}

/// The report about an undecodable sub-record because of which `lost` bytes are skipped.
pub(crate) fn damage_of(stop: Stop, offset: u64, tag: u8, lost: u64) -> Damage {
    match stop {
        Stop::Incomplete { needed } => Damage::SubRecordBody {
            offset,
            tag,
            expected: needed,
            lost,
        },
        Stop::Tag(tag) => Damage::SubRecordTag { offset, tag, lost },
        Stop::Type(code) => Damage::Type { offset, code, lost },
    }
}

impl<'a> SubRecords<'a> {
    /// The next one, of a file whose identifiers have `I` bytes, which is 4 or 8 as
    /// [`SubRecords::id_size`] tells. A walk over millions that asks for the width once is faster
    /// than one that looks at it each time.
    #[inline(always)]
    pub fn next_sized<const I: usize>(&mut self) -> Option<Result<SubRecord<'a>, Damage>> {
        if self.rest.is_empty() {
            return self.end().map(Err);
        }
        match decode_sized::<I>(self.rest) {
            Ok((sub, length)) => {
                self.rest = &self.rest[length..];
                self.offset += length as u64;
                Some(Ok(sub))
            }
            Err(stop) => Some(Err(self.stop(stop))),
        }
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
