//! Objects of a few stretches of the heap, whatever order the dump has them in.
//!
//! HotSpot's ZGC and Shenandoah write objects as they find them along references, so the next
//! object of the dump says nothing of the size of the last. But the stretches that are chosen here
//! are known in full, so the objects in them can be put in the order of their addresses.

use hprof_format::ids::ObjectId;

use super::layout::Layout;
use super::layout_votes::LayoutVotes;

/// The objects that are kept; with more, fewer stretches are looked at.
const MAX_OBJECTS: usize = 1 << 16;
/// A stretch has 4 kB: many small ones, as one class may fill most of the heap.
const STRETCH_BITS: u32 = 12;
/// Spreads numbers: 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming,
/// volume 3, 6.4).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// All objects of some stretches of the heap.
#[derive(Debug, Clone)]
pub struct AddressSample {
    /// Stretches are chosen whose number, spread, is not above this.
    limit: u64,
    objects: Vec<(u64, Array)>,
}

/// The number of elements, or of bytes for primitives, and whether the elements are references;
/// `None` for what is no array.
type Array = Option<(u64, bool)>;

impl Default for AddressSample {
    fn default() -> Self {
        Self {
            limit: u64::MAX,
            objects: Vec::new(),
        }
    }
}

impl AddressSample {
    /// Sees an object, in any order.
    #[inline]
    pub fn see(&mut self, object: ObjectId, array: Array) {
        if is_within(object.get(), self.limit) {
            self.add(object.get(), array);
        }
    }

    #[cold]
    fn add(&mut self, address: u64, array: Array) {
        self.objects.push((address, array));
        self.shrink();
    }

    fn shrink(&mut self) {
        while self.objects.len() > MAX_OBJECTS {
            self.limit /= 2;
            let limit = self.limit;
            self.objects
                .retain(|&(address, _)| is_within(address, limit));
        }
    }

    /// Adds what was seen of another part of the dump.
    pub fn merge(&mut self, other: &Self) {
        self.limit = self.limit.min(other.limit);
        self.objects.extend(&other.objects);
        let limit = self.limit;
        self.objects
            .retain(|&(address, _)| is_within(address, limit));
        self.shrink();
    }

    /// The layout that the distances between neighbours tell.
    pub fn layout(&self) -> Option<Layout> {
        let mut objects = self.objects.clone();
        objects.sort_unstable();
        objects.dedup_by_key(|&mut (address, _)| address);
        let mut votes = LayoutVotes::default();
        let mut last = 0;
        for (address, array) in objects {
            let stretch = address >> STRETCH_BITS;
            if stretch != last {
                votes.interrupt();
                last = stretch;
            }
            votes.see(ObjectId::new(address), array);
        }
        votes.winner()
    }
}

#[inline]
fn is_within(address: u64, limit: u64) -> bool {
    (address >> STRETCH_BITS).wrapping_mul(SPREAD) <= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Consecutive objects, in an order that is not theirs.
    fn scattered(layout: Layout, count: u64) -> Vec<(ObjectId, Array)> {
        let mut address = 0x7_0000_0000;
        let mut objects = Vec::new();
        for number in 0..count {
            let array = (number % 97 * (number % 5), number % 2 == 0);
            objects.push((ObjectId::new(address), Some(array)));
            address += match array {
                (length, true) => layout.object_array(length),
                (bytes, false) => layout.primitive_array(bytes),
            };
        }
        objects.sort_by_key(|(object, _)| object.get().wrapping_mul(SPREAD));
        objects
    }

    #[test]
    fn neighbours_are_found_in_any_order_and_any_parts() {
        for count in [1_000, 200_000] {
            let layout = Layout {
                reference: 8,
                object_header: 8,
                array_header: 12,
                alignment: 16,
            };
            let objects = scattered(layout, count);
            let mut whole = AddressSample::default();
            let mut parts = [AddressSample::default(), AddressSample::default()];
            for (number, &(object, array)) in objects.iter().enumerate() {
                whole.see(object, array);
                parts[number % 3 / 2].see(object, array);
            }
            let [mut first, second] = parts;
            first.merge(&second);
            assert_eq!(whole.layout(), Some(layout));
            assert_eq!(first.layout(), Some(layout));
            assert_eq!(first.limit, whole.limit);
            assert!(whole.objects.len() <= MAX_OBJECTS);
        }
    }

    #[test]
    fn the_same_address_again_and_again_is_not_kept() {
        let mut sample = AddressSample::default();
        for _ in 0..3 * MAX_OBJECTS {
            sample.see(ObjectId::new(0x7_0000_0008), Some((1, true)));
        }
        assert!(sample.objects.len() <= MAX_OBJECTS);
        assert_eq!(sample.layout(), None);
    }
}
