//! Threads of the agent that the VM knows nothing of.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::thread::{Builder, JoinHandle};

use crate::vm::guard;

/// Starts a thread that gets no signals: those of the process belong to the program's threads.
///
/// # Errors
/// When there are no more threads to be had.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: both sets are locals; the current mask is kept, and put back below.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let started = Builder::new()
        .name(name.to_owned())
        .spawn(|| guard((), body));
    // SAFETY: the mask that pthread_sigmask has given.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    started
}

/// CPU time of the current thread.
pub fn cpu_time() -> std::time::Duration {
    // SAFETY: the call has no arguments and cannot fail.
    let tid = unsafe { libc::gettid() };
    std::time::Duration::from_nanos(super::timer::thread_cpu_nanos(tid))
}
