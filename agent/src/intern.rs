//! Tables of values that many threads intern.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hashbrown::HashTable;
use parking_lot::RwLock;

const SHARDS: usize = 16;

/// Equal values once each, found by a hash and a comparison. It knows the bytes that they take, which are limited, and how
/// many values were cut for that. Lookups of known values do not exclude each other.
#[derive(Debug)]
pub struct InternTable<T> {
    shards: [RwLock<HashTable<(u64, T)>>; SHARDS],
    bytes: AtomicUsize,
    cut: AtomicU64,
}

/// A value to add, and the bytes that it takes.
pub struct New<T> {
    /// The value.
    pub value: T,
    /// Its bytes, those behind pointers included.
    pub bytes: usize,
}

impl<T> Default for InternTable<T> {
    fn default() -> Self {
        Self {
            shards: Default::default(),
            bytes: AtomicUsize::new(0),
            cut: AtomicU64::new(0),
        }
    }
}

impl<T: Clone> InternTable<T> {
    /// The value of a hash that `is_wanted` accepts.
    pub fn find(&self, hash: u64, is_wanted: impl Fn(&T) -> bool) -> Option<T> {
        let shard = self.shard(hash).read();
        let known = shard.find(hash, |(_, value)| is_wanted(value));
        known.map(|(_, value)| value.clone())
    }

    /// The value of a hash that `is_wanted` accepts, or that of `make`, which runs once for it. `None` if
    /// `make` makes nothing.
    pub fn intern(
        &self,
        hash: u64,
        is_wanted: impl Fn(&T) -> bool,
        make: impl FnOnce() -> Option<New<T>>,
    ) -> Option<T> {
        if let Some(known) = self.find(hash, &is_wanted) {
            return Some(known);
        }
        let mut shard = self.shard(hash).write();
        if let Some((_, known)) = shard.find(hash, |(_, value)| is_wanted(value)) {
            return Some(known.clone());
        }
        let New { value, bytes } = make()?;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        shard.insert_unique(hash, (hash, value.clone()), |(hash, _)| *hash);
        Some(value)
    }

    /// Takes all values out, and forgets what was counted.
    pub fn clear(&self) -> Vec<T> {
        let shards = self.shards.iter();
        let values = shards.flat_map(|shard| std::mem::take(&mut *shard.write()));
        let values = values.map(|(_, value)| value).collect();
        self.bytes.store(0, Ordering::Relaxed);
        self.cut.store(0, Ordering::Relaxed);
        values
    }

    fn shard(&self, hash: u64) -> &RwLock<HashTable<(u64, T)>> {
        // The table itself uses the low and the highest bits.
        &self.shards[(hash >> 40) as usize % SHARDS]
    }

    /// The bytes that all values take.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Counts a value that was cut to save memory.
    pub fn count_cut(&self) {
        self.cut.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of values that were cut to save memory.
    pub fn cut(&self) -> u64 {
        self.cut.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(value: u64) -> Option<New<u64>> {
        Some(New { value, bytes: 8 })
    }

    #[test]
    fn each_value_is_made_once_by_all_threads_together() {
        let table = InternTable::default();
        let made = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for value in 0..1000u64 {
                        // Ten values share a hash.
                        let hash = ((value / 10) << 40) | 7;
                        let found = table.intern(
                            hash,
                            |&known| known == value,
                            || {
                                made.fetch_add(1, Ordering::Relaxed);
                                new(value)
                            },
                        );
                        assert_eq!(found, Some(value));
                    }
                });
            }
        });
        assert_eq!((made.into_inner(), table.bytes()), (1000, 8000));
    }

    #[test]
    fn a_value_that_is_not_made_is_not_known_later() {
        let table = InternTable::default();
        assert_eq!(table.intern(1, |_| true, || None), None::<u64>);
        assert_eq!(table.find(1, |_| true), None);
        assert_eq!(table.intern(1, |_| true, || new(5)), Some(5));
        assert_eq!(table.find(1, |_| true), Some(5));
        table.count_cut();
        assert_eq!(table.cut(), 1);
    }
}
