//! The retained objects of an object, by class.

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::numbers::{ClassNumber, ObjectNumber, Place};
use crate::parallel;
use crate::snapshot::Snapshot;

/// The objects of a class within some set.
#[derive(Debug, Clone, Serialize)]
pub struct ClassShare {
    /// The name of the class.
    pub name: String,
    /// The objects.
    pub objects: u64,
    /// Their bytes: what they take themselves, or keep alive, as the table has it.
    pub bytes: u64,
}

/// An object within some set.
#[derive(Debug, Clone, Serialize)]
pub struct ObjectShare {
    /// The object, by number.
    pub object: ObjectNumber,
    /// Its identifier.
    pub id: String,
    /// The object in a few words.
    pub description: String,
    /// Its shallow size, in bytes.
    pub shallow_bytes: u64,
    /// Its retained size, in bytes.
    pub retained_bytes: u64,
}

impl ObjectShare {
    /// An object of a snapshot.
    pub fn new(snapshot: &Snapshot, object: ObjectNumber) -> Self {
        Self {
            object,
            id: format!("{:#x}", snapshot.graph().id(object)),
            description: snapshot.describe(object),
            shallow_bytes: snapshot.graph().size(object),
            retained_bytes: snapshot.retained(object),
        }
    }
}

/// All objects at a range of places in the dominator tree, by class, with the bytes that they take
/// themselves; the largest classes first.
pub fn classes_in(snapshot: &Snapshot, start: Place, end: Place) -> Vec<ClassShare> {
    classes_in_all(snapshot, std::iter::once((start, end)))
}

/// As [`classes_in`], for the objects at several ranges of places together: there may be millions.
pub fn classes_in_all(
    snapshot: &Snapshot,
    ranges: impl Iterator<Item = (Place, Place)>,
) -> Vec<ClassShare> {
    /// Places in one task, at most.
    const TASK: usize = 1 << 16;
    let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
    let pieces: Vec<(usize, usize)> = ranges
        .flat_map(|(start, end)| {
            let (start, end) = (start.index(), end.index());
            let firsts = (start..end).step_by(TASK);
            firsts.map(move |first| (first, end.min(first + TASK)))
        })
        .collect();
    let classes = graph.classes().list().len();
    // The threads of the pool need not wake for a few.
    let threads = usize::from(pieces.len() == 1);
    let parts = parallel::run(threads, pieces.len(), |tasks| {
        let mut sums = vec![(0u64, 0u64); classes];
        for (start, end) in tasks.map(|task| pieces[task]) {
            for place in (start..end).map(Place::new) {
                let object = dominators.object(place);
                let sum = &mut sums[graph.class_of(object).index()];
                sum.0 += 1;
                sum.1 += graph.size(object);
            }
        }
        sums
    });
    let sums = (0..classes).map(|class| {
        let add = |sum: (u64, u64), part: &Vec<(u64, u64)>| {
            (sum.0 + part[class].0, sum.1 + part[class].1)
        };
        parts.iter().fold((0, 0), add)
    });
    let sums = graph.classes().numbers().zip(sums);
    by_name(snapshot, sums.filter(|(_, sum)| sum.0 > 0))
}

/// The objects directly under a place in the dominator tree, by class, with the bytes that they
/// keep alive; those that keep most first. Only places for which `is_shown` holds count.
pub fn children_by_class(
    snapshot: &Snapshot,
    place: Option<Place>,
    is_shown: impl Fn(&Place) -> bool,
) -> Vec<ClassShare> {
    let mut sums: FxHashMap<ClassNumber, (u64, u64)> = FxHashMap::default();
    for child in snapshot.dominators().children(place).filter(is_shown) {
        let object = snapshot.dominators().object(child);
        let sum = sums.entry(snapshot.graph().class_of(object)).or_default();
        sum.0 += 1;
        sum.1 += snapshot.dominators().retained(child);
    }
    by_name(snapshot, sums.into_iter())
}

/// The objects directly under a place that keep most alive, of those for which `is_shown` holds.
pub fn largest_in(
    snapshot: &Snapshot,
    place: Option<Place>,
    most: usize,
    is_shown: impl Fn(&Place) -> bool,
) -> Vec<ObjectShare> {
    let (dominators, is_shown) = (snapshot.dominators(), &is_shown);
    let hidden = dominators
        .children(place)
        .filter(|child| !is_shown(child))
        .count();
    let largest = dominators.largest_children(place, most.saturating_add(hidden));
    (largest.into_iter().filter(is_shown).take(most))
        .map(|child| ObjectShare::new(snapshot, snapshot.dominators().object(child)))
        .collect()
}

/// The sums of classes, by name: several loaders may have classes of one name. The largest come first.
pub(super) fn by_name(
    snapshot: &Snapshot,
    sums: impl Iterator<Item = (ClassNumber, (u64, u64))>,
) -> Vec<ClassShare> {
    let mut rows: FxHashMap<&str, (u64, u64)> = FxHashMap::default();
    for (class, (objects, bytes)) in sums {
        let name = snapshot.graph().classes().get(class).name.as_str();
        let sum = rows.entry(name).or_default();
        sum.0 += objects;
        sum.1 += bytes;
    }
    let mut shares: Vec<ClassShare> = rows
        .into_iter()
        .map(|(name, (objects, bytes))| ClassShare {
            name: name.to_owned(),
            objects,
            bytes,
        })
        .collect();
    shares.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    shares
}
