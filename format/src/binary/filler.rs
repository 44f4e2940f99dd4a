//! A record that fills room in a file.

use super::tags::record::UTF8;
use crate::ids::StringId;

/// How many bytes of a filler are not zero: its head and its identifier.
pub const FILLER_HEAD: usize = 17;

/// The start of a record of `length` bytes that says nothing, in a file with identifiers of eight bytes: a string
/// that nothing refers to. The rest of it is zeros. `None` if no record has this length.
#[must_use]
pub fn filler(length: u64) -> Option<[u8; FILLER_HEAD]> {
    const RECORD_HEAD: u64 = 9;
    if length < FILLER_HEAD as u64 {
        return None;
    }
    let body = u32::try_from(length - RECORD_HEAD).ok()?;
    let mut head = [0; FILLER_HEAD];
    head[0] = UTF8;
    head[5..9].copy_from_slice(&body.to_be_bytes());
    head[9..].copy_from_slice(&StringId::FILLER.to_be_bytes());
    Some(head)
}
