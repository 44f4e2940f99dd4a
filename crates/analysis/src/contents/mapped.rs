//! Reads a file in memory, its heap dumps on several threads.

use std::ops::Range;

use hprof_format::binary::Record;
use hprof_format::reader::Reader;

use super::binary::Builder;
use super::counting::{Counting, Segment};
use super::options::{ReadError, ReadOptions};
use super::recorded;
use super::{Contents, Format};

/// The bytes that are walked over before the system may forget them.
const WALKED: usize = 64 << 20;
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
        let stack_chunks = builder.contents.names.stack_chunks();
        let counting = Counting::new(format, options, forget, stack_chunks);
        counting.count(&segments, &mut builder.contents);
    } else {
        (options.progress)(file.len() as u64);
    }
    let (mut contents, chunks) = builder.finish();
    recorded::take(&mut contents, &chunks, options)?;
    options.check(&contents.damage)?;
    Ok(contents)
}
