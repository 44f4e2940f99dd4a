//! Inflates HotSpot's compressed dumps on several threads.
//!
//! HotSpot writes one gzip member per block of plain bytes, and the size of the blocks into the
//! comment of the first (JDK-8237354). Where a member begins is not listed anywhere, but all but
//! the first begin with the same bytes. Each thread takes the next place with such bytes; the
//! reader uses a member only if the one before ends there. If anything is not as HotSpot writes
//! it, the rest is inflated in one thread, as any gzip file.

use std::collections::BTreeMap;
use std::io::Read;
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use flate2::bufread::{GzDecoder, MultiGzDecoder};

use super::pipe::{self, Chunks};

/// The bytes that a member of HotSpot's begins with.
const MEMBER: [u8; 8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0];
/// The text before the size of the blocks in the first member's comment.
const COMMENT: &[u8] = b"HPROF BLOCKSIZE=";
/// Larger blocks are not taken apart: HotSpot's have 1 MiB.
const LARGEST: usize = 64 << 20;
/// The inflated members that may wait for the reader, per thread.
const AHEAD: usize = 4;

/// The size of the blocks that HotSpot says a compressed dump has.
pub fn block_size(file: &[u8]) -> Option<usize> {
    let decoder = GzDecoder::new(&file[..file.len().min(4096)]);
    let comment = decoder.header()?.comment()?.strip_prefix(COMMENT)?;
    let size = std::str::from_utf8(comment).ok()?.trim().parse().ok()?;
    (1..=LARGEST).contains(&size).then_some(size)
}

/// A member that a thread has inflated.
struct Member {
    start: usize,
    /// Its bytes and where the next begins; `None` if it is not sound.
    inflated: Option<(Vec<u8>, usize)>,
}

struct State {
    /// Where the next member is searched for.
    at: usize,
    /// The number of the member that a thread takes next.
    taken: usize,
    /// The number of the member that the reader wants next.
    wanted: usize,
    /// By number; `None` after the last.
    done: BTreeMap<usize, Option<Member>>,
    is_over: bool,
}

struct Blocks<F> {
    file: F,
    block_size: usize,
    threads: usize,
    state: Mutex<State>,
    changed: Condvar,
}

/// Inflates a dump of HotSpot's on all cores.
pub fn inflate(
    file: impl AsRef<[u8]> + Send + Sync + 'static,
    block_size: usize,
) -> impl Read + Send {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let blocks = Arc::new(Blocks {
        file,
        block_size,
        threads,
        state: Mutex::new(State {
            at: 0,
            taken: 0,
            wanted: 0,
            done: BTreeMap::new(),
            is_over: false,
        }),
        changed: Condvar::new(),
    });
    pipe::from_producer(move |send| {
        let start = |_: &usize| {
            let blocks = Arc::clone(&blocks);
            let work = move || while blocks.inflate_next() {};
            let thread = thread::Builder::new().name("inflate".to_owned());
            thread.spawn(work).is_ok()
        };
        let end = match (0..threads).filter(start).count() {
            0 => Some(0),
            _ => blocks.send_all(send),
        };
        blocks.lock().is_over = true;
        blocks.changed.notify_all();
        match end {
            Some(end) => {
                let rest = &blocks.file.as_ref()[end..];
                pipe::copy(&mut MultiGzDecoder::new(rest), send)
            }
            None => Ok(()),
        }
    })
}

impl<F: AsRef<[u8]>> Blocks<F> {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a member and inflates it; false if there is nothing more to do.
    fn inflate_next(&self) -> bool {
        let file = self.file.as_ref();
        let mut state = self.lock();
        while !state.is_over && state.taken >= state.wanted + AHEAD * self.threads {
            state = self.wait(state);
        }
        if state.is_over {
            return false;
        }
        let number = state.taken;
        state.taken += 1;
        let start = match number {
            0 => Some(0),
            _ => find(&file[state.at..]).map(|found| state.at + found),
        };
        let Some(start) = start else {
            state.done.insert(number, None);
            self.changed.notify_all();
            return false;
        };
        state.at = start + MEMBER.len();
        drop(state);
        let inflated = self.inflate(start);
        self.lock()
            .done
            .insert(number, Some(Member { start, inflated }));
        self.changed.notify_all();
        true
    }

    /// Inflates the member that begins at an index of the file.
    fn inflate(&self, start: usize) -> Option<(Vec<u8>, usize)> {
        let file = self.file.as_ref();
        let mut decoder = GzDecoder::new(&file[start..]);
        let mut bytes = Vec::with_capacity(self.block_size);
        let most = self.block_size as u64 + 1;
        decoder.by_ref().take(most).read_to_end(&mut bytes).ok()?;
        if bytes.len() as u64 == most {
            return None;
        }
        Some((bytes, file.len() - decoder.into_inner().len()))
    }

