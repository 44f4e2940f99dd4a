//! Which records of a file are parts of which heap dump.

use std::ops::{ControlFlow, Range};

use hprof_format::binary::{Record, SubRecords};
use hprof_format::reader::Reader;

/// Tells the heap dumps of a file apart: a `HEAP_DUMP` is one by itself, and each
/// `HEAP_DUMP_SEGMENT` is a part of the dump before it until a `HEAP_DUMP_END` or `HEAP_DUMP`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DumpNumbers {
    /// Dumps so far.
    count: usize,
    /// True while the segments of a dump come.
    is_open: bool,
}

impl DumpNumbers {
    /// The number, from 0, of the dump that the record which begins now belongs to.
    pub fn begin(&mut self, is_segment: bool) -> usize {
        if !(is_segment && self.is_open) {
            self.count += 1;
        }
        self.is_open = is_segment;
        self.count - 1
    }

    /// Sees a `HEAP_DUMP_END`.
    pub fn end(&mut self) {
        self.is_open = false;
    }
}

/// The bytes that are walked over before the system may forget them.
const WALKED: usize = 16 << 20;

/// Calls `visit` with all segments that are not empty and the numbers of their dumps, from 0, until
/// it breaks.
pub(crate) fn each_segment<'f>(
    file: &'f [u8],
    forget: &(dyn Fn(Range<usize>) + Sync),
    mut visit: impl FnMut(usize, SubRecords<'f>) -> ControlFlow<()>,
) {
    let Ok(mut reader) = Reader::new(file) else {
        return;
    };
    let mut dumps = DumpNumbers::default();
    let mut forgotten = 0;
    while let Some(found) = reader.next() {
        // The system may map megabytes around each head that is touched.
        let at = reader.offset() as usize;
        if at - forgotten >= WALKED {
            forget(forgotten..at);
            forgotten = at;
        }
        let Ok(found) = found else {
            continue;
        };
        let (heap, is_segment) = match found.record {
            Record::HeapDump(heap) => (heap, false),
            Record::HeapDumpSegment(heap) => (heap, true),
            Record::HeapDumpEnd => {
                dumps.end();
                continue;
            }
            _ => continue,
        };
        let dump = dumps.begin(is_segment);
        // An empty one is no work, and a file may hold millions.
        if heap.clone().next().is_some() && visit(dump, heap).is_break() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_belong_to_the_dump_before_them() {
        let mut dumps = DumpNumbers::default();
        assert_eq!([true, true].map(|it| dumps.begin(it)), [0, 0]);
        dumps.end();
        assert_eq!([true, true].map(|it| dumps.begin(it)), [1, 1]);
        // A dump without segments is complete, so a segment after it begins another.
        assert_eq!([false, true, true].map(|it| dumps.begin(it)), [2, 3, 3]);
    }
}
