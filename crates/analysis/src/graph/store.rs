//! Makes large arrays, and keeps the memory of the process below a limit.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use memmap2::{Advice, Mmap, MmapOptions, UncheckedAdvice};

use super::array::{Array, Plain, Region, Spares};
use crate::gate;
use crate::resident::{Meter, Resident};

/// Makes arrays: in memory, or in a file so that memory stays below a limit.
///
/// With a limit, arrays are shared maps of an unnamed file. A thread watches the memory that the
/// process occupies; when it nears the limit, it marks maps as not needed for now: first
/// those that are walked through, then, if that is not enough, all. What was written stays in the
/// file, and comes back, page by page, where it is touched again.
#[derive(Debug, Clone, Default)]
pub struct Store {
    scratch: Option<Arc<Scratch>>,
    spares: Option<Arc<Spares>>,
    /// The memory that an array may take which is touched here and there, in bytes, if it is limited.
    room: Option<u64>,
}

#[derive(Debug)]
struct Scratch {
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
/// From this number of bytes on, arrays lie in huge pages where the system has some: arrays that are read in any order would miss
/// the CPU's table of pages at nearly each look, and to make two megabytes present in one piece takes a fraction of
/// the time. What is at the end of a shorter one would take too much for nothing.
const HUGE: usize = 4 << 20;

/// Regions start at multiples of this, which every system's page size divides.
const ALIGNMENT: u64 = 64 << 10;

impl Store {
    /// Arrays in memory, without a limit.
    pub fn memory() -> Self {
        Self::default()
    }

    /// Arrays in memory, none of which has room, for tests of what is done where memory is short.
    #[cfg(test)]
    pub(crate) fn without_room() -> Self {
        Self {
            room: Some(0),
            ..Self::default()
        }
    }

    /// Arrays in an unnamed file in `folder`, so that the process occupies about `limit` bytes.
    ///
    /// # Errors
    /// If the file cannot be made, or the thread that watches.
    pub fn limited(limit: u64, folder: PathBuf) -> io::Result<Self> {
        let scratch = Arc::new(Scratch {
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
            room: Some(limit / 6),
        })
    }

    /// A store like this one for work that makes many arrays of about one length, one after another. Those in memory have the
    /// memory of those that are gone: fresh memory costs more time than most of what is done with it. What no
    /// array has is given back when the store goes.
    pub(crate) fn reusing(&self) -> Self {
        Self {
            scratch: self.scratch.clone(),
            spares: self.scratch.is_none().then(Arc::default),
            room: self.room,
        }
    }

    /// True if an array of `bytes`, read and written in any order, takes at most a sixth of the memory limit.
    pub fn has_room_for(&self, bytes: usize) -> bool {
        self.room.is_none_or(|room| bytes as u64 <= room)
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
        let end = (offset + bytes as u64).next_multiple_of(ALIGNMENT);
        reserve(&scratch.file, offset..end)?;
        state.end = end;
        let map = MmapOptions::new()
            .offset(offset)
            .len(bytes)
            .map_raw(&scratch.file)?;
        let region = Arc::new(Region::new(map));
        state.regions.retain(|region| region.strong_count() > 0);
        state.regions.push(Arc::downgrade(&region));
        Array::of_region(region, length)
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
        // A map begins with a page, which suits any element.
        if bytes < HUGE {
            return Ok(T::new_vec_zeroed(length).map_err(|_| no_room())?.into());
        }
        let spares = self.spares.as_ref().filter(|_| bytes >= LEAST_SPARE);
        let memory = match spares.and_then(|spares| spares.take(bytes)) {
            Some(mut memory) => {
                if is_cleared {
                    memory[..bytes].fill(0);
                }
                memory
            }
            None => {
                let memory = MmapOptions::new().len(bytes).map_anon()?;
                // Only a hint.
                let _ = memory.advise(Advice::HugePage);
                memory
            }
        };
        let spares = spares.map_or_else(Weak::new, Arc::downgrade);
        Array::in_memory(memory, spares, length)
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
        for region in regions.filter(|it| hot_too || !it.is_hot()) {
            region.let_go();
        }
        for map in state.read.iter().filter_map(Weak::upgrade) {
            // SAFETY: the map is never written to, so the same bytes come back from the file.
            let _ = unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) };
        }
    }
}

/// Makes a file reach to the end of a range and gives it the room on the disk: a map of a file ends the process where the disk
/// is full (SIGBUS).
fn reserve(file: &File, range: Range<u64>) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    let length = range.end - range.start;
    match fallocate(file, FallocateFlags::empty(), range.start, length) {
        Ok(()) => Ok(()),
        // Such file systems do not know, and say so first when a page is written.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(range.end),
        Err(error @ (Errno::NOSPC | Errno::DQUOT)) => {
            let (error, has) = (io::Error::from(error), range.start);
            let words = format!(
                "{error}: the scratch file has {has} bytes and needs {length} more; make room, or allow more memory"
            );
            Err(io::Error::new(error.kind(), words))
        }
        Err(error) => Err(error.into()),
    }
}

/// The bytes that a few threads can bring back in a microsecond, as each page fault maps 64 KiB.
const BROUGHT_BACK: u64 = 200 << 10;
/// The shortest and the longest time between two looks at the memory of the process.
const PERIODS: [Duration; 2] = [Duration::from_micros(200), Duration::from_millis(2)];

/// Lets go of the maps whenever the process nears its limit, until the store is gone.
fn watch(scratch: &Weak<Scratch>, limit: u64) {
    // What is touched while this thread sleeps, and while a gigabyte of maps goes, must still fit.
    let limit = limit - limit / 32;
    let start = limit - limit / 5;
    let [shortest, longest] = PERIODS;
    let period = Duration::from_micros((limit - start) / BROUGHT_BACK);
    let period = period.clamp(shortest, longest);
    let meter = Meter::open();
    let now = || meter.as_ref().and_then(Meter::now).unwrap_or_default();
    let mut high = start;
    loop {
        std::thread::sleep(period);
        let Some(scratch) = scratch.upgrade() else {
            return;
        };
        if now().all < high {
            continue;
        }
        let closed = gate::close();
        scratch.let_go(false);
        if now().all < start {
            high = start;
            continue;
        }
        scratch.let_go(true);
        high = start.max(next_time(now(), limit));
        drop(closed);
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
