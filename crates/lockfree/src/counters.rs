//! The memory of one counting thread: where it is, and what it has counted.
//!
//! First comes a [`Head`], then two counters for each node: calls, and nanoseconds. The
//! thread's hooks write there without atomic instructions, the handler of its timer and
//! the sampler book CPU time, dumps read.

use std::ptr::NonNull;

use crate::nodes::NodeNumber;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Bytes before the counters: the current node, and room to a cache line.
pub const HEAD: usize = 64;

/// The head of the memory. The Java side has the offsets of the first six
/// words.
#[repr(C, align(64))]
pub struct Head {
    /// The word of the current node.
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
    /// True if the sampler passes this thread over until it has run.
    idle: AtomicBool,
}

/// The head and the counters behind it. A copy is the same memory.
///
/// All that lies behind the head is reached by this pointer to the whole memory, never
/// by a reference to the head, which must not be used beyond it.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    head: NonNull<Head>,
}

// SAFETY: the memory is only read and written as atomics.
unsafe impl Send for Counters {}
// SAFETY: as above.
unsafe impl Sync for Counters {}

impl Counters {
    /// Bytes for `nodes` nodes.
    pub const fn bytes(nodes: usize) -> usize {
        size_of::<Head>() + 2 * nodes * size_of::<AtomicU64>()
    }

    /// Makes the memory of a thread. `clock_cost` are the nanoseconds that hooks subtract
    /// for their clock, and `limit` is the end of the memory for calls in progress.
    ///
    /// # Safety
    /// `memory` is aligned for a [`Head`], has [`Self::bytes`] of `nodes` that are zero, is never
    /// freed, and no other code has it.
    pub unsafe fn create(
        memory: NonNull<u8>,
        nodes: u32,
        root: NodeNumber,
        clock_cost: u64,
        limit: u64,
    ) -> Self {
        let head = memory.cast::<Head>();
        // SAFETY: by the caller's promise.
        unsafe {
            head.write(Head {
                node: AtomicU64::new(root.as_word()),
                last_event: AtomicU64::new(0),
                to_nanos: AtomicU64::new(u64::from(nodes) * 8),
                clock_cost: AtomicU64::new(clock_cost),
                top: AtomicU64::new(0),
                limit: AtomicU64::new(limit),
                booked: AtomicU64::new(0),
                nodes: AtomicU32::new(nodes),
                idle: AtomicBool::new(false),
            });
            // Zero is such a counter, but for loom.
            #[cfg(loom)]
            for index in 0..2 * nodes as usize {
                let counter = head.add(1).cast::<AtomicU64>().add(index);
                counter.write(AtomicU64::new(0));
            }
        }
        Self { head }
    }

    /// The memory as a word that [`from_pointer`](Self::from_pointer) knows.
    pub fn as_pointer(self) -> *mut Head {
        self.head.as_ptr()
    }

    /// The memory of a pointer; `None` for null. Safe in a signal handler.
    ///
    /// # Safety
    /// It came from [`as_pointer`](Self::as_pointer).
    #[inline]
    pub unsafe fn from_pointer(head: *mut Head) -> Option<Self> {
        NonNull::new(head).map(|head| Self { head })
    }

    #[inline]
    fn head(&self) -> &Head {
        // SAFETY: `create` wrote it, and it is never freed.
        unsafe { self.head.as_ref() }
    }

    #[inline]
    fn counter(&self, index: usize) -> &AtomicU64 {
        // SAFETY: the memory has two counters for each node behind the head; callers
        // pass indexes below that.
        unsafe { self.head.add(1).cast::<AtomicU64>().add(index).as_ref() }
    }

    /// Where the calls of a node are counted. A node there is no room for counts as the root.
    #[inline]
    fn calls_of(&self, node: NodeNumber) -> &AtomicU64 {
        let nodes = self.nodes();
        let node = if node.0 < nodes { node.0 } else { 0 };
        self.counter(node as usize)
    }

    #[inline]
    fn nanos_of(&self, node: NodeNumber) -> &AtomicU64 {
        let nodes = self.nodes();
        let node = if node.0 < nodes { node.0 } else { 0 };
        self.counter(nodes as usize + node as usize)
    }

    /// How many nodes there is room for.
    #[inline]
    pub fn nodes(&self) -> u32 {
        self.head().nodes.load(Ordering::Relaxed)
    }

    /// Where the thread is.
    #[inline]
    pub fn node(&self) -> NodeNumber {
        // Acquire: as far as Rust code stored it, the node is there; hooks have it from an
        // entry of a node.
        NodeNumber::from_word(self.head().node.load(Ordering::Acquire))
    }

    /// Moves the thread to a node.
    pub fn set_node(&self, node: NodeNumber) {
        self.head().node.store(node.as_word(), Ordering::Release);
    }

    /// Books the CPU time up to `now` to the current node; false when there is none.
    /// Safe in a signal handler, and on several threads at a time.
    pub fn book(&self, now: u64) -> bool {
        let advance = self.advance(now);
        if advance > 0 {
            let nanos = self.nanos_of(self.node());
            nanos.fetch_add(advance, Ordering::Relaxed);
        }
        advance > 0
    }

