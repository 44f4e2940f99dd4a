//! The sampled blocks that are not freed yet, by address.
//!
//! Every `free` of the program asks here, and nearly always for a block that was not sampled. So a small filter answers
//! first: a byte that counts the sampled blocks of some addresses.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::native_calls::{StackId, Zeroed, zeroed};

/// Bytes of the filter.
const FILTER: usize = 1 << 17;
/// Blocks of a bucket.
const WAYS: usize = 8;
/// The number of buckets.
const BUCKETS: usize = 1 << 15;
/// A count that stays: it was too large once.
const STUCK: u8 = u8::MAX;
/// The address of a place that is being filled.
const BUSY: usize = 1;

static COUNTS: [AtomicU8; FILTER] = [const { AtomicU8::new(0) }; FILTER];

/// A block that stands for others of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The stack that allocated it.
    pub(super) stack: StackId,
    /// Milliseconds from the start of the recording to its allocation.
    pub(super) millis: u32,
    /// The bytes that it stands for.
    pub(super) bytes: u64,
    /// The blocks that it stands for, in [`FRACTION`](super::sampler::FRACTION)s.
    pub(super) blocks: u64,
}

/// The addresses of a bucket, in one line of the processor's cache: nearly all lookups end there.
#[repr(align(64))]
struct Bucket {
    /// 0 where a place is free.
    addresses: [AtomicUsize; WAYS],
}

const _: () = assert!(size_of::<Bucket>() == 64);

/// A block at one of the places of a bucket.
struct Place {
    stack: AtomicU32,
    millis: AtomicU32,
    bytes: AtomicU64,
    blocks: AtomicU64,
}

// SAFETY: atomic numbers only.
unsafe impl Zeroed for Bucket {}
// SAFETY: atomic numbers only.
unsafe impl Zeroed for Place {}

/// The table: buckets of some places, and two buckets for each address.
pub(super) struct Blocks {
    buckets: &'static [Bucket],
    /// The places of all buckets, in their order.
    places: &'static [Place],
    /// Sampled blocks for which there was no place.
    unfollowed: AtomicU64,
}

impl Blocks {
    pub(super) fn new() -> Self {
        Self {
            buckets: zeroed(BUCKETS),
            places: zeroed(BUCKETS * WAYS),
            unfollowed: AtomicU64::new(0),
        }
    }

    /// Returns false if no block at this address was sampled.
    #[inline]
    pub(super) fn may_have(address: usize) -> bool {
        COUNTS
            .get(filter_index(address))
            .is_some_and(|count| count.load(Ordering::Relaxed) != 0)
    }

    /// Follows a block. The caller has just got it, so no other thread knows its address.
    pub(super) fn insert(&self, address: usize, block: Block) {
        for (here, place) in self.places_of(address) {
            let taken = here.compare_exchange(0, BUSY, Ordering::Acquire, Ordering::Relaxed);
            if taken.is_err() {
                continue;
            }
            place.write(block);
            count(address, |count| count.saturating_add(1));
            here.store(address, Ordering::Release);
            return;
        }
        self.unfollowed.fetch_add(1, Ordering::Relaxed);
    }

    /// Follows a block no more, before it is freed. Returns it if it was followed.
    pub(super) fn remove(&self, address: usize) -> Option<Block> {
        if address <= BUSY {
            return None;
        }
        let mut places = self.places_of(address);
        let (here, place) = places.find(|(here, _)| here.load(Ordering::Acquire) == address)?;
        let block = place.read();
        // A program that frees a block twice has one of its threads find nothing.
        let freed = here.compare_exchange(address, 0, Ordering::AcqRel, Ordering::Relaxed);
        freed.ok()?;
        count(address, |count| match count {
            STUCK => STUCK,
            count => count.saturating_sub(1),
        });
        Some(block)
    }

    /// All blocks of this moment, more or less: others come and go meanwhile.
    pub(super) fn all(&self) -> impl Iterator<Item = Block> {
        self.addresses()
            .zip(self.places)
            .filter_map(|(here, place)| {
                let address = here.load(Ordering::Acquire);
                if address <= BUSY {
                    return None;
                }
                let block = place.read();
                (here.load(Ordering::Acquire) == address).then_some(block)
            })
    }

