//! Stacks merged from their roots.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::table::Stacks;
use super::weights::Weights;

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
pub(super) const EMPTY: &str = "<empty trace>";
/// The name of what the profiler's cutoff left out.
pub(super) const CUT_OFF: &str = "<below the cutoff>";

/// A node under construction. Children are found by the index of their name.
#[derive(Default)]
struct Growing {
    own: u64,
    children: FxHashMap<u32, usize>,
    name: u32,
}

impl CallTree {
    /// Merges the stacks of a profile.
    pub fn new(stacks: &Stacks, weights: &Weights) -> Self {
        let mut nodes = vec![Growing::default()];
        let mut names: Vec<Box<str>> = Vec::new();
        let mut index: FxHashMap<Box<str>, u32> = FxHashMap::default();
        let mut name_of = |name: String| -> u32 {
            let name = name.into_boxed_str();
            *index.entry(name).or_insert_with_key(|name| {
                names.push(name.clone());
                names.len() as u32 - 1
            })
        };
        let mut by_frame = FxHashMap::default();
        let mut add = |path: &[u32], value: u64| {
            let mut at = 0;
            for &name in path {
                let next = nodes.len();
                at = *nodes[at].children.entry(name).or_insert(next);
                if at == next {
                    nodes.push(Growing {
                        name,
                        ..Growing::default()
                    });
                }
            }
            nodes[at].own += value;
        };
        let mut path = Vec::new();
        for row in weights.rows.iter().filter(|row| row.value > 0) {
            path.clear();
            for &frame in stacks.frames_of(row.trace).iter().rev() {
                let name = by_frame
                    .entry(frame)
                    .or_insert_with(|| name_of(stacks.frame(frame).name()));
                path.push(*name);
            }
            if path.is_empty() {
                path.push(name_of(EMPTY.to_owned()));
            }
            if let Some(class) = &row.class {
                path.push(name_of(class.to_string()));
            }
            add(&path, row.value);
        }
        if weights.missing() > 0 {
            add(&[name_of(CUT_OFF.to_owned())], weights.missing());
        }
        let roots = finish(nodes, &names);
        Self {
            total: weights.total,
            roots,
        }
    }
}

/// Turns the nodes into owned trees. Children always stand behind their parents, so one walk from
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
