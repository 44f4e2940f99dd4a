//! The predecessors of each object, in the numbers of a depth-first search.

use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::depth_first::DepthFirst;
use super::pairs::Pairs;
use super::scatter::RANGE_SHIFT;
use super::targets::{ClassReferences, Numbering};
use crate::gate;
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
    // The graph is asked once; everything after that goes over what it said.
    let edges = Edges::new(links, tree, &number, store, threads)?;
    drop(number);
    links.set_hot(false);
    // Where the list of each number ends, then, as it is filled from the end, where it starts.
    let mut start = store.zeros::<N>(tree.reached + 2)?;
    start.set_hot(true);
    let length = edges.numbers_in_part(start.len(), threads);
    let parts: Vec<&mut [N]> = start.chunks_mut(length).collect();
    each_part(parts, threads, |number, counts| {
        let first = length * number;
        edges.of_part(number, |to, _| {
            if let Some(count) = counts.get_mut(to.get().wrapping_sub(first)) {
                *count = count.next();
            }
        });
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
        edges.of_part(number, |to, from| {
            if let Some(end) = ends.get_mut(to.get().wrapping_sub(first)) {
                let place = end.get() - 1;
                *end = N::of(place);
                lists[place - *listed] = from;
            }
        });
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

/// The references that matter, in the numbers of the search: to, from.
enum Edges<'a, N> {
    /// All of them.
    AtOnce(Pairs<N>),
    /// All references by range of numbers that they lead to, and the tree that tells which ones matter.
    ByRange(Vec<Pairs<N>>, &'a DepthFirst<N>),
}

impl<'a, N: Number> Edges<'a, N> {
    fn new(
        links: &Links<'_, N>,
        tree: &'a DepthFirst<N>,
        number: &Array<N>,
        store: &Store,
        threads: usize,
    ) -> io::Result<Self> {
        if store.has_room_for(size_of_val(&**number)) {
            number.set_hot(true);
            return Ok(Self::AtOnce(pairs(links, tree, number, store, threads)?));
        }
        let numbering = Numbering {
            of: number,
            none: N::of(0),
            end: tree.reached + 1,
        };
        let ranges = numbering.by_target(links, ClassReferences::Count, store, threads)?;
        Ok(Self::ByRange(ranges, tree))
    }

    /// The numbers in each part of those below `end`.
    fn numbers_in_part(&self, end: usize, threads: usize) -> usize {
        match self {
            Self::AtOnce(_) => end.div_ceil(parts_of(threads)).max(1),
            Self::ByRange(..) => 1 << RANGE_SHIFT,
        }
    }

    /// Gives `edge` at least those that lead to the numbers of a part: to, from.
    #[inline(always)]
    fn of_part(&self, part: usize, mut edge: impl FnMut(N, N)) {
        match self {
            Self::AtOnce(pairs) => {
                for &[to, from] in pairs.chunks().flatten() {
                    gate::pass();
                    edge(to, from);
                }
            }
            Self::ByRange(ranges, tree) => {
                let pairs = ranges.get(part).into_iter().flat_map(Pairs::chunks);
                for &[to, from] in pairs.flatten() {
                    gate::pass();
                    if matters(&tree.parent, from.get(), to.get()) {
                        edge(to, from);
                    }
                }
            }
        }
    }
}

/// False for references of the tree itself, to roots, and of objects to themselves.
#[inline(always)]
fn matters<N: Number>(parent: &[N], from: usize, to: usize) -> bool {
    let above = parent[to].get();
    above != 0 && above != from && to != from
}

/// All references that matter, in the numbers of the search: to, from.
fn pairs<N: Number>(
    links: &Links<'_, N>,
    tree: &DepthFirst<N>,
    number: &[N],
    store: &Store,
    threads: usize,
) -> io::Result<Pairs<N>> {
    let parts = parallel::run(threads, tree.inner.div_ceil(TASK), |tasks| {
        let (mut found, mut outcome) = (Pairs::new(), Ok(()));
        for task in tasks {
            let first = 1 + TASK * task;
            let last = (first + TASK).min(tree.inner + 1);
            edges(links, tree, number, first..last, |from, to| {
                if outcome.is_ok() {
                    outcome = found.push(store, [N::of(to), N::of(from)]);
                }
            });
        }
        outcome.map(|()| found)
    });
    Pairs::joined(parts)
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
            if matters(parent, from, to) {
                edge(from, to);
            }
        });
    }
}
