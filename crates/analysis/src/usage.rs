//! How collections are used, what waits to be finalized, and which loaders there are.

use hprof_format::binary::SubRecord;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::numbers::ClassNumber;
use crate::observations::{behind, finalizer_classes, is_waiting};
use crate::retained::loader_name;
use crate::snapshot::Snapshot;

/// The collections of one class.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CollectionRow {
    /// The class.
    pub name: String,
    /// Live collections.
    pub collections: u64,
    /// Collections without elements.
    pub empty: u64,
    /// Collections with an unknown number of elements; no other figure includes them.
    pub unknown: u64,
    /// The elements or entries of those that tell.
    pub elements: u64,
    /// Places in their arrays.
    pub capacity: u64,
    /// Places of these that hold nothing.
    pub unused: u64,
    /// The size of the empty places, in bytes.
    pub wasted_bytes: u64,
    /// Entries of hash tables that share their place with another one.
    pub collisions: u64,
}

/// All live collections by class, those that waste most first.
pub fn collections(snapshot: &Snapshot) -> Vec<CollectionRow> {
    let graph = snapshot.graph();
    let classes = graph.classes();
    let is_collection: Vec<bool> = classes
        .numbers()
        .map(|class| snapshot.is_collection(class))
        .collect();
    let reference = graph.layout().0.reference;
    let mut rows: FxHashMap<ClassNumber, CollectionRow> = FxHashMap::default();
    // Collections may share an array, as clones of a CopyOnWriteArrayList do.
    let mut seen = FxHashSet::default();
    for object in graph.objects() {
        let class = graph.class_of(object);
        if !is_collection[class.index()] || snapshot.dominators().place(object).is_none() {
            continue;
        }
        let Some(collection) = snapshot.collection(object) else {
            continue;
        };
        let row = rows.entry(class).or_default();
        row.collections += 1;
        match collection.size {
            Some(size) => {
                row.empty += u64::from(size == 0);
                row.elements += size;
            }
            None => row.unknown += 1,
        }
        // Wrappers have no array of their own.
        let own = collection
            .array
            .filter(|&array| graph.references(object).contains(&array));
        let located = own.and_then(|array| graph.locate(snapshot.file(), array));
        if let Some((_, SubRecord::ObjectArray { elements, .. })) = located
            && seen.insert(own)
        {
            let used = elements.iter().filter(|&element| element != 0).count() as u64;
            let length = elements.len() as u64;
            row.capacity += length;
            row.unused += length - used;
            row.wasted_bytes += (length - used) * reference;
            if collection.is_hashed {
                let entries = collection.size.unwrap_or(0);
                row.collisions += entries.saturating_sub(used);
            }
        }
    }
    let mut rows: Vec<CollectionRow> = rows
        .into_iter()
        .map(|(class, row)| CollectionRow {
            name: classes.get(class).name.clone(),
            ..row
        })
        .collect();
    rows.sort_by(|a, b| (b.wasted_bytes.cmp(&a.wasted_bytes)).then_with(|| a.name.cmp(&b.name)));
    rows
}

/// Objects of a class that have a `finalize` method.
#[derive(Debug, Clone, Serialize)]
pub struct FinalizerRow {
    /// The class.
    pub name: String,
    /// Objects that are alive or whose turn has not come.
    pub registered: u64,
    /// Objects that are dead and wait in the queue for their `finalize` to be called.
    pub queued: u64,
    /// The size of those in the queue alone, in bytes.
    pub queued_bytes: u64,
    /// The bytes that those in the queue keep from being freed, their own included.
    pub held_bytes: u64,
}

/// Objects with a `finalize` method by class, those that wait in the queue first.
pub fn finalizers(snapshot: &Snapshot) -> Vec<FinalizerRow> {
    let graph = snapshot.graph();
    let classes = graph.classes();
    let is_finalizer = finalizer_classes(snapshot);
    let mut waiting = Vec::new();
    let mut rows: FxHashMap<ClassNumber, FinalizerRow> = FxHashMap::default();
    for object in graph.objects() {
        if !is_finalizer[graph.class_of(object).index()] {
            continue;
        }
        let Some(referent) = snapshot.field_object(object, "referent") else {
            continue;
        };
        let class = graph.class_of(referent);
        let row = rows.entry(class).or_insert_with(|| FinalizerRow {
            name: classes.get(class).name.clone(),
            registered: 0,
            queued: 0,
            queued_bytes: 0,
            held_bytes: 0,
        });
        row.registered += 1;
        if is_waiting(snapshot, object) {
            row.queued += 1;
            row.queued_bytes += graph.size(referent);
            waiting.push(referent);
        }
    }
    behind(snapshot, &waiting, |start, object| {
        if let Some(row) = rows.get_mut(&graph.class_of(waiting[start])) {
            row.held_bytes += graph.size(object);
        }
    });
    let mut rows: Vec<FinalizerRow> = rows.into_values().collect();
    rows.sort_by(|a, b| {
        let key = |row: &FinalizerRow| (row.queued, row.registered);
        key(b).cmp(&key(a)).then_with(|| a.name.cmp(&b.name))
    });
    rows
}

/// A class loader.
#[derive(Debug, Clone, Serialize)]
pub struct LoaderRow {
    /// The loader in a few words.
    pub name: String,
    /// Its identifier, 0 for the boot loader.
    pub id: String,
    /// Classes it has loaded.
    pub classes: u64,
    /// Live objects of these classes.
    pub objects: u64,
    /// The retained size of the loader, its classes included, in bytes.
    pub retained_bytes: u64,
}

/// A class name that several loaders have a class of.
#[derive(Debug, Clone, Serialize)]
pub struct DuplicateClass {
    /// The name.
    pub name: String,
    /// How many loaders.
    pub loaders: u64,
}

/// All loaders, those that keep most alive first, and the classes that were loaded more than once.
pub fn loaders(snapshot: &Snapshot) -> (Vec<LoaderRow>, Vec<DuplicateClass>) {
    let graph = snapshot.graph();
    let classes = graph.classes();
    let counts = snapshot.class_counts();
    let mut rows: FxHashMap<u64, (u64, u64)> = FxHashMap::default();
    let mut names: FxHashMap<&str, u64> = FxHashMap::default();
    for (class, count) in classes.list().iter().zip(counts) {
        if class.is_described {
            let row = rows.entry(class.loader).or_default();
            row.0 += 1;
            row.1 += count.live;
            *names.entry(&class.name).or_default() += 1;
        }
    }
    let row = |(loader, (classes, objects)): (u64, (u64, u64))| LoaderRow {
        name: loader_name(snapshot, loader),
        id: format!("{loader:#x}"),
        classes,
        objects,
        retained_bytes: graph
            .number(loader)
            .map_or(0, |loader| snapshot.retained(loader)),
    };
    let mut rows: Vec<LoaderRow> = rows.into_iter().map(row).collect();
    rows.sort_by(|a, b| {
        let key = |row: &LoaderRow| (row.retained_bytes, row.classes);
        key(b).cmp(&key(a)).then_with(|| a.id.cmp(&b.id))
    });
    let mut twice: Vec<DuplicateClass> = (names.into_iter())
        .filter(|(_, loaders)| *loaders > 1)
        .map(|(name, loaders)| DuplicateClass {
            name: name.to_owned(),
            loaders,
        })
        .collect();
    twice.sort_by(|a, b| b.loaders.cmp(&a.loaders).then_with(|| a.name.cmp(&b.name)));
    (rows, twice)
}
