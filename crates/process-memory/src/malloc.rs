//! Memory that glibc's `malloc` has handed out or keeps: its arenas, and the blocks that have a mapping of their own
//! (`malloc/malloc.c` and `malloc/arena.c` of glibc 2.17 and later, 64 bits).
//!
//! Each chunk has its size before it, with three flags; bit 0 is set if the chunk before is in use. So the chunks of an
//! area are read from its first to its last one, and a walk that does not end at the end of the area counts for nothing:
//! the program goes on meanwhile. Chunks that a thread keeps for itself (tcache, fast bins; up to 1 KB each) look used.

use std::ops::Range;

use crate::memory::{Memory, PAGE};
use crate::smaps::Mapping;

/// An area of an arena other than the first begins at a multiple of this and is no longer (`HEAP_MAX_SIZE`).
const AREA: u64 = 64 << 20;
/// The chunk before is in use.
const BEFORE_IN_USE: u64 = 1;
/// The chunk is a mapping of its own.
const MAPPED: u64 = 2;
/// All flags.
const FLAGS: u64 = 7;
/// The head of a chunk.
const HEAD: u64 = 16;
/// The least chunk.
const MIN_CHUNK: u64 = 32;
/// The most bytes of the structures at the begin of an area (`heap_info` and `malloc_state`).
const MAX_HEAD: u64 = 0xc00;
/// Smaller blocks have no mapping of their own unless a program asks for it (`M_MMAP_THRESHOLD`).
const MIN_MAPPED: u64 = 64 << 10;
/// Larger places are reserved by others, and listing their pages takes too long.
const MAX_PLACE: u64 = 64 << 30;
/// How often a walk is tried again that the program has disturbed.
const ATTEMPTS: usize = 3;

/// A place of memory that `malloc` manages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Area {
    /// Its addresses.
    pub range: Range<u64>,
    /// How it is managed.
    pub kind: Kind,
    /// Its bytes in free chunks, and those of them in whole resident pages; `None` if the walk failed.
    pub free: Option<Free>,
}

/// How an area is managed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The first arena, `[heap]`.
    Main,
    /// A part of the arena at this address.
    Arena(u64),
    /// A block with a mapping of its own.
    Block,
}

/// Memory that is free inside of an area.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Free {
    /// Bytes of free chunks.
    pub bytes: u64,
    /// Bytes of resident pages that hold nothing else.
    pub resident: u64,
}

/// The areas in a mapping of no file.
pub fn areas(mapping: &Mapping, memory: &dyn Memory) -> Vec<Area> {
    if mapping.name == "[heap]" {
        let range = mapping.start..mapping.end;
        let free = attempt(|| walk(memory, range.clone()));
        return vec![Area {
            range,
            kind: Kind::Main,
            free,
        }];
    }
    // The kernel makes one mapping of an arena and a block beside it.
    let mut found = arenas(mapping, memory);
    let mut gaps = Vec::new();
    let mut start = mapping.start;
    for area in &found {
        gaps.push(start..area.range.start);
        start = area.range.end;
    }
    gaps.push(start..mapping.end);
    let blocks = gaps.into_iter().flat_map(|gap| blocks(&gap, memory));
    found.extend(blocks.collect::<Vec<_>>());
    found
}

fn arenas(mapping: &Mapping, memory: &dyn Memory) -> Vec<Area> {
    let mut found = Vec::new();
    let mut at = mapping.start.next_multiple_of(AREA);
    while at < mapping.end {
        found.extend(arena(at, mapping.end, memory));
        at += AREA;
    }
    found
}

/// The area of an arena at this address, if there is one (`heap_info`: arena, area before, size, accessible size).
fn arena(at: u64, end: u64, memory: &dyn Memory) -> Option<Area> {
    let words = [0, 8, 16, 24].map(|offset| memory.word(at + offset));
    let [Some(arena), Some(before), Some(size), Some(accessible)] = words else {
        return None;
    };
    let is_size = |size: u64| size > 0 && size <= AREA && size.is_multiple_of(PAGE);
    let is_first = before == 0 && (at..at + 0x100).contains(&arena);
    let is_later = before != 0 && before.is_multiple_of(AREA) && arena != 0 && arena % AREA < 0x100;
    // It may have grown since the mappings were listed.
    let fits = is_size(size) && is_size(accessible) && size <= accessible && at < end;
    if !fits || !(is_first || is_later) {
        return None;
    }
    let range = at..at + size;
    let first = (at + 32..at + MAX_HEAD).step_by(16);
    let free = attempt(|| {
        first
            .clone()
            .find_map(|first| walk(memory, first..range.end))
    });
    Some(Area {
        range: at..(at + accessible).min(end),
        kind: Kind::Arena(arena),
        free,
    })
}

