//! The sizes of all objects.

use std::sync::atomic::{AtomicU8, Ordering};

use super::array::Array;
use super::build::atomics;

/// The sizes of all objects, in units of eight bytes.
///
/// Nearly all objects of a heap are small: a byte holds the size of each, and a list those of the others, which are so large
/// that they cannot be many.
#[derive(Debug, Default)]
pub struct Sizes {
    /// By object: its size, or [`LARGE`].
    pub(crate) small: Array<u8>,
    /// The others, by number: the object, and its size.
    pub(crate) large: Array<[u64; 2]>,
}

/// Stands for all sizes from this one on.
pub(crate) const LARGE: u8 = u8::MAX;

impl Sizes {
    /// The number of objects.
    pub fn len(&self) -> usize {
        self.small.len()
    }

    /// True if there is no object.
    pub fn is_empty(&self) -> bool {
        self.small.is_empty()
    }

    /// The size of an object.
    #[inline(always)]
    pub fn of(&self, object: usize) -> u32 {
        match self.small[object] {
            LARGE => self.of_large(object),
            units => u32::from(units),
        }
    }

    #[cold]
    fn of_large(&self, object: usize) -> u32 {
        let found = (self.large).binary_search_by_key(&(object as u64), |&[object, _]| object);
        found.map_or(u32::from(LARGE), |at| self.large[at][1] as u32)
    }

    /// The size of all objects together.
    pub fn total(&self) -> u64 {
        let small: u64 = self.small.iter().map(|&units| u64::from(units)).sum();
        let more = self
            .large
            .iter()
            .map(|&[_, units]| units.saturating_sub(u64::from(LARGE)));
        small + more.sum::<u64>()
    }

    /// True if each object has one size: for what was read from a file.
    pub(crate) fn is_sound(&self) -> bool {
        let is_large = |&[object, units]: &[u64; 2]| {
            let place = usize::try_from(object).ok();
            place.and_then(|place| self.small.get(place)) == Some(&LARGE)
                && (u64::from(LARGE)..=u64::from(u32::MAX)).contains(&units)
        };
        self.large.iter().all(is_large)
            && self.large.is_sorted_by(|[one, _], [other, _]| one < other)
            && self.large.len() == self.small.iter().filter(|&&units| units == LARGE).count()
    }
}

/// For tests, which make sizes by hand.
#[cfg(test)]
impl FromIterator<u32> for Sizes {
    fn from_iter<T: IntoIterator<Item = u32>>(sizes: T) -> Self {
        let mut large = Vec::new();
        let byte = |(object, units)| small(object, units, &mut large);
        let small: Vec<u8> = sizes.into_iter().enumerate().map(byte).collect();
        Self {
            small: small.into(),
            large: large.into(),
        }
    }
}

/// The byte for a size; adds the size to the list if that is no byte.
#[inline(always)]
fn small(object: usize, units: u32, large: &mut Vec<[u64; 2]>) -> u8 {
    match u8::try_from(units) {
        Ok(units) if units < LARGE => units,
        _ => {
            large.push([object as u64, u64::from(units)]);
            LARGE
        }
    }
}

/// Takes sizes from several threads.
pub(super) struct SizeSink<'a> {
    small: &'a [AtomicU8],
}

impl SizeSink<'_> {
    /// Stores into a byte for each object.
    pub fn new(bytes: &mut Array<u8>) -> SizeSink<'_> {
        SizeSink {
            small: atomics(bytes),
        }
    }

    /// Stores the size of an object, if that is no byte in a list of the thread.
    #[inline]
    pub fn store(&self, object: usize, units: u32, large: &mut Vec<[u64; 2]>) {
        self.small[object].store(small(object, units, large), Ordering::Relaxed);
    }
}

impl Sizes {
    /// The sizes that threads have stored into `small`, and in their lists.
    pub(super) fn joined(small: Array<u8>, mut large: Vec<[u64; 2]>) -> Self {
        // A damaged file may have several sizes for one object.
        large.retain(|&[object, _]| small[object as usize] == LARGE);
        large.sort_unstable();
        large.dedup_by_key(|&mut [object, _]| object);
        large.shrink_to_fit();
        Self {
            small,
            large: large.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::Store;

    fn sizes() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(prop_oneof![0u32..300, any::<u32>()], 0..50)
    }

    proptest! {
        #[test]
        fn each_object_has_the_size_that_was_stored_last(sizes in sizes(), again in sizes()) {
            let mut bytes = Store::memory().zeros(sizes.len()).unwrap();
            let mut large = Vec::new();
            let sink = SizeSink::new(&mut bytes);
            let first = again.iter().take(sizes.len()).filter(|&&units| units < 255).enumerate();
            first.for_each(|(object, &units)| sink.store(object, units, &mut large));
            sizes.iter().enumerate().for_each(|(object, &units)| sink.store(object, units, &mut large));
            let found = Sizes::joined(bytes, large);
            prop_assert!(found.is_sound());
            prop_assert_eq!(found.total(), sizes.iter().map(|&units| u64::from(units)).sum::<u64>());
            let same: Sizes = sizes.iter().copied().collect();
            for (object, &units) in sizes.iter().enumerate() {
                prop_assert_eq!(found.of(object), units);
                prop_assert_eq!(same.of(object), units);
            }
        }

        #[test]
        fn an_object_that_a_damaged_file_holds_twice_has_one_of_its_sizes(
            sizes in prop::collection::vec(0u32..600, 1..20),
        ) {
            let mut bytes = Store::memory().zeros(1).unwrap();
            let mut large = Vec::new();
            let sink = SizeSink::new(&mut bytes);
            sizes.iter().for_each(|&units| sink.store(0, units, &mut large));
            let found = Sizes::joined(bytes, large);
            prop_assert!(found.is_sound());
            prop_assert!(sizes.contains(&found.of(0)));
            prop_assert_eq!(found.total(), u64::from(found.of(0)));
        }
    }

    #[test]
    fn sizes_of_a_file_that_do_not_fit_are_not_sound() {
        let made = |small: Vec<u8>, large: Vec<[u64; 2]>| Sizes {
            small: small.into(),
            large: large.into(),
        };
        assert!(made(vec![1, LARGE], vec![[1, 255]]).is_sound());
        for large in [
            vec![],
            vec![[0, 255]],
            vec![[1, 254]],
            vec![[1, 1 << 32]],
            vec![[2, 300]],
            vec![[1, 255], [1, 256]],
        ] {
            assert!(!made(vec![1, LARGE], large.clone()).is_sound(), "{large:?}");
        }
    }
}
