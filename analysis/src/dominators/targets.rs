//! References in other numbers than those of objects, by what they lead to.

use std::io;
use std::sync::{Mutex, PoisonError};

use super::pairs::Pairs;
use super::scatter::{RANGE_SHIFT, Ranges};
use crate::gate;
use crate::graph::{Links, Number, Store};
use crate::parallel;

/// Objects in one task.
const TASK: usize = 1 << 16;

/// Whether references to classes that no field holds count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClassReferences {
    /// They do.
    Count,
    /// They do not.
    LeftOut,
}

/// Numbers of objects.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbering<'a, N> {
    /// By object: its number.
    pub of: &'a [N],
    /// The number of objects that are left out.
    pub none: N,
    /// The end of all other numbers.
    pub end: usize,
}

impl<N: Number> Numbering<'_, N> {
    /// All references in these numbers: for each range of `1 << RANGE_SHIFT` numbers those that lead there: to, from.
    ///
    /// Objects are asked in the order of the heap, and then one range of numbers after the other is looked at:
    /// limited memory holds all that is touched here and there.
    ///
    /// # Errors
    /// If the store has no room.
    pub fn by_target(
        &self,
        links: &Links<'_, N>,
        classes: ClassReferences,
        store: &Store,
        threads: usize,
    ) -> io::Result<Vec<Pairs<N>>> {
        self.by_target_in(RANGE_SHIFT, links, classes, store, threads)
    }

    fn by_target_in(
        &self,
        shift: u32,
        links: &Links<'_, N>,
        classes: ClassReferences,
        store: &Store,
        threads: usize,
    ) -> io::Result<Vec<Pairs<N>>> {
        let count = links.count();
        let parts = parallel::run(threads, count.div_ceil(TASK), |tasks| {
            let mut ranges = Ranges::new(count, shift);
            for object in tasks.flat_map(|task| TASK * task..count.min(TASK * (task + 1))) {
                let from = self.of[object];
                if from == self.none {
                    continue;
                }
                let mut outcome = Ok(());
                let visit = |target: usize| {
                    if outcome.is_ok() {
                        outcome = ranges.push(store, N::of(target), from);
                    }
                };
                match classes {
                    ClassReferences::Count => links.each(object, visit),
                    ClassReferences::LeftOut => links.each_reference(object, visit),
                }
                outcome?;
            }
            Ok(ranges)
        });
        let by_object: Vec<_> = (Ranges::joined(parts)?.into_iter())
            .map(|pairs| Mutex::new(Some(pairs)))
            .collect();
        let parts = parallel::run(threads, by_object.len(), |tasks| {
            let mut ranges = Ranges::new(self.end, shift);
            for task in tasks {
                let mut pairs = by_object[task]
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                // They go as soon as they are looked at.
                let pairs = pairs.take().unwrap_or_else(Pairs::new);
                for [target, from] in pairs.iter() {
                    gate::pass();
                    let to = self.of[target.get()];
                    if to != self.none {
                        ranges.push(store, to, from)?;
                    }
                }
            }
            Ok(ranges)
        });
        Ranges::joined(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::References;
    use crate::numbers::ClassNumber;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_reference_lies_in_the_range_of_its_target(
            lists in prop::collection::vec(prop::collection::vec(0usize..40, 0..4), 40),
            order in Just((0..40usize).collect::<Vec<_>>()).prop_shuffle(),
            left_out in prop::collection::vec(any::<bool>(), 40),
            class_object in prop::option::of(0usize..40),
        ) {
            let references = References::<u32>::of_lists(&lists);
            let class_of = vec![ClassNumber::UNKNOWN; lists.len()];
            let links = Links::new(&references, &*class_of, &[class_object]);
            let of: Vec<u32> = order.iter().zip(&left_out)
                .map(|(&number, &is_out)| if is_out { u32::NONE } else { number as u32 })
                .collect();
            let numbering = Numbering { of: &of, none: u32::NONE, end: 40 };
            for classes in [ClassReferences::Count, ClassReferences::LeftOut] {
                let mut wanted = Vec::new();
                for (object, list) in lists.iter().enumerate() {
                    let class = class_object.filter(|_| classes == ClassReferences::Count);
                    for target in list.iter().copied().chain(class) {
                        if !left_out[object] && !left_out[target] {
                            wanted.push([of[target], of[object]]);
                        }
                    }
                }
                wanted.sort_unstable();
                let store = Store::memory();
                let found = numbering.by_target_in(3, &links, classes, &store, 2).unwrap();
                let mut all = Vec::new();
                for (range, pairs) in found.iter().enumerate() {
                    for pair in pairs.iter() {
                        prop_assert_eq!(pair[0] as usize >> 3, range);
                        all.push(pair);
                    }
                }
                all.sort_unstable();
                prop_assert_eq!(all, wanted);
            }
        }
    }
}
