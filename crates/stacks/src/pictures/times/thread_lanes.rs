//! Lanes of threads, packed for the script of a page.
//!
//! ```text
//! the stretches of each lane      start since the one before (zigzag), length, number of the reason
//! ```
//!
//! The reasons of stretches are a list, as few differ. Of very many stretches, those shorter than a cell are put together:
//! each state has in a cell the time that it had before.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{NANOS_PER_MICRO, Stream};
use crate::ThreadState;
use crate::lanes::{Lane, LaneSource, Lanes, Reason};

/// Lanes that a page has, at most: the first ones.
const MAX_LANES: usize = 300;
/// Stretches of all lanes, at most.
const MAX_STRETCHES: usize = 400_000;
/// The shortest cell in microseconds.
const CELL: i64 = 1_000;

/// The packed lanes.
#[derive(Debug, Serialize)]
pub(super) struct ThreadLanes {
    source: &'static str,
    /// Name, number of threads, number of stretches.
    lanes: Vec<(String, usize, usize)>,
    texts: Vec<String>,
    /// State, and the texts of method, lock and owner.
    reasons: Vec<(u8, u32, u32, u32)>,
    data: String,
    /// Stretches shorter than this many microseconds are put together; 0 for none.
    cell: i64,
    /// Threads without a lane.
    left_out: usize,
}

/// A stretch in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    from: i64,
    length: i64,
    state: ThreadState,
    reason: Reason,
}

impl ThreadLanes {
    /// Lanes with times since `from`, in microseconds since 1970-01-01 UTC.
    pub(super) fn of(lanes: &Lanes, from: i64) -> Self {
        let micros = |nanos: i64| {
            // To the nearest: spans end a nanosecond before the next.
            let nearest = nanos.saturating_add(NANOS_PER_MICRO / 2);
            nearest.div_euclid(NANOS_PER_MICRO).saturating_sub(from)
        };
        let shown = lanes.lanes.iter().take(MAX_LANES);
        let mut pieces: Vec<Vec<Piece>> = shown
            .map(|lane: &Lane| {
                let all = lane.stretches.iter().map(|it| Piece {
                    from: micros(it.time.from),
                    length: micros(it.time.to)
                        .saturating_sub(micros(it.time.from))
                        .max(1),
                    state: it.state,
                    reason: it.reason,
                });
                all.collect()
            })
            .collect();
        let mut cell = 0;
        let size = |pieces: &[Vec<Piece>]| pieces.iter().map(Vec::len).sum::<usize>();
        while size(&pieces) > MAX_STRETCHES {
            cell = if cell == 0 { CELL } else { cell * 2 };
            for lane in &mut pieces {
                *lane = coarser(lane, cell);
            }
        }
        let mut numbers: FxHashMap<(ThreadState, Reason), u64> = FxHashMap::default();
        let mut reasons = Vec::new();
        let mut stream = Stream::default();
        for lane in &pieces {
            let mut before = 0_i64;
            for piece in lane {
                let next = reasons.len() as u64;
                let number = *numbers
                    .entry((piece.state, piece.reason))
                    .or_insert_with(|| {
                        let Reason { method, of, owner } = piece.reason;
                        reasons.push((piece.state.place(), method, of, owner));
                        next
                    });
                let delta = piece.from.wrapping_sub(before);
                before = piece.from;
                stream.number(((delta << 1) ^ (delta >> 63)).cast_unsigned());
                stream.number(piece.length.cast_unsigned());
                stream.number(number);
            }
        }
        let names = lanes.lanes.iter().zip(&pieces);
        let left_out = lanes.lanes.iter().skip(MAX_LANES).map(|lane| lane.threads);
        Self {
            source: match lanes.source {
                LaneSource::Cpu => "cpu",
                LaneSource::Wall => "wall",
                LaneSource::Recording => "recording",
            },
            lanes: names
                .map(|(lane, pieces)| (lane.name.clone(), lane.threads, pieces.len()))
                .collect(),
            texts: lanes.texts.clone(),
            reasons,
            data: stream.packed(),
            cell,
            left_out: left_out.sum(),
        }
    }
}

/// Puts pieces shorter than a cell together: one piece for each state of a cell, with the reason of the longest.
fn coarser(pieces: &[Piece], cell: i64) -> Vec<Piece> {
    let mut coarse: Vec<Piece> = Vec::new();
    let (short, long): (Vec<&Piece>, Vec<&Piece>) = pieces.iter().partition(|it| it.length < cell);
    for together in short.chunk_by(|a, b| a.from.div_euclid(cell) == b.from.div_euclid(cell)) {
        // The time of each state, and its longest piece.
        let mut states: BTreeMap<ThreadState, (i64, Piece)> = BTreeMap::new();
        for &&piece in together {
            let state = states.entry(piece.state).or_insert((0, piece));
            state.0 += piece.length;
            if piece.length > state.1.length {
                state.1 = piece;
            }
        }
        let mut from = together.first().map_or(0, |it| it.from);
        for (state, (length, longest)) in states {
            let reason = longest.reason;
            coarse.push(Piece {
                from,
                length,
                state,
                reason,
            });
            from = from.saturating_add(length);
        }
    }
    coarse.extend(long);
    coarse.sort_by_key(|it| it.from);
    coarse
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Stretch;
    use crate::timeline::Window;

    #[test]
    fn very_many_stretches_become_fewer_with_the_same_times() {
        let states = [ThreadState::Running, ThreadState::WaitsForLock];
        let stretches = (0..MAX_STRETCHES as i64 + 10).map(|at| Stretch {
            time: Window {
                from: at * 200_000,
                to: at * 200_000 + 100_000,
            },
            state: states[at as usize % 2],
            reason: Reason::default(),
        });
        let lane = Lane {
            name: "one".to_owned(),
            threads: 1,
            stretches: stretches.collect(),
        };
        let lanes = Lanes {
            source: LaneSource::Wall,
            texts: vec![String::new()],
            lanes: vec![lane; 1],
        };
        let packed = ThreadLanes::of(&lanes, 0);
        assert_eq!(packed.cell, CELL);
        let (_, threads, pieces) = &packed.lanes[0];
        assert_eq!((*threads, packed.reasons.len()), (1, 2));
        // Five stretches in a cell become two.
        assert!(*pieces <= MAX_STRETCHES * 2 / 5 + 10, "{pieces}");
    }

    #[test]
    fn a_cell_keeps_the_time_of_each_state() {
        let piece = |from, length, state| Piece {
            from,
            length,
            state,
            reason: Reason::default(),
        };
        let (run, lock) = (ThreadState::Running, ThreadState::WaitsForLock);
        let all = [
            piece(10, 100, run),
            piece(200, 300, lock),
            piece(600, 50, run),
            piece(2_000, 5_000, lock),
        ];
        let coarse = coarser(&all, 1_000);
        let expected = [
            piece(10, 150, run),
            piece(160, 300, lock),
            piece(2_000, 5_000, lock),
        ];
        assert_eq!(coarse, expected);
    }
}
