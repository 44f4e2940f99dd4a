//! How a VM lays out objects, for sizes that agree with its own.

use hprof_format::binary::{BasicType, IdSize};
use hprof_format::ids::ObjectId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::class_shape::ClassShape;

/// The room that a VM gives to headers and references, in bytes. Objects fill multiples of 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// A reference.
    pub reference: u64,
    /// The header of an object.
    pub object_header: u64,
    /// The header of an array, its length included, up to the first reference or `long`.
    pub array_header: u64,
}

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

const COMPRESSED: Layout = Layout::new(4, 12, 16);
/// 32-bit VMs and Android.
const NARROW: Layout = Layout::new(4, 8, 12);

/// The layouts of HotSpot, by how common they are, with words for them. Where two explain
/// the same arrays, the first is taken.
pub(super) const CANDIDATES: [(Layout, &str); 5] = [
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
];

const fn align8(bytes: u64) -> u64 {
    bytes.saturating_add(7) & !7
}

impl Layout {
    const fn new(reference: u64, object_header: u64, array_header: u64) -> Self {
        Self {
            reference,
            object_header,
            array_header,
        }
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
    pub fn describe(&self) -> &'static str {
        if *self == NARROW {
            return "references of 4 bytes, headers of 8 bytes";
        }
        CANDIDATES
            .iter()
            .find(|(layout, _)| layout == self)
            .map_or("references of 4 bytes", |(_, words)| words)
    }

    /// The size of an array of `length` references.
    pub const fn object_array(&self, length: u64) -> u64 {
        // The first reference is aligned to its own width.
        let header = self.array_header.next_multiple_of(self.reference);
        align8(header.saturating_add(self.reference.saturating_mul(length)))
    }

    /// The size of a primitive array whose elements take `bytes`.
    pub const fn primitive_array(&self, bytes: u64) -> u64 {
        align8(self.array_header.saturating_add(bytes))
    }

    const fn width(&self, basic_type: BasicType) -> u64 {
        match basic_type {
            BasicType::Object => self.reference,
            other => other.width(IdSize::Eight) as u64,
        }
    }
}

/// The sizes of all classes' instances, worked out once each.
#[derive(Debug)]
pub struct Sizes<'a> {
    layout: Layout,
    is_android: bool,
    shapes: &'a FxHashMap<ObjectId, ClassShape>,
    known: FxHashMap<ObjectId, Option<u64>>,
}

/// No class has more super classes than this; in damaged files they may go in circles.
const MAX_HIERARCHY: usize = 256;

impl<'a> Sizes<'a> {
    /// Sizes under a layout. On Android the sizes that the file states are used.
    pub fn new(
        layout: Layout,
        is_android: bool,
        shapes: &'a FxHashMap<ObjectId, ClassShape>,
    ) -> Self {
        Self {
            layout,
            is_android,
            shapes,
            known: FxHashMap::default(),
        }
    }

    /// The size of an instance in bytes; `None` if a class of the hierarchy is not in the dump.
    pub fn instance(&mut self, class: ObjectId) -> Option<u64> {
        if let Some(&size) = self.known.get(&class) {
            return size;
        }
        let size = self.work_out(class);
        self.known.insert(class, size);
        size
    }

    fn work_out(&self, class: ObjectId) -> Option<u64> {
        if self.is_android {
            let stated = u64::from(self.shapes.get(&class)?.instance_size);
            return (stated > 0).then_some(align8(stated));
        }
        let mut hierarchy = Vec::new();
        let mut next = class;
        while !next.is_null() {
            if hierarchy.len() == MAX_HIERARCHY {
                return None;
            }
            let shape = self.shapes.get(&next)?;
            hierarchy.push(shape);
            next = shape.super_class;
        }
        let mut room = Room::new(self.layout.object_header);
        for shape in hierarchy.iter().rev() {
            // HotSpot places the widest fields first (since JDK 15 it also fills the gaps that
            // super classes have left, JDK-8237767).
            let mut widths: Vec<u64> = shape
                .fields
                .iter()
                .map(|&(_, basic_type)| self.layout.width(basic_type))
                .collect();
            widths.sort_unstable_by(|a, b| b.cmp(a));
            widths.iter().for_each(|&width| room.place(width));
        }
        Some(align8(room.end))
    }
}

