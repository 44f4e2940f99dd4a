//! Sets of objects as bits, for searches that ask for each reference and mostly of objects that
//! they have reached: the bits of millions of objects fit into the CPU's cache.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{gate, parallel};

/// Objects in one task, a multiple of 64.
const TASK: usize = if cfg!(test) { 128 } else { 1 << 16 };

/// A set of objects.
#[derive(Debug, Clone)]
pub(crate) struct Marks(Vec<u64>);

impl Marks {
    /// An empty set of objects with numbers below `count`.
    pub fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// The number of objects in the set.
    pub fn len(&self) -> usize {
        let ones = self.0.iter().map(|word| word.count_ones() as usize);
        ones.sum()
    }

    /// Returns true if an object is in the set.
    #[inline(always)]
    pub fn has(&self, object: usize) -> bool {
        self.0[object / 64] >> (object % 64) & 1 != 0
    }

    /// The objects in the set, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(word, &bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(64 * word + bit)
            })
        })
    }

    /// Adds an object.
    #[inline(always)]
    pub fn set(&mut self, object: usize) {
        self.0[object / 64] |= 1 << (object % 64);
    }

    /// The words that hold a bit for each object, from the lowest on.
    pub fn into_words(self) -> Vec<u64> {
        self.0
    }

    /// 64 bits of the set: those of the objects from `64 * word` on.
    #[inline(always)]
    pub fn word(&self, word: usize) -> u64 {
        self.0[word]
    }

    /// The number of words.
    pub fn words(&self) -> usize {
        self.0.len()
    }

    /// Prepares to tell how many objects of the set come before one.
    pub fn ranked(self) -> Ranked {
        let mut sum = 0;
        let before = self.0.iter().map(|word| {
            let before = sum;
            sum += word.count_ones() as usize;
            before
        });
        Ranked {
            before: before.collect(),
            len: sum,
            marks: self,
        }
    }
}

/// A set of objects to which several threads add.
#[derive(Debug)]
pub(crate) struct SharedMarks(Vec<AtomicU64>);

impl SharedMarks {
    /// An empty set of objects with numbers below `count`.
    pub fn new(count: usize) -> Self {
        let words = (0..count.div_ceil(64)).map(|_| AtomicU64::new(0));
        Self(words.collect())
    }

    /// The set of the objects below `count` for which `is_in` holds, which all cores ask.
    pub fn of(count: usize, is_in: impl Fn(usize) -> bool + Sync) -> Self {
        let marks = Self::new(count);
        parallel::run(0, count.div_ceil(TASK), |tasks| {
            let words = tasks.flat_map(|task| {
                let objects = TASK * task..count.min(TASK * (task + 1));
                objects.step_by(64)
            });
            for first in words {
                gate::pass();
                let objects = (first..count.min(first + 64)).enumerate();
                let bits = objects.fold(0, |bits, (bit, object)| {
                    bits | u64::from(is_in(object)) << bit
                });
                marks.set_word(first / 64, bits);
            }
        });
        marks
    }

    /// Adds an object.
    #[inline(always)]
    pub fn set(&self, object: usize) {
        let (word, bit) = (&self.0[object / 64], 1 << (object % 64));
        // A change waits for the memory of other threads where a look does not.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Returns true if an object is in the set.
    #[inline(always)]
    pub fn has(&self, object: usize) -> bool {
        self.0[object / 64].load(Ordering::Relaxed) >> (object % 64) & 1 != 0
    }

    /// Replaces 64 bits of the set: those of the objects from `64 * word` on.
    #[inline(always)]
    pub fn set_word(&self, word: usize, bits: u64) {
        self.0[word].store(bits, Ordering::Relaxed);
    }

    /// The set, once no thread adds to it.
    pub fn into_marks(self) -> Marks {
        Marks(self.0.into_iter().map(AtomicU64::into_inner).collect())
    }
}

/// A set whose objects are numbered in their order.
#[derive(Debug)]
pub(crate) struct Ranked {
    marks: Marks,
    /// By word: the objects of the set before it.
    before: Vec<usize>,
    len: usize,
}

impl Ranked {
    /// The set.
    #[inline(always)]
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// The number of objects in the set.
    pub fn len(&self) -> usize {
        self.len
    }

    /// How many objects of the set come before one.
    #[inline(always)]
    pub fn before(&self, object: usize) -> usize {
        let Some(word) = self.marks.0.get(object / 64) else {
            return self.len;
        };
        self.before[object / 64] + (word & ((1 << (object % 64)) - 1)).count_ones() as usize
    }

    /// As [`Self::before`] for an object of the set; `None` for another one.
    #[inline(always)]
    pub fn rank(&self, object: usize) -> Option<usize> {
        self.marks.has(object).then(|| self.before(object))
    }

    /// The objects in the set below a limit, the last one first.
    pub fn backwards_from(&self, end: usize) -> impl Iterator<Item = usize> + '_ {
        let mut at = end.div_ceil(64).min(self.marks.0.len());
        let mut left = 0u64;
        std::iter::from_fn(move || {
            while left == 0 {
                at = at.checked_sub(1)?;
                left = self.marks.0[at];
                if end < 64 * (at + 1) {
                    left &= (1 << (end % 64)) - 1;
                }
            }
            let bit = 63 - left.leading_zeros() as usize;
            left &= !(1 << bit);
            Some(64 * at + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranks_are_positions_in_the_list_of_all(
            objects in prop::collection::btree_set(0usize..300, 0..100),
            end in 0usize..400,
        ) {
            let shared = SharedMarks::new(300);
            objects.iter().for_each(|&object| shared.set(object));
            prop_assert!((0..300).all(|object| shared.has(object) == objects.contains(&object)));
            let marks = shared.into_marks();
            prop_assert!(marks.iter().eq(objects.iter().copied()));
            prop_assert_eq!(marks.len(), objects.len());
            let ranked = marks.ranked();
            prop_assert_eq!(ranked.len(), objects.len());
            for object in 0..300 {
                let expected = objects.iter().position(|&it| it == object);
                prop_assert_eq!(ranked.rank(object), expected);
            }
            let below = objects.range(..end);
            prop_assert_eq!(ranked.before(end), below.clone().count());
            prop_assert!(ranked.backwards_from(end).eq(below.rev().copied()));
            prop_assert!(ranked.marks().iter().eq(objects.iter().copied()));
        }
    }
}
