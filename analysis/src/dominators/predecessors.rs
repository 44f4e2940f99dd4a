//! The predecessors of each object, in the numbers of a depth-first search.

use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

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
    let length = start.len().div_ceil(parts_of(threads)).max(1);
    let parts: Vec<&mut [N]> = start.chunks_mut(length).collect();
    each_part(parts, threads, |number, counts| {
        let first = length * number;
        for [_, to] in pairs.chunks().flatten() {
            if let Some(count) = counts.get_mut(to.get().wrapping_sub(first)) {
                *count = count.next();
            }
        }
    });
    let mut sum = 0usize;
    for end in start.iter_mut() {
        sum += end.get();
        if sum as u64 >= N::NONE.get() as u64 {
            return Err(io::Error::other(crate::graph::TooMany));
        }
        *end = N::of(sum);
    }
    let mut list = store.unset::<N>(sum)?;
    list.set_hot(true);
    let mut rest = &mut *list;
    let mut parts = Vec::new();
    let mut listed = 0;
    for ends in start.chunks_mut(length) {
        // The last list of the part ends here.
        let end = ends.last().map_or(listed, |end| end.get());
        let (lists, others) = rest.split_at_mut(end - listed);
        parts.push((ends, lists, listed));
        (rest, listed) = (others, end);
    }
    each_part(parts, threads, |number, (ends, lists, listed)| {
        let first = length * number;
        for [from, to] in pairs.chunks().flatten() {
            if let Some(end) = ends.get_mut(to.get().wrapping_sub(first)) {
                let place = end.get() - 1;
                *end = N::of(place);
                lists[place - *listed] = *from;
            }
        }
    });
    start.set_hot(false);
    list.set_hot(false);
    Ok(Predecessors { start, list })
}

/// The most parts of numbers. Each costs a look at all references.
const MAX_PARTS: usize = 8;

/// The number of parts that as many threads work on. A part belongs to one thread: atomic changes here and there would wait for
/// one another's memory.
fn parts_of(threads: usize) -> usize {
    parallel::threads(threads).min(MAX_PARTS)
}

/// Runs `work` for each part with its number, on several threads.
fn each_part<T: Send>(parts: Vec<T>, threads: usize, work: impl Fn(usize, &mut T) + Sync) {
    let parts: Vec<Mutex<T>> = parts.into_iter().map(Mutex::new).collect();
    parallel::run(threads, parts.len(), |tasks| {
        for task in tasks {
            let mut part = parts[task].lock().unwrap_or_else(PoisonError::into_inner);
            work(task, &mut part);
        }
    });
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
