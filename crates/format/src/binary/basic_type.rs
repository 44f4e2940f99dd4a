//! Basic types and values of them.

use super::body::{Body, IdSize};
use hprof_java_names::Primitive;

use super::bytes::{id, u2, u4, u8};
use crate::ids::ObjectId;

/// The type of a field or of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BasicType {
    /// A reference to an object or array; an identifier wide.
    Object = 2,
    /// One byte, 0 or 1.
    Boolean = 4,
    /// A UTF-16 unit, two bytes.
    Char = 5,
    /// Four bytes.
    Float = 6,
    /// Eight bytes.
    Double = 7,
    /// One byte, signed.
    Byte = 8,
    /// Two bytes, signed.
    Short = 9,
    /// Four bytes, signed.
    Int = 10,
    /// Eight bytes, signed.
    Long = 11,
}

/// Width by code for identifiers of eight bytes; 0 where the code means nothing.
const WIDTHS: [u8; 16] = [0, 8, 8, 0, 1, 2, 4, 8, 1, 2, 4, 8, 0, 0, 0, 0];

/// The width of a value by type code; 0 if the code means nothing.
#[inline]
pub(crate) fn width_of_code<const I: usize>(code: u8) -> usize {
    match code {
        1 | 2 => I,
        0..16 => usize::from(WIDTHS[usize::from(code)]),
        _ => 0,
    }
}

/// The width of a value by type code; `None` if the code means nothing.
pub(crate) fn width_of_type(code: u8, id_size: IdSize) -> Option<usize> {
    let width = match id_size {
        IdSize::Four => width_of_code::<4>(code),
        IdSize::Eight => width_of_code::<8>(code),
    };
    (width > 0).then_some(width)
}

impl BasicType {
    /// All types.
    pub const ALL: [Self; 9] = [
        Self::Object,
        Self::Boolean,
        Self::Char,
        Self::Float,
        Self::Double,
        Self::Byte,
        Self::Short,
        Self::Int,
        Self::Long,
    ];

    /// The type with this code. Code 1, which the manual lists for arrays and no producer is known to
    /// write, counts as a reference.
    #[inline]
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            1 | 2 => Self::Object,
            4 => Self::Boolean,
            5 => Self::Char,
            6 => Self::Float,
            7 => Self::Double,
            8 => Self::Byte,
            9 => Self::Short,
            10 => Self::Int,
            11 => Self::Long,
            _ => return None,
        })
    }

    /// The code of this type.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The width of a value in bytes.
    #[inline]
    pub const fn width(self, id_size: IdSize) -> usize {
        match self {
            Self::Object => id_size.bytes(),
            _ => WIDTHS[self as usize] as usize,
        }
    }

    /// The name in Java source; `Object` for references.
    pub const fn name(self) -> &'static str {
        match self.primitive() {
            Some(primitive) => primitive.name(),
            None => "Object",
        }
    }

    /// The primitive type; `None` for references.
    pub const fn primitive(self) -> Option<Primitive> {
        Some(match self {
            Self::Object => return None,
            Self::Boolean => Primitive::Boolean,
            Self::Char => Primitive::Char,
            Self::Float => Primitive::Float,
            Self::Double => Primitive::Double,
            Self::Byte => Primitive::Byte,
            Self::Short => Primitive::Short,
            Self::Int => Primitive::Int,
            Self::Long => Primitive::Long,
        })
    }
}

impl From<Primitive> for BasicType {
    fn from(primitive: Primitive) -> Self {
        match primitive {
            Primitive::Boolean => Self::Boolean,
            Primitive::Char => Self::Char,
            Primitive::Float => Self::Float,
            Primitive::Double => Self::Double,
            Primitive::Byte => Self::Byte,
            Primitive::Short => Self::Short,
            Primitive::Int => Self::Int,
            Primitive::Long => Self::Long,
        }
    }
}

/// A value of a basic type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A reference; may be null.
    Object(ObjectId),
    /// A boolean.
    Boolean(bool),
    /// A UTF-16 unit.
    Char(u16),
    /// A float.
    Float(f32),
    /// A double.
    Double(f64),
    /// A byte.
    Byte(i8),
    /// A short.
    Short(i16),
    /// An int.
    Int(i32),
    /// A long.
    Long(i64),
}

