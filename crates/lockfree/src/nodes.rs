//! The nodes that hooks move threads between, as Java code reads them.
//!
//! Hooks (`HprofHooks`) read without a lock. So a node never moves, is never freed,
//! and never changes but for the entries of the nodes that follow it. A thread that sees such an
//! entry sees the node: it is stored with release, and read by a load whose address depends on it,
//! which all processors of HotSpot keep in order.
//!
//! An entry has the method of a following node as well as its number. So a hook that
//! calls a method reads the cache line of the caller's node and not that of the node
//! it goes to, which the calls of a method that calls nothing never need.

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

    /// The word that Java code has for the node: the distance of its counter from the start
    /// of a thread's memory.
    #[inline]
    pub fn as_word(self) -> u64 {
        HEAD as u64 + COUNTER * u64::from(self.0)
    }

    /// The node of a word that Java code has.
    #[inline]
    pub fn from_word(word: u64) -> Self {
        Self((word.wrapping_sub(HEAD as u64) / COUNTER) as u32)
    }
}

/// Followers by the low bits of their method, as [`Entry`]: most calls find theirs here.
/// One cache line, at exactly this distance from that of the next node.
#[repr(C, align(64))]
struct Node {
    followers: [AtomicU64; FOLLOWERS],
}

/// The rest of a node.
#[repr(C, align(16))]
struct Rest {
    /// Address of the table of further followers, and the logarithm of its size in
    /// the low five bits.
    further: AtomicU64,
    method: UnsafeCell<u32>,
}

/// A following node: its method in the lower half, its word in the upper one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry(u64);

impl Entry {
    /// Stands for no node.
    const NOBODY: Self = Self(NO_METHOD as u64);

    fn new(method: u32, node: NodeNumber) -> Self {
        Self(u64::from(method) | node.as_word() << 32)
    }

    fn method(self) -> u32 {
        self.0 as u32
    }

    fn node(self) -> NodeNumber {
        NodeNumber::from_word(self.0 >> 32)
    }

    /// The node, if it is that of `method`.
    fn of(self, method: u32) -> Option<NodeNumber> {
        (self.method() == method).then(|| self.node())
    }
}

const FOLLOWERS: usize = 1 << FOLLOWER_BITS;
const FOLLOWER_BITS: u32 = if cfg!(loom) { 0 } else { 3 };
/// Bytes of a counter.
const COUNTER: u64 = 8;
/// The most nodes: the words of all fit into 31 bits.
const MOST_NODES: usize = 1 << 27;
/// No method has this number.
pub const NO_METHOD: u32 = u32::MAX;
/// Tables are aligned to this, which leaves the low bits for their size.
const TABLE_ALIGN: usize = 32;
const SIZE_BITS: u64 = TABLE_ALIGN as u64 - 1;
/// A table up to this size grows at every collision, a larger one when half full.
const EAGER_SIZE: u32 = 10;
const MAX_SIZE: u32 = 16;
const FIRST_SIZE: u32 = if cfg!(loom) { 1 } else { 2 };

/// All nodes as hooks see them. A copy is the same memory.
#[derive(Clone, Copy, Debug)]
pub struct HookNodes {
    nodes: *const Node,
    rests: *const Rest,
    capacity: usize,
}

// SAFETY: the memory is never freed, and is read and written as atomics, but for the
// methods, which are written before the node is published.
unsafe impl Send for HookNodes {}
// SAFETY: as above.
unsafe impl Sync for HookNodes {}

impl HookNodes {
    /// The address from which the followers of a node are 8 times its word away.
    pub fn followers_base(self) -> u64 {
        let start = self.nodes.expose_provenance() as u64;
        start.wrapping_sub(HEAD as u64 * (size_of::<Node>() as u64 / COUNTER))
    }

    /// The address from which the word for the further followers of a node is twice its word
    /// away.
    pub fn rests_base(self) -> u64 {
        let start = self.rests.expose_provenance() as u64;
        start.wrapping_sub(HEAD as u64 * (size_of::<Rest>() as u64 / COUNTER))
    }

