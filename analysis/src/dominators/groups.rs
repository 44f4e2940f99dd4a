//! Retained sizes of groups of objects, of all groups at once.
//!
//! A group *dominates* an object if every path from the roots to it leads through an object of the
//! group, be it this one or that. So what the objects of a group keep alive together is more than
//! what each of them keeps alive: an object that two of them share belongs to it.
//!
//! An object is dominated by its own group, and by those groups that dominate all objects that
//! refer to it, or are theirs. That is the greatest solution of a system of equations over sets of
//! groups. Its unknowns are the sets of the [joins](super::joins) alone; it is found by going round
//! until nothing changes, in an order in which most joins come after all on which they depend. Few
//! sets are different, so each is stored once and has a number, and what was found of two is kept.
//!
//! All that a join's groups dominate it dominates too: the objects under it. So what a group
//! retains is what its topmost objects and such joins retain.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use zerocopy::{FromBytes, IntoBytes};

use super::Dominators;
use super::group_sets::{EMPTY, Recent, Sets, UNKNOWN};
use super::joins::Joins;
use super::tree::Tree;
use crate::graph::{Array, Graph, Links, Number, Store, Width};
use crate::numbers::ClassNumber;
use crate::parallel;

/// How often joins are looked at on average before the answer is given up.
const MAX_LOOKS: usize = 64;
/// Places in one task.
const TASK: usize = 1 << 16;

/// The objects of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupSum {
    /// Their number.
    pub objects: u64,
    /// Their shallow size, in bytes.
    pub shallow_bytes: u64,
    /// Their retained size, in bytes; a lower bound where it is not known.
    pub retained_bytes: u64,
}

/// A division of all classes into groups.
#[derive(Debug, Clone)]
pub struct Grouping {
    /// By [index](ClassNumber::index) of a class: its group, from 0.
    pub group_of: Vec<u32>,
    /// The number of groups.
    pub groups: usize,
}

/// Sums up the live objects of each group, for several groupings at once; with each, whether the
/// retained sizes are exact. They are not where too many sets would have to be kept apart.
///
/// # Errors
/// If the store cannot hold what is known of each object.
pub fn sum_by_groups(
    graph: &Graph,
    dominators: &Dominators,
    store: &Store,
    groupings: &[Grouping],
) -> io::Result<Vec<(Vec<GroupSum>, bool)>> {
    let roots: Vec<usize> = graph
        .roots()
        .iter()
        .map(|root| root.object().index())
        .collect();
    match (graph.width(), dominators) {
        (Width::Narrow(references), Dominators::Narrow(tree)) => {
            sum(&graph.links(references), tree, &roots, store, groupings)
        }
        (Width::Wide(references), Dominators::Wide(tree)) => {
            sum(&graph.links(references), tree, &roots, store, groupings)
        }
        _ => Err(io::Error::other("graph and dominators differ in width")),
    }
}

fn sum<N: Number>(
    links: &Links<'_, N>,
    tree: &Tree<N>,
    roots: &[usize],
    store: &Store,
    groupings: &[Grouping],
) -> io::Result<Vec<(Vec<GroupSum>, bool)>> {
    let classes = classes_by_place(links, tree, store)?;
    links.set_hot(true);
    let joins = Joins::new(links, tree, roots, &classes, store);
    links.set_hot(false);
    let joins = joins?;
    let parts = parallel::run(0, groupings.len(), |tasks| {
        let one = |task: usize| {
            let solved = solve(&joins, tree, &classes, &groupings[task].group_of, store)?;
            let is_exact = solved.is_some();
            let sums = sums(&joins, tree, &classes, &groupings[task], solved.as_ref());
            Ok((task, (sums, is_exact)))
        };
        tasks.map(one).collect::<Vec<io::Result<_>>>()
    });
    let mut all = parts
        .into_iter()
        .flatten()
        .collect::<io::Result<Vec<_>>>()?;
    all.sort_by_key(|&(task, _)| task);
    Ok(all.into_iter().map(|(_, sums)| sums).collect())
}

