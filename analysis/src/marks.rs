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

    /// The number of objects in the set.
    pub fn len(&self) -> usize {
        let ones = self.0.iter().map(|word| word.count_ones() as usize);
        ones.sum()
    }

    /// Whether an object is in the set.
    #[inline(always)]
    pub fn has(&self, object: usize) -> bool {
        self.0[object / 64] >> (object % 64) & 1 != 0
    }

    /// The objects in the set, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(word, &bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(64 * word + bit)
            })
        })
    }

    /// Adds an object.
    #[inline(always)]
    pub fn set(&mut self, object: usize) {
        self.0[object / 64] |= 1 << (object % 64);
    }
}
