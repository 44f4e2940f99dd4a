//! Long lists of pairs of numbers, in memory that a store limits.

use std::io;

use crate::graph::{Array, Number, Store};

/// Pairs in a chunk.
const CHUNK: usize = 1 << 19;

/// Pairs of numbers in chunks, so that nothing is copied when the list grows.
pub(super) struct Pairs<N> {
    /// Each with the number of pairs in it.
    chunks: Vec<(Array<[N; 2]>, usize)>,
}

impl<N> Default for Pairs<N> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

impl<N: Number> Pairs<N> {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a pair.
    ///
    /// # Errors
    /// If the store has no room.
    #[inline(always)]
    pub fn push(&mut self, store: &Store, pair: [N; 2]) -> io::Result<()> {
        match self.chunks.last_mut() {
            Some((chunk, used)) if *used < chunk.len() => {
                chunk[*used] = pair;
                *used += 1;
                Ok(())
            }
            _ => self.push_to_new_chunk(store, pair),
        }
    }

    #[cold]
    fn push_to_new_chunk(&mut self, store: &Store, pair: [N; 2]) -> io::Result<()> {
        // Short lists take little.
        let length = match self.chunks.len() {
            0 => CHUNK >> 9,
            _ => CHUNK,
        };
        let mut chunk = store.zeros(length)?;
        chunk[0] = pair;
        self.chunks.push((chunk, 1));
        Ok(())
    }

    /// Adds all pairs of another list, without copying them.
    pub fn append(&mut self, other: Self) {
        self.chunks.extend(other.chunks);
    }

    /// The pairs that several threads have found.
    ///
    /// # Errors
    /// The first error of a thread.
    pub fn joined(parts: Vec<io::Result<Self>>) -> io::Result<Self> {
        let mut all = Self::new();
        for part in parts {
            all.append(part?);
        }
        Ok(all)
    }

    /// The pairs, in chunks that may be written to, each with the number of pairs that are left in it.
    pub fn chunks_mut(&mut self) -> impl Iterator<Item = (&mut [[N; 2]], &mut usize)> {
        (self.chunks.iter_mut()).map(|(chunk, used)| (&mut chunk[..*used], used))
    }

    /// The pairs, in chunks.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = &[[N; 2]]> {
        self.chunks.iter().map(|(chunk, used)| &chunk[..*used])
    }

    /// The pairs, chunk by chunk; each frees its memory when it was handled.
    ///
    /// # Errors
    /// The first error of `each`.
    pub fn consume(self, mut each: impl FnMut([N; 2]) -> io::Result<()>) -> io::Result<()> {
        for (chunk, used) in self.chunks {
            chunk[..used].iter().copied().try_for_each(&mut each)?;
        }
        Ok(())
    }

    /// The pairs.
    pub fn iter(&self) -> impl Iterator<Item = [N; 2]> + '_ {
        self.chunks().flatten().copied()
    }
}
