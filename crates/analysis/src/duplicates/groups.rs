//! Puts arrays in groups by their digests, in memory that the snapshot's store limits.

use std::cmp::Reverse;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::gate;
use crate::graph::{Array, Graph, Store};
use crate::numbers::ObjectNumber;

/// An array, by its contents.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub(super) struct Entry {
    /// The digest of its type and elements.
    pub digest: u64,
    /// Its object number, and in the lowest [`COUNT_BITS`] how many arrays it stands for, of which it has the lowest number.
    object_and_count: u64,
}

/// Numbers of objects have the other 40 bits: no file has as many objects.
const COUNT_BITS: u32 = 24;
const MOST: u64 = (1 << COUNT_BITS) - 1;

impl Entry {
    /// One array.
    pub fn new(digest: u64, object: ObjectNumber) -> Self {
        Self {
            digest,
            object_and_count: (object.index() as u64) << COUNT_BITS | 1,
        }
    }

    fn object(&self) -> u64 {
        self.object_and_count >> COUNT_BITS
    }

    fn count(&self) -> u64 {
        self.object_and_count & MOST
    }
}

/// Arrays with equal digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    /// The digest.
    pub digest: u64,
    /// How many there are.
    pub count: u64,
    /// The bytes of all but one.
    pub wasted_bytes: u64,
    /// The lowest object number among them.
    pub first: u64,
}

/// The number of parts. The highest bits of the digest select one. One part is sorted in memory; the
/// others may be in a file.
pub(super) const PARTS: usize = 64;
/// The entries that a thread hands over at once.
const RUN: usize = 1 << 11;
/// The number of entries in the first chunk of a part, and in each later one. Chunks are long because Linux limits the number of maps
/// that a process has (`vm.max_map_count`, 65,530).
const CHUNKS: [usize; 2] = [1 << 11, 1 << 17];

/// Entries in chunks, each with the number of those in use.
#[derive(Default)]
struct Chunks(Vec<(Array<Entry>, usize)>);

impl Chunks {
    /// The number of entries.
    fn len(&self) -> usize {
        self.0.iter().map(|(_, used)| used).sum()
    }

    /// Adds entries.
    fn extend(&mut self, mut entries: &[Entry], store: &Store) -> io::Result<()> {
        while !entries.is_empty() {
            let has_room = |(chunk, used): &(Array<Entry>, usize)| *used < chunk.len();
            if !self.0.last().is_some_and(has_room) {
                let length = CHUNKS[usize::from(!self.0.is_empty())];
                self.0.push((store.zeros(length)?, 0));
            }
            let Some((chunk, used)) = self.0.last_mut() else {
                break;
            };
            let (now, later) = entries.split_at(entries.len().min(chunk.len() - *used));
            chunk[*used..*used + now.len()].copy_from_slice(now);
            *used += now.len();
            entries = later;
        }
        Ok(())
    }
}

/// All parts, filled by several threads.
pub(super) struct Parts<'a> {
    store: &'a Store,
    chunks: Vec<Mutex<Chunks>>,
    /// True if one entry stands for equal ones that are handed over together, so that a part does not grow with contents
    /// that millions of arrays have. It costs time.
    merges: bool,
    error: Mutex<Option<io::Error>>,
}

/// The entries of one thread that are not in the parts yet.
pub(super) struct Pending<'p, 'a> {
    parts: &'p Parts<'a>,
    entries: Vec<Vec<Entry>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Parts<'a> {
    /// Parts without entries.
    pub fn new(store: &'a Store) -> Self {
        Self {
            store,
            chunks: (0..PARTS).map(|_| Mutex::default()).collect(),
            merges: store.is_limited(),
            error: Mutex::default(),
        }
    }

    /// Room for the entries of one thread.
    pub fn pending(&self) -> Pending<'_, 'a> {
        Pending {
            parts: self,
            entries: vec![Vec::new(); PARTS],
        }
    }

    /// Fails if an entry could not be kept.
    ///
    /// # Errors
    /// Why the store had no room.
    pub fn check(&self) -> io::Result<()> {
        lock(&self.error).take().map_or(Ok(()), Err)
    }

    /// Takes the entries of a part over.
    fn add(&self, part: usize, entries: &mut Vec<Entry>) {
        if self.merges {
            merge_equal(entries);
        }
        if let Err(error) = lock(&self.chunks[part]).extend(entries, self.store) {
            *lock(&self.error) = Some(error);
        }
        entries.clear();
    }

