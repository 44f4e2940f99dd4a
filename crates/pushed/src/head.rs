//! The costs that are in no segment yet, in memory.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::batch::{At, Batch, Series};
use crate::tree::Tree;

/// Costs of many series.
#[derive(Debug, Default)]
pub(super) struct Head {
    /// Stacks and names.
    pub tree: Tree,
    /// The series, by their numbers here.
    pub series: Vec<Arc<Series>>,
    index: FxHashMap<Arc<Series>, u32>,
    /// Sums by series.
    pub rows: Vec<FxHashMap<At, u64>>,
    /// The number of sums.
    pub count: usize,
}

impl Head {
    /// Adds the profiles of a request.
    pub(super) fn add(&mut self, batch: &Batch) {
        let names = batch.tree.names.iter();
        let names: Vec<u32> = names.map(|name| self.tree.name(name)).collect();
        let nodes = self.tree.take(&names, &batch.tree.nodes);
        for costs in &batch.costs {
            let at = match self.index.get(&costs.series) {
                Some(&known) => known,
                None => {
                    let next = self.series.len() as u32;
                    self.series.push(Arc::clone(&costs.series));
                    self.rows.push(FxHashMap::default());
                    self.index.insert(Arc::clone(&costs.series), next);
                    next
                }
            };
            let rows = &mut self.rows[at as usize];
            let before = rows.len();
            for &(row, value) in &costs.rows {
                let at = At {
                    thread: names[row.thread as usize],
                    node: nodes[row.node as usize],
                    ..row
                };
                let sum = rows.entry(at).or_default();
                *sum = sum.saturating_add(value);
            }
            self.count += rows.len() - before;
        }
    }

    /// About the bytes that it occupies.
    pub(super) fn bytes(&self) -> usize {
        self.tree.bytes() + 40 * self.count + 1000 * self.series.len()
    }
}
