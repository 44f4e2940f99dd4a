//! Collections as collections: how many elements they have, and which.

mod elements;
mod sizes;
mod table;

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, OnceLock};

use rustc_hash::FxHashMap;

use super::Snapshot;
use crate::numbers::{ClassNumber, ObjectNumber};
use table::{KNOWN, Known};

/// The kind of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CollectionKind {
    /// Elements in an order.
    List,
    /// Elements, each once.
    Set,
    /// Keys with values.
    Map,
}

/// A collection.
#[derive(Debug, Clone, PartialEq)]
pub struct Collection {
    /// Its kind.
    pub kind: CollectionKind,
    /// The number of its elements or entries; `None` if the dump does not record it, or it is unknown
    /// how the class keeps them.
    pub size: Option<u64>,
    /// The array that holds them, if there is one.
    pub array: Option<ObjectNumber>,
    /// True if the array is a table of hash chains.
    pub is_hashed: bool,
}

/// Wrappers around wrappers go no deeper.
const MAX_WRAPPERS: usize = 8;

/// A cache of facts about classes of collections.
#[derive(Debug, Default)]
pub(crate) struct CollectionNotes {
    /// By class: the row of the table.
    classes: OnceLock<Vec<Option<&'static Known>>>,
    /// By first node: how many elements hang on it.
    chains: Mutex<FxHashMap<ObjectNumber, Option<u64>>>,
    /// Steps from node to node so far. In crafted files many collections share a long chain.
    steps: AtomicU64,
}

impl Snapshot {
    fn known(&self, class: ClassNumber) -> Option<&'static Known> {
        let rows = self.collections.classes.get_or_init(|| self.rows());
        *rows.get(class.index())?
    }

    /// By class: the first row of the table that it, or else its super class, fits.
    fn rows(&self) -> Vec<Option<&'static Known>> {
        let mut by_name: FxHashMap<&str, Vec<&'static Known>> = FxHashMap::default();
        for known in KNOWN {
            by_name.entry(known.0).or_default().push(known);
        }
        let classes = self.graph.classes();
        let row = |class: ClassNumber| {
            classes.hierarchy(class).find_map(|class| {
                let class = classes.get(class);
                let has = |name: &str| class.fields.iter().any(|field| field.name == name);
                let fits = |known: &&&Known| known.2.fields().into_iter().flatten().all(has);
                by_name.get(class.name.as_str())?.iter().find(fits).copied()
            })
        };
        classes.numbers().map(row).collect()
    }

    /// True if objects of a class are collections.
    pub fn is_collection(&self, class: ClassNumber) -> bool {
        self.known(class).is_some()
    }

    /// The collection that all elements of another one are in, such as the map of a set.
    pub(crate) fn wrapped(&self, object: ObjectNumber) -> Option<ObjectNumber> {
        match self.known(self.graph.class_of(object))?.2 {
            table::Shape::Wrapped(field) => self.field_object(object, field),
            _ => None,
        }
    }

    /// The collection that an object is; `None` if it is none.
    pub fn collection(&self, object: ObjectNumber) -> Option<Collection> {
        let (_, kind, shape) = self.known(self.graph.class_of(object))?;
        let held = self.held(object, shape, MAX_WRAPPERS).unwrap_or_default();
        Some(Collection {
            kind: *kind,
            size: held.size,
            array: held.array,
            is_hashed: held.is_hashed,
        })
    }
}
