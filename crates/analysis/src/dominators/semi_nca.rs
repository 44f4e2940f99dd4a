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
    predecessors: Predecessors<N>,
    store: &Store,
) -> io::Result<(Array<N>, Marks)> {
    let Predecessors {
        numbers,
        start,
        list,
    } = predecessors;
    // By rank of those that have predecessors outside of the tree. To all others only their parent refers.
    let mut semidominators = store.zeros::<N>(numbers.len())?;
    {
        let mut links = store.unset::<Link<N>>(inner + 1)?;
        links.set_hot(true);
        let (links, semidominators) = (&mut *links, &mut *semidominators);
        for (link, &above) in links.iter_mut().zip(&*parent) {
            gate::pass();
            *link = [above; 2];
        }
        let mut path = Vec::new();
        // Each with the number whose turn it is.
        let leaves = numbers.backwards_from(parent.len());
        let leaves = leaves.take_while(|&leaf| leaf > inner);
        let mut leaves = leaves.map(|leaf| (leaf, parent[leaf].get())).peekable();
        let mut others = numbers
            .backwards_from(inner + 1)
            .map(|it| (it, it))
            .peekable();
        loop {
            let is_leaf = match (leaves.peek(), others.peek()) {
                (Some((_, turn)), Some((_, other))) => turn >= other,
                (leaf, _) => leaf.is_some(),
            };
            let next = if is_leaf {
                leaves.next()
            } else {
                others.next()
            };
            let Some((number, linked)) = next else {
                break;
            };
            gate::pass();
            let rank = numbers.before(number);
            let mut lowest = parent[number];
            for &from in &list[start[rank].get()..start[rank + 1].get()] {
                let found = if from.get() <= linked {
                    from
                } else {
                    lowest_label(from, N::of(linked), links, &mut path)
                };
                lowest = lowest.min(found);
            }
            semidominators[rank] = lowest;
            if !is_leaf {
                links[number][LABEL] = lowest;
            }
        }
    }
    drop((start, list));
    let mut elsewhere = Marks::new(parent.len());
    parent.set_hot(true);
    let dominator = &mut *parent;
    for (number, &semi) in numbers.marks().iter().zip(&*semidominators) {
        gate::pass();
        let mut candidate = dominator[number];
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
