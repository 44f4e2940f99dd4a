//! Stacks as a tree: each node is a frame below its caller, so that stacks share what they have in common.

use rustc_hash::FxHashMap;

/// The node of no frame, above all others.
pub(super) const ROOT: u32 = 0;

/// The tree, with the names of its frames and of threads.
#[derive(Debug)]
pub(super) struct Tree {
    /// The names; the first is empty.
    pub names: Vec<Box<str>>,
    index: FxHashMap<Box<str>, u32>,
    /// The bytes of all names.
    text_bytes: usize,
    /// Caller and name of each node; callers come first.
    pub nodes: Vec<(u32, u32)>,
    below: FxHashMap<(u32, u32), u32>,
}

impl Default for Tree {
    fn default() -> Self {
        let mut tree = Self {
            names: Vec::new(),
            index: FxHashMap::default(),
            text_bytes: 0,
            nodes: vec![(ROOT, 0)],
            below: FxHashMap::default(),
        };
        tree.name("");
        tree
    }
}

impl Tree {
    /// The number of a name.
    pub(super) fn name(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        let next = self.names.len() as u32;
        self.text_bytes += name.len();
        self.names.push(name.into());
        self.index.insert(name.into(), next);
        next
    }

    /// The node of a name below a node.
    pub(super) fn child(&mut self, parent: u32, name: u32) -> u32 {
        let Self { nodes, below, .. } = self;
        *below.entry((parent, name)).or_insert_with(|| {
            nodes.push((parent, name));
            nodes.len() as u32 - 1
        })
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
        2 * self.text_bytes + 80 * self.names.len() + 40 * self.nodes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
