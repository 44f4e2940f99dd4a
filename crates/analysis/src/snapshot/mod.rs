//! A heap dump that is ready to be asked: the file, its graph and its dominators.

mod checksums;
mod class_counts;
mod collections;
mod describe;
pub(crate) mod index;
mod index_files;
#[cfg(test)]
mod index_tests;
mod notes;
mod open;
mod properties;
mod reference_list;
mod referrers;
mod seals;
mod soundness;
mod strings;
mod sub_records;
mod threads;
mod values;

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use memmap2::Mmap;

use crate::contents::Contents;
use crate::dominators::Dominators;
use crate::duplicates::Digests;
use crate::graph::{Graph, Store};
use crate::numbers::ObjectNumber;

pub use class_counts::ClassCount;
pub(crate) use collections::CollectionNotes;
pub use collections::{Collection, CollectionKind};
pub use describe::{Description, Edge, EdgeKind};
pub use index_files::index_cache;
use notes::KeptNotes;
pub use open::{INDEX_LIMIT, IndexPlace, OpenOptions, SnapshotError, Stage};
pub use reference_list::ReferenceList;
pub use threads::{Local, ThreadInfo};
pub use values::{FieldValue, Value, decimal, of_float};

/// A heap dump that is ready to be asked.
pub struct Snapshot {
    /// The name to show.
    pub name: String,
    pub(crate) file: Arc<Mmap>,
    pub(crate) contents: Contents,
    pub(crate) dump: usize,
    pub(crate) graph: Graph,
    pub(crate) dominators: Dominators,
    pub(crate) store: Store,
    /// Not known until an index that is [written later](OpenOptions::index_later) is there.
    pub(crate) index: OnceLock<IndexState>,
    pub(crate) later: Mutex<Option<open::LaterIndex>>,
    /// Where sums over all objects are kept, if the index is.
    pub(crate) notes: KeptNotes,
    pub(crate) collections: CollectionNotes,
    pub(crate) stripped: OnceLock<bool>,
    /// Until they are asked for.
    pub(crate) digests: Mutex<Option<io::Result<Digests>>>,
}

/// The outcome for the index: used, written or not.
#[derive(Debug)]
pub enum IndexState {
    /// None was asked for, or the file is too small for one to be of use.
    None,
    /// One was asked for, but the input has no name under which it could be found again.
    Nameless,
    /// It was there.
    Used,
    /// It was made.
    Written {
        /// Where.
        path: PathBuf,
        /// Its length.
        bytes: u64,
        /// The bytes of others that had to go.
        removed: u64,
    },
    /// It could not be written.
    Failed(std::io::Error),
}

impl Snapshot {
    /// The bytes of the dump.
    pub fn file(&self) -> &[u8] {
        &self.file
    }

    /// The contents of the file outside of its heap dumps.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The number of the heap dump within the file, from 0.
    pub fn dump(&self) -> usize {
        self.dump
    }

    /// The outcome for the index: used, written or not, or not yet.
    pub fn index(&self) -> &IndexState {
        self.index.get().unwrap_or(&IndexState::None)
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The dominator tree.
    pub fn dominators(&self) -> &Dominators {
        &self.dominators
    }

    /// Where large arrays are to be kept.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The digests that were made while the dominators were computed; once.
    pub(crate) fn take_digests(&self) -> Option<io::Result<Digests>> {
        let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        digests.take()
    }

    /// The bytes that an object keeps alive, itself included; 0 for objects that no root reaches.
    pub fn retained(&self, object: ObjectNumber) -> u64 {
        let place = self.dominators.place(object);
        place.map_or(0, |place| self.dominators.retained(place))
    }

    /// The name of an object's class.
    pub fn class_name(&self, object: ObjectNumber) -> &str {
        let class = self.graph.class_of(object);
        &self.graph.classes().get(class).name
    }

    /// Tells the system that a part of the file is not needed for now.
    pub fn forget(&self, range: Range<usize>) {
        crate::input::forget(&self.file, range);
    }

    /// Tells the system that no part of the file is needed for now, so that the process seems no
    /// larger than what it works on.
    pub fn forget_file(&self) {
        crate::input::forget(&self.file, 0..self.file.len());
    }
}
