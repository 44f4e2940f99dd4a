//! Why an object is alive: the ways from the roots to it.

mod as_asked;
mod dominated;
mod merged;
mod shortest;

use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::numbers::ObjectNumber;
use crate::snapshot::{Edge, Snapshot};

pub use as_asked::PathSearch;
pub use merged::{MergedNode, merged};
pub use shortest::{ShortestPaths, Turn};

/// A way from a root to an object.
#[derive(Debug, Clone, Serialize)]
pub struct Path {
    /// Why the first object is alive.
    pub root: String,
    /// The objects, from the root on.
    pub steps: Vec<Step>,
}

/// An object on a path.
#[derive(Debug, Clone, Serialize)]
pub struct Step {
    /// How the object before keeps this one alive; none for the first one.
    pub edge: Option<Edge>,
    /// The object, by number.
    pub object: ObjectNumber,
    /// Its identifier.
    pub id: String,
    /// The object in a few words.
    pub description: String,
    /// Its retained size, in bytes.
    pub retained_bytes: u64,
}

impl Path {
    /// A path in words.
    pub fn new(snapshot: &Snapshot, objects: &[ObjectNumber]) -> Self {
        let root = objects
            .first()
            .map_or(String::new(), |&first| root(snapshot, first));
        let steps = objects.iter().enumerate().map(|(index, &object)| Step {
            edge: (index > 0).then(|| snapshot.edge(objects[index - 1], object)),
            object,
            id: format!("{:#x}", snapshot.graph().id(object)),
            description: snapshot.describe(object),
            retained_bytes: snapshot.retained(object),
        });
        Self {
            root,
            steps: steps.collect(),
        }
    }

    /// The last step.
    pub fn end(&self) -> Option<&Step> {
        self.steps.last()
    }
}

/// Why a root is alive, in words.
pub fn root(snapshot: &Snapshot, object: ObjectNumber) -> String {
    let roots = snapshot.graph().roots_of(object);
    // A thread says more than that something of the VM refers to it.
    let root = roots.iter().find(|root| root.is_thread()).or(roots.first());
    root.map_or("root".to_owned(), |root| snapshot.root_in_words(root))
}

/// Instances that are looked at for paths to their class.
const INSTANCES: usize = 1000;

/// The shortest paths to an object that reach it in different ways, at most `most`, the shortest
/// first: each comes in from another object that refers to it.
pub fn alternatives(
    snapshot: &Snapshot,
    paths: &ShortestPaths,
    object: ObjectNumber,
    most: usize,
) -> Vec<Vec<ObjectNumber>> {
    let mut found: Vec<Vec<ObjectNumber>> = Vec::new();
    if paths.before(object).is_none() {
        return found;
    }
    if !snapshot.graph().roots_of(object).is_empty() {
        found.push(vec![object]);
    }
    // Of the instances of a class some will do.
    let instances = snapshot.instances(object).take(INSTANCES);
    let holders = snapshot.referring(object).into_iter();
    let referrers: FxHashSet<ObjectNumber> = holders.chain(instances).collect();
    // Those that are reached through the object itself are no other way to it.
    let mut is_behind = vec![false; snapshot.graph().len()];
    // The nearest come first, so one walk finds as many as are wanted, however deep they lie.
    for position in 0..paths.len() {
        if found.len() >= most {
            break;
        }
        let at = paths.reached_at(position);
        let before = paths.before(at).filter(|&before| before != at);
        if at == object || before.is_some_and(|before| is_behind[before.index()]) {
            is_behind[at.index()] = true;
        } else if referrers.contains(&at)
            && let Some(mut path) = paths.to(at)
        {
            path.push(object);
            found.push(path);
        }
    }
    found.truncate(most);
    found
}
