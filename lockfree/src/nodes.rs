//! The nodes that hooks move threads between, as Java code reads them.
//!
//! Hooks (`HprofHooks`) read without a lock. So a node never moves, is never freed,
//! and never changes but for the addresses of the nodes that follow it. Whoever sees
//! such an address sees the node: it is stored with release, and read by a load whose
//! address depends on it, which all processors of HotSpot keep in order.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::ptr;

use crate::counters::HEAD;
use crate::sync::{AtomicU64, Ordering, UnsafeCell};

/// Number of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeNumber(pub u32);

impl NodeNumber {
    /// The node of a thread that has called nothing.
    pub const ROOT: Self = Self(0);
}

/// Address of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeAddress(usize);

/// The fields that the Java side reads, at exactly these offsets.
#[repr(C, align(16))]
struct Node {
    method: UnsafeCell<u32>,
    /// Distance of its counter from the start of a thread's memory.
    counter: UnsafeCell<u32>,
    /// Address of the table of further followers, and the logarithm of its size in
    /// the low five bits.
    further: AtomicU64,
    /// Followers by the low bits of their method.
    followers: [AtomicU64; FOLLOWERS],
}

/// Followers in the node itself: most calls find theirs there.
const FOLLOWERS: usize = 1 << FOLLOWER_BITS;
const FOLLOWER_BITS: u32 = if cfg!(loom) { 0 } else { 3 };
/// Bytes of a counter.
const COUNTER: u32 = 8;
/// No method has this number.
pub const NO_METHOD: u32 = u32::MAX;
/// Tables are aligned to this, which leaves the low bits for their size.
const TABLE_ALIGN: usize = 32;
const SIZE_BITS: u64 = TABLE_ALIGN as u64 - 1;
/// Nodes that are allocated together.
const CHUNK_LEN: usize = if cfg!(any(loom, miri)) { 8 } else { 4096 };
/// A table up to this size grows at every collision, a larger one when half full.
const EAGER_SIZE: u32 = 8;
const MAX_SIZE: u32 = 16;
const FIRST_SIZE: u32 = if cfg!(loom) { 0 } else { 2 };

impl NodeAddress {
    /// The address as Java code has it.
    pub fn as_word(self) -> u64 {
        self.0 as u64
    }

    /// The node of an address that Java code has.
    ///
    /// # Safety
    /// `word` came from [`as_word`](Self::as_word), and the load of it is ordered after
    /// that of the node.
    pub unsafe fn from_word(word: u64) -> Self {
        Self(word as usize)
    }

    /// Its number.
    #[inline]
    pub fn number(self) -> NodeNumber {
        // SAFETY: written before the node was published, and never again.
        let counter = self.node().counter.with(|counter| unsafe { *counter });
        NodeNumber(counter.wrapping_sub(HEAD as u32) / COUNTER)
    }

    /// Its innermost method.
    #[inline]
    pub fn method(self) -> u32 {
        // SAFETY: as in `number`.
        self.node().method.with(|method| unsafe { *method })
    }

    /// The node that follows by `method`, if hooks find it without asking, in their way:
    /// `HprofHooks.next` and `further`.
    pub fn follower(self, method: u32) -> Option<Self> {
        let node = self.node();
        // Acquire stands for the dependency of addresses.
        let inside = node.followers[method as usize % FOLLOWERS].load(Ordering::Acquire);
        let inside = Self(inside as usize);
        if inside.method() == method {
            return Some(inside);
        }
        let table = Table::of(node, Ordering::Acquire);
        let further = Self(table.entry(method).load(Ordering::Acquire) as usize);
        (further.method() == method).then_some(further)
    }

    #[inline]
    fn node(self) -> &'static Node {
        // SAFETY: addresses are only made of nodes, which live for ever.
        unsafe { &*ptr::with_exposed_provenance::<Node>(self.0) }
    }
}

/// All nodes. Dropping it frees none: hooks may have their addresses.
pub struct Nodes {
    chunks: Vec<NodeAddress>,
    len: usize,
    /// The table of nodes without followers; its one entry is [`Self::nobody`].
    no_followers: u64,
    /// Stands for no node: its method is [`NO_METHOD`].
    nobody: u64,
    table_bytes: usize,
    arena: Arena,
}

