//! The memory of one counting thread: where it is, and what it has counted.

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::automaton::{NodeAddress, NodeNumber};
use super::costs::Cost;

/// Bytes before the counters: the current node, and room to a cache line.
pub(super) const HEAD: usize = 64;

/// What comes first in the memory. The Java side has the offsets of the first six
/// words.
#[repr(C, align(64))]
pub(super) struct Head {
    /// The address of the current node.
    node: AtomicU64,
    /// Where calls are clocked: when time was booked last.
    last_event: AtomicU64,
    /// Bytes from a node's call counter to its nanoseconds.
    to_nanos: AtomicU64,
    /// Where calls are clocked: nanoseconds that reading the clock takes.
    clock_cost: AtomicU64,
    /// Where calls are clocked with what they call: the end of the calls in progress.
    top: AtomicU64,
    /// The end of the memory for them.
    limit: AtomicU64,
    /// CPU nanoseconds that are booked.
    booked: AtomicU64,
    /// The number of nodes there is room for.
    nodes: AtomicU32,
    /// Whether the sampler passes this thread over until it has run.
    idle: AtomicBool,
}

/// Bytes for each call in progress.
const CALL: usize = 24;
/// Calls in progress at one time, more than stacks of the usual sizes can hold.
const MAX_CALLS: usize = 1 << 20;

/// Up to this many nodes, setting their counters to zero is faster than mapping new pages.
const FEW_NODES: usize = 1 << 12;

/// How the time of calls is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// CPU time, by looking at the threads' nodes.
    Sampled,
    /// The time between hooks, without what is called.
    Clocked,
    /// The time from the begin to the end of calls.
    ClockedInclusive,
}

impl Head {
    /// Books the CPU time up to `now` to the current node; false when there is none.
    /// Safe in a signal handler, and on several threads at a time.
    pub(super) fn book(&self, now: u64) -> bool {
        let advance = self.advance(now);
        if advance > 0 {
            let number = self.node().number();
            self.nanos(number).fetch_add(advance, Ordering::Relaxed);
        }
        advance > 0
    }

    /// The CPU time up to `now` that is not booked yet, and from now on counts as
    /// booked. Safe as above.
    pub(super) fn advance(&self, now: u64) -> u64 {
        now.saturating_sub(self.booked.fetch_max(now, Ordering::Relaxed))
    }

    /// Whether the thread was idle. Safe in a signal handler.
    pub(super) fn note_running(&self) -> bool {
        self.idle.load(Ordering::Relaxed) && self.idle.swap(false, Ordering::Relaxed)
    }

    fn node(&self) -> NodeAddress {
        // SAFETY: only addresses of nodes are ever stored there.
        unsafe { NodeAddress::from_word(self.node.load(Ordering::Relaxed)) }
    }

    fn nanos(&self, node: NodeNumber) -> &AtomicU64 {
        let nodes = self.nodes.load(Ordering::Relaxed) as usize;
        self.counter(nodes.wrapping_add(node.0 as usize))
    }

    fn counter(&self, index: usize) -> &AtomicU64 {
        let counters = ptr::from_ref(self).wrapping_add(1).cast::<AtomicU64>();
        // SAFETY: a head is only made at the start of the memory of a `State`, which
        // has two counters for each node behind it; nodes have numbers below that.
        unsafe { &*counters.wrapping_add(index) }
    }
}

/// The memory that a thread's hooks write: its current node, one call counter for
/// each node, and one for nanoseconds of CPU time. Pages that are never written
/// take no memory.
///
/// It is never unmapped: a method of a virtual thread may still have the address of a
/// carrier's state when that thread has ended, and methods that were running when
/// the hooks were taken out of their classes end with a hook.
pub(super) struct State {
    head: *mut Head,
    bytes: usize,
}

// SAFETY: the memory is only read and written as atomics.
unsafe impl Send for State {}

impl State {
    /// Memory for `nodes` nodes; `None` when there is none.
    pub(super) fn new(nodes: usize, root: NodeAddress, timing: Timing) -> Option<Self> {
        let counters = 2 * nodes * 8;
        let calls = match timing {
            Timing::ClockedInclusive => MAX_CALLS * CALL,
            Timing::Sampled | Timing::Clocked => 0,
        };
        let bytes = HEAD + counters + calls;
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
        let head = start.cast::<Head>();
        // SAFETY: the mapping has room for the head, and nobody knows of it yet.
        unsafe {
            head.write(Head {
                node: AtomicU64::new(root.as_word()),
                last_event: AtomicU64::new(0),
                to_nanos: AtomicU64::new(nodes as u64 * 8),
                clock_cost: AtomicU64::new(match timing {
                    Timing::Clocked => clock_cost(),
                    Timing::Sampled | Timing::ClockedInclusive => 0,
                }),
                top: AtomicU64::new(0),
                limit: AtomicU64::new((start as usize + bytes) as u64),
                booked: AtomicU64::new(0),
                nodes: AtomicU32::new(nodes as u32),
                idle: AtomicBool::new(false),
            });
        }
        Some(Self { head, bytes })
    }

