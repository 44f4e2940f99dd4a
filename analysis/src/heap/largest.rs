//! The largest arrays of a dump.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hprof_format::binary::BasicType;
use hprof_format::ids::ObjectId;

/// The first bytes of a primitive array that are kept to be shown.
pub const PREVIEW: usize = 96;

/// What kind of array is large.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LargeKind {
    /// References; with the class of the array.
    Objects(ObjectId),
    /// Values of a primitive type, by the type's code, with the first bytes, big-endian.
    Primitives(u8, Box<[u8]>),
}

/// A large array.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Large {
    /// The bytes of its elements as the file has them.
    pub data_bytes: u64,
    /// The array.
    pub object: ObjectId,
    /// The number of elements.
    pub length: u64,
    /// Its kind.
    pub kind: LargeKind,
}

impl Large {
    /// The type of the elements.
    pub fn element(&self) -> BasicType {
        match self.kind {
            LargeKind::Objects(_) => BasicType::Object,
            LargeKind::Primitives(code, _) => BasicType::from_code(code).unwrap_or(BasicType::Byte),
        }
    }
}

/// Keeps the largest of all arrays it is shown.
#[derive(Debug, Clone)]
pub struct Largest {
    capacity: usize,
    heap: BinaryHeap<Reverse<Large>>,
    /// Arrays of fewer bytes need not be offered.
    threshold: u64,
}

impl Largest {
    /// Keeps at most `capacity` arrays.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            heap: BinaryHeap::new(),
            threshold: if capacity == 0 { u64::MAX } else { 0 },
        }
    }

    /// True if an array of this size would be kept. Most are not, so this comes first.
    #[inline]
    pub fn wants(&self, data_bytes: u64) -> bool {
        data_bytes >= self.threshold
    }

    /// Adds an array.
    #[cold]
    pub fn add(&mut self, large: Large) {
        self.heap.push(Reverse(large));
        if self.heap.len() > self.capacity {
            self.heap.pop();
        }
        if self.heap.len() == self.capacity {
            let smallest = self
                .heap
                .peek()
                .map_or(0, |Reverse(least)| least.data_bytes);
            self.threshold = smallest;
        }
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: Self) {
        for Reverse(large) in other.heap {
            if self.wants(large.data_bytes) {
                self.add(large);
            }
        }
    }

    /// All that were kept, largest first; those of one size by their address.
    pub fn sorted(&self) -> Vec<&Large> {
        let mut all: Vec<&Large> = self.heap.iter().map(|Reverse(large)| large).collect();
        all.sort_by_key(|large| (Reverse(large.data_bytes), large.object));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn array(object: u64, data_bytes: u64) -> Large {
        Large {
            data_bytes,
            object: ObjectId::new(object),
            length: data_bytes,
            kind: LargeKind::Primitives(8, Box::default()),
        }
    }

    proptest! {
        #[test]
        fn the_largest_are_kept_in_whatever_parts_they_come(
            sizes in prop::collection::vec(0u64..50, 0..60),
            capacity in 0usize..8,
            cut in 0usize..60,
        ) {
            let cut = cut.min(sizes.len());
            let mut parts = [Largest::new(capacity), Largest::new(capacity)];
            for (index, &size) in sizes.iter().enumerate() {
                let part = &mut parts[usize::from(index >= cut)];
                if part.wants(size) {
                    part.add(array(index as u64, size));
                }
            }
            let [mut first, second] = parts;
            first.merge(second);
            let found: Vec<u64> = first.sorted().iter().map(|large| large.data_bytes).collect();
            let mut expected = sizes;
            expected.sort_unstable_by_key(|&size| Reverse(size));
            expected.truncate(capacity);
            prop_assert_eq!(found, expected);
        }
    }
}
