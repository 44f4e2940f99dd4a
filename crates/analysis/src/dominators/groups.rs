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
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::Dominators;
use super::group_sets::{EMPTY, Sets, UNKNOWN};
use super::joins::{JoinReferences, Joins};
use super::stack::Stack;
use super::tree::Tree;
use super::ways::{NO_WAY, Ways};
use crate::gate;
use crate::graph::{Array, ClassView, Graph, Links, Number, Store, Width};
use crate::numbers::ClassNumber;
use crate::parallel;
use crate::trace::{Work, phase};

/// How often joins are looked at on average before the answer is given up.
const MAX_LOOKS: usize = 64;

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
    links.set_hot(true);
    let joins = phase(Work::Joins, 0, || Joins::new(links, tree, roots, store));
    links.set_hot(false);
    let mut joins = joins?;
    let classes = tree.classes(links, store)?;
    let (ways, by_source) = ways_to_sources(&joins, tree, classes.view(), groupings, store)?;
    let references = joins.take_references(&by_source);
    drop(by_source);
    let mut rank_of = store.zeros::<N>(references.order.len())?;
    let ranked = references.order.iter().enumerate();
    for (rank, join) in ranked.filter(|(_, join)| **join != N::NONE) {
        gate::pass();
        rank_of[join.get()] = N::of(rank);
    }
    let ways: Vec<_> = (ways.into_groupings().into_iter())
        .map(Mutex::new)
        .collect();
    let parts = parallel::run(0, groupings.len(), |tasks| {
        let one = |task: usize| {
            let mut way = ways[task].lock().unwrap_or_else(PoisonError::into_inner);
            let solved = match way.take() {
                Some((sets, set_of_way)) => solve(&references, &rank_of, sets, &set_of_way, store)?,
                None => None,
            };
            Ok((task, solved))
        };
        tasks.map(one).collect::<Vec<io::Result<_>>>()
    });
    let mut solved = parts
        .into_iter()
        .flatten()
        .collect::<io::Result<Vec<_>>>()?;
    solved.sort_by_key(|&(task, _)| task);
    let solved: Vec<Option<Solved>> = solved.into_iter().map(|(_, solved)| solved).collect();
    drop((references, rank_of));
    let sums = sums(&joins, tree, classes.view(), groupings, &solved);
    let is_exact = solved.iter().map(Option::is_some);
    Ok(sums.into_iter().zip(is_exact).collect())
}

/// Sums up what is below the topmost objects of each group, and below joins that it dominates; for
/// each grouping, by group.
fn sums<N: Number>(
    joins: &Joins<N>,
    tree: &Tree<N>,
    classes: ClassView<'_>,
    groupings: &[Grouping],
    solved: &[Option<Solved>],
) -> Vec<Vec<GroupSum>> {
    let ranges = parallel::threads(0);
    let range = tree.len().div_ceil(ranges).max(1);
    let parts = parallel::run(0, tree.len().div_ceil(range), |tasks| {
        let mut summing = Summing::new(joins, tree, groupings, solved);
        for task in tasks {
            summing.add(classes, range * task..tree.len().min(range * (task + 1)));
        }
        summing.finish()
    });
    let mut all: Vec<Vec<GroupSum>> = (groupings.iter())
        .map(|grouping| vec![GroupSum::default(); grouping.groups])
        .collect();
    for part in &parts {
        for (sum, more) in all.iter_mut().flatten().zip(part.iter().flatten()) {
            sum.objects += more.objects;
            sum.shallow_bytes += more.shallow_bytes;
            sum.retained_bytes += more.retained_bytes;
        }
    }
    all
}

/// The sums of one thread.
struct Summing<'a, N> {
    joins: &'a Joins<N>,
    tree: &'a Tree<N>,
    groupings: &'a [Grouping],
    solved: &'a [Option<Solved>],
    sums: Vec<Vec<GroupSum>>,
    /// By grouping and group: the place after the objects that it was last found to keep alive.
    /// Places come in the order of the tree, so an object before that lies under them.
    covered: Vec<Vec<usize>>,
    /// By class: objects, and their bytes.
    by_class: Vec<(u64, u64)>,
    /// By class: a place before which its groups keep alive all of its objects.
    all_covered: Vec<usize>,
}

