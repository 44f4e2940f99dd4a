//! The head of a primitive array in a dump with identifiers of eight bytes.

use hprof_format::binary::{BasicType, IdSize, tags};

/// Bytes of the head: tag, array, trace, length, type.
pub const HEAD: usize = 18;

/// Where the fields lie.
pub mod at {
    /// The allocation trace.
    pub const TRACE: usize = 9;
    /// The number of elements.
    pub const LENGTH: usize = 13;
    /// The type of the elements.
    pub const TYPE: usize = 17;
}

/// The number and type of elements.
pub fn elements(head: &[u8; HEAD]) -> Option<(u32, BasicType)> {
    let element = BasicType::from_code(head[at::TYPE])?;
    let length = [head[13], head[14], head[15], head[16]];
    Some((u32::from_be_bytes(length), element))
}

/// The head of the primitive array at the start of `bytes`, and how many bytes its elements take, if
/// there is one and it is larger than `limit`.
pub fn large(bytes: &[u8], limit: usize) -> Option<([u8; HEAD], u64)> {
    let head = bytes.first_chunk::<HEAD>()?;
    if head[0] != tags::heap::PRIMITIVE_ARRAY_DUMP {
        return None;
    }
    let (length, element) = elements(head)?;
    let bytes = u64::from(length) * element.width(IdSize::Eight) as u64;
    (bytes > limit as u64).then_some((*head, bytes))
}
