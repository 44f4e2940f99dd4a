//! Sub-records of a heap dump.

use super::basic_type::{BasicType, width_of_code};
use super::body::{Body, IdSize};
use super::bytes::{Fields, id, u4};
use super::class_dump::ClassDump;
use super::lists::Ids;
use super::root::{decode_root, encode_root};
use super::tags::heap as tag;
use crate::ids::{ObjectId, StringId, TraceSerial};
use crate::model::Root;

/// A sub-record of a heap dump, borrowing from the bytes of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubRecord<'a> {
    /// A reason why an object is kept alive.
    Root(Root),
    /// Android, obsolete: an object that is *not* reachable.
    Unreachable {
        /// The object.
        object: ObjectId,
    },
    /// Android: the heap that the following objects belong to, until the end of the segment.
    HeapInfo {
        /// The heap's number: 0 default, `A` app, `Z` zygote, `I` image in ASCII.
        heap: u32,
        /// Its name.
        name: StringId,
    },
    /// A class.
    Class(ClassDump<'a>),
    /// An object.
    Instance {
        /// The object.
        object: ObjectId,
        /// Where it was allocated.
        trace: TraceSerial,
        /// Its class, which may come later in the file, or never.
        class: ObjectId,
        /// The values of its fields: those its class declares first, then its super class's, and
        /// so on up.
        values: &'a [u8],
    },
    /// An array of references.
    ObjectArray {
        /// The array.
        array: ObjectId,
        /// Where it was allocated.
        trace: TraceSerial,
        /// The class of the array.
        class: ObjectId,
        /// The elements ([`ObjectId`]). The JDK's agent cut trailing nulls off.
        elements: Ids<'a>,
    },
    /// An array of a primitive type.
    PrimitiveArray {
        /// The array.
        array: ObjectId,
        /// Where it was allocated.
        trace: TraceSerial,
        /// The type of the elements.
        element: BasicType,
        /// The elements, big-endian.
        values: &'a [u8],
    },
    /// Android, obsolete: a primitive array whose elements are left out.
    PrimitiveArrayNoData {
        /// The array.
        array: ObjectId,
        /// Where it was allocated.
        trace: TraceSerial,
        /// The type of the elements.
        element: BasicType,
        /// Their number.
        length: u32,
    },
}

/// Why a sub-record cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It needs at least this many bytes.
    Incomplete { needed: u64 },
    /// Its tag is unknown.
    Tag(u8),
    /// It has a type code that means nothing.
    Type(u8),
}

/// Decodes the sub-record at the start of `bytes`, and its length.
#[inline]
pub(crate) fn decode(bytes: &[u8], id_size: IdSize) -> Result<(SubRecord<'_>, usize), Stop> {
    match id_size {
        IdSize::Four => decode_sized::<4>(bytes),
        IdSize::Eight => decode_sized::<8>(bytes),
    }
}

#[inline(always)]
pub(crate) fn decode_sized<const I: usize>(bytes: &[u8]) -> Result<(SubRecord<'_>, usize), Stop> {
    let id_size = if I == 4 { IdSize::Four } else { IdSize::Eight };
    let Some(&tag) = bytes.first() else {
        return Err(Stop::Incomplete { needed: 1 });
    };
    match tag {
        tag::INSTANCE_DUMP => {
            let head = head(bytes, 9 + 2 * I)?;
            let values = tail(bytes, head.len(), u4(head, 5 + 2 * I), 1)?;
            let sub = SubRecord::Instance {
                object: object::<I>(head, 1),
                trace: TraceSerial::new(u4(head, 1 + I)),
                class: object::<I>(head, 5 + I),
                values,
            };
            Ok((sub, head.len() + values.len()))
        }
        tag::OBJECT_ARRAY_DUMP => {
            let head = head(bytes, 9 + 2 * I)?;
            let elements = tail(bytes, head.len(), u4(head, 5 + I), I)?;
            let sub = SubRecord::ObjectArray {
                array: object::<I>(head, 1),
                trace: TraceSerial::new(u4(head, 1 + I)),
                class: object::<I>(head, 9 + I),
                elements: Ids::new(elements, id_size),
            };
            Ok((sub, head.len() + elements.len()))
        }
        tag::PRIMITIVE_ARRAY_DUMP => {
            let head = head(bytes, 10 + I)?;
            let (element, width) = element::<I>(head[9 + I])?;
            let values = tail(bytes, head.len(), u4(head, 5 + I), width)?;
            let sub = SubRecord::PrimitiveArray {
                array: object::<I>(head, 1),
                trace: TraceSerial::new(u4(head, 1 + I)),
                element,
                values,
            };
            Ok((sub, head.len() + values.len()))
        }
        _ => decode_rare::<I>(tag, bytes),
    }
}

