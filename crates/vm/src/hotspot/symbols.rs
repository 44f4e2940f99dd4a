//! Symbols of the VM's own library.

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;

use crate::Jvmti;

/// The library that holds the VM (`libjvm.so`), found by an address in it: an
/// embedding program may have loaded it without making its symbols global.
#[derive(Clone, Copy)]
pub struct VmLibrary {
    handle: *mut c_void,
    /// Where it is loaded.
    base: usize,
    /// A place in its code.
    code: usize,
}

// SAFETY: a dlopen handle may be used by every thread, and is never closed.
unsafe impl Send for VmLibrary {}
// SAFETY: as above.
unsafe impl Sync for VmLibrary {}

/// Keeps this library in memory: the VM unloads it when an attempt to attach fails, but threads and
/// signals of an earlier run may still be in it.
pub fn pin_library() {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    let here = pin_library as fn() as *const c_void;
    // SAFETY: `info` is writable; dladdr accepts any address.
    if unsafe { libc::dladdr(here, info.as_mut_ptr()) } != 0 {
        // SAFETY: dladdr has filled the structure in, with a path that is valid; the flags only pin
        // what is loaded.
        unsafe {
            libc::dlopen(
                info.assume_init().dli_fname,
                libc::RTLD_NOLOAD | libc::RTLD_NODELETE | libc::RTLD_LAZY,
            )
        };
    }
}

impl VmLibrary {
    /// Finds the library that the functions of `jvmti` lie in.
    pub fn of(jvmti: &Jvmti) -> Option<Self> {
        // SAFETY: the table is valid for the life of the VM.
        let address = unsafe { (**jvmti.as_raw()).GetPhase }? as *const c_void;
        let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: `info` is writable; dladdr accepts any address.
        if unsafe { libc::dladdr(address, info.as_mut_ptr()) } == 0 {
            return None;
        }
        // SAFETY: dladdr succeeded, so the structure is filled in.
        let info = unsafe { info.assume_init() };
        // SAFETY: dladdr returned a valid path; RTLD_NOLOAD only looks it up.
        let handle = unsafe { libc::dlopen(info.dli_fname, libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        (!handle.is_null()).then_some(Self {
            handle,
            base: info.dli_fbase as usize,
            code: address as usize,
        })
    }

    /// An address in its code.
    pub fn code(self) -> usize {
        self.code
    }

    /// The address that its addresses count from.
    pub fn base(self) -> usize {
        self.base
    }

    /// Returns whether an address lies in it.
    pub fn has(self, address: usize) -> bool {
        let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: `info` is writable; dladdr accepts any address, and has filled it in if it returns another value than 0.
        unsafe {
            libc::dladdr(address as *const c_void, info.as_mut_ptr()) != 0
                && info.assume_init().dli_fbase as usize == self.base
        }
    }

    /// The address of a symbol, never null.
    pub fn symbol(self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is valid and the name NUL-terminated.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}
