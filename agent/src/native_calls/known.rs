//! Places in code that were on stacks before, by which a stack is known without walking all of it.
//!
//! The places have room that is made beforehand, and no thread owns any: threads come and go, and a hook may not
//! allocate. A thread takes a part while it looks, and does without if another one has it.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::vm::CodePlaces;

/// Parts; a power of two.
const PARTS: usize = 32;
/// Pairs of places of each.
const PAIRS: usize = 256;
/// Parts that a thread tries.
const TRIES: usize = 2;

pub struct KnownPlaces {
    parts: Box<[Part]>,
}

#[repr(align(64))]
struct Part {
    is_taken: AtomicBool,
    places: CodePlaces,
}

// SAFETY: the places are used by the thread alone that has taken the part.
unsafe impl Sync for Part {}

impl KnownPlaces {
    pub fn new() -> Self {
        let part = |_| Part {
            is_taken: AtomicBool::new(false),
            places: CodePlaces::with_room(PAIRS),
        };
        Self {
            parts: (0..PARTS).map(part).collect(),
        }
    }

    /// Calls `body` with places that no other thread uses meanwhile; `None` if those for this number of a thread are in
    /// use.
    pub fn with<T>(&self, thread: usize, body: impl FnOnce(&CodePlaces) -> T) -> Option<T> {
        let spread = thread.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - PARTS.ilog2());
        let mut parts = (0..TRIES).filter_map(|n| self.parts.get(spread.wrapping_add(n) % PARTS));
        let part = parts.find(|part| !part.is_taken.swap(true, Ordering::Acquire))?;
        let result = body(&part.places);
        part.is_taken.store(false, Ordering::Release);
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_one_user_at_a_time() {
        let places = KnownPlaces::new();
        let inner = places.with(7, |first| {
            places.with(7, |second| {
                assert!(!std::ptr::eq(first, second));
                places.with(7, |_| ()).is_none()
            })
        });
        assert_eq!(inner, Some(Some(true)));
        assert!(places.with(7, |_| ()).is_some());
    }
}
