//! The predecessors of each object, in the numbers of a depth-first search.

use std::io;
use std::sync::{Mutex, PoisonError};

use super::depth_first::DepthFirst;
use super::pairs::Pairs;
use super::scatter::{RANGE_SHIFT, Ranges, scatter};
use crate::gate;
use crate::graph::{Array, Number, Store};
use crate::marks::{Marks, Ranked};
use crate::parallel;

/// For the numbers that are referred to outside of the tree, those that do so; without those of
/// roots, whose dominator is known.
pub(super) struct Predecessors<N> {
    /// The numbers that have a list.
    pub numbers: Ranked,
    /// By rank among these: where the list starts; one entry more than lists.
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
    let numbers = edges.numbers(search.reached);
    // Where each list ends, then, as it is filled from the end, where it starts.
    let mut start = store.zeros::<N>(numbers.len() + 1)?;
    start.set_hot(true);
    let length = edges.numbers_in_part(search.reached + 1, threads);
    let firsts = (0..=search.reached).step_by(length);
    // By part: the rank of its first number.
    let mut ranks: Vec<usize> = firsts.map(|first| numbers.before(first)).collect();
    ranks.push(start.len());
    let (mut rest, mut parts) = (&mut *start, Vec::new());
    for rank in ranks.windows(2) {
        let (counts, others) = rest.split_at_mut(rank[1] - rank[0]);
        parts.push(counts);
        rest = others;
    }
    each_part(parts, threads, |part, counts| {
        edges.of_part(part, |to, _| {
            let rank = numbers
                .rank(to.get())
                .map(|rank| rank.wrapping_sub(ranks[part]));
            if let Some(count) = rank.and_then(|rank| counts.get_mut(rank)) {
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
    let (mut rest, mut lists, mut parts) = (&mut *start, &mut *list, Vec::new());
    let mut listed = 0;
    for rank in ranks.windows(2) {
        let (ends, others) = rest.split_at_mut(rank[1] - rank[0]);
        // The last list of the part ends here.
        let end = ends.last().map_or(listed, |end| end.get());
        let (own, of_others) = lists.split_at_mut(end - listed);
        parts.push((ends, own, listed));
        (rest, lists, listed) = (others, of_others, end);
    }
    each_part(parts, threads, |part, (ends, lists, listed)| {
        edges.of_part(part, |to, from| {
            let rank = numbers
                .rank(to.get())
                .map(|rank| rank.wrapping_sub(ranks[part]));
            if let Some(end) = rank.and_then(|rank| ends.get_mut(rank)) {
                let place = end.get() - 1;
                *end = N::of(place);
                lists[place - *listed] = from;
            }
        });
    });
    start.set_hot(false);
    list.set_hot(false);
    Ok(Predecessors {
        numbers,
        start,
        list,
    })
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

    /// The numbers that they lead to.
    fn numbers(&self, reached: usize) -> Ranked {
        let all = match self {
            Self::AtOnce(pairs) => std::slice::from_ref(pairs),
            Self::ByRange(ranges) => ranges,
        };
        let mut marks = Marks::new(reached + 1);
        for [to, _] in all.iter().flat_map(Pairs::iter) {
            gate::pass();
            marks.set(to.get());
        }
        marks.ranked()
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
