//! The dominator tree, laid out so that what an object retains is one range.

use std::io;

use super::depth_first::DepthFirst;
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
    pub(super) fn new(
        search: DepthFirst<N>,
        dominator: Array<N>,
        units: &[u32],
        store: &Store,
    ) -> io::Result<Self> {
        let DepthFirst {
            vertex,
            number,
            reached,
            ..
        } = search;
        // By number of the search: the objects under it, itself included.
        let mut under = store.filled(reached + 1, N::of(1))?;
        for at in (1..=reached).rev() {
            let above = dominator[at].get();
            under[above] = N::of(under[above].get() + under[at].get());
        }
        // By number of the search: where the next object under it goes. Its own place is one less
        // than what it starts with.
        let mut objects = store.zeros::<N>(reached)?;
        let mut spans = store.zeros::<N>(reached)?;
        let mut above = store.filled(reached, N::NONE)?;
        let mut places = number;
        places.fill(N::NONE);
        places.set_hot(true);
        dominator.set_hot(false);
        {
            let mut next = store.zeros::<N>(reached + 1)?;
            let next = &mut *next;
            let (objects, spans, above) = (&mut *objects, &mut *spans, &mut *above);
            let (places, under) = (&mut *places, &*under);
            for at in 1..=reached {
                let over = dominator[at].get();
                let place = next[over].get();
                next[over] = N::of(place + under[at].get());
                next[at] = N::of(place + 1);
                let object = vertex[at].get();
                objects[place] = vertex[at];
                spans[place] = under[at];
                places[object] = N::of(place);
                if over != 0 {
                    above[place] = places[vertex[over].get()];
                }
            }
        }
        drop((under, vertex, dominator));
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