    /// The CPU time up to `now` that is not booked yet, and from now on counts as
    /// booked. Safe as above.
    pub fn advance(&self, now: u64) -> u64 {
        now.saturating_sub(self.head().booked.fetch_max(now, Ordering::Relaxed))
    }

    /// Returns whether the thread was idle, which it is no more. Safe in a signal handler.
    pub fn note_running(&self) -> bool {
        let idle = &self.head().idle;
        idle.load(Ordering::Relaxed) && idle.swap(false, Ordering::Relaxed)
    }

    /// Has the sampler pass this thread over until [`Self::note_running`].
    pub fn set_idle(&self, idle: bool) {
        self.head().idle.store(idle, Ordering::Relaxed);
    }

    /// Returns whether the sampler passes this thread over.
    pub fn is_idle(&self) -> bool {
        self.head().idle.load(Ordering::Relaxed)
    }

    /// Starts a thread in `root` that has used `cpu` nanoseconds before, at the time `now`
    /// of the hooks' clock.
    pub fn begin(&self, root: NodeNumber, cpu: u64, now: u64) {
        self.set_node(root);
        let head = self.head();
        head.booked.store(cpu, Ordering::Relaxed);
        head.last_event.store(now, Ordering::Relaxed);
        let calls = self.head.as_ptr().addr() + Self::bytes(self.nodes() as usize);
        head.top.store(calls as u64, Ordering::Relaxed);
        head.idle.store(false, Ordering::Relaxed);
    }

    /// Counts what the thread has used up to now, `cpu` nanoseconds of CPU time, as booked.
    pub fn skip_to(&self, cpu: u64, now: u64) {
        self.advance(cpu);
        let head = self.head();
        head.last_event.store(now, Ordering::Relaxed);
        head.idle.store(false, Ordering::Relaxed);
    }

    /// The calls counted at a node.
    pub fn calls(&self, node: NodeNumber) -> u64 {
        self.calls_of(node).load(Ordering::Relaxed)
    }

    /// The nanoseconds booked to a node. Clocked times less the cost of the clock can be
    /// a little below 0; that is 0 then.
    pub fn nanos(&self, node: NodeNumber) -> u64 {
        let nanos = self.nanos_of(node).load(Ordering::Relaxed);
        nanos.cast_signed().max(0).cast_unsigned()
    }

    /// Sets the counters of a node to zero.
    pub fn forget(&self, node: NodeNumber) {
        for counter in [self.calls_of(node), self.nanos_of(node)] {
            if counter.load(Ordering::Relaxed) != 0 {
                counter.store(0, Ordering::Relaxed);
            }
        }
    }

    /// The native method `HprofHooks.enter`, for tests.
    #[cfg(any(test, loom))]
    pub fn enter(&self, node: NodeNumber) {
        let calls = self.calls_of(node);
        calls.store(calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.set_node(node);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::nodes::{NO_METHOD, Nodes};
    use std::alloc::{Layout, alloc_zeroed};

    fn counters(nodes: u32, root: NodeNumber) -> Counters {
        let bytes = Counters::bytes(nodes as usize);
        let layout = Layout::from_size_align(bytes, align_of::<Head>()).unwrap();
        // SAFETY: the layout has a size; the memory is zero, large enough and leaked.
        unsafe {
            let memory = NonNull::new(alloc_zeroed(layout)).unwrap();
            Counters::create(memory, nodes, root, 0, 0)
        }
    }

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
        let mut nodes = Nodes::new(10).unwrap();
        let root = nodes.add(NO_METHOD);
        let counters = counters(10, root);
        counters.begin(root, 100, 0);
        assert!(counters.book(130));
        assert!(!counters.book(120));
        assert!(counters.book(135));
        assert_eq!(counters.advance(140), 5);
        assert_eq!(counters.nanos(NodeNumber::ROOT), 30 + 5);
    }

    /// Under Miri: counters lie beyond the head, where a reference to it does not reach.
    #[test]
    fn each_node_has_counters_of_its_own() {
        let mut nodes = Nodes::new(10).unwrap();
        let root = nodes.add(NO_METHOD);
        let second = nodes.add(1);
        let counters = counters(2, root);
        counters.begin(root, 0, 0);
        counters.enter(second);
        counters.enter(second);
        assert!(counters.book(7));
        let of = |node| (counters.calls(node), counters.nanos(node));
        assert_eq!([of(root), of(second)], [(0, 0), (2, 7)]);
        counters.forget(second);
        assert_eq!(of(second), (0, 0));
    }

    #[test]
    fn a_node_without_room_counts_as_the_root() {
        let mut nodes = Nodes::new(10).unwrap();
        let root = nodes.add(NO_METHOD);
        let second = nodes.add(1);
        let counters = counters(1, root);
        counters.begin(second, 0, 0);
        assert!(counters.book(3));
        assert_eq!(counters.nanos(NodeNumber::ROOT), 3);
    }
}
