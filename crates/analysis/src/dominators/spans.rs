//! How many places each object and all it dominates take.

use std::io;
use std::sync::{Mutex, PoisonError};

use super::scatter::scatter;
use crate::graph::{Array, Number, Store};

/// The number of places that each object and all it dominates take, by place.
///
/// Most objects dominate few: a byte holds the span of each, and a list those of the others. Where the others are many, as in
/// a long linked list, in which each object dominates all after it, there is a number for each place instead.
#[derive(Debug)]
pub(crate) enum Spans<N> {
    /// A byte for each place.
    Narrow {
        /// By place: the span, or [`LARGE`].
        small: Array<u8>,
        /// The others, by place: the place, and its span.
        large: Array<[N; 2]>,
    },
    /// A number for each place.
    Wide(Array<N>),
}

/// Stands for all spans from this one on.
pub(crate) const LARGE: u8 = u8::MAX;

/// At most one in this many places may have a large span in the narrow form.
const FEW: usize = 32;

impl<N: Number> Spans<N> {
    /// Puts spans in order of places. `under` holds the span of each number of a search from 1 on, which may take more than its own
    /// place, and `places` the place of each number; all others take their own place alone.
    pub(super) fn new(
        under: &[N],
        places: &[N],
        store: &Store,
        threads: usize,
    ) -> io::Result<Self> {
        let (reached, inner) = (places.len() - 1, under.len() - 1);
        let place = |number: usize| places[number + 1];
        let is_large = |span: &N| span.get() >= usize::from(LARGE);
        let count = under[1..].iter().filter(|span| is_large(span)).count();
        if count > reached / FEW {
            let mut spans = store.filled(reached, N::of(1))?;
            let span = |number: usize| under[number + 1];
            scatter(&mut spans, inner, store, threads, place, span)?;
            return Ok(Self::Wide(spans));
        }
        let mut small = store.filled(reached, 1u8)?;
        let large = Mutex::new(Vec::with_capacity(count));
        let byte = |number: usize| {
            let span = under[number + 1];
            if !is_large(&span) {
                return span;
            }
            let mut large = large.lock().unwrap_or_else(PoisonError::into_inner);
            large.push([place(number), span]);
            N::of(usize::from(LARGE))
        };
        scatter(&mut small, inner, store, threads, place, byte)?;
        let mut large = large.into_inner().unwrap_or_else(PoisonError::into_inner);
        large.sort_unstable();
        Ok(Self::Narrow {
            small,
            large: large.into(),
        })
    }

    /// The number of places.
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow { small, .. } => small.len(),
            Self::Wide(spans) => spans.len(),
        }
    }

    /// The span of an object by its place.
    #[inline(always)]
    pub fn of(&self, place: usize) -> usize {
        match self {
            Self::Narrow { small, large } => match small[place] {
                LARGE => of_large(large, place),
                span => usize::from(span),
            },
            Self::Wide(spans) => spans[place].get(),
        }
    }

    /// True if each place has one span: for what was read from a file.
    pub fn is_sound(&self) -> bool {
        let Self::Narrow { small, large } = self else {
            return true;
        };
        let is_large = |&[place, span]: &[N; 2]| {
            small.get(place.get()) == Some(&LARGE) && span.get() >= usize::from(LARGE)
        };
        large.iter().all(is_large)
            && large.is_sorted_by(|[one, _], [other, _]| one < other)
            && large.len() == small.iter().filter(|&&span| span == LARGE).count()
    }
}

#[cold]
fn of_large<N: Number>(large: &[[N; 2]], place: usize) -> usize {
    let found = large.binary_search_by_key(&place, |[place, _]| place.get());
    found.map_or(usize::from(LARGE), |at| large[at][1].get())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_forms_hold_the_span_of_each_place(
            spans in prop::collection::vec(prop_oneof![40 => 1u32..300, 1 => 200u32..1000], 1..300),
            leaves in 0usize..300,
        ) {
            let reached = spans.len() + leaves;
            // A number that has no common divisor with the count, so each place comes once.
            let step = (reached..).find(|step| (2..=reached).all(|it| reached % it != 0 || step % it != 0)).unwrap();
            let places: Vec<u32> = std::iter::once(u32::NONE)
                .chain((0..reached).map(|number| (number * step % reached) as u32))
                .collect();
            let under: Vec<u32> = std::iter::once(0).chain(spans.iter().copied()).collect();
            for store in [Store::memory(), Store::without_room()] {
                let found = Spans::new(&under, &places, &store, 2).unwrap();
                prop_assert!(found.is_sound());
                prop_assert_eq!(found.len(), reached);
                for number in 0..reached {
                    let span = spans.get(number).map_or(1, |&span| span as usize);
                    prop_assert_eq!(found.of(places[number + 1] as usize), span);
                }
            }
        }
    }

    #[test]
    fn spans_of_a_file_that_do_not_fit_are_not_sound() {
        let made = |small: Vec<u8>, large: Vec<[u32; 2]>| Spans::Narrow {
            small: small.into(),
            large: large.into(),
        };
        assert!(made(vec![1, LARGE], vec![[1, 255]]).is_sound());
        for large in [
            vec![],
            vec![[0, 255]],
            vec![[1, 254]],
            vec![[2, 300]],
            vec![[1, 255], [1, 256]],
        ] {
            assert!(!made(vec![1, LARGE], large.clone()).is_sound(), "{large:?}");
        }
    }
}
