//! Which allocations are sampled, and what they stand for.
//!
//! Along the bytes that a thread allocates, points lie at random, `interval` bytes apart on average (a Poisson process).
//! A block of `size` bytes with a point in it is sampled: with the probability `p = 1 - exp(-size / interval)`. It stands
//! for `size / p` bytes and `1 / p` blocks, so that sums are right on average, whatever the sizes are.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use super::stacks::FRACTION;
use crate::os::random::random;

/// Mean distance in bytes between two points.
static INTERVAL: AtomicU64 = AtomicU64::new(0);

/// A thread's own state.
struct ThreadState {
    /// Bytes to the next point.
    left: Cell<u64>,
    /// The state of the random numbers; 0 before the first.
    random: Cell<u64>,
    /// A hook is at work.
    is_inside: Cell<bool>,
}

thread_local! {
    /// Without a destructor, so that it is there until the thread is gone.
    static THREAD: ThreadState = const {
        ThreadState {
            left: Cell::new(0),
            random: Cell::new(0),
            is_inside: Cell::new(false),
        }
    };
}

/// A hook that is at work. Others on the same thread only call the function.
pub(super) struct Inside;

impl Inside {
    /// `None` inside of another hook.
    pub(super) fn enter() -> Option<Self> {
        THREAD.with(|thread| match thread.is_inside.replace(true) {
            true => None,
            false => Some(Self),
        })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        THREAD.with(|thread| thread.is_inside.set(false));
    }
}

/// Sets the mean distance for points to come.
pub(super) fn set_interval(bytes: u64) {
    INTERVAL.store(bytes.max(1), Ordering::Relaxed);
}

/// Allocations of the current thread are not sampled from now on.
pub(super) fn ignore_current_thread() {
    THREAD.with(|thread| thread.is_inside.set(true));
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
        if thread.random.get() == 0 {
            let here = std::ptr::from_ref(thread) as u64;
            thread.random.set((random() ^ here).max(1));
            thread.left.set(distance(thread, interval));
            if !passes(size) {
                return None;
            }
        }
        thread.left.set(distance(thread, interval));
        (size > 0).then(|| weight(size as u64, interval))
    })
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

    #[test]
    fn hooks_do_not_nest() {
        let outer = Inside::enter();
        assert!(outer.is_some() && Inside::enter().is_none());
        drop(outer);
        assert!(Inside::enter().is_some());
    }
}
