//! Immediate dominators by semidominators and nearest common ancestors.
//!
//! The algorithm is "SEMI-NCA" of L. Georgiadis, R. E. Tarjan and R. F. Werneck, "Finding
//! Dominators in Practice", Journal of Graph Algorithms and Applications 10(1), 2006, with the path
//! compression of T. Lengauer and R. E. Tarjan, "A Fast Algorithm for Finding Dominators in a
//! Flowgraph", ACM TOPLAS 1(1), 1979.

use std::io;

use super::predecessors::Predecessors;
use crate::graph::{Array, Number, Store};

/// The immediate dominator of each number. `parent` is the tree of a depth-first search, by number,
/// 0 being the root of the tree.
pub(super) fn dominators<N: Number>(
    mut parent: Array<N>,
    reached: usize,
    predecessors: Predecessors<N>,
    store: &Store,
) -> io::Result<Array<N>> {
    let mut semi = store.zeros::<N>(reached + 1)?;
    {
        let mut label = store.zeros::<N>(reached + 1)?;
        let mut ancestor = store.zeros::<N>(reached + 1)?;
        label.set_hot(true);
        ancestor.set_hot(true);
        let (label, ancestor, semi) = (&mut *label, &mut *ancestor, &mut *semi);
        ancestor.copy_from_slice(&parent[..=reached]);
        let mut path = Vec::new();
        for number in (1..=reached).rev() {
            let mut lowest = parent[number];
            for &from in predecessors.of(number) {
                let found = if from.get() < number {
                    from
                } else {
                    lowest_label(from, N::of(number), label, ancestor, &mut path)
                };
                lowest = lowest.min(found);
            }
            semi[number] = lowest;
            label[number] = lowest;
        }
    }
    drop(predecessors);
    parent.set_hot(true);
    let (dominator, semi) = (&mut *parent, &*semi);
    for number in 1..=reached {
        let mut candidate = dominator[number];
        while candidate > semi[number] {
            candidate = dominator[candidate.get()];
        }
        dominator[number] = candidate;
    }
    Ok(parent)
}

/// The lowest label on the way up from `from`, as far as numbers are above `linked`; the way is
/// made shorter for the next time.
#[inline(always)]
fn lowest_label<N: Number>(
    from: N,
    linked: N,
    label: &mut [N],
    ancestor: &mut [N],
    path: &mut Vec<N>,
) -> N {
    let mut at = from;
    let mut above = ancestor[at.get()];
    if above <= linked {
        return label[at.get()];
    }
    loop {
        let next = ancestor[above.get()];
        if next <= linked {
            break;
        }
        path.push(at);
        at = above;
        above = next;
    }
    // From the top downwards; `at` hangs directly under the topmost.
    let top = ancestor[above.get()];
    let mut lowest = label[above.get()];
    let settle = |at: usize, lowest: &mut N, label: &mut [N], ancestor: &mut [N]| {
        *lowest = (*lowest).min(label[at]);
        label[at] = *lowest;
        ancestor[at] = top;
    };
    settle(at.get(), &mut lowest, label, ancestor);
    while let Some(at) = path.pop() {
        settle(at.get(), &mut lowest, label, ancestor);
    }
    lowest
}
