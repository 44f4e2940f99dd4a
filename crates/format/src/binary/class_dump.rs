//! The description of a class in a heap dump.

use super::basic_type::{BasicType, Value, width_of_code};
use super::body::{Body, IdSize};
use super::bytes::{id, u2, u4};
use super::sub_record::Stop;
use crate::ids::{ObjectId, StringId, TraceSerial};

/// A class in a heap dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassDump<'a> {
    /// The class object.
    pub class: ObjectId,
    /// Where it was loaded.
    pub trace: TraceSerial,
    /// The super class, null for `java.lang.Object` and at times for interfaces.
    pub super_class: ObjectId,
    /// The class loader, null for the boot loader.
    pub loader: ObjectId,
    /// The signers, or null.
    pub signers: ObjectId,
    /// The protection domain, or null.
    pub domain: ObjectId,
    /// The sum of the widths of all instance fields, inherited ones included; in Android
    /// files the size of an object with header and padding instead.
    pub instance_size: u32,
    /// Constants that hold objects. Only the JDK's agent writes them.
    pub constants: Constants<'a>,
    /// Static fields with their values.
    pub statics: StaticFields<'a>,
    /// Instance fields that this class itself declares.
    pub fields: InstanceFields<'a>,
}

/// An entry of the constant pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constant {
    /// The index within the pool.
    pub index: u16,
    /// The value.
    pub value: Value,
}

/// A static field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StaticField {
    /// The name.
    pub name: StringId,
    /// The value.
    pub value: Value,
}

/// An instance field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceField {
    /// The name.
    pub name: StringId,
    /// The type.
    pub basic_type: BasicType,
}

macro_rules! entry_list {
    ($(#[$doc:meta])* $name:ident, $entry:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name<'a> {
            pub(crate) bytes: &'a [u8],
            pub(crate) count: u16,
            pub(crate) id_size: IdSize,
        }

        impl<'a> $name<'a> {
            /// The number of entries.
            #[inline]
            pub fn len(&self) -> usize {
                usize::from(self.count)
            }

            /// True if there are none.
            #[inline]
            pub fn is_empty(&self) -> bool {
                self.count == 0
            }

            /// The raw bytes of all entries.
            pub fn as_bytes(&self) -> &'a [u8] {
                self.bytes
            }

            /// All entries in order.
            #[inline]
            pub fn iter(&self) -> impl Iterator<Item = $entry> + use<'a> {
                let Self { mut bytes, id_size, .. } = *self;
                std::iter::from_fn(move || {
                    let (entry, rest) = $entry::split(bytes, id_size)?;
                    bytes = rest;
                    Some(entry)
                })
            }

            /// The list whose entries lie one after the other in `bytes`; `None` if they
            /// are no whole entries, or more than a class can have.
            pub fn new(bytes: &'a [u8], id_size: IdSize) -> Option<Self> {
                let (mut rest, mut count) = (bytes, 0u16);
                while !rest.is_empty() {
                    (_, rest) = $entry::split(rest, id_size)?;
                    count = count.checked_add(1)?;
                }
                Some(Self { bytes, count, id_size })
            }

            fn write(&self, body: &mut Body) {
                body.u2(self.count);
                if body.id_size() == self.id_size {
                    body.raw(self.bytes);
                } else {
                    self.iter().for_each(|entry| entry.write(body));
                }
            }
        }
    };
}

entry_list! {
    /// The constants of a class.
    Constants, Constant
}

entry_list! {
    /// The static fields of a class.
    StaticFields, StaticField
}

entry_list! {
    /// The instance fields of a class.
    InstanceFields, InstanceField
}

fn split_id(bytes: &[u8], id_size: IdSize) -> Option<(u64, &[u8])> {
    let (field, rest) = bytes.split_at_checked(id_size.bytes())?;
    Some(match id_size {
        IdSize::Four => (id::<4>(field, 0), rest),
        IdSize::Eight => (id::<8>(field, 0), rest),
    })
}

fn split_value(bytes: &[u8], id_size: IdSize) -> Option<(Value, &[u8])> {
    let (&code, rest) = bytes.split_first()?;
    let basic_type = BasicType::from_code(code)?;
    let value = Value::read(basic_type, rest, id_size)?;
    Some((value, &rest[basic_type.width(id_size)..]))
}

fn write_value(value: Value, body: &mut Body) {
    body.u1(value.basic_type().code());
    value.write(body);
}

impl Constant {
    /// Appends the entry.
    pub fn write(&self, body: &mut Body) {
        body.u2(self.index);
        write_value(self.value, body);
    }

