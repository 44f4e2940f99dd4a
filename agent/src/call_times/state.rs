//! The memory of one counting thread: where it is, and what it has counted.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::automaton::{NodeAddress, NodeNumber};

/// Bytes before the counters: the current node, and room to a cache line.
const HEAD: usize = 64;

/// What comes first in the memory. The Java side knows the first word only.
#[repr(C, align(64))]
pub(super) struct Head {
    /// The address of the current node.
    node: AtomicU64,
    /// CPU nanoseconds that are booked.
    booked: AtomicU64,
    /// The number of nodes there is room for.
    nodes: AtomicUsize,
    /// Whether the sampler passes this thread over until it has run.
    idle: AtomicBool,
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
        let nodes = self.nodes.load(Ordering::Relaxed);
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
pub(super) struct State {
    head: *mut Head,
    bytes: usize,
}

// SAFETY: the memory is only read and written as atomics.
unsafe impl Send for State {}

impl State {
    /// Memory for `nodes` nodes; `None` when there is none.
    pub(super) fn new(nodes: usize, root: NodeAddress) -> Option<Self> {
        let bytes = HEAD + 2 * nodes * 8;
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
                booked: AtomicU64::new(0),
                nodes: AtomicUsize::new(nodes),
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
        head.idle.store(false, Ordering::Relaxed);
    }

    /// The sampler passes this thread over until [`Head::note_running`].
    pub(super) fn set_idle(&self) {
        self.head().idle.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_idle(&self) -> bool {
        self.head().idle.load(Ordering::Relaxed)
    }

    /// Calls counted at the node.
    pub(super) fn calls(&self, node: NodeNumber) -> &AtomicU64 {
        self.head().counter(node.0 as usize)
    }

    /// CPU nanoseconds booked to the node.
    pub(super) fn nanos(&self, node: NodeNumber) -> &AtomicU64 {
        self.head().nanos(node)
    }

    /// The numbers of the first `len` nodes, or of as many as there is room for.
    pub(super) fn numbers(&self, len: usize) -> impl Iterator<Item = NodeNumber> + use<> {
        let nodes = self.head().nodes.load(Ordering::Relaxed);
        (0..len.min(nodes) as u32).map(NodeNumber)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: the mapping is this state's own, and its thread has ended.
        unsafe { libc::munmap(self.head.cast(), self.bytes) };
    }
}
