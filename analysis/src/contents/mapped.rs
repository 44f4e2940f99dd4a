//! Reads a file in memory, its heap dumps on several threads.

use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use hprof_format::binary::{Record, SubRecords};
use hprof_format::ids::ObjectId;
use hprof_format::reader::Reader;

use super::binary::Builder;
use super::pieces::{Chain, Piece};
use super::read::{ReadError, ReadOptions};
use super::{Contents, DamageLog, Format};
use crate::heap::Census;
use crate::input::whole_stretches;

/// A heap dump or a segment of one.
struct Segment<'a> {
    dump: usize,
    sub_records: SubRecords<'a>,
}

/// What one thread has counted.
struct Part {
    /// By dump.
    censuses: Vec<Option<Census>>,
    damage: DamageLog,
}

/// What a thread can take on.
enum Task<'a> {
    /// All of a segment.
    Whole(&'a Segment<'a>),
    /// A part of a large segment: its chain and its number in there.
    Piece(&'a Chain<'a>, usize),
}

/// The bytes that are walked over before the system may forget them.
const WALKED: usize = 64 << 20;
/// The bytes between two reports of progress.
const PROGRESS: u64 = 4 << 20;

/// What all threads share.
pub(super) struct Shared<'a> {
    pub format: Format,
    pub options: &'a ReadOptions<'a>,
    /// Is told which part of the file is done with.
    pub forget: &'a (dyn Fn(Range<usize>) + Sync),
    /// The class of the stacks of virtual threads.
    pub stack_chunks: Option<ObjectId>,
    /// Set at the first damage if that ends the reading.
    pub is_over: AtomicBool,
}

pub(super) fn read(
    file: &[u8],
    options: &ReadOptions<'_>,
    forget: &(dyn Fn(Range<usize>) + Sync),
) -> Result<Contents, ReadError> {
    let mut reader = Reader::new(file)?;
    let header = *reader.header();
    let format = Format::Binary {
        version: header.version,
        id_size: header.id_size,
    };
    let mut builder = Builder::new(format, options.largest);
    builder.contents.created_millis = Some(header.created_millis);
    builder.contents.bytes = file.len() as u64;
    // The heads of segments are few, so this pass touches what is outside of segments only.
    let mut segments = Vec::new();
    let mut forgotten = 0;
    while let Some(found) = reader.next() {
        // The system may map megabytes around each head that is touched.
        let at = reader.offset() as usize;
        if at - forgotten >= WALKED {
            forget(forgotten..at);
            forgotten = at;
        }
        match found {
            Ok(found) => {
                builder.record(found.offset, &found.record);
                if let Record::HeapDump(heap) | Record::HeapDumpSegment(heap) = found.record {
                    let is_segment = matches!(found.record, Record::HeapDumpSegment(_));
                    // An empty one is no work, and a file may hold millions.
                    if let Some(dump) = builder.begin_heap(is_segment)
                        && heap.clone().next().is_some()
                    {
                        segments.push(Segment {
                            dump,
                            sub_records: heap,
                        });
                    }
                }
            }
            Err(damage) => builder.contents.damage.add(damage),
        }
        options.check(&builder.contents.damage)?;
    }
    if options.with_heap {
        let heap: u64 = segments.iter().map(Segment::bytes).sum();
        (options.progress)(file.len() as u64 - heap);
        let shared = Shared {
            format,
            options,
            forget,
            stack_chunks: builder.contents.names.stack_chunks(),
            is_over: AtomicBool::new(false),
        };
        count(&segments, &shared, &mut builder.contents);
    } else {
        (options.progress)(file.len() as u64);
    }
    let contents = builder.finish();
    options.check(&contents.damage)?;
    Ok(contents)
}

impl Segment<'_> {
    fn bytes(&self) -> u64 {
        self.sub_records.rest().len() as u64
    }
}

/// Counts all segments into the dumps of `contents`.
fn count(segments: &[Segment<'_>], shared: &Shared<'_>, contents: &mut Contents) {
    let machine = thread::available_parallelism().map_or(1, NonZero::get);
    let wanted = match shared.options.threads {
        0 => machine,
        threads => threads,
    };
    // In Android's files a marker sets the heap of all objects behind it.
    let splits = wanted > 1 && !shared.format.is_android();
    let piece = shared.options.piece_bytes;
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
    let next = AtomicUsize::new(0);
    let work = || {
        let mut part = Part {
            censuses: Vec::new(),
            damage: DamageLog::default(),
        };
        while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            match task {
                Task::Whole(segment) => part.count(segment, shared),
                Task::Piece(chain, number) => chain.count(*number, shared),
            }
            if shared.is_over.load(Ordering::Relaxed) {
                break;
            }
        }
        part
    };
    let threads = wanted.clamp(1, tasks.len().max(1));
    let parts = thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut parts = vec![work()];
        for other in others {
            match other.join() {
                Ok(part) => parts.push(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        parts
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

impl Part {
    fn count(&mut self, segment: &Segment<'_>, shared: &Shared<'_>) {
        if self.censuses.len() <= segment.dump {
            self.censuses.resize_with(segment.dump + 1, || None);
        }
        let census = self.censuses[segment.dump].get_or_insert_with(|| shared.new_census());
        census.begin_segment();
        count_up_to(
            segment.sub_records,
            u64::MAX,
            census,
            &mut self.damage,
            shared,
        );
    }
}

impl Shared<'_> {
    pub fn new_census(&self) -> Census {
        let mut census = Builder::new_census(self.format, self.options.largest);
        census.look_at_stacks(self.stack_chunks);
        census
    }
}

/// Counts sub-records until one starts at byte `limit` of the file or behind it; gives the place
/// of the first that is not counted.
pub(super) fn count_up_to(
    mut sub_records: SubRecords<'_>,
    limit: u64,
    census: &mut Census,
    damage: &mut DamageLog,
    shared: &Shared<'_>,
) -> u64 {
    let mut reported = sub_records.offset();
    // Offsets of mapped bytes fit a usize.
    let done = |from: u64, to: u64| {
        (shared.options.progress)(to - from);
        if let Some(whole) = whole_stretches(from, to) {
            (shared.forget)(whole);
        }
    };
    while sub_records.offset() < limit
        && let Some(found) = sub_records.next()
    {
        match found {
            Ok(sub_record) => census.add(&sub_record),
            Err(place) => {
                damage.add(place);
                if shared.options.strict {
                    shared.is_over.store(true, Ordering::Relaxed);
                    break;
                }
            }
        }
        if sub_records.offset() - reported >= PROGRESS {
            done(reported, sub_records.offset());
            reported = sub_records.offset();
            if shared.is_over.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    done(reported, sub_records.offset());
    sub_records.offset()
}
