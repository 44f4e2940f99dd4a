//! Nodes: a node stands for the last methods a thread has called, `depth` of
//! them at most, innermost first.
//!
//! It is a state of an automaton, not a place in a tree: calling method `m` in
//! the node `[a, b, c]` leads to `[m, a, b]`, so a recursion needs no further
//! nodes but one: a recursion that would lead to the node it is in goes to and fro
//! between the node and a twin of the same path. A processor adds to two counters
//! in turn faster than to one. All threads share the nodes. The Java side (`HprofHooks`) reads them
//! without a lock, so a node never moves, is never freed and never changes but
//! for the address of its table of following nodes.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::state::HEAD;
use hashbrown::{DefaultHashBuilder, HashTable};

/// Number of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeNumber(pub(super) u32);

impl NodeNumber {
    /// The node of a thread that has called nothing.
    pub(super) const ROOT: Self = Self(0);
}

/// Address of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeAddress(usize);

/// What the Java side reads, at these very offsets.
#[repr(C, align(16))]
struct Node {
    method: u32,
    /// Distance of its counter from the start of a thread's state.
    counter: u32,
    /// Address of the table of further followers, and the logarithm of its size in
    /// the low five bits.
    further: AtomicU64,
    /// Followers by the low bits of their method.
    followers: [AtomicU64; SLOTS],
}

/// Followers in the node itself: most calls find theirs there.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 3;
/// Size of a counter.
const COUNTER: u32 = 8;
/// No method has this number.
const NO_METHOD: u32 = u32::MAX;
/// Tables are aligned to this, which leaves the low bits for their size.
const TABLE_ALIGN: usize = 32;
const SIZE_BITS: u64 = TABLE_ALIGN as u64 - 1;
const CHUNK: usize = 4096;
/// A table up to this size grows at every collision, a larger one when half full.
const EAGER_SIZE: u32 = 8;
const LARGEST_SIZE: u32 = 16;
const FIRST_SIZE: u32 = 2;
/// Nodes kept back for paths of a single method, so that counts per method stay
/// exact when the memory for paths is used up.
const SPARE: usize = 1 << 18;

impl NodeAddress {
    /// The address as Java code has it.
    pub(super) fn as_word(self) -> u64 {
        self.0 as u64
    }

    /// # Safety
    /// `word` came from [`as_word`](Self::as_word).
    pub(super) unsafe fn from_word(word: u64) -> Self {
        Self(word as usize)
    }

    pub(super) fn number(self) -> NodeNumber {
        NodeNumber((self.node().counter - HEAD as u32) / COUNTER)
    }

    fn node(self) -> &'static Node {
        // SAFETY: addresses are only made of nodes, which live for ever.
        unsafe { &*(self.0 as *const Node) }
    }
}

/// All nodes.
pub(super) struct Automaton {
    depth: usize,
    capacity: usize,
    chunks: Vec<NodeAddress>,
    len: usize,
    /// For each node the number of the node it was first reached from: the path of that one
    /// goes on where its own method ends.
    callers: Vec<u32>,
    /// For each node a hash of its path.
    hashes: Vec<u32>,
    index: HashTable<u32>,
    /// Each of two nodes of the same path by the number of the other.
    twins: HashMap<u32, u32>,
    hasher: DefaultHashBuilder,
    /// The table of nodes without followers; its one entry is no real node.
    no_followers: u64,
    no_node: u64,
    table_bytes: usize,
    arena: Arena,
    scratch: Vec<u32>,
    cut: u64,
}

impl Automaton {
    /// The automaton for paths of `depth` methods, at least 1, with about
    /// `paths` nodes at most.
    pub(super) fn new(depth: usize, paths: usize) -> Self {
        let mut automaton = Self {
            depth,
            capacity: paths,
            chunks: Vec::new(),
            len: 0,
            callers: Vec::new(),
            hashes: Vec::new(),
            index: HashTable::new(),
            twins: HashMap::new(),
            hasher: DefaultHashBuilder::default(),
            no_followers: 0,
            no_node: 0,
            table_bytes: 0,
            arena: Arena::default(),
            scratch: Vec::new(),
            cut: 0,
        };
        let no_node = Box::leak(Box::new(Node {
            method: NO_METHOD,
            counter: counter_of(0),
            further: AtomicU64::new(0),
            followers: Default::default(),
        }));
        let table = automaton.arena.words(1);
        // SAFETY: the arena gave one word.
        unsafe { table.write(AtomicU64::new(ptr::from_mut(no_node) as u64)) };
        automaton.no_followers = table as u64;
        no_node.further = AtomicU64::new(automaton.no_followers);
        automaton.no_node = ptr::from_ref(no_node) as u64;
        automaton.add(&[], NodeNumber::ROOT);
        automaton
    }