/// The class of the object at each place.
fn classes_by_place<N: Number>(
    links: &Links<'_, N>,
    tree: &Tree<N>,
    store: &Store,
) -> io::Result<Array<ClassNumber>> {
    let mut classes = store.zeros::<ClassNumber>(tree.len())?;
    let cells = <[AtomicU32]>::mut_from_bytes(classes.as_mut_bytes());
    let cells: &[AtomicU32] = cells.map_or(&[], |cells| cells);
    parallel::run(0, tree.len().div_ceil(TASK), |tasks| {
        for task in tasks {
            let first = TASK * task;
            for (place, cell) in cells.iter().enumerate().skip(first).take(TASK) {
                let class = links.class_of(tree.object(place));
                cell.store(class.get(), Ordering::Relaxed);
            }
        }
    });
    Ok(classes)
}

/// Sums up what is below the topmost objects of each group, and below joins that it dominates.
fn sums<N: Number>(
    joins: &Joins<N>,
    tree: &Tree<N>,
    classes: &[ClassNumber],
    grouping: &Grouping,
    solved: Option<&(Sets, Array<u32>)>,
) -> Vec<GroupSum> {
    let mut sums = vec![GroupSum::default(); grouping.groups];
    // By group: the place after the objects that it was last found to keep alive. Places come in
    // the order of the tree, so an object before that lies under them.
    let mut covered = vec![0; grouping.groups];
    let mut next_join = 0;
    for (place, &class) in classes.iter().enumerate() {
        let end = tree.end(place);
        let mut cover = |group: u32, sum: &mut GroupSum| {
            let covered = &mut covered[group as usize];
            if place >= *covered {
                *covered = end;
                sum.retained_bytes += tree.bytes(place, end);
            }
        };
        if joins.is_join(place) {
            if let Some((sets, set_of)) = solved {
                for &group in sets.members_if_known(set_of[next_join]) {
                    cover(group, &mut sums[group as usize]);
                }
            }
            next_join += 1;
        }
        if let Some(&group) = grouping.group_of.get(class.index()) {
            let sum = &mut sums[group as usize];
            sum.objects += 1;
            sum.shallow_bytes += tree.bytes(place, place + 1);
            cover(group, sum);
        }
    }
    sums
}

/// By join, the groups that dominate all that refers to it; `None` if it was given up.
fn solve<N: Number>(
    joins: &Joins<N>,
    tree: &Tree<N>,
    classes: &[ClassNumber],
    group_of: &[u32],
    store: &Store,
) -> io::Result<Option<(Sets, Array<u32>)>> {
    let mut sets = Sets::new();
    // By place: the groups between its head and itself, both included.
    let mut on_way = store.zeros::<u32>(tree.len())?;
    {
        let on_way = &mut *on_way;
        let mut recent = Recent::new();
        for (place, &class) in classes.iter().enumerate() {
            let before = match tree.above(place) {
                Some(above) if !joins.is_join(place) => on_way[above],
                _ => EMPTY,
            };
            let group = group_of.get(class.index()).copied().unwrap_or(0);
            on_way[place] = recent.with(&mut sets, before, group);
        }
    }
    let count = joins.order.len();
    let mut rank_of = store.zeros::<N>(count)?;
    let ranked = joins.order.iter().enumerate();
    for (rank, join) in ranked.filter(|(_, join)| **join != N::NONE) {
        rank_of[join.get()] = N::of(rank);
    }
    let mut set_of = store.filled(count, UNKNOWN)?;
    let mut round = Round {
        sets,
        set_of: &mut set_of,
        rank_of: &rank_of,
        is_changed: vec![0; count.div_ceil(64)],
        left: 0,
    };
    for [place, join] in joins.from_roots.iter() {
        round.meet(join.get(), on_way[place.get()]);
    }
    let mut looks = 0;
    while round.left > 0 {
        for word in 0..round.is_changed.len() {
            // What comes later in the same word may change meanwhile.
            while let Some(rank) = round.take(word) {
                looks += 1;
                let join = joins.order[rank].get();
                let own = round.set_of[join];
                for &[place, join] in joins.references_under(join) {
                    let through = round.sets.both(own, on_way[place.get()]);
                    round.meet(join.get(), through);
                }
            }
        }
        if round.sets.is_full() || looks > MAX_LOOKS * (count + 1) {
            return Ok(None);
        }
    }
    let sets = round.sets;
    Ok((!sets.is_full()).then_some((sets, set_of)))
}

