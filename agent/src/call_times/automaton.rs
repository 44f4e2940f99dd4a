//! Nodes: a node represents the last methods a thread has called, `depth` of
//! them at most, innermost first.
//!
//! It is a state of an automaton, not a place in a tree: calling method `m` in
//! the node `[a, b, c]` leads to `[m, a, b]`, so a recursion needs no further
//! nodes but one: a recursion that would lead to the node it is in goes to and fro
//! between the node and a twin of the same path. A processor adds to two counters
//! in turn faster than to one. All threads share the nodes; what hooks read of them is in
//! [`hprof_lockfree::nodes`].

use std::collections::HashMap;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use hprof_lockfree::nodes::{HookNodes, NO_METHOD, NodeNumber, Nodes};

/// Nodes kept back for paths of a single method, so that counts per method stay
/// exact when the memory for paths is used up.
const SPARE: usize = 1 << 18;

/// All nodes.
pub(super) struct Automaton {
    depth: usize,
    capacity: usize,
    nodes: Nodes,
    /// For each node the number of the node it was first reached from: the path of that one
    /// continues where its own method ends.
    callers: Vec<u32>,
    /// For each node a hash of its path.
    hashes: Vec<u32>,
    index: HashTable<u32>,
    /// Each of two nodes of the same path by the number of the other.
    twins: HashMap<u32, u32>,
    hasher: DefaultHashBuilder,
    scratch: Vec<u32>,
    cut: u64,
}

impl Automaton {
    /// The automaton for paths of `depth` methods, at least 1, with about
    /// `paths` nodes at most. `None` without memory.
    pub(super) fn new(depth: usize, paths: usize) -> Option<Self> {
        let mut automaton = Self {
            depth,
            capacity: paths,
            nodes: Nodes::new(paths + SPARE)?,
            callers: Vec::new(),
            hashes: Vec::new(),
            index: HashTable::new(),
            twins: HashMap::new(),
            hasher: DefaultHashBuilder::default(),
            scratch: Vec::new(),
            cut: 0,
        };
        automaton.add(&[], NodeNumber::ROOT);
        Some(automaton)
    }

    /// How many counters a thread needs.
    pub(super) fn most_nodes(&self) -> usize {
        self.capacity + SPARE
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// How many paths were cut to one method because the memory was used up.
    pub(super) fn cut(&self) -> u64 {
        self.cut
    }

    /// Bytes of all nodes and tables, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.bytes()
            + self.index.capacity() * 5
            + (self.callers.capacity() + self.hashes.capacity()) * 4
    }

    /// The nodes as hooks see them.
    pub(super) fn shared(&self) -> HookNodes {
        self.nodes.shared()
    }

    /// The methods of a node, innermost first.
    pub(super) fn methods(&self, node: NodeNumber) -> Vec<u32> {
        self.walk(node).collect()
    }

