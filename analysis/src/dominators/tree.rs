//! The dominator tree, laid out so that what an object retains is one range.

use std::io;

use super::scatter::scatter;
use crate::gate;
use crate::graph::{Array, Number, Sizes, Store};

/// Sizes in units of eight bytes, summed from the left modulo the width.
#[derive(Debug)]
pub(crate) enum Sums {
    /// While all objects together take less than 32 GiB.
    Narrow(Array<u32>),
    /// Otherwise.
    Wide(Array<u64>),
}

impl Sums {
    #[inline]
    fn between(&self, start: usize, end: usize) -> u64 {
        match self {
            Self::Narrow(sums) => u64::from(sums[end].wrapping_sub(sums[start])),
            Self::Wide(sums) => sums[end].wrapping_sub(sums[start]),
        }
    }
}

/// The dominator tree of all objects that are reached from roots.
///
/// Objects have places: each object comes before what it dominates, and what it dominates follows
/// it directly. So the set that an object retains is a range of places.
#[derive(Debug)]
pub struct Tree<N> {
    /// By place: the object.
    pub(crate) objects: Array<N>,
    /// By object: its place, or none if it is not reached.
    pub(crate) places: Array<N>,
    /// By place: how many places the object and all it dominates take.
    pub(crate) spans: Array<N>,
    /// By place: the place of the immediate dominator, or none for the virtual root.
    pub(crate) above: Array<N>,
    /// By place: the sizes of all before it; one entry more than places.
    pub(crate) sums: Sums,
}

impl<N: Number> Tree<N> {
    /// Lays a tree out. `vertex` holds the object of each number of a depth-first search, `dominator`
    /// the number of its immediate dominator, 0 for the virtual root; `sizes` those of the objects.
    pub(super) fn new(
        vertex: Array<N>,
        dominator: Array<N>,
        reached: usize,
        sizes: &Sizes,
        store: &Store,
        threads: usize,
    ) -> io::Result<Self> {
        // By number of the search: the objects under it, itself included, and for those under it the
        // sum of this, from the last one to each, and one.
        let mut under = store.filled(reached + 1, N::of(1))?;
        let mut place_of = store.unset::<N>(reached + 1)?;
        {
            let (under, sum_from) = (&mut *under, &mut *place_of);
            for at in (1..=reached).rev() {
                gate::pass();
                let above = dominator[at].get();
                let sum = N::of(under[above].get() + under[at].get());
                (under[above], sum_from[at]) = (sum, sum);
            }
            // One below the first place, where the virtual root would be. Computed modulo the width.
            let place_of = sum_from;
            place_of[0] = N::NONE;
            for at in 1..=reached {
                gate::pass();
                let above = dominator[at].get();
                place_of[at] = place_of[above].plus(under[above]).less(place_of[at]).next();
            }
        }
        // One array at a time goes where places say, so that few are in memory at once.
        let objects = by_place(&place_of, store, threads, |number| vertex[number])?;
        drop(vertex);
        let spans = by_place(&place_of, store, threads, |number| under[number])?;
        drop(under);
        // That of the virtual root is none.
        let dominator_of = |number: usize| place_of[dominator[number].get()];
        let above = by_place(&place_of, store, threads, dominator_of)?;
        drop((place_of, dominator));
        let places = {
            let mut places = store.filled(sizes.len(), N::NONE)?;
            places.set_hot(true);
            let object = |place: usize| objects[place];
            scatter(&mut places, reached, store, threads, object, N::of)?;
            places.set_hot(false);
            places
        };
        let sums = match u32::try_from(sizes.total()) {
            Ok(_) => Sums::Narrow(sums(&places, reached, sizes, store, threads)?),
            Err(_) => Sums::Wide(sums(&places, reached, sizes, store, threads)?),
        };
        Ok(Self {
            objects,
            places,
            spans,
            above,
            sums,
        })
    }

    /// The number of objects in the tree.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// True if no object is reached.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The place of an object, if it is reached.
    #[inline]
    pub fn place(&self, object: usize) -> Option<usize> {
        let place = *self.places.get(object)?;
        (place != N::NONE).then(|| place.get())
    }

    /// The object at a place.
    #[inline]
    pub fn object(&self, place: usize) -> usize {
        self.objects[place].get()
    }

    /// The place after the last object that the one at `place` dominates.
    #[inline]
    pub fn end(&self, place: usize) -> usize {
        place + self.spans[place].get()
    }

    /// The place of the immediate dominator; `None` under the virtual root.
    #[inline]
    pub fn above(&self, place: usize) -> Option<usize> {
        let above = self.above[place];
        (above != N::NONE).then(|| above.get())
    }

    /// The bytes of the objects at the places from `start` up to `end`.
    #[inline]
    pub fn bytes(&self, start: usize, end: usize) -> u64 {
        8 * self.sums.between(start, end)
    }
}

/// A new array of what `by_number` gives for each number from 1 on, by its place.
fn by_place<N: Number>(
    place_of: &[N],
    store: &Store,
    threads: usize,
    by_number: impl Fn(usize) -> N + Sync,
) -> io::Result<Array<N>> {
    let count = place_of.len() - 1;
    let mut array = store.unset(count)?;
    let place = |number: usize| place_of[number + 1];
    let value = |number: usize| by_number(number + 1);
    scatter(&mut array, count, store, threads, place, value)?;
    Ok(array)
}

/// By place, the sizes of all before it, and of all at the end.
fn sums<N: Number, S: Number>(
    places: &[N],
    reached: usize,
    sizes: &Sizes,
    store: &Store,
    threads: usize,
) -> io::Result<Array<S>> {
    let mut sums = store.unset::<S>(reached + 1)?;
    sums[0] = S::of(0);
    let place = |object: usize| places[object];
    let size = |object: usize| N::of(sizes.of(object) as usize);
    scatter(&mut sums[1..], places.len(), store, threads, place, size)?;
    let mut sum = S::of(0);
    for to in &mut *sums {
        sum = sum.plus(*to);
        *to = sum;
    }
    Ok(sums)
}
