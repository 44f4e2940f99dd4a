//! Puts arrays in groups by their digests, in memory that the snapshot's store limits.

use std::cmp::Reverse;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::graph::{Array, Store};
use crate::numbers::ObjectNumber;

/// An array, by its contents.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub(super) struct Entry {
    /// Most of the digest of its type and elements.
    digest: u64,
    /// From the highest bit on: the rest of the digest, the object number, what its contents are like, and how many arrays it
    /// stands for, of which it has the lowest number.
    rest: u64,
}

/// The bits of `rest` that each part has. No file has as many objects as 36 bits number.
const COUNT_BITS: u32 = 12;
const OBJECT_SHIFT: u32 = COUNT_BITS + 7;
const DIGEST_SHIFT: u32 = OBJECT_SHIFT + 36;
const MOST: u64 = (1 << COUNT_BITS) - 1;

/// Facts about the elements of an array, a bit each. Arrays with equal elements have equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Traits(pub u8);

impl Traits {
    /// There are elements, and all are the same one.
    pub const UNIFORM: u8 = 1;
    /// There are four elements or more.
    pub const SEVERAL: u8 = 2;
    /// They are bytes.
    pub const BYTES: u8 = 4;
    /// They are characters.
    pub const CHARS: u8 = 8;
    /// There are none.
    pub const EMPTY: u8 = 16;
    /// They are bytes that, as units of UTF-16, are characters of one byte.
    pub const NARROW: u8 = 32;
    /// They are bytes of an odd number.
    pub const ODD: u8 = 64;

    /// True if one of these facts is so.
    #[inline]
    pub fn has(self, any: u8) -> bool {
        self.0 & any != 0
    }
}

impl Entry {
    /// One array. Of the digest, 73 bits count.
    pub fn new(digest: [u64; 2], object: ObjectNumber, traits: Traits) -> Self {
        let more = digest[1] >> DIGEST_SHIFT << DIGEST_SHIFT;
        let object = (object.index() as u64) << OBJECT_SHIFT;
        Self {
            digest: digest[0],
            rest: more | object | u64::from(traits.0) << COUNT_BITS | 1,
        }
    }

    /// True if the digests are equal.
    #[inline]
    pub fn is_like(&self, other: &Self) -> bool {
        self.digest == other.digest && (self.rest ^ other.rest) >> DIGEST_SHIFT == 0
    }

    /// The object, or the first of those that it stands for.
    #[inline]
    pub fn object(&self) -> ObjectNumber {
        let number = self.rest << (64 - DIGEST_SHIFT) >> (64 - DIGEST_SHIFT + OBJECT_SHIFT);
        ObjectNumber::new(number as usize)
    }

    /// How many arrays it stands for.
    #[inline]
    pub fn count(&self) -> u64 {
        self.rest & MOST
    }

    /// What its elements are like.
    #[inline]
    pub fn traits(&self) -> Traits {
        Traits((self.rest >> COUNT_BITS) as u8 & 0x7f)
    }
}

/// Arrays with equal digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    /// How many there are.
    pub count: u64,
    /// The bytes of all but one.
    pub wasted_bytes: u64,
    /// The lowest object number among them.
    pub first: ObjectNumber,
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
pub(super) struct Parts {
    store: Store,
    chunks: Vec<Mutex<Chunks>>,
    /// True if one entry stands for equal ones that are handed over together, so that a part does not grow with contents
    /// that millions of arrays have. It costs time.
    merges: bool,
    error: Mutex<Option<io::Error>>,
}

/// The entries of one thread that are not in the parts yet.
pub(super) struct Pending<'p> {
    parts: &'p Parts,
    entries: Vec<Vec<Entry>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Parts {
    /// Parts without entries.
    pub fn new(store: &Store) -> Self {
        Self {
            store: store.clone(),
            chunks: (0..PARTS).map(|_| Mutex::default()).collect(),
            merges: store.is_limited(),
            error: Mutex::default(),
        }
    }

    /// Room for the entries of one thread.
    pub fn pending(&self) -> Pending<'_> {
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
        if let Err(error) = lock(&self.chunks[part]).extend(entries, &self.store) {
            *lock(&self.error) = Some(error);
        }
        entries.clear();
    }

    /// Takes the entries of a part, which is empty after that, in the order of their digests and objects.
    pub fn take(&self, part: usize) -> Vec<Entry> {
        let chunks = std::mem::take(&mut *lock(&self.chunks[part]));
        let mut entries = Vec::with_capacity(chunks.len());
        for (chunk, used) in chunks.0 {
            entries.extend_from_slice(&chunk[..used]);
        }
        entries.sort_unstable();
        entries
    }
}

impl Pending<'_> {
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
        let is_equal = next.is_like(kept) && kept.count() + next.count() <= MOST;
        kept.rest += next.count() * u64::from(is_equal);
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

    fn entry(digest: [u64; 2], object: u64) -> Entry {
        let traits = Traits(Traits::BYTES);
        Entry::new(digest, ObjectNumber::new(object as usize), traits)
    }

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
            pending.push(entry([digest, 0], object));
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
        let first = entries.iter().map(Entry::object).min();
        assert_eq!(first, Some(ObjectNumber::new(0)));
    }

    #[test]
    fn more_arrays_than_an_entry_can_stand_for_have_several() {
        let seven = [7, 7 << DIGEST_SHIFT];
        let mut of_many = entry(seven, 3);
        of_many.rest += MOST - 2;
        let one = entry(seven, 5);
        let mut entries = vec![one, of_many, one, entry([7, 8 << DIGEST_SHIFT], 1)];
        merge_equal(&mut entries);
        let found: Vec<_> = (entries.iter())
            .map(|it| (it.object().index(), it.count(), it.traits()))
            .collect();
        let traits = Traits(Traits::BYTES);
        assert_eq!(found, [(3, MOST, traits), (5, 1, traits), (1, 1, traits)]);
    }
}
