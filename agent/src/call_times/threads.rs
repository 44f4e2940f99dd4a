//! What each thread counts: the state that the Java side writes, and the CPU time
//! that the sampler books.

use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use hprof_format::ids::ThreadSerial;

use super::automaton::{NodeAddress, NodeNumber};
use crate::cpu_samples::signal::thread_cpu_nanos;

/// Calls, and nanoseconds of CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) calls: u64,
    pub(super) nanos: u64,
}

/// What was counted, for each node, and for each thread where that is wanted.
pub(super) type Costs = HashMap<(Option<ThreadSerial>, NodeNumber), Cost>;

/// Bytes before the counters: the current node, and room to a cache line.
const HEAD: usize = 64;

/// The memory that a thread's hooks write: its current node, and one counter for
/// each node. Pages that are never written take no memory.
struct State {
    start: *mut AtomicU64,
    nodes: usize,
}

// SAFETY: the memory is only read and written as atomics.
unsafe impl Send for State {}

impl State {
    fn new(nodes: usize, root: NodeAddress) -> Option<Self> {
        let bytes = HEAD + nodes * 8;
        // SAFETY: an anonymous mapping at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        // A huge page would make a thread of few nodes large. No harm if it fails.
        // SAFETY: the range was just mapped.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
        let state = Self {
            start: start.cast(),
            nodes,
        };
        state.set_node(root);
        Some(state)
    }

    fn set_node(&self, node: NodeAddress) {
        self.word(0).store(node.as_word(), Ordering::Relaxed);
    }

    fn node(&self) -> NodeAddress {
        // SAFETY: only addresses of nodes are ever stored there.
        unsafe { NodeAddress::from_word(self.word(0).load(Ordering::Relaxed)) }
    }

    fn calls(&self, node: usize) -> &AtomicU64 {
        self.word(HEAD / 8 + node)
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        debug_assert!(index < HEAD / 8 + self.nodes);
        // SAFETY: the mapping has the head and `nodes` words.
        unsafe { &*self.start.add(index) }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: the mapping is this state's own, and its thread has ended.
        unsafe { libc::munmap(self.start.cast(), HEAD + self.nodes * 8) };
    }
}

struct Thread {
    tid: i32,
    state: State,
    cpu: u64,
    nanos: HashMap<NodeNumber, u64>,
    /// Counters at the last dump.
    dumped: Vec<u64>,
    /// Rounds in a row in which the thread did not run.
    idle: u32,
}

impl Thread {
    /// Books the CPU time since the last time to the current node.
    fn book(&mut self) {
        let cpu = thread_cpu_nanos(self.tid);
        let advance = cpu.saturating_sub(self.cpu);
        if advance == 0 {
            self.idle = self.idle.saturating_add(1);
            return;
        }
        self.idle = 0;
        self.cpu = cpu;
        *self.nanos.entry(self.state.node().number()).or_default() += advance;
    }

    /// Adds what was counted since the last dump. `keep` when the thread goes on.
    fn add_to(
        &mut self,
        costs: &mut Costs,
        serial: Option<ThreadSerial>,
        nodes: usize,
        keep: bool,
    ) {
        let nodes = nodes.min(self.state.nodes);
        if keep {
            self.dumped.resize(nodes, 0);
        }
        for node in 0..nodes {
            // Read once: the thread goes on counting.
            let calls = self.state.calls(node).load(Ordering::Relaxed);
            let before = self.dumped.get(node).copied().unwrap_or(0);
            if calls != before {
                let key = (serial, NodeNumber(node as u32));
                costs.entry(key).or_default().calls += calls.wrapping_sub(before);
                if keep {
                    self.dumped[node] = calls;
                }
            }
        }
        for (node, nanos) in self.nanos.drain() {
            costs.entry((serial, node)).or_default().nanos += nanos;
        }
    }
}

/// All threads that count, and what ended threads have counted.
pub(super) struct Threads {
    live: Vec<Thread>,
    ended: Costs,
    ended_count: u64,
    /// Memory of ended threads for new ones, counters zero.
    free: Vec<State>,
    nodes: usize,
    /// Shared by threads that got no memory of their own. Its counts are not
    /// exact, and are left out.
    nobody: State,
    without_state: u64,
}

/// States kept for new threads.
const MOST_FREE: usize = 16;
/// A thread that did not run for this many rounds is looked at every eighth.
const IDLE_ROUNDS: u32 = 20;

impl Threads {
    /// For automata of up to `nodes` nodes. `None` without memory.
    pub(super) fn new(nodes: usize, root: NodeAddress) -> Option<Self> {
        Some(Self {
            live: Vec::new(),
            ended: Costs::new(),
            ended_count: 0,
            free: Vec::new(),
            nodes,
            nobody: State::new(nodes, root)?,
            without_state: 0,
        })
    }

    /// The address of a state for thread `tid`, the current one; never null.
    pub(super) fn attach(&mut self, tid: i32, root: NodeAddress) -> usize {
        if let Some(thread) = self.live.iter().find(|thread| thread.tid == tid) {
            return thread.state.start as usize;
        }
        let state = match self.free.pop() {
            Some(state) => {
                state.set_node(root);
                Some(state)
            }
            None => State::new(self.nodes, root),
        };
        let Some(state) = state else {
            self.without_state += 1;
            return self.nobody();
        };
        let address = state.start as usize;
        self.live.push(Thread {
            tid,
            state,
            cpu: thread_cpu_nanos(tid),
            nanos: HashMap::new(),
            dumped: Vec::new(),
            idle: 0,
        });
        address
    }

    /// The address of the state that counts for nobody.
    pub(super) fn nobody(&self) -> usize {
        self.nobody.start as usize
    }

    /// Merges what a thread has counted. It must not use its state any more.
    pub(super) fn end(&mut self, tid: i32, serial: Option<ThreadSerial>, nodes: usize) {
        let Some(at) = self.live.iter().position(|thread| thread.tid == tid) else {
            return;
        };
        let mut thread = self.live.swap_remove(at);
        thread.book();
        thread.add_to(&mut self.ended, serial, nodes, false);
        self.ended_count += 1;
        if self.free.len() < MOST_FREE {
            for node in 0..nodes.min(thread.state.nodes) {
                let calls = thread.state.calls(node);
                if calls.load(Ordering::Relaxed) != 0 {
                    calls.store(0, Ordering::Relaxed);
                }
            }
            self.free.push(thread.state);
        }
    }

    /// Forgets the CPU time so far: it was the agent's.
    pub(super) fn forget_time(&mut self) {
        for thread in &mut self.live {
            thread.cpu = thread_cpu_nanos(thread.tid);
            thread.nanos.clear();
        }
    }

    /// One round of the sampler.
    pub(super) fn book(&mut self, round: u32) {
        for thread in &mut self.live {
            if thread.idle < IDLE_ROUNDS || round.is_multiple_of(8) {
                thread.book();
            }
        }
    }

    /// All that was counted since the last time.
    pub(super) fn take(
        &mut self,
        nodes: usize,
        serial_of: &dyn Fn(i32) -> Option<ThreadSerial>,
    ) -> Costs {
        let mut costs = std::mem::take(&mut self.ended);
        for thread in &mut self.live {
            thread.book();
            let serial = serial_of(thread.tid);
            thread.add_to(&mut costs, serial, nodes, true);
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
}
