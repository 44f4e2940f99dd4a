//! Reads a whole input.

use std::io::{self, Cursor, Read};
use std::ops::Range;

use hprof_foreign::Kind;
use hprof_format::binary::mutf8;
use hprof_format::reader::{Event, FileHeader, HeaderError, StreamError, StreamReader};

use super::binary::Builder;
use super::foreign;
use super::mapped;
use super::options::{ReadError, ReadOptions};
use super::recorded;
use super::text;
use super::transfer;
use super::{Contents, Format};
use crate::input::{Input, Source};

/// Reads all of an input, in one pass.
///
/// # Errors
/// If nothing can be read, or in a strict reading if anything is damaged. Else damage is reported
/// in [`Contents::damage`].
pub fn read(input: Input, options: &ReadOptions<'_>) -> Result<Contents, ReadError> {
    let left_out = input.left_out.clone();
    let mut contents = read_source(input.source, options)?;
    if contents.span.is_none() {
        options.window(None)?;
    }
    if options.calls.is_some() && !contents.slow.is_there() {
        return Err(ReadError::Calls(recorded::NO_CALLS.to_owned()));
    }
    contents.lacks_elements = left_out.is_so();
    Ok(contents)
}

fn read_source(source: Source, options: &ReadOptions<'_>) -> Result<Contents, ReadError> {
    match source {
        Source::Mapped(map) => match FileHeader::parse(&map) {
            Ok(_) => {
                let forget = |range| crate::input::forget(&map, range);
                let contents = mapped::read(&map, options, &forget);
                explained(&map, contents)
            }
            Err(error) => read_other(&map, error, options, &|part| {
                crate::input::forget(&map, part)
            }),
        },
        Source::Bytes(bytes) => match FileHeader::parse(&bytes) {
            Ok(_) => explained(&bytes, mapped::read(&bytes, options, &|_| {})),
            Err(error) => read_other(&bytes, error, options, &|_| {}),
        },
        Source::Stream(mut stream) => {
            let mut head = Vec::new();
            stream
                .by_ref()
                .take(FileHeader::LENGTH as u64)
                .read_to_end(&mut head)?;
            match FileHeader::parse(&head) {
                Ok(_) => read_stream(Cursor::new(head).chain(stream), options),
                Err(error) => {
                    // A text profile is short, unlike a dump, but other files need not be.
                    let mut start = head;
                    stream.by_ref().take(64 << 10).read_to_end(&mut start)?;
                    if !text::looks_like_a_profile(&start) && Kind::of(&start).is_none() {
                        return Err(error.into());
                    }
                    let (text, result) = spool(start, stream)?;
                    let mut contents = read_other(&text, error, options, &|_| {})?;
                    if let Err(error) = result {
                        contents.damage.note_first(cut_short(&error));
                    }
                    options.check(&contents.damage)?;
                    Ok(contents)
                }
            }
        }
    }
}

/// Reads what a binary file in memory holds outside of its heap dumps, and which dumps there are.
///
/// # Errors
/// If it is no binary HPROF file. Damage is reported in [`Contents::damage`].
pub fn read_outline(
    file: &[u8],
    forget: &(dyn Fn(std::ops::Range<usize>) + Sync),
) -> Result<Contents, ReadError> {
    let options = ReadOptions {
        largest: 0,
        with_heap: false,
        ..ReadOptions::default()
    };
    explained(file, mapped::read(file, &options, forget))
}

/// Contents whose damage is explained, if a transfer did it.
fn explained(file: &[u8], contents: Result<Contents, ReadError>) -> Result<Contents, ReadError> {
    let mut contents = contents?;
    transfer::explain(file, &mut contents);
    Ok(contents)
}

/// A text of which no one knows how long it is: in memory while it is short, then in a temporary
/// file, so that the system can take its pages back.
enum Spooled {
    Memory(Vec<u8>),
    File(memmap2::Mmap),
}

impl std::ops::Deref for Spooled {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Memory(bytes) => bytes,
            Self::File(map) => map,
        }
    }
}

/// Longer texts go into a file.
const IN_MEMORY: u64 = 16 << 20;

