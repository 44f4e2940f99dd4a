//! The thread that books CPU time: about every millisecond, what each thread's CPU
//! clock has advanced goes to the node the thread is in. Threads that wait cost
//! nothing and get nothing.

use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use super::counter::CallTimes;
use crate::os::native_thread;
use crate::os::random::random;

/// The mean time between two looks. Each is up to half of it early or late, or a
/// program that does its work in steps of the same length would be seen in the same
/// step each time.
const PERIOD: Duration = Duration::from_micros(750);

/// Starts the thread. It is no Java thread: it never stops at a safepoint.
///
/// # Errors
/// The system's error.
pub(super) fn start(calls: &'static CallTimes) -> std::io::Result<JoinHandle<()>> {
    native_thread::spawn("hprof sampler", move || run(calls))
}

fn run(calls: &'static CallTimes) {
    let mut round = 0u32;
    while !calls.stopped.load(Ordering::Relaxed) {
        let part = (random() % 1024) as u32;
        std::thread::sleep(PERIOD / 2 + PERIOD / 1024 * part);
        round = round.wrapping_add(1);
        calls.threads.lock().book(round);
    }
}
