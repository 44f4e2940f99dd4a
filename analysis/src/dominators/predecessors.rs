//! What refers to each object, in the numbers of a depth-first search.

use std::io;
use std::num::NonZero;
use std::ops::Range;
use std::thread;

use zerocopy::{FromBytes, IntoBytes};

use super::depth_first::DepthFirst;
use crate::graph::{Array, Links, Number, Store};

/// For each number, those that refer to it; without the parent in the tree, and without those of
/// roots, whose dominator is known.
pub(super) struct Predecessors<N> {
    start: Array<N>,
    list: Array<N>,
}

/// Numbers in one task.
const TASK: usize = 1 << 16;

pub(super) fn predecessors<N: Number>(
    links: &Links<'_, N>,
    tree: &DepthFirst<N>,
    store: &Store,
    threads: usize,
) -> io::Result<Predecessors<N>> {
    // Where the list of each number ends, then, as it is filled from the end, where it starts.
    let mut start = store.zeros::<N>(tree.reached + 2)?;
    {
        let counts = <[N::Atomic]>::mut_from_bytes(start.as_mut_bytes());
        let counts: &[N::Atomic] = counts.map_or(&[], |counts| counts);
        each_range(tree.reached, threads, |range| {
            edges(links, tree, range, |_, to| {
                N::add(&counts[to], 1);
            });
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
    {
        let ends = <[N::Atomic]>::mut_from_bytes(start.as_mut_bytes());
        let ends: &[N::Atomic] = ends.map_or(&[], |ends| ends);
        let places = <[N::Atomic]>::mut_from_bytes(list.as_mut_bytes());
        let places: &[N::Atomic] = places.map_or(&[], |places| places);
        each_range(tree.reached, threads, |range| {
            edges(links, tree, range, |from, to| {
                let place = N::take(&ends[to]);
                N::store(&places[place], N::of(from));
            });
        });
    }
    Ok(Predecessors { start, list })
}

impl<N: Number> Predecessors<N> {
    #[inline(always)]
    pub fn of(&self, number: usize) -> &[N] {
        &self.list[self.start[number].get()..self.start[number + 1].get()]
    }
}

#[inline(always)]
fn edges<N: Number>(
    links: &Links<'_, N>,
    tree: &DepthFirst<N>,
    range: Range<usize>,
    mut edge: impl FnMut(usize, usize),
) {
    let (vertex, parent, number) = (&*tree.vertex, &*tree.parent, &*tree.number);
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

/// Runs `work` for all numbers from 1 to `last`, on several threads.
fn each_range(last: usize, threads: usize, work: impl Fn(Range<usize>) + Sync) {
    let threads = match threads {
        0 => thread::available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    };
    let next = std::sync::atomic::AtomicUsize::new(0);
    let run = || loop {
        let first = 1 + TASK * next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if first > last {
            break;
        }
        work(first..(first + TASK).min(last + 1));
    };
    if threads == 1 || last < TASK {
        return run();
    }
    thread::scope(|scope| {
        for _ in 1..threads {
            // Without another thread this one does it all.
            let _ = thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
}