    /// Its address, which threads have in a field.
    pub(super) fn address(&self) -> usize {
        self.head as usize
    }

    pub(super) fn head_pointer(&self) -> *mut Head {
        self.head
    }

    pub(super) fn head(&self) -> &Head {
        // SAFETY: it was written when the memory was mapped.
        unsafe { &*self.head }
    }

    /// Starts a thread in `root` that has used `cpu` nanoseconds before.
    pub(super) fn begin(&self, root: NodeAddress, cpu: u64) {
        let head = self.head();
        head.node.store(root.as_word(), Ordering::Relaxed);
        head.booked.store(cpu, Ordering::Relaxed);
        head.last_event.store(monotonic_nanos(), Ordering::Relaxed);
        let counters = 2 * head.nodes.load(Ordering::Relaxed) as usize * 8;
        let calls = self.address() + HEAD + counters;
        head.top.store(calls as u64, Ordering::Relaxed);
        head.idle.store(false, Ordering::Relaxed);
    }

    /// The sampler passes this thread over until [`Head::note_running`].
    pub(super) fn set_idle(&self) {
        self.head().idle.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_idle(&self) -> bool {
        self.head().idle.load(Ordering::Relaxed)
    }

    /// What was counted at the node. Clocked times less the cost of the clock can be
    /// a little below 0; that is 0 then.
    pub(super) fn cost(&self, node: NodeNumber) -> Cost {
        let head = self.head();
        let nanos = head.nanos(node).load(Ordering::Relaxed);
        Cost {
            calls: head.counter(node.0 as usize).load(Ordering::Relaxed),
            nanos: nanos.cast_signed().max(0).cast_unsigned(),
        }
    }

    /// Sets the counters of the node to zero.
    pub(super) fn forget(&self, node: NodeNumber) {
        let head = self.head();
        for counter in [head.counter(node.0 as usize), head.nanos(node)] {
            if counter.load(Ordering::Relaxed) != 0 {
                counter.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Sets the counters of the first `len` nodes to zero. Gives memory back when there are many.
    pub(super) fn forget_all(&self, len: usize) {
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).unwrap_or(1 << 16);
        let rest = self.bytes.saturating_sub(page);
        // The first page has the head, which hooks still read.
        let given_back = len > FEW_NODES
            && rest > 0
            // SAFETY: whole pages of the mapping, which read as zero from now on.
            && unsafe { libc::madvise(self.head.cast::<u8>().add(page).cast(), rest, libc::MADV_DONTNEED) } == 0;
        let left = if given_back { page / 8 } else { len };
        for node in self.numbers(left) {
            self.forget(node);
        }
    }

    /// The thread's path begins anew.
    pub(super) fn restart_path(&self, root: NodeAddress) {
        self.head().node.store(root.as_word(), Ordering::Relaxed);
    }

    /// What the thread has used up to now, `cpu` nanoseconds of CPU time, counts as booked.
    pub(super) fn skip_to(&self, cpu: u64) {
        let head = self.head();
        head.advance(cpu);
        head.last_event.store(monotonic_nanos(), Ordering::Relaxed);
        head.idle.store(false, Ordering::Relaxed);
    }

    /// The numbers of the first `len` nodes, or of as many as there is room for.
    pub(super) fn numbers(&self, len: usize) -> impl Iterator<Item = NodeNumber> + use<> {
        let nodes = self.head().nodes.load(Ordering::Relaxed) as usize;
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
    use super::super::automaton::Automaton;
    use super::*;

    #[test]
    fn the_head_is_what_java_code_knows() {
        assert_eq!(size_of::<Head>(), HEAD);
        assert_eq!(std::mem::offset_of!(Head, node), 0);
        assert_eq!(std::mem::offset_of!(Head, last_event), 8);
        assert_eq!(std::mem::offset_of!(Head, to_nanos), 16);
        assert_eq!(std::mem::offset_of!(Head, clock_cost), 24);
        assert_eq!(std::mem::offset_of!(Head, top), 32);
        assert_eq!(std::mem::offset_of!(Head, limit), 40);
    }

    #[test]
    fn time_is_booked_once() {
        let automaton = Automaton::new(1, 10);
        let state = State::new(10, automaton.root(), Timing::Sampled).unwrap();
        state.begin(automaton.root(), 100);
        assert!(state.head().book(130));
        assert!(!state.head().book(120));
        assert!(state.head().book(135));
        assert_eq!(state.head().advance(140), 5);
        assert_eq!(state.cost(NodeNumber::ROOT).nanos, 30 + 5);
    }

    #[test]
    fn there_is_room_for_calls() {
        let automaton = Automaton::new(1, 10);
        let state = State::new(10, automaton.root(), Timing::ClockedInclusive).unwrap();
        state.begin(automaton.root(), 0);
        let head = state.head();
        let top = head.top.load(Ordering::Relaxed);
        assert_eq!(top, state.address() as u64 + 64 + 160);
        let limit = head.limit.load(Ordering::Relaxed);
        assert_eq!(limit - top, (MAX_CALLS * CALL) as u64);
    }
}