    /// The node that follows by `method`, if hooks find it without asking, in their way:
    /// `HprofHooks.enter` and `further`.
    pub fn follower(self, node: NodeNumber, method: u32) -> Option<NodeNumber> {
        // Acquire stands for the dependency of addresses.
        let inside = self.node(node).followers[method as usize % FOLLOWERS].load(Ordering::Acquire);
        Entry(inside).of(method).or_else(|| {
            let table = Table::of(self.rest(node), Ordering::Acquire);
            let [first, second] = table.entries(method);
            let entry = |at: &AtomicU64| Entry(at.load(Ordering::Acquire)).of(method);
            entry(first).or_else(|| entry(second))
        })
    }

    /// The innermost method of a node that is known by an entry.
    pub fn method(self, node: NodeNumber) -> u32 {
        // SAFETY: written before the node was published, and never again.
        self.rest(node).method.with(|method| unsafe { *method })
    }

    fn node(self, node: NodeNumber) -> &'static Node {
        let number = self.index(node);
        // SAFETY: it is within the memory, which lives for ever.
        unsafe { &*self.nodes.add(number) }
    }

    fn rest(self, node: NodeNumber) -> &'static Rest {
        let number = self.index(node);
        // SAFETY: as above.
        unsafe { &*self.rests.add(number) }
    }

    fn index(self, node: NodeNumber) -> usize {
        let number = node.0 as usize;
        assert!(number < self.capacity, "no node {number}");
        number
    }
}

/// All nodes. Dropping it frees none: hooks may have their numbers.
pub struct Nodes {
    shared: HookNodes,
    len: usize,
    /// The table of nodes without followers; both of its entries are [`Entry::NOBODY`].
    no_followers: u64,
    table_bytes: usize,
    arena: Arena,
}

