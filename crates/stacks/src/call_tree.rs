//! Stacks merged from their roots.

use std::cmp::Reverse;

use hprof_format::ids::ThreadSerial;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::family::family;
use crate::table::Stacks;
use crate::weights::Weights;

/// A method in a [`CallTree`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Class and method, or the class that was allocated.
    pub name: Box<str>,
    /// The cost of this node itself.
    #[serde(rename = "self")]
    pub own: u64,
    /// The cost with all children.
    pub total: u64,
    /// The nodes called from here, the most costly first.
    pub children: Vec<Self>,
}

/// Stacks merged from their roots, methods of different lines being one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallTree {
    /// The sum of all costs.
    pub total: u64,
    /// The outermost methods, the most costly first.
    pub roots: Vec<Node>,
}

/// The name of stacks without frames.
pub const EMPTY: &str = "<empty trace>";
/// The name of what the profiler's cutoff left out.
pub const CUT_OFF: &str = "<below the cutoff>";
/// The root of stacks whose thread is not known.
pub(crate) const UNKNOWN_THREAD: &str = "<thread unknown>";

/// Deeper stacks lose their middle: trees are walked by recursion when they are dropped and printed.
/// The agent's traces are no deeper.
const MAX_DEPTH: usize = 2048;
/// The name of what such stacks lack.
pub(crate) const LEFT_OUT: &str = "<frames left out>";

/// Puts one name in place of the middle of a path that is too deep.
pub(crate) fn shorten<T>(path: &mut Vec<T>, left_out: T) {
    if path.len() > MAX_DEPTH {
        let ends = MAX_DEPTH / 2;
        path.splice(ends..path.len() - ends + 1, [left_out]);
    }
}

/// A node under construction. Children are found by the index of their name.
#[derive(Default)]
struct Growing {
    own: u64,
    children: FxHashMap<u32, usize>,
    name: u32,
}

/// Merges paths into a tree. Names are held once while it grows.
#[derive(Default)]
struct Builder {
    nodes: Vec<Growing>,
    names: Vec<Box<str>>,
    index: FxHashMap<Box<str>, u32>,
}

impl Builder {
    fn name(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        let next = self.names.len() as u32;
        self.names.push(name.into());
        self.index.insert(name.into(), next);
        next
    }

    /// Adds to the node at the end of a path from the outermost name on.
    fn add(&mut self, path: &mut Vec<u32>, value: u64) {
        if path.len() > MAX_DEPTH {
            shorten(path, self.name(LEFT_OUT));
        }
        if self.nodes.is_empty() {
            self.nodes.push(Growing::default());
        }
        let mut at = 0;
        for &name in path.iter() {
            let next = self.nodes.len();
            at = *self.nodes[at].children.entry(name).or_insert(next);
            if at == next {
                self.nodes.push(Growing {
                    name,
                    ..Growing::default()
                });
            }
        }
        self.nodes[at].own += value;
    }
}

impl CallTree {
    /// Merges the stacks of a profile from the outermost method on.
    pub fn new(stacks: &Stacks, weights: &Weights) -> Self {
        Self::merge(stacks, weights, false, None)
    }

    /// Merges the stacks of a profile from the innermost method on, so that each root is a method
    /// or class with its own cost, and its children are the callers.
    pub fn with_innermost_first(stacks: &Stacks, weights: &Weights) -> Self {
        Self::merge(stacks, weights, true, None)
    }

    /// Merges the stacks of each thread from the outermost method on. The roots are the threads,
    /// those of equal names being one.
    pub fn by_thread(
        stacks: &Stacks,
        weights: &Weights,
        name: &dyn Fn(ThreadSerial) -> Option<String>,
    ) -> Self {
        Self::merge(stacks, weights, false, Some(name))
    }

