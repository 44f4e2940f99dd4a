//! Sites: a class and the stack its objects are allocated at, with counts.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::classes::ClassId;
use super::stacks::StackId;

/// The place of a site in its table; below 2^24.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SiteId(pub(super) u32);

/// The allocated or live objects of a site, in the units of
/// [`Weights`](super::weights::Weights).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) objects: u64,
    pub(super) bytes: u64,
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.objects = self.objects.saturating_add(other.objects);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// All sites seen. The counts here lack what threads have in their caches.
pub(super) struct SiteTable {
    shards: [Mutex<HashMap<(StackId, ClassId), SiteId>>; SHARDS],
    /// Rows never move, so that they are found without a lock.
    chunks: Box<[OnceLock<Box<[Row]>>]>,
    count: AtomicU32,
}

#[derive(Default)]
struct Row {
    stack: AtomicU32,
    class: AtomicU32,
    objects: AtomicU64,
    bytes: AtomicU64,
}

const SHARDS: usize = 16;
const CHUNK: usize = 1 << 12;
const CHUNKS: usize = 1 << 12;

impl SiteTable {
    /// A table with one row for whatever does not fit any more.
    pub(super) fn new() -> Self {
        Self {
            shards: Default::default(),
            chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect(),
            count: AtomicU32::new(1),
        }
    }

    /// The site of a class and a stack, new or known.
    pub(super) fn intern(&self, stack: StackId, class: ClassId) -> SiteId {
        let shard = stack.0.wrapping_mul(31).wrapping_add(class.0) as usize % SHARDS;
        let mut shard = self.shards[shard].lock();
        if let Some(&site) = shard.get(&(stack, class)) {
            return site;
        }
        let number = self.count.load(Ordering::Relaxed);
        if number as usize >= CHUNK * CHUNKS {
            return SiteId(0);
        }
        // Shards add at the same time, so the number may be another one by now.
        let site = SiteId(self.count.fetch_add(1, Ordering::Relaxed));
        let Some(row) = self.row(site) else {
            return SiteId(0);
        };
        row.stack.store(stack.0, Ordering::Relaxed);
        row.class.store(class.0, Ordering::Relaxed);
        shard.insert((stack, class), site);
        site
    }

    /// Forgets all sites. Their rows stay for others.
    pub(super) fn clear(&self) {
        for shard in &self.shards {
            *shard.lock() = HashMap::new();
        }
        for number in 0..self.len().min(CHUNK * CHUNKS) {
            if let Some(row) = self.row(SiteId(number as u32)) {
                row.objects.store(0, Ordering::Relaxed);
                row.bytes.store(0, Ordering::Relaxed);
            }
        }
        self.count.store(1, Ordering::Relaxed);
    }

    /// Adds to the counts of a site.
    pub(super) fn add(&self, site: SiteId, count: Count) {
        if let Some(row) = self.row(site) {
            row.objects.fetch_add(count.objects, Ordering::Relaxed);
            row.bytes.fetch_add(count.bytes, Ordering::Relaxed);
        }
    }

    /// How many objects were counted at a site.
    pub(super) fn objects(&self, site: SiteId) -> u64 {
        self.row(site)
            .map_or(0, |row| row.objects.load(Ordering::Relaxed))
    }

    /// Stack and class of each site, and its counts, in the order of their ids.
    pub(super) fn rows(&self) -> Vec<(StackId, ClassId, Count)> {
        let count = (self.count.load(Ordering::Relaxed) as usize).min(CHUNK * CHUNKS);
        (0..count as u32)
            .map(|number| match self.row(SiteId(number)) {
                Some(row) => (
                    StackId(row.stack.load(Ordering::Relaxed)),
                    ClassId(row.class.load(Ordering::Relaxed)),
                    Count {
                        objects: row.objects.load(Ordering::Relaxed),
                        bytes: row.bytes.load(Ordering::Relaxed),
                    },
                ),
                None => (StackId::EMPTY, ClassId(0), Count::default()),
            })
            .collect()
    }

    /// How many sites there are.
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed) as usize
    }

    fn row(&self, site: SiteId) -> Option<&Row> {
        let number = site.0 as usize;
        self.chunks
            .get(number / CHUNK)?
            .get_or_init(|| (0..CHUNK).map(|_| Row::default()).collect())
            .get(number % CHUNK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_a_stack_and_a_class() {
        let table = SiteTable::new();
        let one = table.intern(StackId(3), ClassId(4));
        assert_eq!(table.intern(StackId(3), ClassId(4)), one);
        assert_ne!(table.intern(StackId(4), ClassId(4)), one);
        let count = Count {
            objects: 2,
            bytes: 48,
        };
        table.add(one, count);
        table.add(one, count);
        let rows = table.rows();
        assert_eq!(
            rows[1],
            (
                StackId(3),
                ClassId(4),
                Count {
                    objects: 4,
                    bytes: 96
                }
            )
        );
        assert_eq!((rows.len(), table.len()), (3, 3));
    }

    #[test]
    fn threads_agree_on_sites() {
        let table = SiteTable::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for stack in 0..2 * CHUNK as u32 {
                        let site = table.intern(StackId(stack), ClassId(1));
                        table.add(
                            site,
                            Count {
                                objects: 1,
                                bytes: u64::from(stack),
                            },
                        );
                    }
                });
            }
        });
        let rows = table.rows();
        assert_eq!(rows.len(), 2 * CHUNK + 1);
        for (stack, class, count) in &rows[1..] {
            assert_eq!((class.0, count.objects), (1, 4));
            assert_eq!(count.bytes, 4 * u64::from(stack.0));
        }
    }
}
