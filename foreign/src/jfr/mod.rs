//! Recordings of the JDK Flight Recorder, and async-profiler's files of that format.
//!
//! A file is a row of chunks, each complete in itself: a head, events, and among them the metadata
//! (how events are laid out, `metadata.rs`) and checkpoints (pools of the stacks, methods, classes
//! and threads to which events refer by number, `pools.rs`). Nothing is specified; the sources are
//! `jdk.jfr.internal.consumer` and HotSpot's `jfr/recorder`, JDK 11 to 25.
//!
//! A chunk is passed over once. Costs are summed by the numbers that events state; names are looked
//! up at its end, once for each stack. So memory grows with the pools of one chunk, and with the
//! different stacks of the file.

mod bytes;
mod chunk;
mod costs;
mod events;
pub mod facts;
mod metadata;
mod plan;
mod pools;
mod resolve;
pub mod write;

use std::ops::Range;

use crate::Profile;
use chunk::{Head, Sink};
use costs::Costs;

/// How a chunk begins.
pub(crate) const MAGIC: &[u8] = b"FLR\0";

/// Reads a recording. `passed` is told of the parts that were read.
pub(crate) fn read(file: &[u8], passed: &mut dyn FnMut(Range<usize>)) -> Profile {
    let mut costs = Costs::new(file.len());
    let created = walk(file, passed, &mut costs);
    costs.finish(created)
}

/// Passes over the chunks of a file; gives the start of the first, in milliseconds since 1970.
fn walk<'a>(
    file: &'a [u8],
    passed: &mut dyn FnMut(Range<usize>),
    sink: &mut impl Sink<'a>,
) -> Option<u64> {
    let mut created = None;
    let mut at = 0;
    while at < file.len() {
        if !file[at..].starts_with(MAGIC) {
            let next = next_chunk(file, at + 1);
            let message = format!(
                "at byte {at}: no chunk begins here; {} bytes skipped",
                next - at
            );
            sink.damage(Some(at), next - at, message);
            passed(at..next);
            at = next;
            continue;
        }
        let end = match Head::parse(&file[at..]) {
            Ok(head) => {
                created = created.or(Some(head.start_nanos / 1_000_000));
                let (end, cut) = end_of(file, at, &head);
                let is_read = chunk::read(file, at..end, &head, sink);
                // What is said of a chunk that was not read says this too.
                if let Some(cut) = cut.filter(|_| is_read) {
                    sink.damage(Some(at), 0, cut);
                }
                end
            }
            Err(reason) => {
                let next = next_chunk(file, at + MAGIC.len());
                let message = format!(
                    "at byte {at}: a chunk {reason}; {} bytes skipped",
                    next - at
                );
                sink.damage(Some(at), next - at, message);
                next
            }
        };
        passed(at..end);
        at = end;
    }
    created
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

/// The place at or after another where a chunk may begin; the end if there is none.
fn next_chunk(file: &[u8], from: usize) -> usize {
    let rest = file.get(from..).unwrap_or_default();
    let found = rest.windows(MAGIC.len()).position(|at| at == MAGIC);
    found.map_or(file.len(), |found| from + found)
}