    /// How many counters a thread needs.
    pub(super) fn most_nodes(&self) -> usize {
        self.capacity + SPARE
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// How many paths were cut to one method because the memory was used up.
    pub(super) fn cut(&self) -> u64 {
        self.cut
    }

    /// Bytes of all nodes and tables, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.len * size_of::<Node>()
            + self.index.capacity() * 5
            + self.table_bytes
            + (self.callers.capacity() + self.hashes.capacity()) * 4
    }

    /// The node of a thread that has called nothing.
    pub(super) fn root(&self) -> NodeAddress {
        self.address(0)
    }

    /// The methods of a node, innermost first.
    pub(super) fn methods(&self, node: NodeNumber) -> Vec<u32> {
        self.walk(node).collect()
    }

    /// The same from node to node.
    fn walk(&self, node: NodeNumber) -> impl Iterator<Item = u32> + '_ {
        let above = |&number: &u32| Some(self.callers[number as usize]);
        std::iter::successors(Some(node.0), above)
            .take_while(|&number| number != NodeNumber::ROOT.0)
            .take(self.depth)
            .map(|number| self.address(number).node().method)
    }

    /// The node after calling `method` in `node`, found or made, and put into the
    /// table of `node`.
    pub(super) fn next(&mut self, node: NodeAddress, method: u32) -> NodeAddress {
        let mut path = std::mem::take(&mut self.scratch);
        path.clear();
        path.push(method);
        path.extend(self.walk(node.number()).take(self.depth - 1));
        let next = match self.find(&path) {
            Some(_) if self.has_path(node.number().0, &path) => self.twin_of(node),
            Some(found) => found,
            None if self.len < self.capacity => self.add(&path, node.number()),
            None => {
                self.cut += 1;
                match self.find(&path[..1]) {
                    Some(found) => found,
                    None if self.len < self.most_nodes() => self.add(&path[..1], NodeNumber::ROOT),
                    None => self.root(),
                }
            }
        };
        self.scratch = path;
        if next != self.root() {
            self.link(node, next);
        }
        next
    }

    /// The pairs of nodes with the same path.
    pub(super) fn twins(&self) -> impl Iterator<Item = (NodeNumber, NodeNumber)> + '_ {
        let pairs = self.twins.iter().filter(|(first, second)| first < second);
        pairs.map(|(&first, &second)| (NodeNumber(first), NodeNumber(second)))
    }

    /// The other node of the same path, if there is room for it.
    fn twin_of(&mut self, node: NodeAddress) -> NodeAddress {
        let number = node.number().0;
        if let Some(&twin) = self.twins.get(&number) {
            return self.address(twin);
        }
        if self.len >= self.capacity {
            return node;
        }
        let caller = NodeNumber(self.callers[number as usize]);
        let twin = self.add_unknown(node.node().method, caller, self.hashes[number as usize]);
        self.twins.insert(number, twin.number().0);
        self.twins.insert(twin.number().0, number);
        twin
    }

    fn find(&self, path: &[u32]) -> Option<NodeAddress> {
        let same = |&number: &u32| self.has_path(number, path);
        self.index
            .find(spread(self.hash(path)), same)
            .map(|&number| self.address(number))
    }

    fn has_path(&self, number: u32, path: &[u32]) -> bool {
        self.walk(NodeNumber(number)).eq(path.iter().copied())
    }

    fn hash(&self, path: &[u32]) -> u32 {
        self.hasher.hash_one(path) as u32
    }

    fn add(&mut self, path: &[u32], caller: NodeNumber) -> NodeAddress {
        let hash = self.hash(path);
        let method = path.first().copied().unwrap_or(NO_METHOD);
        let address = self.add_unknown(method, caller, hash);
        let Self { index, hashes, .. } = self;
        index.insert_unique(spread(hash), address.number().0, |&other| {
            spread(hashes[other as usize])
        });
        address
    }

    /// A node that is not found by its path.
    fn add_unknown(&mut self, method: u32, caller: NodeNumber, hash: u32) -> NodeAddress {
        let number = self.len as u32;
        if self.len.is_multiple_of(CHUNK) {
            let chunk = allocate(CHUNK * size_of::<Node>(), align_of::<Node>());
            self.chunks.push(NodeAddress(chunk as usize));
        }
        self.len += 1;
        let address = self.address(number);
        // SAFETY: the place lies in a chunk and no_node knows of it yet.
        unsafe {
            (address.0 as *mut Node).write(Node {
                method,
                counter: counter_of(number),
                further: AtomicU64::new(self.no_followers),
                followers: std::array::from_fn(|_| AtomicU64::new(self.no_node)),
            });
        }
        self.callers.push(caller.0);
        self.hashes.push(hash);
        address
    }

    fn address(&self, number: u32) -> NodeAddress {
        let chunk = self.chunks[number as usize / CHUNK];
        NodeAddress(chunk.0 + number as usize % CHUNK * size_of::<Node>())
    }

    /// Puts `next` where Java code looks for it.
    fn link(&mut self, node: NodeAddress, next: NodeAddress) {
        let node = node.node();
        let method = next.node().method;
        let slot = &node.followers[method as usize % SLOTS];
        let before = slot.load(Ordering::Relaxed);
        if before == self.no_node || before == next.as_word() {
            // Release: who sees the address sees the node.
            slot.store(next.as_word(), Ordering::Release);
            return;
        }
        let mut table = Table::of(node);
        let fresh = node.further.load(Ordering::Relaxed) == self.no_followers;
        if fresh || !table.has_room(method) {
            let size = if fresh { FIRST_SIZE } else { table.size + 1 };
            let followers = if fresh { Vec::new() } else { table.followers() };
            table = self.table(size, &followers, method);
        }
        table.put(method, next);
        // Release: who sees the table sees its entries.
        node.further.store(
            table.start as u64 | u64::from(table.size),
            Ordering::Release,
        );
    }

    /// A new table with `followers` and a free slot for `method`, if possible.
    fn table(&mut self, size: u32, followers: &[NodeAddress], method: u32) -> Table {
        let mut size = size;
        loop {
            let mut used = vec![method & mask(size)];
            let fits = followers.iter().all(|f| {
                let slot = f.node().method & mask(size);
                let free = !used.contains(&slot);
                used.push(slot);
                free
            });
            if fits || size >= EAGER_SIZE.max(size_for(followers.len())) || size >= LARGEST_SIZE {
                break;
            }
            size += 1;
        }
        let entries = 1usize << size;
        let start = self.arena.words(entries);
        self.table_bytes += entries * 8;
        for entry in 0..entries {
            // SAFETY: the arena gave that many words.
            unsafe { start.add(entry).write(AtomicU64::new(self.no_node)) };
        }
        let table = Table { start, size };
        for &follower in followers {
            table.put(follower.node().method, follower);
        }
        table
    }
}

