//! Where the hooks find the states of threads in a VM that was up before the agent
//! came: by the address of the VM's own thread. The memory is that of the Java side
//! (`HprofHooks.TABLE`), which reads it without a lock.
//!
//! A thread only looks for its own entry, and puts it there itself, so it needs no
//! more than that the entries before its own do not become free in between.
//!
//! One case remains: more than 57,000 threads at a time. The table is then emptied while
//! others look for their entries, and one that has just found its own may read the state
//! that another thread puts there. A call may so be counted for the other thread.

use crate::sync::{AtomicU64, Ordering};

/// The address of the VM's own thread, as `java.lang.Thread` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmThread(pub u64);

/// `HprofHooks.TABLE_BITS`.
const BITS: u32 = if cfg!(loom) {
    3
} else if cfg!(miri) {
    8
} else {
    16
};
const SIZE: usize = 1 << BITS;
/// `HprofHooks.SPREAD`.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// Entries that are used at most: a search has to find a free one.
const MAX_USED: usize = SIZE / 8 * 7;
const FREE: u64 = 0;
/// An entry of a thread that has ended, with others after it. No address has this value.
const ENDED: u64 = 1;

/// An entry of the table: the address of a VM thread, and that of its state.
#[repr(C)]
#[derive(Default)]
pub struct Entry {
    key: AtomicU64,
    state: AtomicU64,
}

/// The states of threads by their addresses in the VM.
pub struct StateTable {
    entries: &'static [Entry],
    used: usize,
}

impl StateTable {
    /// How many entries a table has.
    pub const LEN: usize = SIZE;

    /// The table at the address `start`.
    ///
    /// # Safety
    /// There are [`Self::LEN`] entries, which are never freed, and which Rust code uses only
    /// through this table.
    pub unsafe fn at(start: usize) -> Self {
        let start = std::ptr::with_exposed_provenance(start);
        // SAFETY: by the caller's promise. Words of any content are entries.
        Self::of(unsafe { std::slice::from_raw_parts(start, SIZE) })
    }

    /// The table in these entries.
    ///
    /// # Panics
    /// They are not [`Self::LEN`].
    pub fn of(entries: &'static [Entry]) -> Self {
        assert_eq!(entries.len(), SIZE);
        Self { entries, used: 0 }
    }

    /// Forgets all threads. `of_virtual` is what virtual threads, which have no
    /// address, find as their state.
    pub fn clear(&mut self, of_virtual: u64) {
        self.forget();
        self.entry(0).state.store(of_virtual, Ordering::Relaxed);
    }

    fn forget(&mut self) {
        for place in 1..SIZE {
            self.entry(place).key.store(FREE, Ordering::Relaxed);
        }
        self.used = 0;
    }

    /// Puts the state of a thread in, or another one for it.
    pub fn put(&mut self, thread: VmThread, state: u64) {
        let mut room = None;
        for place in places(thread) {
            let key = self.entry(place).key.load(Ordering::Relaxed);
            if key == thread.0 {
                room = Some(place);
                break;
            }
            if key == FREE || key == ENDED {
                room.get_or_insert(place);
            }
            if key == FREE {
                break;
            }
        }
        let is_used = |place: usize| self.entry(place).key.load(Ordering::Relaxed) != FREE;
        let place = match room {
            Some(place) if self.used < MAX_USED || is_used(place) => place,
            _ => {
                // All others will ask for their states again.
                self.forget();
                first_place(thread)
            }
        };
        let entry = self.entry(place);
        let before = entry.key.load(Ordering::Relaxed);
        entry.state.store(state, Ordering::Relaxed);
        entry.key.store(thread.0, Ordering::Release);
        self.used += usize::from(before == FREE);
    }

    /// Takes the entry of a thread that ends out.
    pub fn remove(&mut self, thread: VmThread) {
        let Some(mut place) = self.find(thread) else {
            return;
        };
        self.entry(place).key.store(ENDED, Ordering::Relaxed);
        // No search passes entries with a free one after them.
        let key = |place: usize| self.entry(place).key.load(Ordering::Relaxed);
        if key(after(place)) != FREE {
            return;
        }
        let mut freed = 0;
        while key(place) == ENDED {
            self.entry(place).key.store(FREE, Ordering::Relaxed);
            freed += 1;
            place = before(place);
        }
        self.used -= freed;
    }

