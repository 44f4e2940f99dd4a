//! Costs of stacks, summed over segments and memory, as a call tree.

use std::io;

use hprof_stacks::{CallTree, Node};
use regex::Regex;
use rustc_hash::FxHashMap;

use crate::QueryError;
use crate::batch::{At, Series};
use crate::kind::NANOSECONDS;
use crate::scan::Source;
use crate::selector::{self, THREAD};
use crate::texts::Texts;
use crate::tree::{ROOT, Tree};

/// Nodes of a tree.
const MAX_NODES: usize = 4_000_000;
/// The group of rows without the label.
const NONE: &str = "<none>";

/// Rounds nanoseconds to milliseconds so that the sum of what is rounded is the rounded sum.
#[derive(Default)]
pub(super) struct Rounded(u128);

impl Rounded {
    pub(super) fn next(&mut self, nanos: u64) -> u64 {
        let millis = |nanos: u128| ((nanos + 500_000) / 1_000_000) as u64;
        let before = millis(self.0);
        self.0 += u128::from(nanos);
        millis(self.0) - before
    }
}

/// The name of a thread's group.
fn thread(source: &Source, at: At) -> &str {
    let name = source.stacks.names.get(at.thread);
    named(name.unwrap_or_default())
}

/// The name of the group of a label's value.
fn named(value: &str) -> &str {
    if value.is_empty() { NONE } else { value }
}

/// The group of a row.
pub(super) fn group<'a>(by: &str, series: &'a Series, source: &'a Source, at: At) -> &'a str {
    match by {
        THREAD => thread(source, at),
        by => named(selector::value(series, by)),
    }
}

/// The costs of stacks.
#[derive(Default)]
pub(super) struct Sums {
    tree: Tree,
    own: Vec<u64>,
    /// The unit of values, if there are any.
    pub(super) unit: Option<String>,
    known: Known,
}

/// No node.
const UNKNOWN: u32 = u32::MAX;

/// Where nodes of a source are in the tree.
#[derive(Default)]
struct Known {
    /// The number of the source.
    source: usize,
    /// By node, where all rows have one root; [`UNKNOWN`] for others.
    nodes: Vec<u32>,
    /// By the root of the group and the node.
    of_groups: FxHashMap<(u32, u32), u32>,
    /// Names, by their numbers in the source; [`UNKNOWN`] for others.
    names: Vec<u32>,
    /// The roots of threads.
    threads: FxHashMap<u32, u32>,
}

impl Known {
    fn find(&self, root: u32, node: u32) -> Option<u32> {
        if root != ROOT {
            return self.of_groups.get(&(root, node)).copied();
        }
        let found = self.nodes.get(node as usize).copied();
        found.filter(|found| *found != UNKNOWN)
    }

    fn insert(&mut self, root: u32, node: u32, here: u32) {
        if root != ROOT {
            self.of_groups.insert((root, node), here);
            return;
        }
        if let Some(known) = self.nodes.get_mut(node as usize) {
            *known = here;
        }
    }

    /// The number of a source's name in the tree.
    fn name(&mut self, number: u32, names: &Texts, tree: &mut Tree) -> u32 {
        self.names.resize(names.len(), UNKNOWN);
        match self.names.get_mut(number as usize) {
            None => tree.name(""),
            Some(known) => {
                if *known == UNKNOWN {
                    *known = tree.name(names.get(number).unwrap_or_default());
                }
                *known
            }
        }
    }
}

impl Sums {
    /// The root of a group.
    fn root(&mut self, group: &str) -> u32 {
        let name = self.tree.name(group);
        self.tree.child(ROOT, name)
    }

    /// Adds the rows of a source, with the value of a label as the outermost frame.
    ///
    /// # Errors
    /// If the tree gets too large.
    pub(super) fn add(&mut self, source: &Source, by: Option<&str>) -> io::Result<()> {
        let mut known = std::mem::take(&mut self.known);
        if known.source != source.number {
            known = Known {
                source: source.number,
                ..Known::default()
            };
        }
        known.nodes.resize(source.stacks.nodes.len(), UNKNOWN);
        let mut way = Vec::new();
        for (series, rows) in &source.parts {
            self.unit.get_or_insert_with(|| series.unit.clone());
            let of_series = match by {
                None => ROOT,
                Some(THREAD) => ROOT,
                Some(by) => self.root(named(selector::value(series, by))),
            };
            for &(at, value) in rows {
                let root = match by {
                    Some(THREAD) => *known
                        .threads
                        .entry(at.thread)
                        .or_insert_with(|| self.root(thread(source, at))),
                    _ => of_series,
                };
                // Up to a frame that is known, then down again.
                let mut node = at.node;
                let mut here = loop {
                    if node == ROOT {
                        break root;
                    }
                    if let Some(found) = known.find(root, node) {
                        break found;
                    }
                    way.push(node);
                    node = match source.stacks.nodes.get(node as usize) {
                        Some(&(parent, _)) if parent < node => parent,
                        _ => ROOT,
                    };
                };
                while let Some(node) = way.pop() {
                    let name = source.stacks.nodes.get(node as usize).map_or(0, |it| it.1);
                    let name = known.name(name, &source.stacks.names, &mut self.tree);
                    here = self.tree.child(here, name);
                    known.insert(root, node, here);
                }
                if self.own.len() <= here as usize {
                    self.own.resize(self.tree.nodes.len(), 0);
                }
                let own = &mut self.own[here as usize];
                *own = own.saturating_add(value);
            }
            if self.tree.nodes.len() > MAX_NODES {
                return Err(io::Error::other(TooMany));
            }
        }
        self.known = known;
        Ok(())
    }

