//! Retained sizes of groups of objects, of all groups at once.
//!
//! A group *dominates* an object if every path from the roots to it leads through an object of the
//! group, be it this one or that. So what the objects of a group keep alive together is more than
//! what each of them keeps alive: an object that two of them share belongs to it.
//!
//! An object is dominated by its own group, and by those groups that dominate all objects that
//! refer to it, or are theirs. That is the greatest solution of a system of equations over sets of
//! groups, found by going round until nothing changes: in the order of a depth-first search turned
//! round, most objects come after all that refer to them, and are settled at once. Few sets are
//! different, so each is stored once and has a number, and what two sets have in common is kept.

use std::hash::{Hash, Hasher};
use std::io;

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};

use super::depth_first::{DepthFirst, depth_first};
use crate::graph::{Array, Graph, Links, Number, Store, Width};

/// Members of all sets together. Where there are more, the answer is given up.
const MAX_MEMBERS: usize = 16 << 20;
/// Answers about sets that are kept.
const MAX_KEPT: usize = 4 << 20;
/// How often objects are looked at on average before the answer is given up.
const MAX_LOOKS: usize = 64;

/// The bytes that each of `groups` groups keeps alive, itself included; `None` if too many sets
/// would have to be kept apart. `group_of` tells the group of each class.
///
/// # Errors
/// If the store cannot hold what is known of each object.
pub fn retained_by_groups(
    graph: &Graph,
    store: &Store,
    group_of: &[u32],
    groups: usize,
) -> io::Result<Option<Vec<u64>>> {
    let roots: Vec<usize> = graph.roots().iter().map(|root| root.object()).collect();
    let group = |object: usize| {
        let group = group_of.get(graph.class_of(object) as usize);
        group.copied().unwrap_or(0)
    };
    let sets = match graph.width() {
        Width::Narrow(references) => solve(&graph.links(references), &roots, &group, store)?,
        Width::Wide(references) => solve(&graph.links(references), &roots, &group, store)?,
    };
    let Some((mut sets, set_of)) = sets else {
        return Ok(None);
    };
    let mut bytes_of_set: FxHashMap<u32, u64> = FxHashMap::default();
    for (object, &set) in set_of.iter().enumerate() {
        if set != UNKNOWN {
            let all = sets.with(set, group(object));
            *bytes_of_set.entry(all).or_default() += graph.size(object);
        }
    }
    let mut bytes = vec![0; groups];
    for (set, sum) in bytes_of_set {
        for &group in sets.members(set) {
            if let Some(bytes) = bytes.get_mut(group as usize) {
                *bytes += sum;
            }
        }
    }
    Ok((!sets.is_full()).then_some(bytes))
}

/// The set without members.
const EMPTY: u32 = 0;
/// The set of all groups there are, until something is known.
const UNKNOWN: u32 = u32::MAX;

/// Sets of groups by number.
struct Sets {
    members: Vec<u32>,
    /// By set: where its members end.
    ends: Vec<usize>,
    by_members: HashTable<u32>,
    with: FxHashMap<(u32, u32), u32>,
    common: FxHashMap<(u32, u32), u32>,
}

fn hash(members: &[u32]) -> u64 {
    let mut hasher = FxHasher::default();
    members.hash(&mut hasher);
    hasher.finish()
}

impl Sets {
    fn new() -> Self {
        Self {
            members: Vec::new(),
            ends: vec![0],
            by_members: HashTable::new(),
            with: FxHashMap::default(),
            common: FxHashMap::default(),
        }
    }

    /// True if sets could not be stored, so that nothing that was found counts.
    fn is_full(&self) -> bool {
        self.members.len() > MAX_MEMBERS
    }

    fn members(&self, set: u32) -> &[u32] {
        members(&self.members, &self.ends, set)
    }

    fn number(&mut self, wanted: &[u32]) -> u32 {
        if wanted.is_empty() || self.is_full() {
            return EMPTY;
        }
        let hash_of = |&set: &u32| hash(members(&self.members, &self.ends, set));
        let is_same = |&set: &u32| members(&self.members, &self.ends, set) == wanted;
        if let Some(&set) = self.by_members.find(hash(wanted), is_same) {
            return set;
        }
        let set = self.ends.len() as u32;
        self.by_members.insert_unique(hash(wanted), set, hash_of);
        self.members.extend_from_slice(wanted);
        self.ends.push(self.members.len());
        set
    }

    /// A set with one more group.
    fn with(&mut self, set: u32, group: u32) -> u32 {
        if let Some(&known) = self.with.get(&(set, group)) {
            return known;
        }
        let members = self.members(set);
        let found = match members.binary_search(&group) {
            Ok(_) => set,
            Err(place) => {
                let more = [&members[..place], &[group], &members[place..]].concat();
                self.number(&more)
            }
        };
        if self.with.len() >= MAX_KEPT {
            self.with.clear();
        }
        self.with.insert((set, group), found);
        found
    }

    /// The intersection of two sets.
    fn common(&mut self, first: u32, second: u32) -> u32 {
        let key = (first.min(second), first.max(second));
        if let Some(&known) = self.common.get(&key) {
            return known;
        }
        let (first, second) = (self.members(key.0), self.members(key.1));
        let is_in_both = |group: &&u32| second.binary_search(group).is_ok();
        let both: Vec<u32> = first.iter().filter(is_in_both).copied().collect();
        let found = self.number(&both);
        if self.common.len() >= MAX_KEPT {
            self.common.clear();
        }
        self.common.insert(key, found);
        found
    }
}

