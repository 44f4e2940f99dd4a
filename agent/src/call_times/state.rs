//! The mapping that holds the [counters](hprof_lockfree::counters) of one thread.

use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use hprof_lockfree::counters::Counters;
use hprof_lockfree::nodes::NodeNumber;

use super::costs::Cost;

/// Bytes for each call in progress.
const CALL: usize = 24;
/// Calls in progress at one time, more than stacks of the usual sizes can hold.
const MAX_CALLS: usize = 1 << 20;

/// Up to this many nodes, setting their counters to zero is faster than mapping new pages.
const FEW_NODES: usize = 1 << 12;

/// How the time of calls is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallClock {
    /// CPU time, by looking at the threads' nodes.
    Sampled,
    /// The time between hooks, without what is called.
    Clocked,
    /// The time from the begin to the end of calls.
    ClockedInclusive,
}

/// The memory that a thread's hooks write: its current node, one call counter for
/// each node, and one for nanoseconds of CPU time. Pages that are never written
/// take no memory.
///
/// It is never unmapped: a method of a virtual thread may still have the address of a
/// carrier's state when that thread has ended, and methods that were running when
/// the hooks were taken out of their classes end with a hook.
pub(super) struct State {
    counters: Counters,
}

impl State {
    /// Memory for `nodes` nodes; `None` when there is none.
    pub(super) fn new(nodes: usize, clock: CallClock) -> Option<Self> {
        let calls = match clock {
            CallClock::ClockedInclusive => MAX_CALLS * CALL,
            CallClock::Sampled | CallClock::Clocked => 0,
        };
        let bytes = Counters::bytes(nodes) + calls;
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
        let cost = match clock {
            CallClock::Clocked => clock_cost(),
            CallClock::Sampled | CallClock::ClockedInclusive => 0,
        };
        let limit = (start.addr() + bytes) as u64;
        let memory = NonNull::new(start.cast::<u8>())?;
        // SAFETY: pages of zeroes with room for that many counters, which are never unmapped,
        // and no other code knows of them yet.
        let counters =
            unsafe { Counters::create(memory, nodes as u32, NodeNumber::ROOT, cost, limit) };
        Some(Self { counters })
    }

    /// Its address, which threads have in a field.
    pub(super) fn address(&self) -> usize {
        self.counters.as_pointer().expose_provenance()
    }

    /// The memory itself.
    pub(super) fn counters(&self) -> Counters {
        self.counters
    }

    /// Starts a thread in no method that has used `cpu` nanoseconds before.
    pub(super) fn begin(&self, cpu: u64) {
        self.counters
            .begin(NodeNumber::ROOT, cpu, monotonic_nanos());
    }

    /// The counts of the node.
    pub(super) fn cost(&self, node: NodeNumber) -> Cost {
        Cost {
            calls: self.counters.calls(node),
            nanos: self.counters.nanos(node),
        }
    }

    /// Sets the counters of the first `len` nodes to zero. Gives memory back when there are many. The calls
    /// in progress, which lie behind the counters, stay: hooks that end them read their nodes.
    pub(super) fn forget_all(&self, len: usize) {
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).unwrap_or(1 << 16);
        let nodes = self.counters.nodes() as usize;
        // Whole pages of counters, without the one that calls may begin in.
        let end = Counters::bytes(nodes) / page * page;
        let rest = end.saturating_sub(page);
        // The first page has the head, which hooks still read.
        let second = self.counters.as_pointer().cast::<u8>().wrapping_add(page);
        let given_back = len > FEW_NODES
            && rest > 0
            // SAFETY: whole pages of the mapping, which read as zero from now on.
            && unsafe { libc::madvise(second.cast(), rest, libc::MADV_DONTNEED) } == 0;
        // A counter has eight bytes: those of the first page and of the last are left.
        let edge = page / 8;
        for node in self.numbers(len) {
            let number = node.0 as usize;
            if !given_back || number < edge || number + edge >= nodes {
                self.counters.forget(node);
            }
        }
    }

    /// Marks the thread's CPU time so far, `cpu` nanoseconds, as booked.
    pub(super) fn skip_to(&self, cpu: u64) {
        self.counters.skip_to(cpu, monotonic_nanos());
    }

    /// The numbers of the first `len` nodes, or of as many as there is room for.
    pub(super) fn numbers(&self, len: usize) -> impl Iterator<Item = NodeNumber> + use<> {
        let nodes = self.counters.nodes() as usize;
        (0..len.min(nodes) as u32).map(NodeNumber)
    }
}

/// The clock of `System.nanoTime`.
fn monotonic_nanos() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds that reading the clock takes: between the readings of two hooks,
/// there is one such time that is not the program's. The least of several tries,
/// as anything may come between.
fn clock_cost() -> u64 {
    const READINGS: u64 = 1000;
    static COST: OnceLock<u64> = OnceLock::new();
    *COST.get_or_init(|| {
        let measure = |_| {
            let start = monotonic_nanos();
            for _ in 1..READINGS {
                monotonic_nanos();
            }
            (monotonic_nanos() - start) / READINGS
        };
        (0..10).map(measure).min().unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_calls() {
        let state = State::new(10, CallClock::ClockedInclusive).unwrap();
        state.begin(0);
        let word = |offset: usize| {
            let address = state.counters().as_pointer().cast::<u8>();
            // SAFETY: a word of the head, at the offset that Java code has for it.
            unsafe { address.add(offset).cast::<u64>().read() }
        };
        let (top, limit) = (word(32), word(40));
        assert_eq!(top, state.address() as u64 + 64 + 160);
        assert_eq!(limit - top, (MAX_CALLS * CALL) as u64);
    }

    #[test]
    fn calls_in_progress_survive_when_many_nodes_are_forgotten() {
        let nodes = 4 * FEW_NODES;
        let state = State::new(nodes, CallClock::ClockedInclusive).unwrap();
        state.begin(0);
        let words = state.counters().as_pointer().cast::<u64>();
        // SAFETY: the word of the head that tells where the next call begins.
        let top = unsafe { words.add(4).read() } as usize;
        let call = words.wrapping_byte_add(top - state.address());
        let counter = |at: usize| words.wrapping_add(8 + at);
        let last = 2 * nodes - 1;
        // SAFETY: words of the mapping: a call, and counters of nodes.
        unsafe {
            call.write(7);
            for at in [0, 1, nodes / 2, nodes - 1, nodes, last] {
                counter(at).write(5);
            }
        }
        state.forget_all(nodes);
        // SAFETY: as above.
        unsafe {
            assert_eq!(call.read(), 7, "the call in progress");
            for at in 0..=last {
                assert_eq!(counter(at).read(), 0, "counter {at}");
            }
        }
    }
}
