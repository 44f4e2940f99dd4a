//! The dominator tree, laid out so that what an object retains is one range.

use std::io;

use zerocopy::{FromBytes, IntoBytes};

use super::scatter::scatter;
use super::spans::Spans;
use super::sums::Sums;
use crate::gate;
use crate::graph::{Array, ClassOf, Links, Number, Sizes, Store};

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
    /// How many places each object and all it dominates take.
    pub(crate) spans: Spans<N>,
    /// By place: the place of the immediate dominator, or none for the virtual root.
    pub(crate) above: Array<N>,
    /// The sizes of all objects by place.
    pub(crate) sums: Sums,
    /// A bit for each object: set if a search came to it from another object than its immediate dominator. That one may
    /// not refer to it; all others are referred to by theirs.
    pub(crate) indirect: Array<u64>,
}

/// The parameters of [`Tree::new`] besides its arrays.
pub(super) struct Layout<'a> {
    /// Numbers above this one dominate nothing else.
    pub inner: usize,
    /// The highest number.
    pub reached: usize,
    /// The sizes of all objects.
    pub sizes: &'a Sizes,
    /// The number of threads.
    pub threads: usize,
}

impl<N: Number> Tree<N> {
    /// Lays a tree out. `vertex` holds the object of each number of a depth-first search, `dominator`
    /// the number of its immediate dominator, 0 for the virtual root.
    pub(super) fn new(
        vertex: Array<N>,
        dominator: Array<N>,
        indirect: Array<u64>,
        layout: &Layout<'_>,
        store: &Store,
    ) -> io::Result<Self> {
        let &Layout {
            inner,
            reached,
            sizes,
            threads,
        } = layout;
        // By number of the search: the objects under it, itself included, and for those under it the
        // sum of this, from the last one to each, and one.
        let mut under = store.filled(inner + 1, N::of(1))?;
        let mut place_of = store.unset::<N>(reached + 1)?;
        {
            let (under, sum_from) = (&mut *under, &mut *place_of);
            for at in (1..=reached).rev() {
                gate::pass();
                let above = dominator[at].get();
                let own = if at > inner { 1 } else { under[at].get() };
                let sum = N::of(under[above].get() + own);
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
        let spans = Spans::new(&under, &place_of, store, threads)?;
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
        let sums = Sums::new(&places, reached, sizes, store, threads)?;
        Ok(Self {
            objects,
            places,
            spans,
            above,
            sums,
            indirect,
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
        place + self.spans.of(place)
    }

    /// The place of the immediate dominator; `None` under the virtual root.
    #[inline]
    pub fn above(&self, place: usize) -> Option<usize> {
        let above = self.above[place];
        (above != N::NONE).then(|| above.get())
    }

    /// Returns true if a search came to an object from another one than its immediate dominator.
    #[inline(always)]
    pub(crate) fn is_indirect(&self, object: usize) -> bool {
        self.indirect[object / 64] >> (object % 64) & 1 != 0
    }

    /// The class of the object at each place.
    ///
    /// # Errors
    /// If the store has no room.
    pub(super) fn classes(&self, links: &Links<'_, N>, store: &Store) -> io::Result<ClassOf> {
        let mut classes = ClassOf::unknown(self.len(), links.class_objects().count(), store)?;
        let class = |object: usize| N::of(links.class_of(object).index());
        let place = |object: usize| self.places[object];
        match &mut classes {
            ClassOf::Narrow(numbers) => scatter(numbers, links.count(), store, 0, place, class)?,
            ClassOf::Wide(numbers) => {
                let numbers = <[u32]>::mut_from_bytes(numbers.as_mut_bytes());
                let numbers: &mut [u32] = numbers.map_or(&mut [], |numbers| numbers);
                scatter(numbers, links.count(), store, 0, place, class)?;
            }
        }
        Ok(classes)
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
