//! Samples beside the scheduler's ticks.
//!
//! The kernel looks at timers on CPU clocks at the scheduler's tick only, every 1 to 10 ms. Work with a period of some
//! ticks is therefore seen at few places, however random the moments are: with 250 ticks a second, a cycle of 4 ms is
//! seen at one. So a tick that finds moments due sets a timer of the system's clock, which is exact, to a random part
//! of a tick from now, and the sample is taken there.
//!
//! A signal ends some system calls early. So samples are put off only on threads that have run for [`MIN_RUN`] ticks
//! without waiting for anything. If the thread waits all the same before the signal, it is dropped, and nothing is
//! counted: its stack would be that of the wait. That happens once for each such run, at its end, and loses half a tick
//! in the mean. The first sample that is put off makes up for it, by another one at once that counts half a tick.
//!
//! Threads that wait more often are seen at ticks.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::SignalEngine;
use super::first_signal::FirstSignal;
use super::slots::ThreadState;
use crate::os::random::random;
use crate::os::{task, timer};

/// Marks what the signals carry that come later: slots have smaller numbers.
pub(super) const PUT_OFF: usize = 1 << 31;

/// Ticks of CPU time.
const MIN_RUN: u64 = 5;

/// A signal that comes earlier by this part of CPU time is on time: other programs and the system itself take some.
const NEAR_NANOS: u64 = 50_000;

/// Puts a sample of some intervals off, if the thread runs for long. Returns the intervals that count at once.
pub(super) fn put_off(
    engine: &SignalEngine,
    thread: &ThreadState,
    cpu_nanos: u64,
    intervals: u32,
) -> u32 {
    let tick_nanos = engine.scheduler_tick_nanos;
    let run = thread.note_waits(task::voluntary_waits(), cpu_nanos);
    if intervals == 0 || run < tick_nanos {
        return intervals;
    }
    // Asked for early, as the profile thread takes a while to see it.
    let Some(later) = thread.delay_timer() else {
        engine.wants_delay_timer.store(true, Ordering::Relaxed);
        return intervals;
    };
    if run < tick_nanos.saturating_mul(MIN_RUN) {
        return intervals;
    }
    // A kernel that does not tell its tick has none here.
    let Some(part) = random().checked_rem(tick_nanos) else {
        return intervals;
    };
    if timer::start(later, part.saturating_add(1), Duration::ZERO).is_err() {
        return intervals;
    }
    match thread.put_off(intervals, cpu_nanos.saturating_add(part)) {
        true => {
            let half = tick_nanos.saturating_mul(thread.factor().into()) / 2;
            FirstSignal::new(engine.interval(), half).weight()
        }
        false => 0,
    }
}

/// The intervals that were put off until now; none if the thread has waited meanwhile, or has had no CPU: then the signal
/// comes when it has one again, at the place where it lost it, which is a tick as a rule. The sample is put off further.
pub(super) fn due_now(thread: &ThreadState) -> u32 {
    if !thread.has_not_waited(task::voluntary_waits()) {
        thread.take_put_off();
        return 0;
    }
    let rest = thread
        .put_off_until()
        .saturating_sub(timer::current_cpu_nanos());
    if rest > NEAR_NANOS
        && let Some(later) = thread.delay_timer()
        && timer::start(later, rest, Duration::ZERO).is_ok()
    {
        return 0;
    }
    thread.take_put_off()
}
