//! The classes of all objects.

use std::io;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use super::array::Array;
use super::build::atomics;
use super::store::Store;
use crate::numbers::ClassNumber;

/// The classes of all objects, in numbers of two bytes if there are few enough classes.
#[derive(Debug)]
pub enum ClassOf {
    /// Two bytes.
    Narrow(Array<u16>),
    /// Four bytes.
    Wide(Array<ClassNumber>),
}

/// The classes of all objects, borrowed for walks over the graph.
#[derive(Debug, Clone, Copy)]
pub enum ClassView<'a> {
    /// Two bytes.
    Narrow(&'a [u16]),
    /// Four bytes.
    Wide(&'a [ClassNumber]),
}

/// The classes that numbers of two bytes are enough for.
const MOST_NARROW: usize = if cfg!(test) { 5 } else { 1 << 16 };

impl ClassOf {
    /// The class of each of `count` objects, which is not known at first; one of `classes`.
    pub(crate) fn unknown(count: usize, classes: usize, store: &Store) -> io::Result<Self> {
        // Its number is 0.
        debug_assert_eq!(ClassNumber::UNKNOWN, ClassNumber::new(0));
        Ok(match classes <= MOST_NARROW {
            true => Self::Narrow(store.zeros(count)?),
            false => Self::Wide(store.zeros(count)?),
        })
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.view().len()
    }

    /// True if there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// For walks.
    #[inline(always)]
    pub fn view(&self) -> ClassView<'_> {
        match self {
            Self::Narrow(numbers) => ClassView::Narrow(numbers),
            Self::Wide(numbers) => ClassView::Wide(numbers),
        }
    }

    /// The bytes of all numbers.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Narrow(numbers) => numbers.bytes(),
            Self::Wide(numbers) => numbers.bytes(),
        }
    }
}

impl ClassView<'_> {
    /// The number of objects.
    #[inline(always)]
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(numbers) => numbers.len(),
            Self::Wide(numbers) => numbers.len(),
        }
    }

    /// True if there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The class of an object.
    #[inline(always)]
    pub fn of(&self, object: usize) -> ClassNumber {
        match self {
            Self::Narrow(numbers) => ClassNumber::new(usize::from(numbers[object])),
            Self::Wide(numbers) => numbers[object],
        }
    }
}

/// For tests, which make classes by hand.
#[cfg(test)]
impl<'a> From<&'a [ClassNumber]> for ClassView<'a> {
    fn from(numbers: &'a [ClassNumber]) -> Self {
        Self::Wide(numbers)
    }
}

/// Takes classes from several threads.
pub(super) enum ClassSink<'a> {
    Narrow(&'a [AtomicU16]),
    Wide(&'a [AtomicU32]),
}

impl<'a> ClassSink<'a> {
    pub fn new(class_of: &'a mut ClassOf) -> Self {
        match class_of {
            ClassOf::Narrow(numbers) => Self::Narrow(atomics(numbers)),
            ClassOf::Wide(numbers) => Self::Wide(atomics(numbers)),
        }
    }

    /// Stores the class of an object.
    #[inline(always)]
    pub fn store(&self, object: usize, class: ClassNumber) {
        match self {
            // `ClassOf::unknown` was told the number of classes.
            Self::Narrow(numbers) => {
                numbers[object].store(class.get() as u16, Ordering::Relaxed);
            }
            Self::Wide(numbers) => numbers[object].store(class.get(), Ordering::Relaxed),
        }
    }
}
