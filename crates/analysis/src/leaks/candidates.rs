//! Finds what keeps much of a heap alive: single objects, what is left of an object beside others that keep much
//! themselves, groups of objects of one class, and pools of threads.

use rustc_hash::{FxHashMap, FxHashSet};

use super::chains::{Branches, Way};
use super::parts::{Parts, Role};
use super::pools::{Pool, pools};
use super::registries;
use super::start::{is_built_in_loader, is_of_the_jdk};
use crate::names::family;
use crate::numbers::{ClassNumber, Place};
use crate::snapshot::Snapshot;

/// Nodes that follow one another are a list from this number on.
pub(super) const LIST: u64 = 16;
/// Members of a group that are looked at.
pub(super) const SAMPLE: usize = 200;

/// Cleaners of direct buffers, which the JDK lists beside the buffers that they belong to: the holder of the buffers is
/// the suspect.
const CLEANERS: [&str; 3] = [
    "java.nio.BufferCleaner$PhantomCleaner",
    "jdk.internal.ref.Cleaner",
    "sun.misc.Cleaner",
];

/// Something that keeps much alive.
pub(super) struct Candidate {
    /// Places in the dominator tree, the largest first.
    pub members: Vec<Place>,
    /// How many there are in all.
    pub count: u64,
    /// The bytes that they keep alive, without those of other candidates below them.
    pub bytes: u64,
    /// The kind.
    pub kind: Kind,
}

impl Candidate {
    /// An object with all that it keeps alive.
    pub fn one(snapshot: &Snapshot, place: Place) -> Self {
        Self {
            members: vec![place],
            count: 1,
            bytes: snapshot.dominators().retained(place),
            kind: Kind::Whole,
        }
    }
}

/// The kinds of candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// One object with all that it keeps alive.
    Whole,
    /// One object without what other candidates keep alive.
    Rest,
    /// Objects of a class, suspected for their number.
    Group(String),
    /// Hidden classes of one name, by their class objects.
    HiddenClasses(String),
    /// Threads.
    Pool(Pool),
}

/// An object that keeps much alive, during the search.
struct Anchor {
    place: Place,
    above: usize,
    /// The bytes of other anchors under this one.
    below: u64,
    has_others: bool,
    /// True of a link in a chain that belongs to the anchor above.
    is_link: bool,
}

/// All that keeps at least `threshold` bytes alive and is not within another candidate.
pub(super) fn candidates(snapshot: &Snapshot, parts: &Parts<'_>, threshold: u64) -> Vec<Candidate> {
    let pools = pools(snapshot, threshold);
    let pooled: FxHashSet<Place> = (pools.iter().flat_map(|it| it.members.iter()))
        .copied()
        .collect();
    let mut found = groups(snapshot, threshold, &pooled);
    found.extend(hidden_classes(snapshot, threshold));
    found.extend(singles(snapshot, parts, threshold, &pooled));
    found.extend(pools.into_iter().map(|pool| Candidate {
        members: pool.members.clone(),
        count: pool.members.len() as u64,
        bytes: pool.bytes,
        kind: Kind::Pool(pool),
    }));
    found
}

/// A place on the way down, with the anchor that it belongs to and the collection that it is a part of.
#[derive(Clone, Copy)]
struct Step {
    place: Place,
    anchor: usize,
    container: Place,
}

