//! Counts the segments of heap dumps on all cores, each thread with a census of its own.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};

use hprof_format::binary::{SubRecord, SubRecords};
use hprof_format::ids::ObjectId;
use hprof_format::reader::Damage;

use super::binary::Builder;
use super::options::ReadOptions;
use super::pieces::{Chain, Piece};
use super::{Contents, DamageLog, Format};
use crate::heap::Census;
use crate::parallel;
use crate::walk::{Pass, Visit};

/// A heap dump or a segment of one.
pub(super) struct Segment<'a> {
    /// The number of the dump, from 0.
    pub dump: usize,
    /// All its sub-records.
    pub sub_records: SubRecords<'a>,
}

/// The results of one thread.
#[derive(Default)]
struct Part {
    /// By dump.
    censuses: Vec<Option<Census>>,
    damage: DamageLog,
}

/// A task that a thread takes.
enum Task<'a> {
    /// All of a segment.
    Whole(&'a Segment<'a>),
    /// A part of a large segment: its chain and its number in there.
    Piece(&'a Chain<'a>, usize),
}

/// The count of one file, as all threads share it.
pub(super) struct Counting<'a> {
    format: Format,
    options: &'a ReadOptions<'a>,
    pass: Pass<'a>,
    /// The class of the stacks of virtual threads.
    stack_chunks: Option<ObjectId>,
    /// Set at the first damage if that ends the reading.
    is_over: AtomicBool,
}

/// Counts sub-records as they come.
struct Counter<'c> {
    census: &'c mut Census,
    damage: &'c mut DamageLog,
    is_strict: bool,
    is_over: &'c AtomicBool,
}

impl Segment<'_> {
    /// The bytes of the sub-records.
    pub fn bytes(&self) -> u64 {
        self.sub_records.rest().len() as u64
    }
}

impl<'a> Counting<'a> {
    /// Nothing is counted yet. The callback `forget` receives the part of the file that is done with;
    /// `stack_chunks` is the class of the stacks of virtual threads.
    pub fn new(
        format: Format,
        options: &'a ReadOptions<'a>,
        forget: &'a (dyn Fn(Range<usize>) + Sync),
        stack_chunks: Option<ObjectId>,
    ) -> Self {
        Self {
            format,
            options,
            pass: Pass {
                threads: options.threads,
                progress: options.progress,
                forget,
            },
            stack_chunks,
            is_over: AtomicBool::new(false),
        }
    }

    /// Counts all segments into the dumps of `contents`.
    pub fn count(&self, segments: &[Segment<'_>], contents: &mut Contents) {
        let threads = parallel::threads(self.options.threads);
        // In Android's files a marker sets the heap of all objects after it.
        let splits = threads > 1 && !self.format.is_android();
        let piece = self.options.piece_bytes;
        let is_large = |segment: &Segment<'_>| splits && segment.bytes() >= piece.saturating_mul(2);
        let chains: Vec<(usize, Chain<'_>)> = segments
            .iter()
            .filter(|segment| is_large(segment))
            .map(|segment| (segment.dump, Chain::new(segment.sub_records, piece)))
            .collect();
        let mut tasks = Vec::with_capacity(segments.len());
        let mut large = chains.iter();
        for segment in segments {
            match is_large(segment) {
                true => {
                    let chain = large.next().map(|(_, chain)| chain);
                    let pieces = chain.into_iter().flat_map(|chain| {
                        (0..chain.len()).map(move |number| Task::Piece(chain, number))
                    });
                    tasks.extend(pieces);
                }
                false => tasks.push(Task::Whole(segment)),
            }
        }
        let parts = self.pass.run(tasks.len(), |numbers| {
            let mut part = Part::default();
            for number in numbers {
                match tasks[number] {
                    Task::Whole(segment) => part.count(segment, self),
                    Task::Piece(chain, number) => chain.count(number, self),
                }
                if self.is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
            part
        });
        drop(tasks);
        for (dump, chain) in chains {
            if let Some(Piece { census, damage, .. }) = chain.into_whole() {
                contents.damage.merge(damage);
                contents.dumps[dump].census.merge(census);
            }
        }
        for part in parts {
            contents.damage.merge(part.damage);
            for (dump, census) in contents.dumps.iter_mut().zip(part.censuses) {
                if let Some(census) = census {
                    dump.census.merge(census);
                }
            }
        }
    }

    /// An empty census.
    pub fn new_census(&self) -> Census {
        let mut census = Builder::new_census(self.format, self.options.largest);
        census.look_at_stacks(self.stack_chunks);
        census
    }

    /// Counts sub-records until one starts at byte `limit` of the file or after it. Returns where
    /// the first that is not counted starts.
    pub fn count_up_to(
        &self,
        sub_records: SubRecords<'_>,
        limit: u64,
        census: &mut Census,
        damage: &mut DamageLog,
    ) -> u64 {
        let mut counter = Counter {
            census,
            damage,
            is_strict: self.options.strict,
            is_over: &self.is_over,
        };
        self.pass.walk(sub_records, limit, &mut counter)
    }
}

impl Part {
    fn count(&mut self, segment: &Segment<'_>, counting: &Counting<'_>) {
        if self.censuses.len() <= segment.dump {
            self.censuses.resize_with(segment.dump + 1, || None);
        }
        let census = self.censuses[segment.dump].get_or_insert_with(|| counting.new_census());
        census.begin_segment();
        counting.count_up_to(segment.sub_records, u64::MAX, census, &mut self.damage);
    }
}

impl Visit for Counter<'_> {
    #[inline]
    fn sub_record(&mut self, _: u64, sub_record: &SubRecord<'_>) {
        self.census.add(sub_record);
    }

    fn damage(&mut self, _: u64, _: u64, damage: Damage) -> ControlFlow<()> {
        self.damage.add(damage);
        if self.is_strict {
            self.is_over.store(true, Ordering::Relaxed);
        }
        self.is_over()
    }

    fn is_over(&self) -> ControlFlow<()> {
        match self.is_over.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
