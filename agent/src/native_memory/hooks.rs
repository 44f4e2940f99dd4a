//! The functions that stand for those of the C library, and what they lead to.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use libc::{off_t, size_t};

use super::blocks::{Block, Blocks};
use super::sampler;
use crate::native_calls::{Capture, Gate, Inside, Leaked, Stacks};
use crate::os::imports::{Import, address_of};
use crate::vm::Fault;

/// A function whose calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(super) enum Function {
    Malloc,
    Calloc,
    Realloc,
    Reallocarray,
    PosixMemalign,
    AlignedAlloc,
    Memalign,
    Mmap,
    Free,
    Munmap,
    Mmap64,
}

impl Function {
    const ALL: [Self; 11] = [
        Self::Malloc,
        Self::Calloc,
        Self::Realloc,
        Self::Reallocarray,
        Self::PosixMemalign,
        Self::AlignedAlloc,
        Self::Memalign,
        Self::Mmap,
        Self::Free,
        Self::Munmap,
        Self::Mmap64,
    ];

    pub(super) fn from_number(number: u8) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|it| *it as u8 == number).unwrap_or(Self::Malloc)
    }

    fn symbol(self) -> &'static CStr {
        match self {
            Self::Malloc => c"malloc",
            Self::Calloc => c"calloc",
            Self::Realloc => c"realloc",
            Self::Reallocarray => c"reallocarray",
            Self::PosixMemalign => c"posix_memalign",
            Self::AlignedAlloc => c"aligned_alloc",
            Self::Memalign => c"memalign",
            Self::Mmap => c"mmap",
            Self::Free => c"free",
            Self::Munmap => c"munmap",
            Self::Mmap64 => c"mmap64",
        }
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mmap64 => "mmap",
            other => other.symbol().to_str().unwrap_or_default(),
        }
    }

    fn hook(self) -> usize {
        match self {
            Self::Malloc => malloc as *const () as usize,
            Self::Calloc => calloc as *const () as usize,
            Self::Realloc => realloc as *const () as usize,
            Self::Reallocarray => reallocarray as *const () as usize,
            Self::PosixMemalign => posix_memalign as *const () as usize,
            Self::AlignedAlloc => aligned_alloc as *const () as usize,
            Self::Memalign => memalign as *const () as usize,
            Self::Mmap | Self::Mmap64 => mmap as *const () as usize,
            Self::Free => free as *const () as usize,
            Self::Munmap => munmap as *const () as usize,
        }
    }

    fn is_mapping(self) -> bool {
        matches!(self, Self::Mmap | Self::Mmap64 | Self::Munmap)
    }
}

/// Functions that are not in every C library, as the linker has found them.
static ALIGNED_ALLOC: AtomicUsize = AtomicUsize::new(0);
static MEMALIGN: AtomicUsize = AtomicUsize::new(0);

/// The entries of import tables that lead to the hooks.
pub(super) fn imports() -> Vec<Import> {
    if Fault::NoImports.is_wanted() {
        return Vec::new();
    }
    // An allocator gets its own memory by mmap, and hands it out by malloc, which counts.
    let allocator = address_of(c"malloc");
    ALIGNED_ALLOC.store(address_of(c"aligned_alloc"), Ordering::Relaxed);
    MEMALIGN.store(address_of(c"memalign"), Ordering::Relaxed);
    let import = |function: Function| Import {
        name: function.symbol(),
        original: address_of(function.symbol()),
        hook: function.hook(),
        not_in: if function.is_mapping() { allocator } else { 0 },
        only_in: 0,
    };
    Function::ALL.into_iter().map(import).collect()
}

/// The state that hooks record into. Leaked, since a hook may be late.
pub(super) struct State {
    pub(super) capture: Capture,
    pub(super) stacks: Stacks,
    pub(super) blocks: Blocks,
    began: AtomicPtr<Instant>,
    samples: AtomicU64,
    /// Samples at the limit when the recording began.
    limited_before: AtomicU64,
}

static STATE: Leaked<State> = Leaked::none();

/// Samples are taken. The child of a fork takes none.
static GATE: Gate = Gate::closed();

