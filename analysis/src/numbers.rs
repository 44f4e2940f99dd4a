//! The numbers of objects, classes and places in the dominator tree, each a type of its own.
//!
//! The interfaces of graph, dominators and snapshot take and give these. Walks over all objects
//! ([`crate::graph::Links`], [`crate::dominators::Tree`]) compute with plain indexes, in arrays whose
//! numbers are as wide as they have to be ([`crate::graph::Number`]).

use std::fmt;

use serde::Serialize;

macro_rules! number {
    ($(#[$what:meta])* $name:ident) => {
        $(#[$what])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        #[repr(transparent)]
        pub struct $name(usize);

        impl $name {
            /// The number with an index.
            #[inline(always)]
            pub const fn new(index: usize) -> Self {
                Self(index)
            }

            /// The index, from 0.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0
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
    ObjectNumber
}

number! {
    /// A position in the dominator tree: each object comes before those that it dominates, and these
    /// follow it directly.
    Place
}
