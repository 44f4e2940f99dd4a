//! Standard input, output and error of a process that began without them.
//!
//! A daemon may start its JVM with descriptors 0 to 2 closed. The kernel gives every new file the lowest
//! free number, so a profile would become the standard output, and the VM and the program would
//! print into it. The VM opens files for us too, as for a heap dump, and libraries do. So the numbers are
//! occupied instead of keeping each of our files away from them.

use std::fs::OpenOptions;
use std::os::fd::{AsRawFd, IntoRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

/// Standard input, output and error.
const STANDARD: std::ops::RangeInclusive<RawFd> = 0..=2;

/// Occupies those of descriptors 0 to 2 that are closed, for good.
///
/// They stay useless: reading and writing fail with `EBADF`, as on closed ones, since the kernel offers
/// neither on a file opened with `O_PATH`. Child processes find them closed. The JDK keeps these numbers
/// occupied as well: it never closes one, but redirects it to `/dev/null` (`fileDescriptorClose`,
/// io_util_md.c). Whatever is open stays as it is, so this can be called at any time, and before each file
/// that stays open: native code may have closed one. Costs three system calls.
pub fn occupy_standard() {
    for number in STANDARD {
        if is_open(number) {
            continue;
        }
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH)
            .open("/");
        // Another number means that a thread of the program has just taken this one, or has closed
        // a lower one.
        if let Ok(file) = opened
            && file.as_raw_fd() == number
        {
            let _ = file.into_raw_fd();
        }
    }
}

/// Returns true if a descriptor is open for writing. One that [`occupy_standard`] has taken is not, nor a file of
/// classes that the VM has opened where its standard output was to be.
pub fn is_writable(number: RawFd) -> bool {
    // SAFETY: the call takes numbers, and fails if the descriptor is not open.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFL) };
    flags != -1 && flags & libc::O_PATH == 0 && flags & libc::O_ACCMODE != libc::O_RDONLY
}

fn is_open(number: RawFd) -> bool {
    // SAFETY: the call takes numbers, and fails if the descriptor is not open.
    unsafe { libc::fcntl(number, libc::F_GETFD) != -1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test process has its own three open, or would disturb other tests.
    #[test]
    fn what_is_open_stays() {
        let links = || STANDARD.map(|n| std::fs::read_link(format!("/proc/self/fd/{n}")).ok());
        let before: Vec<_> = links().collect();
        occupy_standard();
        let after: Vec<_> = links().collect();
        for (was, is) in before.iter().zip(&after) {
            assert!(
                is.is_some() && (was.is_none() || was == is),
                "{before:?} {after:?}"
            );
        }
    }

    #[test]
    fn what_only_occupies_a_number_is_not_written_to() {
        let mut options = OpenOptions::new();
        let path = options.read(true).custom_flags(libc::O_PATH).open("/");
        let path = path.unwrap();
        assert!(!is_writable(path.as_raw_fd()) && is_open(path.as_raw_fd()));
        assert!(std::io::Read::read(&mut &path, &mut [0]).is_err());
        let file = tempfile::tempfile().unwrap();
        assert!(is_writable(file.as_raw_fd()));
        assert!(!is_writable(9999) && !is_open(9999));
    }
}