/// The bytes taken in an object so far.
struct Room {
    end: u64,
    /// Unused ranges below `end`.
    gaps: Vec<(u64, u64)>,
}

impl Room {
    fn new(header: u64) -> Self {
        Self {
            end: header,
            gaps: Vec::new(),
        }
    }

    /// Takes an aligned place of this width, in a gap if one will do.
    fn place(&mut self, width: u64) {
        for index in 0..self.gaps.len() {
            let (from, to) = self.gaps[index];
            let start = from.next_multiple_of(width);
            if start + width <= to {
                self.gaps.swap_remove(index);
                self.leave(from, start);
                self.leave(start + width, to);
                return;
            }
        }
        let start = self.end.next_multiple_of(width);
        self.leave(self.end, start);
        self.end = start + width;
    }

    fn leave(&mut self, from: u64, to: u64) {
        if from < to {
            self.gaps.push((from, to));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use BasicType::{Byte, Int, Long, Object};
    use hprof_format::ids::StringId;

    fn shapes(classes: &[&[BasicType]]) -> FxHashMap<ObjectId, ClassShape> {
        let shape = |(index, fields): (usize, &&[BasicType])| {
            let shape = ClassShape {
                super_class: ObjectId::new(index as u64),
                loader: ObjectId::NULL,
                instance_size: 0,
                fields: fields.iter().map(|&t| (StringId::NULL, t)).collect(),
            };
            (ObjectId::new(index as u64 + 1), shape)
        };
        classes.iter().enumerate().map(shape).collect()
    }

    fn size(layout: Layout, classes: &[&[BasicType]]) -> u64 {
        let shapes = shapes(classes);
        let last = ObjectId::new(classes.len() as u64);
        Sizes::new(layout, false, &shapes).instance(last).unwrap()
    }

    #[test]
    fn sizes_are_those_of_hotspot() {
        // As java.lang.instrument.Instrumentation.getObjectSize tells on JDK 17.
        assert_eq!(size(COMPRESSED, &[&[]]), 16);
        assert_eq!(size(COMPRESSED, &[&[], &[Object, Int, Byte]]), 24);
        assert_eq!(size(COMPRESSED, &[&[], &[Long, Int, Object, Object]]), 32);
        assert_eq!(size(COMPRESSED, &[&[], &[Long, Long]]), 32);
        assert_eq!(size(COMPRESSED, &[&[], &[Byte], &[Byte]]), 16);
        assert_eq!(size(COMPRESSED, &[&[], &[Long], &[Int]]), 24);
        assert_eq!(
            size(Layout::new(8, 16, 24), &[&[], &[Object, Int, Byte]]),
            32
        );
    }

    #[test]
    fn arrays_are_rounded_up() {
        assert_eq!(COMPRESSED.object_array(0), 16);
        assert_eq!(COMPRESSED.object_array(3), 32);
        assert_eq!(COMPRESSED.primitive_array(1), 24);
        assert_eq!(Layout::new(8, 8, 12).object_array(1), 24);
        assert_eq!(COMPRESSED.object_array(u64::MAX), !7);
    }

    #[test]
    fn unknown_and_circular_hierarchies_have_no_size() {
        let mut shapes = shapes(&[&[], &[Int]]);
        let (first, second) = (ObjectId::new(1), ObjectId::new(2));
        shapes.get_mut(&first).unwrap().super_class = second;
        assert_eq!(
            Sizes::new(COMPRESSED, false, &shapes).instance(second),
            None
        );
        shapes.remove(&first);
        assert_eq!(
            Sizes::new(COMPRESSED, false, &shapes).instance(second),
            None
        );
    }
}