impl<'a, N: Number> Summing<'a, N> {
    fn new(
        joins: &'a Joins<N>,
        tree: &'a Tree<N>,
        groupings: &'a [Grouping],
        solved: &'a [Option<Solved>],
    ) -> Self {
        let groups = groupings.iter().map(|grouping| grouping.groups);
        let classes = groupings.iter().map(|grouping| grouping.group_of.len());
        let classes = classes.max().unwrap_or(0);
        Self {
            joins,
            tree,
            groupings,
            solved,
            sums: (groups.clone())
                .map(|groups| vec![GroupSum::default(); groups])
                .collect(),
            covered: groups.map(|groups| vec![0; groups]).collect(),
            by_class: vec![(0, 0); classes],
            all_covered: vec![0; classes],
        }
    }

    /// Adds a range of places.
    fn add(&mut self, classes: ClassView<'_>, range: Range<usize>) {
        // What was kept alive before may have been another part of the tree.
        self.covered.iter_mut().for_each(|covered| covered.fill(0));
        self.all_covered.fill(0);
        let above = std::iter::successors(self.tree.above(range.start), |&place| {
            self.tree.above(place)
        });
        for place in above {
            self.cover_all(place, classes.of(place), false);
        }
        for place in range {
            gate::pass();
            let class = classes.of(place);
            let Some(sum) = self.by_class.get_mut(class.index()) else {
                continue;
            };
            sum.0 += 1;
            sum.1 += self.tree.bytes(place, place + 1);
            if place >= self.all_covered[class.index()] || self.joins.is_join(place) {
                self.cover_all(place, class, true);
            }
        }
    }

    /// Notes what an object's groups keep alive with it. Without `adds`, what is found is in the
    /// sums of others.
    fn cover_all(&mut self, place: usize, class: ClassNumber, adds: bool) {
        let end = self.tree.end(place);
        let join = (self.joins.is_join(place)).then(|| self.joins.joins_before(place));
        let mut all_covered = usize::MAX;
        for (number, grouping) in self.groupings.iter().enumerate() {
            let (covered, sums) = (&mut self.covered[number], &mut self.sums[number]);
            let mut cover = |group: u32| {
                let covered = &mut covered[group as usize];
                if !adds {
                    *covered = end.max(*covered);
                } else if place >= *covered {
                    *covered = end;
                    sums[group as usize].retained_bytes += self.tree.bytes(place, end);
                }
                *covered
            };
            if let (Some(join), Some(Solved { sets, set_of })) = (join, &self.solved[number]) {
                for &group in sets.members_if_known(set_of[join]) {
                    cover(group);
                }
            }
            if let Some(&group) = grouping.group_of.get(class.index()) {
                all_covered = all_covered.min(cover(group));
            }
        }
        if let Some(known) = self.all_covered.get_mut(class.index()) {
            *known = all_covered;
        }
    }

    /// The sums of each grouping.
    fn finish(mut self) -> Vec<Vec<GroupSum>> {
        for (sums, grouping) in self.sums.iter_mut().zip(self.groupings) {
            for (&group, &(objects, bytes)) in grouping.group_of.iter().zip(&self.by_class) {
                let sum = &mut sums[group as usize];
                sum.objects += objects;
                sum.shallow_bytes += bytes;
            }
        }
        self.sums
    }
}