/// All of a text; the second result says whether its end was reached.
fn spool(
    mut start: Vec<u8>,
    mut stream: impl Read,
) -> Result<(Spooled, io::Result<u64>), ReadError> {
    let result = stream.by_ref().take(IN_MEMORY).read_to_end(&mut start);
    if (start.len() as u64) < IN_MEMORY || result.is_err() {
        return Ok((Spooled::Memory(start), result.map(|read| read as u64)));
    }
    let mut file = tempfile::tempfile()?;
    io::Write::write_all(&mut file, &start)?;
    let result = io::copy(&mut stream, &mut file);
    Ok((Spooled::File(crate::input::map(&file)?), result))
}

/// Reads what is no binary HPROF file.
fn read_other(
    bytes: &[u8],
    error: HeaderError,
    options: &ReadOptions<'_>,
    forget: &dyn Fn(Range<usize>),
) -> Result<Contents, ReadError> {
    if !text::looks_like_a_profile(bytes) {
        return match Kind::of(bytes) {
            Some(kind) => foreign::read(bytes, kind, options, forget),
            None => Err(error.into()),
        };
    }
    // Said before, as a text is there as a whole.
    (options.progress)(bytes.len() as u64);
    let (mut contents, chunks) = text::read(&mutf8::decode(bytes));
    contents.bytes = bytes.len() as u64;
    recorded::take(&mut contents, &chunks, options)?;
    options.check(&contents.damage)?;
    Ok(contents)
}

/// How often progress is reported.
const PROGRESS: u64 = 1 << 20;

fn read_stream(stream: impl Read, options: &ReadOptions<'_>) -> Result<Contents, ReadError> {
    let mut reader = match StreamReader::new(stream) {
        Ok(reader) => reader,
        Err(StreamError::Io(error)) => return Err(error.into()),
        Err(StreamError::Header(error)) => return Err(error.into()),
        Err(StreamError::Damage(_)) => return Err(HeaderError::TooShort.into()),
    };
    let header = *reader.header();
    let format = Format::Binary {
        version: header.version,
        id_size: header.id_size,
    };
    let mut builder = Builder::new(format, options.largest);
    builder.contents.created_millis = Some(header.created_millis);
    let mut reported = 0;
    let mut end = FileHeader::LENGTH as u64;
    let mut heap_start = None;
    let mut failure = None;
    while let Some(event) = reader.next() {
        match event {
            Ok(Event::SubRecord { sub_record, .. }) => {
                if let Some(census) = builder.census().filter(|_| options.with_heap) {
                    census.add(&sub_record);
                }
                continue;
            }
            Ok(Event::LongSubRecord {
                offset,
                start,
                bytes,
            }) => {
                if let Some(census) = builder.census().filter(|_| options.with_heap) {
                    census.add_long(&start, bytes);
                }
                end = offset + bytes;
            }
            Ok(Event::Record(found)) => {
                builder.heap_ended(heap_start.take(), found.offset);
                builder.record(found.offset, &found.record);
                end = found.offset;
            }
            Ok(Event::Heap {
                offset, is_segment, ..
            }) => {
                builder.heap_ended(heap_start.take(), offset);
                builder.begin_heap(is_segment);
                if let Some(census) = builder.census() {
                    census.begin_segment();
                }
                heap_start = Some((offset, is_segment));
                end = offset;
            }
            Err(StreamError::Damage(damage)) => {
                end = end.max(damage.offset() + damage.lost());
                builder.contents.damage.add(damage);
            }
            Err(StreamError::Header(error)) => return Err(error.into()),
            Err(StreamError::Io(error)) => {
                failure = Some(cut_short(&error));
                break;
            }
        }
        options.check(&builder.contents.damage)?;
        if end >= reported + PROGRESS {
            (options.progress)(end - reported);
            reported = end;
        }
    }
    let end = reader.offset().max(end);
    builder.heap_ended(heap_start, end);
    builder.contents.bytes = end;
    (options.progress)(end.saturating_sub(reported));
    let (mut contents, chunks) = builder.finish();
    recorded::take(&mut contents, &chunks, options)?;
    if let Some(failure) = failure {
        contents.damage.note_first(failure);
    }
    options.check(&contents.damage)?;
    Ok(contents)
}

fn cut_short(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => format!("{error}; all that came before is counted"),
        _ => format!("reading ended early: {error}"),
    }
}
