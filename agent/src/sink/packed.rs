//! A file that is compressed while it is written, in blocks that can be decompressed one by one.
//!
//! `.gz` has HotSpot's form (JDK-8237354): a gzip member for each mebibyte, and the size of the blocks
//! in the first member's comment, so that readers find a place without decompressing what is
//! before it. `.zst` has a frame for each mebibyte. Threads compress, as the VM may wait for the dump.
//!
//! Each member but the last is full, or readers would compute wrong places. So a partial block is kept
//! when the file is finished, and its member is written again when more comes.
//!
//! On a full disk a few members wait: the file that the VM dumps into is often on this disk, and
//! shrinks while it is read.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use hprof_packing::Packer;
use ruzstd::encoding::{CompressionLevel, compress};

use crate::options::Packing;
use crate::os::native_thread;

/// The plain bytes of a member. Tests run under slow tools, too.
const BLOCK: usize = if cfg!(test) {
    1 << 13
} else {
    hprof_packing::BLOCK
};
/// The most threads that compress: the VM's dumper writes no faster.
const MAX_THREADS: usize = 4;
/// The blocks that may wait for a thread. Memory is bounded by these: each block and its member.
const AHEAD: usize = 1;
/// The most bytes of members that wait for room on the disk.
const MOST_UNWRITTEN: usize = 8 * BLOCK;

/// A file and what it lacks.
pub(super) struct Packed {
    file: File,
    packing: Packing,
    /// Plain bytes that fill no block yet.
    block: Vec<u8>,
    /// The first block that is compressed next is the first of the file.
    is_first: bool,
    /// Compressed bytes of whole blocks in the file.
    length: u64,
    /// Members of whole blocks that the full disk has not taken yet.
    unwritten: VecDeque<Vec<u8>>,
    /// The file ends in a member of [`Self::block`].
    has_tail: bool,
    threads: Option<Threads>,
}

impl Packed {
    /// Writes into `file`, which is empty.
    pub(super) fn new(file: File, packing: Packing) -> Self {
        Self {
            file,
            packing,
            block: Vec::new(),
            is_first: true,
            length: 0,
            unwritten: VecDeque::new(),
            has_tail: false,
            threads: None,
        }
    }

    /// Writes all there is: the file can be read now. More may follow.
    ///
    /// # Errors
    /// The file system's.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if let Some(mut threads) = self.threads.take() {
            while let Some(done) = threads.next() {
                self.append(&done?.member)?;
            }
        }
        self.write_waiting()?;
        let is_empty = self.block.is_empty() && !self.is_first;
        if !self.has_tail && !is_empty {
            let mut member = Vec::new();
            Compressor::new(self.packing).block(&self.block, self.is_first, &mut member);
            let written = self.file.write_all(&member);
            if written.is_err() {
                self.cut();
            }
            written?;
            self.has_tail = true;
        }
        Ok(())
    }

    /// Has the full block compressed, and writes what was compressed before.
    fn pack(&mut self) -> io::Result<()> {
        let packing = self.packing;
        let threads = self.threads.get_or_insert_with(|| Threads::start(packing));
        let mut job = threads.spare.pop().unwrap_or_default();
        std::mem::swap(&mut job.block, &mut self.block);
        job.is_first = std::mem::replace(&mut self.is_first, false);
        threads.take(job);
        while self.threads.as_ref().is_some_and(Threads::is_full) {
            let done = self.threads.as_mut().and_then(Threads::next);
            let Some(mut job) = done.transpose()? else {
                break;
            };
            self.append(&job.member)?;
            job.block.clear();
            job.member.clear();
            if let Some(threads) = &mut self.threads {
                threads.spare.push(job);
            }
        }
        Ok(())
    }

    /// Writes a member of a whole block, now or when the disk has room.
    fn append(&mut self, member: &[u8]) -> io::Result<()> {
        match self.write_waiting().and_then(|()| self.put(member)) {
            Err(error) if is_full(&error) => {
                let waiting: usize = self.unwritten.iter().map(Vec::len).sum();
                if waiting + member.len() > MOST_UNWRITTEN {
                    return Err(error);
                }
                self.unwritten.push_back(member.to_vec());
                Ok(())
            }
            written => written,
        }
    }

    fn write_waiting(&mut self) -> io::Result<()> {
        while let Some(member) = self.unwritten.pop_front() {
            if let Err(error) = self.put(&member) {
                self.unwritten.push_front(member);
                return Err(error);
            }
        }
        Ok(())
    }

    fn put(&mut self, member: &[u8]) -> io::Result<()> {
        match self.file.write_all(member) {
            Ok(()) => {
                self.length += member.len() as u64;
                Ok(())
            }
            Err(error) => {
                self.cut();
                Err(error)
            }
        }
    }

    /// Takes the last member away, if it is of a partial block or cut off itself.
    fn cut(&mut self) {
        // On a full disk too. If it fails, readers report where the file is damaged.
        let _ = self.file.set_len(self.length);
        let _ = self.file.seek(SeekFrom::Start(self.length));
    }
}

