//! Who refers to each object.

use std::io;

use super::Graph;
use super::array::Array;
use super::number::{Cell, Number};
use super::references::References;
use super::store::Store;
use super::{TooMany, Width};
use crate::gate;
use crate::numbers::ObjectNumber;

/// For each object, those that refer to it; without references to classes that no field holds.
#[derive(Debug)]
pub enum Inbound {
    /// With numbers of four bytes.
    Narrow(Lists<u32>),
    /// With numbers of eight bytes.
    Wide(Lists<u64>),
}

/// The lists of all objects, one after the other.
#[derive(Debug)]
pub struct Lists<N> {
    start: Array<N>,
    list: Array<N>,
}

impl Inbound {
    /// Turns all references of a graph round, by a walk over them that counts and one that fills.
    ///
    /// # Errors
    /// If the store cannot hold the lists.
    pub fn new(graph: &Graph, store: &Store) -> io::Result<Self> {
        Ok(match graph.width() {
            Width::Narrow(references) => Self::Narrow(Lists::new(references, store)?),
            Width::Wide(references) => Self::Wide(Lists::new(references, store)?),
        })
    }

    /// The objects that refer to one, in ascending order, each once.
    pub fn referring(&self, object: ObjectNumber) -> Vec<ObjectNumber> {
        let mut found: Vec<ObjectNumber> = self.of(object).collect();
        found.dedup();
        found
    }

    /// The memory of all lists, in bytes.
    pub fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::Narrow(lists) => size_of_val(&*lists.start) + size_of_val(&*lists.list),
            Self::Wide(lists) => size_of_val(&*lists.start) + size_of_val(&*lists.list),
        };
        bytes as u64
    }

    /// The objects that refer to one, in ascending order, once for each reference.
    pub fn of(&self, object: ObjectNumber) -> impl Iterator<Item = ObjectNumber> + '_ {
        let object = object.index();
        let (narrow, wide): (&[u32], &[u64]) = match self {
            Self::Narrow(lists) => (lists.of(object), &[]),
            Self::Wide(lists) => (&[], lists.of(object)),
        };
        let narrow = narrow.iter().map(|from| from.get());
        let all = narrow.chain(wide.iter().map(|from| from.get()));
        all.map(ObjectNumber::new)
    }
}

impl<N: Number> Lists<N> {
    fn new(references: &References<N>, store: &Store) -> io::Result<Self> {
        let view = references.view();
        let count = references.len();
        // Where the list of each object ends; as it is filled from the end, where it starts.
        let mut start = store.zeros::<N>(count + 1)?;
        for from in 0..count {
            gate::pass();
            for to in view.of(from) {
                start[to] = N::of(start[to].get() + 1);
            }
        }
        let mut sum = 0usize;
        for end in start.iter_mut() {
            sum += end.get();
            if sum as u64 >= N::NONE.get() as u64 {
                return Err(io::Error::other(TooMany));
            }
            *end = N::of(sum);
        }
        let mut list = store.zeros::<N>(sum)?;
        {
            let (start, list) = (&mut *start, &mut *list);
            for from in (0..count).rev() {
                gate::pass();
                for to in view.of(from) {
                    let place = start[to].get() - 1;
                    start[to] = N::of(place);
                    list[place] = N::of(from);
                }
            }
        }
        Ok(Self { start, list })
    }

    fn of(&self, object: usize) -> &[N] {
        let (Some(start), Some(end)) = (self.start.get(object), self.start.get(object + 1)) else {
            return &[];
        };
        self.list.get(start.get()..end.get()).unwrap_or_default()
    }
}