/// The ways to all sources, and by source which of them leads there from its head.
fn ways_to_sources<'a, N: Number>(
    joins: &Joins<N>,
    tree: &Tree<N>,
    classes: ClassView<'_>,
    groupings: &'a [Grouping],
    store: &Store,
) -> io::Result<(Ways<'a>, Array<u32>)> {
    let mut ways = Ways::new(groupings);
    let mut by_source = store.zeros::<u32>(joins.source_count())?;
    // The object above the present place, and those above it: where what is under each ends, and the way to it.
    let (mut nearest, mut above) = (None::<[N; 2]>, Stack::<N>::new());
    let mut sources = 0;
    for place in 0..tree.len() {
        gate::pass();
        let end = tree.end(place);
        let is_source = joins.is_source(place);
        if end == place + 1 && !is_source {
            continue;
        }
        while nearest.is_some_and(|[end, _]| end.get() <= place) {
            nearest = above.pop();
        }
        let before = match nearest {
            Some([_, way]) if !joins.is_join(place) => way.get() as u32,
            _ => NO_WAY,
        };
        let way = ways.with(before, classes.of(place));
        if is_source {
            by_source[sources] = way;
            sources += 1;
        }
        let this = [N::of(end), N::of(way as usize)];
        match nearest.replace(this) {
            // What is last under another needs no way back to that.
            Some(other) if other[0] != this[0] => above.push(store, other)?,
            _ => {}
        }
    }
    Ok((ways, by_source))
}

/// The groups that dominate all that refers to a join, as sets by join.
struct Solved {
    sets: Sets,
    set_of: Array<u32>,
}

/// By join, the groups that dominate all that refers to it; `None` if it was given up. `rank_of` is the inverse of the order of
/// `references`, and `set_of_way` has the groups between the head of a source and itself, both included, by way.
fn solve<N: Number>(
    references: &JoinReferences<N>,
    rank_of: &[N],
    sets: Sets,
    set_of_way: &[u32],
    store: &Store,
) -> io::Result<Option<Solved>> {
    let count = references.order.len();
    let mut set_of = store.filled(count, UNKNOWN)?;
    let mut round = Round {
        sets,
        set_of: &mut set_of,
        rank_of,
        is_changed: vec![0; count.div_ceil(64)],
        left: 0,
    };
    for [way, join] in references.from_roots.iter() {
        gate::pass();
        round.meet(join.get(), set_of_way[way.get()]);
    }
    let mut looks = 0;
    while round.left > 0 {
        for word in 0..round.is_changed.len() {
            // What comes later in the same word may change meanwhile.
            while let Some(rank) = round.take(word) {
                looks += 1;
                gate::pass();
                let join = references.order[rank].get();
                let own = round.set_of[join];
                for &[way, join] in references.under(join) {
                    let through = round.sets.both(own, set_of_way[way.get()]);
                    round.meet(join.get(), through);
                }
            }
        }
        if round.sets.is_full() || looks > MAX_LOOKS * (count + 1) {
            return Ok(None);
        }
    }
    let sets = round.sets;
    Ok((!sets.is_full()).then_some(Solved { sets, set_of }))
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
            has_room in any::<bool>(),
        ) {
            let references = References::<u32>::of_lists(&lists);
            let units: Vec<u32> = (0..24).map(|object| 1 << (object % 20)).collect();
            let class_of: Vec<_> = groups.iter().map(|&class| ClassNumber::new(class)).collect();
            let links = Links::new(&references, &*class_of, &class_objects);
            let store = match has_room {
                true => Store::memory(),
                false => Store::without_room(),
            };
            let tree = super::super::build(&links, &roots, &units.iter().copied().collect(), &store, 2).unwrap();
            // Neither is a division of the other.
            let groupings = [
                Grouping { group_of: vec![0, 1, 2, 3, 3, 4], groups: 5 },
                Grouping { group_of: vec![0, 1, 0, 1, 0, 0], groups: 2 },
            ];
            let found = sum(&links, &tree, &roots, &store, &groupings).unwrap();
            for (grouping, (sums, is_exact)) in groupings.iter().zip(&found) {
                let group = |object: usize| grouping.group_of[class_of[object].index()];
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
                for group in 0..grouping.groups as u32 {
                    let retained = bytes_reached(None) - bytes_reached(Some(group));
                    prop_assert_eq!(sums[group as usize].retained_bytes, retained, "group {}", group);
                }
            }
        }
    }
}
