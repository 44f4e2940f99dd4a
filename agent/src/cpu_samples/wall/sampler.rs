//! Looks at threads in turn.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hprof_format::ids::TraceSerial;
use hprof_native_headers as raw;

use super::super::safepoint::random_step;
use super::super::signal::{Moments, Sent};
use super::running::RunningTime;
use super::state::WallState;
use super::threads::{WallThread, WallThreads};
use crate::names::Location;
use crate::os::random::random;
use crate::os::{task, timer};
use crate::vm::{Ref, Vm};

/// Threads that are looked at per interval. A look without news takes about half a microsecond.
pub const MAX_LOOKS: usize = 512;
/// Stacks that are asked for per interval: all are taken at one safepoint.
const MAX_STACKS: usize = 64;

/// The result of a look at a thread that does not run.
pub struct Look {
    /// The thread's serial.
    pub thread: u32,
    /// Intervals that it counts.
    pub weight: u64,
    /// Its state.
    pub seen: Seen,
}

/// The state of a thread that does not run.
pub enum Seen {
    /// As at the last look.
    Unchanged(Waiting),
    /// Something new, for [`WallSampler::note`] to remember.
    New {
        /// The thread's place in the sampler.
        place: usize,
        /// Its state.
        state: WallState,
        /// Its stack, innermost frame first.
        frames: Vec<Location>,
    },
}

/// A thread's trace and state as long as its CPU clock stands.
#[derive(Clone, Copy)]
pub struct Waiting {
    /// The trace of its stack.
    pub trace: TraceSerial,
    /// Its state.
    pub state: WallState,
}

/// A thread and the last look at it.
struct Entry {
    thread: Arc<WallThread>,
    /// The number of moments at the last look; `None` before the first.
    looked: Option<u64>,
    time: RunningTime,
    waiting: Option<Waiting>,
}

/// A thread whose stack the VM is asked for.
struct Asked {
    place: usize,
    thread: Arc<WallThread>,
    weight: u64,
    /// The states of one that wants a CPU, and the intervals of each.
    weights: Option<[(WallState, u64); 2]>,
}

/// Takes samples once per interval in the mean, at random steps.
///
/// A look counts the [`Moments`] since the last one of the thread, on the system's clock. A look that is late, as the
/// machine is busy, counts more of them, wherever it falls. Intervals that are counted as they end would not do: late
/// looks would count more at their beginning, where work of the same period is always at the same place.
pub struct WallSampler {
    interval: Duration,
    depth: u32,
    /// When counting began, and the next moment after it.
    began: Instant,
    moments: Moments,
    /// Moments so far.
    number: u64,
    due: Instant,
    entries: Vec<Entry>,
    /// The place of the next look.
    next: usize,
    looks: u64,
    stacks: u64,
    /// Threads that were found to block the signal, by kernel thread id, since the last question.
    deaf: Vec<i32>,
}

impl WallSampler {
    /// A sampler whose first interval begins now.
    pub fn new(interval: Duration, depth: u32) -> Self {
        let began = Instant::now();
        Self {
            interval,
            depth,
            began,
            moments: Moments::begin(0, nanos(interval), random()),
            number: 0,
            due: began + random_step(interval),
            entries: Vec::new(),
            next: 0,
            looks: 0,
            stacks: 0,
            deaf: Vec::new(),
        }
    }

    /// Keeps this many frames from now on.
    pub fn set_depth(&mut self, depth: u32) {
        self.depth = depth;
        self.entries
            .iter_mut()
            .for_each(|entry| entry.waiting = None);
    }

    /// Leaves out the time until now.
    pub fn skip(&mut self) {
        self.began = Instant::now();
        self.moments = Moments::begin(0, nanos(self.interval), random());
        self.due = self.began + random_step(self.interval);
    }

