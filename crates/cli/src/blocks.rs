//! Gzip in HotSpot's blocks, on all cores.

use std::io::{self, Write};
use std::thread;

use hprof_packing::{BLOCK, Packer};

/// The most threads that compress.
const MAX_THREADS: usize = 16;

/// Writes gzip members of [`BLOCK`] plain bytes, compressed on all cores.
pub struct Blocks<W> {
    to: W,
    /// One for each thread.
    packers: Vec<Packer>,
    waiting: Vec<u8>,
    is_first: bool,
}

impl<W: Write> Blocks<W> {
    /// Writes to `to`. The last block is written by [`Self::finish`].
    pub fn new(to: W) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = 0..cores.min(MAX_THREADS);
        Self {
            to,
            packers: threads.map(|_| Packer::default()).collect(),
            waiting: Vec::new(),
            is_first: true,
        }
    }

    /// Compresses what waits, each block on a thread of its own.
    fn compress(&mut self) -> io::Result<()> {
        let is_first = self.is_first;
        // An empty file has a member, too.
        let (first, rest) = self.waiting.split_at(self.waiting.len().min(BLOCK));
        let blocks = std::iter::once(first).chain(rest.chunks(BLOCK));
        let jobs = blocks.zip(&mut self.packers).enumerate();
        let packed: Vec<Vec<u8>> = thread::scope(|scope| {
            let started: Vec<_> = jobs
                .map(|(number, (block, packer))| {
                    let size = (is_first && number == 0).then_some(BLOCK);
                    scope.spawn(move || {
                        let mut member = Vec::with_capacity(block.len() / 2);
                        packer.member(block, size, &mut member);
                        member
                    })
                })
                .collect();
            let joined = started.into_iter().map(|thread| match thread.join() {
                Ok(packed) => packed,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect()
        });
        for member in packed {
            self.to.write_all(&member)?;
        }
        self.is_first = false;
        self.waiting.clear();
        Ok(())
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// Errors of the writer below.
    pub fn finish(mut self) -> io::Result<()> {
        if !self.waiting.is_empty() || self.is_first {
            self.compress()?;
        }
        self.to.flush()
    }
}

impl<W: Write> Write for Blocks<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let most = BLOCK * self.packers.len();
        let taken = bytes.len().min(most - self.waiting.len());
        self.waiting.extend(bytes.iter().take(taken));
        if self.waiting.len() == most {
            self.compress()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::MultiGzDecoder;

    use super::*;

    #[test]
    fn blocks_are_read_back_whatever_their_number() {
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 7] {
            let bytes: Vec<u8> = (0..length).map(|number| (number * 7 / 3) as u8).collect();
            let mut packed = Vec::new();
            let mut blocks = Blocks::new(&mut packed);
            blocks.write_all(&bytes).unwrap();
            blocks.finish().unwrap();
            let mut plain = Vec::new();
            let mut reader = MultiGzDecoder::new(packed.as_slice());
            reader.read_to_end(&mut plain).unwrap();
            assert!(plain == bytes, "{length}");
        }
    }
}