    fn split(bytes: &[u8], id_size: IdSize) -> Option<(Self, &[u8])> {
        let (index, rest) = bytes.split_at_checked(2)?;
        let (value, rest) = split_value(rest, id_size)?;
        Some((
            Self {
                index: u2(index, 0),
                value,
            },
            rest,
        ))
    }
}

impl StaticField {
    /// Appends the entry.
    pub fn write(&self, body: &mut Body) {
        body.string(self.name);
        write_value(self.value, body);
    }

    fn split(bytes: &[u8], id_size: IdSize) -> Option<(Self, &[u8])> {
        let (name, rest) = split_id(bytes, id_size)?;
        let (value, rest) = split_value(rest, id_size)?;
        Some((
            Self {
                name: StringId::new(name),
                value,
            },
            rest,
        ))
    }
}

impl InstanceField {
    /// Appends the entry.
    pub fn write(&self, body: &mut Body) {
        body.string(self.name).u1(self.basic_type.code());
    }

    fn split(bytes: &[u8], id_size: IdSize) -> Option<(Self, &[u8])> {
        let (name, rest) = split_id(bytes, id_size)?;
        let (&code, rest) = rest.split_first()?;
        let basic_type = BasicType::from_code(code)?;
        Some((
            Self {
                name: StringId::new(name),
                basic_type,
            },
            rest,
        ))
    }
}

impl<'a> ClassDump<'a> {
    /// Decodes the class at the start of `bytes`, which is its tag, and its length with the tag.
    pub(crate) fn decode<const I: usize>(bytes: &'a [u8]) -> Result<(Self, usize), Stop> {
        let id_size = if I == 4 { IdSize::Four } else { IdSize::Eight };
        let constants_at = 1 + I + 4 + 6 * I + 4;
        let head = cut(bytes, 0, constants_at)?;
        let object = |at| ObjectId::new(id::<I>(head, at));
        let (constant_count, start) = count(bytes, constants_at)?;
        let constants_end = skip_values::<I>(bytes, start, constant_count, 2)?;
        let constants = &bytes[start..constants_end];
        let (static_count, start) = count(bytes, constants_end)?;
        let statics_end = skip_values::<I>(bytes, start, static_count, I)?;
        let statics = &bytes[start..statics_end];
        let (field_count, start) = count(bytes, statics_end)?;
        let fields = cut(bytes, start, usize::from(field_count) * (I + 1))?;
        if let Some(code) = fields
            .chunks_exact(I + 1)
            .map(|f| f[I])
            .find(|&c| width_of_code::<I>(c) == 0)
        {
            return Err(Stop::Type(code));
        }
        let class = Self {
            class: object(1),
            trace: TraceSerial::new(u4(head, 1 + I)),
            super_class: object(5 + I),
            loader: object(5 + 2 * I),
            signers: object(5 + 3 * I),
            domain: object(5 + 4 * I),
            instance_size: u4(head, 5 + 7 * I),
            constants: Constants {
                bytes: constants,
                count: constant_count,
                id_size,
            },
            statics: StaticFields {
                bytes: statics,
                count: static_count,
                id_size,
            },
            fields: InstanceFields {
                bytes: fields,
                count: field_count,
                id_size,
            },
        };
        Ok((class, start + fields.len()))
    }

    /// Appends the class without its tag.
    pub(crate) fn encode(&self, body: &mut Body) {
        body.object(self.class)
            .trace(self.trace)
            .object(self.super_class)
            .object(self.loader);
        body.object(self.signers)
            .object(self.domain)
            .id(0)
            .id(0)
            .u4(self.instance_size);
        self.constants.write(body);
        self.statics.write(body);
        self.fields.write(body);
    }
}

fn cut(bytes: &[u8], start: usize, length: usize) -> Result<&[u8], Stop> {
    bytes.get(start..start + length).ok_or(Stop::Incomplete {
        needed: (start + length) as u64,
    })
}

/// The entry count at `at` and where the entries start.
fn count(bytes: &[u8], at: usize) -> Result<(u16, usize), Stop> {
    Ok((u2(cut(bytes, at, 2)?, 0), at + 2))
}

/// The end of `count` entries of `key` bytes, a type code and a value.
fn skip_values<const I: usize>(
    bytes: &[u8],
    start: usize,
    count: u16,
    key: usize,
) -> Result<usize, Stop> {
    let mut at = start;
    for _ in 0..count {
        let code = cut(bytes, at + key, 1)?[0];
        let width = width_of_code::<I>(code);
        if width == 0 {
            return Err(Stop::Type(code));
        }
        at += key + 1 + width;
    }
    cut(bytes, start, at - start)?;
    Ok(at)
}
