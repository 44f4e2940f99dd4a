//! The shortest paths to many objects, merged by the classes on them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ShortestPaths;
use crate::numbers::ObjectNumber;
use crate::snapshot::Snapshot;

/// Paths that lead through the same classes.
#[derive(Debug, Clone, Serialize)]
pub struct MergedNode {
    /// The class of the objects at this step, or the class that the class object stands for.
    pub name: String,
    /// How often the class follows itself here, as in a list.
    pub repeated: u64,
    /// How many objects take part at this step.
    pub objects: u64,
    /// How many of the objects asked for are reached through here.
    pub targets: u64,
    /// The next steps, those with most targets first.
    pub children: Vec<MergedNode>,
}

/// Steps that follow one another in the result; longer paths are cut.
const MAX_DEPTH: usize = 40;

/// Merges the shortest paths to all objects for which `is_target` holds.
pub fn merged(
    snapshot: &Snapshot,
    paths: &ShortestPaths,
    is_target: impl Fn(ObjectNumber) -> bool,
) -> Vec<MergedNode> {
    // The number of targets beyond each object, counted from the farthest back to the roots.
    let mut behind = vec![0u32; snapshot.graph().len()];
    for position in (0..paths.len()).rev() {
        let object = paths.reached_at(position);
        if is_target(object) {
            behind[object.index()] = behind[object.index()].saturating_add(1);
        }
        if let Some(before) = paths.before(object).filter(|&before| before != object) {
            behind[before.index()] = behind[before.index()].saturating_add(behind[object.index()]);
        }
    }
    // The objects on the way, with those before them, in the order in which they are reached.
    let mut roots = Vec::new();
    let mut next: rustc_hash::FxHashMap<ObjectNumber, Vec<ObjectNumber>> = Default::default();
    for position in 0..paths.len() {
        let object = paths.reached_at(position);
        if behind[object.index()] == 0 {
            continue;
        }
        match paths.before(object) {
            Some(before) if before != object => next.entry(before).or_default().push(object),
            _ => roots.push(object),
        }
    }
    let merge = Merge {
        snapshot,
        behind,
        next,
    };
    merge.nodes(roots, MAX_DEPTH)
}

struct Merge<'a> {
    snapshot: &'a Snapshot,
    behind: Vec<u32>,
    next: rustc_hash::FxHashMap<ObjectNumber, Vec<ObjectNumber>>,
}

impl Merge<'_> {
    fn name(&self, object: ObjectNumber) -> String {
        match self.snapshot.graph().class_of_object(object) {
            Some(class) => {
                let name = &self.snapshot.graph().classes().get(class).name;
                format!("class {name}")
            }
            None => self.snapshot.class_name(object).to_owned(),
        }
    }

    fn after(&self, objects: &[ObjectNumber]) -> Vec<ObjectNumber> {
        let next = objects.iter().filter_map(|object| self.next.get(object));
        next.flatten().copied().collect()
    }

    fn nodes(&self, objects: Vec<ObjectNumber>, depth: usize) -> Vec<MergedNode> {
        if depth == 0 {
            return Vec::new();
        }
        let mut groups: BTreeMap<String, Vec<ObjectNumber>> = BTreeMap::new();
        for object in objects {
            groups.entry(self.name(object)).or_default().push(object);
        }
        let mut nodes: Vec<MergedNode> = groups
            .into_iter()
            .map(|(name, group)| self.node(name, group, depth))
            .collect();
        nodes.sort_by(|a, b| b.targets.cmp(&a.targets).then_with(|| a.name.cmp(&b.name)));
        nodes
    }

    fn node(&self, name: String, group: Vec<ObjectNumber>, depth: usize) -> MergedNode {
        let targets = group
            .iter()
            .map(|&object| u64::from(self.behind[object.index()]))
            .sum();
        let mut objects = group.len() as u64;
        let mut repeated = 0;
        let mut after = self.after(&group);
        let mut others = Vec::new();
        // Lists go on and on with one class: that is one step.
        loop {
            let (same, rest): (Vec<_>, Vec<_>) = after
                .into_iter()
                .partition(|&object| self.name(object) == name);
            others.extend(rest);
            if same.is_empty() {
                break;
            }
            repeated += 1;
            objects += same.len() as u64;
            after = self.after(&same);
        }
        MergedNode {
            name,
            repeated,
            objects,
            targets,
            children: self.nodes(others, depth - 1),
        }
    }
}
