//! Compressed unsigned numbers of HotSpot's debug information (`UNSIGNED5`, `compressedStream.hpp`,
//! `unsigned5.hpp`).
//!
//! A number has one to five bytes. A byte below 192 is the last one; byte `i` counts `64^i`-fold. Releases
//! that keep zero bytes out of the data add 1 to each.

use crate::Memory;

/// The first value of a byte that another one follows.
const FIRST_CONTINUED: u8 = 192;
/// Bytes of a number.
const MAX_BYTES: u32 = 5;
/// Bits that each byte is shifted further than the one before.
const BITS: u32 = 6;

/// Reads numbers one after the other.
pub(crate) struct Numbers<'a, M> {
    memory: &'a M,
    address: usize,
    excluded: u8,
}

impl<'a, M: Memory> Numbers<'a, M> {
    pub(crate) fn new(memory: &'a M, address: usize, excluded: u8) -> Self {
        Self {
            memory,
            address,
            excluded,
        }
    }

    pub(crate) fn next(&mut self) -> Option<u32> {
        let mut number = 0u32;
        for place in 0..MAX_BYTES {
            let byte = self.memory.byte(self.address, 0)?;
            self.address = self.address.checked_add(1)?;
            let digit = u32::from(byte.checked_sub(self.excluded)?);
            number = number.wrapping_add(digit.wrapping_shl(place.wrapping_mul(BITS)));
            if byte < FIRST_CONTINUED {
                break;
            }
        }
        Some(number)
    }
}
