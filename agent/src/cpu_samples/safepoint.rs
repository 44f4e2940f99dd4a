//! The safepoint engine: the stacks of all running threads at once, by the VM.
//!
//! It works on every VM and cannot crash, but a thread is only seen at a
//! safepoint poll, so loops without one are charged to the code after them. A
//! thread counts by the advance of its CPU clock, not by its state: RUNNABLE
//! includes threads that block in native code.
//!
//! Rounds come at random steps, whose mean is the interval, so that no work of the program is in step with them. A round
//! counts the [`Moments`] since the one before, whose number does not depend on when the round is: more after a long
//! step, fewer after a short one.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use super::signal::Moments;
use crate::names::Location;
use crate::os::random::random;
use crate::vm::{Ref, Result, Vm};

/// A stack as the VM gave it.
pub struct SafepointSample {
    /// The value of the thread's local storage: its serial, or 0.
    pub thread: u32,
    /// Intervals of CPU time that the thread burnt since it was last counted.
    pub weight: u64,
    /// The frames, innermost first.
    pub frames: Vec<Location>,
}

/// Takes samples, once per interval in the mean.
pub struct SafepointSampler {
    interval: Duration,
    depth: u32,
    next: Instant,
    clocks: HashMap<u32, Clock>,
}

/// A thread's CPU clock: the moment up to which it was counted, and when it was last seen.
struct Clock {
    moments: Moments,
    round: Instant,
}

impl SafepointSampler {
    /// A sampler whose first round is about one interval from now.
    pub fn new(interval: Duration, depth: u32) -> Self {
        Self {
            interval,
            depth,
            next: Instant::now() + random_step(interval),
            clocks: HashMap::new(),
        }
    }

    /// Keeps this many frames from now on.
    pub fn set_depth(&mut self, depth: u32) {
        self.depth = depth;
    }

    /// Counts a thread from these moments of its CPU clock on.
    pub fn adopt(&mut self, thread: u32, moments: Moments) {
        let round = Instant::now();
        self.clocks.insert(thread, Clock { moments, round });
    }

    /// How long until the next round.
    pub fn wait(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Returns true if a round is due.
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// Takes the stacks of the threads whose CPU clocks moved by an interval or
    /// more. `sampled` gives a thread's serial and CPU clock, or tells that it must not be sampled.
    ///
    /// # Errors
    /// The VM's error; the next round may work again.
    pub fn round(
        &mut self,
        vm: Vm<'_>,
        mut sampled: impl FnMut(Ref<'_>) -> Option<(u32, u64)>,
    ) -> Result<Vec<SafepointSample>> {
        let Vm { jvmti, jni } = vm;
        let now = Instant::now();
        // Rounds that were missed are skipped: what the threads did meanwhile is
        // in their clocks.
        while self.next <= now {
            self.next += random_step(self.interval);
        }
        let jni = &*jni.large_local_frame();
        let threads = jvmti.all_threads(jni)?;
        let interval = u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX);
        let interval = NonZeroU64::new(interval).unwrap_or(NonZeroU64::MIN);
        let mut running = Vec::new();
        let mut found = Vec::new();
        for thread in threads {
            let Some((serial, cpu)) = sampled(thread.get()) else {
                continue;
            };
            let clock = self.clocks.entry(serial).or_insert(Clock {
                moments: Moments::begin(cpu, interval, random()),
                round: now,
            });
            clock.round = now;
            if clock.moments.next > cpu {
                continue;
            }
            let state = jvmti.thread_state(thread.get());
            if state.is_ok_and(|s| s.is_runnable() && !s.is_suspended()) {
                let weight = clock.moments.pass(cpu, interval, random);
                running.push((serial, weight));
                found.push(thread);
            }
        }
        self.clocks.retain(|_, clock| clock.round == now);
        let raw: Vec<Ref<'_>> = found.iter().map(|thread| thread.get()).collect();
        let stacks = jvmti.thread_stacks(&raw, self.depth)?;
        Ok(running
            .into_iter()
            .zip(stacks)
            .map(|((thread, weight), stack)| SafepointSample {
                thread,
                weight,
                frames: stack.frames.iter().map(Location::from).collect(),
            })
            .collect())
    }
}

/// The time to the next round of a sampler that looks at threads.
pub(super) fn random_step(interval: Duration) -> Duration {
    step(interval, random())
}

/// The time between two rounds: half an interval to one and a half, by an evenly spread number. After any such step, work
/// of the period of the interval may be anywhere.
fn step(interval: Duration, random: u64) -> Duration {
    let nanos = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    let part = random.checked_rem(nanos).unwrap_or(0);
    // At least a nanosecond, so that steps lead on.
    Duration::from_nanos((nanos / 2).saturating_add(part).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_mean_step_is_the_interval() {
        let interval = Duration::from_millis(10);
        let steps = (0..10_000).map(|n| step(interval, n * 1_000));
        let mean = steps.sum::<Duration>() / 10_000;
        assert!(
            mean.abs_diff(interval) < Duration::from_micros(1),
            "{mean:?}"
        );
    }

    proptest! {
        #[test]
        fn steps_have_bounds(interval: u64, random: u64) {
            let interval = Duration::from_nanos(interval);
            let step = step(interval, random);
            prop_assert!(step >= interval / 2 && step > Duration::ZERO);
            prop_assert!(step.as_nanos() <= interval.as_nanos() * 3 / 2 + 1);
        }
    }
}