    /// Forgets all blocks. No hook may be at work.
    pub(super) fn clear(&self) {
        for here in self.addresses() {
            if here.load(Ordering::Relaxed) != 0 {
                here.store(0, Ordering::Relaxed);
            }
        }
        for count in &COUNTS {
            count.store(0, Ordering::Relaxed);
        }
        self.unfollowed.store(0, Ordering::Relaxed);
    }

    fn addresses(&self) -> impl Iterator<Item = &AtomicUsize> {
        self.buckets.iter().flat_map(|bucket| &bucket.addresses)
    }

    /// Sampled blocks for which there was no place: they count as freed.
    pub(super) fn unfollowed(&self) -> u64 {
        self.unfollowed.load(Ordering::Relaxed)
    }

    fn places_of(&self, address: usize) -> impl Iterator<Item = (&AtomicUsize, &Place)> {
        let mixed = (address >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let buckets = [
            mixed >> (usize::BITS - BUCKETS.ilog2()),
            mixed >> 16 & (BUCKETS - 1),
        ];
        buckets.into_iter().flat_map(|index| {
            let start = index.saturating_mul(WAYS);
            let places = self.places.get(start..start.saturating_add(WAYS));
            let bucket = self.buckets.get(index).into_iter();
            let addresses = bucket.flat_map(|bucket| &bucket.addresses);
            addresses.zip(places.unwrap_or_default())
        })
    }
}

impl Place {
    fn read(&self) -> Block {
        Block {
            stack: StackId(self.stack.load(Ordering::Relaxed)),
            millis: self.millis.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            blocks: self.blocks.load(Ordering::Relaxed),
        }
    }

    fn write(&self, block: Block) {
        self.stack.store(block.stack.0, Ordering::Relaxed);
        self.millis.store(block.millis, Ordering::Relaxed);
        self.bytes.store(block.bytes, Ordering::Relaxed);
        self.blocks.store(block.blocks, Ordering::Relaxed);
    }
}

/// Neighbours in memory are neighbours in the filter, which is kind to caches; large blocks begin at pages.
#[inline]
fn filter_index(address: usize) -> usize {
    let granule = address >> 4;
    (granule ^ granule >> 13) & (FILTER - 1)
}

fn count(address: usize, change: impl Fn(u8) -> u8) {
    if let Some(count) = COUNTS.get(filter_index(address)) {
        let changed = |old| Some(change(old));
        let _ = count.fetch_update(Ordering::AcqRel, Ordering::Relaxed, changed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(number: u32) -> Block {
        Block {
            stack: StackId(number),
            millis: number,
            bytes: number.into(),
            blocks: 256,
        }
    }

    #[test]
    fn blocks_are_found_until_they_are_freed() {
        let blocks = Blocks::new();
        // Addresses as of malloc, and as of large blocks.
        for (start, step) in [(0x5000_0010, 48), (0x7f00_0000_0010, 0x2_1000)] {
            let address = |number: usize| start + number * step;
            for number in 0..10_000 {
                blocks.insert(address(number), block(number as u32));
            }
            assert_eq!(blocks.unfollowed(), 0);
            assert_eq!(blocks.all().count(), 10_000);
            for number in 0..10_000 {
                assert!(Blocks::may_have(address(number)));
                let found = blocks.remove(address(number));
                assert_eq!(found, Some(block(number as u32)));
                assert_eq!(blocks.remove(address(number)), None);
            }
            assert_eq!(blocks.all().count(), 0);
        }
        assert_eq!(blocks.remove(0), None);
        // More than there is room for.
        for number in 0..BUCKETS * WAYS * 2 {
            blocks.insert(0x1000_0000 + number * 16, block(1));
        }
        let followed = blocks.all().count() as u64;
        assert_eq!(followed + blocks.unfollowed(), (BUCKETS * WAYS * 2) as u64);
        assert!(followed as usize > BUCKETS * WAYS * 9 / 10, "{followed}");
        blocks.clear();
        assert_eq!(blocks.all().count(), 0);
        assert!(!Blocks::may_have(0x1000_0000));
    }
}