fn members<'a>(members: &'a [u32], ends: &[usize], set: u32) -> &'a [u32] {
    let start = (set as usize).checked_sub(1).map_or(0, |set| ends[set]);
    &members[start..ends[set as usize]]
}

/// By object the groups that dominate all that refers to it.
fn solve<N: Number>(
    links: &Links<'_, N>,
    roots: &[usize],
    group: &dyn Fn(usize) -> u32,
    store: &Store,
) -> io::Result<Option<(Sets, Array<u32>)>> {
    links.set_hot(true);
    let (order, place) = turned_round(depth_first(links, roots, store)?, store)?;
    let reached = order.len();
    let mut set_of = store.filled(links.count(), UNKNOWN)?;
    set_of.set_hot(true);
    let mut sets = Sets::new();
    let mut is_changed = vec![0u64; reached.div_ceil(64)];
    {
        let set_of = &mut *set_of;
        let mut looks = 0;
        for &root in roots {
            set_of[root] = EMPTY;
        }
        for &object in &*order {
            set(&mut is_changed, place[object.get()].get());
        }
        let mut left = reached;
        while left > 0 {
            for word in 0..is_changed.len() {
                // What comes later in the same word may change meanwhile.
                while is_changed[word] != 0 {
                    let at = 64 * word + is_changed[word].trailing_zeros() as usize;
                    is_changed[word] &= is_changed[word] - 1;
                    left -= 1;
                    looks += 1;
                    let object = order[at].get();
                    if set_of[object] == UNKNOWN {
                        continue;
                    }
                    let through = sets.with(set_of[object], group(object));
                    links.each(object, |target| {
                        let before = set_of[target];
                        if before == EMPTY || before == through {
                            return;
                        }
                        let after = match before {
                            UNKNOWN => through,
                            before => sets.common(before, through),
                        };
                        if after != before {
                            set_of[target] = after;
                            left += set(&mut is_changed, place[target].get());
                        }
                    });
                }
            }
            if sets.is_full() || looks > MAX_LOOKS * reached {
                links.set_hot(false);
                return Ok(None);
            }
        }
    }
    links.set_hot(false);
    set_of.set_hot(false);
    Ok(Some((sets, set_of)))
}

/// Marks a place; the number of places that were not marked before.
fn set(marks: &mut [u64], place: usize) -> usize {
    let bit = 1 << (place % 64);
    let word = &mut marks[place / 64];
    let is_new = *word & bit == 0;
    *word |= bit;
    usize::from(is_new)
}

/// All objects that are reached, so that each comes before those under it, and what a search came
/// to later before what it came to earlier; and the place of each.
fn turned_round<N: Number>(
    search: DepthFirst<N>,
    store: &Store,
) -> io::Result<(Array<N>, Array<N>)> {
    let DepthFirst {
        vertex,
        parent,
        number: mut place,
        reached,
    } = search;
    // By number of the search: the objects under it, itself included.
    let mut under = store.filled(reached + 1, N::of(1))?;
    for at in (1..=reached).rev() {
        let above = parent[at].get();
        under[above] = N::of(under[above].get() + under[at].get());
    }
    let mut order = store.filled(reached, N::NONE)?;
    {
        // By number: the place after the next object under it; places are given from the end.
        let mut end = store.filled(reached + 1, N::of(reached))?;
        let (order, end, place) = (&mut *order, &mut *end, &mut *place);
        for at in 1..=reached {
            let above = parent[at].get();
            let own = end[above].get() - under[at].get();
            let behind = end[above];
            end[above] = N::of(own);
            end[at] = behind;
            order[own] = vertex[at];
            place[vertex[at].get()] = N::of(own);
        }
    }
    place.set_hot(true);
    Ok((order, place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::References;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn groups_keep_alive_what_no_walk_without_them_reaches(
            lists in prop::collection::vec(prop::collection::vec(0usize..24, 0..4), 24),
            roots in prop::collection::vec(0usize..24, 0..3),
            groups in prop::collection::vec(0u32..6, 24),
        ) {
            let references = References::<u32>::of_lists(&lists);
            let class_of = vec![0; lists.len()];
            let links = Links::new(&references, &class_of, &[None]);
            let group = |object: usize| groups[object];
            let solved = solve(&links, &roots, &group, &Store::memory()).unwrap();
            let (mut sets, set_of) = solved.expect("few sets");
            let walk = |without: Option<u32>| {
                let mut seen = vec![false; lists.len()];
                let mut todo = roots.clone();
                while let Some(object) = todo.pop() {
                    if !seen[object] && Some(groups[object]) != without {
                        seen[object] = true;
                        todo.extend(&lists[object]);
                    }
                }
                seen
            };
            let live = walk(None);
            for group in 0..6 {
                let left = walk(Some(group));
                for object in 0..lists.len() {
                    let is_dominated = set_of[object] != UNKNOWN && {
                        let all = sets.with(set_of[object], groups[object]);
                        sets.members(all).contains(&group)
                    };
                    prop_assert_eq!(is_dominated, live[object] && !left[object]);
                }
            }
        }
    }
}
