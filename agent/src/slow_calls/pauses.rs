//! When collections stopped the program, for the calls that were running.
//!
//! The VM's events come while all threads stand still, one at a time, so there is one writer. A reader may meet a pause that is
//! replaced meanwhile, after a thousand later ones; it then has another pause, or none.

use std::sync::atomic::{AtomicU64, Ordering};

use hprof_native_headers as raw;
use hprof_stacks::slow::SlowPause;

use super::SlowCalls;
use crate::os::timer::monotonic_nanos;

/// Pauses that are kept.
const KEPT: usize = 1024;
/// Pauses of a call at most.
const MOST: usize = 100;

/// The last pauses.
pub(super) struct Pauses {
    /// When the pause that is under way began, of the monotonic clock; 0 for none.
    began: AtomicU64,
    count: AtomicU64,
    kept: Box<[[AtomicU64; 2]]>,
}

impl Default for Pauses {
    fn default() -> Self {
        Self {
            began: AtomicU64::new(0),
            count: AtomicU64::new(0),
            kept: (0..KEPT).map(|_| Default::default()).collect(),
        }
    }
}

impl Pauses {
    fn begin(&self, now: u64) {
        self.began.store(now, Ordering::Relaxed);
    }

    fn end(&self, now: u64) {
        let began = self.began.swap(0, Ordering::Relaxed);
        if began == 0 {
            return;
        }
        let count = self.count.load(Ordering::Relaxed);
        if let Some([from, to]) = self.kept.get(count as usize % KEPT) {
            from.store(began, Ordering::Relaxed);
            to.store(now, Ordering::Relaxed);
        }
        self.count.store(count + 1, Ordering::Release);
    }

    /// The parts of a call in which collections stopped the program, in the order of time.
    pub(super) fn within(&self, began: u64, wall: u64) -> Vec<SlowPause> {
        let count = self.count.load(Ordering::Acquire);
        let ended = began.saturating_add(wall);
        let mut found = Vec::new();
        // From the last one on: those before a call that just ended are many.
        for index in (count.saturating_sub(KEPT as u64)..count).rev() {
            let Some([from, to]) = self.kept.get(index as usize % KEPT) else {
                break;
            };
            let (from, to) = (from.load(Ordering::Relaxed), to.load(Ordering::Relaxed));
            if to <= began || found.len() == MOST {
                break;
            }
            let (from, to) = (from.max(began), to.min(ended));
            if from < to {
                found.push(SlowPause(from - began, to - from));
            }
        }
        found.reverse();
        found
    }
}

pub(super) unsafe extern "C" fn start(_env: *mut raw::jvmtiEnv) {
    SlowCalls::callback(|slow| slow.pauses.begin(monotonic_nanos()));
}

pub(super) unsafe extern "C" fn finish(_env: *mut raw::jvmtiEnv) {
    SlowCalls::callback(|slow| slow.pauses.end(monotonic_nanos()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_the_parts_of_pauses_in_it() {
        let pauses = Pauses::default();
        pauses.end(5);
        assert_eq!(
            pauses.within(0, 100),
            [],
            "the start of that one was not seen"
        );
        for (from, to) in [(10, 20), (40, 50), (90, 120)] {
            pauses.begin(from);
            pauses.end(to);
        }
        let expected = [SlowPause(0, 5), SlowPause(25, 10), SlowPause(75, 25)];
        assert_eq!(pauses.within(15, 100), expected);
        assert_eq!(pauses.within(120, 100), []);
        assert_eq!(pauses.within(50, 40), []);
    }

    #[test]
    fn the_last_pauses_are_kept() {
        let pauses = Pauses::default();
        for at in 1..=2 * KEPT as u64 {
            pauses.begin(at * 10);
            pauses.end(at * 10 + 1);
        }
        let all = pauses.within(0, u64::MAX);
        assert_eq!(all.len(), MOST);
        assert_eq!(all.last(), Some(&SlowPause(20 * KEPT as u64, 1)));
    }
}
