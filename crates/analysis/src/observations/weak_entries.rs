//! Entries with weak keys that never go, because their own values refer to the keys.
//!
//! A `WeakHashMap` drops an entry once nothing but the entry refers to its key. If the value leads to the
//! key, that never happens (`WeakHashMap.java`, implementation note). It is so for every key that the dominator
//! tree has below its own map.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::graph::ReferenceKind;
use crate::numbers::{ClassNumber, ObjectNumber, Place};
use crate::snapshot::{EdgeKind, Snapshot};

/// Entries of one map, or those of a class that are in no known map, whose keys only the map itself keeps alive.
#[derive(Debug, Clone, Serialize)]
pub struct WeakEntries {
    /// The class of the entries.
    pub class: String,
    /// The map in a few words, if it is known.
    pub map: Option<String>,
    /// Its identifier.
    pub map_id: Option<String>,
    /// The static field or object field that holds the map, as `Class.field`.
    pub held_by: Option<String>,
    /// The entries.
    pub entries: u64,
    /// The bytes that they keep alive, keys and values included.
    pub bytes: u64,
    /// The class of one of the keys.
    pub key_class: String,
    /// The class of its value, if the way from there to the key was found.
    pub value_class: Option<String>,
    /// The fields from that value to the key, as `Class.field`.
    pub way: Vec<String>,
}

/// The share of the live heap that is worth a word.
const SHARE: u64 = 100;
/// Maps that are listed.
const MAPS: usize = 5;
/// Steps from an entry up to its map: a bucket may have many.
const STEPS: usize = 1000;
/// Objects that a search for the key looks at.
const SEARCH: usize = 10_000;

/// A map, or a class of entries without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Owner {
    Map(Place),
    Class(ClassNumber),
}

#[derive(Debug, Default)]
struct Found {
    entries: u64,
    bytes: u64,
    /// Up to here the bytes of entries are counted; the next ones in a bucket lie below the first.
    end: Option<Place>,
    example: Option<(ObjectNumber, ObjectNumber)>,
}

/// The maps whose entries stay, those that keep most alive first.
pub(super) fn weak_entries(snapshot: &Snapshot) -> Vec<WeakEntries> {
    let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
    let classes = graph.classes();
    let is_weak = |object: ObjectNumber| {
        let class = classes.get(graph.class_of(object));
        class.reference_kind == Some(ReferenceKind::Weak)
    };
    let mut entries: Vec<(Place, ObjectNumber, ObjectNumber)> = (graph.passed_over().iter())
        .map(|&(from, to)| {
            (
                ObjectNumber::new(from as usize),
                ObjectNumber::new(to as usize),
            )
        })
        .filter(|&(from, to)| from != to && is_weak(from))
        .filter_map(|(from, to)| Some((dominators.place(from)?, from, to)))
        .collect();
    entries.sort_unstable();
    let mut found: FxHashMap<Owner, Found> = FxHashMap::default();
    // By what is above an entry: its map. The entries of a bucket have one another above them.
    let mut maps: FxHashMap<Option<Place>, Option<Place>> = FxHashMap::default();
    for (place, entry, key) in entries {
        let Some(key_place) = dominators.place(key) else {
            continue;
        };
        let above = dominators.above(place);
        let class = graph.class_of(entry);
        let map = *maps
            .entry(above)
            .or_insert_with(|| map_above(snapshot, above, class));
        let top = map.unwrap_or(place);
        let is_below = top < key_place && key_place < dominators.end(top);
        if !is_below || snapshot.field_object(entry, "referent") != Some(key) {
            continue;
        }
        let owner = map.map_or(Owner::Class(class), Owner::Map);
        let sum = found.entry(owner).or_default();
        sum.entries += 1;
        sum.example.get_or_insert((entry, key));
        if sum.end.is_none_or(|end| place >= end) {
            sum.bytes += dominators.retained(place);
            sum.end = Some(dominators.end(place));
        }
    }
    let least = dominators.live_bytes() / SHARE;
    let mut found: Vec<(Owner, Found)> = (found.into_iter())
        .filter(|(_, sum)| sum.bytes > least)
        .collect();
    found.sort_by_key(|(owner, sum)| (std::cmp::Reverse(sum.bytes), *owner));
    found.truncate(MAPS);
    found
        .into_iter()
        .filter_map(|(owner, sum)| in_words(snapshot, owner, &sum))
        .collect()
}

