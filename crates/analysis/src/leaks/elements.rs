//! The elements of a collection, and the nodes of a list of the program's own.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::candidates::SAMPLE;
use super::chains::{Branches, Way};
use super::down::largest;
use super::fill::{ClassShare, by_name};
use super::filling::References;
use super::parts::{Parts, Role};
use crate::graph::ReferenceKind;
use crate::numbers::{ClassNumber, Place};
use crate::snapshot::{Snapshot, Value};

/// The elements that are looked into, if they are collections or of the program.
pub(super) const COLLECTIONS: usize = 1000;
/// Steps from an element down to what it keeps.
pub(super) const STEPS: usize = 8;

/// The objects directly under an object, beyond its parts if it is a collection or the head of a list.
#[derive(Default)]
pub(super) struct Elements {
    /// The elements by class, with the bytes that they keep alive; the largest first.
    pub shares: Vec<ClassShare>,
    /// The parts by class, with the bytes that they take themselves; the largest first.
    pub parts: Vec<ClassShare>,
    /// The elements that keep most alive.
    pub largest: Vec<Place>,
    /// The nodes of a list or tree of the program's own.
    pub chained: u64,
    /// The nodes of a collection that the program has written itself.
    pub own_nodes: u64,
    /// Both kinds of nodes by class, with the bytes that they take themselves; the largest first.
    pub links: Vec<ClassShare>,
    /// The references among elements and parts, if there are some.
    pub references: Option<References>,
    /// Some elements.
    pub sample: Vec<Place>,
    /// The elements that are collections, as far as they are looked into.
    pub(super) collections: Vec<Place>,
    /// True if there are more of them.
    pub(super) has_more: bool,
    /// The elements of classes of the program, as far as they are looked into.
    pub(super) own: Vec<Place>,
    /// True if there are more of them.
    pub(super) has_more_own: bool,
    /// The elements that are not shown.
    hidden: Vec<Place>,
}

/// The elements under objects for which `is_shown` holds; `most` of the largest. The first object is a collection, the
/// head of a list or a holder of elements; the others, if there are any, are further nodes of the list.
pub(super) fn elements(
    snapshot: &Snapshot,
    parts: &Parts<'_>,
    from: &[(Place, Way<Place>)],
    most: usize,
    is_shown: impl Fn(Place) -> bool,
) -> Elements {
    let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
    let mut found = Elements::default();
    let mut shares: FxHashMap<ClassNumber, (u64, u64)> = FxHashMap::default();
    let mut inner: FxHashMap<ClassNumber, (u64, u64)> = FxHashMap::default();
    let mut links: FxHashMap<ClassNumber, (u64, u64)> = FxHashMap::default();
    let add = |sums: &mut FxHashMap<ClassNumber, (u64, u64)>, place, bytes| {
        let class = graph.class_of(dominators.object(place));
        let sum = sums.entry(class).or_default();
        *sum = (sum.0 + 1, sum.1 + bytes);
    };
    let own = |place| graph.size(dominators.object(place));
    let mut references = ReferencesSeen::default();
    let mut largest = std::collections::BinaryHeap::new();
    let branches = Branches::new(parts);
    // With the way to the object above, which many of a table share, or with the way to the object itself.
    let mut todo: Vec<(Place, Place, Rc<Way<Place>>)> = (from.iter())
        .map(|&(place, way)| (place, place, Rc::new(way)))
        .collect();
    while let Some((place, container, above)) = todo.pop() {
        let way = match above.place() == place {
            true => above,
            false => Rc::new(above.down(parts, place, container)),
        };
        for child in dominators.children(Some(place)) {
            references.see(snapshot, child);
            let mut go = |child, container| todo.push((child, container, Rc::clone(&way)));
            if let Some(inside) = parts.collection_of(container, place, child) {
                add(&mut inner, child, own(child));
                if parts.is_own_node(child) {
                    found.own_nodes += 1;
                    add(&mut links, child, own(child));
                }
                go(child, inside);
            } else if let Some(inside) = way.chained(parts, child) {
                found.chained += 1;
                add(&mut inner, child, own(child));
                add(&mut links, child, own(child));
                go(child, inside);
            } else if branches.is_branch(place, child) {
                add(&mut inner, child, own(child));
                go(child, child);
            } else if is_shown(child) {
                let bytes = dominators.retained(child);
                add(&mut shares, child, bytes);
                largest.push(std::cmp::Reverse((bytes, std::cmp::Reverse(child))));
                if largest.len() > most {
                    largest.pop();
                }
                if found.sample.len() < SAMPLE {
                    found.sample.push(child);
                }
                if parts.role(child) == Role::Collection || parts.is_array_of_objects(child) {
                    match found.collections.len() < COLLECTIONS {
                        true => found.collections.push(child),
                        false => found.has_more = true,
                    }
                } else if parts.role(child) == Role::Plain && parts.is_own(child) {
                    match found.own.len() < COLLECTIONS {
                        true => found.own.push(child),
                        false => found.has_more_own = true,
                    }
                }
            } else {
                found.hidden.push(child);
            }
        }
    }
    if found.chained > 0 {
        // Those at which it begins are nodes, too.
        for &(place, _) in from {
            found.chained += 1;
            add(&mut inner, place, own(place));
            add(&mut links, place, own(place));
        }
    }
    let largest = largest.into_sorted_vec().into_iter();
    let place = |std::cmp::Reverse((_, std::cmp::Reverse(place)))| place;
    Elements {
        shares: by_name(snapshot, shares.into_iter()),
        parts: by_name(snapshot, inner.into_iter()),
        links: by_name(snapshot, links.into_iter()),
        largest: largest.map(place).collect(),
        references: references.of_main_class(snapshot),
        ..found
    }
}

