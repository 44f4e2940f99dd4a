//! The bytes that threads have allocated, by their own counters.
//!
//! A concurrent collector's events tell the heap before and after a cycle. The allocation of the program during the
//! cycle is in neither, which is most of it where cycles follow each other closely. The counters of threads
//! (`jdk.ThreadAllocationStatistics`) have it, at the begin and end of each chunk; those of threads that end in between
//! are lost.

use std::collections::BTreeMap;

use crate::event::Nanos;

/// Threads of which counters are kept; those of others are not counted.
const MAX_THREADS: usize = 1 << 17;

/// The counters.
#[derive(Debug, Default)]
pub(super) struct Allocation {
    /// The latest counter of each thread.
    threads: BTreeMap<u64, u64>,
    sum: u64,
    first: Option<i64>,
    last: i64,
}

impl Allocation {
    /// Takes the counter of a thread.
    pub(super) fn take(&mut self, thread: u64, at: i64, bytes: u64) {
        let first = *self.first.get_or_insert(at);
        let is_at_the_begin = at.abs_diff(first) < 100_000_000;
        self.first = Some(first.min(at));
        self.last = self.last.max(at);
        let has_room = self.threads.len() < MAX_THREADS;
        match self.threads.get_mut(&thread) {
            Some(latest) => {
                // The number of a thread of another JVM, or events out of order.
                self.sum = self.sum.saturating_add(bytes.saturating_sub(*latest));
                *latest = (*latest).max(bytes);
            }
            None if has_room => {
                self.threads.insert(thread, bytes);
                // Its allocation before the recording is no part of the sum.
                if !is_at_the_begin {
                    self.sum = self.sum.saturating_add(bytes);
                }
            }
            None => {}
        }
    }

    /// The bytes, and the time between the first and the last counters; none without both.
    pub(super) fn sum(&self) -> Option<(u64, Nanos)> {
        let time = self.last.abs_diff(self.first?);
        (time > 0).then_some((self.sum, Nanos(time)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn counters_count_from_the_begin_of_the_recording() {
        let mut it = Allocation::default();
        assert_eq!(it.sum(), None);
        it.take(1, 0, 1_000);
        it.take(2, 1_000, 50);
        assert_eq!(it.sum(), Some((0, Nanos(1_000))));
        it.take(1, SECOND, 1_500);
        // One that began since.
        it.take(3, SECOND, 300);
        it.take(1, 2 * SECOND, 1_600);
        assert_eq!(it.sum(), Some((500 + 300 + 100, Nanos(2_000_000_000))));
    }

    #[test]
    fn a_counter_that_goes_back_takes_nothing_away() {
        let mut it = Allocation::default();
        it.take(1, 0, 1_000);
        it.take(1, SECOND, 10);
        it.take(1, 2 * SECOND, 1_100);
        assert_eq!(it.sum().map(|(bytes, _)| bytes), Some(100));
    }
}
