//! Large arrays of numbers, in memory or in files.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use memmap2::{Mmap, MmapOptions, MmapRaw, UncheckedAdvice};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::resident::Resident;

/// The element types of arrays: plain numbers.
pub trait Plain: Copy + FromBytes + IntoBytes + Immutable + KnownLayout + Send + Sync {}
impl<T: Copy + FromBytes + IntoBytes + Immutable + KnownLayout + Send + Sync> Plain for T {}

/// An array of numbers.
///
/// Its elements lie where `start` says, wherever they are kept: to read one takes a comparison and a
/// load, as from a slice.
#[derive(Debug)]
pub struct Array<T> {
    start: NonNull<T>,
    length: usize,
    storage: Storage,
}

/// The owner of an array's elements.
#[derive(Debug)]
enum Storage {
    /// A vector of this capacity, taken apart.
    Owned(usize),
    /// Memory that a later array may have.
    Lent(#[expect(dead_code, reason = "held until the array goes")] Lent),
    /// A part of the scratch file.
    Scratch(Arc<Region>),
    /// A part of an index, read only, which the array keeps mapped.
    Index(#[expect(dead_code, reason = "held until the array goes")] Arc<Mmap>),
}

// SAFETY: an array owns its elements, or shares them with arrays that cannot write to them either.
unsafe impl<T: Send> Send for Array<T> {}
// SAFETY: as above; a shared array gives shared elements only.
unsafe impl<T: Sync> Sync for Array<T> {}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        if let Storage::Owned(capacity) = self.storage {
            // SAFETY: `From<Vec>` took a vector apart into these three, and only it makes `Owned`.
            drop(unsafe { Vec::from_raw_parts(self.start.as_ptr(), self.length, capacity) });
        }
    }
}

/// Memory that goes back when its array goes.
struct Lent {
    words: Vec<u64>,
    spares: Weak<Spares>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(spares) = self.spares.upgrade() {
            spares.lock().push(std::mem::take(&mut self.words));
        }
    }
}

impl std::fmt::Debug for Lent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} words", self.words.len())
    }
}

/// Memory of arrays that are gone, for those that come.
#[derive(Debug, Default)]
struct Spares(Mutex<Vec<Vec<u64>>>);

impl Spares {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Vec<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the smallest spare of at least `words` words; none if that has more than a quarter too many.
    fn take(&self, words: usize) -> Option<Vec<u64>> {
        let mut spares = self.lock();
        let fits = |spare: &Vec<u64>| (words..=words + words / 4).contains(&spare.len());
        let fitting = spares.iter().enumerate().filter(|(_, spare)| fits(spare));
        let (at, _) = fitting.min_by_key(|(_, spare)| spare.len())?;
        Some(spares.swap_remove(at))
    }
}

/// A part of the scratch file.
#[derive(Debug)]
struct Region {
    map: MmapRaw,
    /// True while it is touched here and there, so that it is let go of last.
    is_hot: AtomicBool,
}

impl Drop for Region {
    fn drop(&mut self) {
        // Or the system would write unneeded pages to the disk. Where it cannot, it does.
        // SAFETY: no other map has this part of the file, and this map ends here.
        let _ = unsafe { self.map.unchecked_advise(UncheckedAdvice::Remove) };
    }
}

impl<T> Array<T> {
    /// Tells whether the array is touched here and there from now on, or from one end to the
    /// other. Where memory is limited, arrays of the first kind stay as long as others can go.
    pub fn set_hot(&self, is_hot: bool) {
        if let Storage::Scratch(region) = &self.storage {
            region.is_hot.store(is_hot, Ordering::Relaxed);
        }
    }
}

impl<T: Plain> Array<T> {
    /// The array in the bytes from `start` of an index; `None` if they are no whole elements or
    /// lie outside of it.
    pub fn of_index(map: &Arc<Mmap>, start: usize, bytes: usize) -> Option<Self> {
        let end = start.checked_add(bytes)?;
        let elements = <[T]>::ref_from_bytes(map.get(start..end)?).ok()?;
        Some(Self {
            start: NonNull::from(elements).cast(),
            length: elements.len(),
            storage: Storage::Index(Arc::clone(map)),
        })
    }

    /// The bytes of the elements.
    pub fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(elements: Vec<T>) -> Self {
        let mut elements = ManuallyDrop::new(elements);
        Self {
            start: NonNull::from(elements.as_mut_slice()).cast(),
            length: elements.len(),
            storage: Storage::Owned(elements.capacity()),
        }
    }
}

impl<T> Default for Array<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: Plain> Deref for Array<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `storage` owns `length` elements at `start`, of a type for which any bits are valid, and
        // lives as long as the array; nobody writes to them while this borrow lasts.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T: Plain> DerefMut for Array<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        if let Storage::Index(_) = self.storage {
            *self = self.to_vec().into();
        }
        // SAFETY: as for `deref`; and this array is borrowed for writing, and no other has its vector
        // or its part of the scratch file.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

