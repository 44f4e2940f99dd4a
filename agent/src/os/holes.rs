//! Holes in files: ranges of zeros that the disk does not hold.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// The unit of holes, in bytes: a page of the memory and of nearly all file systems.
const PAGE: u64 = 4096;
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Gives the disk space of a range back. Its length stays, and it is read as zeros.
///
/// # Errors
/// The file system's; some have no holes.
pub fn punch(file: &File, range: Range<u64>) -> io::Result<()> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    allocate(file, mode, range)
}

fn allocate(file: &File, mode: libc::c_int, range: Range<u64>) -> io::Result<()> {
    let number = |value| libc::off_t::try_from(value).map_err(io::Error::other);
    let (start, length) = (number(range.start)?, number(range.end - range.start)?);
    // SAFETY: the descriptor is open; to take or give space in a file touches no memory.
    match unsafe { libc::fallocate(file.as_raw_fd(), mode, start, length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has the disk keep space for a range, which may be behind the end of the file; the file stays as long as it is.
///
/// # Errors
/// When the disk is full. A file system that keeps no space is no error.
pub fn reserve(file: &File, range: Range<u64>) -> io::Result<()> {
    match allocate(file, libc::FALLOC_FL_KEEP_SIZE, range) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
        result => result,
    }
}

/// The bytes that the disk of a file has free.
///
/// # Errors
/// The system's.
pub fn free_bytes(file: &File) -> io::Result<u64> {
    // SAFETY: zeros are a valid value of this structure of numbers.
    let mut about: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and the pointer is valid for the call.
    match unsafe { libc::fstatvfs(file.as_raw_fd(), &mut about) } {
        0 => Ok(about.f_bavail * about.f_frsize),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Puts zeros into a range, whose whole pages become holes where that is possible.
///
/// # Errors
/// The file system's.
pub fn clear(file: &File, range: Range<u64>) -> io::Result<()> {
    let first = range.start.next_multiple_of(PAGE);
    let last = range.end / PAGE * PAGE;
    if first < last && punch(file, first..last).is_ok() {
        fill(file, range.start..first)?;
        return fill(file, last..range.end);
    }
    fill(file, range)
}

fn fill(file: &File, range: Range<u64>) -> io::Result<()> {
    let mut at = range.start;
    while at < range.end {
        let length = (range.end - at).min(ZEROS.len() as u64);
        file.write_all_at(&ZEROS[..length as usize], at)?;
        at += length;
    }
    Ok(())
}

/// Copies `range` of `from` to `at` in `to`, in pieces from the last to the first: both may be one file,
/// if `at` is behind the start of the range.
///
/// # Errors
/// Errors of the file systems.
pub fn copy_backward(from: &File, range: Range<u64>, to: &File, at: u64) -> io::Result<()> {
    let mut piece = vec![0; 256 << 10];
    let mut end = range.end;
    while end > range.start {
        let start = end.saturating_sub(piece.len() as u64).max(range.start);
        let piece = &mut piece[..(end - start) as usize];
        from.read_exact_at(piece, start)?;
        to.write_all_at(piece, start - range.start + at)?;
        end = start;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn content(file: &File) -> Vec<u8> {
        let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    #[test]
    fn space_is_kept_behind_the_end() {
        let file = tempfile::tempfile().unwrap();
        reserve(&file, 5..100_000).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 0);
    }

    proptest! {
        #[test]
        fn a_range_is_cleared_and_nothing_else(start in 0..20_000usize, length in 0..20_000usize) {
            let file = tempfile::tempfile().unwrap();
            let mut bytes = vec![7; 50_000];
            file.write_all_at(&bytes, 0).unwrap();
            clear(&file, start as u64..(start + length) as u64).unwrap();
            bytes[start..start + length].fill(0);
            prop_assert!(content(&file) == bytes);
        }

        #[test]
        fn bytes_move_backward_over_themselves(length in 0..600_000usize, by in 0..300_000u64) {
            let file = tempfile::tempfile().unwrap();
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            file.write_all_at(&bytes, 0).unwrap();
            copy_backward(&file, 0..length as u64, &file, by).unwrap();
            if length > 0 {
                prop_assert!(content(&file)[by as usize..] == bytes);
            }
        }
    }
}
