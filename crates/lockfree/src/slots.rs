//! A signal handler's record of its thread, in memory that is never freed.
//!
//! A timer's signal carries the slot's index and generation, so the handler
//! needs neither thread-local storage nor `GetEnv`, which is not safe in a
//! handler (JDK-8132510). When a thread ends, its slot's generation moves on and
//! signals that are still under way no longer fit.
//!
//! Handlers read without a lock. A thread that changes which thread a slot is of holds one, so that the second
//! of two threads that free one slot finds it free.

use std::marker::PhantomData;
use std::ptr;

use crate::sync::{AtomicPtr, AtomicU32, Mutex, Ordering, fence};

/// Slots that are allocated together; few for the tools that are slow.
const CHUNK_LEN: usize = if cfg!(loom) {
    2
} else if cfg!(miri) {
    16
} else {
    256
};
const MAX_CHUNKS: usize = if cfg!(loom) {
    1
} else if cfg!(miri) {
    64
} else {
    4096
};

/// A slot and the generation it was acquired in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotToken {
    index: u32,
    generation: u32,
}

impl SlotToken {
    /// The token as the word that a timer's signal carries.
    pub fn as_signal_value(self) -> usize {
        ((self.generation as usize) << 32) | self.index as usize
    }

    #[inline]
    fn from_signal_value(value: usize) -> Self {
        Self {
            index: value as u32,
            generation: (value >> 32) as u32,
        }
    }
}

#[derive(Default)]
struct Slot<T> {
    /// The generation of the thread in the slot; 0 when it is free.
    generation: AtomicU32,
    content: T,
}

/// Slots for a million threads. `T` is what is known of a thread, in atomics.
pub struct Slots<T> {
    chunks: Box<[AtomicPtr<[Slot<T>; CHUNK_LEN]>]>,
    free: Mutex<Free>,
    /// The chunks are shared like this, as an `AtomicPtr` does not say.
    content: PhantomData<Slot<T>>,
}

#[derive(Default)]
struct Free {
    indexes: Vec<u32>,
    used: u32,
    generation: u32,
}

impl<T: Default> Slots<T> {
    /// No thread has a slot.
    pub fn new() -> Self {
        let chunks = (0..MAX_CHUNKS)
            .map(|_| AtomicPtr::new(ptr::null_mut()))
            .collect();
        Self {
            chunks,
            free: Mutex::new(Free::default()),
            content: PhantomData,
        }
    }

    /// The slot a signal was sent for; `None` when its thread has ended. Safe in
    /// a signal handler.
    #[inline]
    pub fn current(&self, signal_value: usize) -> Option<&T> {
        let token = SlotToken::from_signal_value(signal_value);
        if token.generation == 0 {
            return None;
        }
        self.live(token)
    }

    /// The slot of a token; `None` when it was released. It may be released, and
    /// be another thread's, while the caller has it: see [`Self::with`].
    #[inline]
    pub fn live(&self, token: SlotToken) -> Option<&T> {
        let slot = self.slot(token.index)?;
        let live = slot.generation.load(Ordering::Acquire) == token.generation;
        live.then_some(&slot.content)
    }

    /// The result of `read` on the slot for which a signal was sent, all of it while the thread had the
    /// slot; `None` when it has ended. For handlers whose slot another thread may release.
    /// `read` may be called in vain. Safe in a signal handler.
    #[inline]
    pub fn read<R>(&self, signal_value: usize, read: impl FnOnce(&T) -> R) -> Option<R> {
        let found = read(self.current(signal_value)?);
        // With the fence in `acquire`: if `read` saw anything of a later thread, so does this.
        fence(Ordering::Acquire);
        let token = SlotToken::from_signal_value(signal_value);
        let now = self.slot(token.index)?.generation.load(Ordering::Relaxed);
        (now == token.generation).then_some(found)
    }

    /// Calls `change` with the slot of a token, which stays that thread's
    /// meanwhile; `None` when it was released.
    pub fn with<R>(&self, token: SlotToken, change: impl FnOnce(&T) -> R) -> Option<R> {
        let _free = self.free.lock();
        self.live(token).map(change)
    }

    /// Calls `change` with every slot, free ones included, and its token, which is that of no thread for free ones.
    /// No thread gets a slot meanwhile, or gives one back.
    pub fn with_all(&self, mut change: impl FnMut(SlotToken, &T)) {
        let free = self.free.lock();
        for index in 0..free.used {
            if let Some(slot) = self.slot(index) {
                let generation = slot.generation.load(Ordering::Acquire);
                change(SlotToken { index, generation }, &slot.content);
            }
        }
    }

    /// Takes a free slot for a thread and has `fill` describe it; `None` when all
    /// are taken.
    pub fn acquire(&self, fill: impl FnOnce(&T)) -> Option<SlotToken> {
        let mut free = self.free.lock();
        let index = match free.indexes.pop() {
            Some(index) => index,
            None => self.grow(&mut free)?,
        };
        free.generation = free.generation.wrapping_add(1).max(1);
        let generation = free.generation;
        let slot = self.slot(index)?;
        // The slot was free before anything of this thread is in it, for `read`.
        fence(Ordering::Release);
        fill(&slot.content);
        slot.generation.store(generation, Ordering::Release);
        Some(SlotToken { index, generation })
    }

    /// Frees the slot. `empty` is called with it, unless it was free already, and
    /// before another thread can have it.
    pub fn release<R>(&self, token: SlotToken, empty: impl FnOnce(&T) -> R) -> Option<R> {
        let mut free = self.free.lock();
        self.release_locked(&mut free, token, empty)
    }

