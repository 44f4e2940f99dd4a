//! Shortest paths through dominators.
//!
//! All that lies on a path from an object to one that it dominates is dominated by it, too: otherwise a path
//! from the roots would lead around it. So a shortest path is one from dominator to dominator, and each
//! of its pieces lies within what the upper one dominates, which is often little. Of several shortest
//! paths it is the one that a search over all objects finds, as that reaches the objects within in the
//! order of a search that begins there.

use crate::dominators::Tree;
use crate::graph::{Links, Number};
use crate::marks::Marks;

/// The number of references that a search may still follow. It bounds the memory of the search, too.
#[derive(Debug)]
pub(super) struct Budget(pub usize);

impl Budget {
    /// Takes the price of some references from it. False if it is spent.
    pub fn spend(&mut self, references: usize) -> bool {
        self.0 = self.0.saturating_sub(references);
        self.0 > 0
    }
}

/// The objects on the shortest path from an object, which is left out, to one that it dominates immediately, both by
/// place; `None` if the budget is spent before.
pub(super) fn below<N: Number>(
    links: &Links<'_, N>,
    tree: &Tree<N>,
    (from, to): (usize, usize),
    budget: &mut Budget,
) -> Option<Vec<usize>> {
    let wanted = tree.object(to);
    let (mut is_next, mut references) = (false, 0);
    links.each(tree.object(from), |target| {
        is_next |= target == wanted;
        references += 1;
    });
    let mut is_in_budget = budget.spend(references);
    if is_next {
        return Some(vec![wanted]);
    }
    // By place, counted from that of the upper one.
    let span = tree.end(from) - from;
    let goal = to - from;
    let mut marks = Marks::new(span);
    // Each place with the position in this list of the one before it on its path. An array by place would be as long as
    // all that is dominated, of which a search reaches little.
    let mut reached = vec![[N::of(0); 2]];
    let (mut next, mut rest) = (0, Vec::new());
    while next < reached.len() && is_in_budget && !marks.has(goal) {
        let (position, [at, _]) = (N::of(next), reached[next]);
        next += 1;
        let mut follow = |target: usize| {
            // What comes after the goal is on no path to it.
            if marks.has(goal) {
                return;
            }
            if !budget.spend(1) {
                is_in_budget = false;
                return;
            }
            let place = tree.place(target).and_then(|place| place.checked_sub(from));
            let inside = place.filter(|&place| place > 0 && place < span);
            if let Some(place) = inside.filter(|&place| !marks.has(place)) {
                marks.set(place);
                reached.push([N::of(place), position]);
            }
        };
        links.first(tree.object(from + at.get()), &mut rest, &mut follow);
        rest.drain(..).for_each(|target| follow(target.get()));
    }
    if !marks.has(goal) {
        return None;
    }
    let mut path = Vec::new();
    let mut position = reached.len() - 1;
    while position != 0 {
        let [place, before] = reached[position];
        path.push(tree.object(from + place.get()));
        position = before.get();
    }
    path.reverse();
    Some(path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::{References, Store};
    use crate::numbers::{ClassNumber, ObjectNumber};
    use crate::paths::ShortestPaths;
    use crate::paths::shortest::search;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn pieces_are_those_of_the_paths_that_a_search_over_all_finds(
            lists in prop::collection::vec(prop::collection::vec(0usize..40, 0..4), 40),
            classes in prop::collection::vec(0usize..3, 40),
            class_objects in prop::collection::vec(prop::option::weighted(0.3, 0usize..40), 3),
            roots in prop::collection::vec(0usize..40, 1..4),
        ) {
            let references = References::<u32>::of_lists(&lists);
            let class_of: Vec<ClassNumber> = classes.into_iter().map(ClassNumber::new).collect();
            let links = Links::new(&references, &*class_of, &class_objects);
            let few = Links::of_few(&references, &*class_of, &class_objects);
            let store = Store::memory();
            let tree = crate::dominators::build(&links, &roots, &[1; 40].into_iter().collect(), &store, 1).unwrap();
            let all = ShortestPaths::Narrow(search(&links, &roots, None, &store).unwrap());
            for place in 0..tree.len() {
                let object = ObjectNumber::new(tree.object(place));
                let path: Vec<usize> = (all.to(object).unwrap().into_iter())
                    .map(ObjectNumber::index)
                    .collect();
                let Some(above) = tree.above(place) else { continue };
                let budget = &mut Budget(1000);
                let piece = below(&few, &tree, (above, place), budget).unwrap();
                let before = path.len() - piece.len();
                prop_assert_eq!(&path[before..], &piece);
                prop_assert_eq!(path[before - 1], tree.object(above));
                // A search that may follow nothing finds nothing.
                let none = &mut Budget(1);
                let piece = below(&few, &tree, (above, place), none);
                prop_assert!(piece.is_none_or(|piece| piece.len() == 1));
            }
        }
    }
}