/// The state of going round.
struct Round<'a, N> {
    sets: Sets,
    /// By join: the groups that dominate all that refers to it, as far as is known.
    set_of: &'a mut [u32],
    rank_of: &'a [N],
    /// By rank: whether what depends on the join has to be looked at.
    is_changed: Vec<u64>,
    /// How many are changed.
    left: usize,
}

impl<N: Number> Round<'_, N> {
    /// Leaves a join those of its groups that are in a set too.
    #[inline]
    fn meet(&mut self, join: usize, through: u32) {
        let before = self.set_of[join];
        let after = match before {
            UNKNOWN => through,
            _ if before == through || before == EMPTY => return,
            _ => self.sets.common(before, through),
        };
        if after == before {
            return;
        }
        self.set_of[join] = after;
        let rank = self.rank_of[join].get();
        let (word, bit) = (&mut self.is_changed[rank / 64], 1 << (rank % 64));
        self.left += usize::from(*word & bit == 0);
        *word |= bit;
    }

    /// The next changed rank in a word, which is taken from it.
    #[inline]
    fn take(&mut self, word: usize) -> Option<usize> {
        let marks = &mut self.is_changed[word];
        let bit = (*marks != 0).then(|| marks.trailing_zeros() as usize)?;
        *marks &= *marks - 1;
        self.left -= 1;
        Some(64 * word + bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::References;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        #[test]
        fn groups_keep_alive_what_no_walk_without_them_reaches(
            lists in prop::collection::vec(prop::collection::vec(0usize..24, 0..3), 24),
            roots in prop::collection::vec(0usize..24, 0..3),
            groups in prop::collection::vec(0usize..6, 24),
            class_objects in prop::collection::vec(prop::option::weighted(0.4, 0usize..24), 6),
        ) {
            let references = References::<u32>::of_lists(&lists);
            let units: Vec<u32> = (0..24).map(|object| 1 << (object % 20)).collect();
            let class_of: Vec<_> = groups.iter().map(|&class| ClassNumber::new(class)).collect();
            let links = Links::new(&references, &class_of, &class_objects);
            let store = Store::memory();
            let tree = super::super::build(&links, &roots, &units, &store, 2).unwrap();
            let grouping = Grouping { group_of: vec![0, 1, 2, 3, 3, 4], groups: 5 };
            let group = |object: usize| grouping.group_of[class_of[object].index()];
            let found = sum(&links, &tree, &roots, &store, std::slice::from_ref(&grouping)).unwrap();
            let (sums, is_exact) = &found[0];
            prop_assert!(is_exact);
            let bytes_reached = |without: Option<u32>| {
                let mut seen = vec![false; lists.len()];
                let mut todo = roots.clone();
                while let Some(object) = todo.pop() {
                    if !seen[object] && Some(group(object)) != without {
                        seen[object] = true;
                        todo.extend(&lists[object]);
                        todo.extend(class_objects[class_of[object].index()]);
                    }
                }
                let reached = (0..lists.len()).filter(|&object| seen[object]);
                reached.map(|object| 8 * u64::from(units[object])).sum::<u64>()
            };
            for group in 0..5 {
                let retained = bytes_reached(None) - bytes_reached(Some(group));
                prop_assert_eq!(sums[group as usize].retained_bytes, retained, "group {}", group);
            }
        }
    }
}
