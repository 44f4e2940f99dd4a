//! The thread that books CPU time: every millisecond, what each thread's CPU
//! clock has advanced goes to the node the thread is in. Threads that wait cost
//! nothing and get nothing.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::CallTimes;
use crate::vm::guard;

const PERIOD: Duration = Duration::from_millis(1);

/// Starts the thread. It is no Java thread: it never stops at a safepoint.
///
/// # Errors
/// What the system says.
pub(super) fn start(calls: &'static CallTimes) -> std::io::Result<()> {
    let old = block_signals();
    let started = std::thread::Builder::new()
        .name("hprof sampler".to_owned())
        .spawn(move || guard((), || run(calls)));
    // SAFETY: sets the mask that was in force before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut()) };
    started.map(drop)
}

/// Blocks all signals, which a new thread inherits: the program's and the VM's
/// signals are not for this thread. Returns the mask before.
fn block_signals() -> libc::sigset_t {
    // SAFETY: a signal set of zero bytes is valid, and both are locals.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut old: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        old
    }
}

fn run(calls: &'static CallTimes) {
    let mut due = Instant::now();
    let mut round = 0u32;
    while !calls.stopped.load(Ordering::Relaxed) {
        due += PERIOD;
        let now = Instant::now();
        match due.checked_duration_since(now) {
            Some(wait) => std::thread::sleep(wait),
            None => due = now,
        }
        round = round.wrapping_add(1);
        calls.threads.lock().book(round);
    }
}
