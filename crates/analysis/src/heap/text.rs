//! The characters of strings, in all encodings that VMs have had.

use std::hash::Hasher;

use hprof_format::binary::BasicType;
use siphasher::sip128::{Hasher128, SipHasher13};

/// The contents are distinguished by 128 bits of hash, so that they need not be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(u64, u64);

impl Key {
    /// One of `2^bits` shards, each with about as many contents.
    pub fn shard(self, bits: u32) -> usize {
        (self.0 >> (64 - bits)) as usize
    }
}

/// The characters of a string.
pub(crate) enum Text<'a> {
    /// A byte for each.
    Latin1(&'a [u8]),
    /// Two bytes for each UTF-16 unit.
    Utf16 {
        /// All units.
        units: &'a [u8],
        /// The order of the bytes.
        is_big_endian: bool,
    },
}

impl<'a> Text<'a> {
    /// The characters in the array of a string. `is_utf16` comes from the string's field `coder`,
    /// and `part` is the part of the array that it uses: units before the first, and units in all.
    /// `None` if the array has no such part, or holds no characters.
    pub fn of(
        element: BasicType,
        is_utf16: bool,
        part: Option<(u32, u32)>,
        values: &'a [u8],
    ) -> Option<Self> {
        let slice = |width: usize| match part {
            None => Some(values),
            Some((offset, count)) => {
                let start = width.checked_mul(offset as usize)?;
                values.get(start..start.checked_add(width.checked_mul(count as usize)?)?)
            }
        };
        match element {
            BasicType::Char => Some(Self::Utf16 {
                units: slice(2)?,
                is_big_endian: true,
            }),
            // The byte order is that of the VM, which the file does not record. Every current VM is
            // little-endian.
            BasicType::Byte if is_utf16 => Some(Self::Utf16 {
                units: slice(2)?,
                is_big_endian: false,
            }),
            BasicType::Byte => Some(Self::Latin1(slice(1)?)),
            _ => None,
        }
    }

    fn units(&self) -> impl Iterator<Item = u16> + '_ {
        let (bytes, width, is_big_endian) = match *self {
            Self::Latin1(bytes) => (bytes, 1, true),
            Self::Utf16 {
                units,
                is_big_endian,
            } => (units, 2, is_big_endian),
        };
        bytes.chunks_exact(width).map(move |unit| match *unit {
            [low] => u16::from(low),
            [first, second] if is_big_endian => u16::from_be_bytes([first, second]),
            [first, second] => u16::from_le_bytes([first, second]),
            _ => 0,
        })
    }

    /// The number of UTF-16 units.
    pub fn length(&self) -> u64 {
        match self {
            Self::Latin1(bytes) => bytes.len() as u64,
            Self::Utf16 { units, .. } => units.len() as u64 / 2,
        }
    }

    /// True if there are several units and all are equal.
    pub fn is_uniform(&self) -> bool {
        let mut units = self.units();
        let first = units.next();
        first.is_some() && units.all(|unit| Some(unit) == first)
    }

    /// Equal for equal texts, whatever their encoding.
    pub fn key(&self) -> Key {
        let mut hasher = SipHasher13::new();
        let is_narrow = self.is_narrow();
        hasher.write_u8(u8::from(is_narrow));
        match self {
            Self::Latin1(bytes) => hasher.write(bytes),
            Self::Utf16 { .. } => {
                let mut block = Vec::with_capacity(512);
                for unit in self.units() {
                    match is_narrow {
                        true => block.push(unit as u8),
                        false => block.extend_from_slice(&unit.to_le_bytes()),
                    }
                    if block.len() == 512 {
                        hasher.write(&block);
                        block.clear();
                    }
                }
                hasher.write(&block);
            }
        }
        let hash = hasher.finish128();
        Key(hash.h1, hash.h2)
    }

    /// True if one byte would do for each unit.
    pub fn is_narrow(&self) -> bool {
        matches!(self, Self::Latin1(_)) || self.units().all(|unit| unit < 256)
    }

    /// The number of characters, a pair of surrogates as one.
    pub fn characters(&self) -> u64 {
        match self {
            Self::Latin1(bytes) => bytes.len() as u64,
            Self::Utf16 { .. } => char::decode_utf16(self.units()).count() as u64,
        }
    }

    /// Decodes the first `characters` characters. A replacement character stands for an unpaired surrogate.
    pub fn decode(&self, characters: usize) -> String {
        char::decode_utf16(self.units())
            .take(characters)
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect()
    }
}

#[cfg(test)]
mod tests;