    /// Frees all slots; `empty` is called with each that was taken.
    pub fn release_all(&self, mut empty: impl FnMut(&T)) {
        let mut free = self.free.lock();
        for index in 0..free.used {
            let slot = self.slot(index);
            let generation = slot.map_or(0, |slot| slot.generation.load(Ordering::Acquire));
            if generation != 0 {
                self.release_locked(&mut free, SlotToken { index, generation }, &mut empty);
            }
        }
    }

    fn release_locked<R>(
        &self,
        free: &mut Free,
        token: SlotToken,
        empty: impl FnOnce(&T) -> R,
    ) -> Option<R> {
        let slot = self.slot(token.index)?;
        if token.generation == 0 || slot.generation.load(Ordering::Acquire) != token.generation {
            return None;
        }
        slot.generation.store(0, Ordering::Release);
        let emptied = empty(&slot.content);
        free.indexes.push(token.index);
        Some(emptied)
    }

    #[inline]
    fn slot(&self, index: u32) -> Option<&Slot<T>> {
        let index = index as usize;
        let chunk = self.chunks.get(index / CHUNK_LEN)?.load(Ordering::Acquire);
        // SAFETY: a chunk that is not null was made by `grow`, and is freed when
        // `self` is.
        unsafe { chunk.as_ref() }?.get(index % CHUNK_LEN)
    }

    /// Out of line, and without an array on the stack: every thread that starts would touch its pages.
    #[cold]
    #[inline(never)]
    fn grow(&self, free: &mut Free) -> Option<u32> {
        let chunk = self.chunks.get(free.used as usize / CHUNK_LEN)?;
        let slots: Box<[Slot<T>]> = (0..CHUNK_LEN).map(|_| Slot::default()).collect();
        let slots: Box<[Slot<T>; CHUNK_LEN]> = slots.try_into().ok()?;
        chunk.store(Box::into_raw(slots), Ordering::Release);
        let first = free.used;
        free.used += CHUNK_LEN as u32;
        free.indexes.extend((first + 1..free.used).rev());
        Some(first)
    }
}

impl<T: Default> Default for Slots<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        for chunk in &self.chunks {
            let chunk = chunk.load(Ordering::Acquire);
            if !chunk.is_null() {
                // SAFETY: it came out of a box, and no other reference to the slots exists.
                drop(unsafe { Box::from_raw(chunk) });
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashSet;

    type Serials = Slots<AtomicU32>;

    fn acquire(slots: &Serials, serial: u32) -> SlotToken {
        let fill = |slot: &AtomicU32| slot.store(serial, Ordering::Relaxed);
        slots.acquire(fill).unwrap()
    }

    fn serial_of(slots: &Serials, token: SlotToken) -> Option<u32> {
        let slot = slots.current(token.as_signal_value())?;
        Some(slot.load(Ordering::Relaxed))
    }

    fn take(slot: &AtomicU32) -> u32 {
        slot.swap(0, Ordering::Relaxed)
    }

    #[test]
    fn a_late_signal_finds_no_thread() {
        let slots = Serials::new();
        let first = acquire(&slots, 7);
        assert_eq!(serial_of(&slots, first), Some(7));
        slots.release(first, take);
        assert_eq!(serial_of(&slots, first), None);
        let second = acquire(&slots, 8);
        assert_eq!(second.index, first.index, "the slot is used again");
        assert_eq!(serial_of(&slots, first), None, "its signal does not fit");
        assert_eq!(serial_of(&slots, second), Some(8));
        assert_eq!(slots.with(first, take), None);
        assert_eq!(slots.with(second, take), Some(8));
    }

    #[test]
    fn ten_thousand_threads_have_ten_thousand_slots() {
        let slots = Serials::new();
        let count = if cfg!(miri) { 600 } else { 10_000 };
        let tokens: Vec<_> = (0..count).map(|n| acquire(&slots, n)).collect();
        for (serial, token) in tokens.iter().enumerate() {
            assert_eq!(serial_of(&slots, *token), Some(serial as u32));
        }
    }

    #[test]
    fn when_all_are_released_no_signal_finds_its_thread() {
        let slots = Serials::new();
        let tokens: Vec<_> = (1..=300).map(|n| acquire(&slots, n)).collect();
        slots.release(tokens[3], take);
        let mut emptied = Vec::new();
        slots.release_all(|slot| emptied.push(take(slot)));
        emptied.sort_unstable();
        assert_eq!(emptied, (1..=300).filter(|n| *n != 4).collect::<Vec<_>>());
        for token in tokens {
            assert_eq!(serial_of(&slots, token), None);
            assert!(slots.release(token, take).is_none(), "released twice");
        }
    }

    #[test]
    fn garbage_in_a_signal_is_no_thread() {
        let slots = Serials::new();
        acquire(&slots, 1);
        for value in [0, 1, usize::MAX, 0xffff_ffff, 1 << 32 | 0xfff_ffff] {
            assert!(slots.current(value).is_none());
        }
    }

    /// A slot that is freed twice would be given to two threads.
    #[test]
    fn a_thread_that_ends_while_all_are_released_frees_its_slot_once() {
        let rounds = if cfg!(miri) { 5 } else { 2000 };
        let slots = Serials::new();
        for round in 0..rounds {
            let tokens: Vec<_> = (1..=4).map(|n| acquire(&slots, n)).collect();
            std::thread::scope(|scope| {
                scope.spawn(|| slots.release_all(|slot| _ = take(slot)));
                for token in &tokens {
                    slots.release(*token, take);
                }
            });
            let again: Vec<_> = (1..=8).map(|n| acquire(&slots, n)).collect();
            let places: HashSet<u32> = again.iter().map(|token| token.index).collect();
            assert_eq!(places.len(), again.len(), "round {round}");
            slots.release_all(|_| ());
        }
    }
}
