//! A walk over everything in a file that can hold a value of the program: text outside of the heap,
//! elements of primitive arrays, fields of primitive types, and whatever cannot be read.
//!
//! It shares no code with the copy but that of a number, so that it finds what the copy leaves by mistake.
//! Identifiers, counts and lengths are passed over: they are addresses and numbers that the VM has chosen.

use std::io::Read;

use hprof_format::binary::{
    BasicType, ClassDump, IdSize, SubRecord, SubRecords, Value, fixed_length, tags,
};
use hprof_format::ids::{ObjectId, StringId};
use hprof_format::reader::{Buffer, Damage, FileHeader};
use rustc_hash::FxHashMap;

use super::StripError;
use super::shapes::{Field, Shapes, number};

/// The most bytes that are new in a chunk.
pub(super) const CHUNK: usize = 256 << 10;
/// The bytes at the end of a chunk that the next one begins with: no secret that is looked for is longer.
pub(super) const OVERLAP: usize = 8 << 10;
/// The bytes of a record's head: tag, time, length.
const RECORD_HEAD: usize = 9;
/// The largest instance whose fields are distinguished; none of a real class is as large.
const MAX_INSTANCE: u64 = 16 << 20;

/// The length from which a record of an unknown kind is taken for damage, in bytes.
const MAX_UNKNOWN: u64 = 256 << 10;

/// True for the records that are known to hold nothing of the program's. The copy has a list of its own, so that a mistake
/// in one of them shows.
fn is_known(tag: u8) -> bool {
    use tags::record as known;
    matches!(
        tag,
        known::UTF8
            | known::LOAD_CLASS
            | known::UNLOAD_CLASS
            | known::FRAME
            | known::TRACE
            | known::ALLOC_SITES
            | known::HEAP_SUMMARY
            | known::START_THREAD
            | known::END_THREAD
            | known::HEAP_DUMP
            | known::CPU_SAMPLES
            | known::CONTROL_SETTINGS
            | known::HEAP_DUMP_SEGMENT
            | known::HEAP_DUMP_END
    )
}

/// The kind of a place that holds contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A string outside of the heap.
    Text(StringId),
    /// The elements of a primitive array.
    Array { array: ObjectId, element: BasicType },
    /// Neighbouring fields of primitive types.
    Fields {
        object: ObjectId,
        class: ObjectId,
        /// Where they begin, from the first value of the instance.
        at: usize,
    },
    /// All values of an instance whose class is not known.
    Instance { object: ObjectId, class: ObjectId },
    /// A static field of a primitive type.
    Static { class: ObjectId, name: StringId },
    /// A number in a constant pool.
    Constant { class: ObjectId, index: u16 },
    /// A record of unknown kind.
    Unknown { tag: u8 },
    /// All that follows a damaged place.
    Rest,
}

/// A place that holds contents.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Where its record or sub-record starts, in bytes from the start of the file.
    pub offset: u64,
    pub kind: Kind,
}

/// Some of the bytes of a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk<'a> {
    /// Where they start in the place.
    pub at: u64,
    pub bytes: &'a [u8],
    /// How many of them were at the end of the chunk before.
    pub seen: usize,
    /// True if no more bytes of the place come.
    pub is_last: bool,
}

/// Walks over a file and calls `visit` with each chunk until that returns false.
pub(super) fn walk<R: Read>(
    input: R,
    shapes: &Shapes,
    visit: &mut dyn FnMut(&Place, Chunk<'_>) -> Result<bool, StripError>,
) -> Result<(), StripError> {
    let mut walk = Walk {
        input: Buffer::new(input),
        shapes,
        id: shapes.id_size.bytes(),
        fields: FxHashMap::default(),
        visit,
    };
    match walk.file() {
        Ok(()) | Err(Stop::End) => Ok(()),
        Err(Stop::Damage) => walk.rest(),
        Err(Stop::Error(error)) => Err(error),
    }
}

enum Stop {
    /// The file ends, or nothing more is wanted.
    End,
    /// The next bytes cannot be read.
    Damage,
    Error(StripError),
}

impl<E: Into<StripError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

struct Walk<'w, R> {
    input: Buffer<R>,
    shapes: &'w Shapes,
    id: usize,
    fields: FxHashMap<ObjectId, Option<Vec<Field>>>,
    visit: &'w mut dyn FnMut(&Place, Chunk<'_>) -> Result<bool, StripError>,
}