    /// Sorts a part, which is empty after that, and adds what arrays with equal digests waste. About `most`
    /// groups are kept.
    pub fn count(
        &self,
        part: usize,
        graph: &Graph,
        most: usize,
        wasted: &mut u64,
        groups: &mut Vec<Group>,
    ) {
        let chunks = std::mem::take(&mut *lock(&self.chunks[part]));
        let mut entries = Vec::with_capacity(chunks.len());
        for (chunk, used) in chunks.0 {
            entries.extend_from_slice(&chunk[..used]);
        }
        entries.sort_unstable();
        for equal in entries.chunk_by(|a, b| a.digest == b.digest) {
            let (digest, object) = (equal[0].digest, equal[0].object());
            let count: u64 = equal.iter().map(Entry::count).sum();
            if count > 1 {
                gate::pass();
                let bytes = graph.size(ObjectNumber::new(object as usize));
                let wasted_bytes = (count - 1) * bytes;
                *wasted += wasted_bytes;
                groups.push(Group {
                    digest,
                    count,
                    wasted_bytes,
                    first: object,
                });
                if groups.len() > most.saturating_mul(2).saturating_add(1000) {
                    keep_largest(groups, most);
                }
            }
        }
    }
}

impl Pending<'_, '_> {
    /// Adds an entry.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        let part = (entry.digest >> 58) as usize;
        let entries = &mut self.entries[part];
        entries.push(entry);
        if entries.len() == RUN {
            self.parts.add(part, entries);
        }
    }

    /// Hands over what is left.
    pub fn finish(mut self) {
        for (part, entries) in self.entries.iter_mut().enumerate() {
            if !entries.is_empty() {
                self.parts.add(part, entries);
            }
        }
    }
}

/// Leaves one entry of those with equal digests.
fn merge_equal(entries: &mut Vec<Entry>) {
    entries.sort_unstable();
    entries.dedup_by(|next, kept| {
        let is_equal = next.digest == kept.digest && kept.count() + next.count() <= MOST;
        kept.object_and_count += next.count() * u64::from(is_equal);
        is_equal
    });
}

/// Keeps the `most` groups that waste most, in that order.
pub(super) fn keep_largest(groups: &mut Vec<Group>, most: usize) {
    groups.sort_unstable_by_key(|group| (Reverse(group.wasted_bytes), group.first));
    groups.truncate(most);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_of_many_arrays_take_little_and_count_in_full() {
        let store = Store::memory();
        let mut parts = Parts::new(&store);
        parts.merges = true;
        let mut pending = parts.pending();
        // Every third array is like no other one.
        const LIKE_OTHERS: u64 = u64::MAX >> 6;
        let common = 40 * RUN as u64;
        for object in 0..common / 2 * 3 {
            let digest = match object % 3 {
                0 => object,
                _ => LIKE_OTHERS,
            };
            pending.push(Entry::new(digest, ObjectNumber::new(object as usize)));
        }
        pending.finish();
        parts.check().unwrap();
        let chunks = std::mem::take(&mut *lock(&parts.chunks[0]));
        let in_use = |(chunk, used): &(Array<Entry>, usize)| chunk[..*used].to_vec();
        let entries: Vec<Entry> = chunks.0.iter().flat_map(in_use).collect();
        let of_common = entries.iter().filter(|entry| entry.digest == LIKE_OTHERS);
        assert_eq!(of_common.clone().map(Entry::count).sum::<u64>(), common);
        assert!(of_common.count() <= 60);
        assert_eq!(entries.len() - 60, common as usize / 2);
        assert_eq!(entries.iter().map(Entry::object).min(), Some(0));
    }

    #[test]
    fn more_arrays_than_an_entry_can_stand_for_have_several() {
        let of_many = Entry {
            digest: 7,
            object_and_count: 3 << COUNT_BITS | (MOST - 1),
        };
        let one = Entry::new(7, ObjectNumber::new(5));
        let mut entries = vec![one, of_many, one];
        merge_equal(&mut entries);
        let found: Vec<_> = entries.iter().map(|it| (it.object(), it.count())).collect();
        assert_eq!(found, [(3, MOST), (5, 1)]);
    }
}
