//! Writes records one by one.

use std::io::{self, Write};

use super::body::Body;
use super::record::Record;
use super::sub_record::SubRecord;
use super::tags::record as tag;
use crate::reader::FileHeader;

/// Writes records as they are, of any version and width: the counterpart of [`Reader`] for tools
/// that copy a file with changes. A profiler uses [`BinaryWriter`], which looks after references.
///
/// [`Reader`]: crate::reader::Reader
/// [`BinaryWriter`]: super::BinaryWriter
#[derive(Debug)]
pub struct RecordWriter<W> {
    out: W,
    body: Body,
}

impl<W: Write> RecordWriter<W> {
    /// Writes the header to `out`, which should be buffered.
    pub fn new(mut out: W, header: &FileHeader) -> io::Result<Self> {
        out.write_all(&header.to_bytes())?;
        Ok(Self {
            out,
            body: Body::new(header.id_size),
        })
    }

    /// Gives the underlying writer back.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Writes one record. Fails without writing anything if an identifier or the length does
    /// not fit.
    pub fn record(&mut self, micros: u32, record: &Record<'_>) -> io::Result<()> {
        self.body.clear();
        record.encode(&mut self.body);
        self.write(record.tag(), micros)
    }

    /// Writes a heap dump, or a segment of one, of these sub-records. The length must
    /// stay below 4 GiB.
    pub fn heap<'a>(
        &mut self,
        micros: u32,
        is_segment: bool,
        sub_records: impl IntoIterator<Item = SubRecord<'a>>,
    ) -> io::Result<()> {
        self.body.clear();
        sub_records
            .into_iter()
            .for_each(|sub| sub.encode(&mut self.body));
        self.write(
            if is_segment {
                tag::HEAP_DUMP_SEGMENT
            } else {
                tag::HEAP_DUMP
            },
            micros,
        )
    }

    fn write(&mut self, tag: u8, micros: u32) -> io::Result<()> {
        self.out.write_all(&self.body.record_head(tag, micros)?)?;
        self.out.write_all(self.body.bytes())
    }
}