fn attempt<T>(work: impl Fn() -> Option<T>) -> Option<T> {
    (0..ATTEMPTS).find_map(|_| work())
}

/// Reads chunk after chunk. The end of the last one, which is free, must be the end of the area; an area that is full ends
/// with two empty chunks as a fence instead.
fn walk(memory: &dyn Memory, range: Range<u64>) -> Option<Free> {
    let mut page = Page::default();
    let mut free = Free::default();
    let mut count = |start: u64, size: u64| {
        free.bytes += size;
        // The heads of this chunk and of the next one are in use, as are the links of a free chunk.
        free.resident += PAGE * memory.whole_pages(start + 48, start + size);
    };
    let mut at = range.start;
    let mut before: Option<(u64, u64)> = None;
    let mut chunks = 0_u64;
    while range.end - at >= MIN_CHUNK {
        let word = page.word(memory, at + 8)?;
        let size = word & !FLAGS;
        if word & BEFORE_IN_USE == 0
            && let Some((start, size)) = before
        {
            count(start, size);
        }
        if size <= 16 && range.end - at <= 2 * MIN_CHUNK {
            break;
        }
        let is_chunk = word & MAPPED == 0
            && size >= MIN_CHUNK
            && size.is_multiple_of(16)
            && size <= range.end - at
            && (before.is_some() || word & BEFORE_IN_USE != 0);
        if !is_chunk {
            return None;
        }
        if size == range.end - at {
            count(at, size);
        }
        before = Some((at, size));
        at += size;
        chunks += 1;
    }
    (chunks > 0).then_some(free)
}

/// The page that was read last: chunks are often small.
#[derive(Default)]
struct Page {
    start: u64,
    bytes: Vec<u8>,
}

impl Page {
    fn word(&mut self, memory: &dyn Memory, address: u64) -> Option<u64> {
        let start = address / PAGE * PAGE;
        if self.bytes.is_empty() || self.start != start {
            self.bytes.resize(PAGE as usize, 0);
            self.start = start;
            if !memory.read(start, &mut self.bytes) {
                self.bytes.clear();
                return None;
            }
        }
        let at = (address - start) as usize;
        let bytes = self.bytes.get(at..at + 8)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    }
}

/// Blocks with a mapping of their own. The kernel makes one mapping of neighbours, so a block may follow something else: then
/// only a row of blocks up to the end of the place counts, as any page may look like the head of a block.
fn blocks(place: &Range<u64>, memory: &dyn Memory) -> Vec<Area> {
    if !(MIN_MAPPED..=MAX_PLACE).contains(&(place.end - place.start)) {
        return Vec::new();
    }
    let Some(present) = memory.present(place.start, place.end) else {
        return Vec::new();
    };
    let mut rows: Vec<Vec<Range<u64>>> = Vec::new();
    let mut at = place.start;
    while at < place.end {
        let is_there = present.get(((at - place.start) / PAGE) as usize);
        let block = is_there.filter(|&&is_there| is_there);
        match block.and_then(|_| block_at(at, place.end, memory)) {
            Some(range) => {
                let next = range.end;
                match rows.last_mut() {
                    Some(row) if row.last().is_some_and(|last| last.end == at) => row.push(range),
                    _ => rows.push(vec![range]),
                }
                at = next;
            }
            None => at += PAGE,
        }
    }
    let counts = |row: &Vec<Range<u64>>| {
        let first = row.first().is_some_and(|block| block.start == place.start);
        first || row.last().is_some_and(|block| block.end == place.end)
    };
    let found = rows.into_iter().filter(counts).flatten();
    let block = |range| Area {
        range,
        kind: Kind::Block,
        free: Some(Free::default()),
    };
    found.map(block).collect()
}

