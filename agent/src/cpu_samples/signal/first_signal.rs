//! The weight of a thread's first signal.
//!
//! The kernel looks at a thread's timers only at the scheduler's tick, every 1
//! to 10 ms. An expiry is noticed by the next tick that hits the thread, and
//! lost if the thread ends before. A program of many short threads would look
//! idle: at 250 ticks a second, three of four threads that live for 1 ms are
//! never hit.
//!
//! So the timer's first expiry is at once, and the first tick that hits the
//! thread always signals. On average such a tick represents one tick's length of
//! CPU time, whatever the thread's life: that is what the first signal counts,
//! rounded at random to whole intervals. From there on there is one random
//! [moment](super::moments) in each interval, and every tick finds those that are due. In the
//! mean over threads the counts are then their CPU time, exactly.

use std::num::NonZeroU64;

use crate::os::random::random;

/// How a signal is counted that represents a time, whatever the clock says.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstSignal {
    interval_nanos: NonZeroU64,
    whole: u32,
    rest_nanos: u64,
}

impl FirstSignal {
    /// It represents this many nanoseconds: those of a scheduler's tick for a thread's first signal.
    pub(super) fn new(interval: NonZeroU64, represented_nanos: u64) -> Self {
        Self {
            interval_nanos: interval,
            whole: u32::try_from(represented_nanos / interval).unwrap_or(u32::MAX),
            rest_nanos: represented_nanos % interval,
        }
    }

    /// Whole intervals that the signal counts; may be none. Safe in a
    /// signal handler.
    pub(super) fn weight(&self) -> u32 {
        self.weight_at(random())
    }

    fn weight_at(&self, random: u64) -> u32 {
        let up = random % self.interval_nanos < self.rest_nanos;
        self.whole.saturating_add(u32::from(up))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean weight over evenly spread random numbers.
    fn mean(interval_ms: u64, tick_ms: u64) -> f64 {
        let interval = NonZeroU64::new(interval_ms * 1_000_000).unwrap();
        let first = FirstSignal::new(interval, tick_ms * 1_000_000);
        let draws = 1000 * interval_ms;
        let sum: u64 = (0..draws)
            .map(|n| u64::from(first.weight_at(n * 1000)))
            .sum();
        sum as f64 / draws as f64
    }

    #[test]
    fn a_first_signal_counts_a_tick_in_the_mean() {
        assert_eq!(mean(1, 4), 4.0);
        assert_eq!(mean(10, 4), 0.4);
        assert_eq!(mean(3, 4), 4.0 / 3.0);
        assert_eq!(mean(10, 0), 0.0);
    }
}
