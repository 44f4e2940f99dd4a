//! Finds what keeps much of a heap alive: single objects, what is left of an object beside its
//! largest children, and groups of objects of one class.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::numbers::{ClassNumber, Place};
use crate::snapshot::Snapshot;

/// Objects of one class that follow one another are a list from this number on.
pub(super) const LIST: usize = 16;
/// Members of a group that are looked at.
pub(super) const SAMPLE: usize = 200;

/// Something that keeps much alive.
pub(super) struct Candidate {
    /// Places in the dominator tree, the largest first.
    pub members: Vec<Place>,
    /// How many there are in all.
    pub count: u64,
    /// The bytes that they keep alive.
    pub bytes: u64,
    /// True if other candidates are below it, of which nothing is in `bytes`.
    pub is_rest: bool,
    /// The class, if the members are suspected for their number.
    pub group: Option<String>,
}

/// All that keeps at least `threshold` bytes alive and is not within another candidate.
pub(super) fn candidates(snapshot: &Snapshot, threshold: u64) -> Vec<Candidate> {
    let dominators = snapshot.dominators();
    let mut found = Vec::new();
    let mut todo = vec![None];
    while let Some(place) = todo.pop() {
        let (mut big, mut rest) = (Vec::new(), 0);
        for child in dominators.children(place) {
            match dominators.retained(child) {
                bytes if bytes >= threshold => big.push(child),
                bytes => rest += bytes,
            }
        }
        match place {
            None => found.extend(groups(snapshot, threshold)),
            Some(place) if big.is_empty() => {
                let place = list_start(snapshot, place);
                found.push(Candidate {
                    members: vec![place],
                    count: 1,
                    bytes: dominators.retained(place),
                    is_rest: false,
                    group: None,
                });
            }
            Some(place) if rest >= threshold => found.push(Candidate {
                members: vec![place],
                count: 1,
                bytes: rest,
                is_rest: true,
                group: None,
            }),
            Some(_) => {}
        }
        todo.extend(big.into_iter().map(Some));
    }
    disjoint(snapshot, found)
}

/// Leaves those candidates out that lie within another one: that of a list starts at its first
/// node, above what the other nodes hold.
fn disjoint(snapshot: &Snapshot, found: Vec<Candidate>) -> Vec<Candidate> {
    let whole: Vec<std::ops::Range<Place>> = (found.iter())
        .filter(|candidate| candidate.group.is_none() && !candidate.is_rest)
        .map(|candidate| candidate.members[0])
        .map(|place| place..snapshot.dominators().end(place))
        .collect();
    let is_within = |candidate: &Candidate| {
        let place = candidate.members[0];
        let mut above = whole.iter().filter(|range| range.contains(&place));
        match candidate.is_rest {
            true => above.next().is_some(),
            false => above.any(|range| range.start != place),
        }
    };
    let mut seen = FxHashSet::default();
    let mut left = found;
    left.retain(|candidate| {
        candidate.group.is_some()
            || !is_within(candidate) && seen.insert((candidate.members[0], candidate.is_rest))
    });
    left
}

/// The first node of the list that a place is a node of, or the place itself. Each node of a list
/// dominates the next one, so the last one that keeps enough alive lies anywhere.
fn list_start(snapshot: &Snapshot, place: Place) -> Place {
    let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
    let class = graph.class_of(dominators.object(place));
    let above = |&place: &Place| {
        let above = dominators.above(place)?;
        // In a tree of nodes others keep alive as much.
        let is_main = dominators.retained(place) >= dominators.retained(above) / 10 * 9;
        let is_node = graph.class_of(dominators.object(above)) == class;
        (is_node && is_main).then_some(above)
    };
    let (mut start, mut length) = (place, 0);
    for node in std::iter::successors(Some(place), above) {
        (start, length) = (node, length + 1);
    }
    if length >= LIST { start } else { place }
}

/// Objects under the roots that keep little alive each, but much as a class.
fn groups(snapshot: &Snapshot, threshold: u64) -> Vec<Candidate> {
    let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
    let small = || {
        let children = dominators.children(None);
        children.filter(|&child| {
            let object = dominators.object(child);
            dominators.retained(child) < threshold && graph.class_of_object(object).is_none()
        })
    };
    let mut sums: FxHashMap<ClassNumber, (u64, u64)> = FxHashMap::default();
    for child in small() {
        let sum = sums
            .entry(graph.class_of(dominators.object(child)))
            .or_default();
        sum.0 += 1;
        sum.1 += dominators.retained(child);
    }
    sums.retain(|_, sum| sum.1 >= threshold);
    let group = |(class, (count, bytes)): (ClassNumber, (u64, u64))| {
        let mut members: Vec<Place> = small()
            .filter(|&child| graph.class_of(dominators.object(child)) == class)
            .collect();
        members.sort_by_key(|&place| (std::cmp::Reverse(dominators.retained(place)), place));
        members.truncate(SAMPLE);
        Candidate {
            members,
            count,
            bytes,
            is_rest: false,
            group: Some(graph.classes().get(class).name.clone()),
        }
    };
    sums.into_iter().map(group).collect()
}
