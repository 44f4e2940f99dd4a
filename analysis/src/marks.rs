//! Sets of objects as bits, for searches that ask for each reference and mostly of objects that
//! they have reached: the bits of millions of objects fit into the CPU's cache.

/// A set of objects.
#[derive(Debug)]
pub(crate) struct Marks(Vec<u64>);

impl Marks {
    /// An empty set of objects with numbers below `count`.
    pub fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// The set whose bits fill words, from the lowest on.
    pub fn of_words(words: Vec<u64>) -> Self {
        Self(words)
    }

    /// Whether an object is in the set.
    #[inline(always)]
    pub fn has(&self, object: usize) -> bool {
        self.0[object / 64] >> (object % 64) & 1 != 0
    }

    /// Adds an object.
    #[inline(always)]
    pub fn set(&mut self, object: usize) {
        self.0[object / 64] |= 1 << (object % 64);
    }
}
