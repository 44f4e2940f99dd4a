//! Which of the threads that start get a timer at once.
//!
//! To create, start and delete a timer costs a thread that ends at once several
//! hundredths of its life, and a third where programs compete for the CPUs. So
//! where many threads start, one in N of them, by chance, gets its timer at once,
//! and its signals count N times. All others get theirs when they have lived for
//! a round or two of [`ROUND`]; from then on the one counts once, too.
//!
//! In the mean over threads the counts are their CPU time, exactly: what a thread
//! uses before that moment is seen with a chance of one in N, and counts N times.
//! N is known before the threads that it holds for, so it does not depend on them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{io, mem};

use hprof_lockfree::slots::SlotToken;
use parking_lot::Mutex;

use super::SignalEngine;
use crate::os::random::random;
use crate::os::signals::Installed;
use crate::os::{native_thread, timer};

/// How often threads without a timer are looked at: longer than most that end at once live.
const ROUND: Duration = Duration::from_millis(8);
/// Threads that get timers at once in a round: all, in programs that start no more.
const TIMERS: u32 = 8;
/// N is at most 2 to the power of this.
const MAX_SHIFT: u32 = 6;
/// Rounds without a thread to look at after which the helper ends.
const IDLE_ROUNDS: u32 = 50;

/// The threads that start, and the helper that gives them timers later.
#[derive(Default)]
pub(super) struct Starts {
    state: Mutex<State>,
    /// How many timers the kernel refused to the helper, and the last error.
    refused: Mutex<Option<(u32, io::Error)>>,
    /// Threads that had no timer at once.
    delayed: AtomicU64,
}

#[derive(Default)]
struct State {
    rate: Rate,
    /// Threads that started in this round, and in the one before.
    young: Vec<SlotToken>,
    old: Vec<SlotToken>,
    helper: Option<JoinHandle<()>>,
    /// The helper works, and looks at all threads in the lists.
    is_helped: bool,
    /// Nothing is sampled for good.
    is_closed: bool,
}

/// When a thread that starts gets its timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Now, and it stands for 2 to the power of this many threads.
    Now(u8),
    /// From the helper.
    Later,
}

impl Starts {
    /// Tells a thread that starts its turn. It is to be [`Self::add`]ed unless it stands for itself. Calls
    /// `start_helper` where there is none and one is needed.
    pub(super) fn turn(&self, start_helper: impl FnOnce() -> io::Result<JoinHandle<()>>) -> Turn {
        let mut state = self.state.lock();
        let shift = state.rate.start_one(Instant::now());
        if shift == 0 || !state.has_helper(start_helper) {
            return Turn::Now(0);
        }
        drop(state);
        if random() & ((1 << shift) - 1) == 0 {
            return Turn::Now(shift);
        }
        self.delayed.fetch_add(1, Ordering::Relaxed);
        Turn::Later
    }

    /// Has the helper look at a thread.
    pub(super) fn add(&self, token: SlotToken) {
        self.state.lock().young.push(token);
    }

    /// Timers that the kernel refused since the last call, and the last error.
    pub(super) fn take_refused(&self) -> Option<(u32, io::Error)> {
        self.refused.lock().take()
    }

    /// Threads that had no timer at once.
    pub(super) fn delayed(&self) -> u64 {
        self.delayed.load(Ordering::Relaxed)
    }

    /// Ends the helper, and waits for it.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let helper = state.helper.take();
        drop(state);
        // It failed only if it panicked, which `native_thread` has reported.
        let _ = helper.map(JoinHandle::join);
    }

    /// Threads may start again.
    pub(super) fn open(&self) {
        *self.state.lock() = State::default();
        self.delayed.store(0, Ordering::Relaxed);
    }

    fn refuse(&self, error: io::Error) {
        let mut refused = self.refused.lock();
        let count = refused.as_ref().map_or(0, |&(count, _)| count);
        *refused = Some((count.saturating_add(1), error));
    }
}

impl State {
    fn has_helper(&mut self, start: impl FnOnce() -> io::Result<JoinHandle<()>>) -> bool {
        // A helper that panicked could not say that it ends; the lists would grow without it.
        let has_died = self.helper.as_ref().is_some_and(JoinHandle::is_finished);
        if (!self.is_helped || has_died) && !self.is_closed {
            let started = start();
            self.is_helped = started.is_ok();
            self.helper = started.ok();
        }
        self.is_helped
    }

    /// The threads that are to be looked at now; `looked_at` has room for those of later rounds.
    fn next_round(&mut self, mut looked_at: Vec<SlotToken>) -> Vec<SlotToken> {
        looked_at.clear();
        let young = mem::replace(&mut self.young, looked_at);
        mem::replace(&mut self.old, young)
    }
}

