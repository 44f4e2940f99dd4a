//! Loads of memory that may be unmapped.
//!
//! async-profiler's SafeAccess loads at a known instruction, whose SIGSEGV its handler skips. Here
//! the kernel is asked first, as in abseil's `AddressIsReadable`: `rt_sigprocmask` copies the signal set that it is
//! given before it checks `how`, which is invalid here, so it changes no mask. The reasons:
//! - HotSpot handles SIGSEGV itself, for implicit null checks and safepoints. A handler before its
//!   own would see all of these, `-Xcheck:jni` would complain of it, and a second agent that does
//!   the same might not let this one go.
//! - `process_vm_readv` would load in one step, but hardened services forbid it
//!   (`SystemCallFilter=@system-service` of systemd), and may end the process that calls it.
//!   `rt_sigprocmask` is allowed wherever there are threads.
//!
//! Memory can be unmapped between question and load. The memory that [`load`] reads is never unmapped by another thread
//! while it is looked at: the stack of the current thread, the code cache, strings of the VM. The address may be wrong;
//! then it is not readable at any time. Memory that the VM may free at any moment goes through `Copier`, where the
//! kernel itself reads.
//!
//! A load takes 100 ns or so, a copy microseconds: on hot paths, addresses are compared with known
//! bounds instead.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsRawFd;

/// A number of bytes that no page is smaller than.
pub(crate) const MIN_PAGE: usize = 4096;
const WORD: usize = size_of::<usize>();

/// Types that any bytes are a value of.
///
/// # Safety
/// They are, and the type has 16 bytes at most.
pub unsafe trait Plain: Copy {}

// SAFETY: integers.
unsafe impl Plain for usize {}
// SAFETY: integers.
unsafe impl Plain for i32 {}
// SAFETY: integers.
unsafe impl Plain for u16 {}
// SAFETY: integers, of 16 bytes together.
unsafe impl Plain for [usize; 2] {}
// SAFETY: integers.
unsafe impl Plain for [u8; 16] {}

/// Loads a value; `None` when its memory cannot be read. The address need not be aligned. Safe in a
/// signal handler, except that it may change `errno`.
///
/// # Safety
/// No code has a mutable reference to the memory.
pub unsafe fn load<T: Plain>(address: usize) -> Option<T> {
    let last = address.checked_add(size_of::<T>().checked_sub(1)?)?;
    let readable = is_readable(address) && (same_page(address, last) || is_readable(last));
    // SAFETY: the pages of the first and of the last byte are readable, and there are none
    // between. Others may write there at the same time, as to all memory of the VM.
    readable.then(|| unsafe { (address as *const T).read_unaligned() })
}

/// Copies values that other threads may unmap meanwhile, by a pipe of its own.
///
/// Its owner drops it after a batch of copies. A program whose native code closes a descriptor number
/// that is not its own, and opens another file under it, would else find memory of the VM in that file.
pub(crate) struct Copier {
    out: PipeReader,
    into: PipeWriter,
    /// True if bytes may be left in the pipe, which the next copy would take for its own.
    spoilt: bool,
}

impl Copier {
    /// Makes the pipe.
    ///
    /// # Errors
    /// The program has too many open files.
    pub(crate) fn new() -> io::Result<Self> {
        let (out, into) = io::pipe()?;
        Ok(Self {
            out,
            into,
            spoilt: false,
        })
    }

    /// Copies a value; `None` when its memory cannot be read.
    pub(crate) fn copy<T: Plain>(&mut self, address: usize) -> Option<T> {
        if self.spoilt {
            return None;
        }
        let len = size_of::<T>();
        // SAFETY: the kernel checks the address, and takes at most as many bytes as fit into a page, for
        // which an empty pipe has room.
        let written = unsafe { libc::write(self.into.as_raw_fd(), address as *const _, len) };
        let mut bytes = [0; 16];
        let taken = bytes.get_mut(..usize::try_from(written).ok()?)?;
        self.spoilt = self.out.read_exact(taken).is_err();
        if self.spoilt || taken.len() != len {
            return None;
        }
        // SAFETY: all bytes of `T` were read, and any bytes are a value.
        Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
    }
}

fn same_page(first: usize, last: usize) -> bool {
    first / MIN_PAGE == last / MIN_PAGE
}

