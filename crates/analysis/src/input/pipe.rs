//! Decompresses on a thread of its own, so that reading and decompressing overlap.

use std::io::{self, Read};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

/// The bytes handed over at once.
const CHUNK: usize = 512 * 1024;
/// The chunks that may wait for the reader.
const DEPTH: usize = 8;

/// Where a producer puts its chunks.
pub type Chunks = Sender<io::Result<Vec<u8>>>;

/// Reads `inner` on a thread of its own.
pub fn in_background(mut inner: impl Read + Send + 'static) -> impl Read + Send {
    from_producer(move |send| copy(&mut inner, send))
}

/// Runs `produce` on a thread of its own and reads what it sends.
pub fn from_producer(
    produce: impl FnOnce(&Chunks) -> io::Result<()> + Send + 'static,
) -> PipeReader {
    let (sender, receiver) = bounded(DEPTH);
    let spawned = thread::Builder::new()
        .name("decompress".to_owned())
        .spawn(move || {
            if let Err(error) = produce(&sender) {
                // The reader has gone if this fails.
                let _ = sender.send(Err(error));
            }
        });
    PipeReader {
        receiver,
        chunk: Vec::new(),
        at: 0,
        failure: spawned.err(),
    }
}

/// Sends all of `inner` in chunks; ends early, without error, when the reader has gone.
pub fn copy(inner: &mut impl Read, send: &Chunks) -> io::Result<()> {
    loop {
        let mut chunk = vec![0; CHUNK];
        let mut filled = 0;
        while filled < CHUNK {
            match inner.read(&mut chunk[filled..]) {
                Ok(0) => {
                    chunk.truncate(filled);
                    if filled > 0 {
                        let _ = send.send(Ok(chunk));
                    }
                    return Ok(());
                }
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    // What came before the damage is worth reading.
                    chunk.truncate(filled);
                    let _ = send.send(Ok(chunk));
                    return Err(error);
                }
            }
        }
        if send.send(Ok(chunk)).is_err() {
            return Ok(());
        }
    }
}

/// The reading end.
pub struct PipeReader {
    receiver: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    at: usize,
    failure: Option<io::Error>,
}

impl Read for PipeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        while self.at == self.chunk.len() {
            match self.receiver.recv() {
                Ok(chunk) => {
                    self.chunk = chunk?;
                    self.at = 0;
                }
                // The producer has ended.
                Err(_) => return Ok(0),
            }
        }
        let rest = &self.chunk[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_arrive_in_order() {
        let bytes: Vec<u8> = (0..3 * CHUNK + 17).map(|i| (i % 251) as u8).collect();
        let mut found = Vec::new();
        in_background(io::Cursor::new(bytes.clone()))
            .read_to_end(&mut found)
            .unwrap();
        assert!(found == bytes);
    }

    #[test]
    fn an_error_comes_behind_the_bytes_before_it() {
        struct Failing(usize);
        impl Read for Failing {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                if self.0 == 0 {
                    return Err(io::Error::other("broken"));
                }
                let count = self.0.min(buffer.len());
                self.0 -= count;
                Ok(count)
            }
        }
        let mut found = Vec::new();
        let error = in_background(Failing(1000))
            .read_to_end(&mut found)
            .unwrap_err();
        assert_eq!((found.len(), error.to_string().as_str()), (1000, "broken"));
    }

    #[test]
    fn a_reader_that_goes_away_ends_the_producer() {
        let mut reader = in_background(io::repeat(7));
        let mut some = [0; 10];
        reader.read_exact(&mut some).unwrap();
        assert_eq!(some, [7; 10]);
    }
}