/// Single objects. The search goes from the roots down, through each object that keeps enough alive. It takes a
/// collection or a list as a whole, with its parts and nodes.
fn singles(
    snapshot: &Snapshot,
    parts: &Parts<'_>,
    threshold: u64,
    pooled: &FxHashSet<Place>,
) -> Vec<Candidate> {
    let dominators = snapshot.dominators();
    let is_big = |place: &Place| dominators.retained(*place) >= threshold;
    let anchor = |place, above| Anchor {
        place,
        above,
        below: 0,
        has_others: false,
        is_link: false,
    };
    let branches = Branches::new(parts);
    let mut anchors: Vec<Anchor> = Vec::new();
    let mut todo: Vec<(Step, Way<Step>)> = Vec::new();
    let tops = dominators.children(None).filter(is_big);
    for place in tops.filter(|place| !pooled.contains(place)) {
        let step = Step {
            place,
            anchor: anchors.len(),
            container: place,
        };
        anchors.push(anchor(place, anchors.len()));
        todo.push((step, Way::from(parts, place, step)));
    }
    while let Some((at, way)) = todo.pop() {
        for child in dominators.children(Some(at.place)).filter(is_big) {
            let (anchor, container) = if let Some(first) = way.chained(parts, child) {
                // What lies between two nodes of a chain is no suspect either.
                let mut between = at.anchor;
                while between > first.anchor {
                    anchors[between].is_link = true;
                    between = anchors[between].above;
                }
                (first.anchor, first.container)
            } else if let Some(inside) = parts.collection_of(at.container, at.place, child) {
                (at.anchor, inside)
            } else if branches.is_branch(at.place, child) {
                (at.anchor, child)
            } else {
                anchors.push(anchor(child, at.anchor));
                (anchors.len() - 1, child)
            };
            let step = Step {
                place: child,
                anchor,
                container,
            };
            todo.push((step, way.down(parts, child, step)));
        }
    }
    join_elements(snapshot, parts, &mut anchors);
    let within = registries::is_within(parts, &anchors, |it| it.place, |it| it.above);
    for (anchor, is_within) in anchors.iter_mut().zip(within) {
        anchor.is_link |= is_within;
    }
    // Those below come after those above.
    for at in (0..anchors.len()).rev() {
        let (above, place) = (anchors[at].above, anchors[at].place);
        if above == at {
            continue;
        }
        let (below, has_others) = match anchors[at].is_link {
            true => (anchors[at].below, anchors[at].has_others),
            false => (dominators.retained(place), true),
        };
        anchors[above].below += below;
        anchors[above].has_others |= has_others;
    }
    let anchors = anchors.into_iter().filter(|it| !it.is_link);
    let candidates = anchors.map(|it| Candidate {
        members: vec![it.place],
        count: 1,
        bytes: dominators.retained(it.place).saturating_sub(it.below),
        kind: match it.has_others {
            true => Kind::Rest,
            false => Kind::Whole,
        },
    });
    candidates.filter(|it| it.bytes >= threshold).collect()
}

/// Collections of one class that are nearly all of another collection, such as its shards, belong to that one: it has the
/// size of all.
fn join_elements(snapshot: &Snapshot, parts: &Parts<'_>, anchors: &mut [Anchor]) {
    /// The share of a collection that its elements are at least.
    const NEARLY_ALL: f64 = 0.9;
    /// The share of a collection that one element is at most: a larger one is the suspect.
    const ONE: f64 = 0.6;
    let dominators = snapshot.dominators();
    let holds = |place| parts.role(place) == Role::Collection || parts.is_array_of_objects(place);
    let mut below: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for (at, anchor) in anchors.iter().enumerate().filter(|(_, it)| !it.is_link) {
        if anchor.above != at {
            below.entry(anchor.above).or_default().push(at);
        }
    }
    let mut joined = Vec::new();
    for (&above, elements) in &below {
        let all = dominators.retained(anchors[above].place) as f64;
        let class = parts.class(anchors[elements[0]].place);
        let is_one_of_them = |&at: &usize| {
            let place = anchors[at].place;
            parts.class(place) == class
                && holds(place)
                && !below.contains_key(&at)
                && dominators.retained(place) as f64 <= all * ONE
        };
        let sum: u64 = (elements.iter())
            .map(|&at| dominators.retained(anchors[at].place))
            .sum();
        if elements.len() > 1
            && holds(anchors[above].place)
            && sum as f64 >= all * NEARLY_ALL
            && elements.iter().all(is_one_of_them)
        {
            joined.extend_from_slice(elements);
        }
    }
    for at in joined {
        anchors[at].is_link = true;
    }
}

