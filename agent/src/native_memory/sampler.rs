//! Which allocations are sampled, and what they stand for.
//!
//! Along the bytes that a thread allocates, points lie at random, `interval` bytes apart on average (a Poisson process).
//! A block of `size` bytes with a point in it is sampled: with the probability `p = 1 - exp(-size / interval)`. It stands
//! for `size / p` bytes and `1 / p` blocks, so that sums are right on average, whatever the sizes are.
//!
//! # The limit
//!
//! A program that does little but allocate passes gigabytes in a second, and samples would take a large part of its time. So a
//! thread that takes one more often than each [`SAMPLE_NANOS`] has its points farther apart, at most [`MAX_FACTOR`] times. The
//! distance is known before a block is seen, so sums stay right on average; they are less exact. Small intervals
//! ([`LEAST_LIMITED`]) are for those who want them exact, and have no limit.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::os::random::random;
use crate::os::timer::current_cpu_nanos;

/// Parts of a block that counts are kept in: a sampled block stands for some number of blocks, not a whole one.
pub(super) const FRACTION: u64 = 1 << 8;

/// Mean distance in bytes between two points, of threads that are below the limit.
static INTERVAL: AtomicU64 = AtomicU64::new(0);

/// Samples whose thread had reached the limit.
static LIMITED: AtomicU64 = AtomicU64::new(0);

/// The intervals from which on there is a limit.
const LEAST_LIMITED: u64 = 256 << 10;
/// CPU time between two samples of a thread, at least. A sample takes one to four microseconds.
const SAMPLE_NANOS: u64 = 400_000;
/// The distance of points is as many times the interval at most.
const MAX_FACTOR: u64 = 32;
/// Samples after which the distance is looked at, or the CPU time if that is over first.
const ROUND: u64 = 16;
const ROUND_NANOS: u64 = ROUND * SAMPLE_NANOS;
/// The distance changes by this factor at most.
const STEP: u64 = 4;

/// A thread's own state.
struct ThreadState {
    /// Bytes to the next point.
    left: Cell<u64>,
    /// The state of the random numbers; 0 before the first.
    random: Cell<u64>,
    /// The distance that the limit asks for, and the interval that it belongs to; 0 before the first.
    mean: Cell<u64>,
    of_interval: Cell<u64>,
    /// The thread's CPU clock when the limit was looked at last, and samples since.
    round_start: Cell<u64>,
    round_samples: Cell<u64>,
}

thread_local! {
    /// Without a destructor, so that it is there until the thread is gone.
    static THREAD: ThreadState = const {
        ThreadState {
            left: Cell::new(0),
            random: Cell::new(0),
            mean: Cell::new(0),
            of_interval: Cell::new(0),
            round_start: Cell::new(0),
            round_samples: Cell::new(0),
        }
    };
}

/// Sets the mean distance for points to come.
pub(super) fn set_interval(bytes: u64) {
    INTERVAL.store(bytes.max(1), Ordering::Relaxed);
}

/// Samples whose thread had reached the limit, since the process began.
pub(super) fn limited() -> u64 {
    LIMITED.load(Ordering::Relaxed)
}

/// Passes an allocation by. Returns true if a point may be in it.
#[inline]
pub(super) fn passes(size: usize) -> bool {
    THREAD.with(|thread| {
        let left = thread.left.get();
        let is_before = (size as u64) < left;
        if is_before {
            thread.left.set(left.wrapping_sub(size as u64));
        }
        !is_before
    })
}

/// The bytes and blocks that an allocation stands for, if a point is in it; the next point lies behind it.
#[cold]
pub(super) fn sample(size: usize) -> Option<(u64, u64)> {
    let interval = INTERVAL.load(Ordering::Relaxed);
    THREAD.with(|thread| {
        if thread.random.get() == 0 || thread.of_interval.get() != interval {
            let here = std::ptr::from_ref(thread) as u64;
            thread.random.set((random() ^ here).max(1));
            thread.of_interval.set(interval);
            thread.begin_round(interval, current_cpu_nanos());
            thread.left.set(distance(thread, interval));
            if !passes(size) {
                return None;
            }
        }
        let mean = thread.mean.get();
        let found = (size > 0).then(|| weight(size as u64, mean));
        if mean > interval {
            LIMITED.fetch_add(1, Ordering::Relaxed);
        }
        if interval >= LEAST_LIMITED {
            thread.keep_to_limit(interval, current_cpu_nanos());
        }
        thread.left.set(distance(thread, thread.mean.get()));
        found
    })
}

