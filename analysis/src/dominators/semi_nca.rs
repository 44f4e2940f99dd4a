//! Immediate dominators by semidominators and nearest common ancestors.
//!
//! The algorithm is "SEMI-NCA" of L. Georgiadis, R. E. Tarjan and R. F. Werneck, "Finding
//! Dominators in Practice", Journal of Graph Algorithms and Applications 10(1), 2006, with the path
//! compression of T. Lengauer and R. E. Tarjan, "A Fast Algorithm for Finding Dominators in a
//! Flowgraph", ACM TOPLAS 1(1), 1979.

use std::io;

use super::predecessors::Predecessors;
use crate::gate;
use crate::graph::{Array, Number, Store};
use crate::marks::Marks;

/// The ancestor and the label of a number, which are asked for together.
type Link<N> = [N; 2];
const ANCESTOR: usize = 0;
const LABEL: usize = 1;

/// The immediate dominator of each number of a search, by number, 0 being the root of the tree; and those for which it is not the
/// parent in that tree.
///
/// A leaf refers to nothing, so it is on no way to others, and has no link. It counts as the first child of its parent, whose
/// own turn comes directly after those of its leaves.
pub(super) fn dominators<N: Number>(
    mut parent: Array<N>,
    inner: usize,
    reached: usize,
    predecessors: Predecessors<N>,
    store: &Store,
) -> io::Result<(Array<N>, Marks)> {
    let Predecessors { mut start, list } = predecessors;
    {
        let mut links = store.zeros::<Link<N>>(inner + 1)?;
        links.set_hot(true);
        let (links, start) = (&mut *links, &mut *start);
        for (link, &above) in links.iter_mut().zip(&*parent) {
            link[ANCESTOR] = above;
        }
        let mut path = Vec::new();
        // Where the lists of leaves start: the semidominator of the last other number takes this place.
        let leaves = start[inner + 1];
        // The lowest number on a way to `number` whose other ones are above `linked`.
        let mut semidominator = |number: usize, linked: usize, links: &mut [Link<N>]| {
            gate::pass();
            let mut lowest = parent[number];
            let from = if number == inner + 1 {
                leaves
            } else {
                start[number]
            };
            for &from in &list[from.get()..start[number + 1].get()] {
                let found = if from.get() <= linked {
                    from
                } else {
                    lowest_label(from, N::of(linked), links, &mut path)
                };
                lowest = lowest.min(found);
            }
            // Where the list ends is not asked for again: semidominators take these places.
            start[number + 1] = lowest;
            lowest
        };
        let mut leaf = reached;
        for number in (1..=inner).rev() {
            while leaf > inner && !(1..number).contains(&parent[leaf].get()) {
                semidominator(leaf, number, links);
                leaf -= 1;
            }
            links[number][LABEL] = semidominator(number, number, links);
        }
        // Those that are left are roots.
        for leaf in inner + 1..=leaf {
            start[leaf + 1] = parent[leaf];
        }
    }
    drop(list);
    parent.set_hot(true);
    let (dominator, start) = (&mut *parent, &*start);
    let mut elsewhere = Marks::new(reached + 1);
    for number in 1..=reached {
        gate::pass();
        let (mut candidate, semi) = (dominator[number], start[number + 1]);
        if candidate > semi {
            elsewhere.set(number);
        }
        while candidate > semi {
            candidate = dominator[candidate.get()];
        }
        dominator[number] = candidate;
    }
    parent.set_hot(false);
    Ok((parent, elsewhere))
}

/// The lowest label on the way up from `from`, as far as numbers are above `linked`; the way is
/// made shorter for the next time.
#[inline(always)]
fn lowest_label<N: Number>(from: N, linked: N, links: &mut [Link<N>], path: &mut Vec<N>) -> N {
    let mut at = from;
    let mut above = links[at.get()][ANCESTOR];
    if above <= linked {
        return links[at.get()][LABEL];
    }
    loop {
        let next = links[above.get()][ANCESTOR];
        if next <= linked {
            break;
        }
        gate::pass();
        path.push(at);
        at = above;
        above = next;
    }
    // From the top downwards; `at` hangs directly under the topmost.
    let [top, mut lowest] = links[above.get()];
    let settle = |at: usize, lowest: &mut N, links: &mut [Link<N>]| {
        let link = &mut links[at];
        *lowest = (*lowest).min(link[LABEL]);
        *link = [top, *lowest];
    };
    settle(at.get(), &mut lowest, links);
    while let Some(at) = path.pop() {
        settle(at.get(), &mut lowest, links);
    }
    lowest
}
