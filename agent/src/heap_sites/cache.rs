//! A thread's cache of sites, with what was counted there since they came in.
//!
//! The key is a 64-bit hash of the stack, or of its machine frames (`vm::StackKeys`): a
//! site may then have several entries. Two stacks of the same key would be taken for
//! one; with a million stacks the chance of that is 3 in 10^8.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use jni_sys::jobject;

use super::sites::{Count, SiteId};
use crate::vm::{KeptWeakRef, handle_word};

/// The cache. Its owner counts through shared references while others read.
pub(super) struct Cache {
    /// The high half of each entry's key, so that most of a search is in one line of the processor's cache.
    tags: Box<[u32]>,
    entries: Box<[Entry]>,
    evicted: usize,
}

/// A site in the cache, in one line of the processor's.
#[repr(align(64))]
pub(super) struct Entry {
    key: u64,
    /// Weak reference to the mirror of the class; 0 in an empty entry.
    mirror: usize,
    site: SiteId,
    /// Objects of the site that were counted before it came in.
    before: u32,
    /// The class as its objects have it, and the [shape](super::shortcut) of these; 0 while not known.
    class_word: AtomicU64,
    shape: AtomicU32,
    objects: AtomicU64,
    bytes: AtomicU64,
}

/// How many entries in a row a key may be in.
const WAYS: usize = 4;
const FIRST_ENTRIES: usize = 64;
/// How large one thread's cache may grow.
const MAX_ENTRIES: usize = 1 << 18;