    /// How long until the next round.
    pub fn wait(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Returns true if a round is due.
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// Looks at threads so far, and stacks asked for.
    pub fn counts(&self) -> (u64, u64) {
        (self.looks, self.stacks)
    }

    /// Takes over threads that have come, and forgets those that have ended.
    pub fn adopt(&mut self, threads: &WallThreads) {
        let arrived = threads.take_arrived();
        if arrived.is_empty() {
            return;
        }
        self.entries.retain(|entry| !entry.thread.has_ended());
        let new = arrived.into_iter().filter(|thread| !thread.has_ended());
        self.entries.extend(new.map(|thread| Entry {
            thread,
            looked: None,
            time: RunningTime::default(),
            waiting: None,
        }));
    }

    /// Threads that were found to block the signal since the last call, by kernel thread id.
    pub fn take_deaf(&mut self) -> Vec<i32> {
        std::mem::take(&mut self.deaf)
    }

    /// Looks at the threads whose turn it is. `sample` has a thread that runs sample itself, given its CPU clock, for as
    /// many intervals, the second number being those for which it had no CPU. `is_muted`
    /// tells which serials are left out.
    pub fn round(
        &mut self,
        vm: Vm<'_>,
        mut sample: impl FnMut(&WallThread, (u32, u32), u64) -> Sent,
        is_muted: impl Fn(u32) -> bool,
    ) -> Vec<Look> {
        let passed = self.begin_round();
        if passed == 0 {
            return Vec::new();
        }
        let count = self.entries.len();
        // A thread that comes is in as many rounds as it would be in had it lived for ever.
        let first_weight = passed.saturating_mul(count.div_ceil(MAX_LOOKS).max(1) as u64);
        let mut found = Vec::new();
        let mut asked = Vec::new();
        for _ in 0..count.min(MAX_LOOKS) {
            if asked.len() == MAX_STACKS {
                break;
            }
            if self.next >= count {
                self.next = 0;
            }
            let place = self.next;
            self.next += 1;
            let (number, interval) = (self.number, self.interval);
            let Some(entry) = self.entries.get_mut(place) else {
                break;
            };
            let weight = match entry.looked.replace(number) {
                Some(looked) => number.saturating_sub(looked),
                None => first_weight,
            };
            let cpu = timer::thread_cpu_nanos(entry.thread.tid);
            if cpu == 0 {
                // The kernel knows the thread no more.
                entry.thread.end();
            }
            if entry.thread.has_ended() || is_muted(entry.thread.serial) || weight == 0 {
                continue;
            }
            self.looks += 1;
            if entry.time.stands_at(cpu)
                && let Some(waiting) = entry.waiting
            {
                found.push(Look {
                    thread: entry.thread.serial,
                    weight,
                    seen: Seen::Unchanged(waiting),
                });
                continue;
            }
            entry.time.note(cpu, weight, interval);
            let mut weights = None;
            if task::wants_cpu(entry.thread.tid) {
                let running = entry.time.take(weight, interval);
                let counted = [running, weight - running]
                    .map(|weight| u32::try_from(weight).unwrap_or(u32::MAX));
                let before = match sample(&entry.thread, counted.into(), cpu) {
                    Sent::Yes => {
                        entry.waiting = None;
                        continue;
                    }
                    Sent::No => (0, 0),
                    Sent::Unheard(0, 0) => (0, 0),
                    Sent::Unheard(running, ready) => {
                        self.deaf.push(entry.thread.tid);
                        (running, ready)
                    }
                };
                weights = Some([
                    (WallState::Running, running + u64::from(before.0)),
                    (WallState::Runnable, weight - running + u64::from(before.1)),
                ]);
            }
            asked.push(Asked {
                place,
                thread: Arc::clone(&entry.thread),
                weight,
                weights,
            });
        }
        self.ask(vm, &asked, &mut found);
        found
    }

    /// Remembers the trace of a new stack until the thread's CPU clock moves.
    pub fn note(&mut self, place: usize, waiting: Waiting) {
        if let Some(entry) = self.entries.get_mut(place) {
            // What may run at any time is looked at anew.
            let is_still = !matches!(waiting.state, WallState::Running | WallState::Runnable);
            entry.waiting = is_still.then_some(waiting);
        }
    }

    /// Says when the next round is due; returns how many moments have passed since the last one.
    fn begin_round(&mut self) -> u64 {
        let now = Instant::now();
        while self.due <= now {
            self.due += random_step(self.interval);
        }
        let time = now.saturating_duration_since(self.began).as_nanos();
        let time = u64::try_from(time).unwrap_or(u64::MAX);
        let passed = self.moments.pass(time, nanos(self.interval), random);
        self.number = self.number.saturating_add(passed);
        passed
    }

    /// Asks the VM for stacks, all at one moment.
    fn ask(&mut self, vm: Vm<'_>, asked: &[Asked], found: &mut Vec<Look>) {
        let references: Vec<Ref<'_>> = asked.iter().map(|it| it.thread.object.get()).collect();
        // One that has ended meanwhile has no frames, and its state says so.
        let Ok(stacks) = vm.jvmti.thread_stacks(&references, self.depth) else {
            return;
        };
        self.stacks += stacks.len() as u64;
        let ended = raw::JVMTI_THREAD_STATE_TERMINATED;
        let looks = asked.iter().zip(stacks);
        for (asked, stack) in looks.filter(|(_, stack)| !stack.state.has(ended)) {
            let frames: Vec<Location> = stack.frames.iter().map(Location::from).collect();
            let one = [(WallState::of(stack.state), asked.weight)];
            let weights = asked.weights.as_ref().map_or(&one[..], |two| &two[..]);
            let weights = weights.iter().filter(|(_, weight)| *weight > 0);
            found.extend(weights.map(|&(state, weight)| Look {
                thread: asked.thread.serial,
                weight,
                seen: Seen::New {
                    place: asked.place,
                    state,
                    frames: frames.clone(),
                },
            }));
        }
    }
}

fn nanos(interval: Duration) -> NonZeroU64 {
    let nanos = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    NonZeroU64::new(nanos).unwrap_or(NonZeroU64::MIN)
}
