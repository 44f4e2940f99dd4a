//! Fields of a record, big-endian.

use super::body::IdSize;
use crate::ids::{ClassSerial, FrameId, ObjectId, StringId, ThreadSerial, TraceSerial};

// The functions below index; every caller has cut a window that covers the field, and with a
// window of constant length the compiler drops the checks.

#[inline(always)]
pub(crate) fn u2(bytes: &[u8], at: usize) -> u16 {
    let field = &bytes[at..at + 2];
    u16::from_be_bytes([field[0], field[1]])
}

#[inline(always)]
pub(crate) fn u4(bytes: &[u8], at: usize) -> u32 {
    let field = &bytes[at..at + 4];
    u32::from_be_bytes([field[0], field[1], field[2], field[3]])
}

#[inline(always)]
pub(crate) fn u8(bytes: &[u8], at: usize) -> u64 {
    u64::from(u4(bytes, at)) << 32 | u64::from(u4(bytes, at + 4))
}

/// An identifier of `I` bytes.
#[inline(always)]
pub(crate) fn id<const I: usize>(bytes: &[u8], at: usize) -> u64 {
    if I == 4 {
        u64::from(u4(bytes, at))
    } else {
        u8(bytes, at)
    }
}

/// Reads the fields of a record one after the other, within the record's body.
///
/// Every method is `None` when the body has no more bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    id_size: IdSize,
}

impl<'a> Fields<'a> {
    pub fn new(body: &'a [u8], id_size: IdSize) -> Self {
        Self {
            rest: body,
            id_size,
        }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(head)
    }

    /// `count` entries of `width` bytes each.
    pub fn take_list(&mut self, count: u32, width: usize) -> Option<&'a [u8]> {
        self.take((count as usize).checked_mul(width)?)
    }

    pub fn u2(&mut self) -> Option<u16> {
        self.take(2).map(|field| u2(field, 0))
    }

    pub fn u4(&mut self) -> Option<u32> {
        self.take(4).map(|field| u4(field, 0))
    }

    pub fn i4(&mut self) -> Option<i32> {
        self.u4().map(|value| value as i32)
    }

    pub fn u8(&mut self) -> Option<u64> {
        self.take(8).map(|field| u8(field, 0))
    }

    pub fn id(&mut self) -> Option<u64> {
        match self.id_size {
            IdSize::Four => self.u4().map(u64::from),
            IdSize::Eight => self.u8(),
        }
    }

    pub fn string(&mut self) -> Option<StringId> {
        self.id().map(StringId::new)
    }

    pub fn object(&mut self) -> Option<ObjectId> {
        self.id().map(ObjectId::new)
    }

    pub fn frame(&mut self) -> Option<FrameId> {
        self.id().map(FrameId::new)
    }

    pub fn thread(&mut self) -> Option<ThreadSerial> {
        self.u4().map(ThreadSerial::new)
    }

    pub fn trace(&mut self) -> Option<TraceSerial> {
        self.u4().map(TraceSerial::new)
    }

    pub fn class(&mut self) -> Option<ClassSerial> {
        self.u4().map(ClassSerial::new)
    }
}