/// A hash of which all bits are used, as the index wants it.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Where a thread's state has the counter of a node.
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
    start: *mut AtomicU64,
    size: u32,
}

impl Table {
    fn of(node: &Node) -> Self {
        let word = node.further.load(Ordering::Relaxed);
        Self {
            start: (word & !SIZE_BITS) as *mut AtomicU64,
            size: (word & SIZE_BITS) as u32,
        }
    }

    /// The entry for `method`.
    fn slot(&self, method: u32) -> &AtomicU64 {
        self.entry(method)
    }

    fn entry(&self, index: u32) -> &AtomicU64 {
        // SAFETY: a table has 2^size words, and `index` is masked.
        unsafe { &*self.start.add((index & mask(self.size)) as usize) }
    }

    fn put(&self, method: u32, node: NodeAddress) {
        // Release: who sees the address sees the node.
        self.slot(method).store(node.as_word(), Ordering::Release);
    }

    fn follower(entry: &AtomicU64) -> Option<NodeAddress> {
        let address = NodeAddress(entry.load(Ordering::Relaxed) as usize);
        (address.node().method != NO_METHOD).then_some(address)
    }

    fn followers(&self) -> Vec<NodeAddress> {
        (0..=mask(self.size))
            .filter_map(|index| Self::follower(self.entry(index)))
            .collect()
    }

    /// Whether `method` may be put in without making a larger table.
    fn has_room(&self, method: u32) -> bool {
        match Self::follower(self.slot(method)) {
            None => true,
            Some(other) if other.node().method == method => true,
            Some(_) if self.size < EAGER_SIZE => false,
            Some(_) => self.size >= LARGEST_SIZE || self.followers().len() < 1 << (self.size - 1),
        }
    }
}