impl Nodes {
    /// None so far.
    pub fn new() -> Self {
        let mut arena = Arena::default();
        let table = arena.words(1);
        let nobody = Box::into_raw(Box::new(Node {
            method: UnsafeCell::new(NO_METHOD),
            counter: UnsafeCell::new(counter_of(0)),
            further: AtomicU64::new(table.expose_provenance() as u64),
            followers: std::array::from_fn(|_| AtomicU64::new(0)),
        }));
        let nobody = nobody.expose_provenance() as u64;
        // SAFETY: the arena gave one word.
        unsafe { table.write(AtomicU64::new(nobody)) };
        Self {
            chunks: Vec::new(),
            len: 0,
            no_followers: table.addr() as u64,
            nobody,
            table_bytes: 0,
            arena,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of all nodes and their tables, roughly.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<Node>() + self.table_bytes
    }

    /// The node of a number.
    ///
    /// # Panics
    /// There is no such node.
    pub fn address(&self, number: NodeNumber) -> NodeAddress {
        let number = number.0 as usize;
        assert!(number < self.len, "no node {number}");
        self.place(number)
    }

    fn place(&self, number: usize) -> NodeAddress {
        let chunk = self.chunks[number / CHUNK_LEN];
        NodeAddress(chunk.0 + number % CHUNK_LEN * size_of::<Node>())
    }

    /// A new node, with the next number.
    pub fn add(&mut self, method: u32) -> NodeAddress {
        if self.len.is_multiple_of(CHUNK_LEN) {
            let chunk = allocate(CHUNK_LEN * size_of::<Node>(), align_of::<Node>());
            self.chunks.push(NodeAddress(chunk.expose_provenance()));
        }
        let number = self.len;
        self.len += 1;
        let address = self.place(number);
        let node = Node {
            method: UnsafeCell::new(NO_METHOD),
            counter: UnsafeCell::new(0),
            further: AtomicU64::new(self.no_followers),
            followers: std::array::from_fn(|_| AtomicU64::new(self.nobody)),
        };
        // SAFETY: the place lies in a chunk and no other thread knows of it yet. The two are set here for
        // the model tests, which see what is written to a cell, but not what it began with.
        unsafe {
            let place = ptr::with_exposed_provenance_mut::<Node>(address.0);
            place.write(node);
            (*place).method.with_mut(|at| *at = method);
            (*place)
                .counter
                .with_mut(|at| *at = counter_of(number as u32));
        }
        address
    }

    /// Puts `next` where hooks look for what follows `node` by its method.
    pub fn link(&mut self, node: NodeAddress, next: NodeAddress) {
        let node = node.node();
        let method = next.method();
        let inside = &node.followers[method as usize % FOLLOWERS];
        let before = inside.load(Ordering::Relaxed);
        if before == self.nobody || before == next.as_word() {
            // Release: who sees the address sees the node.
            inside.store(next.as_word(), Ordering::Release);
            return;
        }
        let mut table = Table::of(node, Ordering::Relaxed);
        let fresh = node.further.load(Ordering::Relaxed) == self.no_followers;
        if fresh || !table.has_room(method) {
            let size = if fresh { FIRST_SIZE } else { table.size + 1 };
            let followers = if fresh { Vec::new() } else { table.followers() };
            table = self.table(size, &followers, method);
        }
        table.put(method, next);
        // Release: who sees the table sees its entries.
        node.further.store(table.as_word(), Ordering::Release);
    }

    /// A new table with `followers` and a free entry for `method`, if possible.
    fn table(&mut self, size: u32, followers: &[NodeAddress], method: u32) -> Table {
        let mut size = size;
        loop {
            let mut used = vec![method & mask(size)];
            let fits = followers.iter().all(|follower| {
                let entry = follower.method() & mask(size);
                let free = !used.contains(&entry);
                used.push(entry);
                free
            });
            if fits || size >= EAGER_SIZE.max(size_for(followers.len())) || size >= MAX_SIZE {
                break;
            }
            size += 1;
        }
        let entries = 1usize << size;
        let start = self.arena.words(entries);
        self.table_bytes += entries * size_of::<AtomicU64>();
        for entry in 0..entries {
            // SAFETY: the arena gave that many words.
            unsafe { start.add(entry).write(AtomicU64::new(self.nobody)) };
        }
        start.expose_provenance();
        let table = Table { start, size };
        for &follower in followers {
            table.put(follower.method(), follower);
        }
        table
    }
}

impl Default for Nodes {
    fn default() -> Self {
        Self::new()
    }
}

/// Where a thread's memory has the counter of a node.
fn counter_of(number: u32) -> u32 {
    HEAD as u32 + COUNTER * number
}

fn mask(size: u32) -> u32 {
    (1 << size) - 1
}

/// The logarithm of a table twice as large as its number of entries.
fn size_for(followers: usize) -> u32 {
    (2 * followers + 1).next_power_of_two().ilog2()
}

/// A table of following nodes, indexed by the low bits of their method.
#[derive(Clone, Copy)]
struct Table {
    start: *const AtomicU64,
    size: u32,
}

impl Table {
    fn of(node: &Node, order: Ordering) -> Self {
        let word = node.further.load(order);
        Self {
            start: ptr::with_exposed_provenance((word & !SIZE_BITS) as usize),
            size: (word & SIZE_BITS) as u32,
        }
    }