impl State {
    /// The one state of this process.
    pub(super) fn the() -> &'static Self {
        let make = || Self {
            capture: Capture::default(),
            stacks: Stacks::new(),
            blocks: Blocks::new(),
            began: AtomicPtr::new(ptr::null_mut()),
            samples: AtomicU64::new(0),
            limited_before: AtomicU64::new(0),
        };
        STATE.get_or_make(make, in_child)
    }

    #[inline]
    fn get() -> Option<&'static Self> {
        STATE.get()
    }

    /// Begins a recording: all is forgotten.
    pub(super) fn begin(&self) {
        self.pause();
        self.stacks.clear();
        self.blocks.clear();
        self.samples.store(0, Ordering::Relaxed);
        self.limited_before
            .store(sampler::limited(), Ordering::Relaxed);
        // An instant for each recording of a process is little.
        let began = Box::into_raw(Box::new(Instant::now()));
        self.began.store(began, Ordering::Release);
    }

    /// Samples are taken from now on.
    pub(super) fn resume(&self) {
        GATE.open();
    }

    /// No samples are taken from now on; waits for those under way.
    pub(super) fn pause(&self) {
        GATE.close();
    }

    pub(super) fn is_on(&self) -> bool {
        GATE.is_open()
    }

    /// Samples of the recording, and those of them whose thread had reached the limit.
    pub(super) fn samples(&self) -> (u64, u64) {
        let before = self.limited_before.load(Ordering::Relaxed);
        let limited = sampler::limited().saturating_sub(before);
        (self.samples.load(Ordering::Relaxed), limited)
    }

    /// Milliseconds since the recording began.
    pub(super) fn millis(&self) -> u32 {
        let began = self.began.load(Ordering::Acquire);
        // SAFETY: null, or leaked.
        let began = unsafe { began.as_ref() };
        began.map_or(0, |began| {
            u32::try_from(began.elapsed().as_millis()).unwrap_or(u32::MAX)
        })
    }

    fn record(&self, address: usize, function: Function, (bytes, blocks): (u64, u64)) {
        let _ = GATE.pass(|| {
            let stack = self.capture.take(function as u8, &self.stacks);
            self.stacks.add(stack, bytes, blocks);
            self.samples.fetch_add(1, Ordering::Relaxed);
            let block = Block {
                stack,
                millis: self.millis(),
                bytes,
                blocks,
            };
            self.blocks.insert(address, block);
        });
    }
}

/// The child of a fork records nothing.
unsafe extern "C" fn in_child() {
    GATE.close_in_child();
}

/// A point may be in this allocation.
#[cold]
#[inline(never)]
fn allocated(address: *mut c_void, size: usize, function: Function) {
    let Some(inside) = Inside::enter() else {
        return;
    };
    if let Some(weight) = sampler::sample(size)
        && !address.is_null()
        && let Some(state) = State::get()
        && state.is_on()
    {
        keep_errno(|| state.record(address as usize, function, weight));
    }
    drop(inside);
}

/// The block at an address is about to be freed.
#[inline]
fn freed(address: *mut c_void) -> Option<Block> {
    match Blocks::may_have(address as usize) {
        true => forget(address as usize),
        false => None,
    }
}

#[cold]
#[inline(never)]
fn forget(address: usize) -> Option<Block> {
    State::get()?.blocks.remove(address)
}

fn keep_errno(body: impl FnOnce()) {
    crate::os::signals::keep_errno(body);
}

#[inline]
fn count(address: *mut c_void, size: usize, function: Function) {
    if sampler::passes(size) {
        allocated(address, size, function);
    }
}

// The functions below have the contracts of those that they call, with the caller's arguments.

unsafe extern "C" fn malloc(size: size_t) -> *mut c_void {
    // SAFETY: by the caller's promise.
    let address = unsafe { libc::malloc(size) };
    count(address, size, Function::Malloc);
    address
}

unsafe extern "C" fn calloc(number: size_t, size: size_t) -> *mut c_void {
    // SAFETY: by the caller's promise.
    let address = unsafe { libc::calloc(number, size) };
    // A product that overflows has no memory.
    count(address, number.wrapping_mul(size), Function::Calloc);
    address
}

