//! The safepoint engine: the stacks of all running threads at once, by the VM.
//!
//! It works on every VM and cannot crash, but a thread is only seen at a
//! safepoint poll, so loops without one are charged to the code after them. A
//! thread counts by the advance of its CPU clock, not by its state: RUNNABLE
//! includes threads that block in native code.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::names::Location;
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

/// Takes samples at absolute deadlines.
pub struct SafepointSampler {
    interval: Duration,
    depth: u32,
    next: Instant,
    clocks: HashMap<u32, Clock>,
}

/// A thread's CPU clock: how far it was counted, and when it was last seen.
struct Clock {
    counted_nanos: u64,
    round: Instant,
}

impl SafepointSampler {
    /// A sampler whose first round is one interval from now.
    pub fn new(interval: Duration, depth: u32) -> Self {
        Self {
            interval,
            depth,
            next: Instant::now() + interval,
            clocks: HashMap::new(),
        }
    }

    /// Keeps this many frames from now on.
    pub fn set_depth(&mut self, depth: u32) {
        self.depth = depth;
    }

    /// How long until the next round.
    pub fn wait(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Whether a round is due.
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// Takes the stacks of the threads whose CPU clocks moved by an interval or
    /// more. `serial_of` names a thread, or tells that it must not be sampled.
    ///
    /// # Errors
    /// The VM's error; the next round may work again.
    pub fn round(
        &mut self,
        vm: Vm<'_>,
        mut serial_of: impl FnMut(Ref<'_>) -> Option<u32>,
    ) -> Result<Vec<SafepointSample>> {
        let Vm { jvmti, jni } = vm;
        let now = Instant::now();
        // Rounds that were missed are skipped: what the threads did meanwhile is
        // in their clocks.
        while self.next <= now {
            self.next += self.interval;
        }
        let jni = &*jni.large_local_frame();
        let threads = jvmti.all_threads(jni)?;
        let interval = self.interval.as_nanos().max(1) as u64;
        let mut running = Vec::new();
        let mut found = Vec::new();
        for thread in threads {
            let Some(serial) = serial_of(thread.get()) else {
                continue;
            };
            let Ok(cpu) = jvmti.thread_cpu_nanos(thread.get()) else {
                continue;
            };
            let clock = self.clocks.entry(serial).or_insert(Clock {
                counted_nanos: cpu,
                round: now,
            });
            clock.round = now;
            let weight = cpu.saturating_sub(clock.counted_nanos) / interval;
            let state = jvmti.thread_state(thread.get());
            if weight > 0 && state.is_ok_and(|s| s.is_runnable() && !s.is_suspended()) {
                clock.counted_nanos += weight * interval;
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