    fn merge(
        stacks: &Stacks,
        weights: &Weights,
        innermost_first: bool,
        thread_name: Option<&dyn Fn(ThreadSerial) -> Option<String>>,
    ) -> Self {
        let mut builder = Builder::default();
        let mut by_frame = FxHashMap::default();
        let mut by_serial = FxHashMap::default();
        let mut path = Vec::new();
        for row in weights.rows.iter().filter(|row| row.value > 0) {
            path.clear();
            if let Some(thread_name) = thread_name {
                let serial = stacks.trace(row.trace).and_then(|trace| trace.thread);
                let name = by_serial.entry(serial).or_insert_with(|| {
                    let name = serial.and_then(thread_name);
                    builder.name(name.as_deref().unwrap_or(UNKNOWN_THREAD))
                });
                path.push(*name);
            }
            let roots = path.len();
            for &frame in stacks.frames_of(row.trace).iter().rev() {
                let name = by_frame
                    .entry(frame)
                    .or_insert_with(|| builder.name(&stacks.frame(frame).name()));
                path.push(*name);
            }
            if path.len() == roots {
                path.push(builder.name(EMPTY));
            }
            if let Some(class) = &row.class {
                path.push(builder.name(&family(class)));
            }
            if innermost_first {
                path.reverse();
            }
            builder.add(&mut path, row.value);
        }
        if weights.missing() > 0 {
            let mut path = Vec::new();
            path.extend(thread_name.map(|_| builder.name(UNKNOWN_THREAD)));
            path.push(builder.name(CUT_OFF));
            builder.add(&mut path, weights.missing());
        }
        Self {
            total: weights.total,
            roots: finish(builder.nodes, &builder.names),
        }
    }

    /// Merges paths of names, each from the outermost on, with what each costs.
    pub fn from_paths<'a>(paths: impl IntoIterator<Item = (Vec<&'a str>, u64)>) -> Self {
        let mut builder = Builder::default();
        let mut total = 0;
        for (names, value) in paths.into_iter().filter(|(_, value)| *value > 0) {
            let mut path: Vec<u32> = names.iter().map(|name| builder.name(name)).collect();
            builder.add(&mut path, value);
            total += value;
        }
        Self {
            total,
            roots: finish(builder.nodes, &builder.names),
        }
    }
}

/// Turns the nodes into owned trees. Children always follow their parents, so one walk from
/// the end does, however deep the stacks are.
fn finish(nodes: Vec<Growing>, names: &[Box<str>]) -> Vec<Node> {
    let mut done: Vec<Option<Node>> = Vec::new();
    done.resize_with(nodes.len(), || None);
    for (index, node) in nodes.into_iter().enumerate().rev() {
        let mut children: Vec<Node> = node
            .children
            .values()
            .filter_map(|&child| done[child].take())
            .collect();
        children.sort_by(|a, b| (Reverse(a.total), &a.name).cmp(&(Reverse(b.total), &b.name)));
        let total = node.own + children.iter().map(|child| child.total).sum::<u64>();
        if index == 0 {
            return children;
        }
        done[index] = Some(Node {
            name: names[node.name as usize].clone(),
            own: node.own,
            total,
            children,
        });
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_a_tree() {
        let paths = [
            (vec!["java", "util", "HashMap"], 5),
            (vec!["java", "lang", "String"], 7),
            (vec!["App"], 0),
        ];
        let tree = CallTree::from_paths(paths);
        assert_eq!((tree.total, tree.roots.len()), (12, 1));
        let inner: Vec<&str> = tree.roots[0].children.iter().map(|n| &*n.name).collect();
        assert_eq!(inner, ["lang", "util"]);
        assert!(CallTree::from_paths([]).roots.is_empty());
    }

    #[test]
    fn very_deep_stacks_lose_their_middle() {
        let names: Vec<String> = (0..100_000).map(|depth| format!("m{depth}")).collect();
        let path: Vec<&str> = names.iter().map(String::as_str).collect();
        let tree = CallTree::from_paths([(path, 3)]);
        let (mut depth, mut node) = (1, &tree.roots[0]);
        while let Some(child) = node.children.first() {
            (depth, node) = (depth + 1, child);
        }
        assert_eq!((depth, &*node.name, node.own), (MAX_DEPTH, "m99999", 3));
    }
}
