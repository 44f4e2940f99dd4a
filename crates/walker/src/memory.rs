//! The memory that a walk reads.

/// Loads of memory that may not be there.
///
/// A walk follows pointers that it finds. The implementation decides which addresses are readable; the walk
/// treats an unreadable one as the end of what can be known.
pub trait Memory {
    /// The `N` bytes at an address; `None` when one of them cannot be read.
    fn bytes<const N: usize>(&self, address: usize) -> Option<[u8; N]>;

    /// The word `offset` bytes above `base`.
    #[inline]
    fn word(&self, base: usize, offset: usize) -> Option<usize> {
        self.bytes(base.checked_add(offset)?)
            .map(usize::from_ne_bytes)
    }

    /// The word `index` words above `base`, or below when negative.
    #[inline]
    fn word_at(&self, base: usize, index: isize) -> Option<usize> {
        let bytes = index.checked_mul(WORD as isize)?;
        self.bytes(base.checked_add_signed(bytes)?)
            .map(usize::from_ne_bytes)
    }

    /// The `int` `offset` bytes above `base`.
    #[inline]
    fn int(&self, base: usize, offset: usize) -> Option<i32> {
        self.bytes(base.checked_add(offset)?)
            .map(i32::from_ne_bytes)
    }

    /// The unsigned 16-bit number `offset` bytes above `base`.
    #[inline]
    fn short(&self, base: usize, offset: usize) -> Option<u16> {
        self.bytes(base.checked_add(offset)?)
            .map(u16::from_ne_bytes)
    }

    /// The byte `offset` bytes above `base`.
    #[inline]
    fn byte(&self, base: usize, offset: usize) -> Option<u8> {
        self.bytes(base.checked_add(offset)?).map(|[byte]| byte)
    }
}

/// Bytes of a word of the machine.
pub(crate) const WORD: usize = size_of::<usize>();
