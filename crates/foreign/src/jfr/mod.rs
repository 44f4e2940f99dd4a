//! Recordings of the JDK Flight Recorder, and async-profiler's files of that format.
//!
//! A file is a row of chunks, each complete in itself: a head, events, and among them the metadata
//! (how events are laid out, `metadata.rs`) and checkpoints (pools of the stacks, methods, classes
//! and threads to which events refer by number, `pools.rs`). Nothing is specified; the sources are
//! `jdk.jfr.internal.consumer` and HotSpot's `jfr/recorder`, JDK 11 to 25.
//!
//! A chunk is passed over once. Costs are summed by the numbers that events state; names are looked
//! up at its end, once for each stack. So memory grows with the pools of one chunk per CPU, and with the
//! different stacks of the file. CPUs pass over chunks side by side.

pub mod any;
mod bytes;
mod chunk;
mod costs;
mod events;
pub mod facts;
mod metadata;
mod moments;
pub mod one_type;
mod parks;
mod plan;
mod pools;
mod resolve;
mod span;
pub mod write;

use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

pub use events::interval;
pub(crate) use span::span;

use crate::{Profile, Unreadable};
use chunk::{BadHead, Head, Sink};
use costs::{ChunkCosts, Costs};

/// How a chunk begins.
pub(crate) const MAGIC: &[u8] = b"FLR\0";

/// The reason why nothing of a recording can be read, if it begins with a chunk of another version and has none of
/// a version that is known.
pub fn unreadable(file: &[u8]) -> Option<Unreadable> {
    let Err(BadHead::Version { major, minor }) = Head::parse(file) else {
        return None;
    };
    if !file.starts_with(MAGIC) || parts(file).any(|part| part.chunk.is_ok()) {
        return None;
    }
    Some(match major {
        0 | 1 => Unreadable::OldRecording { major, minor },
        _ => Unreadable::UnknownRecording { major, minor },
    })
}

/// Reads a recording. It calls `passed` with each part that was read.
///
/// # Errors
/// If it is of another version.
pub(crate) fn read(
    file: &[u8],
    wanted: crate::Part,
    passed: &mut dyn FnMut(Range<usize>),
) -> Result<Profile, Unreadable> {
    if let Some(unreadable) = unreadable(file) {
        passed(0..file.len());
        return Err(unreadable);
    }
    let mut costs = Costs::new(file.len(), wanted);
    let mut created = None;
    let mut parts = parts(file);
    let mut read: Vec<(Range<usize>, ChunkCosts<'_>)> = Vec::new();
    let threads = threads();
    loop {
        // One chunk for each thread, as the pools of all of them are in memory.
        let at_once = threads.map_or(1, ThreadPool::current_num_threads);
        let next: Vec<Part> = parts.by_ref().take(at_once).collect();
        let ranges: Vec<_> = read.iter().map(|(range, _)| range.clone()).collect();
        let is_last = next.is_empty();
        created = created.or_else(|| next.iter().find_map(Part::created));
        let look = |part: Part| {
            let mut chunk = ChunkCosts::new(wanted);
            part.read(file, &mut chunk);
            (part.range, chunk)
        };
        let before = std::mem::take(&mut read).into_iter();
        let add = || before.for_each(|(range, chunk)| costs.add(range.start, chunk));
        read = match threads {
            Some(threads) => {
                let look = || next.into_par_iter().map(look).collect();
                threads.install(|| rayon::join(look, add)).0
            }
            None => {
                add();
                next.into_iter().map(look).collect()
            }
        };
        ranges.into_iter().for_each(&mut *passed);
        if is_last {
            let span = span(file);
            return Ok(costs.finish(created, span));
        }
    }
}

/// A thread for each CPU; `None` where the system gives none.
fn threads() -> Option<&'static ThreadPool> {
    static THREADS: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let name = |number| format!("recording {number}");
    let make = || ThreadPoolBuilder::new().thread_name(name).build().ok();
    THREADS.get_or_init(make).as_ref()
}

/// Passes over the chunks of a file.
fn walk<'a>(file: &'a [u8], passed: &mut dyn FnMut(Range<usize>), sink: &mut impl Sink<'a>) {
    for part in parts(file) {
        part.read(file, sink);
        passed(part.range);
    }
}

/// A part of a file.
struct Part {
    range: Range<usize>,
    /// The head of the chunk, and a sentence if the chunk does not end where it should. An error says why
    /// the part is skipped.
    chunk: Result<(Head, Option<String>), String>,
}

impl Part {
    /// When its chunk was begun, in milliseconds since 1970-01-01 UTC.
    fn created(&self) -> Option<u64> {
        let (head, _) = self.chunk.as_ref().ok()?;
        Some(head.start_nanos / 1_000_000)
    }

    fn read<'a>(&self, file: &'a [u8], sink: &mut impl Sink<'a>) {
        let Range { start, end } = self.range;
        match &self.chunk {
            Ok((head, cut)) => {
                let is_read = chunk::read(file, start..end, head, sink);
                // The report on a chunk that was not read says this too.
                if let Some(cut) = cut.as_ref().filter(|_| is_read) {
                    sink.damage(Some(start), 0, cut.clone());
                }
            }
            Err(message) => sink.damage(Some(start), end - start, message.clone()),
        }
    }
}

/// The parts of a file, one behind the other.
fn parts(file: &[u8]) -> impl Iterator<Item = Part> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        if start >= file.len() {
            return None;
        }
        let chunk = match file[start..].starts_with(MAGIC) {
            true => Head::parse(&file[start..]).map_err(|bad| format!("a chunk {bad}")),
            false => Err("no chunk begins here".to_owned()),
        };
        let chunk = match chunk {
            Ok(head) => {
                let (end, cut) = end_of(file, start, &head);
                at = end;
                Ok((head, cut))
            }
            Err(reason) => {
                at = next_chunk(file, start + 1);
                let lost = at - start;
                Err(format!("at byte {start}: {reason}; {lost} bytes skipped"))
            }
        };
        let range = start..at;
        Some(Part { range, chunk })
    })
}

/// Where the chunk that begins at a place ends, and a sentence if that is not where it should.
fn end_of(file: &[u8], at: usize, head: &Head) -> (usize, Option<String>) {
    let stated = usize::try_from(head.size)
        .ok()
        .filter(|&size| size >= Head::LENGTH);
    match stated.and_then(|size| at.checked_add(size)) {
        Some(end) if end <= file.len() => (end, None),
        _ => {
            let end = next_chunk(file, at + MAGIC.len());
            let there = end - at;
            let message = match stated {
                Some(size) => format!(
                    "at byte {at}: a chunk of {size} bytes is cut short; {there} bytes of it are there"
                ),
                None => format!(
                    "at byte {at}: the JVM did not finish this chunk; the {there} bytes that are there are read"
                ),
            };
            (end, Some(message))
        }
    }
}

/// The place at or after another where a chunk begins; the end if there is none.
fn next_chunk(file: &[u8], from: usize) -> usize {
    let mut places = from..file.len();
    let found = places.find(|&at| chunk::begins(file, at));
    found.unwrap_or(file.len())
}
