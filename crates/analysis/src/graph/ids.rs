//! From identifiers to object numbers and back.

mod near;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::array::Array;

/// Identifiers in a block.
const BLOCK_BITS: u64 = 7 * 64;
/// Blocks in a page.
const PAGE_BLOCKS: u64 = 64;
const PAGE_BITS: u64 = BLOCK_BITS * PAGE_BLOCKS;
/// More pages than these are not addressed by a table.
const MAX_TABLE: u64 = 1 << 22;
const NO_PAGE: u32 = u32::MAX;

/// A bit for each of 448 identifiers and how many bits are set before, which fill one cache line
/// together.
#[derive(Debug, Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
pub struct Block {
    /// The number of bits set before the block, below 2^38, and above it those that are set in the
    /// first two, four and six words, so that no look-up counts the bits of more than two words.
    ranks: u64,
    words: [u64; 7],
}

/// The bits of a block's `ranks` that hold the number of bits before it.
const BEFORE_BITS: u32 = 38;
/// Where the numbers for two, four and six words are. They are at most 128, 256 and 384.
const RANK_SHIFTS: [u32; 3] = [BEFORE_BITS, BEFORE_BITS + 8, BEFORE_BITS + 17];

/// The identifiers of all objects, numbered in ascending order.
///
/// Identifiers of most files are addresses of a heap that lies in one piece, with an object in
/// every few words. So a bit per word is set where an object starts, and its number is the number
/// of bits before it: under one bit per byte of an array of identifiers, one cache miss per look-up
/// (a rank directory, G. Jacobson, "Space-efficient static trees and graphs", 1989). Files with
/// identifiers far apart get a sorted array.
#[derive(Debug)]
pub struct IdMap {
    count: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Bits {
        shift: u32,
        first_page: u64,
        /// The position of each page of the address space, from `first_page` on.
        table: Vec<u32>,
        /// The other way round, since pages may lie far apart.
        slots: Vec<u32>,
        blocks: Array<Block>,
    },
    Sorted(Array<u64>),
}

/// Collects identifiers; one for each thread.
#[derive(Debug)]
pub struct IdCollector {
    shift: u32,
    budget: usize,
    pages: FxHashMap<u64, usize>,
    bits: Vec<[[u64; 7]; PAGE_BLOCKS as usize]>,
    last: (u64, usize),
    sorted: Option<Vec<u64>>,
    failed: bool,
}

/// How identifiers are collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdPlan {
    /// As bits, one for each `1 << shift` identifiers, in at most N pages.
    Bits {
        /// The zero bits at the end of every identifier.
        shift: u32,
        /// The largest number of pages, of 4 kB each.
        pages: usize,
    },
    /// As a sorted array.
    Sorted,
}

impl IdPlan {
    /// The plans to try, the most frugal first, for a file of `file_bytes` bytes.
    pub fn all(wide: bool, file_bytes: usize) -> Vec<Self> {
        // No more memory than a sorted array might take: objects take at least 16 bytes.
        let pages = file_bytes / 16 * 8 / 4096 + 64;
        let mut plans = Vec::new();
        if wide {
            plans.push(Self::Bits { shift: 3, pages });
        }
        plans.push(Self::Bits { shift: 0, pages });
        plans.push(Self::Sorted);
        plans
    }
}

impl IdCollector {
    /// An empty collector.
    pub fn new(plan: IdPlan) -> Self {
        let (shift, budget, sorted) = match plan {
            IdPlan::Bits { shift, pages } => (shift, pages, None),
            IdPlan::Sorted => (0, 0, Some(Vec::new())),
        };
        Self {
            shift,
            budget,
            pages: FxHashMap::default(),
            bits: Vec::new(),
            last: (u64::MAX, 0),
            sorted,
            failed: false,
        }
    }

    /// Adds an identifier.
    #[inline]
    pub fn add(&mut self, id: u64) {
        if let Some(sorted) = &mut self.sorted {
            sorted.push(id);
            return;
        }
        let bit = id >> self.shift;
        let (page, within) = (bit / PAGE_BITS, bit % PAGE_BITS);
        if page != self.last.0 {
            self.turn_to(page);
        }
        if self.failed || bit << self.shift != id {
            self.failed = true;
            return;
        }
        let (block, bit) = (within / BLOCK_BITS, within % BLOCK_BITS);
        self.bits[self.last.1][block as usize][(bit / 64) as usize] |= 1 << (bit % 64);
    }

    #[cold]
    fn turn_to(&mut self, page: u64) {
        let next = self.bits.len();
        let index = *self.pages.entry(page).or_insert(next);
        if index == next {
            if next >= self.budget {
                self.failed = true;
                self.pages.remove(&page);
                return;
            }
            self.bits.push([[0; 7]; PAGE_BLOCKS as usize]);
        }
        self.last = (page, index);
    }

    /// False if the plan does not suit these identifiers.
    pub fn suits(&self) -> bool {
        !self.failed
    }
}

