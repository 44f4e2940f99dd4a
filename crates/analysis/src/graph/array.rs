//! Large arrays of numbers, in memory or in files.

use std::io;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use memmap2::{Mmap, MmapMut, MmapRaw, UncheckedAdvice};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

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
    /// Anonymous memory, which a later array may have.
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

/// Memory that goes back when its array goes, if there is a place for it.
struct Lent {
    memory: Option<MmapMut>,
    spares: Weak<Spares>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(spares) = self.spares.upgrade() {
            spares.lock().extend(self.memory.take());
        }
    }
}

impl std::fmt::Debug for Lent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = self.memory.as_ref().map_or(0, |memory| memory.len());
        write!(f, "{bytes} bytes")
    }
}

/// Memory of arrays that are gone, for those that come.
#[derive(Debug, Default)]
pub(super) struct Spares(Mutex<Vec<MmapMut>>);

impl Spares {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<MmapMut>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the smallest spare of at least `bytes`; none if that has more than a quarter too many.
    pub(super) fn take(&self, bytes: usize) -> Option<MmapMut> {
        let mut spares = self.lock();
        let fits = |spare: &MmapMut| (bytes..=bytes + bytes / 4).contains(&spare.len());
        let fitting = spares.iter().enumerate().filter(|(_, spare)| fits(spare));
        let (at, _) = fitting.min_by_key(|(_, spare)| spare.len())?;
        Some(spares.swap_remove(at))
    }
}

/// A part of the scratch file.
#[derive(Debug)]
pub(super) struct Region {
    map: MmapRaw,
    /// True while it is touched here and there, so that it is let go of last.
    is_hot: AtomicBool,
}

impl Region {
    /// The part that a map of the scratch file shows.
    pub(super) fn new(map: MmapRaw) -> Self {
        Self {
            map,
            is_hot: AtomicBool::new(false),
        }
    }

    /// True while it is touched here and there.
    pub(super) fn is_hot(&self) -> bool {
        self.is_hot.load(Ordering::Relaxed)
    }

    /// Lets go of the memory that it takes now.
    pub(super) fn let_go(&self) {
        // SAFETY: a shared map of a file: what was written stays in the file's pages, from
        // which it comes back when it is touched.
        let _ = unsafe { self.map.unchecked_advise(UncheckedAdvice::DontNeed) };
    }
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

    /// The array that fills a part of the scratch file.
    pub(super) fn of_region(region: Arc<Region>, length: usize) -> io::Result<Self> {
        debug_assert!(length * size_of::<T>() <= region.map.len());
        let start = NonNull::new(region.map.as_mut_ptr().cast());
        Ok(Self {
            // A map lies nowhere near address 0.
            start: start.ok_or(io::ErrorKind::OutOfMemory)?,
            length,
            storage: Storage::Scratch(region),
        })
    }

    /// An array in anonymous memory, which has room for `length` elements and goes to `spares` afterwards, if that is there then.
    pub(super) fn in_memory(
        mut memory: MmapMut,
        spares: Weak<Spares>,
        length: usize,
    ) -> io::Result<Self> {
        debug_assert!(length * size_of::<T>() <= memory.len());
        let start = NonNull::new(memory.as_mut_ptr().cast());
        Ok(Self {
            // A map lies nowhere near address 0.
            start: start.ok_or(io::ErrorKind::OutOfMemory)?,
            length,
            storage: Storage::Lent(Lent {
                memory: Some(memory),
                spares,
            }),
        })
    }

    /// Leaves elements at the end out. Their memory goes with the array.
    pub(super) fn shorten(&mut self, length: usize) {
        self.length = self.length.min(length);
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
        // lives as long as the array; no code writes to them while this borrow lasts.
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