#[inline(never)]
fn decode_rare<const I: usize>(tag: u8, bytes: &[u8]) -> Result<(SubRecord<'_>, usize), Stop> {
    match tag {
        tag::CLASS_DUMP => {
            let (class, length) = ClassDump::decode::<I>(bytes)?;
            Ok((SubRecord::Class(class), length))
        }
        tag::PRIMITIVE_ARRAY_NO_DATA => {
            let head = head(bytes, 10 + I)?;
            let sub = SubRecord::PrimitiveArrayNoData {
                array: object::<I>(head, 1),
                trace: TraceSerial::new(u4(head, 1 + I)),
                element: element::<I>(head[9 + I])?.0,
                length: u4(head, 5 + I),
            };
            Ok((sub, head.len()))
        }
        tag::HEAP_DUMP_INFO => {
            let head = head(bytes, 5 + I)?;
            let name = StringId::new(id::<I>(head, 5));
            Ok((
                SubRecord::HeapInfo {
                    heap: u4(head, 1),
                    name,
                },
                head.len(),
            ))
        }
        tag::UNREACHABLE => {
            let head = head(bytes, 1 + I)?;
            Ok((
                SubRecord::Unreachable {
                    object: object::<I>(head, 1),
                },
                head.len(),
            ))
        }
        _ => {
            let (root, length) = decode_root::<I>(tag, bytes)?;
            Ok((SubRecord::Root(root), length))
        }
    }
}

/// Decodes the start of an object or array whose values `bytes` hold in part only, and the length
/// that it has as a whole; `None` for other sub-records, or if not even the fields are there.
pub(crate) fn decode_start(bytes: &[u8], id_size: IdSize) -> Option<(SubRecord<'_>, u64)> {
    let id = id_size.bytes();
    let (tag, rest) = bytes.split_first()?;
    let mut fields = Fields::new(rest, id_size);
    let (object, trace) = (fields.object()?, fields.trace()?);
    let (sub, head, length) = match *tag {
        tag::INSTANCE_DUMP => {
            let (class, length) = (fields.object()?, u64::from(fields.u4()?));
            let values = fields.rest();
            let sub = SubRecord::Instance {
                object,
                trace,
                class,
                values,
            };
            (sub, 9 + 2 * id, length)
        }
        tag::OBJECT_ARRAY_DUMP => {
            let (count, class) = (u64::from(fields.u4()?), fields.object()?);
            let sub = SubRecord::ObjectArray {
                array: object,
                trace,
                class,
                elements: Ids::new(fields.rest(), id_size),
            };
            (sub, 9 + 2 * id, count * id as u64)
        }
        tag::PRIMITIVE_ARRAY_DUMP => {
            let count = u64::from(fields.u4()?);
            let element = BasicType::from_code(fields.take(1)?[0])?;
            let width = element.width(id_size);
            let values = fields.rest();
            let sub = SubRecord::PrimitiveArray {
                array: object,
                trace,
                element,
                values: &values[..values.len() - values.len() % width],
            };
            (sub, 10 + id, count * width as u64)
        }
        _ => return None,
    };
    Some((sub, head as u64 + length))
}

#[inline(always)]
pub(crate) fn head(bytes: &[u8], length: usize) -> Result<&[u8], Stop> {
    bytes.get(..length).ok_or(Stop::Incomplete {
        needed: length as u64,
    })
}

#[inline(always)]
fn tail(bytes: &[u8], start: usize, count: u32, width: usize) -> Result<&[u8], Stop> {
    // Up to 2^32 × 8 bytes: too much for a usize of 32 bits.
    let end = start as u64 + u64::from(count) * width as u64;
    if end > bytes.len() as u64 {
        return Err(Stop::Incomplete { needed: end });
    }
    Ok(&bytes[start..end as usize])
}

#[inline(always)]
pub(crate) fn object<const I: usize>(head: &[u8], at: usize) -> ObjectId {
    ObjectId::new(id::<I>(head, at))
}

#[inline(always)]
fn element<const I: usize>(code: u8) -> Result<(BasicType, usize), Stop> {
    match BasicType::from_code(code) {
        Some(element) => Ok((element, width_of_code::<I>(code))),
        None => Err(Stop::Type(code)),
    }
}

impl SubRecord<'_> {
    /// Appends the sub-record with its tag. The values of instances are copied as they are, so
    /// those must have identifiers of the same width as `body`.
    pub fn encode(&self, body: &mut Body) {
        match *self {
            Self::Root(root) => encode_root(&root, body),
            Self::Unreachable { object } => {
                body.u1(tag::UNREACHABLE).object(object);
            }
            Self::HeapInfo { heap, name } => {
                body.u1(tag::HEAP_DUMP_INFO).u4(heap).string(name);
            }
            Self::Class(class) => {
                body.u1(tag::CLASS_DUMP);
                class.encode(body);
            }
            Self::Instance {
                object,
                trace,
                class,
                values,
            } => {
                body.u1(tag::INSTANCE_DUMP)
                    .object(object)
                    .trace(trace)
                    .object(class);
                body.counter(values.len() as u64).raw(values);
            }
            Self::ObjectArray {
                array,
                trace,
                class,
                elements,
            } => {
                body.u1(tag::OBJECT_ARRAY_DUMP).object(array).trace(trace);
                body.counter(elements.len() as u64).object(class);
                elements.write(body);
            }
            Self::PrimitiveArray {
                array,
                trace,
                element,
                values,
            } => {
                let length = values.len() / element.width(body.id_size());
                body.u1(tag::PRIMITIVE_ARRAY_DUMP)
                    .object(array)
                    .trace(trace);
                body.counter(length as u64).u1(element.code()).raw(values);
            }
            Self::PrimitiveArrayNoData {
                array,
                trace,
                element,
                length,
            } => {
                body.u1(tag::PRIMITIVE_ARRAY_NO_DATA)
                    .object(array)
                    .trace(trace);
                body.u4(length).u1(element.code());
            }
        }
    }
}