impl ThreadState {
    fn begin_round(&self, mean: u64, now: u64) {
        self.mean.set(mean);
        self.round_start.set(now);
        self.round_samples.set(0);
    }

    /// Counts a sample, and changes the distance of points to come where they are too close, or farther apart than they have to be.
    fn keep_to_limit(&self, interval: u64, now: u64) {
        let samples = self.round_samples.get().saturating_add(1);
        self.round_samples.set(samples);
        let passed = now.saturating_sub(self.round_start.get());
        // Without a clock there is no limit.
        if now == 0 || samples < ROUND && passed < ROUND_NANOS {
            return;
        }
        let mean = self.mean.get();
        let wanted = samples.saturating_mul(SAMPLE_NANOS);
        let scaled = u128::from(mean) * u128::from(wanted) / u128::from(passed.max(1));
        let scaled = u64::try_from(scaled).unwrap_or(u64::MAX);
        let stepped = scaled.clamp(mean / STEP, mean.saturating_mul(STEP));
        let most = interval.saturating_mul(MAX_FACTOR);
        self.begin_round(stepped.clamp(interval, most), now);
    }
}

/// The bytes and blocks that a sampled block stands for.
fn weight(size: u64, interval: u64) -> (u64, u64) {
    let probability = -(-(size as f64) / interval.max(1) as f64).exp_m1();
    let bytes = (size as f64 / probability).round();
    let blocks = (FRACTION as f64 / probability).round();
    (bytes as u64, blocks as u64)
}

/// The distance to the next point: exponential, at least a byte.
fn distance(thread: &ThreadState, interval: u64) -> u64 {
    // xorshift64*, whose upper 53 bits are a number in [0, 1).
    let mut state = thread.random.get();
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    thread.random.set(state);
    let uniform = (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64;
    let distance = -(1.0 - uniform).ln() * interval as f64;
    (distance.ceil() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of what is sampled is that of what is allocated, within four standard errors. With blocks of `size`
    /// bytes, of which a share `p` is sampled, the standard error of the sum of `n` is `size * sqrt(n * (1 - p) / p)`.
    #[test]
    fn sums_are_unbiased_for_all_sizes() {
        let interval = 4096;
        set_interval(interval);
        for size in [1usize, 100, 4000, 4096, 20_000, 1 << 20] {
            let n = 400_000 / size.ilog2().max(1) as usize;
            let (mut bytes, mut blocks) = (0u64, 0u64);
            for _ in 0..n {
                if passes(size)
                    && let Some((more, count)) = sample(size)
                {
                    bytes += more;
                    blocks += count;
                }
            }
            let p = 1.0 - (-(size as f64) / interval as f64).exp();
            let error = size as f64 * (n as f64 * (1.0 - p) / p).sqrt() + n as f64 * p;
            let truth = (n * size) as f64;
            assert!(
                (bytes as f64 - truth).abs() <= 4.0 * error,
                "{size}: {bytes} {truth} {error}"
            );
            let blocks = blocks as f64 / FRACTION as f64;
            let error = error / size as f64 + n as f64 / FRACTION as f64;
            assert!(
                (blocks - n as f64).abs() <= 4.0 * error,
                "{size}: {blocks} {n}"
            );
        }
    }

    /// A thread that takes samples every 4 microseconds has its points 32 times as far apart, and nearly at their
    /// distance again when it takes one each second.
    #[test]
    fn points_are_farther_apart_where_samples_are_many() {
        let interval = LEAST_LIMITED;
        THREAD.with(|thread| {
            thread.begin_round(interval, 0);
            let mut now = 0;
            for _ in 0..10 * ROUND {
                now += 4_000;
                thread.keep_to_limit(interval, now);
            }
            assert_eq!(thread.mean.get(), MAX_FACTOR * interval);
            for _ in 0..3 {
                now += 1_000_000_000;
                thread.keep_to_limit(interval, now);
            }
            assert_eq!(thread.mean.get(), interval);
        });
    }
}