    /// The call tree of stacks with a method that a filter matches, from the outermost or the innermost method on.
    pub(super) fn call_tree(
        mut self,
        filter: Option<&Regex>,
        is_inverted: bool,
    ) -> Result<CallTree, QueryError> {
        self.own.resize(self.tree.nodes.len(), 0);
        let nodes = &self.tree.nodes;
        if let Some(filter) = filter {
            let names = self.tree.names.iter();
            let matching: Vec<bool> = names.map(|name| filter.is_match(name)).collect();
            let mut is_in = vec![false; nodes.len()];
            for (at, &(parent, name)) in nodes.iter().enumerate().skip(1) {
                is_in[at] = is_in[parent as usize] || matching[name as usize];
                if !is_in[at] {
                    self.own[at] = 0;
                }
            }
        }
        if self.unit.as_deref() == Some(NANOSECONDS) {
            let mut rounded = Rounded::default();
            self.own
                .iter_mut()
                .for_each(|own| *own = rounded.next(*own));
        }
        if is_inverted {
            let mut inverted = Self {
                unit: self.unit.clone(),
                ..Self::default()
            };
            for (at, &own) in self.own.iter().enumerate().filter(|it| *it.1 > 0) {
                let (mut node, mut here) = (at as u32, ROOT);
                while node != ROOT {
                    let (parent, name) = nodes[node as usize];
                    let name = inverted
                        .tree
                        .name(self.tree.names.get(name).unwrap_or_default());
                    here = inverted.tree.child(here, name);
                    node = parent;
                }
                if inverted.tree.nodes.len() > MAX_NODES {
                    return Err(too_much());
                }
                inverted.own.resize(inverted.tree.nodes.len(), 0);
                inverted.own[here as usize] += own;
            }
            self = inverted;
        }
        Ok(self.finish())
    }

    /// The costs of methods themselves, by name.
    pub(super) fn own_by_method(self) -> FxHashMap<Box<str>, u64> {
        let mut costs = FxHashMap::default();
        for (at, &own) in self.own.iter().enumerate().filter(|it| *it.1 > 0) {
            let name = self.tree.nodes[at].1;
            let name = self.tree.names.get(name).unwrap_or_default().into();
            let sum: &mut u64 = costs.entry(name).or_default();
            *sum = sum.saturating_add(own);
        }
        if self.unit.as_deref() == Some(NANOSECONDS) {
            costs
                .values_mut()
                .for_each(|own| *own = (*own + 500_000) / 1_000_000);
        }
        costs
    }

    /// The tree with the largest in front. Callers have smaller numbers, so one walk from the end does.
    fn finish(self) -> CallTree {
        let mut below: Vec<Vec<Node>> = Vec::new();
        below.resize_with(self.tree.nodes.len(), Vec::new);
        for (at, &(parent, name)) in self.tree.nodes.iter().enumerate().skip(1).rev() {
            let mut children = std::mem::take(&mut below[at]);
            let own = self.own.get(at).copied().unwrap_or(0);
            let sum = |sum: u64, child: &Node| sum.saturating_add(child.total);
            let total = children.iter().fold(own, sum);
            if total == 0 {
                continue;
            }
            sort(&mut children);
            let name = self.tree.names.get(name).unwrap_or_default().into();
            below[parent as usize].push(Node {
                name,
                own,
                total,
                children,
            });
        }
        let mut roots = below.swap_remove(0);
        sort(&mut roots);
        let sum = |sum: u64, node: &Node| sum.saturating_add(node.total);
        CallTree {
            total: roots.iter().fold(0, sum),
            roots,
        }
    }
}

fn sort(nodes: &mut [Node]) {
    nodes.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.name.cmp(&b.name)));
}

/// The stacks of an answer are too many.
#[derive(Debug, thiserror::Error)]
#[error("too many stacks")]
struct TooMany;

fn too_much() -> QueryError {
    QueryError::TooLarge(format!(
        "the stacks of this window have more than {MAX_NODES} frames; narrow the window or the selector"
    ))
}

pub(super) fn of_scan(error: io::Error) -> QueryError {
    match error.get_ref().is_some_and(|inner| inner.is::<TooMany>()) {
        true => too_much(),
        false => QueryError::Disk(error),
    }
}
