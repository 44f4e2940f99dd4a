//! Opened analyses, bounded in number and bytes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::ViewError;

/// A value that a cache holds.
pub trait Held: Send + Sync {
    /// The memory that it takes beside maps of files, in bytes; it may grow.
    fn bytes(&self) -> u64;
}

/// How much a cache may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// Analyses.
    pub number: usize,
    /// Their memory beside maps of files, in bytes.
    pub bytes: u64,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self {
            number: 16,
            bytes: 1 << 30,
        }
    }
}

/// How long others wait for one who opens.
const WAIT: Duration = Duration::from_secs(60);

/// Analyses by key, the least recently used of which go first. An analysis in use stays in memory
/// until its last user has it no more.
#[derive(Debug)]
pub struct Cache<T> {
    limits: CacheLimits,
    entries: Mutex<Entries<T>>,
}

#[derive(Debug)]
struct Entries<T> {
    by_key: HashMap<String, Entry<T>>,
    clock: u64,
}

#[derive(Debug)]
struct Entry<T> {
    slot: Arc<Slot<T>>,
    used: u64,
    used_at: Instant,
}

/// Holds an analysis once a caller has opened it, which holds the lock meanwhile.
type Slot<T> = Mutex<Option<Arc<T>>>;

impl<T: Held> Cache<T> {
    /// An empty cache.
    pub fn new(limits: CacheLimits) -> Self {
        let entries = Entries {
            by_key: HashMap::new(),
            clock: 0,
        };
        Self {
            limits,
            entries: Mutex::new(entries),
        }
    }

    /// The value of a key; `open` makes it if it is missing. However many ask for a key
    /// at once, one opens it.
    ///
    /// # Errors
    /// Returns the errors of `open`, which the next caller tries again. Fails too if another caller
    /// takes too long with it.
    pub fn get(
        &self,
        key: &str,
        open: impl FnOnce() -> Result<T, ViewError>,
    ) -> Result<Arc<T>, ViewError> {
        let slot = self.slot(key);
        let found = {
            let mut held = slot.try_lock_for(WAIT).ok_or_else(|| {
                ViewError::Busy("this analysis is being opened; ask again".to_owned())
            })?;
            match &*held {
                Some(value) => Ok(Arc::clone(value)),
                None => open().map(|value| {
                    let value = Arc::new(value);
                    *held = Some(Arc::clone(&value));
                    value
                }),
            }
        };
        match &found {
            Ok(_) => self.shrink(key),
            Err(_) => self.forget_empty(key, &slot),
        }
        found
    }

    fn slot(&self, key: &str) -> Arc<Slot<T>> {
        let mut entries = self.entries.lock();
        entries.clock += 1;
        let now = entries.clock;
        let entry = entries
            .by_key
            .entry(key.to_owned())
            .or_insert_with(|| Entry {
                slot: Arc::default(),
                used: now,
                used_at: Instant::now(),
            });
        entry.used = now;
        entry.used_at = Instant::now();
        Arc::clone(&entry.slot)
    }

    fn forget_empty(&self, key: &str, slot: &Arc<Slot<T>>) {
        let mut entries = self.entries.lock();
        let is_same = |entry: &Entry<T>| Arc::ptr_eq(&entry.slot, slot);
        // Who waits for the slot holds it too, and will try to open it.
        if entries.by_key.get(key).is_some_and(is_same) && Arc::strong_count(slot) <= 2 {
            entries.by_key.remove(key);
        }
    }

    /// Lets the least recently used go until the rest is within the limits, or is `kept` alone.
    fn shrink(&self, kept: &str) {
        let mut entries = self.entries.lock();
        // The sizes of analyses that are being opened are not known yet.
        let bytes = |entry: &Entry<T>| {
            let held = entry.slot.try_lock();
            held.and_then(|held| held.as_ref().map(|value| value.bytes()))
        };
        let mut sizes: HashMap<String, (u64, u64)> = HashMap::new();
        for (key, entry) in &entries.by_key {
            if let Some(bytes) = bytes(entry) {
                sizes.insert(key.clone(), (entry.used, bytes));
            }
        }
        let mut total: u64 = sizes.values().map(|size| size.1).sum();
        while sizes.len() > self.limits.number.max(1) || total > self.limits.bytes {
            let others = sizes.iter().filter(|(key, _)| *key != kept);
            let Some((oldest, size)) = others.min_by_key(|(_, size)| size.0) else {
                break;
            };
            let (oldest, bytes) = (oldest.clone(), size.1);
            sizes.remove(&oldest);
            entries.by_key.remove(&oldest);
            total -= bytes;
        }
    }

    /// Forgets what a key stands for, as its files have changed or are gone.
    pub fn forget(&self, key: &str) {
        self.entries.lock().by_key.remove(key);
    }

    /// Drops the entries that have not been used for a time.
    pub fn expire(&self, unused: Duration) {
        let is_used = |entry: &Entry<T>| entry.used_at.elapsed() < unused;
        self.entries.lock().by_key.retain(|_, entry| is_used(entry));
    }

    /// The number of analyses that are open, and their bytes.
    pub fn held(&self) -> (usize, u64) {
        let entries = self.entries.lock();
        let held = entries.by_key.values().filter_map(|entry| {
            let held = entry.slot.try_lock()?;
            held.as_ref().map(|value| value.bytes())
        });
        held.fold((0, 0), |(number, sum), bytes| (number + 1, sum + bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    impl Held for u64 {
        fn bytes(&self) -> u64 {
            *self
        }
    }

    fn cache(number: usize, bytes: u64) -> Cache<u64> {
        Cache::new(CacheLimits { number, bytes })
    }

    #[test]
    fn many_who_ask_at_once_open_once() {
        let cache = cache(4, 1000);
        let opened = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let value = cache.get("a", || {
                        opened.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(50));
                        Ok(7)
                    });
                    assert_eq!(*value.unwrap(), 7);
                });
            }
        });
        assert_eq!(opened.into_inner(), 1);
        assert_eq!(cache.held(), (1, 7));
    }

    #[test]
    fn the_least_recently_used_go_first_by_number_and_by_bytes() {
        let cache = cache(2, 100);
        let get = |key: &str, bytes| cache.get(key, || Ok(bytes)).unwrap();
        get("a", 10);
        get("b", 10);
        get("a", 99);
        get("c", 10);
        assert_eq!(cache.held(), (2, 20));
        // `b` was let go, and `a` not.
        assert_eq!((*get("a", 11), *get("b", 95)), (10, 95));
        assert_eq!(cache.held(), (1, 95));
        // One that is too large by itself is held until another is asked for.
        assert_eq!(*get("huge", 5000), 5000);
        assert_eq!(cache.held(), (1, 5000));
        get("d", 1);
        assert_eq!(cache.held(), (1, 1));
        cache.forget("d");
        assert_eq!(cache.held(), (0, 0));
        get("e", 1);
        cache.expire(Duration::from_secs(100));
        assert_eq!(cache.held(), (1, 1));
        cache.expire(Duration::ZERO);
        assert_eq!(cache.held(), (0, 0));
    }

    #[test]
    fn a_failure_is_told_and_tried_again() {
        let cache = cache(2, 100);
        let fail = || Err(ViewError::failed("gone"));
        assert_eq!(cache.get("a", fail).unwrap_err().to_string(), "gone");
        assert_eq!(cache.held(), (0, 0));
        assert_eq!(*cache.get("a", || Ok(3)).unwrap(), 3);
    }
}
