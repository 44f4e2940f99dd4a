//! Which objects of a long path are shown: a linked list makes paths of millions of steps, which no user
//! reads and no reader of JSON has room for.

use std::ops::Range;

use crate::graph::Graph;
use crate::numbers::ObjectNumber;
use crate::snapshot::{Edge, EdgeKind, Snapshot};

/// Steps that stay at each end of a run of equal ones.
const RUN_ENDS: usize = 3;
/// Steps that stay at each end of a path that is still long.
const ENDS: usize = 50;

/// The positions on a path that are shown, in order. The first, the last and those of `always` are among them.
pub(super) fn shown(snapshot: &Snapshot, objects: &[ObjectNumber], always: &[usize]) -> Vec<usize> {
    let class = |at: usize| class_of(snapshot.graph(), objects[at]);
    let edge = |at: usize| snapshot.edge(objects[at - 1], objects[at]);
    let mut left_out: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    while start < objects.len() {
        let of_class = (start..objects.len())
            .take_while(|&at| class(at) == class(start))
            .count();
        let end = start + of_class;
        // Edges are looked up in the file, so only where they may be left out.
        if of_class > 2 * RUN_ENDS + 1 {
            fold_run(start..end, edge, &mut left_out);
        }
        start = end;
    }
    let all = left_out.iter().map(Range::len).sum::<usize>();
    let mut shown = Vec::with_capacity(objects.len() - all);
    let mut from = 0;
    let of_always =
        |range: Range<usize>| always.iter().copied().filter(move |at| range.contains(at));
    for range in left_out {
        shown.extend(from..range.start);
        shown.extend(of_always(range.clone()));
        from = range.end;
    }
    shown.extend(from..objects.len());
    if shown.len() > 2 * ENDS {
        let middle = shown[ENDS]..shown[shown.len() - ENDS];
        let tail = shown.split_off(shown.len() - ENDS);
        shown.truncate(ENDS);
        shown.extend(of_always(middle));
        shown.extend(tail);
    }
    shown
}

/// Adds the middles of the runs of equal edges within steps of one class.
fn fold_run(steps: Range<usize>, edge: impl Fn(usize) -> Edge, left_out: &mut Vec<Range<usize>>) {
    let mut close = |run: Range<usize>| {
        if run.len() > 2 * RUN_ENDS + 1 {
            left_out.push(run.start + RUN_ENDS..run.end - RUN_ENDS);
        }
    };
    // The first object of a path has no edge.
    let first = steps.start.max(1);
    let (mut start, mut before) = (first, edge(first));
    for at in first + 1..steps.end {
        let this = edge(at);
        if !is_equal(&before, &this) {
            close(start..at);
            (start, before) = (at, this);
        }
    }
    close(start..steps.end);
}

/// True of equal references; those of arrays are, whatever the index.
fn is_equal(a: &Edge, b: &Edge) -> bool {
    a.kind == b.kind && (a.kind == EdgeKind::Element || a.name == b.name)
}

/// The class of an object. Class objects have one in common.
fn class_of(graph: &Graph, object: ObjectNumber) -> Option<crate::numbers::ClassNumber> {
    match graph.class_of_object(object) {
        Some(_) => None,
        None => Some(graph.class_of(object)),
    }
}