unsafe extern "C" fn realloc(old: *mut c_void, size: size_t) -> *mut c_void {
    // SAFETY: by the caller's promise.
    unsafe { reallocate(old, size, Function::Realloc) }
}

unsafe extern "C" fn reallocarray(old: *mut c_void, number: size_t, size: size_t) -> *mut c_void {
    match number.checked_mul(size) {
        // SAFETY: by the caller's promise.
        Some(bytes) => unsafe { reallocate(old, bytes, Function::Reallocarray) },
        None => {
            // SAFETY: the address is that of this thread's number.
            unsafe { *libc::__errno_location() = libc::ENOMEM };
            ptr::null_mut()
        }
    }
}

/// The old block is freed and a new one is allocated, also where both are at one address.
///
/// # Safety
/// As `realloc`.
unsafe fn reallocate(old: *mut c_void, size: size_t, function: Function) -> *mut c_void {
    let before = freed(old);
    // SAFETY: by the caller's promise.
    let address = unsafe { libc::realloc(old, size) };
    if address.is_null() && size > 0 {
        // The old block is still there.
        if let (Some(block), Some(state)) = (before, State::get()) {
            state.blocks.insert(old as usize, block);
        }
    }
    count(address, size, function);
    address
}

unsafe extern "C" fn posix_memalign(
    place: *mut *mut c_void,
    alignment: size_t,
    size: size_t,
) -> c_int {
    // SAFETY: by the caller's promise.
    let code = unsafe { libc::posix_memalign(place, alignment, size) };
    if code == 0 {
        // SAFETY: the function has written the address there.
        count(unsafe { *place }, size, Function::PosixMemalign);
    }
    code
}

type Aligned = unsafe extern "C" fn(size_t, size_t) -> *mut c_void;

/// # Safety
/// As the function whose address it is.
unsafe fn aligned(
    address: &AtomicUsize,
    alignment: size_t,
    size: size_t,
    function: Function,
) -> *mut c_void {
    let address = address.load(Ordering::Relaxed);
    // SAFETY: the linker has found the function by its name before any entry led here; it is of this type.
    let original = unsafe { std::mem::transmute::<usize, Aligned>(address) };
    // SAFETY: by the caller's promise.
    let block = unsafe { original(alignment, size) };
    count(block, size, function);
    block
}

unsafe extern "C" fn aligned_alloc(alignment: size_t, size: size_t) -> *mut c_void {
    // SAFETY: by the caller's promise.
    unsafe { aligned(&ALIGNED_ALLOC, alignment, size, Function::AlignedAlloc) }
}

unsafe extern "C" fn memalign(alignment: size_t, size: size_t) -> *mut c_void {
    // SAFETY: by the caller's promise.
    unsafe { aligned(&MEMALIGN, alignment, size, Function::Memalign) }
}

unsafe extern "C" fn free(address: *mut c_void) {
    let _ = freed(address);
    // SAFETY: by the caller's promise.
    unsafe { libc::free(address) };
}

unsafe extern "C" fn mmap(
    wanted: *mut c_void,
    length: size_t,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    let before = match flags & libc::MAP_FIXED {
        0 => None,
        _ => freed(wanted),
    };
    // SAFETY: by the caller's promise.
    let address = unsafe { libc::mmap(wanted, length, protection, flags, file, offset) };
    if address == libc::MAP_FAILED {
        if let (Some(block), Some(state)) = (before, State::get()) {
            state.blocks.insert(wanted as usize, block);
        }
        return address;
    }
    // A reservation is no memory, and files have theirs in the page cache.
    if protection != libc::PROT_NONE && flags & libc::MAP_ANONYMOUS != 0 {
        count(address, length, Function::Mmap);
    }
    address
}

unsafe extern "C" fn munmap(address: *mut c_void, length: size_t) -> c_int {
    let _ = freed(address);
    // SAFETY: by the caller's promise.
    unsafe { libc::munmap(address, length) }
}