impl Value {
    /// The type of this value.
    pub const fn basic_type(self) -> BasicType {
        match self {
            Self::Object(_) => BasicType::Object,
            Self::Boolean(_) => BasicType::Boolean,
            Self::Char(_) => BasicType::Char,
            Self::Float(_) => BasicType::Float,
            Self::Double(_) => BasicType::Double,
            Self::Byte(_) => BasicType::Byte,
            Self::Short(_) => BasicType::Short,
            Self::Int(_) => BasicType::Int,
            Self::Long(_) => BasicType::Long,
        }
    }

    /// The value at the start of `bytes`, `None` if they are too few.
    #[inline]
    pub fn read(basic_type: BasicType, bytes: &[u8], id_size: IdSize) -> Option<Self> {
        let bytes = bytes.get(..basic_type.width(id_size))?;
        Some(match basic_type {
            BasicType::Object => Self::Object(ObjectId::new(match id_size {
                IdSize::Four => id::<4>(bytes, 0),
                IdSize::Eight => id::<8>(bytes, 0),
            })),
            BasicType::Boolean => Self::Boolean(bytes[0] != 0),
            BasicType::Char => Self::Char(u2(bytes, 0)),
            BasicType::Float => Self::Float(f32::from_bits(u4(bytes, 0))),
            BasicType::Double => Self::Double(f64::from_bits(u8(bytes, 0))),
            BasicType::Byte => Self::Byte(bytes[0] as i8),
            BasicType::Short => Self::Short(u2(bytes, 0) as i16),
            BasicType::Int => Self::Int(u4(bytes, 0) as i32),
            BasicType::Long => Self::Long(u8(bytes, 0) as i64),
        })
    }

    /// Appends the value, without its type.
    pub fn write(self, body: &mut Body) {
        match self {
            Self::Object(object) => body.object(object),
            Self::Boolean(value) => body.u1(u8::from(value)),
            Self::Char(value) => body.u2(value),
            Self::Float(value) => body.u4(value.to_bits()),
            Self::Double(value) => body.u8(value.to_bits()),
            Self::Byte(value) => body.u1(value as u8),
            Self::Short(value) => body.u2(value as u16),
            Self::Int(value) => body.u4(value as u32),
            Self::Long(value) => body.u8(value as u64),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_widths_agree() {
        for basic_type in BasicType::ALL {
            let code = basic_type.code();
            assert_eq!(BasicType::from_code(code), Some(basic_type));
            let primitive = basic_type.primitive();
            assert_eq!(
                primitive.map_or(BasicType::Object, BasicType::from),
                basic_type
            );
            assert_eq!(width_of_code::<4>(code), basic_type.width(IdSize::Four));
            assert_eq!(width_of_code::<8>(code), basic_type.width(IdSize::Eight));
        }
        assert_eq!(BasicType::from_code(1), Some(BasicType::Object));
        for code in [0, 3, 12, 15, 16, 255] {
            assert_eq!(BasicType::from_code(code), None);
            assert_eq!(width_of_code::<8>(code), 0);
        }
    }

    #[test]
    fn values_survive_writing_and_reading() {
        let values = [
            Value::Object(ObjectId::new(0xfedc_ba98)),
            Value::Boolean(true),
            Value::Char(0xffee),
            Value::Float(-1.5),
            Value::Double(f64::MIN_POSITIVE),
            Value::Byte(-2),
            Value::Short(i16::MIN),
            Value::Int(i32::MIN + 1),
            Value::Long(i64::MAX - 1),
        ];
        for id_size in [IdSize::Four, IdSize::Eight] {
            for value in values {
                let mut body = Body::new(id_size);
                value.write(&mut body);
                let bytes = body.bytes();
                assert_eq!(bytes.len(), value.basic_type().width(id_size));
                assert_eq!(Value::read(value.basic_type(), bytes, id_size), Some(value));
                let short = &bytes[1..];
                assert_eq!(Value::read(value.basic_type(), short, id_size), None);
            }
        }
    }
}
