//! The threads of this process as the kernel lists them, in `/proc/self/task`.

use std::fs;
use std::io::Read;

/// Whether the thread runs or waits for a CPU; false when it has ended.
pub fn wants_cpu(tid: i32) -> bool {
    let mut bytes = [0; 128];
    let read = fs::File::open(format!("/proc/self/task/{tid}/stat"))
        .and_then(|mut file| file.read(&mut bytes));
    let text = bytes.get(..read.unwrap_or(0)).unwrap_or_default();
    state(text) == Some(b'R')
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
    #[cfg_attr(miri, ignore = "needs /proc")]
    fn this_thread_is_listed_and_runs() {
        // SAFETY: the call has no arguments and cannot fail.
        let tid = unsafe { libc::gettid() };
        assert!(wants_cpu(tid) && all().contains(&tid) && name(tid).is_some());
        assert!(!wants_cpu(-1) && name(-1).is_none());
    }
}
