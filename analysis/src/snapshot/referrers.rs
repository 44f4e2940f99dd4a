//! What refers to an object.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Snapshot;
use super::describe::Edge;
use crate::graph::{Number, References, Width};

impl Snapshot {
    /// The objects that refer to one, each once, with how they do; that of an object to its class
    /// is left out.
    pub fn referrers(&self, object: usize) -> Vec<(usize, Edge)> {
        (self.referring(object).into_iter())
            .map(|from| (from, self.edge(from, object)))
            .collect()
    }

    /// The objects that refer to one, each once.
    pub(crate) fn referring(&self, object: usize) -> Vec<usize> {
        match self.graph.width() {
            Width::Narrow(references) => referrers(references, object),
            Width::Wide(references) => referrers(references, object),
        }
    }

    /// The objects that one refers to, each once, with how; its class is left out.
    pub fn references(&self, object: usize) -> Vec<(usize, Edge)> {
        // All at once: to look for the edge of each would take the square of their number.
        let list = self.reference_list(object);
        let mut edges: FxHashMap<usize, Edge> = FxHashMap::default();
        for at in 0.. {
            match self.reference_at(&list, at) {
                Some(Some((edge, target))) => {
                    edges.entry(target).or_insert(edge);
                }
                Some(None) => {}
                None => break,
            }
        }
        let mut seen = FxHashSet::default();
        let mut targets = self.graph.references(object);
        targets.retain(|&target| seen.insert(target));
        (targets.into_iter())
            .map(|to| {
                let edge = edges.remove(&to);
                (to, edge.unwrap_or_else(|| self.edge(object, to)))
            })
            .collect()
    }

    /// The objects that refer to one in a way that does not keep it alive.
    pub fn weak_referrers(&self, object: usize) -> Vec<usize> {
        let passed_over = self.graph.passed_over().iter();
        (passed_over.filter(|reference| reference.1 == object as u64))
            .map(|reference| reference.0 as usize)
            .collect()
    }
}

fn referrers<N: Number>(references: &References<N>, object: usize) -> Vec<usize> {
    let view = references.view();
    let all = 0..references.len();
    all.filter(|&from| view.of(from).any(|to| to == object))
        .collect()
}
