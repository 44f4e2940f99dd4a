//! The stacks of segments, and those that questions read last.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use quick_cache::Weighter;
use quick_cache::unsync::Cache;

use crate::numbers::{Numbers, damaged};
use crate::segment::Segment;
use crate::texts::Texts;

/// The bytes of stacks that are kept for the next question.
const KEPT: u64 = 64 << 20;
/// About how many segments' stacks these are.
const SEGMENTS: usize = 64;

/// Names and nodes of a segment's tree.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    pub names: Texts,
    pub nodes: Vec<(u32, u32)>,
}

impl Stacks {
    /// Reads the block of a segment.
    ///
    /// # Errors
    /// If it is damaged.
    pub(super) fn decode(bytes: &[u8]) -> io::Result<Self> {
        let mut numbers = Numbers(bytes);
        let count = numbers.small()?;
        let mut lengths = Vec::new();
        for _ in 0..count {
            lengths.push(numbers.small()?);
        }
        let length = lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
        let length = usize::try_from(length).map_err(|_| damaged())?;
        let (names, rest) = numbers.0.split_at_checked(length).ok_or_else(damaged)?;
        numbers.0 = rest;
        let names = String::from_utf8(names.to_vec()).map_err(|_| damaged())?;
        let names = Texts::of(names, &lengths).ok_or_else(damaged)?;
        let count = numbers.small()?;
        let mut nodes = Vec::new();
        for at in 0..count {
            let parent = at.checked_sub(numbers.small()?).ok_or_else(damaged)?;
            nodes.push((parent, 0));
        }
        for node in &mut nodes {
            node.1 = numbers.small()?;
            if node.1 as usize >= names.len() {
                return Err(damaged());
            }
        }
        Ok(Self { names, nodes })
    }

    /// About the bytes that they take in memory.
    fn bytes(&self) -> u64 {
        (self.names.bytes() + size_of_val(&self.nodes[..])) as u64
    }
}

#[derive(Clone)]
struct Bytes;

impl Weighter<u64, Arc<Stacks>> for Bytes {
    fn weight(&self, _: &u64, stacks: &Arc<Stacks>) -> u64 {
        // An entry without weight would never be removed.
        stacks.bytes().max(1)
    }
}

/// Stacks that were read last, by the numbers of their segments. A page asks several questions about a window, and the
/// next page often about nearly that window; unpacking stacks takes longer than counting the rows of small segments.
pub(super) struct StacksCache(Mutex<Cache<u64, Arc<Stacks>, Bytes>>);

impl Default for StacksCache {
    fn default() -> Self {
        Self(Mutex::new(Cache::with_weighter(SEGMENTS, KEPT, Bytes)))
    }
}

impl StacksCache {
    /// The stacks of a segment.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(super) fn of(&self, segment: &Segment) -> io::Result<Arc<Stacks>> {
        if let Some(stacks) = self.0.lock().get(&segment.number) {
            return Ok(Arc::clone(stacks));
        }
        // Two questions at once may both read them, and neither waits.
        let stacks = Arc::new(segment.stacks()?);
        self.0.lock().insert(segment.number, Arc::clone(&stacks));
        Ok(stacks)
    }

    /// Drops those of segments that are no longer there.
    pub(super) fn forget(&self, gone: &[u64]) {
        let mut kept = self.0.lock();
        for number in gone {
            kept.remove(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Writer;
    use crate::tree::Tree;

    fn segment(folder: &tempfile::TempDir, number: u64, frames: &[&str]) -> Segment {
        let path = folder.path().join(number.to_string());
        let mut tree = Tree::default();
        tree.stack(frames.iter().copied());
        let writer = Writer::create(&path, true).unwrap();
        writer.finish(&tree).unwrap();
        Segment::open(&path, number, 0).unwrap()
    }

    #[test]
    fn stacks_are_read_once_until_their_segment_goes() {
        let folder = tempfile::tempdir().unwrap();
        let cache = StacksCache::default();
        let one = segment(&folder, 1, &["main", "work"]);
        let first = cache.of(&one).unwrap();
        assert_eq!(first.names.get(first.nodes[1].1), Some("main"));
        assert!(Arc::ptr_eq(&first, &cache.of(&one).unwrap()));
        cache.forget(&[1]);
        assert!(!Arc::ptr_eq(&first, &cache.of(&one).unwrap()));
    }

    #[test]
    fn memory_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let cache = StacksCache::default();
        // Three of them are more than all that is kept.
        let long = "x".repeat(KEPT as usize / 5 * 2);
        for number in 0..3 {
            let read = cache.of(&segment(&folder, number, &[&long])).unwrap();
            assert!(read.bytes() > KEPT / 5 * 2);
        }
        assert!(cache.0.lock().weight() <= KEPT);
    }
}
