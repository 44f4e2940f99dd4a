//! Object numbers, 4 or 8 bytes wide.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The number of an object within its graph, as arrays store it.
///
/// Objects are numbered from 0 in the order of their identifiers. Four bytes hold the numbers of
/// up to 2^31 objects, as the highest bit is in use for [`Number::END`]; larger graphs take eight.
pub trait Number: Cell + Eq + Ord + std::fmt::Debug + 'static {
    /// No object.
    const NONE: Self;
    /// The bit that marks the last reference of an object.
    const END: Self;

    /// With the mark of the last reference.
    fn marked(self) -> Self;
    /// Without the mark, and whether it was there.
    fn split(self) -> (Self, bool);
    /// The sum, modulo the width.
    fn plus(self, other: Self) -> Self;
    /// The difference, modulo the width.
    fn less(self, other: Self) -> Self;
    /// The number after this one, modulo the width.
    fn next(self) -> Self;
}

/// An element that several threads store into one array.
pub trait Cell: Copy + Send + Sync + FromBytes + IntoBytes + Immutable + KnownLayout {
    /// The atomic type of this width.
    type Atomic: FromBytes + IntoBytes + Send + Sync;

    /// A number known to be in range.
    fn of(number: usize) -> Self;
    /// The number.
    fn get(self) -> usize;
    /// Stores, in no particular order.
    fn store(to: &Self::Atomic, value: Self);
}

macro_rules! cell {
    ($width:ty, $atomic:ty) => {
        impl Cell for $width {
            type Atomic = $atomic;

            #[inline(always)]
            fn of(number: usize) -> Self {
                number as Self
            }
            #[inline(always)]
            fn get(self) -> usize {
                self as usize
            }
            #[inline(always)]
            fn store(to: &Self::Atomic, value: Self) {
                to.store(value, Ordering::Relaxed);
            }
        }
    };
}

cell!(u8, AtomicU8);
cell!(u16, AtomicU16);
cell!(u32, AtomicU32);
cell!(u64, AtomicU64);

macro_rules! number {
    ($width:ty) => {
        impl Number for $width {
            const NONE: Self = Self::MAX;
            const END: Self = 1 << (Self::BITS - 1);

            #[inline(always)]
            fn marked(self) -> Self {
                self | Self::END
            }
            #[inline(always)]
            fn split(self) -> (Self, bool) {
                (self & !Self::END, self & Self::END != 0)
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn less(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn next(self) -> Self {
                self.wrapping_add(1)
            }
        }
    };
}

number!(u32);
number!(u64);

#[cfg(test)]
mod tests {
    use super::*;

    fn marks<N: Number>() {
        let number = N::of(12345);
        assert_eq!(number.split(), (number, false));
        assert_eq!(number.marked().split(), (number, true));
        assert_ne!(number.marked(), N::NONE);
    }

    #[test]
    fn both_widths_keep_number_and_mark_apart() {
        marks::<u32>();
        marks::<u64>();
    }
}
