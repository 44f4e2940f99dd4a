//! Where the control socket is.
//!
//! It lies in `/tmp` of the JVM, whatever `TMPDIR` says, as the socket of HotSpot's attach mechanism
//! does, under the id that the process has in its own PID namespace. So from outside of a container
//! it is found through `/proc/PID/root`, with the last of the numbers behind `NSpid` in
//! `/proc/PID/status`. Only its owner and root can open it (mode 0600), and the agent asks the
//! kernel who has connected.

use std::path::PathBuf;

/// The socket of the process `pid` as that process sees it.
#[must_use]
pub fn path(pid: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/.hprof_rs_pid{pid}"))
}

/// The socket of the process `pid` as seen from outside, where `inner_pid` is its id in its own PID
/// namespace ([`inner_pid`]).
#[must_use]
pub fn path_from_outside(pid: u32, inner_pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/root/tmp/.hprof_rs_pid{inner_pid}"))
}

/// The id that a process has in its own PID namespace, from the text of its `/proc/PID/status`.
/// `None` on kernels before 4.1, which do not tell.
#[must_use]
pub fn inner_pid(status: &str) -> Option<u32> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_pid_is_the_last() {
        let status = "Name:\tjava\nPid:\t4711\nNSpid:\t4711\t12\t1\nThreads:\t20\n";
        assert_eq!(inner_pid(status), Some(1));
        assert_eq!(inner_pid("NSpid:\t99\n"), Some(99));
        assert_eq!(inner_pid("Pid:\t99\n"), None);
    }

    #[test]
    fn the_longest_path_fits_a_socket_address() {
        let longest = path_from_outside(u32::MAX, u32::MAX);
        assert!(longest.as_os_str().len() < 108);
    }
}