impl Entry {
    /// An entry that holds no key.
    const fn empty() -> Self {
        Self {
            key: 0,
            mirror: 0,
            site: SiteId(0),
            before: 0,
            class_word: AtomicU64::new(0),
            shape: AtomicU32::new(0),
            objects: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// The site.
    #[inline]
    pub(super) fn site(&self) -> SiteId {
        self.site
    }

    /// Returns true if the words are not known.
    #[inline]
    pub(super) fn is_new(&self) -> bool {
        self.class_word.load(Ordering::Relaxed) == 0
    }

    /// Objects of the site have their class as this word, and this shape. Only the owner of the cache calls this.
    pub(super) fn learn(&self, class_word: u64, shape: u32) {
        self.shape.store(shape, Ordering::Relaxed);
        self.class_word.store(class_word, Ordering::Relaxed);
    }

    /// The shape of the site's objects, unless the class was unloaded.
    #[inline]
    pub(super) fn shape(&self) -> Option<u32> {
        // SAFETY: the number of a reference that is never deleted: the class word is found in entries with one only.
        let is_loaded = self.mirror != 0 && unsafe { handle_word(self.mirror as jobject) } != 0;
        is_loaded.then(|| self.shape.load(Ordering::Relaxed))
    }

    /// How many objects of the site were counted, as far as this thread knows.
    pub(super) fn seen(&self) -> u64 {
        u64::from(self.before) + self.objects.load(Ordering::Relaxed)
    }

    /// Counts. Only the owner of the cache calls this, so nothing gets lost.
    #[inline]
    pub(super) fn add(&self, count: Count) {
        let add = |counter: &AtomicU64, more: u64| {
            counter.store(
                counter.load(Ordering::Relaxed).wrapping_add(more),
                Ordering::Relaxed,
            );
        };
        add(&self.objects, count.objects);
        add(&self.bytes, count.bytes);
    }

    fn count(&self) -> Count {
        Count {
            objects: self.objects.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}

impl Cache {
    pub(super) fn new() -> Self {
        Self {
            tags: vec![0; FIRST_ENTRIES].into(),
            entries: empty(FIRST_ENTRIES),
            evicted: 0,
        }
    }

    /// A cache that no thread uses any more.
    pub(super) fn none() -> Self {
        Self {
            tags: Box::default(),
            entries: Box::default(),
            evicted: 0,
        }
    }

    /// The entry of a stack and a class. `is_mirror` compares the class's mirror.
    #[inline]
    pub(super) fn find(
        &self,
        key: u64,
        mut is_mirror: impl FnMut(KeptWeakRef) -> bool,
    ) -> Option<&Entry> {
        self.with_key(key).find(|entry| {
            // SAFETY: 0, or the number of a reference.
            let mirror = || unsafe { KeptWeakRef::from_word(entry.mirror) };
            mirror().is_some_and(&mut is_mirror)
        })
    }

    /// The entry of a stack and a class, by the word that objects have for it.
    #[inline]
    pub(super) fn find_word(&self, key: u64, class_word: u64) -> Option<&Entry> {
        self.with_key(key)
            .find(|entry| entry.class_word.load(Ordering::Relaxed) == class_word)
    }

    /// Puts a site in, in an empty entry or that of the site counted least, whose
    /// counts go to `flush`.
    pub(super) fn insert(
        &mut self,
        key: u64,
        mirror: KeptWeakRef,
        site: SiteId,
        before: u64,
        flush: &mut dyn FnMut(SiteId, Count),
    ) -> Option<&Entry> {
        if self.evicted > self.entries.len() / 4 && self.entries.len() < MAX_ENTRIES {
            self.grow(flush);
        }
        let start = start_of(key, self.entries.len());
        let set = self.entries.get_mut(start..start + WAYS)?;
        let is_known = |entry: &Entry| entry.key == key && entry.mirror == mirror.as_word();
        let (place, entry) = set.iter_mut().enumerate().min_by_key(|(_, entry)| {
            (
                !is_known(entry),
                entry.mirror != 0,
                entry.objects.load(Ordering::Relaxed),
            )
        })?;
        if entry.mirror != 0 {
            self.evicted += 1;
            flush(entry.site, entry.count());
        }
        if let Some(known) = self.tags.get_mut(start + place) {
            *known = tag(key);
        }
        *entry = Entry {
            key,
            mirror: mirror.as_word(),
            site,
            before: u32::try_from(before).unwrap_or(u32::MAX),
            class_word: AtomicU64::new(0),
            shape: AtomicU32::new(0),
            objects: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        };
        Some(entry)
    }

    /// The counts of all sites in the cache.
    pub(super) fn counts(&self) -> impl Iterator<Item = (SiteId, Count)> + '_ {
        self.entries
            .iter()
            .filter(|entry| entry.mirror != 0)
            .map(|entry| (entry.site, entry.count()))
    }

    /// How many bytes the cache takes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.entries) + size_of_val(&*self.tags)
    }

    fn grow(&mut self, flush: &mut dyn FnMut(SiteId, Count)) {
        let larger = empty(2 * self.entries.len());
        self.tags = vec![0; larger.len()].into();
        let old = std::mem::replace(&mut self.entries, larger);
        self.evicted = 0;
        for entry in old.into_iter().filter(|entry| entry.mirror != 0) {
            let start = start_of(entry.key, self.entries.len());
            let set = self
                .entries
                .get_mut(start..start + WAYS)
                .unwrap_or_default();
            let tags = self.tags.get_mut(start..start + WAYS).unwrap_or_default();
            let mut places = set.iter_mut().zip(tags);
            match places.find(|(place, _)| place.mirror == 0) {
                Some((place, known)) => (*known, *place) = (tag(entry.key), entry),
                None => flush(entry.site, entry.count()),
            }
        }
    }

    /// The entries of a key.
    #[inline]
    fn with_key(&self, key: u64) -> impl Iterator<Item = &Entry> {
        let start = start_of(key, self.entries.len());
        let tags = self.tags.get(start..start + WAYS).unwrap_or_default();
        let set = self.entries.get(start..start + WAYS).unwrap_or_default();
        let places = tags
            .iter()
            .zip(set)
            .filter(move |&(&known, _)| known == tag(key));
        places
            .map(|(_, entry)| entry)
            .filter(move |entry| entry.key == key)
    }
}

/// The part of a key that distinguishes the keys of one place.
#[inline]
fn tag(key: u64) -> u32 {
    (key >> 32) as u32
}

/// `entries` is a power of two.
#[inline]
fn start_of(key: u64, entries: usize) -> usize {
    key as usize & (entries - 1) & !(WAYS - 1)
}

fn empty(entries: usize) -> Box<[Entry]> {
    (0..entries).map(|_| Entry::empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;
    use std::collections::HashMap;

    fn mirror(word: usize) -> KeptWeakRef {
        // SAFETY: no VM gets it.
        unsafe { KeptWeakRef::from_word(word) }.unwrap()
    }

    const ONE: Count = Count {
        objects: 1,
        bytes: 24,
    };

    #[test]
    fn nothing_gets_lost_by_growing_and_evicting() {
        let mut cache = Cache::new();
        let mut flushed: HashMap<u32, u64> = HashMap::new();
        let sites = 100_000u32;
        for round in 0..3u32 {
            for site in 1..=sites {
                let (key, mirror) = (
                    mix(7, u64::from(site / 2)),
                    mirror(8 * (site as usize % 2) + 8),
                );
                if let Some(entry) = cache.find(key, |other| other == mirror) {
                    assert_eq!(entry.site(), SiteId(site));
                    entry.add(ONE);
                    continue;
                }
                let before = u64::from(round);
                let mut flush = |site: SiteId, count: Count| {
                    assert_eq!(count.bytes, 24 * count.objects);
                    *flushed.entry(site.0).or_default() += count.objects;
                };
                let entry = cache
                    .insert(key, mirror, SiteId(site), before, &mut flush)
                    .unwrap();
                entry.add(ONE);
                assert_eq!(entry.seen(), before + 1);
            }
        }
        assert!(cache.entries.len() > FIRST_ENTRIES && !flushed.is_empty());
        for (site, count) in cache.counts() {
            *flushed.entry(site.0).or_default() += count.objects;
        }
        assert_eq!(flushed.len(), sites as usize);
        assert!(flushed.values().all(|&objects| objects == 3));
    }

    #[test]
    fn a_full_cache_stays_as_large_as_it_may_be() {
        let mut cache = Cache::new();
        for site in 0..3 * MAX_ENTRIES as u32 {
            let key = mix(1, u64::from(site));
            cache.insert(key, mirror(8), SiteId(site), 0, &mut |_, _| ());
        }
        assert_eq!(cache.entries.len(), MAX_ENTRIES);
        assert_eq!(cache.bytes(), MAX_ENTRIES * (size_of::<Entry>() + 4));
    }
}
