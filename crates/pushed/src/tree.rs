//! Stacks as a tree: each node is a frame below its caller, so that stacks share what they have in common.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::texts::Texts;

/// The node of no frame, above all others.
pub(super) const ROOT: u32 = 0;
/// Nodes below one that are found one after the other. Most have one, which lies beside it in memory; a table of all
/// would cost a miss of the cache for each.
const NEAR: usize = 8;

/// The tree, with the names of its frames and of threads.
#[derive(Debug)]
pub(super) struct Tree {
    /// The names; the first is empty.
    pub names: Texts,
    /// Finds a name by its text, which lies in `names` only.
    index: HashTable<u32>,
    /// Caller and name of each node; callers come first.
    pub nodes: Vec<(u32, u32)>,
    /// By node: the first one below it, and the next one below its caller; [`ROOT`] for none.
    near: Vec<(u32, u32)>,
    /// Nodes beyond the first [`NEAR`] below one, by that and their name.
    below: FxHashMap<(u32, u32), u32>,
}

impl Default for Tree {
    fn default() -> Self {
        let mut tree = Self {
            names: Texts::default(),
            index: HashTable::new(),
            nodes: vec![(ROOT, 0)],
            near: vec![(ROOT, ROOT)],
            below: FxHashMap::default(),
        };
        tree.name("");
        tree
    }
}

impl Tree {
    /// The number of a name.
    pub(super) fn name(&mut self, name: &str) -> u32 {
        let Self { names, index, .. } = self;
        let hash_of = |name: &str| FxBuildHasher.hash_one(name);
        let place = index.entry(
            hash_of(name),
            |&known| names.get(known) == Some(name),
            |&known| hash_of(names.get(known).unwrap_or_default()),
        );
        match place {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let new = names.len() as u32;
                place.insert(new);
                names.push(name);
                new
            }
        }
    }

    /// The node of a name below a node.
    pub(super) fn child(&mut self, parent: u32, name: u32) -> u32 {
        let (mut last, mut at) = (None, self.near[parent as usize].0);
        for _ in 0..NEAR {
            if at == ROOT {
                let new = self.add(parent, name);
                match last {
                    None => self.near[parent as usize].0 = new,
                    Some(last) => self.near[last as usize].1 = new,
                }
                return new;
            }
            if self.nodes[at as usize].1 == name {
                return at;
            }
            (last, at) = (Some(at), self.near[at as usize].1);
        }
        if let Some(&known) = self.below.get(&(parent, name)) {
            return known;
        }
        let new = self.add(parent, name);
        self.below.insert((parent, name), new);
        new
    }

    fn add(&mut self, parent: u32, name: u32) -> u32 {
        self.nodes.push((parent, name));
        self.near.push((ROOT, ROOT));
        self.nodes.len() as u32 - 1
    }

    /// The node at the end of a stack, the outermost name first.
    pub(super) fn stack<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> u32 {
        let mut at = ROOT;
        for name in names {
            let name = self.name(name);
            at = self.child(at, name);
        }
        at
    }

    /// The nodes of another tree in this one, by their numbers there. Names have numbers of this tree.
    pub(super) fn take(&mut self, names: &[u32], nodes: &[(u32, u32)]) -> Vec<u32> {
        let mut mapped = Vec::with_capacity(nodes.len());
        for &(parent, name) in nodes {
            let node = match mapped.get(parent as usize) {
                Some(&parent) => {
                    let name = names.get(name as usize).copied().unwrap_or_default();
                    self.child(parent, name)
                }
                // The root.
                None => ROOT,
            };
            mapped.push(node);
        }
        mapped
    }

    /// About the bytes that it occupies.
    pub(super) fn bytes(&self) -> usize {
        self.names.all().len()
            + 20 * self.names.len()
            + 24 * self.nodes.len()
            + 24 * self.below.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_any_number_of_others_below_it() {
        let mut tree = Tree::default();
        let names: Vec<u32> = (0..100).map(|at| tree.name(&at.to_string())).collect();
        for parent in [ROOT, 7, 7 + NEAR as u32] {
            let below: Vec<u32> = names.iter().map(|&name| tree.child(parent, name)).collect();
            for (&name, &node) in names.iter().zip(&below) {
                assert_eq!(tree.nodes[node as usize], (parent, name));
                assert_eq!(tree.child(parent, name), node);
            }
        }
        assert_eq!(tree.nodes.len(), 301);
    }

    #[test]
    fn stacks_share_their_callers() {
        let mut tree = Tree::default();
        let one = tree.stack(["main", "a"]);
        let two = tree.stack(["main", "b"]);
        assert_ne!(one, two);
        assert_eq!(tree.stack(["main", "a"]), one);
        assert_eq!(tree.nodes.len(), 4);
        let mut other = Tree::default();
        other.stack(["x", "main"]);
        let names: Vec<u32> = tree.names.iter().map(|name| other.name(name)).collect();
        let nodes = other.take(&names, &tree.nodes);
        assert_eq!(nodes[one as usize], other.stack(["main", "a"]));
    }
}
