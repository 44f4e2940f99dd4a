//! Shortest paths through dominators.
//!
//! All that lies on a path from an object to one that it dominates is dominated by it, too: otherwise a path
//! from the roots would lead around it. So a shortest path is one from dominator to dominator, and each
//! of its pieces lies within what the upper one dominates, which is often little. Of several shortest
//! paths it is the one that a search over all objects finds, as that reaches the objects within in the
//! order of a search that begins there.
//!
//! Nearly all objects are referred to by their immediate dominator, and the tree tells which ones are for certain: then there is
//! nothing to search.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use crate::dominators::Tree;
use crate::graph::{Links, Number};
use crate::marks::Marks;
use crate::parallel;

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
    if !tree.is_indirect(wanted) {
        return Some(vec![wanted]);
    }
    let object = |place: N| tree.object(from + place.get());
    // By place, counted from that of the upper one.
    let span = tree.end(from) - from;
    let mut marks = Marks::new(span);
    // The places that are reached. An array by place would be as long as all that is dominated, of which a search
    // reaches little.
    let mut reached = vec![N::of(0)];
    // Where those begin that were reached from one place, and the position of that. A large table has millions.
    let mut runs: Vec<[N; 2]> = Vec::new();
    let before = |runs: &[[N; 2]], position: usize| {
        let run = runs.partition_point(|[start, _]| start.get() <= position);
        run.checked_sub(1).map_or(0, |run| runs[run][1].get())
    };
    let (mut level, mut rest) = (0..1, Vec::new());
    while !level.is_empty() {
        // Most objects are at the last step, whose references need no look at where they lead to but for this one.
        let places = &reached[level.clone()];
        if let Some(at) = first_to(links, places, object, wanted, budget) {
            let mut position = level.start + at;
            let mut path = vec![wanted];
            while position != 0 {
                path.push(object(reached[position]));
                position = before(&runs, position);
            }
            path.reverse();
            return Some(path);
        }
        if budget.0 == 0 {
            return None;
        }
        let end = reached.len();
        for position in level {
            let (next, start) = (object(reached[position]), reached.len());
            let mut follow = |target: usize| {
                let place = tree.place(target).and_then(|at| at.checked_sub(from));
                let inside = place.filter(|&place| place > 0 && place < span);
                if let Some(place) = inside.filter(|&place| !marks.has(place)) {
                    marks.set(place);
                    reached.push(N::of(place));
                }
            };
            links.first(next, &mut rest, &mut follow);
            rest.drain(..).for_each(|target| follow(target.get()));
            if reached.len() > start {
                runs.push([N::of(start), N::of(position)]);
            }
        }
        level = end..reached.len();
    }
    None
}

/// The places that a thread looks at one after another.
const TASK: usize = if cfg!(test) { 2 } else { 1 << 12 };

/// The first of some places whose object refers to the wanted one. Spends the references that were looked at, and ends without
/// a place when there is no budget left.
fn first_to<N: Number>(
    links: &Links<'_, N>,
    places: &[N],
    object: impl Fn(N) -> usize + Sync,
    wanted: usize,
    budget: &mut Budget,
) -> Option<usize> {
    let (first, spent) = (AtomicUsize::new(usize::MAX), AtomicUsize::new(0));
    let is_cut = AtomicBool::new(false);
    // As many as the machine has; those of the pool need not wake for a few.
    let threads = usize::from(places.len() <= TASK);
    parallel::run(threads, places.len().div_ceil(TASK), |tasks| {
        for start in tasks.map(|task| TASK * task) {
            if first.load(Relaxed) < start {
                return;
            }
            if spent.load(Relaxed) >= budget.0 {
                // Another thread may have found one behind these.
                is_cut.store(true, Relaxed);
                return;
            }
            let mut references = 0;
            let end = places.len().min(start + TASK);
            let found = (start..end).find(|&at| {
                let mut is_next = false;
                links.each(object(places[at]), |target| {
                    is_next |= target == wanted;
                    references += 1;
                });
                is_next
            });
            spent.fetch_add(references, Relaxed);
            if let Some(at) = found {
                first.fetch_min(at, Relaxed);
            }
        }
    });
    budget.spend(spent.into_inner());
    let is_found = |&at: &usize| at != usize::MAX && !is_cut.into_inner();
    Some(first.into_inner()).filter(is_found)
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