/// The helper's work.
pub(super) fn help(engine: &SignalEngine, installed: Installed) {
    let starts = &engine.starts;
    let mut due = Vec::new();
    let mut idle = 0;
    loop {
        thread::sleep(ROUND);
        let mut state = starts.state.lock();
        due = state.next_round(due);
        idle = if due.is_empty() { idle + 1 } else { 0 };
        if state.is_closed || idle == IDLE_ROUNDS && state.old.is_empty() {
            state.is_helped = false;
            return;
        }
        drop(state);
        for &token in &due {
            match engine.settle_thread(token, installed) {
                Err(error) if !timer::has_ended(&error) => starts.refuse(error),
                _ => {}
            }
        }
    }
}

/// Starts the helper.
///
/// # Errors
/// When there are no more threads to be had.
pub(super) fn start_helper(
    engine: &'static SignalEngine,
    installed: Installed,
) -> io::Result<JoinHandle<()>> {
    native_thread::spawn("HPROF timers", move || help(engine, installed))
}

/// How many threads start.
#[derive(Default)]
struct Rate {
    /// The round that is under way.
    began: Option<Instant>,
    started: u32,
    /// Base-2 logarithm of N in the round under way, from the count of the round before.
    shift: u8,
}

impl Rate {
    /// Counts a thread that starts, and tells the logarithm of N for it.
    fn start_one(&mut self, now: Instant) -> u8 {
        let passed = self.began.map(|began| now.saturating_duration_since(began));
        if passed.is_none_or(|passed| passed >= ROUND) {
            self.shift = passed.map_or(0, |passed| shift_for(self.started, passed));
            self.began = Some(now);
            self.started = 0;
        }
        self.started = self.started.saturating_add(1);
        self.shift
    }
}

/// Base-2 logarithm of N for the next round, after `started` threads in the time `passed`.
fn shift_for(started: u32, passed: Duration) -> u8 {
    let rounds = passed.as_secs_f64() / ROUND.as_secs_f64();
    let per_round = f64::from(started) / rounds.max(1.0);
    let n = (per_round / f64::from(TIMERS)).max(1.0);
    (n.log2().ceil() as u32).min(MAX_SHIFT) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts `count` threads in even steps over a second, and gives the logarithms of N.
    fn shifts(rate: &mut Rate, from: Instant, count: u32) -> Vec<u8> {
        let times = (0..count).map(|n| from + Duration::from_secs(1) * n / count);
        times.map(|now| rate.start_one(now)).collect()
    }

    #[test]
    fn all_threads_get_timers_while_few_start() {
        let start = Instant::now();
        assert_eq!(shifts(&mut Rate::default(), start, 900), [0; 900]);
    }

    #[test]
    fn about_as_many_timers_are_created_however_many_threads_start() {
        for count in [5_000, 20_000, 50_000] {
            let shifts = shifts(&mut Rate::default(), Instant::now(), count);
            // The first round is without a rate.
            let first = count as usize / 125 + 1;
            let timers: f64 = shifts[first..]
                .iter()
                .map(|&shift| 0.5_f64.powi(shift.into()))
                .sum();
            assert!((450.0..=1050.0).contains(&timers), "{count}: {timers}");
        }
    }

    #[test]
    fn a_pause_ends_the_haste() {
        let mut rate = Rate::default();
        let start = Instant::now();
        assert_eq!(shifts(&mut rate, start, 10_000).last(), Some(&4));
        let later = start + Duration::from_secs(3);
        assert_eq!(rate.start_one(later), 0);
    }

    #[test]
    fn a_helper_that_has_died_is_replaced() {
        let mut state = State::default();
        let mut started = 0;
        let mut ask = |state: &mut State| {
            state.has_helper(|| {
                started += 1;
                Ok(thread::spawn(|| {}))
            })
        };
        assert!(ask(&mut state));
        while !state.helper.as_ref().unwrap().is_finished() {
            thread::yield_now();
        }
        assert!(ask(&mut state));
        assert_eq!(started, 2);
    }

    #[test]
    fn threads_are_looked_at_after_one_or_two_rounds() {
        let slots = hprof_lockfree::slots::Slots::<std::sync::atomic::AtomicU32>::new();
        let [first, second] = [(); 2].map(|()| slots.acquire(|_| {}).unwrap());
        let mut state = State::default();
        state.young.push(first);
        assert_eq!(state.next_round(Vec::new()), []);
        state.young.push(second);
        assert_eq!(state.next_round(Vec::new()), [first]);
        assert_eq!(state.next_round(vec![first]), [second]);
        assert_eq!(state.next_round(vec![second]), []);
    }
}
