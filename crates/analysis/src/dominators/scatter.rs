//! Numbers that go where other numbers say, in memory that may be less than they take.

use std::io;
use std::sync::{Mutex, PoisonError};

use zerocopy::{FromBytes, IntoBytes};

use super::pairs::Pairs;
use crate::gate;
use crate::graph::{Cell, Number, Store};
use crate::parallel;

/// Numbers in one task.
const TASK: usize = 1 << 17;
/// A range has `1 << RANGE_SHIFT` places, whose numbers take 16 or 32 megabytes. Tests use short ranges, so that they have several.
pub(super) const RANGE_SHIFT: u32 = if cfg!(test) { 3 } else { 22 };

/// Puts `value(n)` at `place(n)` of an array for each n below `count`, on several threads; no place is given twice, and
/// nothing is put at [`Number::NONE`].
///
/// # Errors
/// If the store has no room.
pub(super) fn scatter<N: Number, S: Cell>(
    array: &mut [S],
    count: usize,
    store: &Store,
    threads: usize,
    place: impl Fn(usize) -> N + Sync,
    value: impl Fn(usize) -> N + Sync,
) -> io::Result<()> {
    if !store.has_room_for(size_of_val(array)) {
        return by_ranges(array, count, store, threads, RANGE_SHIFT, place, value);
    }
    let cells = <[S::Atomic]>::mut_from_bytes(array.as_mut_bytes());
    let cells: &[S::Atomic] = cells.map_or(&[], |cells| cells);
    parallel::run(threads, count.div_ceil(TASK), |tasks| {
        for number in tasks.flat_map(|task| numbers(task, count)) {
            gate::pass();
            let place = place(number);
            if place != N::NONE {
                S::store(&cells[place.get()], S::of(value(number).get()));
            }
        }
    });
    Ok(())
}

/// The numbers of a task.
fn numbers(task: usize, count: usize) -> std::ops::Range<usize> {
    TASK * task..count.min(TASK * (task + 1))
}

/// Sorts by ranges of places first, so that only one range at a time is touched here and there: more
/// would not stay in limited memory, and each number would bring a page back.
fn by_ranges<N: Number, S: Cell>(
    array: &mut [S],
    count: usize,
    store: &Store,
    threads: usize,
    shift: u32,
    place: impl Fn(usize) -> N + Sync,
    value: impl Fn(usize) -> N + Sync,
) -> io::Result<()> {
    let parts = parallel::run(threads, count.div_ceil(TASK), |tasks| {
        let mut ranges = Ranges::new(array.len(), shift);
        for number in tasks.flat_map(|task| numbers(task, count)) {
            gate::pass();
            let place = place(number);
            if place != N::NONE {
                ranges.push(store, place, value(number))?;
            }
        }
        Ok(ranges)
    });
    let ranges = Ranges::joined(parts)?;
    let parts = array.chunks_mut(1 << shift).zip(ranges);
    let parts: Vec<_> = parts.map(|part| Mutex::new(Some(part))).collect();
    parallel::run(threads, parts.len(), |tasks| {
        for task in tasks {
            let mut part = parts[task].lock().unwrap_or_else(PoisonError::into_inner);
            // What was put there goes with the pairs.
            let Some((numbers, pairs)) = part.take() else {
                continue;
            };
            for [place, value] in pairs.iter() {
                gate::pass();
                numbers[place.get() - (task << shift)] = S::of(value.get());
            }
        }
    });
    Ok(())
}

/// Pairs by the range of their first number, for work on one range after the other.
pub(super) struct Ranges<N> {
    pairs: Vec<Pairs<N>>,
    shift: u32,
}

impl<N: Number> Ranges<N> {
    /// No pairs, whose first numbers will be below `count`. Each range has `1 << shift` of them.
    pub fn new(count: usize, shift: u32) -> Self {
        let mut pairs = Vec::new();
        pairs.resize_with(count.div_ceil(1 << shift), Pairs::new);
        Self { pairs, shift }
    }

    /// Adds a pair.
    ///
    /// # Errors
    /// If the store has no room.
    #[inline(always)]
    pub fn push(&mut self, store: &Store, first: N, second: N) -> io::Result<()> {
        self.pairs[first.get() >> self.shift].push(store, [first, second])
    }

    /// The pairs of several threads, by range.
    ///
    /// # Errors
    /// The first error of a thread.
    pub fn joined(parts: Vec<io::Result<Self>>) -> io::Result<Vec<Pairs<N>>> {
        let mut all: Vec<Pairs<N>> = Vec::new();
        for part in parts {
            let part = part?.pairs;
            all.resize_with(all.len().max(part.len()), Pairs::new);
            for (all, more) in all.iter_mut().zip(part) {
                all.append(more);
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_put_each_number_in_its_place() {
        // 7 and 1,000 have no common divisor, so each place comes once; every fifth number goes nowhere.
        let place = |number: usize| match number % 5 {
            0 => u32::NONE,
            _ => (number * 7 % 1000) as u32,
        };
        let value = |number: usize| number as u32 + 1;
        let mut wanted = vec![0u64; 1000];
        for number in (0..900).filter(|number| number % 5 != 0) {
            wanted[number * 7 % 1000] = number as u64 + 1;
        }
        let store = Store::memory();
        let mut at_once = vec![0u64; 1000];
        scatter(&mut at_once, 900, &store, 2, place, value).unwrap();
        assert_eq!(at_once, wanted);
        let mut ranges = vec![0u64; 1000];
        by_ranges(&mut ranges, 900, &store, 2, 6, place, value).unwrap();
        assert_eq!(ranges, wanted);
    }
}
