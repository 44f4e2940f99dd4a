//! Which object keeps which others alive.
//!
//! An object *dominates* another one if every path from the roots to that one leads through it.
//! The objects that an object dominates, itself included, are those that a collector could free if the object went
//! away: its *retained* set.

mod depth_first;
mod group_sets;
mod groups;
mod joins;
mod pairs;
mod predecessors;
mod scatter;
mod semi_nca;
mod spans;
mod stack;
mod sums;
#[cfg(test)]
mod tests;
mod tree;
mod ways;

use std::io;

use crate::graph::{Graph, Links, Number, Sizes, Store, Width};
use crate::marks::Marks;
use crate::numbers::{ObjectNumber, Place};
use crate::trace::{Work, phase};

pub use groups::{GroupSum, Grouping, sum_by_groups};
pub(crate) use spans::Spans;
pub(crate) use sums::Sums;
pub use tree::Tree;

/// The dominator tree of a graph; the width of its numbers is that of the graph's.
#[derive(Debug)]
pub enum Dominators {
    /// With numbers of four bytes.
    Narrow(Tree<u32>),
    /// With numbers of eight bytes.
    Wide(Tree<u64>),
}

macro_rules! each_width {
    ($dominators:expr, $tree:ident => $result:expr) => {
        match $dominators {
            Dominators::Narrow($tree) => $result,
            Dominators::Wide($tree) => $result,
        }
    };
}

impl Dominators {
    /// Works out the dominators of all objects that are reached from roots.
    ///
    /// # Errors
    /// If the store cannot hold its arrays.
    pub fn new(graph: &Graph, store: &Store, threads: usize) -> io::Result<Self> {
        let roots: Vec<usize> = graph
            .roots()
            .iter()
            .map(|root| root.object().index())
            .collect();
        Ok(match graph.width() {
            Width::Narrow(references) => {
                let links = graph.links(references);
                Self::Narrow(build(&links, &roots, graph.sizes(), store, threads)?)
            }
            Width::Wide(references) => {
                let links = graph.links(references);
                Self::Wide(build(&links, &roots, graph.sizes(), store, threads)?)
            }
        })
    }

    /// The number of objects that are reached from roots.
    pub fn len(&self) -> usize {
        each_width!(self, tree => tree.len())
    }

    /// True if no object is reached.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of an object in the tree; `None` if it is not reached.
    #[inline]
    pub fn place(&self, object: ObjectNumber) -> Option<Place> {
        each_width!(self, tree => tree.place(object.index())).map(Place::new)
    }

    /// The object at a place.
    #[inline]
    pub fn object(&self, place: Place) -> ObjectNumber {
        ObjectNumber::new(each_width!(self, tree => tree.object(place.index())))
    }

    /// The place after the last object that the one at `place` dominates.
    #[inline]
    pub fn end(&self, place: Place) -> Place {
        Place::new(each_width!(self, tree => tree.end(place.index())))
    }

    /// The place of the immediate dominator; `None` if there is none but the roots together.
    #[inline]
    pub fn above(&self, place: Place) -> Option<Place> {
        each_width!(self, tree => tree.above(place.index())).map(Place::new)
    }

    /// The retained size of the object at a place, itself included, in bytes.
    #[inline]
    pub fn retained(&self, place: Place) -> u64 {
        self.bytes(place, self.end(place))
    }

    /// The bytes of the objects at a range of places.
    #[inline]
    pub fn bytes(&self, start: Place, end: Place) -> u64 {
        each_width!(self, tree => tree.bytes(start.index(), end.index()))
    }

    /// The places of all objects that are reached.
    pub fn places(&self) -> impl DoubleEndedIterator<Item = Place> + Clone + use<> {
        Place::new(0).up_to(Place::new(self.len()))
    }

    /// The number of objects that the one at a place dominates, itself included.
    pub fn span(&self, place: Place) -> u64 {
        (self.end(place).index() - place.index()) as u64
    }

    /// The bytes of all objects that are reached.
    pub fn live_bytes(&self) -> u64 {
        self.bytes(Place::new(0), Place::new(self.len()))
    }

    /// The places of the objects that the one at `place` dominates immediately; of those that
    /// nothing but the roots together dominates for `None`.
    pub fn children(&self, place: Option<Place>) -> impl Iterator<Item = Place> + '_ {
        let (mut next, end) = match place {
            Some(place) => (place.next(), self.end(place)),
            None => (Place::new(0), Place::new(self.len())),
        };
        std::iter::from_fn(move || {
            if next >= end {
                return None;
            }
            let child = next;
            next = self.end(child);
            Some(child)
        })
    }

    /// The children that retain most, at most `most` of them, in descending order.
    pub fn largest_children(&self, place: Option<Place>, most: usize) -> Vec<Place> {
        let mut heap = std::collections::BinaryHeap::new();
        for child in self.children(place) {
            let key = std::cmp::Reverse((self.retained(child), std::cmp::Reverse(child)));
            if heap.len() < most {
                heap.push(key);
            } else if heap.peek().is_some_and(|least| key < *least) {
                heap.pop();
                heap.push(key);
            }
        }
        (heap.into_sorted_vec().into_iter())
            .map(|std::cmp::Reverse((_, std::cmp::Reverse(child)))| child)
            .collect()
    }
}

pub(crate) fn build<N: Number>(
    links: &Links<'_, N>,
    roots: &[usize],
    sizes: &Sizes,
    store: &Store,
    threads: usize,
) -> io::Result<Tree<N>> {
    links.set_hot(true);
    let reusing = &store.reusing();
    let mut search = phase(Work::Search, links.count() as u64, || {
        depth_first::depth_first(links, roots, reusing)
    })?;
    links.set_hot(false);
    let predecessors = phase(Work::Predecessors, 0, || {
        predecessors::predecessors(&mut search, links.count(), reusing, threads)
    })?;
    let depth_first::DepthFirst {
        vertex,
        parent,
        inner,
        reached,
        ..
    } = search;
    // From here on each step drops what no later one needs: these arrays are most of the memory.
    // The largest of them is like no later one, so none could reuse its memory.
    let (dominators, elsewhere) = phase(Work::Dominators, 0, || {
        semi_nca::dominators(parent, inner, predecessors, store)
    })?;
    let mut indirect = Marks::new(links.count());
    elsewhere
        .iter()
        .for_each(|number| indirect.set(vertex[number].get()));
    let indirect = indirect.into_words().into();
    let layout = tree::Layout {
        inner,
        reached,
        sizes,
        threads,
    };
    phase(Work::Tree, 0, || {
        Tree::new(vertex, dominators, indirect, &layout, reusing)
    })
}
