//! Memory that tests make.

use crate::Memory;

/// Pieces of memory at chosen addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeMemory {
    pieces: Vec<(usize, Vec<u8>)>,
}

impl FakeMemory {
    /// Adds a piece.
    pub(crate) fn add(&mut self, address: usize, bytes: Vec<u8>) {
        self.pieces.push((address, bytes));
    }
}

impl Memory for FakeMemory {
    fn bytes<const N: usize>(&self, address: usize) -> Option<[u8; N]> {
        self.pieces.iter().find_map(|(start, bytes)| {
            let offset = address.checked_sub(*start)?;
            bytes.get(offset..offset.checked_add(N)?)?.try_into().ok()
        })
    }
}
