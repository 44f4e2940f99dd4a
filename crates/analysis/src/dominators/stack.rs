//! A stack of pairs of numbers, in memory that a store limits.

use std::io;

use crate::graph::{Array, Number, Store};

/// Pairs in a chunk.
const CHUNK: usize = 1 << 19;

/// A stack in chunks, so that nothing is copied when it grows: an array of a dump may push many
/// millions of elements at once.
pub(super) struct Stack<N> {
    /// All of them full.
    below: Vec<Array<[N; 2]>>,
    /// The chunk of the topmost pair.
    top: Array<[N; 2]>,
    /// The pairs in it.
    used: usize,
    /// An empty chunk, so that none is made anew at each step over a border.
    spare: Option<Array<[N; 2]>>,
}

impl<N: Number> Stack<N> {
    /// An empty stack.
    pub fn new() -> Self {
        Self {
            below: Vec::new(),
            top: Array::default(),
            used: 0,
            spare: None,
        }
    }

    /// Puts a pair on top.
    ///
    /// # Errors
    /// If the store has no room.
    #[inline(always)]
    pub fn push(&mut self, store: &Store, pair: [N; 2]) -> io::Result<()> {
        if self.used == self.top.len() {
            self.begin_chunk(store)?;
        }
        self.top[self.used] = pair;
        self.used += 1;
        Ok(())
    }

    /// Takes the topmost pair.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<[N; 2]> {
        if self.used == 0 {
            self.end_chunk()?;
        }
        self.used -= 1;
        Some(self.top[self.used])
    }

    #[cold]
    fn begin_chunk(&mut self, store: &Store) -> io::Result<()> {
        let next = match self.spare.take() {
            Some(spare) => spare,
            None => store.zeros(CHUNK)?,
        };
        let full = std::mem::replace(&mut self.top, next);
        if !full.is_empty() {
            self.below.push(full);
        }
        self.used = 0;
        Ok(())
    }

    #[cold]
    fn end_chunk(&mut self) -> Option<()> {
        let full = self.below.pop()?;
        self.used = full.len();
        self.spare = Some(std::mem::replace(&mut self.top, full));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_back_in_reverse_order_over_the_borders_of_chunks() {
        let (store, mut stack) = (Store::memory(), Stack::<u32>::new());
        assert_eq!(stack.pop(), None);
        let mut height = 0u32;
        for (pushes, pops) in [(2 * CHUNK + 1, 2), (3, CHUNK + 5), (CHUNK, 0)] {
            for _ in 0..pushes {
                stack.push(&store, [height, !height]).unwrap();
                height += 1;
            }
            for _ in 0..pops {
                height -= 1;
                assert_eq!(stack.pop(), Some([height, !height]));
            }
        }
        for height in (0..height).rev() {
            assert_eq!(stack.pop(), Some([height, !height]));
        }
        assert_eq!(stack.pop(), None);
    }
}
