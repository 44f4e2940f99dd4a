//! The bytes of objects at any range of places.

use std::io;
use std::ops::Range;

use super::scatter::scatter;
use crate::gate;
use crate::graph::{Array, LARGE_SIZE, Number, Sizes, Store};

/// Places in a block. The bytes of a part of one are added up in a few nanoseconds.
pub(crate) const BLOCK: usize = 64;

/// The sizes of objects by place, and their sums, in units of eight bytes.
#[derive(Debug)]
pub(crate) struct Sums {
    /// By place.
    pub(crate) sizes: Sizes,
    /// By block of [`BLOCK`] places: the sizes of all before it; and of all.
    pub(crate) before: Array<u64>,
}

impl Sums {
    /// Puts the sizes of objects in order of places: `places` by object, none for those that `reached` does not count.
    pub(super) fn new<N: Number>(
        places: &[N],
        reached: usize,
        sizes: &Sizes,
        store: &Store,
        threads: usize,
    ) -> io::Result<Self> {
        let mut small = store.unset::<u8>(reached)?;
        let place = |object: usize| places[object];
        let size = |object: usize| N::of(usize::from(sizes.small[object]));
        scatter(&mut small, places.len(), store, threads, place, size)?;
        let large = sizes.large.iter().filter_map(|&[object, units]| {
            let place = places[object as usize];
            (place != N::NONE).then(|| [place.get() as u64, units])
        });
        let mut large: Vec<[u64; 2]> = large.collect();
        large.sort_unstable();
        let sizes = Sizes {
            small,
            large: large.into(),
        };
        let mut before = store.unset(blocks(reached))?;
        sums_before(&sizes, |block, sum| {
            before[block] = sum;
            true
        });
        Ok(Self { sizes, before })
    }

    /// The number of places.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// The sizes of the objects at the places from `start` up to `end`, added up.
    #[inline(always)]
    pub fn between(&self, start: usize, end: usize) -> u64 {
        if end - start <= BLOCK {
            return sum(&self.sizes, start..end);
        }
        self.of_all_before(end) - self.of_all_before(start)
    }

    #[inline(always)]
    fn of_all_before(&self, place: usize) -> u64 {
        let block = place / BLOCK;
        self.before[block] + sum(&self.sizes, block * BLOCK..place)
    }

    /// True if the sums are those of the sizes: for what was read from a file.
    pub fn is_sound(&self) -> bool {
        self.sizes.is_sound()
            && self.before.len() == blocks(self.sizes.len())
            && sums_before(&self.sizes, |block, sum| self.before[block] == sum)
    }
}

/// The number of sums for as many places.
fn blocks(places: usize) -> usize {
    places / BLOCK + 1
}

/// Calls `is_right` with each block and the sizes of all before it, until it is false.
fn sums_before(sizes: &Sizes, mut is_right: impl FnMut(usize, u64) -> bool) -> bool {
    let mut before = 0;
    (0..blocks(sizes.len())).all(|block| {
        gate::pass();
        let start = block * BLOCK;
        let right = is_right(block, before);
        before += sum(sizes, start..sizes.len().min(start + BLOCK));
        right
    })
}

/// The sizes of at most [`BLOCK`] places, added up.
#[inline(always)]
fn sum(sizes: &Sizes, places: Range<usize>) -> u64 {
    let small = &sizes.small[places.clone()];
    let (mut sum, mut has_large) = (0u32, false);
    for &units in small {
        sum += u32::from(units);
        has_large |= units == LARGE_SIZE;
    }
    u64::from(sum) + if has_large { more(sizes, places) } else { 0 }
}

/// By how much sizes that are no byte are larger than what stands for them.
#[cold]
fn more(sizes: &Sizes, places: Range<usize>) -> u64 {
    let (start, end) = (places.start as u64, places.end as u64);
    let first = sizes.large.partition_point(|&[place, _]| place < start);
    let large = sizes.large[first..].iter();
    let within = large.take_while(|&&[place, _]| place < end);
    within
        .map(|&[_, units]| units.saturating_sub(u64::from(LARGE_SIZE)))
        .sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sums_are_those_of_the_sizes_by_place(
            sizes in prop::collection::vec(prop_oneof![9 => 0u32..300, 1 => any::<u32>()], 0..400),
            left_out in prop::collection::vec(any::<bool>(), 400),
            ends in prop::collection::vec((0usize..=400, 0usize..=400), 20),
            rotated in 0usize..400,
        ) {
            let of_objects: Sizes = sizes.iter().copied().collect();
            // By place: the object.
            let mut objects: Vec<usize> = (0..sizes.len()).filter(|&object| !left_out[object]).collect();
            let reached = objects.len();
            objects.rotate_left(rotated % reached.max(1));
            let mut places = vec![u32::NONE; sizes.len()];
            for (place, &object) in objects.iter().enumerate() {
                places[object] = place as u32;
            }
            for store in [Store::memory(), Store::without_room()] {
                let sums = Sums::new(&places, reached, &of_objects, &store, 2).unwrap();
                prop_assert!(sums.is_sound());
                for &(one, other) in &ends {
                    let (one, other) = (one.min(reached), other.min(reached));
                    let (start, end) = (one.min(other), one.max(other));
                    let wanted: u64 = objects[start..end].iter().map(|&object| u64::from(sizes[object])).sum();
                    prop_assert_eq!(sums.between(start, end), wanted);
                }
            }
        }
    }
}