/// The map that entries of a class under a place are in: what is above its table and other entries.
fn map_above(snapshot: &Snapshot, place: Option<Place>, class: ClassNumber) -> Option<Place> {
    let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
    let mut ways = std::iter::successors(place, |&place| dominators.above(place)).take(STEPS);
    ways.find(|&place| {
        let of_this = graph.class_of(dominators.object(place));
        of_this != class && !graph.classes().get(of_this).name.ends_with("[]")
    })
}

fn in_words(snapshot: &Snapshot, owner: Owner, found: &Found) -> Option<WeakEntries> {
    let (entry, key) = found.example?;
    let map = match owner {
        Owner::Map(place) => Some(snapshot.dominators().object(place)),
        Owner::Class(_) => None,
    };
    let (value_class, way) = way(snapshot, entry, key).unwrap_or_default();
    Some(WeakEntries {
        class: snapshot.class_name(entry).to_owned(),
        map: map.map(|map| snapshot.describe(map)),
        map_id: map.map(|map| format!("{:#x}", snapshot.graph().id(map))),
        held_by: map.and_then(|map| held_by(snapshot, map)),
        entries: found.entries,
        bytes: found.bytes,
        key_class: snapshot.class_name(key).to_owned(),
        value_class,
        way,
    })
}

/// The field of the object above a map that holds it.
fn held_by(snapshot: &Snapshot, map: ObjectNumber) -> Option<String> {
    let dominators = snapshot.dominators();
    let above = dominators.object(dominators.above(dominators.place(map)?)?);
    let edge = snapshot.edge(above, map);
    let class = match edge.kind {
        EdgeKind::Static => {
            let class = snapshot.graph().class_of_object(above)?;
            &snapshot.graph().classes().get(class).name
        }
        EdgeKind::Field => snapshot.class_name(above),
        _ => return None,
    };
    Some(format!("{class}.{}", edge.name))
}

/// The class of an entry's value that leads to its key, and the fields from there.
fn way(
    snapshot: &Snapshot,
    entry: ObjectNumber,
    key: ObjectNumber,
) -> Option<(Option<String>, Vec<String>)> {
    let graph = snapshot.graph();
    let mut before: FxHashMap<ObjectNumber, ObjectNumber> = FxHashMap::default();
    let mut seen: FxHashSet<ObjectNumber> = FxHashSet::from_iter([entry]);
    let mut open = std::collections::VecDeque::from([entry]);
    'search: while let Some(object) = open.pop_front() {
        for target in graph.references(object) {
            // The next entry of the bucket is no value.
            let is_entry = graph.class_of(target) == graph.class_of(entry);
            if is_entry || seen.len() > SEARCH || !seen.insert(target) {
                continue;
            }
            before.insert(target, object);
            if target == key {
                break 'search;
            }
            open.push_back(target);
        }
    }
    let mut objects = vec![key];
    while let Some(&above) = objects.last().and_then(|last| before.get(last)) {
        objects.push(above);
    }
    objects.reverse();
    let value = *objects.get(1)?;
    let fields = objects[1..].windows(2).map(|step| {
        let edge = snapshot.edge(step[0], step[1]);
        match edge.kind {
            EdgeKind::Field => format!("{}.{}", snapshot.class_name(step[0]), edge.name),
            _ => edge.to_string().trim_start().to_owned(),
        }
    });
    Some((
        Some(snapshot.class_name(value).to_owned()),
        fields.collect(),
    ))
}