    fn find(&self, thread: VmThread) -> Option<usize> {
        for place in places(thread) {
            match self.entry(place).key.load(Ordering::Relaxed) {
                key if key == thread.0 => return Some(place),
                FREE => return None,
                _ => {}
            }
        }
        None
    }

    fn entry(&self, place: usize) -> &Entry {
        &self.entries[place & (SIZE - 1)]
    }
}

/// The native method `HprofHooks.stateOf`, for tests: the state of a thread, 0 if it has none.
#[cfg(any(test, loom))]
pub fn state_of(entries: &[Entry], thread: VmThread) -> u64 {
    let mut place = (thread.0.wrapping_mul(SPREAD) >> (u64::BITS - BITS)) as usize;
    // A thread reads what it has put there itself; the others' only tell where to go on.
    let word = |place: usize| entries[place].key.load(Ordering::Relaxed);
    let state = |place: usize| entries[place].state.load(Ordering::Relaxed);
    if word(place) == thread.0 {
        return state(place);
    }
    loop {
        place = if place + 1 == SIZE { 1 } else { place + 1 };
        match word(place) {
            key if key == thread.0 => return state(place),
            FREE => return 0,
            _ => {}
        }
    }
}

/// A thread whose search begins at `place`, another one for each `nth`, for tests.
#[cfg(any(test, loom))]
pub fn thread_at(place: usize, nth: u64) -> VmThread {
    // The inverse of an odd number modulo 2^64, by Newton's iteration.
    let mut inverse = SPREAD;
    for _ in 0..6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(SPREAD.wrapping_mul(inverse)));
    }
    VmThread((((place as u64) << (u64::BITS - BITS)) | (nth + 7)).wrapping_mul(inverse))
}

/// Where a search begins; the first entry is that of virtual threads.
fn first_place(thread: VmThread) -> usize {
    match (thread.0.wrapping_mul(SPREAD) >> (u64::BITS - BITS)) as usize {
        0 => 1,
        place => place,
    }
}

fn after(place: usize) -> usize {
    if place + 1 == SIZE { 1 } else { place + 1 }
}

fn before(place: usize) -> usize {
    if place == 1 { SIZE - 1 } else { place - 1 }
}

/// All places in the order of a search.
fn places(thread: VmThread) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(first_place(thread)), |&place| Some(after(place))).take(SIZE - 1)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn table() -> StateTable {
        let entries: Vec<Entry> = (0..SIZE).map(|_| Entry::default()).collect();
        let mut table = StateTable::of(entries.leak());
        table.clear(u64::MAX);
        table
    }

    fn as_java(table: &StateTable, thread: VmThread) -> u64 {
        state_of(table.entries, thread)
    }

    proptest! {
        // Miri is slow, and has no files for what failed.
        #![proptest_config(if cfg!(miri) {
            ProptestConfig { cases: 1, failure_persistence: None, ..ProptestConfig::default() }
        } else {
            ProptestConfig::default()
        })]

        #[test]
        fn threads_find_their_states(
            steps in prop::collection::vec((0usize..6, 0u64..4, any::<bool>()), 1..200),
        ) {
            let mut table = table();
            let mut expected = HashMap::new();
            for (at, (place, nth, come)) in steps.into_iter().enumerate() {
                // Around the end of the table, and at its reserved place.
                let thread = thread_at((SIZE - 3 + place) % SIZE, nth);
                if come {
                    let state = 1000 + at as u64;
                    table.put(thread, state);
                    expected.insert(thread.0, state);
                } else {
                    table.remove(thread);
                    expected.remove(&thread.0);
                }
                for place in 0..6 {
                    for nth in 0..4 {
                        let thread = thread_at((SIZE - 3 + place) % SIZE, nth);
                        let state = expected.get(&thread.0).copied().unwrap_or(0);
                        prop_assert_eq!(as_java(&table, thread), state);
                    }
                }
                prop_assert_eq!(as_java(&table, VmThread(0)), u64::MAX);
            }
            for key in expected.keys() {
                table.remove(VmThread(*key));
            }
            prop_assert_eq!(table.used, 0);
        }
    }

    #[test]
    fn a_full_table_still_has_an_end() {
        let mut table = table();
        for number in 0..SIZE as u64 + 10 {
            let thread = VmThread(0x7f00_0000_0000 + number * 0x40);
            table.put(thread, number + 1);
            assert_eq!(as_java(&table, thread), number + 1);
        }
        assert!(table.used <= MAX_USED);
        assert_eq!(as_java(&table, VmThread(0x10)), 0);
    }
}
