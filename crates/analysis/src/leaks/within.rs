//! The objects within the elements that fill a suspect: the elements of collections, and of those that objects of the
//! program consist of.

use rustc_hash::FxHashMap;

use super::chains::Way;
use super::down::largest;
use super::elements::{COLLECTIONS, Elements, STEPS, elements};
use super::filling::Within;
use super::parts::{Parts, Role};
use super::start::{is_built_in_loader, is_of_the_jdk};
use crate::numbers::Place;
use crate::snapshot::Snapshot;

/// Collections within collections that are looked into.
const LEVELS: usize = 3;
/// The share of what an object keeps alive that is most of it.
const MAIN: f64 = 0.7;
/// The class of class loaders.
const LOADER: &str = "java.lang.ClassLoader";
/// The part of the names of classes that stand for lambda expressions.
pub(super) const LAMBDA: &str = "$$Lambda";

impl Elements {
    /// The class whose objects fill those elements that are collections of a class, or consist of a collection.
    pub fn within(&self, snapshot: &Snapshot, parts: &Parts<'_>, class: &str) -> Option<Within> {
        let name = |place| snapshot.class_name(snapshot.dominators().object(place));
        let of_class = |level: &[Place]| -> Vec<Place> {
            let places = level.iter().copied();
            places.filter(|&place| name(place) == class).collect()
        };
        let collections = of_class(&self.collections);
        if !collections.is_empty() {
            let within = within_all(snapshot, parts, collections, self.has_more);
            return within.or_else(|| self.passed_on_to(snapshot, class));
        }
        let own = of_class(&self.own);
        let within = match own.is_empty() {
            true => None,
            false => within_own(snapshot, parts, &own, self.has_more_own),
        };
        within.or_else(|| self.passed_on_to(snapshot, class))
    }

    /// The class of the program to whose objects the elements of a class pass on, as tasks of an executor do: of the
    /// objects that keep nearly all of the largest element, the one farthest down.
    fn passed_on_to(&self, snapshot: &Snapshot, class: &str) -> Option<Within> {
        let dominators = snapshot.dominators();
        let name = |place| snapshot.class_name(dominators.object(place));
        let first = *self.largest.iter().find(|&&place| name(place) == class)?;
        let enough = dominators.retained(first) as f64 * MAIN;
        let below = |&place: &Place| {
            let next = largest(snapshot, place)?;
            (dominators.retained(next) as f64 >= enough).then_some(next)
        };
        let way = std::iter::successors(Some(first), below).take(STEPS);
        let is_object = |&place: &Place| {
            let object = dominators.object(place);
            snapshot.graph().class_of_object(object).is_none()
        };
        let own = way.clone().take_while(is_object).filter(|&place| {
            let class = name(place);
            !is_of_the_jdk(class) && !class.contains(LAMBDA)
        });
        let own = own.last().filter(|&place| name(place) != class);
        let loader = || way.skip(1).find_map(|place| loader(snapshot, place));
        let inner = own.map(name).or_else(loader);
        inner.filter(|it| *it != class).map(|inner| Within {
            objects: None,
            class: inner.to_owned(),
        })
    }
}

/// The class of a loader, or of that of a class: classes and all that they keep go with their loader.
fn loader(snapshot: &Snapshot, place: Place) -> Option<&str> {
    let (graph, object) = (snapshot.graph(), snapshot.dominators().object(place));
    let classes = graph.classes();
    let loader = match graph.class_of_object(object) {
        Some(class) => graph.number(classes.get(class).loader)?,
        None => object,
    };
    let class = snapshot.class_name(loader);
    let is_loader = classes.is_a(graph.class_of(loader), LOADER);
    (is_loader && !is_built_in_loader(class)).then_some(class)
}

/// The objects that fill collections, or the collections in these. `is_cut` is true if there are more collections.
fn within_all(
    snapshot: &Snapshot,
    parts: &Parts<'_>,
    mut level: Vec<Place>,
    mut is_cut: bool,
) -> Option<Within> {
    let name = |place: Place| snapshot.class_name(snapshot.dominators().object(place));
    let mut within = None;
    // Collections in collections in collections.
    for _ in 0..LEVELS {
        let mut sums: FxHashMap<String, (u64, u64)> = FxHashMap::default();
        let (mut next, mut is_next_cut) = (Vec::new(), false);
        for &place in &level {
            let from = [(place, Way::from(parts, place, place))];
            let below = elements(snapshot, parts, &from, 0, |_| true);
            for share in below.shares {
                let sum = sums.entry(share.name).or_default();
                *sum = (sum.0 + share.objects, sum.1 + share.bytes);
            }
            is_next_cut |= below.has_more || next.len() + below.collections.len() > COLLECTIONS;
            next.extend(below.collections);
            next.truncate(COLLECTIONS);
        }
        let main = sums
            .into_iter()
            .max_by_key(|(name, sum)| (sum.1, std::cmp::Reverse(name.clone())));
        let Some((found, (objects, _))) = main else {
            break;
        };
        next.retain(|&place| name(place) == found);
        level = next;
        within = Some(Within {
            objects: (!is_cut).then_some(objects),
            class: found,
        });
        is_cut |= is_next_cut;
    }
    within
}

/// The objects that fill the collections of which objects of the program mostly consist.
fn within_own(
    snapshot: &Snapshot,
    parts: &Parts<'_>,
    own: &[Place],
    is_cut: bool,
) -> Option<Within> {
    let dominators = snapshot.dominators();
    let sum = |places: &[Place]| -> u64 { places.iter().map(|&it| dominators.retained(it)).sum() };
    let collection = |&place: &Place| {
        let below = |&place: &Place| largest(snapshot, place);
        let mut way = std::iter::successors(Some(place), below).take(STEPS);
        way.find(|&it| parts.role(it) == Role::Collection || parts.is_array_of_objects(it))
    };
    let inner: Vec<Place> = own.iter().filter_map(collection).collect();
    if (sum(&inner) as f64) < sum(own) as f64 * MAIN {
        return None;
    }
    let mut within = within_all(snapshot, parts, inner, false)?;
    // One of each says no more than the class of the elements.
    if within.objects.is_some_and(|it| it < 2 * own.len() as u64) {
        return None;
    }
    if is_cut {
        within.objects = None;
    }
    Some(within)
}