impl IdMap {
    /// Puts together what several threads have collected under one plan that suits.
    pub fn new(parts: Vec<IdCollector>) -> Option<Self> {
        if parts.iter().any(|part| part.sorted.is_some()) {
            let mut all = Vec::new();
            for part in parts {
                all.append(&mut part.sorted.unwrap_or_default());
            }
            all.sort_unstable();
            all.dedup();
            return Some(Self {
                count: all.len(),
                kind: Kind::Sorted(all.into()),
            });
        }
        if !parts.iter().all(IdCollector::suits) {
            return None;
        }
        let shift = parts.first().map_or(0, |part| part.shift);
        let pages = || parts.iter().flat_map(|part| part.pages.keys().copied());
        let first_page = pages().min().unwrap_or(0);
        let table_length = pages().max().map_or(0, |last| last - first_page + 1);
        if table_length > MAX_TABLE {
            return None;
        }
        let mut used: Vec<u64> = pages().collect();
        used.sort_unstable();
        used.dedup();
        let mut table = vec![NO_PAGE; table_length as usize];
        let mut blocks = vec![Block::default(); used.len() * PAGE_BLOCKS as usize];
        for (index, page) in used.iter().enumerate() {
            table[(page - first_page) as usize] = index as u32;
            let to = &mut blocks[index * PAGE_BLOCKS as usize..][..PAGE_BLOCKS as usize];
            for part in &parts {
                let Some(&from) = part.pages.get(page) else {
                    continue;
                };
                for (to, from) in to.iter_mut().zip(&part.bits[from]) {
                    for (to, from) in to.words.iter_mut().zip(from) {
                        *to |= from;
                    }
                }
            }
        }
        let mut before = 0;
        for block in &mut blocks {
            block.ranks = block.ranks_after(before);
            before += block.ones();
        }
        if before >> BEFORE_BITS != 0 {
            return None;
        }
        Some(Self {
            count: before as usize,
            kind: Kind::Bits {
                shift,
                first_page,
                slots: slots_of(&table),
                table,
                blocks: blocks.into(),
            },
        })
    }

    /// A map without any object.
    pub fn empty() -> Self {
        Self {
            count: 0,
            kind: Kind::Sorted(Array::default()),
        }
    }

    /// True if there is no object.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The number of an object; `None` if no object has this identifier.
    #[inline]
    pub fn number(&self, id: u64) -> Option<usize> {
        match &self.kind {
            Kind::Bits {
                shift,
                first_page,
                table,
                blocks,
                ..
            } => {
                let bit = id >> shift;
                if bit << shift != id {
                    return None;
                }
                let (page, within) = ((bit / PAGE_BITS).wrapping_sub(*first_page), bit % PAGE_BITS);
                let &page = table.get(usize::try_from(page).ok()?)?;
                if page == NO_PAGE {
                    return None;
                }
                let (index, bit) = (within / BLOCK_BITS, within % BLOCK_BITS);
                let block = &blocks[page as usize * PAGE_BLOCKS as usize + index as usize];
                block.rank(bit)
            }
            Kind::Sorted(ids) => ids.binary_search(&id).ok(),
        }
    }

    /// The identifier of an object; 0 for a number that no object has.
    pub fn id(&self, number: usize) -> u64 {
        self.id_by(number, |blocks, number| {
            blocks.partition_point(|block| block.before() <= number) - 1
        })
    }

    /// As [`IdMap::id`], faster for numbers near each other: `near` is where the last one was found,
    /// and 0 at first.
    #[inline]
    pub fn id_near(&self, number: usize, near: &mut usize) -> u64 {
        self.id_by(number, |blocks, number| {
            *near = near::last_before(blocks, number, *near);
            *near
        })
    }

    /// The identifier of an object, whose block `find` finds.
    #[inline]
    fn id_by(&self, number: usize, find: impl FnOnce(&[Block], u64) -> usize) -> u64 {
        match &self.kind {
            Kind::Bits {
                shift,
                first_page,
                slots,
                blocks,
                ..
            } => {
                if number >= self.count {
                    return 0;
                }
                let number = number as u64;
                let block = find(blocks, number);
                let slot = slots
                    .get(block / PAGE_BLOCKS as usize)
                    .copied()
                    .unwrap_or(0);
                let within = block as u64 % PAGE_BLOCKS * BLOCK_BITS + blocks[block].select(number);
                ((first_page + u64::from(slot)) * PAGE_BITS + within) << shift
            }
            Kind::Sorted(ids) => ids.get(number).copied().unwrap_or(0),
        }
    }

    /// The parts that an index has to hold: a description and the bytes of the array.
    pub(crate) fn parts(&self) -> (IdMapHead, &[u8]) {
        match &self.kind {
            Kind::Bits {
                shift,
                first_page,
                table,
                blocks,
                ..
            } => (
                IdMapHead {
                    count: self.count as u64,
                    bits: Some(Pages {
                        shift: *shift,
                        first: *first_page,
                        places: slots_of(table),
                    }),
                },
                blocks.bytes(),
            ),
            Kind::Sorted(ids) => (
                IdMapHead {
                    count: self.count as u64,
                    bits: None,
                },
                ids.bytes(),
            ),
        }
    }

