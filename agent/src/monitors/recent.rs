//! The rows that threads counted in of late, by the keys of their stacks.
//!
//! A thread that waits for the same lock at the same place again needs no stack of
//! the VM then.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::atomic::AtomicCell;

use super::rows::Row;

/// A table of a fixed size. Who reads it writes nothing, so that threads which fight
/// for a lock do not fight for the table as well.
pub struct RecentRows {
    entries: Box<[AtomicCell<Option<Known>>]>,
    wrong: AtomicU64,
    taken: AtomicU64,
}

#[derive(Clone, Copy)]
struct Known {
    key: u64,
    row: &'static Row,
}

thread_local! {
    /// How many stacks were known on this thread.
    static HITS: Cell<u32> = const { Cell::new(0) };
}

/// A power of two.
const ENTRIES: usize = 1 << 12;
/// Re-walk and compare one in this many known stacks; in tests, each.
const CHECKED: u32 = if cfg!(debug_assertions) { 1 } else { 1 << 10 };

impl Default for RecentRows {
    fn default() -> Self {
        Self {
            entries: (0..ENTRIES).map(|_| AtomicCell::new(None)).collect(),
            wrong: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        }
    }
}

impl RecentRows {
    /// The row for a key; `take` takes the stack and finds the row if the key is new.
    #[inline]
    pub fn row(&self, key: u64, take: impl FnOnce() -> &'static Row) -> &'static Row {
        let Some(entry) = self.entries.get(key as usize % ENTRIES) else {
            return take();
        };
        let known = entry.load().filter(|known| known.key == key);
        if let Some(known) = known {
            let hits = HITS.get().wrapping_add(1);
            HITS.set(hits);
            if !hits.is_multiple_of(CHECKED) {
                return known.row;
            }
        }
        let row = take();
        match known {
            Some(known) if std::ptr::eq(known.row, row) => return row,
            Some(_) => {
                self.wrong.fetch_add(1, Ordering::Relaxed);
            }
            None => self.count_taken(),
        }
        entry.store(Some(Known { key, row }));
        row
    }

    /// Forgets all rows, and what was counted.
    pub fn clear(&self) {
        for entry in &self.entries {
            entry.store(None);
        }
        self.wrong.store(0, Ordering::Relaxed);
        self.taken.store(0, Ordering::Relaxed);
    }

    /// How many stacks were not known by their keys.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// A stack without a key was taken.
    pub fn count_taken(&self) {
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    /// How many of the stacks that were compared were not what their keys said.
    pub fn wrong(&self) -> u64 {
        self.wrong.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitors::classes::LockClass;
    use crate::monitors::rows::{RowKey, Rows, Source};

    #[test]
    fn a_key_that_says_something_else_than_before_is_noticed() {
        let rows = Rows::default();
        let row = |thread| {
            rows.intern(RowKey {
                source: Source::Monitor,
                thread,
                class: Box::leak(Box::new(LockClass::named(1, "A"))),
                frames: &[],
            })
        };
        let (one, two) = (row(1), row(2));
        let recent = RecentRows::default();
        // Keys of one place in the table.
        let keys = [7, 7 + ENTRIES as u64];
        assert!(std::ptr::eq(recent.row(keys[0], || one), one));
        assert!(std::ptr::eq(recent.row(keys[1], || two), two));
        assert!(std::ptr::eq(recent.row(keys[0], || one), one));
        assert_eq!(recent.wrong(), 0);
        assert!(std::ptr::eq(recent.row(keys[0], || two), two));
        assert_eq!(recent.wrong(), 1);
    }
}
