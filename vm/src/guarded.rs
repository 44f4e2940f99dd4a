//! Loads from memory that may be unmapped.
//!
//! The kernel copies the bytes (`process_vm_readv` of the own process), and answers `EFAULT` where a plain load
//! would end the program.

use std::ffi::c_void;
use std::io::Read;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

/// Numbers that may be read from anywhere.
pub(crate) trait Plain: Copy {}
impl Plain for usize {}
impl Plain for i32 {}

/// The value at an address; `None` when nothing is mapped there.
pub(crate) fn load<T: Plain>(address: usize) -> Option<T> {
    let mut value = MaybeUninit::<T>::uninit();
    let (to, size) = (value.as_mut_ptr().cast::<c_void>(), size_of::<T>());
    let copied = match copy_within_process(address, to, size) {
        Err(libc::EPERM | libc::ENOSYS) => copy_through_pipe(address, to, size),
        copied => copied.is_ok(),
    };
    // SAFETY: all bytes were written, and every pattern is a number.
    copied.then(|| unsafe { value.assume_init() })
}

/// Copies by `process_vm_readv`, which some sandboxes forbid.
fn copy_within_process(address: usize, to: *mut c_void, size: usize) -> Result<(), i32> {
    let of = |address| libc::iovec {
        iov_base: address,
        iov_len: size,
    };
    let (to, from) = (of(to), of(address as *mut c_void));
    // SAFETY: the kernel writes at most as many bytes as the caller has, and checks `from` itself.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &to, 1, &from, 1, 0) };
    if copied == size as isize {
        return Ok(());
    }
    let error = std::io::Error::last_os_error().raw_os_error();
    Err(error.filter(|_| copied < 0).unwrap_or(libc::EFAULT))
}

/// Copies by a pipe, which takes no permission.
fn copy_through_pipe(address: usize, to: *mut c_void, size: usize) -> bool {
    let Ok((mut out, into)) = std::io::pipe() else {
        return false;
    };
    // SAFETY: the kernel checks the address, and takes at most as many bytes as the pipe has room for.
    let written = unsafe { libc::write(into.as_raw_fd(), address as *const c_void, size) };
    // SAFETY: the caller has that many bytes, of any value.
    let place = unsafe { std::slice::from_raw_parts_mut(to.cast::<MaybeUninit<u8>>(), size) };
    if written != size as isize {
        return false;
    }
    let mut bytes = [0; size_of::<usize>()];
    let Some(bytes) = bytes.get_mut(..size) else {
        return false;
    };
    if out.read_exact(bytes).is_err() {
        return false;
    }
    for (place, &mut byte) in place.iter_mut().zip(bytes) {
        place.write(byte);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mapped_is_read() {
        let values = [7usize, usize::MAX];
        let at = |index: usize| &raw const values[index] as usize;
        assert_eq!(load::<usize>(at(0)), Some(7));
        assert_eq!(load::<i32>(at(1)), Some(-1));
    }

    #[test]
    fn a_pipe_does_it_where_the_call_is_forbidden() {
        let (value, mut copy) = (0x1234_5678i32, 0i32);
        let to = (&raw mut copy).cast::<c_void>();
        assert!(copy_through_pipe(&raw const value as usize, to, 4));
        assert!(!copy_through_pipe(8, to, 4));
        assert_eq!(copy, value);
    }

    #[test]
    fn what_is_not_mapped_is_none() {
        assert_eq!(load::<usize>(0), None);
        assert_eq!(load::<usize>(usize::MAX - 7), None);
        // SAFETY: maps a page of nothing, and takes it back.
        let page = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let page = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, flags, -1, 0);
            assert_ne!(page, libc::MAP_FAILED);
            assert_eq!(load::<usize>(page as usize), Some(0));
            libc::munmap(page, 4096);
            page
        };
        assert_eq!(load::<usize>(page as usize), None);
    }
}
