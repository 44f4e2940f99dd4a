//! The predecessors of each object, in the numbers of a depth-first search.

use std::io;
use std::ops::Range;

use zerocopy::{FromBytes, IntoBytes};

use super::depth_first::DepthFirst;
use super::pairs::Pairs;
use crate::graph::{Array, Links, Number, Store};
use crate::parallel;

/// For each number, those that refer to it; without the parent in the tree, and without those of
/// roots, whose dominator is known.
pub(super) struct Predecessors<N> {
    /// By number: where its list starts; the list ends where the next one starts.
    pub start: Array<N>,
    /// All lists.
    pub list: Array<N>,
}

/// Numbers in one task.
const TASK: usize = 1 << 16;

/// Finds them. `number` holds the number of each object, 0 if it was not reached.
pub(super) fn predecessors<N: Number>(
    links: &Links<'_, N>,
    tree: &DepthFirst<N>,
    number: Array<N>,
    store: &Store,
    threads: usize,
) -> io::Result<Predecessors<N>> {
    // The graph is asked once, in any order; everything after that goes over what it said.
    number.set_hot(true);
    let pairs = pairs(links, tree, &number, store, threads)?;
    drop(number);
    links.set_hot(false);
    // Where the list of each number ends, then, as it is filled from the end, where it starts.
    let mut start = store.zeros::<N>(tree.reached + 2)?;
    start.set_hot(true);
    {
        let counts = <[N::Atomic]>::mut_from_bytes(start.as_mut_bytes());
        let counts: &[N::Atomic] = counts.map_or(&[], |counts| counts);
        each_chunk(&pairs, threads, |pair| {
            N::add(&counts[pair[1].get()], 1);
        });
    }
    let mut sum = 0usize;
    for end in start.iter_mut() {
        sum += end.get();
        if sum as u64 >= N::NONE.get() as u64 {
            return Err(io::Error::other(crate::graph::TooMany));
        }
        *end = N::of(sum);
    }
    let mut list = store.zeros::<N>(sum)?;
    list.set_hot(true);
    {
        let ends = <[N::Atomic]>::mut_from_bytes(start.as_mut_bytes());
        let ends: &[N::Atomic] = ends.map_or(&[], |ends| ends);
        let places = <[N::Atomic]>::mut_from_bytes(list.as_mut_bytes());
        let places: &[N::Atomic] = places.map_or(&[], |places| places);
        each_chunk(&pairs, threads, |pair| {
            let place = N::take(&ends[pair[1].get()]);
            N::store(&places[place], pair[0]);
        });
    }
    start.set_hot(false);
    list.set_hot(false);
    Ok(Predecessors { start, list })
}

/// All references that matter, in the numbers of the search: from, to.
fn pairs<N: Number>(
    links: &Links<'_, N>,
    tree: &DepthFirst<N>,
    number: &[N],
    store: &Store,
    threads: usize,
) -> io::Result<Pairs<N>> {
    let parts = parallel::run(threads, tree.reached.div_ceil(TASK), |tasks| {
        let (mut found, mut outcome) = (Pairs::new(), Ok(()));
        for task in tasks {
            let first = 1 + TASK * task;
            let last = (first + TASK).min(tree.reached + 1);
            edges(links, tree, number, first..last, |from, to| {
                if outcome.is_ok() {
                    outcome = found.push(store, [N::of(from), N::of(to)]);
                }
            });
        }
        outcome.map(|()| found)
    });
    let mut all = Pairs::new();
    for part in parts {
        all.append(part?);
    }
    Ok(all)
}

#[inline(always)]
fn edges<N: Number>(
    links: &Links<'_, N>,
    tree: &DepthFirst<N>,
    number: &[N],
    range: Range<usize>,
    mut edge: impl FnMut(usize, usize),
) {
    let (vertex, parent) = (&*tree.vertex, &*tree.parent);
    for from in range {
        links.each(vertex[from].get(), |target| {
            let to = number[target].get();
            let above = parent[to].get();
            if above != 0 && above != from && to != from {
                edge(from, to);
            }
        });
    }
}

/// Runs `work` for all pairs, on several threads.
fn each_chunk<N: Number>(pairs: &Pairs<N>, threads: usize, work: impl Fn(&[N; 2]) + Sync) {
    parallel::run(threads, pairs.chunks().len(), |tasks| {
        for task in tasks {
            pairs.chunk(task).iter().for_each(&work);
        }
    });
}
