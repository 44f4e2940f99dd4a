//! How a VM lays out objects, for sizes that agree with its own.

use hprof_format::binary::{BasicType, IdSize};
use serde::{Deserialize, Serialize};

use super::hotspot;

/// The room that a VM gives to headers and references, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// A reference.
    pub reference: u64,
    /// The header of an object.
    pub object_header: u64,
    /// The header of an array, its length included, up to the first byte.
    pub array_header: u64,
    /// Objects fill multiples of this: 8, or a greater power of two up to `MAX_ALIGNMENT` with
    /// `-XX:ObjectAlignmentInBytes`, which heaps above 32 GB use to keep references compressed.
    pub alignment: u64,
}

/// The widest alignment of objects that HotSpot knows.
pub const MAX_ALIGNMENT: u64 = 256;

/// Where a layout is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayoutSource {
    /// From the distances between objects.
    Measured,
    /// Assumed from the format alone.
    Assumed,
    /// The file states the sizes of objects (Android).
    Stated,
}

pub(super) const COMPRESSED: Layout = Layout::new(4, 12, 16);
/// 32-bit VMs and Android.
const NARROW: Layout = Layout::new(4, 8, 12);

/// The layouts of HotSpot with objects aligned to 8 bytes, by how common they are, with words for
/// them. Where two explain the same arrays, the first is taken.
pub(super) const CANDIDATES: [(Layout, &str); 8] = [
    (COMPRESSED, "compressed references (4 bytes)"),
    (
        Layout::new(8, 12, 16),
        "references of 8 bytes, compressed class pointers",
    ),
    (
        Layout::new(4, 8, 12),
        "references of 4 bytes, headers of 8 bytes",
    ),
    (
        Layout::new(8, 8, 12),
        "references of 8 bytes, headers of 8 bytes",
    ),
    (
        Layout::new(8, 16, 24),
        "references and class pointers of 8 bytes",
    ),
    // Since JDK 23 elements follow the length at once (JDK-8139457).
    (
        Layout::new(8, 16, 20),
        "references and class pointers of 8 bytes",
    ),
    (
        Layout::new(4, 16, 24),
        "references of 4 bytes, class pointers of 8 bytes",
    ),
    (
        Layout::new(4, 16, 20),
        "references of 4 bytes, class pointers of 8 bytes",
    ),
];

/// The next multiple of `alignment`, a power of two; the last one rather than 0.
pub(super) const fn align(bytes: u64, alignment: u64) -> u64 {
    bytes.saturating_add(alignment - 1) & !(alignment - 1)
}

impl Layout {
    pub(super) const fn new(reference: u64, object_header: u64, array_header: u64) -> Self {
        Self {
            reference,
            object_header,
            array_header,
            alignment: 8,
        }
    }

    /// The layout with objects that fill multiples of `alignment`, a power of two.
    #[must_use]
    pub const fn aligned(self, alignment: u64) -> Self {
        Self { alignment, ..self }
    }

    /// The layout to assume when nothing tells more. In files of the JDK's agent identifiers of
    /// four bytes are running numbers, and say nothing of the VM.
    pub const fn assumed(id_size: IdSize, is_of_agent: bool) -> Self {
        match id_size {
            IdSize::Four if !is_of_agent => NARROW,
            IdSize::Four | IdSize::Eight => COMPRESSED,
        }
    }

    /// The layout in words.
    pub fn describe(&self) -> String {
        let known = (CANDIDATES.iter()).find(|(layout, _)| *layout == self.aligned(8));
        let words = known.map_or("references of 4 bytes", |(_, words)| words);
        match self.alignment {
            8 => words.to_owned(),
            bytes => format!("{words}, objects aligned to {bytes} bytes"),
        }
    }

    /// The size of an array of `length` references.
    pub const fn object_array(&self, length: u64) -> u64 {
        align(self.object_array_end(length), self.alignment)
    }

    /// The size of an instance whose class is not known, from the bytes of its values in the file.
    pub const fn without_class(&self, values: u64) -> u64 {
        align(self.object_header.saturating_add(values), self.alignment)
    }

    /// The size of a virtual thread's stack of N words, in an object whose fields take
    /// `fields` bytes.
    pub const fn stack_chunk(&self, fields: u64, words: u32) -> u64 {
        let stack = hotspot::stack_bytes(words, self.reference);
        align(fields.saturating_add(stack), self.alignment)
    }

    /// Where the last element of an array of `length` references ends.
    pub(super) const fn object_array_end(&self, length: u64) -> u64 {
        // The first reference is aligned to its own width.
        let header = self.array_header.next_multiple_of(self.reference);
        header.saturating_add(self.reference.saturating_mul(length))
    }

    /// The size of a primitive array whose elements take `bytes`.
    pub const fn primitive_array(&self, bytes: u64) -> u64 {
        // Up to 4 bytes before the first `long` make no difference to what is rounded up to 8.
        align(self.array_header.saturating_add(bytes), self.alignment)
    }

    pub(super) const fn width(&self, basic_type: BasicType) -> u64 {
        match basic_type {
            BasicType::Object => self.reference,
            other => other.width(IdSize::Eight) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_rounded_up() {
        assert_eq!(COMPRESSED.object_array(0), 16);
        assert_eq!(COMPRESSED.object_array(3), 32);
        assert_eq!(COMPRESSED.primitive_array(1), 24);
        assert_eq!(Layout::new(8, 8, 12).object_array(1), 24);
        assert_eq!(COMPRESSED.object_array(u64::MAX), !7);
        let wide = COMPRESSED.aligned(32);
        assert_eq!((wide.object_array(4), wide.object_array(5)), (32, 64));
        assert!(wide.describe().ends_with("objects aligned to 32 bytes"));
    }
}
