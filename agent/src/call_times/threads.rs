//! The threads that count, and what ended ones have counted.

use std::collections::HashMap;

use hprof_format::ids::ThreadSerial;
use hprof_lockfree::nodes::NodeNumber;

use super::costs::{Cost, Costs, NodeCosts, spread};
use super::plan::Arrival;
use super::state::{CallClock, State};
use super::thread_timers::{ThreadTimer, ThreadTimers};
use crate::os::timer::thread_cpu_nanos;

struct Thread {
    tid: i32,
    state: State,
    timer: Option<ThreadTimer>,
    /// The counts up to the last dump.
    dumped: NodeCosts,
    /// Rounds in a row in which the thread did not run.
    idle: u32,
}

impl Thread {
    /// Books the CPU time since the last time to the current node.
    fn book(&mut self) {
        if self.state.counters().book(thread_cpu_nanos(self.tid)) {
            self.idle = 0;
        } else {
            self.idle = self.idle.saturating_add(1);
        }
    }

    /// Adds what was counted since the last dump. `keep` if the thread continues.
    fn add_to(&mut self, costs: &mut NodeCosts, nodes: usize, keep: bool) {
        for node in self.state.numbers(nodes) {
            // Read once: the thread continues to count.
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
    timing: CallClock,
    /// Shared by threads that got no memory of their own. Its counts are not
    /// exact, and are left out.
    shared_state: State,
    without_state: u64,
    timers: ThreadTimers,
    activity: Activity,
    /// Places in `live` of the threads that the sampler checks; rebuilt when
    /// it is not known.
    sampled: Option<Vec<usize>>,
}

/// The state of the counting of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    Counting,
    /// Not now: classes have no hooks.
    Paused,
    /// Not any more: threads that still call a hook count for shared_state.
    Over,
}

/// A thread that did not run for this many rounds is passed over until its timer
/// tells that it runs, or looked at every eighth round if it has none.
const IDLE_ROUNDS: u32 = 20;

impl Threads {
    /// For automata of up to `nodes` nodes. `None` without memory.
    pub(super) fn new(
        nodes: usize,
        timing: CallClock,
        timers: ThreadTimers,
        arrival: Arrival,
    ) -> Option<Self> {
        Some(Self {
            live: Vec::new(),
            ended: Costs::new(),
            ended_count: 0,
            rests: HashMap::new(),
            free: Vec::new(),
            nodes,
            timing,
            shared_state: State::new(nodes, timing)?,
            without_state: 0,
            timers,
            activity: match arrival {
                Arrival::Early => Activity::Counting,
                // Until all classes have hooks.
                Arrival::Late => Activity::Paused,
            },
            sampled: None,
        })
    }

    /// The address of a state for thread `tid`, the current one; never null.
    pub(super) fn attach(&mut self, tid: i32) -> usize {
        if self.activity == Activity::Over {
            return self.shared_state();
        }
        if let Some(thread) = self.live.iter().find(|thread| thread.tid == tid) {
            return thread.state.address();
        }
        let new = || State::new(self.nodes, self.timing);
        let state = self.free.pop().or_else(new);
        let Some(state) = state else {
            self.without_state += 1;
            return self.shared_state();
        };
        state.begin(thread_cpu_nanos(tid));
        let address = state.address();
        let timer = match self.activity {
            Activity::Counting => self.timers.start(tid, state.counters()),
            Activity::Paused | Activity::Over => None,
        };
        self.sampled = None;
        self.live.push(Thread {
            tid,
            state,
            timer,
            dumped: NodeCosts::default(),
            idle: 0,
        });
        address
    }

    /// The address of the state that counts for shared_state.
    pub(super) fn shared_state(&self) -> usize {
        self.shared_state.address()
    }

    /// Merges what thread `tid`, the current one, has counted. It must not use its
    /// state any more.
    pub(super) fn end(&mut self, tid: i32, serial: Option<ThreadSerial>, nodes: usize) {
        let Some(at) = self.live.iter().position(|thread| thread.tid == tid) else {
            return;
        };
        let mut thread = self.live.swap_remove(at);
        self.sampled = None;
        if let Some(timer) = thread.timer.take() {
            self.timers.end(timer);
        }
        if self.timing == CallClock::Sampled && self.activity == Activity::Counting {
            let rest = thread.state.counters().advance(thread_cpu_nanos(tid));
            *self.rests.entry(serial).or_default() += rest;
        }
        thread.add_to(self.ended.entry(serial).or_default(), nodes, false);
        self.ended_count += 1;
        thread.state.forget_all(nodes);
        self.free.push(thread.state);
    }

    /// Stops booking CPU time, as classes have no hooks now.
    pub(super) fn pause(&mut self) {
        if self.activity != Activity::Counting {
            return;
        }
        for thread in &mut self.live {
            if self.timing == CallClock::Sampled {
                thread.book();
            }
            if let Some(timer) = thread.timer.take() {
                self.timers.end(timer);
            }
        }
        self.activity = Activity::Paused;
    }

    /// Resets paths: methods that are called again after a pause do not report it.
    pub(super) fn restart_paths(&mut self) {
        for thread in &self.live {
            thread.state.counters().set_node(NodeNumber::ROOT);
        }
    }

    /// Continues after a pause. The CPU time until now is not counted.
    pub(super) fn resume(&mut self) {
        if self.activity != Activity::Paused {
            return;
        }
        self.activity = Activity::Counting;
        self.sampled = None;
        for thread in &mut self.live {
            thread.state.skip_to(thread_cpu_nanos(thread.tid));
            thread.timer = self.timers.start(thread.tid, thread.state.counters());
        }
    }

    /// Forgets all threads, after a pause. No timer and no signal handler stays.
    pub(super) fn detach(&mut self, nodes: usize) {
        self.pause();
        self.activity = Activity::Over;
        self.sampled = None;
        for thread in self.live.drain(..) {
            thread.state.forget_all(nodes);
            self.free.push(thread.state);
        }
        self.ended.clear();
        self.rests.clear();
        self.timers.detach();
    }

    /// Restarts, after the end, with a pause.
    pub(super) fn begin_again(&mut self, timers: ThreadTimers) {
        self.timers = timers;
        (self.ended_count, self.without_state) = (0, 0);
        self.activity = Activity::Paused;
    }

    /// Returns true if all has ended, so that it may restart.
    pub(super) fn is_over(&self) -> bool {
        self.activity == Activity::Over
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
        if ThreadTimers::woken() {
            self.sampled = None;
        }
        let live = &mut self.live;
        let sampled = self.sampled.get_or_insert_with(|| {
            let awake = live.iter_mut().enumerate().filter_map(|(at, thread)| {
                if thread.state.counters().is_idle() {
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
            let pass_over = thread.idle == IDLE_ROUNDS && thread.timer.is_some();
            if pass_over {
                thread.state.counters().set_idle(true);
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
            if self.timing == CallClock::Sampled && self.activity == Activity::Counting {
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
    pub(super) fn timers(&self) -> &ThreadTimers {
        &self.timers
    }

    /// Threads that run now without a timer.
    pub(super) fn without_timer(&self) -> usize {
        let without = |thread: &&Thread| thread.timer.is_none();
        self.live.iter().filter(without).count()
    }
}