/// Objects under the roots or the loaders of the JDK that keep little alive each, but much as a class.
fn groups(snapshot: &Snapshot, threshold: u64, pooled: &FxHashSet<Place>) -> Vec<Candidate> {
    let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
    // What several classes hold hangs on their loader.
    let is_loader = |&place: &Place| {
        let object = dominators.object(place);
        graph.class_of_object(object).is_none() && is_built_in_loader(snapshot.class_name(object))
    };
    let loaders: Vec<Place> = dominators.children(None).filter(is_loader).collect();
    let small = || {
        let of_loaders = loaders.iter().copied().map(Some);
        let parents = std::iter::once(None).chain(of_loaders);
        let children = parents.flat_map(|parent| dominators.children(parent));
        children.filter(|&child| {
            let object = dominators.object(child);
            dominators.retained(child) < threshold
                && graph.class_of_object(object).is_none()
                && !CLEANERS.contains(&snapshot.class_name(object))
                && !pooled.contains(&child)
        })
    };
    let mut sums: FxHashMap<ClassNumber, (u64, u64)> = FxHashMap::default();
    for child in small() {
        let class = graph.class_of(dominators.object(child));
        let sum = sums.entry(class).or_default();
        *sum = (sum.0 + 1, sum.1 + dominators.retained(child));
    }
    // Generated classes are many with one object each.
    let mut families: FxHashMap<String, (Vec<ClassNumber>, u64, u64)> = FxHashMap::default();
    for (class, (count, bytes)) in sums {
        let name = family(&graph.classes().get(class).name).into_owned();
        let sum = families.entry(name).or_default();
        sum.0.push(class);
        *sum = (std::mem::take(&mut sum.0), sum.1 + count, sum.2 + bytes);
    }
    families.retain(|_, sum| sum.2 >= threshold);
    let group = |(name, (classes, count, bytes)): (String, (Vec<ClassNumber>, u64, u64))| {
        let is_one = |&child: &Place| classes.contains(&graph.class_of(dominators.object(child)));
        let mut members: Vec<Place> = small().filter(is_one).collect();
        members.sort_by_key(|&place| (std::cmp::Reverse(dominators.retained(place)), place));
        members.truncate(SAMPLE);
        Candidate {
            members,
            count,
            bytes,
            kind: Kind::Group(name),
        }
    };
    families.into_iter().map(group).collect()
}

/// Hidden classes of the program that keep little alive each, but much as those of one name. The loader that they are
/// listed under says nothing.
fn hidden_classes(snapshot: &Snapshot, threshold: u64) -> Vec<Candidate> {
    let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
    let mut by_name: FxHashMap<String, Vec<Place>> = FxHashMap::default();
    for class in graph.classes().list() {
        let name = family(&class.name);
        let place = || dominators.place(graph.number(class.id)?);
        if class.id == 0 || *name == class.name || is_of_the_jdk(&name) {
            continue;
        }
        if let Some(place) = place().filter(|&it| dominators.retained(it) < threshold) {
            let above = dominators.above(place).map(|it| dominators.object(it));
            if above.is_none_or(|it| is_built_in_loader(snapshot.class_name(it))) {
                by_name.entry(name.into_owned()).or_default().push(place);
            }
        }
    }
    let candidate = |(name, mut members): (String, Vec<Place>)| {
        let bytes = members.iter().map(|&it| dominators.retained(it)).sum();
        members.sort_by_key(|&place| (std::cmp::Reverse(dominators.retained(place)), place));
        (bytes >= threshold && members.len() > 1).then_some(Candidate {
            count: members.len() as u64,
            members,
            bytes,
            kind: Kind::HiddenClasses(name),
        })
    };
    by_name.into_iter().filter_map(candidate).collect()
}
