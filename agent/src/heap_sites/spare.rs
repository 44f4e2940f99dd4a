//! Weak references of dead objects, for new ones.
//!
//! A weak reference is a word of the VM that a collection clears when the object has died. To delete it and to make another
//! one takes two calls of the VM that fight for one lock of its memory. But the word is ours until it is deleted, and may
//! as well refer to another object: the VM stores the object's address there when it makes a reference, and needs to know
//! nothing of it, as long as the collector moves and clears objects in pauses only.
//!
//! Words that were made one after the other mostly die together, so they are kept as bits of 64 neighbours.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::vm::WeakRef;

/// References that refer to nothing: some of 64 words that are neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// The address of the first one, with the kind of the references in its low bits.
    base: usize,
    /// Which of them.
    bits: u64,
}

/// Bytes of 64 words.
const SPAN: usize = 64 * size_of::<usize>();
/// The bits of a reference that are not part of its word's address.
const KIND: usize = size_of::<usize>() - 1;

impl Words {
    /// Adds a reference, if it is a neighbour.
    fn add(&mut self, weak: usize) -> bool {
        let base = (weak & !(SPAN - 1)) | (weak & KIND);
        if self.bits == 0 {
            self.base = base;
        }
        let is_neighbour = self.base == base;
        if is_neighbour {
            self.bits |= 1 << ((weak % SPAN) / size_of::<usize>());
        }
        is_neighbour
    }

    /// Takes one out.
    #[inline]
    pub(super) fn take(&mut self) -> Option<WeakRef> {
        if self.bits == 0 {
            return None;
        }
        let weak = self.base + size_of::<usize>() * self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        // SAFETY: the number of a reference that `add` was given, which no other owner has.
        unsafe { WeakRef::from_raw(weak as _) }
    }

    /// Takes all out.
    pub(super) fn drain(mut self) -> impl Iterator<Item = WeakRef> {
        std::iter::from_fn(move || self.take())
    }
}

/// The references of dead objects, for new ones.
pub(super) struct Spare {
    words: Mutex<Vec<Words>>,
    /// How many elements there are.
    len: AtomicUsize,
}

/// How many elements are kept: 16 MB of them.
const MOST: usize = 1 << 20;

impl Spare {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self {
            words: Mutex::default(),
            len: AtomicUsize::new(0),
        }
    }

    /// Some references; none if there are none.
    pub(super) fn take(&self) -> Words {
        if self.len.load(Ordering::Relaxed) == 0 {
            return Words::default();
        }
        let mut words = self.words.lock();
        let taken = words.pop().unwrap_or_default();
        self.len.store(words.len(), Ordering::Relaxed);
        taken
    }

    /// Keeps references, as far as there is room; the others stay in `more`.
    pub(super) fn keep(&self, more: &mut Vec<Words>) {
        // Threads that end mostly have none left.
        more.retain(|words| words.bits != 0);
        let mut words = self.words.lock();
        let room = MOST.saturating_sub(words.len()).min(more.len());
        words.extend(more.drain(more.len() - room..));
        self.len.store(words.len(), Ordering::Relaxed);
    }

    /// Takes all.
    pub(super) fn clear(&self) -> Vec<Words> {
        self.len.store(0, Ordering::Relaxed);
        std::mem::take(&mut *self.words.lock())
    }
}

/// References on their way to [`Spare`].
#[derive(Default)]
pub(super) struct Collected {
    full: Vec<Words>,
    open: Words,
}

impl Collected {
    /// Adds the reference of an object that is dead.
    pub(super) fn add(&mut self, weak: WeakRef) {
        let weak = weak.as_raw() as usize;
        if !self.open.add(weak) {
            self.full.push(std::mem::take(&mut self.open));
            self.open.add(weak);
        }
    }

    /// All that were added.
    pub(super) fn finish(&mut self) -> &mut Vec<Words> {
        if self.open.bits != 0 {
            self.full.push(std::mem::take(&mut self.open));
        }
        &mut self.full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weak(raw: usize) -> WeakRef {
        // SAFETY: no VM gets it.
        unsafe { WeakRef::from_raw(raw as _) }.unwrap()
    }

    #[test]
    fn references_come_back_once_each() {
        let raw = |number: usize| 0x7f00_0000_0008 + number * 8 + 1;
        let mut collected = Collected::default();
        let numbers: Vec<usize> = (0..300).filter(|number| number % 3 != 0).collect();
        numbers
            .iter()
            .for_each(|&number| collected.add(weak(raw(number))));
        let spare = Spare::new();
        assert_eq!(spare.take(), Words::default());
        spare.keep(collected.finish());
        assert!(spare.len.load(Ordering::Relaxed) <= 300 / 64 + 2);
        let mut found = Vec::new();
        loop {
            let mut words = spare.take();
            let before = found.len();
            while let Some(weak) = words.take() {
                found.push(weak.as_raw() as usize);
            }
            if found.len() == before {
                break;
            }
        }
        found.sort_unstable();
        assert_eq!(found, numbers.into_iter().map(raw).collect::<Vec<_>>());
    }

    #[test]
    fn what_has_no_room_is_given_back() {
        let spare = Spare::new();
        let mut collected = Collected::default();
        // No two of them are neighbours.
        (1..=MOST + 5).for_each(|number| collected.add(weak(number * SPAN)));
        spare.keep(&mut vec![Words::default(); 3]);
        assert_eq!(spare.len.load(Ordering::Relaxed), 0, "nothing is not kept");
        spare.keep(collected.finish());
        assert_eq!(collected.finish().len(), 5);
        assert_eq!(spare.clear().len(), MOST);
        assert_eq!(spare.take(), Words::default());
    }
}
