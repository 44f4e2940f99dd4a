//! What several tests share.

use std::io::Read;

use hprof_format::reader::{Damage, Event, StreamError, StreamReader};

/// Hands out a few bytes per call, as a socket may.
pub struct Dribble<'a> {
    pub bytes: &'a [u8],
    pub step: usize,
}

impl Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.bytes.len().min(self.step).min(buffer.len());
        let (head, rest) = self.bytes.split_at(length);
        buffer[..length].copy_from_slice(head);
        self.bytes = rest;
        Ok(length)
    }
}

/// Walks over a whole file with a [`StreamReader`].
pub fn for_each_event(bytes: &[u8], step: usize, mut see: impl FnMut(Result<Event<'_>, Damage>)) {
    let mut reader = StreamReader::new(Dribble { bytes, step }).expect("a header");
    reader.set_file_length(bytes.len() as u64);
    while let Some(event) = reader.next() {
        match event {
            Ok(event) => see(Ok(event)),
            Err(StreamError::Damage(damage)) => see(Err(damage)),
            Err(other) => panic!("{other}"),
        }
    }
}
