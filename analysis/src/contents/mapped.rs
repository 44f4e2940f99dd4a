//! Reads a file in memory, its heap segments on several threads.

use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use hprof_format::binary::{Record, SubRecords};
use hprof_format::reader::Reader;

use super::binary::Builder;
use super::read::{ReadError, ReadOptions};
use super::{Contents, DamageLog, Format};
use crate::heap::Census;

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

/// Sub-records between two reports of progress, and between two looks at what is to be done.
const PROGRESS: u64 = 4 << 20;

/// Is told which part of the file is done with.
type Forget<'a> = &'a (dyn Fn(Range<usize>) + Sync);

pub(super) fn read(
    file: &[u8],
    options: &ReadOptions<'_>,
    forget: Forget<'_>,
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
    for found in &mut reader {
        match found {
            Ok(found) => {
                builder.record(&found.record);
                if let Record::HeapDump(heap) | Record::HeapDumpSegment(heap) = found.record {
                    let is_segment = matches!(found.record, Record::HeapDumpSegment(_));
                    let dump = builder.begin_heap(is_segment);
                    segments.push(Segment {
                        dump,
                        sub_records: heap,
                    });
                }
            }
            Err(damage) => builder.contents.damage.add(damage),
        }
    }
    if options.with_heap {
        let heap: u64 = segments.iter().map(Segment::bytes).sum();
        (options.progress)(file.len() as u64 - heap);
        for part in count(&segments, format, options, forget) {
            builder.contents.damage.merge(part.damage);
            for (dump, census) in builder.contents.dumps.iter_mut().zip(part.censuses) {
                if let Some(census) = census {
                    dump.census.merge(census);
                }
            }
        }
    } else {
        (options.progress)(file.len() as u64);
    }
    Ok(builder.finish())
}

impl Segment<'_> {
    fn bytes(&self) -> u64 {
        self.sub_records.rest().len() as u64
    }
}

fn count(
    segments: &[Segment<'_>],
    format: Format,
    options: &ReadOptions<'_>,
    forget: Forget<'_>,
) -> Vec<Part> {
    let machine = thread::available_parallelism().map_or(1, NonZero::get);
    let wanted = match options.threads {
        0 => machine,
        threads => threads,
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut part = Part {
            censuses: Vec::new(),
            damage: DamageLog::default(),
        };
        while let Some(segment) = segments.get(next.fetch_add(1, Ordering::Relaxed)) {
            part.count(segment, format, options, forget);
        }
        part
    };
    let threads = wanted.clamp(1, segments.len().max(1));
    thread::scope(|scope| {
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
    })
}

impl Part {
    fn count(
        &mut self,
        segment: &Segment<'_>,
        format: Format,
        options: &ReadOptions<'_>,
        forget: Forget<'_>,
    ) {
        if self.censuses.len() <= segment.dump {
            self.censuses.resize_with(segment.dump + 1, || None);
        }
        let census = self.censuses[segment.dump]
            .get_or_insert_with(|| Builder::new_census(format, options.largest));
        census.begin_segment();
        let mut sub_records = segment.sub_records;
        let mut reported = sub_records.offset();
        // Offsets of mapped bytes fit a usize.
        let done = |from: u64, to: u64| {
            (options.progress)(to - from);
            forget(from as usize..to as usize);
        };
        while let Some(found) = sub_records.next() {
            match found {
                Ok(sub_record) => census.add(&sub_record),
                Err(damage) => self.damage.add(damage),
            }
            if sub_records.offset() - reported >= PROGRESS {
                done(reported, sub_records.offset());
                reported = sub_records.offset();
            }
        }
        done(reported, sub_records.offset());
    }
}
