//! Counts one large segment on several threads.
//!
//! JDK 11 writes a whole heap as one segment. Sub-records have no length, so where one starts in
//! the middle of a segment can only be guessed. A piece that was counted from a guessed start is
//! used if the pieces before it turn out to end there; else it is thrown away and counted again
//! from the right place. So a wrong guess costs time and nothing else.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hprof_format::binary::SubRecords;

use super::DamageLog;
use super::counting::Counting;
use crate::heap::Census;

/// How far a start is searched for.
const SEARCHED: usize = 1 << 20;

/// The counts from one place of a segment to another.
pub(super) struct Piece {
    start: u64,
    /// The start of the first sub-record after it.
    end: u64,
    pub census: Census,
    pub damage: DamageLog,
}

/// The pieces of a segment.
pub(super) struct Chain<'a> {
    segment: SubRecords<'a>,
    /// Where each piece begins in any case; its start is guessed from there on.
    marks: Vec<u64>,
    /// Where the segment ends, or the file that lacks the rest of it.
    end: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// All pieces up to `next`, in one.
    whole: Option<Piece>,
    /// The number of the first piece that is not part of the whole.
    next: usize,
    /// Pieces that came before those in front of them; empty ones had no start.
    waiting: BTreeMap<usize, Option<Piece>>,
}

impl<'a> Chain<'a> {
    /// Divides a segment into pieces of `piece_bytes` bytes.
    pub fn new(segment: SubRecords<'a>, piece_bytes: u64) -> Self {
        let end = segment.offset() + segment.rest().len() as u64;
        let step = usize::try_from(piece_bytes).unwrap_or(usize::MAX).max(1);
        let marks = (segment.offset()..end).step_by(step).collect();
        Self {
            segment,
            marks,
            end,
            state: Mutex::default(),
        }
    }

    /// The number of pieces.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    fn limit(&self, number: usize) -> u64 {
        self.marks.get(number + 1).copied().unwrap_or(u64::MAX)
    }

    /// Counts a piece, and puts together what can be.
    pub fn count(&self, number: usize, counting: &Counting<'_>) {
        let mark = self.marks[number];
        let start = match number {
            0 => Some(mark),
            _ => self.segment.guess_start(mark, SEARCHED),
        };
        let piece = start.map(|start| self.piece(start, number, counting));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.insert(number, piece);
        loop {
            let next = state.next;
            let Some(piece) = state.waiting.remove(&next) else {
                return;
            };
            let whole = state.whole.take();
            state.whole = Some(self.join(whole, piece, next, counting));
            state.next += 1;
        }
    }

    fn piece(&self, start: u64, number: usize, counting: &Counting<'_>) -> Piece {
        let mut census = counting.new_census();
        let mut damage = DamageLog::default();
        let from = self.segment.starting_at(start);
        let end = counting.count_up_to(from, self.limit(number), &mut census, &mut damage);
        Piece {
            start,
            end,
            census,
            damage,
        }
    }

    fn join(
        &self,
        whole: Option<Piece>,
        piece: Option<Piece>,
        number: usize,
        counting: &Counting<'_>,
    ) -> Piece {
        let Some(mut whole) = whole else {
            return piece.unwrap_or_else(|| self.piece(self.segment.offset(), number, counting));
        };
        let piece = match piece {
            Some(piece) if piece.start == whole.end => piece,
            // One sub-record covers all of it, or nothing after a damaged one could be read. What
            // the segment lacks was reported with that.
            _ if whole.end >= self.limit(number).min(self.end) => return whole,
            _ => self.piece(whole.end, number, counting),
        };
        whole.end = piece.end;
        whole.census.merge(piece.census);
        whole.damage.merge(piece.damage);
        whole
    }

    /// All pieces in one, `None` if none was counted.
    pub fn into_whole(self) -> Option<Piece> {
        let state = self.state.into_inner();
        state.unwrap_or_else(PoisonError::into_inner).whole
    }
}
