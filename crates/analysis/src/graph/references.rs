//! The references of all objects.

use super::array::Array;
use super::number::Number;
use super::store::Store;
use std::io;
use std::sync::{Mutex, PoisonError};

/// The number of positions of references in a chunk.
pub(crate) const CHUNK_SHIFT: u32 = 20;
const CHUNK: usize = 1 << CHUNK_SHIFT;

/// The references of all objects: for each its position, from which they follow one another up to
/// one that is marked as the last.
#[derive(Debug)]
pub struct References<N> {
    /// By object: the position of its first reference, or none.
    pub(crate) start: Array<N>,
    /// Chunks of references; one with more than 2^20 is followed by empty ones, so that a position
    /// is a chunk and a place in it.
    pub(crate) chunks: Vec<Array<N>>,
}

/// A reader for many look-ups.
#[derive(Debug)]
pub struct ReferenceView<'a, N> {
    start: &'a [N],
    chunks: Vec<&'a [N]>,
}

impl<N: Number> References<N> {
    /// The number of objects.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// True if there is no object.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// Tells whether objects are looked up in any order; see [`Array::set_hot`].
    pub fn set_hot(&self, is_hot: bool) {
        self.start.set_hot(is_hot);
        self.chunks.iter().for_each(|chunk| chunk.set_hot(is_hot));
    }

    /// The bytes from a position to the end of its chunk; `None` if there is no such
    /// position.
    pub(crate) fn list_at(&self, position: usize) -> Option<&[N]> {
        let chunk = self.chunks.get(position >> CHUNK_SHIFT)?;
        chunk.get(position & (CHUNK - 1)..)
    }

    /// Ready for look-ups.
    pub fn view(&self) -> ReferenceView<'_, N> {
        ReferenceView {
            start: &self.start,
            chunks: self.chunks.iter().map(|chunk| &**chunk).collect(),
        }
    }
}

impl<'a, N: Number> ReferenceView<'a, N> {
    /// The references of an object, in the order of its fields or elements, without nulls.
    #[inline(always)]
    pub fn of(&self, object: usize) -> impl Iterator<Item = usize> + use<'a, N> {
        let start = self.start[object];
        let mut rest: &'a [N] = if start == N::NONE {
            &[]
        } else {
            let start = start.get();
            &self.chunks[start >> CHUNK_SHIFT][start & (CHUNK - 1)..]
        };
        std::iter::from_fn(move || {
            let (&first, after) = rest.split_first()?;
            let (target, is_last) = first.split();
            rest = if is_last { &[] } else { after };
            Some(target.get())
        })
    }
}

/// Takes references in from several threads.
pub(super) struct ReferenceSink<'a, N> {
    store: &'a Store,
    chunks: Mutex<Vec<Array<N>>>,
}

impl<'a, N: Number> ReferenceSink<'a, N> {
    pub fn new(store: &'a Store) -> Self {
        Self {
            store,
            chunks: Mutex::default(),
        }
    }

    pub fn writer(&self) -> ReferenceWriter<'_, 'a, N> {
        ReferenceWriter {
            sink: self,
            chunk: Array::default(),
            number: 0,
            used: 0,
        }
    }

    pub fn finish(self) -> Vec<Array<N>> {
        self.chunks
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The references from a position on, without marks.
    pub fn list(&self, start: N) -> Vec<N> {
        if start == N::NONE {
            return Vec::new();
        }
        let chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let chunk = &chunks[start.get() >> CHUNK_SHIFT];
        let mut list = Vec::new();
        for &target in &chunk[start.get() & (CHUNK - 1)..] {
            let (target, is_last) = target.split();
            list.push(target);
            if is_last {
                break;
            }
        }
        list
    }

    /// Reserves a chunk for at least `length` references; returns its number and the chunk.
    ///
    /// # Errors
    /// The store has no room, or positions no longer fit into `N` ([`TooMany`]).
    fn reserve(&self, length: usize) -> io::Result<(usize, Array<N>)> {
        let chunk = self.store.zeros(length.max(CHUNK))?;
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let number = chunks.len();
        let taken = length.div_ceil(CHUNK).max(1);
        chunks.resize_with(number + taken, Array::default);
        if (chunks.len() << CHUNK_SHIFT) as u64 >= (N::NONE.get() as u64) {
            return Err(io::Error::other(TooMany));
        }
        Ok((number, chunk))
    }
}

/// Numbers of this width are not enough for the positions of all references.
#[derive(Debug)]
pub(crate) struct TooMany;

impl std::fmt::Display for TooMany {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("too many references for numbers of this width")
    }
}

impl std::error::Error for TooMany {}

/// Writes references for one thread.
pub(super) struct ReferenceWriter<'s, 'a, N> {
    sink: &'s ReferenceSink<'a, N>,
    chunk: Array<N>,
    number: usize,
    used: usize,
}

impl<N: Number> ReferenceWriter<'_, '_, N> {
    /// Writes the references of one object; gives their position.
    #[inline]
    pub fn write(&mut self, targets: &mut [N]) -> io::Result<N> {
        let Some(last) = targets.last_mut() else {
            return Ok(N::NONE);
        };
        *last = last.marked();
        if self.chunk.len() - self.used < targets.len() || self.used >= CHUNK {
            self.flush();
            (self.number, self.chunk) = self.sink.reserve(targets.len())?;
            self.used = 0;
        }
        let position = self.number << CHUNK_SHIFT | self.used;
        self.chunk[self.used..self.used + targets.len()].copy_from_slice(targets);
        self.used += targets.len();
        Ok(N::of(position))
    }

    /// Hands the last chunk over, without the part that nothing was written to: an index would hold its zeros.
    pub fn flush(&mut self) {
        let mut chunk = std::mem::take(&mut self.chunk);
        chunk.shorten(self.used);
        if !chunk.is_empty() {
            let mut chunks = (self.sink.chunks.lock()).unwrap_or_else(PoisonError::into_inner);
            chunks[self.number] = chunk;
        }
    }
}

impl<N: Number> References<N> {
    /// References given as lists, for tests and small graphs.
    pub fn of_lists(lists: &[Vec<usize>]) -> Self {
        let store = Store::memory();
        let sink = ReferenceSink::new(&store);
        let mut writer = sink.writer();
        let start: Vec<N> = lists
            .iter()
            .map(|list| {
                let mut targets: Vec<N> = list.iter().map(|&target| N::of(target)).collect();
                writer.write(&mut targets).unwrap_or(N::NONE)
            })
            .collect();
        writer.flush();
        drop(writer);
        Self {
            start: start.into(),
            chunks: sink.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_as_they_were() {
        let long: Vec<usize> = (0..CHUNK + 5).collect();
        let lists = vec![vec![1, 2, 1], vec![], long.clone(), vec![0], long];
        let references = References::<u32>::of_lists(&lists);
        let view = references.view();
        for (object, list) in lists.iter().enumerate() {
            assert!(view.of(object).eq(list.iter().copied()), "{object}");
        }
    }
}
