//! Walks over objects that no root reaches.

use crate::graph::{Number, References, Width};
use crate::marks::Marks;
use crate::numbers::ObjectNumber;
use crate::snapshot::Snapshot;

/// Gives the objects that no root reaches and that are reached from some objects, these included, each
/// once: with the position of the first of `starts` that leads to it.
pub(crate) fn behind(
    snapshot: &Snapshot,
    starts: &[ObjectNumber],
    visit: impl FnMut(usize, ObjectNumber),
) {
    match snapshot.graph().width() {
        Width::Narrow(references) => walk(snapshot, references, starts, visit),
        Width::Wide(references) => walk(snapshot, references, starts, visit),
    }
}

fn walk<N: Number>(
    snapshot: &Snapshot,
    references: &References<N>,
    starts: &[ObjectNumber],
    mut visit: impl FnMut(usize, ObjectNumber),
) {
    let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
    let links = graph.few_links(references);
    let mut seen = Marks::new(graph.len());
    let mut open: Vec<N> = Vec::new();
    for (position, start) in starts.iter().enumerate() {
        let mut add = |object: usize, open: &mut Vec<N>| {
            let is_live = || dominators.place(ObjectNumber::new(object)).is_some();
            if !seen.has(object) && !is_live() {
                seen.set(object);
                open.push(N::of(object));
            }
        };
        add(start.index(), &mut open);
        while let Some(object) = open.pop() {
            visit(position, ObjectNumber::new(object.get()));
            links.each(object.get(), |target| add(target, &mut open));
        }
    }
}