/// Memory that is never given back.
#[derive(Default)]
struct Arena {
    rest: Vec<(usize, usize)>,
}

const ARENA_BLOCK: usize = 1 << 16;

impl Arena {
    /// Room for `count` words, aligned for a table.
    fn words(&mut self, count: usize) -> *mut AtomicU64 {
        let bytes = (count * 8).next_multiple_of(TABLE_ALIGN);
        if bytes > ARENA_BLOCK / 8 {
            return allocate(bytes, TABLE_ALIGN).cast();
        }
        match self.rest.last_mut() {
            Some((start, left)) if *left >= bytes => {
                let at = *start;
                *start += bytes;
                *left -= bytes;
                at as *mut AtomicU64
            }
            _ => {
                let block = allocate(ARENA_BLOCK, TABLE_ALIGN) as usize;
                self.rest = vec![(block + bytes, ARENA_BLOCK - bytes)];
                block as *mut AtomicU64
            }
        }
    }
}

fn allocate(bytes: usize, align: usize) -> *mut u8 {
    let Ok(layout) = Layout::from_size_align(bytes, align) else {
        return ptr::null_mut();
    };
    // SAFETY: the layout has a size.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() {
        handle_alloc_error(layout);
    }
    memory
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What Java code finds without the agent's help.
    fn known(node: NodeAddress, method: u32) -> Option<NodeAddress> {
        let inside = node.node().followers[method as usize % SLOTS].load(Ordering::Relaxed);
        let further = Table::of(node.node()).slot(method).load(Ordering::Relaxed);
        [inside, further]
            .map(|word| NodeAddress(word as usize))
            .into_iter()
            .find(|node| node.node().method == method)
    }

    /// What `HprofHooks.next` does.
    fn as_java(automaton: &mut Automaton, node: NodeAddress, method: u32) -> NodeAddress {
        known(node, method).unwrap_or_else(|| automaton.next(node, method))
    }

    proptest! {
        #[test]
        fn a_node_has_the_last_methods(
            depth in 1usize..6,
            calls in prop::collection::vec(0u32..600, 1..400),
        ) {
            let mut automaton = Automaton::new(depth, 1 << 16);
            let mut node = automaton.root();
            for (at, &call) in calls.iter().enumerate() {
                node = as_java(&mut automaton, node, call);
                let last: Vec<u32> = calls[..=at].iter().rev().take(depth).copied().collect();
                prop_assert_eq!(automaton.methods(node.number()), &last[..]);
            }
        }
    }

    #[test]
    fn a_known_step_is_in_the_table() {
        let mut automaton = Automaton::new(3, 1 << 16);
        let root = automaton.root();
        let nodes: Vec<_> = (0..3000).map(|m| automaton.next(root, m)).collect();
        let before = automaton.len();
        let found = (0..3000).filter(|&m| known(root, m) == Some(nodes[m as usize]));
        assert!(found.count() > 2900);
        assert_eq!(automaton.len(), before);
    }

    #[test]
    fn a_recursion_has_two_nodes() {
        let mut automaton = Automaton::new(3, 100);
        let mut nodes = vec![automaton.root()];
        for _ in 0..10 {
            nodes.push(as_java(&mut automaton, nodes[nodes.len() - 1], 7));
        }
        assert_eq!(automaton.len(), 5);
        for pair in nodes[3..].windows(2) {
            assert_ne!(pair[0], pair[1]);
            assert_eq!(automaton.methods(pair[1].number()), [7, 7, 7]);
            assert!(pair.contains(&nodes[3]));
        }
        let twins: Vec<_> = automaton.twins().collect();
        assert_eq!(twins, [(nodes[3].number(), nodes[4].number())]);
        let left = [nodes[3], nodes[4]].map(|node| automaton.next(node, 8));
        assert_eq!(left[0], left[1]);
    }

    #[test]
    fn a_full_automaton_keeps_single_methods() {
        let mut automaton = Automaton::new(4, 10);
        let mut node = automaton.root();
        for method in 0..100 {
            node = automaton.next(node, method % 50);
        }
        assert!(automaton.cut() > 0);
        assert_eq!(automaton.methods(node.number())[0], 49);
        assert!(automaton.len() <= 60);
    }
}
