//! The numbers of objects, classes and places in the dominator tree, each a type of its own.
//!
//! The interfaces of graph, dominators and snapshot take and give these. Walks over all objects
//! ([`crate::graph::Links`], [`crate::dominators::Tree`]) compute with plain indexes of objects and
//! places, in arrays whose numbers are as wide as they have to be ([`crate::graph::Number`]).
//!
//! Arrays of classes by object hold [`ClassNumber`] itself, which is as wide as its bits, and walks
//! read it from there. Threads that fill such an array together store the bits
//! ([`ClassNumber::get`]). A table by class is indexed by [`ClassNumber::index`]; its own numbers,
//! such as those of [groups](crate::dominators::Grouping), stay plain.

use std::fmt;

use serde::{Deserialize, Serialize};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

macro_rules! number {
    ($(#[$what:meta])* $name:ident: $width:ty) => {
        $(#[$what])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        #[repr(transparent)]
        pub struct $name($width);

        impl $name {
            /// The number with an index.
            #[inline(always)]
            pub const fn new(index: usize) -> Self {
                Self(index as $width)
            }

            /// The index, from 0.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The number after this one.
            #[inline(always)]
            pub const fn next(self) -> Self {
                Self(self.0 + 1)
            }

            /// The numbers from this one up to `end`, without that one.
            #[inline(always)]
            pub fn up_to(self, end: Self) -> impl DoubleEndedIterator<Item = Self> + Clone {
                (self.0..end.0).map(Self)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

number! {
    /// The number of an object within its graph: objects are numbered in the order of their identifiers.
    ObjectNumber: usize
}

number! {
    /// A position in the dominator tree: each object comes before those that it dominates, and these
    /// follow it directly.
    Place: usize
}

number! {
    /// The number of a class within its graph: described classes come in the order of their
    /// identifiers. No dump has 2^32 of them. [`ClassNumber::UNKNOWN`] is the default.
    #[derive(Default, Deserialize, FromBytes, IntoBytes, Immutable, KnownLayout)]
    ClassNumber: u32
}

impl ClassNumber {
    /// Stands for all classes that are not known.
    pub const UNKNOWN: Self = Self(0);

    /// The bits that an array holds.
    #[inline(always)]
    pub const fn get(self) -> u32 {
        self.0
    }
}
