//! The largest arrays of a dump.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hprof_format::binary::BasicType;
use hprof_format::ids::ObjectId;

use super::layout::Layout;

/// The first bytes of a primitive array that are kept to be shown.
pub const PREVIEW: usize = 96;

/// The kind of a large array.
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

/// Keeps the largest of all arrays it is shown. How much room references take turns out at the end,
/// so arrays of them are kept apart: within each kind, the order is that of the bytes in the file.
#[derive(Debug, Clone)]
pub struct Largest {
    capacity: usize,
    objects: Kept,
    primitives: Kept,
}

#[derive(Debug, Clone)]
struct Kept {
    heap: BinaryHeap<Reverse<Large>>,
    /// Arrays of fewer bytes need not be offered.
    threshold: u64,
}

impl Largest {
    /// Keeps at most `capacity` arrays.
    pub fn new(capacity: usize) -> Self {
        let kept = || Kept {
            heap: BinaryHeap::new(),
            threshold: if capacity == 0 { u64::MAX } else { 0 },
        };
        Self {
            capacity,
            objects: kept(),
            primitives: kept(),
        }
    }

    /// True if an array of references of this size would be kept. Most are not, so this comes
    /// first.
    #[inline]
    pub fn wants_objects(&self, data_bytes: u64) -> bool {
        data_bytes >= self.objects.threshold
    }

    /// True if an array of primitives of this size would be kept.
    #[inline]
    pub fn wants_primitives(&self, data_bytes: u64) -> bool {
        data_bytes >= self.primitives.threshold
    }

    /// Adds an array.
    #[cold]
    pub fn add(&mut self, large: Large) {
        let kept = match large.kind {
            LargeKind::Objects(_) => &mut self.objects,
            LargeKind::Primitives(..) => &mut self.primitives,
        };
        kept.heap.push(Reverse(large));
        if kept.heap.len() > self.capacity {
            kept.heap.pop();
        }
        if kept.heap.len() == self.capacity {
            let least = kept.heap.peek().map(|Reverse(least)| least.data_bytes);
            kept.threshold = least.unwrap_or(0);
        }
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: Self) {
        let all = other.objects.heap.into_iter().chain(other.primitives.heap);
        all.for_each(|Reverse(large)| self.add(large));
    }

    /// True if no array was kept.
    pub fn is_empty(&self) -> bool {
        self.objects.heap.is_empty() && self.primitives.heap.is_empty()
    }

    /// The largest with the bytes that they take, largest first; those of one size by their
    /// address.
    pub fn sorted(&self, layout: &Layout) -> Vec<(u64, &Large)> {
        let bytes = |large: &Large| match large.kind {
            LargeKind::Objects(_) => layout.object_array(large.length),
            LargeKind::Primitives(..) => layout.primitive_array(large.data_bytes),
        };
        let all = self.objects.heap.iter().chain(&self.primitives.heap);
        let mut all: Vec<(u64, &Large)> = all.map(|Reverse(large)| (bytes(large), large)).collect();
        all.sort_by_key(|&(bytes, large)| (Reverse(bytes), large.object));
        all.truncate(self.capacity);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LAYOUT: Layout = Layout {
        reference: 4,
        object_header: 12,
        array_header: 16,
        alignment: 8,
    };

    fn array(object: u64, length: u64, is_of_objects: bool) -> Large {
        Large {
            data_bytes: if is_of_objects { 8 * length } else { length },
            object: ObjectId::new(object),
            length,
            kind: match is_of_objects {
                true => LargeKind::Objects(ObjectId::new(1)),
                false => LargeKind::Primitives(8, Box::default()),
            },
        }
    }

    proptest! {
        #[test]
        fn the_largest_are_kept_in_whatever_parts_they_come(
            sizes in prop::collection::vec((0u64..50, any::<bool>()), 0..60),
            capacity in 0usize..8,
            cut in 0usize..60,
        ) {
            let cut = cut.min(sizes.len());
            let mut parts = [Largest::new(capacity), Largest::new(capacity)];
            for (index, &(size, is_of_objects)) in sizes.iter().enumerate() {
                let part = &mut parts[usize::from(index >= cut)];
                let large = array(index as u64, size, is_of_objects);
                let wants = match is_of_objects {
                    true => part.wants_objects(large.data_bytes),
                    false => part.wants_primitives(large.data_bytes),
                };
                if wants {
                    part.add(large);
                }
            }
            let [mut first, second] = parts;
            first.merge(second);
            let found: Vec<u64> = first.sorted(&LAYOUT).iter().map(|large| large.0).collect();
            let bytes = |&(size, is_of_objects): &(u64, bool)| match is_of_objects {
                true => LAYOUT.object_array(size),
                false => LAYOUT.primitive_array(size),
            };
            let mut expected: Vec<u64> = sizes.iter().map(bytes).collect();
            expected.sort_unstable_by_key(|&size| Reverse(size));
            expected.truncate(capacity);
            prop_assert_eq!(found, expected);
        }
    }
}
