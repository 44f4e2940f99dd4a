//! The dominator tree, laid out so that what an object retains is one range.

use std::io;

use crate::graph::{Array, Number, Store};

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
    /// the number of its immediate dominator, 0 for the virtual root; `units` the size of each object.
    pub(super) fn new(
        vertex: Array<N>,
        dominator: Array<N>,
        reached: usize,
        units: &[u32],
        store: &Store,
    ) -> io::Result<Self> {
        // By number of the search: the objects under it, itself included, and for those under it the
        // sum of this, from the last one to each, and one.
        let mut under = store.filled(reached + 1, N::of(1))?;
        let mut place_of = store.zeros::<N>(reached + 1)?;
        {
            let (under, sum_from) = (&mut *under, &mut *place_of);
            for at in (1..=reached).rev() {
                let above = dominator[at].get();
                let sum = N::of(under[above].get() + under[at].get());
                (under[above], sum_from[at]) = (sum, sum);
            }
            // One below the first place, where the virtual root would be. Computed modulo the width.
            let place_of = sum_from;
            place_of[0] = N::NONE;
            for at in 1..=reached {
                let above = dominator[at].get();
                place_of[at] = place_of[above].plus(under[above]).less(place_of[at]).next();
            }
        }
        // One array at a time goes where places say, so that few are in memory at once.
        let objects = permuted(&place_of, &vertex, store)?;
        drop(vertex);
        let spans = permuted(&place_of, &under, store)?;
        drop(under);
        let mut above = store.filled(reached, N::NONE)?;
        {
            let above = &mut *above;
            for at in 1..=reached {
                // That of the virtual root is none.
                above[place_of[at].get()] = place_of[dominator[at].get()];
            }
        }
        drop((place_of, dominator));
        let mut places = store.filled(units.len(), N::NONE)?;
        places.set_hot(true);
        {
            let places = &mut *places;
            for (place, object) in objects.iter().enumerate() {
                places[object.get()] = N::of(place);
            }
        }
        places.set_hot(false);
        let total: u64 = units.iter().map(|&units| u64::from(units)).sum();
        let sums = match u32::try_from(total) {
            Ok(_) => Sums::Narrow(sum(
                &objects,
                units,
                store,
                |units| units,
                u32::wrapping_add,
            )?),
            Err(_) => Sums::Wide(sum(&objects, units, store, u64::from, u64::wrapping_add)?),
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

/// The elements of an array by number, from 1 on, by place.
fn permuted<N: Number>(place_of: &[N], by_number: &[N], store: &Store) -> io::Result<Array<N>> {
    let mut by_place = store.zeros::<N>(place_of.len() - 1)?;
    {
        let by_place = &mut *by_place;
        for (place, &element) in place_of.iter().zip(by_number).skip(1) {
            by_place[place.get()] = element;
        }
    }
    Ok(by_place)
}

fn sum<N: Number, S: crate::graph::Plain>(
    objects: &[N],
    units: &[u32],
    store: &Store,
    widen: impl Fn(u32) -> S,
    add: impl Fn(S, S) -> S,
) -> io::Result<Array<S>> {
    let mut sums = store.zeros::<S>(objects.len() + 1)?;
    {
        let sums = &mut *sums;
        let mut sum = sums[0];
        for (place, object) in objects.iter().enumerate() {
            sum = add(sum, widen(units[object.get()]));
            sums[place + 1] = sum;
        }
    }
    Ok(sums)
}
