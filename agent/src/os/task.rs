//! The threads of this process as the kernel lists them, in `/proc/self/task`.

use std::fs;
use std::io::Read;
use std::mem::MaybeUninit;

use super::signals::SignalMask;

/// Returns true if the thread runs or waits for a CPU; false when it has ended.
pub fn wants_cpu(tid: i32) -> bool {
    let mut bytes = [0; 128];
    let read = fs::File::open(format!("/proc/self/task/{tid}/stat"))
        .and_then(|mut file| file.read(&mut bytes));
    let text = bytes.get(..read.unwrap_or(0)).unwrap_or_default();
    state(text) == Some(b'R')
}

/// How often the current thread has given up its CPU to wait for something. Safe in a signal handler.
pub fn voluntary_waits() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes the local, whose zero bytes are valid if it does not.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.ru_nvcsw as u64
}

/// The signals that a thread of this process blocks; `None` when it has ended.
pub fn blocked_signals(tid: i32) -> Option<SignalMask> {
    let text = fs::read(format!("/proc/self/task/{tid}/status")).ok()?;
    mask(&text)
}

/// Threads whose masks are read: each takes some 20 microseconds.
const MAX_MASKS: usize = 1024;

/// The signals that threads block, of the first thousand threads.
pub fn blocked_signals_of_all() -> Vec<SignalMask> {
    let threads = all().into_iter().take(MAX_MASKS);
    threads.filter_map(blocked_signals).collect()
}

/// The mask of blocked signals in the lines of `status`.
fn mask(status: &[u8]) -> Option<SignalMask> {
    let mut lines = status.split(|&byte| byte == b'\n');
    let digits = lines.find_map(|line| line.strip_prefix(b"SigBlk:"))?;
    let digits = str::from_utf8(digits).ok()?.trim();
    u64::from_str_radix(digits, 16).ok().map(SignalMask)
}

/// The letter of the state in a line of `stat`. It follows the name, which is in brackets, has at most
/// 15 bytes, and may hold anything.
fn state(line: &[u8]) -> Option<u8> {
    let name_end = line.iter().take(64).rposition(|&byte| byte == b')')?;
    line.get(name_end.checked_add(2)?).copied()
}

/// The ids of all threads.
pub fn all() -> Vec<i32> {
    let entries = fs::read_dir("/proc/self/task").into_iter().flatten();
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// The name of a thread, at most 15 bytes of it; `None` when it has ended.
pub fn name(tid: i32) -> Option<String> {
    let bytes = fs::read(format!("/proc/self/task/{tid}/comm")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.trim_end_matches('\n').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_follows_the_name() {
        assert_eq!(state(b"12 (main) S 1 2"), Some(b'S'));
        assert_eq!(state(b"12 (a) R (b) R) D 1 2"), Some(b'D'));
        assert_eq!(state(b"12 (main"), None);
        assert_eq!(state(b""), None);
    }

    #[test]
    fn the_mask_is_a_line_of_its_own() {
        let status = b"Name:\tSigBlk:\nSigPnd:\t01\nSigBlk:\t0000000004008000\nSigIgn:\t02\n";
        assert_eq!(mask(status), Some(SignalMask(0x0400_8000)));
        assert_eq!(mask(b"SigBlk:\tx"), None);
        assert_eq!(mask(b"SigPnd:\t1"), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs the kernel's counts")]
    fn a_wait_is_counted() {
        let before = voluntary_waits();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(voluntary_waits() > before);
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs /proc")]
    fn this_thread_is_listed_and_runs() {
        // SAFETY: the call has no arguments and cannot fail.
        let tid = unsafe { libc::gettid() };
        assert!(wants_cpu(tid) && all().contains(&tid) && name(tid).is_some());
        assert!(!wants_cpu(-1) && name(-1).is_none());
    }
}