/// Makes arrays: in memory, or in a file so that memory stays below a limit.
///
/// With a limit, arrays are shared maps of an unnamed file. A thread watches the memory that the
/// process occupies; when it nears the limit, maps are told that they are not needed for now: first
/// those that are walked through, then, if that is not enough, all. What was written stays in the
/// file, and comes back, page by page, where it is touched again.
#[derive(Debug, Clone, Default)]
pub struct Store {
    scratch: Option<Arc<Scratch>>,
    spares: Option<Arc<Spares>>,
}

#[derive(Debug)]
struct Scratch {
    /// The memory that the process may occupy, in bytes.
    limit: u64,
    file: File,
    state: Mutex<ScratchState>,
}

#[derive(Debug, Default)]
struct ScratchState {
    end: u64,
    regions: Vec<Weak<Region>>,
    /// Maps that are only read, of the dump.
    read: Vec<Weak<Mmap>>,
}

/// Shorter arrays have memory of their own, in bytes.
const LEAST_SPARE: usize = 8 << 20;

/// Regions start at multiples of this, which every system's page size divides.
const ALIGNMENT: u64 = 64 << 10;

impl Store {
    /// Arrays in memory, without a limit.
    pub fn memory() -> Self {
        Self::default()
    }

    /// Arrays in an unnamed file in `folder`, so that the process occupies about `limit` bytes.
    ///
    /// # Errors
    /// If the file cannot be made, or the thread that watches.
    pub fn limited(limit: u64, folder: PathBuf) -> io::Result<Self> {
        let scratch = Arc::new(Scratch {
            limit,
            file: tempfile::tempfile_in(folder)?,
            state: Mutex::default(),
        });
        let watched = Arc::downgrade(&scratch);
        std::thread::Builder::new()
            .name("memory limit".to_owned())
            .spawn(move || watch(&watched, limit))?;
        Ok(Self {
            scratch: Some(scratch),
            spares: None,
        })
    }

    /// A store like this one for work that makes many arrays of about one length, one after another. Those in memory have the
    /// memory of those that are gone: fresh memory costs more time than most of what is done with it. What nobody
    /// has is given back when the store goes.
    pub(crate) fn reusing(&self) -> Self {
        Self {
            scratch: self.scratch.clone(),
            spares: self.scratch.is_none().then(Arc::default),
        }
    }

    /// True if an array of `bytes`, read and written in any order, takes at most a quarter of the memory limit.
    pub fn has_room_for(&self, bytes: usize) -> bool {
        let limit = self.scratch.as_ref().map(|scratch| scratch.limit);
        limit.is_none_or(|limit| bytes as u64 <= limit / 4)
    }

    /// True if memory is limited.
    pub fn is_limited(&self) -> bool {
        self.scratch.is_some()
    }

    /// Lets go of this map too when memory is short.
    pub fn watch_map(&self, map: &Arc<Mmap>) {
        if let Some(scratch) = &self.scratch {
            scratch.lock().read.push(Arc::downgrade(map));
        }
    }

    /// An array of zeros.
    ///
    /// # Errors
    /// If the file cannot grow.
    pub fn zeros<T: Plain>(&self, length: usize) -> io::Result<Array<T>> {
        let Some(scratch) = &self.scratch else {
            return self.in_memory(length, true);
        };
        if length == 0 {
            return Ok(Array::default());
        }
        let bytes = length * size_of::<T>();
        let mut state = scratch.lock();
        let offset = state.end;
        state.end = (offset + bytes as u64).next_multiple_of(ALIGNMENT);
        scratch.file.set_len(state.end)?;
        let map = MmapOptions::new()
            .offset(offset)
            .len(bytes)
            .map_raw(&scratch.file)?;
        let region = Arc::new(Region {
            map,
            is_hot: AtomicBool::new(false),
        });
        state.regions.retain(|region| region.strong_count() > 0);
        state.regions.push(Arc::downgrade(&region));
        let start = NonNull::new(region.map.as_mut_ptr().cast());
        Ok(Array {
            // A map lies nowhere near address 0.
            start: start.ok_or(io::ErrorKind::OutOfMemory)?,
            length,
            storage: Storage::Scratch(region),
        })
    }

    /// An array whose elements are any: for one that is written before it is read.
    ///
    /// # Errors
    /// If the file cannot grow.
    pub(crate) fn unset<T: Plain>(&self, length: usize) -> io::Result<Array<T>> {
        match &self.scratch {
            Some(_) => self.zeros(length),
            None => self.in_memory(length, false),
        }
    }

    fn in_memory<T: Plain>(&self, length: usize, is_cleared: bool) -> io::Result<Array<T>> {
        let no_room = || io::Error::from(io::ErrorKind::OutOfMemory);
        let bytes = length.checked_mul(size_of::<T>()).ok_or_else(no_room)?;
        let spares = self.spares.as_ref().filter(|_| bytes >= LEAST_SPARE);
        let Some(spares) = spares.filter(|_| align_of::<T>() <= align_of::<u64>()) else {
            return Ok(T::new_vec_zeroed(length).map_err(|_| no_room())?.into());
        };
        let needed = bytes.div_ceil(size_of::<u64>());
        let mut words = match spares.take(needed) {
            Some(mut words) if is_cleared => {
                words[..needed].fill(0);
                words
            }
            Some(words) => words,
            None => <u64 as zerocopy::FromZeros>::new_vec_zeroed(needed).map_err(|_| no_room())?,
        };
        Ok(Array {
            // At least `bytes` bytes, aligned for T as checked above.
            start: NonNull::from(words.as_mut_slice()).cast(),
            length,
            storage: Storage::Lent(Lent {
                words,
                spares: Arc::downgrade(spares),
            }),
        })
    }

