//! Types of locals and operands (Java Virtual Machine Specification 4.7.4).

use crate::bytes::Reader;
use crate::error::Malformed;

pub(super) const TOP: u8 = 0;
pub(super) const INTEGER: u8 = 1;
pub(super) const FLOAT: u8 = 2;
pub(super) const DOUBLE: u8 = 3;
pub(super) const LONG: u8 = 4;
pub(super) const UNINITIALIZED_THIS: u8 = 6;
pub(super) const OBJECT: u8 = 7;
pub(super) const UNINITIALIZED: u8 = 8;
/// No tag of the format: a parameter whose class has not been looked up in the constant pool.
pub(super) const PARAMETER: u8 = 0xff;

/// A `verification_type_info`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Type {
    pub tag: u8,
    /// Class index of an object, old address of the `new` of an uninitialized one, or index into
    /// the list of parameters.
    pub data: u16,
}

impl Type {
    pub const fn plain(tag: u8) -> Self {
        Self { tag, data: 0 }
    }

    pub fn slots(self) -> u32 {
        if matches!(self.tag, LONG | DOUBLE) {
            2
        } else {
            1
        }
    }
}

pub(super) fn read_type(reader: &mut Reader<'_>) -> Result<Type, Malformed> {
    let tag = reader.u8()?;
    match tag {
        TOP..=UNINITIALIZED_THIS => Ok(Type::plain(tag)),
        OBJECT | UNINITIALIZED => Ok(Type {
            tag,
            data: reader.u16()?,
        }),
        _ => Err(Malformed("verification type")),
    }
}
