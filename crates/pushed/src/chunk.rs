//! An hour of a series in a segment: its rows, and sums of them for questions about longer times.
//!
//! A question about a week needs neither seconds nor, where it is about values over time, stacks. So a segment has
//! each hour up to three times: its rows, the sums of its stacks, and the sums of its times. An hour that lies wholly
//! within a window counts by its sums; one that the window cuts counts by its rows. Answers are the same to the last unit.

use std::io;

use serde::{Deserialize, Serialize};

use crate::batch::At;
use crate::numbers::{Numbers, damaged, put};
use crate::tree::ROOT;

/// The seconds of a chunk: it ends with its hour.
pub(super) const HOUR: u32 = 3600;
/// The seconds over which times are summed. Steps of answers by sums are whole minutes.
pub(super) const MINUTE: u32 = 60;
/// Sums are kept where the rows are this many times as many.
const WORTH: usize = 4;

/// The rows that a question needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// All rows.
    Rows,
    /// Stacks and threads, at any time in the window.
    Stacks,
    /// Threads and minutes, at any stack; seconds of a state.
    Times,
}

/// A part of a file.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Block {
    pub at: u64,
    /// Bytes in the file.
    pub packed: u64,
    /// Bytes without compression.
    pub bytes: u64,
}

/// Rows in a file.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Rows {
    /// Their number.
    pub count: u64,
    /// The second that the first one is counted from.
    pub from: u32,
    /// True if a stack is the distance from the one before, where that has its time and thread.
    #[serde(default)]
    pub is_relative: bool,
    pub block: Block,
}

/// The rows of an hour, or of several in segments without sums.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Chunk {
    /// The first second.
    pub from: u32,
    /// The last second.
    pub to: u32,
    /// All rows.
    pub rows: Rows,
    /// The sums of each stack and thread; none where they are hardly fewer than the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stacks: Option<Rows>,
    /// The sums of each minute and thread, of a state those of each second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<Rows>,
}

impl Chunk {
    /// A chunk whose rows have no sums.
    pub(super) fn of_rows(from: u32, to: u32, rows: Rows) -> Self {
        Self {
            from,
            to,
            rows,
            stacks: None,
            times: None,
        }
    }

    /// The fewest rows that have a detail, of a window that the chunk lies in.
    pub(super) fn least(&self, detail: Detail) -> Rows {
        let sums = match detail {
            Detail::Rows => None,
            Detail::Stacks => self.stacks,
            Detail::Times => self.times,
        };
        sums.unwrap_or(self.rows)
    }

    /// Writes rows in their order, and their sums if `has_sums`; those of a state do not add up over time.
    ///
    /// # Errors
    /// If `write` fails.
    pub(super) fn write(
        rows: &[(At, u64)],
        has_sums: bool,
        is_state: bool,
        mut write: impl FnMut(&[u8]) -> io::Result<Block>,
    ) -> io::Result<Self> {
        let mut kept = |rows: &[(At, u64)]| {
            Ok::<_, io::Error>(Rows {
                count: rows.len() as u64,
                from: rows.first().map_or(0, |row| row.0.second),
                is_relative: true,
                block: write(&encoded(rows))?,
            })
        };
        let second = |row: Option<&(At, u64)>| row.map_or(0, |row| row.0.second);
        let mut chunk = Self::of_rows(second(rows.first()), second(rows.last()), kept(rows)?);
        if has_sums {
            let mut worth = |sums: Vec<(At, u64)>| match sums.len() * WORTH <= rows.len() {
                true => kept(&sums).map(Some),
                false => Ok(None),
            };
            if !is_state {
                let second = chunk.from;
                chunk.stacks = worth(sums(rows, |at| At { second, ..at }))?;
            }
            let step = if is_state { 1 } else { MINUTE };
            chunk.times = worth(sums(rows, |at| At {
                second: at.second / step * step,
                node: ROOT,
                ..at
            }))?;
        }
        Ok(chunk)
    }
}

/// Parts of sorted rows, each of one hour.
pub(super) fn hours(rows: &[(At, u64)]) -> impl Iterator<Item = &[(At, u64)]> {
    rows.chunk_by(|a, b| a.0.second / HOUR == b.0.second / HOUR)
}

fn sums(rows: &[(At, u64)], place: impl Fn(At) -> At) -> Vec<(At, u64)> {
    let mut sums: Vec<(At, u64)> = rows
        .iter()
        .map(|(at, value)| (place(*at), *value))
        .collect();
    join(&mut sums);
    sums
}

/// Sorts rows, and makes one of those that are at one place.
pub(super) fn join(rows: &mut Vec<(At, u64)>) {
    rows.sort_unstable_by_key(|row| row.0);
    rows.dedup_by(|next, row| {
        let is_same = next.0 == row.0;
        if is_same {
            row.1 = row.1.saturating_add(next.1);
        }
        is_same
    });
}

/// The number that a row's stack is counted from. Rows are sorted.
fn base(before: Option<At>, at: At) -> u32 {
    let same = before.filter(|before| (before.second, before.thread) == (at.second, at.thread));
    same.map_or(0, |before| before.node)
}

/// Rows as bytes: all times, each as the distance from the one before, then all threads, stacks, and values.
fn encoded(rows: &[(At, u64)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(rows.len() * 5);
    let mut before = rows.first().map_or(0, |row| row.0.second);
    for (at, _) in rows {
        put(&mut bytes, u64::from(at.second - before));
        before = at.second;
    }
    rows.iter()
        .for_each(|(at, _)| put(&mut bytes, at.thread.into()));
    let mut before = None;
    for (at, _) in rows {
        let base = base(before, *at);
        put(&mut bytes, u64::from(at.node - base));
        before = Some(*at);
    }
    rows.iter().for_each(|(_, value)| put(&mut bytes, *value));
    bytes
}

/// Rows as bytes of servers before hours had sums: stacks are whole numbers.
#[cfg(test)]
pub(super) fn encoded_as_before(rows: &[(At, u64)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut before = rows.first().map_or(0, |row| row.0.second);
    for (at, _) in rows {
        put(&mut bytes, u64::from(at.second - before));
        before = at.second;
    }
    for part in [|at: At| at.thread, |at: At| at.node] {
        rows.iter()
            .for_each(|(at, _)| put(&mut bytes, part(*at).into()));
    }
    rows.iter().for_each(|(_, value)| put(&mut bytes, *value));
    bytes
}

/// Adds rows that [`encoded`] made to others.
///
/// # Errors
/// If the bytes are too few.
pub(super) fn decode(rows: Rows, bytes: &[u8], all: &mut Vec<(At, u64)>) -> io::Result<()> {
    let mut numbers = Numbers(bytes);
    let count = usize::try_from(rows.count).map_err(|_| damaged())?;
    if count > bytes.len() {
        return Err(damaged());
    }
    let first = all.len();
    all.reserve(count);
    let mut second = rows.from;
    for _ in 0..count {
        second = second.checked_add(numbers.small()?).ok_or_else(damaged)?;
        let at = At {
            second,
            thread: 0,
            node: ROOT,
        };
        all.push((at, 0));
    }
    let new = all.get_mut(first..).unwrap_or_default();
    for row in &mut *new {
        row.0.thread = numbers.small()?;
    }
    let mut before = None;
    for (at, _) in &mut *new {
        let base = if rows.is_relative {
            base(before, *at)
        } else {
            0
        };
        let node = numbers.small()?.checked_add(base);
        at.node = node.ok_or_else(damaged)?;
        before = Some(*at);
    }
    for row in new {
        row.1 = numbers.next()?;
    }
    Ok(())
}
