//! The body of a record under construction.

use std::io;

use crate::ids::{ClassSerial, FrameId, ObjectId, StringId, ThreadSerial, TraceSerial};

/// The width of identifiers in a binary file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdSize {
    /// Four bytes: the JDK's agent, Android, 32-bit VMs.
    Four,
    /// Eight bytes: 64-bit VMs and this crate's profiles.
    Eight,
}

impl IdSize {
    /// The width in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// Collects the fields of a record, big-endian.
///
/// An identifier too large for four bytes cannot be written into a file with such identifiers.
/// The body remembers that, and [`Body::check`] tells.
#[derive(Debug, Clone)]
pub struct Body {
    bytes: Vec<u8>,
    id_size: IdSize,
    id_overflow: bool,
}

impl Body {
    /// An empty body for a file with identifiers of this width.
    pub fn new(id_size: IdSize) -> Self {
        Self {
            bytes: Vec::new(),
            id_size,
            id_overflow: false,
        }
    }

    /// The width of identifiers.
    pub fn id_size(&self) -> IdSize {
        self.id_size
    }

    /// The bytes so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets all fields; the memory is kept.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.id_overflow = false;
    }

    /// Fails if an identifier did not fit its width.
    pub fn check(&self) -> io::Result<()> {
        if self.id_overflow {
            let reason = "identifier above 2^32 in a file with 4-byte identifiers";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        Ok(())
    }

    /// The head of the record that this body belongs to. Fails if the body is no sound one.
    pub fn record_head(&self, tag: u8, micros: u32) -> io::Result<[u8; 9]> {
        self.check()?;
        let length = u32::try_from(self.bytes.len())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "record above 4 GiB"))?;
        let ([t0, t1, t2, t3], [l0, l1, l2, l3]) = (micros.to_be_bytes(), length.to_be_bytes());
        Ok([tag, t0, t1, t2, t3, l0, l1, l2, l3])
    }

    /// Appends raw bytes.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Forgets all fields and most of the memory, after a body that may have been huge.
    pub(crate) fn reset(&mut self) {
        self.clear();
        self.bytes.shrink_to(4 << 20);
    }

    /// Appends zero bytes and gives access to them.
    pub(crate) fn grow(&mut self, length: usize) -> &mut [u8] {
        let start = self.bytes.len();
        self.bytes.resize(start + length, 0);
        &mut self.bytes[start..]
    }

    /// Appends one byte.
    pub fn u1(&mut self, value: u8) -> &mut Self {
        self.bytes.push(value);
        self
    }

    /// Appends two bytes.
    pub fn u2(&mut self, value: u16) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    /// Appends four bytes.
    pub fn u4(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    /// Appends four bytes, signed.
    pub fn i4(&mut self, value: i32) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    /// Appends eight bytes.
    pub fn u8(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    /// Appends a counter to a field of four bytes; what does not fit becomes the largest number
    /// that does, since a wrapped counter would look like a small one.
    pub fn counter(&mut self, value: u64) -> &mut Self {
        self.u4(u32::try_from(value).unwrap_or(u32::MAX))
    }

    /// Appends an identifier of any kind.
    pub fn id(&mut self, raw: u64) -> &mut Self {
        match self.id_size {
            IdSize::Eight => self.u8(raw),
            IdSize::Four => {
                self.id_overflow |= raw > u64::from(u32::MAX);
                self.u4(raw as u32)
            }
        }
    }

    /// Appends a string identifier.
    pub fn string(&mut self, id: StringId) -> &mut Self {
        self.id(id.get())
    }

    /// Appends an object identifier.
    pub fn object(&mut self, id: ObjectId) -> &mut Self {
        self.id(id.get())
    }

    /// Appends a frame identifier.
    pub fn frame(&mut self, id: FrameId) -> &mut Self {
        self.id(id.get())
    }

    /// Appends a thread serial.
    pub fn thread(&mut self, serial: ThreadSerial) -> &mut Self {
        self.u4(serial.get())
    }

    /// Appends a trace serial.
    pub fn trace(&mut self, serial: TraceSerial) -> &mut Self {
        self.u4(serial.get())
    }

    /// Appends a class serial.
    pub fn class(&mut self, serial: ClassSerial) -> &mut Self {
        self.u4(serial.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_take_the_width_of_the_file() {
        let mut body = Body::new(IdSize::Four);
        body.id(0xffff_fffe).u1(1);
        assert_eq!(body.bytes(), [0xff, 0xff, 0xff, 0xfe, 1]);
        assert!(body.check().is_ok());
        body.id(1 << 32);
        assert!(body.check().is_err());
        body.clear();
        assert!(body.check().is_ok());
        let mut body = Body::new(IdSize::Eight);
        body.id(1 << 32);
        assert_eq!(body.bytes(), [0, 0, 0, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn counters_stop_at_the_largest_number() {
        let mut body = Body::new(IdSize::Eight);
        body.counter(u64::from(u32::MAX) + 1).counter(7);
        assert_eq!(body.bytes(), [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 7]);
    }
}
