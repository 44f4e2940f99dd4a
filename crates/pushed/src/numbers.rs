//! Numbers of variable length, as segments have them: seven bits in each byte, the lowest first.

use std::io;

/// Writes a number.
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Numbers one after the other.
pub(super) struct Numbers<'a>(pub &'a [u8]);

impl Numbers<'_> {
    /// The next number.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn next(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or_else(damaged)?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged())
    }

    /// The next number, of 32 bits.
    ///
    /// # Errors
    /// If there is none, or it is larger.
    pub(super) fn small(&mut self) -> io::Result<u32> {
        u32::try_from(self.next()?).map_err(|_| damaged())
    }
}

/// The error of bytes that make no sense.
pub(super) fn damaged() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "a segment of pushed profiles is damaged",
    )
}