    /// Sends all members in order; gives where something else begins that has to be inflated in
    /// one thread, if anything does.
    fn send_all(&self, send: &Chunks) -> Option<usize> {
        let file = self.file.as_ref();
        let mut end = 0;
        while end < file.len() {
            let mut state = self.lock();
            let member = loop {
                let wanted = state.wanted;
                match state.done.remove(&wanted) {
                    Some(member) => break member,
                    None => state = self.wait(state),
                }
            };
            state.wanted += 1;
            drop(state);
            self.changed.notify_all();
            match member {
                // Chance bytes within the member before.
                Some(Member { start, .. }) if start < end => {}
                Some(Member {
                    start,
                    inflated: Some((bytes, next)),
                }) if start == end => {
                    end = next;
                    if send.send(Ok(bytes)).is_err() {
                        // The reader has gone.
                        return None;
                    }
                }
                _ => return Some(end),
            }
        }
        None
    }
}

/// The index at which a member may begin.
fn find(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let first = bytes[from..].iter().position(|&byte| byte == MEMBER[0])?;
        if bytes[from + first..].starts_with(&MEMBER) {
            return Some(from + first);
        }
        from += first + 1;
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use flate2::{Compression, GzBuilder};
    use std::io::Write;

    /// As HotSpot writes it.
    fn compress(plain: &[u8], block: usize) -> Vec<u8> {
        let mut file = Vec::new();
        for (number, bytes) in plain.chunks(block).enumerate() {
            let mut builder = GzBuilder::new();
            if number == 0 {
                builder = builder.comment(format!("HPROF BLOCKSIZE={block}"));
            }
            let mut encoder = builder.write(Vec::new(), Compression::fast());
            encoder.write_all(bytes).unwrap();
            file.extend(encoder.finish().unwrap());
        }
        file
    }

    fn read(file: &[u8]) -> io::Result<Vec<u8>> {
        let mut found = Vec::new();
        let size = block_size(file).expect("a comment");
        inflate(file.to_vec(), size).read_to_end(&mut found)?;
        Ok(found)
    }

    fn plain() -> Vec<u8> {
        // Holds what members begin with, so that some starts are wrong.
        let mut plain: Vec<u8> = (0..300_000u32).map(|i| ((i * 7919) >> 7) as u8).collect();
        plain[150_000..150_008].copy_from_slice(&MEMBER);
        plain
    }

    #[test]
    fn blocks_come_in_order() {
        let plain = plain();
        for block in [1000, 4096, 100_000, 1 << 20] {
            let file = compress(&plain, block);
            assert_eq!(block_size(&file), Some(block));
            assert!(read(&file).unwrap() == plain, "{block}");
        }
    }

    #[test]
    fn what_is_no_block_is_inflated_all_the_same() {
        let plain = plain();
        let mut file = compress(&plain, 10_000);
        // A member longer than said, with another kind of header.
        let mut encoder = GzBuilder::new()
            .filename("other")
            .write(Vec::new(), Compression::fast());
        encoder.write_all(&plain).unwrap();
        file.extend(encoder.finish().unwrap());
        file.extend(compress(&plain, 10_000));
        assert!(read(&file).unwrap() == plain.repeat(3));
    }

    #[test]
    fn damage_is_told_behind_what_is_sound() {
        let plain = plain();
        let mut file = compress(&plain, 10_000);
        let cut = file.len() - 3;
        let mut found = Vec::new();
        let error = inflate(file[..cut].to_vec(), 10_000)
            .read_to_end(&mut found)
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(found.len() >= 290_000 && plain.starts_with(&found));
        let middle = file.len() / 2;
        file[middle] ^= 0x55;
        let mut found = Vec::new();
        assert!(inflate(file, 10_000).read_to_end(&mut found).is_err());
        assert!(found.len() > 100_000, "{}", found.len());
    }

    #[test]
    fn other_files_have_no_blocks() {
        let mut encoder = GzBuilder::new()
            .comment("of another program")
            .write(Vec::new(), Compression::fast());
        encoder.write_all(b"text").unwrap();
        assert_eq!(block_size(&encoder.finish().unwrap()), None);
        assert_eq!(block_size(b"JAVA PROFILE"), None);
        let zero = GzBuilder::new().comment("HPROF BLOCKSIZE=0");
        let file = zero.write(Vec::new(), Compression::fast()).finish();
        assert_eq!(block_size(&file.unwrap()), None);
    }
}