/// Returns true if there may be room later.
fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.has_tail && !bytes.is_empty() {
            self.file.set_len(self.length)?;
            self.file.seek(SeekFrom::Start(self.length))?;
            self.has_tail = false;
        }
        if self.block.capacity() == 0 {
            self.block.reserve_exact(BLOCK);
        }
        let taken = bytes.len().min(BLOCK - self.block.len());
        self.block.extend_from_slice(&bytes[..taken]);
        if self.block.len() == BLOCK {
            self.pack()?;
        }
        Ok(taken)
    }

    /// A partial block waits for more, see [`Self::finish`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A block and, later, its member. Both are used again for other blocks: memory that one thread allocates
/// and another frees is not given back.
#[derive(Default)]
struct Job {
    block: Vec<u8>,
    is_first: bool,
    member: Vec<u8>,
}

/// Threads that compress. They end when this is dropped.
struct Threads {
    packing: Packing,
    jobs: Sender<(Job, Sender<Job>)>,
    started: usize,
    /// The blocks that are being compressed, in order.
    waiting: VecDeque<Receiver<Job>>,
    spare: Vec<Job>,
}

impl Threads {
    fn start(packing: Packing) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let wanted = cores.min(MAX_THREADS);
        let (jobs, todo) = bounded::<(Job, Sender<Job>)>(wanted + AHEAD);
        let work = move |todo: Receiver<(Job, Sender<Job>)>| {
            let mut compressor = Compressor::new(packing);
            for (job, done) in todo {
                // No thread waits for it if writing has failed.
                let _ = done.send(compressor.packed(job));
            }
        };
        let start = |_: &usize| {
            let todo = todo.clone();
            native_thread::spawn("HPROF compression", move || work(todo)).is_ok()
        };
        let started = (0..wanted).filter(start).count();
        Self {
            packing,
            jobs,
            started,
            waiting: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    fn take(&mut self, job: Job) {
        let (done, member) = bounded(1);
        self.waiting.push_back(member);
        let job = match self.started {
            // No thread is to be had.
            0 => Err((job, done)),
            // There is room: no more wait than fit.
            _ => self.jobs.send((job, done)).map_err(|error| error.0),
        };
        if let Err((job, done)) = job {
            // Its receiver waits above.
            let _ = done.send(Compressor::new(self.packing).packed(job));
        }
    }

    fn is_full(&self) -> bool {
        self.waiting.len() >= self.started + AHEAD
    }

    /// The next block, once it is compressed.
    fn next(&mut self) -> Option<io::Result<Job>> {
        let done = self.waiting.pop_front()?.recv();
        Some(done.map_err(|_| io::Error::other("internal error")))
    }
}

/// The compressors of a thread.
struct Compressor {
    packing: Packing,
    gzip: Packer,
}

impl Compressor {
    fn new(packing: Packing) -> Self {
        Self {
            packing,
            gzip: Packer::default(),
        }
    }

    fn packed(&mut self, mut job: Job) -> Job {
        self.block(&job.block, job.is_first, &mut job.member);
        job
    }

    /// Appends a block on its own to `member`.
    fn block(&mut self, block: &[u8], is_first: bool, member: &mut Vec<u8>) {
        match self.packing {
            Packing::Gzip => self.gzip.member(block, is_first.then_some(BLOCK), member),
            Packing::Zstd => compress(block, member, CompressionLevel::Fastest),
        }
    }
}

#[cfg(test)]
mod tests;