    /// An array in which every element is `value`.
    ///
    /// # Errors
    /// If the file cannot grow.
    pub fn filled<T: Plain>(&self, length: usize, value: T) -> io::Result<Array<T>> {
        let is_zero = value.as_bytes().iter().all(|&byte| byte == 0);
        if is_zero {
            return self.zeros(length);
        }
        if self.scratch.is_none() && self.spares.is_none() {
            return Ok(vec![value; length].into());
        }
        let mut array = self.unset(length)?;
        array.fill(value);
        Ok(array)
    }
}

impl Scratch {
    fn lock(&self) -> std::sync::MutexGuard<'_, ScratchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of the maps of files, with or without those that are touched here and there.
    fn let_go(&self, hot_too: bool) {
        let state = self.lock();
        let regions = state.regions.iter().filter_map(Weak::upgrade);
        for region in regions.filter(|it| hot_too || !it.is_hot.load(Ordering::Relaxed)) {
            // SAFETY: a shared map of a file: what was written stays in the file's pages, from
            // which it comes back when it is touched.
            let _ = unsafe { region.map.unchecked_advise(UncheckedAdvice::DontNeed) };
        }
        for map in state.read.iter().filter_map(Weak::upgrade) {
            // SAFETY: the map is never written to, so the same bytes come back from the file.
            let _ = unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) };
        }
    }
}

/// Lets go of the maps whenever the process nears its limit, until the store is gone.
fn watch(scratch: &Weak<Scratch>, limit: u64) {
    // What is touched while this thread sleeps, and while a gigabyte of maps goes, must still fit.
    let limit = limit - limit / 32;
    let start = limit - limit / 5;
    let mut high = start;
    loop {
        std::thread::sleep(std::time::Duration::from_millis(2));
        let Some(scratch) = scratch.upgrade() else {
            return;
        };
        let now = || Resident::now().unwrap_or_default();
        if now().all < high {
            continue;
        }
        scratch.let_go(false);
        if now().all < start {
            high = start;
            continue;
        }
        scratch.let_go(true);
        high = start.max(next_time(now(), limit));
    }
}

/// The memory at which maps are let go of again, after that has left `rest`. To let go without end
/// would not make it less, only slow, so half of the way to the limit comes before the next time. What
/// came back meanwhile, as others touched it, does not raise the limit; what is in no map has to stay.
fn next_time(rest: Resident, limit: u64) -> u64 {
    let half = rest.all.min(limit) + limit.saturating_sub(rest.all) / 2;
    half.max(rest.other + limit / 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_while_maps_go_does_not_raise_the_limit() {
        let next = |all, other| next_time(Resident { all, other }, 1600);
        assert_eq!(next(400, 300), 1000);
        assert_eq!((next(1600, 300), next(3000, 300)), (1600, 1600));
        assert_eq!(next(2000, 1900), 2000);
    }

    #[test]
    fn an_array_has_the_memory_of_one_that_is_gone() {
        let store = Store::memory().reusing();
        let length = LEAST_SPARE / 4 + 3;
        let start = |array: &Array<u32>| array.as_ptr();
        let (first, second) = (store.filled(length, 7u32), store.filled(length, 8u32));
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!((first[length - 1], second[0]), (7, 8));
        let was = start(&first);
        drop(first);
        let cleared = store.zeros::<u32>(length - 1).unwrap();
        assert_eq!(start(&cleared), was);
        assert!(cleared.iter().all(|&element| element == 0));
        drop(cleared);
        // It would be far too large.
        assert_ne!(start(&store.zeros(length / 2).unwrap()), was);
        let wide = store.unset::<u64>(length / 2).unwrap();
        assert_eq!(wide.as_ptr().cast(), was);
        drop(store);
        assert!(second.iter().all(|&element| element == 8));
    }

    #[test]
    fn arrays_in_files_keep_what_is_written_when_memory_is_let_go() {
        // A limit of one byte lets go all the time.
        let store = Store::limited(1, std::env::temp_dir()).unwrap();
        let mut first = store.filled(100_000, 7u32).unwrap();
        let mut second = store.zeros::<u64>(50_000).unwrap();
        for round in 0..20 {
            for (index, element) in second.iter_mut().enumerate() {
                *element += index as u64;
            }
            first[round] = round as u32;
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert_eq!(second[3], 60);
        assert_eq!((first[19], first[20]), (19, 7));
        assert!(store.zeros::<u32>(0).unwrap().is_empty());
    }
}
