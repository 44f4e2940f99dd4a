//! Windows: eight bytes in a row, by which contents of two files are compared.

use std::hash::{BuildHasher, RandomState};

/// The bytes of a window.
pub(super) const WINDOW: usize = 8;

/// True for windows that tell nothing: all bytes equal, or two bytes that alternate, as in zeros, in
/// filler, and in filler of UTF-16.
pub(super) fn is_trivial(window: u64) -> bool {
    window.rotate_left(16) == window
}

/// Calls `see` with the place and the bytes, big-endian, of every window of `bytes` from `from` on that
/// tells something.
#[inline]
pub(super) fn each_window(bytes: &[u8], from: usize, mut see: impl FnMut(usize, u64)) {
    let mut window = 0u64;
    for (at, &byte) in bytes.iter().enumerate().skip(from) {
        window = window << 8 | u64::from(byte);
        if at + 1 >= from + WINDOW && !is_trivial(window) {
            see(at + 1 - WINDOW, window);
        }
    }
}

/// A set of windows with a mark for each, of bounded size.
///
/// The whole window is the key, so whatever the set says of a window is true of its bytes.
#[derive(Debug)]
pub(super) struct WindowTable {
    /// Zero is no key, as it is trivial.
    keys: Vec<u64>,
    /// A bit per key.
    marks: Vec<u64>,
    filled: usize,
    max_slots: usize,
    /// An odd random number, so that no author of a file can make its windows collide.
    factor: u64,
}

/// The slots of a new table.
const MIN_SLOTS: usize = 1 << 12;
/// The bytes of memory for each slot: a key, a bit, and the old table while a table grows.
const SLOT_BYTES: u64 = 13;

impl WindowTable {
    /// An empty table that takes up to `memory` bytes, but never so few that a chunk does not fit.
    pub fn new(memory: u64, windows_of_chunk: usize) -> Self {
        let enough = (2 * windows_of_chunk).next_power_of_two();
        let slots = usize::try_from(memory / SLOT_BYTES).unwrap_or(usize::MAX);
        // The largest power of two that fits.
        let slots = 1 << slots.max(1).ilog2();
        Self {
            keys: vec![0; MIN_SLOTS],
            marks: vec![0; MIN_SLOTS / 64],
            filled: 0,
            max_slots: slots.max(enough).max(MIN_SLOTS),
            factor: RandomState::new().hash_one(0) | 1,
        }
    }

    /// True if there are no windows.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Adds a window; false if there is no room.
    pub fn insert(&mut self, window: u64) -> bool {
        let slot = self.slot(window);
        if self.keys[slot] == window {
            return true;
        }
        if self.filled * 4 >= self.keys.len() * 3 {
            if self.keys.len() >= self.max_slots {
                return false;
            }
            self.grow();
            return self.insert(window);
        }
        self.keys[slot] = window;
        self.filled += 1;
        true
    }

    /// Marks a window, if it is there.
    pub fn mark(&mut self, window: u64) {
        let slot = self.slot(window);
        if self.keys[slot] == window {
            self.marks[slot / 64] |= 1 << (slot % 64);
        }
    }

    /// True if a window is there and marked.
    pub fn is_marked(&self, window: u64) -> bool {
        let slot = self.slot(window);
        self.keys[slot] == window && self.marks[slot / 64] >> (slot % 64) & 1 == 1
    }

    /// Where a window is, or would be.
    fn slot(&self, window: u64) -> usize {
        let mask = self.keys.len() - 1;
        let mixed = (window ^ window >> 29).wrapping_mul(self.factor);
        let mut slot = (mixed ^ mixed >> 32) as usize & mask;
        while self.keys[slot] != 0 && self.keys[slot] != window {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// Doubles the table. No window has a mark while windows are added.
    fn grow(&mut self) {
        let slots = 2 * self.keys.len();
        let old = std::mem::replace(&mut self.keys, vec![0; slots]);
        self.marks = vec![0; slots / 64];
        for window in old.into_iter().filter(|&window| window != 0) {
            let slot = self.slot(window);
            self.keys[slot] = window;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(bytes: &[u8], from: usize) -> Vec<(usize, u64)> {
        let mut found = Vec::new();
        each_window(bytes, from, |at, window| found.push((at, window)));
        found
    }

    #[test]
    fn windows_that_tell_nothing_are_left_out() {
        assert!(windows(&[0; 100], 0).is_empty());
        assert!(windows(b"****************", 0).is_empty());
        assert!(windows(b"*\0*\0*\0*\0*\0*\0", 0).is_empty());
        assert!(windows(b"seven by", 1).is_empty());
        let found = windows(b"xsecret!!", 1);
        assert_eq!(found, [(1, u64::from_be_bytes(*b"secret!!"))]);
        assert_eq!(windows(b"xsecret!!", 0).len(), 2);
    }

    #[test]
    fn a_table_marks_what_it_has_and_is_bounded() {
        let mut table = WindowTable::new(1 << 20, 1000);
        let mut added = 0;
        while table.insert(added + 1) {
            added += 1;
        }
        assert!(added >= 1000 && added * 13 < 1 << 20, "{added}");
        table.mark(7);
        table.mark(u64::MAX);
        assert!(table.is_marked(7) && !table.is_marked(8) && !table.is_marked(u64::MAX));
        assert!(table.insert(7) && table.is_marked(7));
    }
}
