//! The predecessors of each object, in the numbers of a depth-first search.

use std::io;
use std::sync::{Mutex, PoisonError};

use super::depth_first::DepthFirst;
use super::pairs::Pairs;
use super::scatter::{RANGE_SHIFT, Ranges, scatter};
use crate::gate;
use crate::graph::{Array, Number, Store};
use crate::marks::Marks;
use crate::parallel;

/// For each number, those that refer to it; without the parent in the tree, and without those of
/// roots, whose dominator is known.
pub(super) struct Predecessors<N> {
    /// By number: where its list starts; the list ends where the next one starts.
    pub start: Array<N>,
    /// All lists.
    pub list: Array<N>,
}

/// Finds them by the references that a search has found outside of its tree.
pub(super) fn predecessors<N: Number>(
    search: &mut DepthFirst<N>,
    objects: usize,
    store: &Store,
    threads: usize,
) -> io::Result<Predecessors<N>> {
    let others = std::mem::replace(&mut search.others, Pairs::new());
    let search = &*search;
    let edges = Edges::new(search, others, objects, store, threads)?;
    // Where the list of each number ends, then, as it is filled from the end, where it starts.
    let mut start = store.zeros::<N>(search.reached + 2)?;
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
enum Edges<N> {
    /// All of them.
    AtOnce(Pairs<N>),
    /// By range of numbers that they lead to.
    ByRange(Vec<Pairs<N>>),
}

impl<N: Number> Edges<N> {
    /// `others` are those outside of the tree: the object that one leads to, and the number of the one that has it.
    fn new(
        search: &DepthFirst<N>,
        mut others: Pairs<N>,
        objects: usize,
        store: &Store,
        threads: usize,
    ) -> io::Result<Self> {
        let mut targets = Marks::new(objects);
        for [to, _] in others.iter() {
            gate::pass();
            targets.set(to.get());
        }
        // Few objects have such references: only their numbers are looked up.
        let targets = targets.ranked();
        let mut numbers = store.unset::<N>(targets.len())?;
        numbers.set_hot(true);
        let rank = |at: usize| {
            targets
                .rank(search.vertex[at + 1].get())
                .map_or(N::NONE, N::of)
        };
        let own = |at: usize| N::of(at + 1);
        scatter(&mut numbers, search.reached, store, threads, rank, own)?;
        let number = |object: N| targets.rank(object.get()).map(|rank| numbers[rank]);
        let parent = &*search.parent;
        if store.has_room_for(size_of_val(parent)) {
            let parts: Vec<_> = others.chunks_mut().collect();
            each_part(parts, threads, |_, (pairs, left)| {
                let mut kept = 0;
                for at in 0..pairs.len() {
                    gate::pass();
                    let [to, from] = pairs[at];
                    if let Some(to) = number(to).filter(|&to| matters(parent, from, to)) {
                        pairs[kept] = [to, from];
                        kept += 1;
                    }
                }
                **left = kept;
            });
            return Ok(Self::AtOnce(others));
        }
        let mut ranges = Ranges::new(search.reached + 1, RANGE_SHIFT);
        for [to, from] in others.iter() {
            gate::pass();
            if let Some(to) = number(to) {
                ranges.push(store, to, from)?;
            }
        }
        let mut ranges = Ranges::joined(vec![Ok(ranges)])?;
        for (pairs, left) in ranges.iter_mut().flat_map(Pairs::chunks_mut) {
            let mut kept = 0;
            for at in 0..pairs.len() {
                gate::pass();
                let [to, from] = pairs[at];
                pairs[kept] = [to, from];
                kept += usize::from(matters(parent, from, to));
            }
            *left = kept;
        }
        Ok(Self::ByRange(ranges))
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
            Self::ByRange(ranges) => {
                let pairs = ranges.get(part).into_iter().flat_map(Pairs::chunks);
                for &[to, from] in pairs.flatten() {
                    gate::pass();
                    edge(to, from);
                }
            }
        }
    }
}

/// False for references of the tree itself, which an object may have more than once.
#[inline(always)]
fn matters<N: Number>(parent: &[N], from: N, to: N) -> bool {
    parent[to.get()] != from
}