    fn as_word(self) -> u64 {
        self.start.addr() as u64 | u64::from(self.size)
    }

    /// The entry for `method`.
    fn entry(&self, method: u32) -> &AtomicU64 {
        // SAFETY: a table has 2^size words, which the index is masked to.
        unsafe { &*self.start.add((method & mask(self.size)) as usize) }
    }

    fn put(&self, method: u32, node: NodeAddress) {
        // Release: who sees the address sees the node.
        self.entry(method).store(node.as_word(), Ordering::Release);
    }

    fn node_in(entry: &AtomicU64) -> Option<NodeAddress> {
        let address = NodeAddress(entry.load(Ordering::Relaxed) as usize);
        (address.method() != NO_METHOD).then_some(address)
    }

    fn followers(&self) -> Vec<NodeAddress> {
        (0..=mask(self.size))
            .filter_map(|index| Self::node_in(self.entry(index)))
            .collect()
    }

    /// Whether `method` may be put in without making a larger table.
    fn has_room(&self, method: u32) -> bool {
        match Self::node_in(self.entry(method)) {
            None => true,
            Some(other) if other.method() == method => true,
            Some(_) if self.size < EAGER_SIZE => false,
            Some(_) => self.size >= MAX_SIZE || self.followers().len() < 1 << (self.size - 1),
        }
    }
}

/// Memory for tables that is never given back.
#[derive(Default)]
struct Arena {
    /// The rest of the last block.
    rest: Option<(*mut u8, usize)>,
}

// SAFETY: the rest of the block is its own.
unsafe impl Send for Arena {}

const ARENA_BLOCK: usize = 1 << 16;

impl Arena {
    /// Room for `count` words, aligned for a table.
    fn words(&mut self, count: usize) -> *mut AtomicU64 {
        let bytes = (count * size_of::<AtomicU64>()).next_multiple_of(TABLE_ALIGN);
        if bytes > ARENA_BLOCK / 8 {
            return allocate(bytes, TABLE_ALIGN).cast();
        }
        let (start, left) = match self.rest {
            Some((start, left)) if left >= bytes => (start, left),
            _ => (allocate(ARENA_BLOCK, TABLE_ALIGN), ARENA_BLOCK),
        };
        // SAFETY: the block has that much left.
        self.rest = Some((unsafe { start.add(bytes) }, left - bytes));
        start.cast()
    }
}

/// # Panics
/// Both numbers are this module's own; no such layout can be impossible.
fn allocate(bytes: usize, align: usize) -> *mut u8 {
    let layout = Layout::from_size_align(bytes, align).expect("a small power of two");
    // SAFETY: the layout has a size.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() {
        handle_alloc_error(layout);
    }
    memory
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_what_java_code_knows() {
        assert_eq!(std::mem::offset_of!(Node, method), 0);
        assert_eq!(std::mem::offset_of!(Node, counter), 4);
        assert_eq!(std::mem::offset_of!(Node, further), 8);
        assert_eq!(std::mem::offset_of!(Node, followers), 16);
        assert_eq!(size_of::<Node>(), 80);
    }

    #[test]
    fn what_is_linked_is_found() {
        let count = if cfg!(miri) { 60 } else { 3000 };
        let mut nodes = Nodes::new();
        let root = nodes.add(NO_METHOD);
        let added: Vec<_> = (0..count).map(|method| nodes.add(method)).collect();
        for &next in &added {
            nodes.link(root, next);
            assert_eq!(root.follower(next.method()), Some(next));
        }
        let found = (0..count).filter(|&m| root.follower(m) == Some(added[m as usize]));
        assert!(found.count() > count as usize * 29 / 30);
        assert_eq!(root.follower(count), None);
        assert_eq!(added[0].follower(1), None);
        for (number, &node) in (1..).zip(&added) {
            assert_eq!(node.number(), NodeNumber(number));
            assert_eq!(nodes.address(NodeNumber(number)), node);
        }
    }

    /// A new table has all that the old one had: hooks that find less ask again and again.
    #[test]
    fn hooks_find_what_they_found_before() {
        let mut nodes = Nodes::new();
        let root = nodes.add(NO_METHOD);
        for method in 0..40 {
            let next = nodes.add(method);
            nodes.link(root, next);
            for before in 0..=method {
                assert!(root.follower(before).is_some(), "{before} after {method}");
            }
        }
    }
}