    /// The step from one list node to the next.
    fn walk(&self, node: NodeNumber) -> impl Iterator<Item = u32> + '_ {
        let above = |&number: &u32| Some(self.callers[number as usize]);
        std::iter::successors(Some(node.0), above)
            .take_while(|&number| number != NodeNumber::ROOT.0)
            .take(self.depth)
            .map(|number| self.nodes.method(NodeNumber(number)))
    }

    /// The node after calling `method` in `node`, found or made, and put into the
    /// table of `node`.
    pub(super) fn next(&mut self, node: NodeNumber, method: u32) -> NodeNumber {
        let mut path = std::mem::take(&mut self.scratch);
        path.clear();
        path.push(method);
        path.extend(self.walk(node).take(self.depth - 1));
        let next = match self.find(&path) {
            Some(_) if self.has_path(node.0, &path) => self.twin_of(node),
            Some(found) => found,
            None if self.len() < self.capacity => self.add(&path, node),
            None => {
                self.cut += 1;
                match self.find(&path[..1]) {
                    Some(found) => found,
                    None if self.len() < self.most_nodes() => {
                        self.add(&path[..1], NodeNumber::ROOT)
                    }
                    None => NodeNumber::ROOT,
                }
            }
        };
        self.scratch = path;
        if next != NodeNumber::ROOT {
            self.nodes.link(node, next);
        }
        next
    }

    /// The pairs of nodes with the same path.
    pub(super) fn twins(&self) -> impl Iterator<Item = (NodeNumber, NodeNumber)> + '_ {
        let pairs = self.twins.iter().filter(|(first, second)| first < second);
        pairs.map(|(&first, &second)| (NodeNumber(first), NodeNumber(second)))
    }

    /// The other node of the same path, if there is room for it.
    fn twin_of(&mut self, node: NodeNumber) -> NodeNumber {
        let number = node.0;
        if let Some(&twin) = self.twins.get(&number) {
            return NodeNumber(twin);
        }
        if self.len() >= self.capacity {
            return node;
        }
        let caller = NodeNumber(self.callers[number as usize]);
        let twin = self.add_unknown(
            self.nodes.method(node),
            caller,
            self.hashes[number as usize],
        );
        self.twins.insert(number, twin.0);
        self.twins.insert(twin.0, number);
        twin
    }

    fn find(&self, path: &[u32]) -> Option<NodeNumber> {
        let same = |&number: &u32| self.has_path(number, path);
        self.index
            .find(spread(self.hash(path)), same)
            .map(|&number| NodeNumber(number))
    }

    fn has_path(&self, number: u32, path: &[u32]) -> bool {
        self.walk(NodeNumber(number)).eq(path.iter().copied())
    }

    fn hash(&self, path: &[u32]) -> u32 {
        self.hasher.hash_one(path) as u32
    }

    fn add(&mut self, path: &[u32], caller: NodeNumber) -> NodeNumber {
        let hash = self.hash(path);
        let method = path.first().copied().unwrap_or(NO_METHOD);
        let node = self.add_unknown(method, caller, hash);
        let Self { index, hashes, .. } = self;
        index.insert_unique(spread(hash), node.0, |&other| {
            spread(hashes[other as usize])
        });
        node
    }

    /// A node that is not found by its path.
    fn add_unknown(&mut self, method: u32, caller: NodeNumber, hash: u32) -> NodeNumber {
        self.callers.push(caller.0);
        self.hashes.push(hash);
        self.nodes.add(method)
    }
}

/// A hash of which all bits are used, as the index wants it.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The native method `HprofHooks.next`.
    fn as_java(automaton: &mut Automaton, node: NodeNumber, method: u32) -> NodeNumber {
        let known = automaton.shared().follower(node, method);
        known.unwrap_or_else(|| automaton.next(node, method))
    }

    proptest! {
        #[test]
        fn a_node_has_the_last_methods(
            depth in 1usize..6,
            calls in prop::collection::vec(0u32..600, 1..400),
        ) {
            let mut automaton = Automaton::new(depth, 1 << 16).unwrap();
            let mut node = NodeNumber::ROOT;
            for (at, &call) in calls.iter().enumerate() {
                node = as_java(&mut automaton, node, call);
                let last: Vec<u32> = calls[..=at].iter().rev().take(depth).copied().collect();
                prop_assert_eq!(automaton.methods(node), &last[..]);
            }
        }
    }

    #[test]
    fn a_known_step_is_in_the_table() {
        let mut automaton = Automaton::new(3, 1 << 16).unwrap();
        let root = NodeNumber::ROOT;
        let nodes: Vec<_> = (0..3000).map(|m| automaton.next(root, m)).collect();
        let before = automaton.len();
        let found =
            (0..3000).filter(|&m| automaton.shared().follower(root, m) == Some(nodes[m as usize]));
        assert!(found.count() > 2900);
        assert_eq!(automaton.len(), before);
    }

    #[test]
    fn a_recursion_has_two_nodes() {
        let mut automaton = Automaton::new(3, 100).unwrap();
        let mut nodes = vec![NodeNumber::ROOT];
        for _ in 0..10 {
            nodes.push(as_java(&mut automaton, nodes[nodes.len() - 1], 7));
        }
        assert_eq!(automaton.len(), 5);
        for pair in nodes[3..].windows(2) {
            assert_ne!(pair[0], pair[1]);
            assert_eq!(automaton.methods(pair[1]), [7, 7, 7]);
            assert!(pair.contains(&nodes[3]));
        }
        let twins: Vec<_> = automaton.twins().collect();
        assert_eq!(twins, [(nodes[3], nodes[4])]);
        let left = [nodes[3], nodes[4]].map(|node| automaton.next(node, 8));
        assert_eq!(left[0], left[1]);
    }

    #[test]
    fn a_full_automaton_keeps_single_methods() {
        let mut automaton = Automaton::new(4, 10).unwrap();
        let mut node = NodeNumber::ROOT;
        for method in 0..100 {
            node = automaton.next(node, method % 50);
        }
        assert!(automaton.cut() > 0);
        assert_eq!(automaton.methods(node)[0], 49);
        assert!(automaton.len() <= 60);
    }
}
