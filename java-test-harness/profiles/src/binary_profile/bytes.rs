//! Takes big-endian numbers off the front of some bytes.

/// The bytes that are left to read.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    /// The next bytes.
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or("ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next byte.
    pub(crate) fn u1(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    /// The next two bytes.
    pub(crate) fn u2(&mut self) -> Result<u16, String> {
        Ok((u16::from(self.u1()?) << 8) | u16::from(self.u1()?))
    }

    /// The next four bytes.
    pub(crate) fn u4(&mut self) -> Result<u32, String> {
        Ok((u32::from(self.u2()?) << 16) | u32::from(self.u2()?))
    }
}
