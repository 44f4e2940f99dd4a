//! The table of waits: one row for each kind of waiting, class and
//! stack, counted in by all threads.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::classes::LockClass;
use crate::hash::mix;
use crate::intern::{InternTable, New};
use crate::vm::StackFrame;

/// Why a thread does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It waits to enter a monitor.
    Monitor,
    /// It is in `Object.wait`.
    ObjectWait,
    /// It is parked by a synchronizer: a lock, a semaphore, a latch.
    Synchronizer,
    /// It is parked for something else, such as a condition or a task's result.
    Park,
}

impl Source {
    /// Returns true if it may be contention.
    pub fn may_be_contention(self) -> bool {
        matches!(self, Self::Monitor | Self::Synchronizer)
    }
}

/// The key of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowKey<'a> {
    pub source: Source,
    /// Serial of the thread, 0 when threads are not distinguished.
    pub thread: u32,
    pub class: &'static LockClass,
    /// The stack, innermost frame first.
    pub frames: &'a [StackFrame],
}

impl RowKey<'_> {
    fn hash(&self) -> u64 {
        let start = u64::from(self.thread) << 2 | self.source as u64;
        let start = mix(start, u64::from(self.class.id));
        self.frames.iter().fold(start, |hash, frame| {
            mix(mix(hash, frame.method.as_word()), frame.location as u64)
        })
    }
}

/// A row. It is freed at the end of its run, or never.
#[derive(Debug)]
pub struct Row {
    pub source: Source,
    pub thread: u32,
    pub class: &'static LockClass,
    pub frames: Box<[StackFrame]>,
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Row {
    #[inline]
    pub fn add(&self, count: u64, nanos: u64) {
        self.count.fetch_add(count, Ordering::Relaxed);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Count and nanoseconds since the last time.
    pub fn take(&self) -> (u64, u64) {
        let count = self.count.swap(0, Ordering::Relaxed);
        (count, self.nanos.swap(0, Ordering::Relaxed))
    }

    fn is(&self, key: &RowKey<'_>) -> bool {
        self.source == key.source
            && self.thread == key.thread
            && self.class.id == key.class.id
            && *self.frames == *key.frames
    }
}

/// Bytes that rows may take. Beyond, stacks are left out.
const MEMORY: usize = 64 << 20;
/// Rough bytes for each row besides its frames.
const ROW_OVERHEAD: usize = size_of::<Row>() + 32;

/// All rows.
#[derive(Default)]
pub struct Rows {
    known: InternTable<&'static Row>,
    fresh: Mutex<Vec<&'static Row>>,
}

impl Rows {
    /// The row for a key, new or known. When the memory limit is reached, a new
    /// one goes without its stack, which is counted.
    pub fn intern(&self, key: RowKey<'_>) -> &'static Row {
        let free = self.known.bytes() < MEMORY;
        if let Some(row) = self.find_or_add(key, free || key.frames.is_empty()) {
            return row;
        }
        self.known.count_cut();
        let bare = RowKey {
            frames: &[],
            thread: 0,
            ..key
        };
        // Always found or added: its number is limited by that of the classes.
        self.find_or_add(bare, true)
            .unwrap_or_else(|| new_row(bare))
    }

    fn find_or_add(&self, key: RowKey<'_>, may_add: bool) -> Option<&'static Row> {
        let is_same = |row: &&'static Row| row.is(&key);
        let add = || {
            let row = new_row(key);
            self.fresh.lock().push(row);
            Some(New {
                value: row,
                bytes: ROW_OVERHEAD + size_of_val(key.frames),
            })
        };
        match may_add {
            true => self.known.intern(key.hash(), is_same, add),
            false => self.known.find(key.hash(), is_same),
        }
    }

    /// The rows made since the last time.
    pub fn take_fresh(&self) -> Vec<&'static Row> {
        std::mem::take(&mut *self.fresh.lock())
    }

    /// Frees all rows, and forgets what was counted.
    ///
    /// # Safety
    /// No thread has a row any more, or asks for one before this returns.
    pub unsafe fn free(&self) {
        self.fresh.lock().clear();
        for row in self.known.clear() {
            // SAFETY: it came from a box in `new_row`, each is in the table once, and by the caller's promise this is the
            // last reference.
            drop(unsafe { Box::from_raw(std::ptr::from_ref(row).cast_mut()) });
        }
    }

    /// How often a stack was left out because the memory limit was reached.
    pub fn cut(&self) -> u64 {
        self.known.cut()
    }
}

fn new_row(key: RowKey<'_>) -> &'static Row {
    Box::leak(Box::new(Row {
        source: key.source,
        thread: key.thread,
        class: key.class,
        frames: key.frames.into(),
        count: AtomicU64::new(0),
        nanos: AtomicU64::new(0),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(id: u32) -> &'static LockClass {
        Box::leak(Box::new(LockClass::named(id, "A")))
    }

    fn frames(first: usize, count: usize) -> Vec<StackFrame> {
        (first..first + count)
            .map(|n| StackFrame {
                // SAFETY: no VM gets it.
                method: unsafe { crate::vm::JMethodId::from_raw((n * 8) as _) },
                location: n as i64,
            })
            .collect()
    }

    #[test]
    fn what_differs_has_a_row_of_its_own() {
        let rows = Rows::default();
        let (a, b) = (class(1), class(2));
        let stack = frames(1, 3);
        let key = RowKey {
            source: Source::Monitor,
            thread: 0,
            class: a,
            frames: &stack,
        };
        let row = rows.intern(key);
        assert!(std::ptr::eq(row, rows.intern(key)));
        let others = [
            RowKey { class: b, ..key },
            RowKey { thread: 7, ..key },
            RowKey {
                source: Source::ObjectWait,
                ..key
            },
            RowKey {
                frames: &stack[..2],
                ..key
            },
        ];
        for other in others {
            assert!(!std::ptr::eq(row, rows.intern(other)));
        }
        assert_eq!(rows.take_fresh().len(), 5);
        row.add(1, 30);
        row.add(1, 12);
        assert_eq!((row.take(), row.take()), ((2, 42), (0, 0)));
    }

    #[test]
    fn a_full_table_counts_without_stacks() {
        let rows = Rows::default();
        let key = |frames| RowKey {
            source: Source::Monitor,
            thread: 0,
            class: class(1),
            frames,
        };
        let all_memory = frames(0, MEMORY / size_of::<StackFrame>());
        let first = rows.intern(key(&all_memory));
        assert_eq!((first.frames.len(), rows.cut()), (all_memory.len(), 0));
        let later = frames(1, 3);
        let row = rows.intern(key(&later));
        assert_eq!((row.frames.len(), rows.cut()), (0, 1));
        assert!(std::ptr::eq(rows.intern(key(&all_memory)), first));
    }
}