impl<R: Read> Walk<'_, R> {
    fn file(&mut self) -> Result<(), Stop> {
        self.pass(FileHeader::LENGTH as u64)?;
        loop {
            let offset = self.input.offset();
            if !self.input.fill(RECORD_HEAD as u64)? {
                return match self.input.unread().is_empty() {
                    true => Ok(()),
                    false => Err(Stop::Damage),
                };
            }
            let head = self.input.unread();
            let (tag, length) = (head[0], number(&head[5..RECORD_HEAD]));
            if tag == 0 && length == 0 || !is_known(tag) && length > MAX_UNKNOWN {
                return Err(Stop::Damage);
            }
            self.input.skip(RECORD_HEAD);
            match tag {
                tags::record::UTF8 => {
                    let rest = length.checked_sub(self.id as u64).ok_or(Stop::Damage)?;
                    let text = StringId::new(number(self.head(self.id)?));
                    self.input.skip(self.id);
                    self.contents(offset, Kind::Text(text), rest)?;
                }
                tags::record::HEAP_DUMP | tags::record::HEAP_DUMP_SEGMENT => {
                    let end = self.input.offset() + length;
                    while self.input.offset() < end {
                        self.sub_record()?;
                    }
                    if self.input.offset() > end {
                        return Err(Stop::Damage);
                    }
                }
                _ if is_known(tag) => self.pass(length)?,
                _ => self.contents(offset, Kind::Unknown { tag }, length)?,
            }
        }
    }

    /// All bytes up to the end of the file.
    fn rest(&mut self) -> Result<(), StripError> {
        match self.contents(self.input.offset(), Kind::Rest, u64::MAX) {
            Ok(()) | Err(Stop::End | Stop::Damage) => Ok(()),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    fn head(&mut self, length: usize) -> Result<&[u8], Stop> {
        match self.input.fill(length as u64)? {
            true => Ok(&self.input.unread()[..length]),
            false => Err(Stop::Damage),
        }
    }

    fn pass(&mut self, length: u64) -> Result<(), Stop> {
        match self.input.discard(length)? == length {
            true => Ok(()),
            false => Err(Stop::End),
        }
    }

    /// Passes on the next `length` bytes.
    fn contents(&mut self, offset: u64, kind: Kind, length: u64) -> Result<(), Stop> {
        let place = Place { offset, kind };
        let (mut left, mut seen, mut at) = (length, 0, 0);
        while left > 0 {
            let wanted = seen as u64 + left.min(CHUNK as u64);
            let is_whole = self.input.fill(wanted)?;
            let unread = self.input.unread();
            let have = unread.len().min(wanted as usize);
            left -= (have - seen) as u64;
            let chunk = Chunk {
                at,
                bytes: &unread[..have],
                seen,
                is_last: left == 0 || !is_whole,
            };
            if !(self.visit)(&place, chunk)? || !is_whole {
                return Err(Stop::End);
            }
            seen = if left == 0 { 0 } else { have.min(OVERLAP) };
            at += (have - seen) as u64;
            self.input.skip(have - seen);
        }
        Ok(())
    }

    fn sub_record(&mut self) -> Result<(), Stop> {
        use tags::heap as tag;
        let (id, offset) = (self.id, self.input.offset());
        let kind = self.head(1)?[0];
        let rest = fixed_length(kind, self.shapes.id_size).ok_or(Stop::Damage)?;
        if kind == tag::CLASS_DUMP {
            return self.class(offset);
        }
        let head = self.head(1 + rest)?;
        let object = |at: usize| ObjectId::new(number(&head[at..at + id]));
        let count = |at: usize| number(&head[at..at + 4]);
        match kind {
            tag::INSTANCE_DUMP => {
                let (object, class) = (object(1), object(5 + id));
                let length = count(5 + 2 * id);
                self.input.skip(1 + rest);
                self.instance(offset, object, class, length)
            }
            tag::OBJECT_ARRAY_DUMP => {
                let length = count(5 + id) * id as u64;
                self.pass(1 + rest as u64 + length)
            }
            tag::PRIMITIVE_ARRAY_DUMP => {
                let (array, count) = (object(1), count(5 + id));
                let element = BasicType::from_code(head[9 + id]).ok_or(Stop::Damage)?;
                let length = count * element.width(self.shapes.id_size) as u64;
                self.input.skip(1 + rest);
                self.contents(offset, Kind::Array { array, element }, length)
            }
            _ => self.pass(1 + rest as u64),
        }
    }

    fn instance(
        &mut self,
        offset: u64,
        object: ObjectId,
        class: ObjectId,
        length: u64,
    ) -> Result<(), Stop> {
        let shapes = self.shapes;
        let fields = self.fields.entry(class);
        let fields = fields.or_insert_with(|| shapes.fields(class));
        let ends = fields.as_ref().map(|fields| {
            let end = fields.last().map_or(0, |field| field.at + field.width);
            end as u64
        });
        if ends != Some(length) || length > MAX_INSTANCE {
            return self.contents(offset, Kind::Instance { object, class }, length);
        }
        if !self.input.fill(length)? {
            return Err(Stop::Damage);
        }
        let fields = fields.as_deref().unwrap_or_default();
        let values = &self.input.unread()[..length as usize];
        for run in fields.chunk_by(|a, b| is_value(a) == is_value(b)) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else {
                continue;
            };
            if !is_value(first) {
                continue;
            }
            let kind = Kind::Fields {
                object,
                class,
                at: first.at,
            };
            let place = Place { offset, kind };
            let chunk = Chunk::whole(&values[first.at..last.at + last.width]);
            if !(self.visit)(&place, chunk)? {
                return Err(Stop::End);
            }
        }
        self.input.skip(length as usize);
        Ok(())
    }

    fn class(&mut self, offset: u64) -> Result<(), Stop> {
        let mut wanted = 4096;
        loop {
            let is_all = !self.input.fill(wanted)?;
            let mut subs = SubRecords::new(self.input.unread(), self.shapes.id_size, offset);
            match subs.next() {
                Some(Ok(SubRecord::Class(class))) => {
                    for (kind, value) in values(&class) {
                        let (bytes, width) = in_bytes(value, self.shapes.id_size);
                        let place = Place { offset, kind };
                        if width > 0 && !(self.visit)(&place, Chunk::whole(&bytes[..width]))? {
                            return Err(Stop::End);
                        }
                    }
                    let length = subs.offset() - offset;
                    self.input.skip(length as usize);
                    return Ok(());
                }
                Some(Err(Damage::SubRecordBody { .. })) | None if !is_all => wanted *= 2,
                _ => return Err(Stop::Damage),
            }
        }
    }
}

impl<'a> Chunk<'a> {
    fn whole(bytes: &'a [u8]) -> Self {
        Self {
            at: 0,
            bytes,
            seen: 0,
            is_last: true,
        }
    }
}

fn is_value(field: &Field) -> bool {
    field.basic_type != BasicType::Object
}

/// The constants and static fields of a class.
fn values(class: &ClassDump<'_>) -> impl Iterator<Item = (Kind, Value)> {
    let of = class.class;
    let constants = class.constants.iter().map(move |constant| {
        let index = constant.index;
        (Kind::Constant { class: of, index }, constant.value)
    });
    let statics = class.statics.iter().map(move |field| {
        let name = field.name;
        (Kind::Static { class: of, name }, field.value)
    });
    constants.chain(statics)
}

/// A number as it is in the file; no bytes for a reference.
fn in_bytes(value: Value, id_size: IdSize) -> ([u8; 8], usize) {
    let kind = value.basic_type();
    if kind == BasicType::Object {
        return ([0; 8], 0);
    }
    let mut body = hprof_format::binary::Body::new(id_size);
    value.write(&mut body);
    let (mut bytes, width) = ([0; 8], kind.width(id_size));
    bytes[..width].copy_from_slice(body.bytes());
    (bytes, width)
}
