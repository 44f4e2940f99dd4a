//! Leak suspects: what keeps an unexpected part of the heap alive, and how.
//!
//! The search goes down the dominator tree along all objects that keep at least a given share of
//! the heap alive (`candidates`), to where that memory spreads over many small objects: the accumulation
//! point (`down`). A collection counts as a whole (`parts`), and so does a list or tree of the program's own (`chains`).
//! Objects that are small by themselves are looked at by class, threads by pool (`pools`). Suspects with
//! equal paths are one.

mod candidates;
mod chains;
mod down;
mod elements;
mod fill;
mod filling;
mod find;
mod finding;
mod objects;
mod own;
mod parts;
mod pools;
mod registries;
mod signature;
mod sites;
mod start;
mod threads;
mod waiting;
mod ways;
mod within;

use serde::Serialize;

use crate::numbers::ObjectNumber;
use crate::paths::Path;

pub use fill::{ClassShare, ObjectShare, children_by_class, classes_in, largest_in};
pub use filling::{Copies, Filling, References, Within};
pub use find::{LeakOptions, leaks};
pub use finding::{Finding, Holder, OwnField, Subject};
pub use registries::{Names, Registry};
pub use sites::{AllocationSite, sites_of};
pub(crate) use start::{is_jdk_object, is_of_the_jdk, is_own_class};
pub use waiting::{Poller, Waiting};

/// All suspects of a dump.
#[derive(Debug, Clone, Serialize)]
pub struct Leaks {
    /// The bytes of all objects that are reached from roots.
    pub live_bytes: u64,
    /// Their number.
    pub live_objects: u64,
    /// The share of the live heap from which something is a suspect.
    pub threshold: f64,
    /// The suspects, the largest first; none if nothing stands out.
    pub suspects: Vec<Suspect>,
    /// The largest object, if there are no suspects.
    pub largest: Option<Suspect>,
    /// The live bytes that belong to no suspect.
    pub other_bytes: u64,
}

/// A leak suspect: an object or group that keeps an unexpected part of the heap alive.
#[derive(Debug, Clone, Serialize)]
pub struct Suspect {
    /// The findings about it, which the command puts into words.
    #[serde(skip)]
    pub finding: Finding,
    /// The classes and fields that hold it, as [`Finding::signature`] has them.
    pub signature: String,
    /// The bytes that are kept alive.
    pub retained_bytes: u64,
    /// The share of the live heap, from 0 to 1.
    pub share: f64,
    /// The last field of the program on the way to it, as `Class.field`.
    pub field: Option<String>,
    /// How many objects are suspected together; 1 for a single one.
    pub count: u64,
    /// The object at which memory piles up, by number: the one that is suspected, or what holds a group.
    pub accumulation_point: ObjectNumber,
    /// Its identifier.
    pub accumulation_id: String,
    /// The object that the first sentence names, by its identifier; `None` if it names several.
    pub subject_id: Option<String>,
    /// The shortest path from a root to the accumulation point.
    pub path: Path,
    /// The objects directly under the accumulation point, by class, beyond the tables and nodes of a collection, with
    /// the bytes that they keep alive; and those tables and nodes, with the bytes that they take themselves.
    pub children: Vec<ClassShare>,
    /// The largest objects among these.
    pub largest: Vec<ObjectShare>,
    /// All that is kept alive, by class.
    pub contents: Vec<ClassShare>,
    /// Where it was allocated, if the dump tells.
    pub sites: Vec<AllocationSite>,
}
