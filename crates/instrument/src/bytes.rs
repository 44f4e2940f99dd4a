//! Big-endian reading and writing with every length checked.

use crate::error::Malformed;

/// A position in a slice of bytes that never reads past its end.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0 }
    }

    /// Starts at `at`; a start past the end makes every read fail.
    pub(crate) fn starting_at(data: &'a [u8], at: usize) -> Self {
        Self { data, at }
    }

    /// The number of bytes read so far.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.data.len()
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(len).ok_or(Malformed::TRUNCATED)?;
        let bytes = self.data.get(self.at..end).ok_or(Malformed::TRUNCATED)?;
        self.at = end;
        Ok(bytes)
    }

    pub(crate) fn skip(&mut self, len: usize) -> Result<(), Malformed> {
        self.take(len).map(|_| ())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let bytes = self
            .data
            .get(self.at..)
            .and_then(|rest| rest.first_chunk::<N>());
        self.at += N;
        bytes.copied().ok_or(Malformed::TRUNCATED)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    /// A length or a count of 32 bits, as an index.
    pub(crate) fn len32(&mut self) -> Result<usize, Malformed> {
        self.u32().map(|len| len as usize)
    }
}

/// The two bytes at `at`, if they are there.
pub(crate) fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..)?
        .first_chunk()
        .copied()
        .map(u16::from_be_bytes)
}

/// The four bytes at `at`, if they are there.
pub(crate) fn i32_at(data: &[u8], at: usize) -> Option<i32> {
    data.get(at..)?
        .first_chunk()
        .copied()
        .map(i32::from_be_bytes)
}

/// Appending in the byte order of class files.
pub(crate) trait Put {
    fn put_u8(&mut self, value: u8);
    fn put_u16(&mut self, value: u16);
    fn put_u32(&mut self, value: u32);
    fn put_i32(&mut self, value: i32);
    /// Overwrites two bytes written before.
    fn patch_u16(&mut self, at: usize, value: u16);
    /// Overwrites four bytes written before.
    fn patch_u32(&mut self, at: usize, value: u32);
}

impl Put for Vec<u8> {
    fn put_u8(&mut self, value: u8) {
        self.push(value);
    }

    fn put_u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn put_u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn put_i32(&mut self, value: i32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn patch_u16(&mut self, at: usize, value: u16) {
        if let Some(bytes) = self.get_mut(at..at + 2) {
            bytes.copy_from_slice(&value.to_be_bytes());
        }
    }

    fn patch_u32(&mut self, at: usize, value: u32) {
        if let Some(bytes) = self.get_mut(at..at + 4) {
            bytes.copy_from_slice(&value.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stop_at_the_end() {
        let mut reader = Reader::new(&[1, 2, 3]);
        assert_eq!(reader.u16().unwrap(), 0x0102);
        assert!(reader.u16().is_err());
        assert!(Reader::new(&[0; 8]).take(usize::MAX).is_err());
        assert!(Reader::starting_at(&[1], 9).u8().is_err());
    }

    #[test]
    fn patching_touches_only_its_bytes() {
        let mut bytes = vec![0; 6];
        bytes.patch_u32(1, 0x0102_0304);
        assert_eq!(bytes, [0, 1, 2, 3, 4, 0]);
        assert_eq!(u16_at(&bytes, 1), Some(0x0102));
        assert_eq!(i32_at(&bytes, 3), None);
    }
}
