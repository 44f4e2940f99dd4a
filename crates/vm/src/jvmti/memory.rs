//! Memory that the VM allocated for us.

use std::ffi::CStr;
use std::ops::Deref;
use std::os::raw::c_char;

use hprof_java_names::mutf8;

use crate::Jvmti;

/// An array of `T` from the VM's allocator, given back on drop.
pub struct VmMemory<'a, T> {
    jvmti: &'a Jvmti,
    start: *mut T,
    len: usize,
}

impl<'a, T> VmMemory<'a, T> {
    /// Takes ownership of `len` elements at `start`; null is an empty array.
    ///
    /// # Safety
    /// `start` must come from the allocator of `jvmti`, hold `len` initialised
    /// elements, and have no other owner.
    pub(super) unsafe fn new(jvmti: &'a Jvmti, start: *mut T, len: usize) -> Self {
        Self { jvmti, start, len }
    }
}

impl<T> Deref for VmMemory<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: `new` was promised `len` initialised elements at `start`.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T> Drop for VmMemory<'_, T> {
    fn drop(&mut self) {
        if !self.start.is_null() {
            self.jvmti.deallocate(self.start.cast());
        }
    }
}

/// Copies a C string of the VM, in its modified UTF-8, and gives its memory back.
///
/// # Safety
/// `text` is null or a NUL-terminated string from the allocator of `jvmti`.
pub(super) unsafe fn take_string(jvmti: &Jvmti, text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and NUL-terminated by the caller's promise.
    let string = mutf8::decode(unsafe { CStr::from_ptr(text) }.to_bytes()).into_owned();
    jvmti.deallocate(text.cast());
    Some(string)
}
