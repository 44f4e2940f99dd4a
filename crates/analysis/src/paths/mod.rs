//! Why an object is alive: the ways from the roots to it.

mod as_asked;
mod dominated;
mod fold;
mod merged;
mod shortest;
mod soft;

use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::numbers::ObjectNumber;
use crate::snapshot::{Edge, Snapshot};

pub use as_asked::PathSearch;
pub use merged::{MergedNode, merged};
pub use shortest::{ShortestPaths, Turn};
pub use soft::only_soft;

/// A way from a root to an object. Of long ways a part is left out.
#[derive(Debug, Clone, Serialize)]
pub struct Path {
    /// Why the first object is alive.
    pub root: String,
    /// The objects that are shown, from the root on.
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
    /// The objects between the step before and this one that are left out. Then `edge` is the reference
    /// of the last of these.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A line of a path that has room for few.
#[derive(Debug, Clone, Copy)]
pub enum Line<'a> {
    /// A step.
    Step(&'a Step),
    /// A number of objects that are left out.
    More(u64),
}

impl Path {
    /// A path in words. Of more than a few equal steps in a row the middle is left out, as in a linked list.
    /// So is the middle of a path that is longer than anybody reads.
    pub fn new(snapshot: &Snapshot, objects: &[ObjectNumber]) -> Self {
        Self::with(snapshot, objects, &[])
    }

    /// As [`Path::new`], with the objects at some positions among those that are shown.
    pub fn with(snapshot: &Snapshot, objects: &[ObjectNumber], always: &[usize]) -> Self {
        let root = objects
            .first()
            .map_or(String::new(), |&first| root(snapshot, first));
        let mut next = 0;
        let shown = fold::shown(snapshot, objects, always);
        let steps = shown.into_iter().map(|at| {
            let object = objects[at];
            let more = at - std::mem::replace(&mut next, at + 1);
            Step {
                edge: (at > 0).then(|| snapshot.edge(objects[at - 1], object)),
                object,
                id: format!("{:#x}", snapshot.graph().id(object)),
                description: snapshot.describe(object),
                retained_bytes: snapshot.retained(object),
                more: more as u64,
            }
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

    /// The positions of the steps among all objects of the path.
    pub fn positions(&self) -> Vec<usize> {
        let mut next = 0;
        let position = |step: &Step| {
            let at = next + step.more as usize;
            next = at + 1;
            at
        };
        self.steps.iter().map(position).collect()
    }

    /// The lines that show the path with at most `ends` steps at each end, and one for each part that is left out.
    pub fn lines(&self, ends: usize) -> Vec<Line<'_>> {
        let length = self.steps.len();
        let (head, tail) = match length > 2 * ends {
            true => (ends, length - ends),
            false => (length, length),
        };
        let mut hidden = 0;
        let mut lines = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            hidden += step.more;
            if (head..tail).contains(&at) {
                hidden += 1;
                continue;
            }
            if hidden > 0 {
                lines.push(Line::More(std::mem::take(&mut hidden)));
            }
            lines.push(Line::Step(step));
        }
        lines
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