/// Returns whether the word around an address can be read, and so its page. May change `errno`.
pub(crate) fn is_readable(address: usize) -> bool {
    /// No operation on signal masks has this number.
    const NO_OPERATION: i32 = -1;
    let word = address & !(WORD - 1);
    // SAFETY: the kernel only reads the signal set, eight bytes, and refuses what it cannot read.
    let result = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            NO_OPERATION,
            word,
            std::ptr::null_mut::<u64>(),
            size_of::<u64>(),
        )
    };
    // SAFETY: __errno_location returns this thread's errno, which is plain memory. The call
    // cannot succeed: a readable set has EINVAL as its answer, another one EFAULT.
    result == -1 && word != 0 && unsafe { *libc::__errno_location() } == libc::EINVAL
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::ptr;

    /// Two pages, of which the second cannot be read.
    fn pages(unmap: bool) -> (usize, usize) {
        // SAFETY: a new mapping, whose second page no code uses.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let start = libc::mmap(
                ptr::null_mut(),
                2 * page,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(start, libc::MAP_FAILED);
            let second = start.cast::<u8>().add(page);
            let result = if unmap {
                libc::munmap(second.cast(), page)
            } else {
                libc::mprotect(second.cast(), page, libc::PROT_NONE)
            };
            assert_eq!(result, 0);
            start.cast::<u8>().write_bytes(7, page);
            (start as usize, second as usize)
        }
    }

    #[test]
    fn memory_that_cannot_be_read_has_no_value() {
        for unmap in [false, true] {
            let (first, second) = pages(unmap);
            // SAFETY: no code has references to these pages.
            unsafe {
                assert_eq!(load::<i32>(first), Some(0x0707_0707));
                assert_eq!(load::<i32>(second - 4), Some(0x0707_0707));
                assert_eq!(load::<[usize; 2]>(second - 15), None);
                assert_eq!(load::<[u8; 16]>(second - 16), Some([7; 16]));
                assert_eq!(load::<[u8; 16]>(second - 15), None);
                assert_eq!(load::<usize>(second), None);
                assert_eq!(load::<usize>(second + 64), None);
            }
            let mut copier = Copier::new().unwrap();
            assert_eq!(copier.copy::<i32>(second - 4), Some(0x0707_0707));
            assert_eq!(copier.copy::<[u8; 16]>(second - 16), Some([7; 16]));
            assert_eq!(copier.copy::<usize>(second - 4), None);
            assert_eq!(copier.copy::<usize>(second), None);
        }
    }

    /// Lowers the limit of open files, in a process of its own.
    #[test]
    fn copies_need_no_new_descriptors() {
        const CHILD: &str = "HPROF_RS_TEST_WITHOUT_DESCRIPTORS";
        if std::env::var_os(CHILD).is_none() {
            let test = "guarded::tests::copies_need_no_new_descriptors";
            let child = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", test, "--test-threads", "1"])
                .env(CHILD, "1")
                .output()
                .unwrap();
            assert!(child.status.success(), "{child:?}");
            return;
        }
        let mut copier = Copier::new().unwrap();
        let none = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: the call reads the limit, which outlives it.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &none) }, 0);
        assert!(Copier::new().is_err(), "the limit holds");
        let value = 0x1234_5678;
        for _ in 0..3 {
            assert_eq!(copier.copy::<i32>(&raw const value as usize), Some(value));
            assert_eq!(copier.copy::<i32>(8), None);
        }
    }

    #[test]
    fn addresses_that_none_has_have_no_value() {
        let mut copier = Copier::new().unwrap();
        for address in [0, 1, 8, usize::MAX, usize::MAX - 7, 1 << 63] {
            // SAFETY: nothing lies there.
            assert_eq!(unsafe { load::<usize>(address) }, None, "{address:x}");
            assert_eq!(copier.copy::<usize>(address), None, "{address:x}");
        }
    }

    #[test]
    fn the_signal_mask_stays() {
        // SAFETY: sets of zero bytes are valid, and the call only writes the local one.
        let mask = || unsafe {
            let mut mask: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &mut mask);
            (1..32)
                .map(|signal| libc::sigismember(&mask, signal))
                .collect::<Vec<_>>()
        };
        let before = mask();
        let all_ones = [usize::MAX; 2];
        // SAFETY: the array is not borrowed mutably.
        let loaded = unsafe { load::<[usize; 2]>(all_ones.as_ptr() as usize) };
        assert_eq!(loaded, Some(all_ones));
        assert_eq!(mask(), before);
    }
}
