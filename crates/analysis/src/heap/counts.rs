//! The objects of a class, a primitive type or one of Android's heaps, as sums.

use hprof_format::ids::StringId;

use super::layout::{Layout, MAX_ALIGNMENT};

/// References of 4 bytes in the widest multiple that objects fill.
const REMAINDERS: u64 = MAX_ALIGNMENT / 4;

/// The objects of one class. Bytes are those of the values as the file has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClassCount {
    /// Instances that are no arrays.
    pub instances: u64,
    /// The bytes of their field values.
    pub value_bytes: u64,
    /// Arrays of references.
    pub arrays: u64,
    /// Their elements.
    pub elements: u64,
    /// Arrays by the number of elements modulo `REMAINDERS`, which settles how they are rounded
    /// up; empty without arrays.
    pub by_remainder: Vec<u64>,
}

impl ClassCount {
    /// The room that the arrays take.
    pub fn array_bytes(&self, layout: &Layout) -> u64 {
        let reference = layout.reference;
        let rounding = self
            .by_remainder
            .iter()
            .zip(0u64..)
            .map(|(&arrays, left)| arrays * (layout.object_array(left) - reference * left));
        reference * self.elements + rounding.sum::<u64>()
    }

    #[inline]
    pub(super) fn add_array(&mut self, length: u64) {
        if self.by_remainder.is_empty() {
            self.by_remainder.resize(REMAINDERS as usize, 0);
        }
        self.arrays += 1;
        self.elements += length;
        self.by_remainder[(length % REMAINDERS) as usize] += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.instances += other.instances;
        self.value_bytes += other.value_bytes;
        self.arrays += other.arrays;
        self.elements += other.elements;
        if self.by_remainder.len() < other.by_remainder.len() {
            self.by_remainder.resize(other.by_remainder.len(), 0);
        }
        for (sum, more) in self.by_remainder.iter_mut().zip(&other.by_remainder) {
            *sum += more;
        }
    }
}

/// The arrays of one primitive type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayCount {
    /// Arrays.
    pub arrays: u64,
    /// Their elements.
    pub elements: u64,
    /// The bytes of their elements.
    pub data_bytes: u64,
    /// Arrays by the bytes of their elements modulo `MAX_ALIGNMENT`, which settles how they are
    /// rounded up.
    pub by_remainder: [u64; MAX_ALIGNMENT as usize],
}

impl Default for ArrayCount {
    fn default() -> Self {
        Self {
            arrays: 0,
            elements: 0,
            data_bytes: 0,
            by_remainder: [0; MAX_ALIGNMENT as usize],
        }
    }
}

impl ArrayCount {
    /// The room that the arrays take.
    pub fn array_bytes(&self, layout: &Layout) -> u64 {
        let rounding = self
            .by_remainder
            .iter()
            .zip(0u64..)
            .map(|(&arrays, remainder)| arrays * (layout.primitive_array(remainder) - remainder));
        self.data_bytes + rounding.sum::<u64>()
    }

    #[inline]
    pub(super) fn add(&mut self, length: u64, data_bytes: u64) {
        self.arrays += 1;
        self.elements += length;
        self.data_bytes += data_bytes;
        self.by_remainder[(data_bytes % MAX_ALIGNMENT) as usize] += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.arrays += other.arrays;
        self.elements += other.elements;
        self.data_bytes += other.data_bytes;
        for (sum, more) in self.by_remainder.iter_mut().zip(other.by_remainder) {
            *sum += more;
        }
    }
}

/// Roots by kind, under the names that the format gives them.
pub type RootCounts = std::collections::BTreeMap<&'static str, u64>;

/// The objects of one of Android's heaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeapCount {
    /// The number of the heap; 0 before any is named.
    pub heap: u32,
    /// Its name, null before any is named.
    pub name: StringId,
    /// Objects and arrays.
    pub objects: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_are_those_of_the_single_arrays(
            lengths in prop::collection::vec(0u64..400, 0..50),
            (reference, header) in prop_oneof![
                Just((4u64, 16u64)), Just((8, 16)), Just((4, 12)), Just((8, 12)), Just((8, 24)),
            ],
            alignment in prop::sample::select(vec![8u64, 16, 32, 64, 128, 256]),
        ) {
            let array_header = header;
            let layout = Layout { reference, object_header: 8, array_header, alignment };
            let mut objects = ClassCount::default();
            let mut bytes = ArrayCount::default();
            for &length in &lengths {
                objects.add_array(length);
                bytes.add(length, length);
            }
            let expected: u64 = lengths.iter().map(|&n| layout.object_array(n)).sum();
            prop_assert_eq!(objects.array_bytes(&layout), expected);
            let expected: u64 = lengths.iter().map(|&n| layout.primitive_array(n)).sum();
            prop_assert_eq!(bytes.array_bytes(&layout), expected);
        }
    }
}
