//! Walks over the heap dumps of a file in memory, on all cores.
//!
//! [`each_segment`] finds the segments of all dumps. [`Pass::walk`] visits the sub-records of one
//! of them, or of a part of it, and [`Pass::runs`] those of runs that an earlier walk has noted.
//! Both tell how far they are and which part of the file is not needed for now.

mod segments;

use std::ops::{ControlFlow, Range};

use hprof_format::binary::{IdSize, SubRecord, SubRecords};
use hprof_format::reader::Damage;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::input::whole_stretches;
use crate::parallel::{self, Tasks};

pub(crate) use segments::{DumpNumbers, each_segment};

/// A run of sub-records within a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Block {
    /// Where in the file it starts.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// The lowest identifier of an object or class in it; above `last` if there is none.
    pub first: u64,
    /// The highest one.
    pub last: u64,
    /// Objects and arrays.
    pub objects: u64,
    /// Android: the heap they belong to.
    pub heap: u64,
}

impl Block {
    /// The sub-records of the run, in the file that it was found in.
    pub fn sub_records<'f>(&self, file: &'f [u8], id_size: IdSize) -> SubRecords<'f> {
        let range = self.offset as usize..(self.offset + self.bytes) as usize;
        let bytes = file.get(range).unwrap_or_default();
        SubRecords::new(bytes, id_size, self.offset)
    }
}

/// How to pass over a file.
#[derive(Clone, Copy)]
pub(crate) struct Pass<'a> {
    /// The number of threads, 0 for as many as the machine has.
    pub threads: usize,
    /// Receives the number of bytes of the file that are done with.
    pub progress: &'a (dyn Fn(u64) + Sync),
    /// Receives the part of the file that is not needed for now.
    pub forget: &'a (dyn Fn(Range<usize>) + Sync),
}

/// Sees the sub-records of a segment.
pub(crate) trait Visit {
    /// Sees the sub-record that starts at byte `offset` of the file.
    fn sub_record(&mut self, offset: u64, sub_record: &SubRecord<'_>);

    /// Sees damage that starts at byte `offset` of the file; reading continues at `next`. Breaks to
    /// end the walk.
    fn damage(&mut self, offset: u64, next: u64, damage: Damage) -> ControlFlow<()>;

    /// Breaks to end the walk; is asked once in a few megabytes.
    fn is_over(&self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The bytes between two reports of progress.
const PROGRESS: u64 = 4 << 20;
/// The most bytes that the system maps ahead of one that is read: as many as its cache holds in one piece.
const MAPPED_AHEAD: u64 = 4 << 20;
/// The runs of sub-records in one task.
const TASK: usize = 64;

impl Pass<'_> {
    /// Runs `work` on each thread, as [`parallel::run`] does.
    pub fn run<P: Send>(&self, tasks: usize, work: impl Fn(Tasks<'_>) -> P + Sync) -> Vec<P> {
        parallel::run(self.threads, tasks, work)
    }

    /// Visits sub-records until one starts at byte `limit` of the file or after it. Returns where
    /// the first that was not visited starts.
    #[inline]
    pub fn walk(&self, sub_records: SubRecords<'_>, limit: u64, visitor: &mut impl Visit) -> u64 {
        match sub_records.id_size() {
            IdSize::Four => self.walk_sized::<4>(sub_records, limit, visitor),
            IdSize::Eight => self.walk_sized::<8>(sub_records, limit, visitor),
        }
    }

    #[inline]
    fn walk_sized<const I: usize>(
        &self,
        mut sub_records: SubRecords<'_>,
        limit: u64,
        visitor: &mut impl Visit,
    ) -> u64 {
        let mut reported = sub_records.offset();
        loop {
            let offset = sub_records.offset();
            if offset - reported >= PROGRESS {
                self.done(reported, offset);
                reported = offset;
                if visitor.is_over().is_break() {
                    break;
                }
            }
            if offset >= limit {
                break;
            }
            match sub_records.next_sized::<I>() {
                None => break,
                Some(Ok(sub_record)) => visitor.sub_record(offset, &sub_record),
                Some(Err(damage)) => {
                    let next = sub_records.offset();
                    if visitor.damage(offset, next, damage).is_break() {
                        break;
                    }
                }
            }
        }
        let end = sub_records.offset();
        self.done(reported, end);
        end
    }

    /// The number of tasks into which the runs are divided.
    pub fn tasks_of(blocks: &[Block]) -> usize {
        blocks.len().div_ceil(TASK)
    }

    /// Visits the sub-records of all runs in a task, without what is damaged.
    ///
    /// # Errors
    /// The first error of `visit`, which ends the walk.
    #[inline]
    pub fn runs<E>(
        &self,
        file: &[u8],
        id_size: IdSize,
        blocks: &[Block],
        task: usize,
        mut visit: impl FnMut(&SubRecord<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let first = TASK * task;
        let blocks = &blocks[first..(first + TASK).min(blocks.len())];
        for block in blocks {
            let sub_records = block.sub_records(file, id_size);
            match id_size {
                IdSize::Four => each_whole::<4, E>(sub_records, &mut visit)?,
                IdSize::Eight => each_whole::<8, E>(sub_records, &mut visit)?,
            }
        }
        if let (Some(first), Some(last)) = (blocks.first(), blocks.last()) {
            (self.progress)(blocks.iter().map(|block| block.bytes).sum());
            // What the system has mapped ahead of a task may have been forgotten before that.
            let start = first.offset.saturating_sub(MAPPED_AHEAD);
            (self.forget)(start as usize..(last.offset + last.bytes) as usize);
        }
        Ok(())
    }

    fn done(&self, from: u64, to: u64) {
        (self.progress)(to - from);
        if let Some(whole) = whole_stretches(from, to) {
            (self.forget)(whole);
        }
    }
}

/// Visits all sub-records that are whole.
#[inline(always)]
fn each_whole<const I: usize, E>(
    mut sub_records: SubRecords<'_>,
    visit: &mut impl FnMut(&SubRecord<'_>) -> Result<(), E>,
) -> Result<(), E> {
    while let Some(found) = sub_records.next_sized::<I>() {
        if let Ok(sub_record) = found {
            visit(&sub_record)?;
        }
    }
    Ok(())
}
