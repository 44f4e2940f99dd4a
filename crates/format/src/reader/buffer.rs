//! The bytes of an input that have come in and were not passed over.

use std::io::{self, Read};

/// How much is read at once.
pub(super) const CHUNK: usize = 256 * 1024;

/// A window that moves along an input. It never holds more than has really come in.
#[derive(Debug)]
pub struct Buffer<R> {
    input: R,
    bytes: Vec<u8>,
    /// Where in `bytes` the unread ones start.
    start: usize,
    /// Where in `bytes` the unread ones end.
    end: usize,
    /// Where in the file the unread bytes start.
    offset: u64,
    is_at_end: bool,
}

impl<R: Read> Buffer<R> {
    /// An empty window at the start of the input.
    pub fn new(input: R) -> Self {
        Self {
            input,
            bytes: Vec::new(),
            start: 0,
            end: 0,
            offset: 0,
            is_at_end: false,
        }
    }

    /// The bytes that have come in and were not passed over.
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Where in the file the unread bytes start.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes of memory that it takes.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.bytes.len()
    }

    /// True if nothing more comes.
    pub fn is_at_end(&self) -> bool {
        self.is_at_end
    }

    /// Passes over unread bytes.
    pub fn skip(&mut self, length: usize) {
        self.start += length;
        self.offset += length as u64;
    }

    /// Reads until `length` bytes are unread, or the input ends; true if they are.
    pub fn fill(&mut self, length: u64) -> io::Result<bool> {
        while (self.unread().len() as u64) < length && !self.is_at_end {
            if self.start > 0 {
                self.bytes.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            if self.end == self.bytes.len() {
                // Grows with what has come in, not with what a record promises.
                self.bytes.resize((2 * self.end).max(CHUNK), 0);
            }
            match self.input.read(&mut self.bytes[self.end..]) {
                Ok(found) => {
                    self.end += found;
                    self.is_at_end = found == 0;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.unread().len() as u64 >= length)
    }

    /// Passes over bytes that need not be in memory.
    pub fn discard(&mut self, length: u64) -> io::Result<u64> {
        let buffered = length.min(self.unread().len() as u64);
        self.skip(buffered as usize);
        let rest = io::copy(
            &mut self.input.by_ref().take(length - buffered),
            &mut io::sink(),
        )?;
        self.offset += rest;
        Ok(buffered + rest)
    }
}

/// Takes the unread bytes first, and then those of the input.
impl<R: Read> Read for Buffer<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let found = if self.unread().is_empty() {
            // Nothing passes through the window any more, unless a caller fills it.
            self.bytes = Vec::new();
            (self.start, self.end) = (0, 0);
            self.input.read(into)?
        } else {
            let found = self.unread().read(into)?;
            self.start += found;
            found
        };
        self.offset += found as u64;
        Ok(found)
    }
}