fn block_at(at: u64, end: u64, memory: &dyn Memory) -> Option<Range<u64>> {
    let mut head = [0; 16];
    if !memory.read(at, &mut head) {
        return None;
    }
    let [before, word] = [0, 8].map(|offset| {
        let bytes = head[offset..offset + 8].try_into();
        bytes.map_or(0, u64::from_ne_bytes)
    });
    // glibc 2.42 and later leave the head out of the size.
    let size = (word & !FLAGS).checked_next_multiple_of(PAGE)?;
    let left_out = size - (word & !FLAGS);
    let is_block = before == 0
        && (left_out == 0 || left_out == HEAD)
        && word & FLAGS == MAPPED
        && size >= MIN_MAPPED
        && size <= end - at;
    is_block.then(|| at..at + size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Memory from an address on, all of it resident.
    struct Image {
        start: u64,
        bytes: Vec<u8>,
    }

    impl Image {
        fn new(start: u64, size: u64) -> Self {
            Self {
                start,
                bytes: vec![0; size as usize],
            }
        }

        fn put(&mut self, address: u64, word: u64) {
            let at = (address - self.start) as usize;
            self.bytes[at..at + 8].copy_from_slice(&word.to_ne_bytes());
        }

        fn mapping(&self, name: &str) -> Mapping {
            Mapping {
                start: self.start,
                end: self.start + self.bytes.len() as u64,
                name: name.to_owned(),
                ..Mapping::default()
            }
        }
    }

    impl Memory for Image {
        fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
            let from = address
                .checked_sub(self.start)
                .and_then(|from| self.bytes.get(from as usize..)?.get(..buffer.len()));
            from.is_some_and(|from| {
                buffer.copy_from_slice(from);
                true
            })
        }

        fn present(&self, start: u64, end: u64) -> Option<Vec<bool>> {
            Some(vec![true; (end.div_ceil(PAGE) - start / PAGE) as usize])
        }
    }

    #[test]
    fn free_chunks_of_the_first_arena_are_counted() {
        let mut image = Image::new(0x10000, 0x10000);
        image.put(0x10008, 0x290 | 1);
        image.put(0x10298, 0x5000 | 1);
        // The one before is free.
        image.put(0x15298, 0x100);
        image.put(0x15398, 0xac70 | 1);
        let areas = areas(&image.mapping("[heap]"), &image);
        let free = areas[0].free.unwrap();
        assert_eq!(free.bytes, 0x5000 + 0xac70);
        assert_eq!(free.resident, (4 + 10) * PAGE);
        image.put(0x15398, 0xac00 | 1);
        let broken = super::areas(&image.mapping("[heap]"), &image);
        assert_eq!(broken[0].free, None, "it does not end where the area ends");
    }

    #[test]
    fn other_arenas_begin_with_their_heads() {
        let mut image = Image::new(AREA, 0x21000);
        for (offset, word) in [(0, AREA + 0x30), (16, 0x21000), (24, 0x21000)] {
            image.put(AREA + offset, word);
        }
        image.put(AREA + 0x8d8, 0x295);
        image.put(AREA + 0xb68, (0x21000 - 0xb60) | 1);
        let areas = areas(&image.mapping(""), &image);
        assert_eq!(areas.len(), 1);
        assert_eq!(areas[0].kind, Kind::Arena(AREA + 0x30));
        assert_eq!(areas[0].free.unwrap().bytes, 0x21000 - 0xb60);
    }

    #[test]
    fn a_block_beside_an_arena_is_found() {
        let mut image = Image::new(AREA - 0x2_0000, 0x4_1000);
        image.put(AREA - 0x2_0000 + 8, 0x1_fff0 | 2);
        for (offset, word) in [(0, AREA + 0x30), (16, 0x2_1000), (24, 0x2_1000)] {
            image.put(AREA + offset, word);
        }
        let found = areas(&image.mapping(""), &image);
        let kinds: Vec<_> = found.iter().map(|area| area.kind).collect();
        assert_eq!(kinds, [Kind::Arena(AREA + 0x30), Kind::Block]);
    }

    #[test]
    fn rows_of_blocks_are_found_behind_other_memory() {
        let mut image = Image::new(0x10_0000, 0x6_0000);
        image.put(0x12_0008, 0x2_0000 | 2);
        image.put(0x14_0008, 0x2_0000 | 2);
        let found = areas(&image.mapping(""), &image);
        let ranges: Vec<_> = found.into_iter().map(|area| area.range).collect();
        assert_eq!(ranges, [0x12_0000..0x14_0000, 0x14_0000..0x16_0000]);
        image.put(0x14_0008, 0);
        assert_eq!(
            areas(&image.mapping(""), &image),
            [],
            "between other memory"
        );
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(words in prop::collection::vec((0..0x4000_u64, prop_oneof![any::<u64>(), 0..0x4000_u64]), 0..60)) {
            for (start, name) in [(AREA, ""), (0x10000, "[heap]")] {
                let mut image = Image::new(start, 0x20000);
                for (at, word) in &words {
                    image.put(start + at * 8, *word);
                }
                for area in areas(&image.mapping(name), &image) {
                    prop_assert!(area.range.start >= start && area.range.end <= start + 0x20000);
                    prop_assert!(area.free.is_none_or(|free| free.bytes <= 0x20000));
                }
            }
        }
    }
}
