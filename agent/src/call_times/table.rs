//! Where the hooks find the states of threads in a VM that was up before the agent
//! came: by the address of the VM's own thread. The memory is that of the Java side
//! (`HprofHooks.TABLE`), which reads it without a lock.
//!
//! A thread only looks for its own entry, and puts it there itself, so it needs no
//! more than that the entries before its own do not become free in between.

use std::sync::atomic::{AtomicU64, Ordering};

/// The address of the VM's own thread, as `java.lang.Thread` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VmThread(pub(super) u64);

/// `HprofHooks.TABLE_BITS`.
const BITS: u32 = 16;
const SIZE: usize = 1 << BITS;
/// `HprofHooks.SPREAD`.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// Entries that are used at most: a search has to find a free one.
const MAX_STATES: usize = SIZE / 8 * 7;
const FREE: u64 = 0;
/// An entry of a thread that has ended, with others behind it. No address is that.
const ENDED: u64 = 1;

#[repr(C)]
struct Entry {
    key: AtomicU64,
    state: AtomicU64,
}

/// The states of threads by their addresses in the VM.
pub(super) struct StateTable {
    start: *const Entry,
    used: usize,
}

// SAFETY: the memory is only read and written as atomics.
unsafe impl Send for StateTable {}

impl StateTable {
    /// The table at the address `start`, empty.
    ///
    /// # Safety
    /// There are `SIZE` entries, which are never freed.
    pub(super) unsafe fn new(start: usize) -> Self {
        Self {
            start: start as *const Entry,
            used: 0,
        }
    }

    /// Forgets all threads. `of_virtual` is what virtual threads, which have no
    /// address, find as their state.
    pub(super) fn clear(&mut self, of_virtual: u64) {
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
    pub(super) fn put(&mut self, thread: VmThread, state: u64) {
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
            Some(place) if self.used < MAX_STATES || is_used(place) => place,
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
    pub(super) fn remove(&mut self, thread: VmThread) {
        let Some(mut place) = self.find(thread) else {
            return;
        };
        self.entry(place).key.store(ENDED, Ordering::Relaxed);
        // Nobody has to pass entries with a free one behind them.
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
        // SAFETY: by the promise of `new`.
        unsafe { &*self.start.add(place & (SIZE - 1)) }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn table() -> StateTable {
        let memory: Vec<[u64; 2]> = vec![[0; 2]; SIZE];
        let start = Box::leak(memory.into_boxed_slice()).as_ptr() as usize;
        // SAFETY: leaked memory of that size.
        let mut table = unsafe { StateTable::new(start) };
        table.clear(u64::MAX);
        table
    }

    /// What `HprofHooks.stateOf` does.
    fn as_java(table: &StateTable, thread: VmThread) -> u64 {
        let mut place = (thread.0.wrapping_mul(SPREAD) >> 48) as usize;
        let word = |place: usize| table.entry(place).key.load(Ordering::Relaxed);
        let state = |place: usize| table.entry(place).state.load(Ordering::Relaxed);
        if word(place) == thread.0 {
            return state(place);
        }
        loop {
            place = if place + 1 == SIZE { 1 } else { place + 1 };
            match word(place) {
                key if key == thread.0 => return state(place),
                0 => return 0,
                _ => {}
            }
        }
    }

    /// A key with a given first place.
    fn key_at(place: usize, nth: u64) -> VmThread {
        // The inverse of an odd number modulo 2^64, by Newton's iteration.
        let mut inverse = SPREAD;
        for _ in 0..6 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(SPREAD.wrapping_mul(inverse)));
        }
        VmThread((((place as u64) << 48) | (nth + 7)).wrapping_mul(inverse))
    }

    proptest! {
        #[test]
        fn threads_find_their_states(
            steps in prop::collection::vec((0usize..6, 0u64..4, any::<bool>()), 1..200),
        ) {
            let mut table = table();
            let mut expected = HashMap::new();
            for (at, (place, nth, come)) in steps.into_iter().enumerate() {
                // Around the end of the table, and at its reserved place.
                let thread = key_at((SIZE - 3 + place) % SIZE, nth);
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
                        let thread = key_at((SIZE - 3 + place) % SIZE, nth);
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
        assert!(table.used <= MAX_STATES);
        assert_eq!(as_java(&table, VmThread(0x10)), 0);
    }
}
