//! The threads that count, and what ended ones have counted.

use std::collections::HashMap;

use hprof_format::ids::ThreadSerial;

use super::automaton::NodeAddress;
use super::costs::{Cost, Costs, NodeCosts, spread};
use super::state::{State, Timing};
use super::ticks::{Tick, Ticks};
use crate::cpu_samples::signal::thread_cpu_nanos;

struct Thread {
    tid: i32,
    state: State,
    tick: Option<Tick>,
    /// What was counted up to the last dump.
    dumped: NodeCosts,
    /// Rounds in a row in which the thread did not run.
    idle: u32,
}

impl Thread {
    /// Books the CPU time since the last time to the current node.
    fn book(&mut self) {
        if self.state.head().book(thread_cpu_nanos(self.tid)) {
            self.idle = 0;
        } else {
            self.idle = self.idle.saturating_add(1);
        }
    }

    /// Adds what was counted since the last dump. `keep` when the thread goes on.
    fn add_to(&mut self, costs: &mut NodeCosts, nodes: usize, keep: bool) {
        for node in self.state.numbers(nodes) {
            // Read once: the thread goes on counting.
            let now = self.state.cost(node);
            if now == Cost::default() {
                continue;
            }
            let before = self.dumped.get(node);
            if now != before {
                let cost = costs.at(node);
                cost.calls += now.calls.wrapping_sub(before.calls);
                cost.nanos += now.nanos.saturating_sub(before.nanos);
                if keep {
                    *self.dumped.at(node) = now;
                }
            }
        }
    }
}

/// All threads that count, and what ended threads have counted.
pub(super) struct Threads {
    live: Vec<Thread>,
    ended: Costs,
    ended_count: u64,
    /// CPU nanoseconds of ended threads after they were last looked at.
    rests: HashMap<Option<ThreadSerial>, u64>,
    /// Memory of ended threads for new ones, counters zero.
    free: Vec<State>,
    nodes: usize,
    timing: Timing,
    /// Shared by threads that got no memory of their own. Its counts are not
    /// exact, and are left out.
    nobody: State,
    without_state: u64,
    ticks: Ticks,
    /// Places in `live` of the threads that the sampler looks at; made anew when
    /// it is not known.
    sampled: Option<Vec<usize>>,
}

/// States kept for new threads.
const MOST_FREE: usize = 16;
/// A thread that did not run for this many rounds is passed over until its timer
/// tells that it runs, or looked at every eighth round if it has none.
const IDLE_ROUNDS: u32 = 20;

impl Threads {
    /// For automata of up to `nodes` nodes. `None` without memory.
    pub(super) fn new(
        nodes: usize,
        root: NodeAddress,
        timing: Timing,
        ticks: Ticks,
    ) -> Option<Self> {
        Some(Self {
            live: Vec::new(),
            ended: Costs::new(),
            ended_count: 0,
            rests: HashMap::new(),
            free: Vec::new(),
            nodes,
            timing,
            nobody: State::new(nodes, root, timing)?,
            without_state: 0,
            ticks,
            sampled: None,
        })
    }

    /// The address of a state for thread `tid`, the current one; never null.
    pub(super) fn attach(&mut self, tid: i32, root: NodeAddress) -> usize {
        if let Some(thread) = self.live.iter().find(|thread| thread.tid == tid) {
            return thread.state.address();
        }
        let new = || State::new(self.nodes, root, self.timing);
        let state = self.free.pop().or_else(new);
        let Some(state) = state else {
            self.without_state += 1;
            return self.nobody();
        };
        state.begin(root, thread_cpu_nanos(tid));
        let address = state.address();
        // SAFETY: a state lives until `end`, which the thread calls itself.
        let tick = unsafe { self.ticks.start(tid, state.head_pointer()) };
        self.sampled = None;
        self.live.push(Thread {
            tid,
            state,
            tick,
            dumped: NodeCosts::default(),
            idle: 0,
        });
        address
    }

    /// The address of the state that counts for nobody.
    pub(super) fn nobody(&self) -> usize {
        self.nobody.address()
    }

    /// Merges what thread `tid`, the current one, has counted. It must not use its
    /// state any more.
    pub(super) fn end(&mut self, tid: i32, serial: Option<ThreadSerial>, nodes: usize) {
        let Some(at) = self.live.iter().position(|thread| thread.tid == tid) else {
            return;
        };
        let mut thread = self.live.swap_remove(at);
        self.sampled = None;
        if let Some(tick) = thread.tick.take() {
            self.ticks.end(tick);
        }
        // At its end it is in no method any more.
        if self.timing == Timing::Sampled {
            let rest = thread.state.head().advance(thread_cpu_nanos(tid));
            *self.rests.entry(serial).or_default() += rest;
        }
        thread.add_to(self.ended.entry(serial).or_default(), nodes, false);
        self.ended_count += 1;
        if self.free.len() < MOST_FREE {
            for node in thread.state.numbers(nodes) {
                thread.state.forget(node);
            }
            self.free.push(thread.state);
        }
    }

    /// Forgets the CPU time so far: it was the agent's.
    pub(super) fn forget_time(&mut self, nodes: usize) {
        for thread in &mut self.live {
            thread.book();
            for node in thread.state.numbers(nodes) {
                let Cost { nanos, .. } = thread.state.cost(node);
                if nanos > 0 {
                    *thread.dumped.at(node) = Cost { calls: 0, nanos };
                }
            }
        }
    }

    /// One round of the sampler.
    pub(super) fn book(&mut self, round: u32) {
        if Ticks::woken() {
            self.sampled = None;
        }
        let live = &mut self.live;
        let sampled = self.sampled.get_or_insert_with(|| {
            let awake = live.iter_mut().enumerate().filter_map(|(at, thread)| {
                if thread.state.is_idle() {
                    return None;
                }
                thread.idle = 0;
                Some(at)
            });
            awake.collect()
        });
        sampled.retain(|&at| {
            let Some(thread) = live.get_mut(at) else {
                return false;
            };
            if thread.idle < IDLE_ROUNDS || round.is_multiple_of(8) {
                thread.book();
            }
            let pass_over = thread.idle == IDLE_ROUNDS && thread.tick.is_some();
            if pass_over {
                thread.state.set_idle();
            }
            !pass_over
        });
    }

    /// All that was counted since the last time. `keep` unless it is the last time.
    pub(super) fn take(
        &mut self,
        nodes: usize,
        keep: bool,
        serial_of: &dyn Fn(i32) -> Option<ThreadSerial>,
    ) -> Costs {
        let mut costs = std::mem::take(&mut self.ended);
        spread(std::mem::take(&mut self.rests), &mut costs);
        for thread in &mut self.live {
            if self.timing == Timing::Sampled {
                thread.book();
            }
            let costs = costs.entry(serial_of(thread.tid)).or_default();
            thread.add_to(costs, nodes, keep);
        }
        costs
    }

    /// How many threads were counted.
    pub(super) fn seen(&self) -> u64 {
        self.ended_count + self.live.len() as u64
    }

    /// Threads whose calls are not counted, for want of memory.
    pub(super) fn without_state(&self) -> u64 {
        self.without_state
    }

    /// The threads' timers.
    pub(super) fn ticks(&self) -> &Ticks {
        &self.ticks
    }

    /// Threads that run now without a timer.
    pub(super) fn without_tick(&self) -> usize {
        let without = |thread: &&Thread| thread.tick.is_none();
        self.live.iter().filter(without).count()
    }
}