/// References that were seen, by class: their kind, those looked at and those of these without a referent.
#[derive(Default)]
struct ReferencesSeen(FxHashMap<ClassNumber, (ReferenceKind, u64, u64)>);

impl ReferencesSeen {
    fn see(&mut self, snapshot: &Snapshot, place: Place) {
        let graph = snapshot.graph();
        let object = snapshot.dominators().object(place);
        let class = graph.class_of(object);
        let Some(kind) = graph.classes().get(class).reference_kind else {
            return;
        };
        let seen = self.0.entry(class).or_insert((kind, 0, 0));
        if seen.1 < COLLECTIONS as u64 {
            seen.1 += 1;
            seen.2 += u64::from(snapshot.field(object, "referent") == Some(Value::Null));
        }
    }

    fn of_main_class(self, snapshot: &Snapshot) -> Option<References> {
        let seen = self.0.into_iter();
        let main = seen.max_by_key(|(class, (_, looked_at, _))| (*looked_at, *class));
        main.map(|(class, (kind, looked_at, cleared))| References {
            class: snapshot.graph().classes().get(class).name.clone(),
            kind,
            looked_at,
            cleared,
        })
    }
}

impl Elements {
    /// Counts nodes at which a list begins, if others of their classes follow.
    pub fn count_links(&mut self, snapshot: &Snapshot, places: &[Place]) {
        let name = |place: &Place| snapshot.class_name(snapshot.dominators().object(*place));
        for place in places {
            let object = snapshot.dominators().object(*place);
            let class = name(place);
            let bytes = snapshot.graph().size(object);
            let mut rows = self.links.iter_mut().chain(&mut self.parts);
            while let Some(row) = rows.find(|row| row.name == class) {
                row.objects += 1;
                row.bytes += bytes;
            }
        }
        // Of classes of one size that of the first node says most.
        let first = places.first().map(name);
        let is_other = |row: &ClassShare| first != Some(row.name.as_str());
        self.links
            .sort_by_key(|row| (std::cmp::Reverse(row.bytes), is_other(row)));
    }

    /// Elements and parts by class, the largest first.
    pub fn rows(&self) -> Vec<ClassShare> {
        let mut rows: Vec<ClassShare> = self.shares.clone();
        rows.extend(self.parts.iter().cloned());
        rows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        rows
    }

    /// The places of all that an object keeps alive, itself included, without the elements that are not shown.
    pub fn shown_ranges(&self, snapshot: &Snapshot, from: Place) -> Vec<(Place, Place)> {
        let dominators = snapshot.dominators();
        let mut hidden = self.hidden.clone();
        hidden.sort_unstable();
        let mut start = from;
        let mut ranges = Vec::with_capacity(hidden.len() + 1);
        for place in hidden {
            ranges.push((start, place));
            start = dominators.end(place);
        }
        ranges.push((start, dominators.end(from)));
        ranges
    }

    /// The classes of the objects that keep most of what the largest element of a class keeps alive, from it down to a
    /// class or loader.
    pub fn main_classes(&self, snapshot: &Snapshot, class: &str) -> Vec<String> {
        let dominators = snapshot.dominators();
        let name = |place| snapshot.class_name(dominators.object(place));
        let first = self.largest.iter().find(|&&place| name(place) == class);
        let below = |&place: &Place| {
            let next = largest(snapshot, place)?;
            let enough = dominators.retained(place) / 2;
            (dominators.retained(next) >= enough).then_some(next)
        };
        let is_object = |&place: &Place| {
            let object = dominators.object(place);
            snapshot.graph().class_of_object(object).is_none()
        };
        let way = std::iter::successors(first.copied(), below).skip(1);
        let way = way.take(STEPS).take_while(is_object);
        way.map(|place| name(place).to_owned()).collect()
    }
}