impl Nodes {
    /// None so far, and memory for up to `capacity`, of which only what is used takes pages.
    /// `None` without memory.
    pub fn new(capacity: usize) -> Option<Self> {
        if capacity > MOST_NODES {
            return None;
        }
        let nodes = reserve::<Node>(capacity)?;
        let rests = reserve::<Rest>(capacity)?;
        let mut arena = Arena::default();
        let table = arena.words(2);
        for entry in 0..2 {
            // SAFETY: the arena gave two words.
            unsafe { table.add(entry).write(AtomicU64::new(Entry::NOBODY.0)) };
        }
        Some(Self {
            shared: HookNodes {
                nodes,
                rests,
                capacity,
            },
            len: 0,
            no_followers: table.expose_provenance() as u64,
            table_bytes: 0,
            arena,
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of all nodes and their tables, roughly.
    pub fn bytes(&self) -> usize {
        self.len * (size_of::<Node>() + size_of::<Rest>()) + self.table_bytes
    }

    /// The nodes as hooks see them.
    pub fn shared(&self) -> HookNodes {
        self.shared
    }

    /// The innermost method of a node.
    ///
    /// # Panics
    /// There is no such node.
    pub fn method(&self, node: NodeNumber) -> u32 {
        assert!((node.0 as usize) < self.len, "no node {}", node.0);
        self.shared.method(node)
    }

    /// A new node, with the next number.
    ///
    /// # Panics
    /// There is no room.
    pub fn add(&mut self, method: u32) -> NodeNumber {
        let number = NodeNumber(self.len as u32);
        let index = self.shared.index(number);
        self.len += 1;
        let node = Node {
            followers: std::array::from_fn(|_| AtomicU64::new(Entry::NOBODY.0)),
        };
        let rest = Rest {
            further: AtomicU64::new(self.no_followers),
            method: UnsafeCell::new(NO_METHOD),
        };
        // SAFETY: the places lie in the memory and no other thread knows of them yet. The method is set here
        // for the model tests, which see what is written to a cell, but not what it began with.
        unsafe {
            self.shared.nodes.cast_mut().add(index).write(node);
            let place = self.shared.rests.cast_mut().add(index);
            place.write(rest);
            (*place).method.with_mut(|at| *at = method);
        }
        number
    }

    /// Puts `next` where hooks look for what follows `node` by its method.
    pub fn link(&mut self, node: NodeNumber, next: NodeNumber) {
        let method = self.method(next);
        let entry = Entry::new(method, next);
        let rest = self.shared.rest(node);
        let inside = &self.shared.node(node).followers[method as usize % FOLLOWERS];
        let before = Entry(inside.load(Ordering::Relaxed));
        if before == Entry::NOBODY || before == entry {
            // Release: who sees the entry sees the node.
            inside.store(entry.0, Ordering::Release);
            return;
        }
        let mut table = Table::of(rest, Ordering::Relaxed);
        let fresh = rest.further.load(Ordering::Relaxed) == self.no_followers;
        if fresh || !table.has_room(method) {
            let size = if fresh { FIRST_SIZE } else { table.size + 1 };
            let followers = if fresh { Vec::new() } else { table.followers() };
            table = self.table(size, &followers, method);
        }
        table.put(entry);
        // Release: who sees the table sees its entries.
        rest.further.store(table.as_word(), Ordering::Release);
    }

    /// A new table with `followers` and a free entry for `method`, if possible.
    fn table(&mut self, size: u32, followers: &[Entry], method: u32) -> Table {
        let mut size = size;
        loop {
            let mut used = vec![bucket(method, size)];
            let fits = followers.iter().all(|follower| {
                let bucket = bucket(follower.method(), size);
                used.push(bucket);
                used.iter().filter(|&&other| other == bucket).count() <= 2
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
            unsafe { start.add(entry).write(AtomicU64::new(Entry::NOBODY.0)) };
        }
        start.expose_provenance();
        let table = Table { start, size };
        for &follower in followers {
            table.put(follower);
        }
        table
    }
}

fn mask(size: u32) -> u32 {
    (1 << size) - 1
}

/// The logarithm of a table twice as large as its number of entries.
fn size_for(followers: usize) -> u32 {
    (2 * followers + 1).next_power_of_two().ilog2()
}

/// The first of the two entries, side by side, that a method may be in.
fn bucket(method: u32, size: u32) -> u32 {
    method & mask(size) & !1
}

/// A table of following nodes, indexed by the low bits of their method: an entry is there, or in
/// the other one of the pair.
#[derive(Clone, Copy)]
struct Table {
    start: *const AtomicU64,
    size: u32,
}

impl Table {
    fn of(rest: &Rest, order: Ordering) -> Self {
        let word = rest.further.load(order);
        Self {
            start: ptr::with_exposed_provenance((word & !SIZE_BITS) as usize),
            size: (word & SIZE_BITS) as u32,
        }
    }

    fn as_word(self) -> u64 {
        self.start.addr() as u64 | u64::from(self.size)
    }

    fn entry(&self, index: u32) -> &AtomicU64 {
        // SAFETY: a table has 2^size words, but at least two. Callers pass masked indexes.
        unsafe { &*self.start.add(index as usize) }
    }

    /// The entries for `method`.
    fn entries(&self, method: u32) -> [&AtomicU64; 2] {
        let index = method & mask(self.size);
        [index, index ^ 1].map(|index| self.entry(index))
    }

    /// Puts an entry into its own place or, where another one is there, into the other place if
    /// that is free.
    fn put(&self, entry: Entry) {
        let [own, other] = self.entries(entry.method());
        let is = |at: &AtomicU64, entry| Entry(at.load(Ordering::Relaxed)) == entry;
        let to_other = is(other, entry)
            || is(other, Entry::NOBODY) && !is(own, entry) && !is(own, Entry::NOBODY);
        // Release: who sees the entry sees the node.
        let place = if to_other { other } else { own };
        place.store(entry.0, Ordering::Release);
    }

    fn used(entry: &AtomicU64) -> Option<Entry> {
        let entry = Entry(entry.load(Ordering::Relaxed));
        (entry != Entry::NOBODY).then_some(entry)
    }

    fn followers(&self) -> Vec<Entry> {
        (0..=mask(self.size))
            .filter_map(|index| Self::used(self.entry(index)))
            .collect()
    }

    /// Returns whether `method` may be put in without making a larger table.
    fn has_room(&self, method: u32) -> bool {
        let free = |entry| Self::used(entry).is_none_or(|other| other.method() == method);
        match self.size {
            _ if self.entries(method).into_iter().any(free) => true,
            ..EAGER_SIZE => false,
            MAX_SIZE.. => true,
            size => self.followers().len() < 1 << (size - 1),
        }
    }
}

/// Zeroes for `count` values, aligned for them.
fn reserve<T>(count: usize) -> Option<*const T> {
    let align = align_of::<T>();
    // The allocator maps pages of zeroes, which take no memory yet, only for alignments that
    // it has anyway; for others it clears all of the memory.
    let layout = Layout::from_size_align(count * size_of::<T>() + align, 16).ok()?;
    // SAFETY: the layout has a size.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() {
        return None;
    }
    let start = memory.wrapping_add(memory.align_offset(align));
    start.expose_provenance();
    Some(start.cast())
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
        assert_eq!(std::mem::offset_of!(Rest, further), 0);
        assert_eq!((size_of::<Node>(), size_of::<Rest>()), (64, 16));
        let mut nodes = Nodes::new(3).unwrap();
        let root = nodes.add(NO_METHOD);
        let next = nodes.add(13);
        nodes.link(root, next);
        nodes.link(next, next);
        let shared = nodes.shared();
        for node in [root, next] {
            assert_eq!(NodeNumber::from_word(node.as_word()), node);
            let slot = shared.followers_base() + node.as_word() * 8 + 8 * (13 & 7);
            let slot = ptr::with_exposed_provenance::<u64>(slot as usize);
            // SAFETY: a follower of a node.
            assert_eq!(unsafe { *slot }, 13 | next.as_word() << 32);
            let further = shared.rests_base() + node.as_word() * 2;
            let further = ptr::with_exposed_provenance::<u64>(further as usize);
            // SAFETY: the first word of a node's rest.
            assert_eq!(unsafe { *further }, nodes.no_followers);
        }
    }

    #[test]
    fn what_is_linked_is_found() {
        let count = if cfg!(miri) { 60 } else { 3000 };
        let mut nodes = Nodes::new(count as usize + 1).unwrap();
        let root = nodes.add(NO_METHOD);
        let added: Vec<_> = (0..count).map(|method| nodes.add(method)).collect();
        let shared = nodes.shared();
        for &next in &added {
            nodes.link(root, next);
            assert_eq!(shared.follower(root, nodes.method(next)), Some(next));
        }
        let found = (0..count).filter(|&m| shared.follower(root, m) == Some(added[m as usize]));
        assert!(found.count() > count as usize * 29 / 30);
        assert_eq!(shared.follower(root, count), None);
        assert_eq!(shared.follower(added[0], 1), None);
        for (number, &node) in (1..).zip(&added) {
            assert_eq!(node, NodeNumber(number));
            assert_eq!(nodes.method(node), number - 1);
        }
    }

    /// A new table has all that the old one had: hooks that find less ask again and again.
    #[test]
    fn hooks_find_what_they_found_before() {
        let mut nodes = Nodes::new(50).unwrap();
        let root = nodes.add(NO_METHOD);
        for method in 0..40 {
            let next = nodes.add(method);
            nodes.link(root, next);
            for before in 0..=method {
                let found = nodes.shared().follower(root, before);
                assert!(found.is_some(), "{before} after {method}");
            }
        }
    }

    #[test]
    fn more_nodes_than_words_can_name_are_refused() {
        assert!(Nodes::new(MOST_NODES + 1).is_none());
        assert!(NodeNumber(MOST_NODES as u32).as_word() < 1 << 31);
    }
}
