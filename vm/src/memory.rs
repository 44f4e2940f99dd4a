//! Memory that the VM allocated for us.

use std::ffi::CStr;
use std::ops::Deref;
use std::os::raw::c_char;

use super::Jvmti;

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
    let string = decode(unsafe { CStr::from_ptr(text) }.to_bytes());
    jvmti.deallocate(text.cast());
    Some(string)
}

/// Decodes modified UTF-8 (JVM specification, 4.4.7): surrogates come as two
/// three-byte sequences, NUL as `C0 80`.
pub(super) fn decode(bytes: &[u8]) -> String {
    if let Ok(plain) = std::str::from_utf8(bytes) {
        return plain.to_owned();
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        let low = |byte: &u8| u16::from(byte & 0x3f);
        (units, rest) = match (first, tail) {
            (0x00..=0x7f, _) => (push(units, u16::from(*first)), tail),
            (0xc0..=0xdf, [b, after @ ..]) => {
                (push(units, u16::from(first & 0x1f) << 6 | low(b)), after)
            }
            (0xe0..=0xef, [b, c, after @ ..]) => (
                push(units, u16::from(first & 0x0f) << 12 | low(b) << 6 | low(c)),
                after,
            ),
            _ => (push(units, 0xfffd), tail),
        };
    }
    String::from_utf16_lossy(&units)
}

fn push(mut units: Vec<u16>, unit: u16) -> Vec<u16> {
    units.push(unit);
    units
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn modified_utf8_is_decoded() {
        assert_eq!(decode("größe".as_bytes()), "größe");
        assert_eq!(decode(&[0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]), "\u{1f600}");
        assert_eq!(decode(&[b'a', 0xc0, 0x80, b'b']), "a\0b");
        assert_eq!(decode(&[0xff, b'x', 0xe0]), "\u{fffd}x\u{fffd}");
    }
}
