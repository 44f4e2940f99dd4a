use super::*;
use crate::graph::{Links, References};
use crate::numbers::{ClassNumber, ObjectNumber, Place};
use proptest::prelude::*;

/// A graph with an object's class implied, as that of instances.
#[derive(Debug, Clone)]
struct Sample {
    lists: Vec<Vec<usize>>,
    units: Vec<u32>,
    class_of: Vec<ClassNumber>,
    class_objects: Vec<Option<usize>>,
    roots: Vec<usize>,
}

fn sample() -> impl Strategy<Value = Sample> {
    (1usize..40).prop_flat_map(|count| {
        let list = prop::collection::vec(0..count, 0..4);
        (
            prop::collection::vec(list, count),
            prop::collection::vec(0u32..100, count),
            prop::collection::vec((0usize..3).prop_map(ClassNumber::new), count),
            prop::collection::vec(prop::option::weighted(0.3, 0..count), 3),
            prop::collection::vec(0..count, 0..4),
        )
            .prop_map(|(lists, units, class_of, class_objects, roots)| Sample {
                lists,
                units,
                class_of,
                class_objects,
                roots,
            })
    })
}

impl Sample {
    /// The objects that are reached when one is removed.
    fn reached(&self, without: Option<usize>) -> Vec<bool> {
        let mut seen = vec![false; self.lists.len()];
        let mut todo = self.roots.clone();
        while let Some(object) = todo.pop() {
            if Some(object) == without || seen[object] {
                continue;
            }
            seen[object] = true;
            todo.extend(&self.lists[object]);
            todo.extend(self.class_objects[self.class_of[object].index()]);
        }
        seen
    }

    fn bytes(&self, reached: &[bool]) -> u64 {
        let all = reached.iter().zip(&self.units);
        all.filter(|(reached, _)| **reached)
            .map(|(_, &units)| 8 * u64::from(units))
            .sum()
    }

    fn check<N: Number>(
        &self,
        wrap: impl Fn(Tree<N>) -> Dominators,
        store: &Store,
    ) -> Result<(), TestCaseError> {
        let references = References::<N>::of_lists(&self.lists);
        let links = Links::new(&references, &*self.class_of, &self.class_objects);
        let sizes = self.units.iter().copied().collect();
        let tree = build(&links, &self.roots, &sizes, store, 2).unwrap();
        let dominators = wrap(tree);
        let live = self.reached(None);
        // By the object that is taken away.
        let without: Vec<_> = (0..self.lists.len())
            .map(|object| self.reached(Some(object)))
            .collect();
        prop_assert_eq!(dominators.live_bytes(), self.bytes(&live));
        let tops = dominators
            .children(None)
            .map(|place| dominators.retained(place));
        prop_assert_eq!(tops.sum::<u64>(), self.bytes(&live));
        for object in 0..self.lists.len() {
            let place_of = |object| dominators.place(ObjectNumber::new(object));
            let Some(place) = place_of(object) else {
                prop_assert!(!live[object]);
                continue;
            };
            prop_assert!(live[object]);
            prop_assert_eq!(dominators.object(place).index(), object);
            prop_assert_eq!(
                dominators.retained(place),
                self.bytes(&live) - self.bytes(&without[object])
            );
            for (other, &is_live) in live.iter().enumerate() {
                let is_under = place_of(other)
                    .is_some_and(|other| (place..dominators.end(place)).contains(&other));
                prop_assert_eq!(is_under, is_live && !without[object][other]);
            }
            // The immediate dominator is the lowest of all others.
            let above = dominators.above(place);
            let expected = (0..self.lists.len())
                .filter(|&other| other != object && live[other])
                .filter(|&other| !without[other][object])
                .min_by_key(|&other| place_of(other).map(|place| dominators.span(place)));
            let found = above.map(|place| dominators.object(place).index());
            prop_assert_eq!(found, expected);
            let children: Vec<Place> = dominators.children(Some(place)).collect();
            prop_assert!(children.iter().all(|&c| dominators.above(c) == Some(place)));
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn what_is_retained_is_what_removal_frees(sample in sample()) {
        sample.check::<u32>(Dominators::Narrow, &Store::memory())?;
        sample.check::<u64>(Dominators::Wide, &Store::memory())?;
    }

    #[test]
    fn so_it_is_where_memory_holds_no_array(sample in sample()) {
        sample.check::<u32>(Dominators::Narrow, &Store::without_room())?;
        sample.check::<u64>(Dominators::Wide, &Store::without_room())?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn a_limit_of_memory_changes_nothing(sample in sample()) {
        let store = Store::limited(1, std::env::temp_dir()).unwrap();
        sample.check::<u32>(Dominators::Narrow, &store)?;
    }
}

#[test]
fn a_long_list_needs_no_deep_recursion() {
    let count = 300_000;
    let lists: Vec<Vec<usize>> = (0..count)
        .map(|at| {
            if at + 1 < count {
                vec![at + 1, 0]
            } else {
                vec![7]
            }
        })
        .collect();
    let references = References::<u32>::of_lists(&lists);
    let class_of = vec![ClassNumber::UNKNOWN; count];
    let links = Links::new(&references, &*class_of, &[None]);
    let sizes = vec![2; count].into_iter().collect();
    let tree = build(&links, &[0], &sizes, &Store::memory(), 2).unwrap();
    let dominators = Dominators::Narrow(tree);
    for object in [0, 1, count / 2, count - 1] {
        let place = dominators.place(ObjectNumber::new(object)).unwrap();
        assert_eq!(dominators.retained(place), 16 * (count - object) as u64);
    }
    let top = dominators.largest_children(None, 3);
    assert_eq!(top, [Place::new(0)]);
}
