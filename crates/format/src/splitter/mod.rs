//! Follows a profile as it comes in, and knows at any moment where it may end.
//!
//! The readers of this crate ([`reader`](crate::reader), [`text`](crate::text)) show what a profile
//! holds; for that they need each record in memory. Code that only passes a profile on, from a socket to a file, needs
//! less: where records begin and end, their first bytes, and, when the sender dies in the middle, how to make a valid
//! file of what has come ([`Cut`]). A splitter takes pieces of any size and keeps a few kilobytes, whatever lengths the
//! sender states.

mod binary;
mod sub_record;
mod text;

pub use binary::{BinaryPart, BinarySplitter};
pub use text::{Section, TextPart, TextSplitter};

/// How to make a whole file of one that ends too early: keep its beginning, mend a length in it,
/// append something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The bytes to keep.
    pub keep: u64,
    /// The bytes to overwrite.
    pub patch: Option<Patch>,
    /// The bytes to append then.
    pub append: Vec<u8>,
}

/// A length to overwrite with the one that it has become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patch {
    /// The offset of the field, of four bytes.
    pub at: u64,
    /// Its new value, to be written big-endian.
    pub length: u32,
}