    /// The map that an index holds.
    pub(crate) fn of_index(
        head: IdMapHead,
        map: &Arc<memmap2::Mmap>,
        start: usize,
        bytes: usize,
    ) -> Option<Self> {
        let kind = match head.bits {
            Some(Pages {
                shift,
                first,
                places,
            }) => Kind::Bits {
                shift,
                first_page: first,
                table: table_of(&places)?,
                slots: places,
                blocks: Array::of_index(map, start, bytes)?,
            },
            None => Kind::Sorted(Array::of_index(map, start, bytes)?),
        };
        Some(Self {
            count: usize::try_from(head.count).ok()?,
            kind,
        })
    }
}

impl IdMap {
    /// True if a map of an index can be asked without harm: identifiers ascend, and the numbers
    /// before each block are those of the bits.
    pub(crate) fn is_sound(&self) -> bool {
        match &self.kind {
            Kind::Sorted(ids) => {
                ids.len() == self.count && ids.windows(2).all(|pair| pair[0] < pair[1])
            }
            Kind::Bits {
                shift,
                first_page,
                table,
                slots,
                blocks,
            } => {
                let end = (u128::from(*first_page) + table.len() as u128) * u128::from(PAGE_BITS);
                let fits = *shift < 16 && end << shift <= 1 << 64;
                let mut before = 0;
                let is_counted = blocks.iter().all(|block| {
                    let is_right = block.ranks == block.ranks_after(before);
                    before += block.ones();
                    is_right
                });
                fits && table.len() as u64 <= MAX_TABLE
                    && blocks.len() == slots.len() * PAGE_BLOCKS as usize
                    && (slots.iter().enumerate())
                        .all(|(page, &slot)| table[slot as usize] as usize == page)
                    && is_counted
                    && before == self.count as u64
            }
        }
    }
}

/// The description of a map of identifiers in an index.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct IdMapHead {
    count: u64,
    bits: Option<Pages>,
}

/// The pages of a map of bits.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Pages {
    shift: u32,
    /// The number of the first page.
    first: u64,
    /// The distance of each page from the first one. Heaps have far more pages without objects than with them.
    places: Vec<u32>,
}

/// The table of pages by their places; `None` if these do not ascend, or are too far away.
fn table_of(places: &[u32]) -> Option<Vec<u32>> {
    let length = places.last().map_or(0, |&last| u64::from(last) + 1);
    let ascend = places.windows(2).all(|pair| pair[0] < pair[1]);
    if !ascend || length > MAX_TABLE {
        return None;
    }
    let mut table = vec![NO_PAGE; usize::try_from(length).ok()?];
    for (page, &place) in places.iter().enumerate() {
        table[place as usize] = page as u32;
    }
    Some(table)
}

/// Where each page lies in the table, in the order of the pages.
fn slots_of(table: &[u32]) -> Vec<u32> {
    let present = table
        .iter()
        .enumerate()
        .filter(|(_, page)| **page != NO_PAGE);
    present.map(|(slot, _)| slot as u32).collect()
}

impl Block {
    fn ones(&self) -> u64 {
        self.words.iter().map(|w| u64::from(w.count_ones())).sum()
    }

    /// The number of bits set before the block.
    #[inline(always)]
    fn before(&self) -> u64 {
        self.ranks & ((1 << BEFORE_BITS) - 1)
    }

    /// The `ranks` of this block, if `before` bits are set in the blocks before it.
    fn ranks_after(&self, before: u64) -> u64 {
        let (mut ranks, mut ones) = (before & ((1 << BEFORE_BITS) - 1), 0);
        for (two, shift) in self.words.chunks_exact(2).zip(RANK_SHIFTS) {
            ones += u64::from(two[0].count_ones() + two[1].count_ones());
            ranks |= ones << shift;
        }
        ranks
    }

    #[inline(always)]
    fn rank(&self, bit: u64) -> Option<usize> {
        let (word, bit) = ((bit / 64) as usize, bit % 64);
        let own = self.words[word];
        if own >> bit & 1 == 0 {
            return None;
        }
        // 0 for the first two words.
        let (two, four, six) = (
            self.ranks >> RANK_SHIFTS[0] & 0xff,
            self.ranks >> RANK_SHIFTS[1] & 0x1ff,
            self.ranks >> RANK_SHIFTS[2] & 0x1ff,
        );
        let pairs = [0, two, four, six][word / 2];
        let other = match word % 2 {
            0 => 0,
            _ => self.words[word - 1],
        };
        let ones = other.count_ones() + (own & ((1 << bit) - 1)).count_ones();
        Some((self.before() + pairs + u64::from(ones)) as usize)
    }

    fn select(&self, number: u64) -> u64 {
        let mut left = number - self.before();
        for (index, &word) in self.words.iter().enumerate() {
            let ones = u64::from(word.count_ones());
            if left < ones {
                let mut word = word;
                for _ in 0..left {
                    word &= word - 1;
                }
                return index as u64 * 64 + u64::from(word.trailing_zeros());
            }
            left -= ones;
        }
        0
    }
}

#[cfg(test)]
mod tests;
