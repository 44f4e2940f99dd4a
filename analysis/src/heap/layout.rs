//! How a VM lays out objects, for sizes that agree with its own.

use hprof_format::binary::{BasicType, IdSize};
use hprof_format::ids::ObjectId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::class_shape::ClassShape;
use super::hotspot;
use crate::names::Names;

/// The room that a VM gives to headers and references, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// A reference.
    pub reference: u64,
    /// The header of an object.
    pub object_header: u64,
    /// The header of an array, its length included, up to the first byte.
    pub array_header: u64,
    /// Objects fill multiples of this: 8, or a greater power of two up to `MOST_ALIGNMENT` with
    /// `-XX:ObjectAlignmentInBytes`, which heaps above 32 GB use to keep references compressed.
    pub alignment: u64,
}

/// The widest alignment of objects that HotSpot knows.
pub const MOST_ALIGNMENT: u64 = 256;

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
const fn align(bytes: u64, alignment: u64) -> u64 {
    bytes.saturating_add(alignment - 1) & !(alignment - 1)
}

impl Layout {
    const fn new(reference: u64, object_header: u64, array_header: u64) -> Self {
        Self {
            reference,
            object_header,
            array_header,
            alignment: 8,
        }
    }

    /// The same with objects that fill multiples of `alignment`, a power of two.
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

    /// The size of a virtual thread's stack of so many words, in an object whose fields take
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
    /// Since JDK 15 HotSpot fills the gaps that super classes have left (JDK-8237767).
    fills_gaps: bool,
    /// What the dump does not tell of some classes.
    of_jdk: hotspot::Classes,
    measured: FxHashMap<ObjectId, u64>,
}

/// HotSpot adds no more to any class: two gaps of 128 bytes for `@Contended`, and a few fields.
const MOST_HIDDEN: u64 = 512;

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
            fills_gaps: true,
            of_jdk: hotspot::Classes::default(),
            measured: FxHashMap::default(),
        }
    }

    /// Tells the version of HotSpot from its classes: `java.lang.Class` has had a field `classData`
    /// since JDK 15 (JEP 371), in which the order of fields changed.
    #[must_use]
    pub fn of_vm(mut self, names: &Names) -> Self {
        for (&class, shape) in self.shapes.iter().filter(|it| it.1.loader.is_null()) {
            if names.class_is(class, "java/lang/Class") {
                let has = |wanted| {
                    let mut fields = shape.fields.iter();
                    fields.any(|&(field, _)| names.string_is(field, wanted))
                };
                self.fills_gaps = has("classData") || !has("cachedConstructor");
            }
        }
        self.of_jdk = hotspot::classes(self.shapes, names, self.fills_gaps);
        self
    }

    /// Takes sizes that were measured, where they are larger than the fields that are known
    /// explain.
    #[must_use]
    pub fn measured(mut self, sizes: FxHashMap<ObjectId, u64>) -> Self {
        self.measured = sizes;
        self
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
            return (stated > 0).then_some(align(stated, 8));
        }
        let mut hierarchy = Vec::new();
        let mut next = class;
        while !next.is_null() {
            if hierarchy.len() == MAX_HIERARCHY {
                return None;
            }
            let shape = self.shapes.get(&next)?;
            hierarchy.push((next, shape));
            next = shape.super_class;
        }
        let mut room = Room::new(self.layout.object_header);
        for &(class, shape) in hierarchy.iter().rev() {
            self.place(&mut room, class, shape);
            let size = align(room.end, self.layout.alignment);
            if let Some(&measured) = self.measured.get(&class)
                && measured > size
                && measured - size <= MOST_HIDDEN
            {
                room = Room::new(measured);
            }
        }
        Some(align(room.end, self.layout.alignment))
    }
}

impl Sizes<'_> {
    /// Places the fields that one class declares.
    fn place(&self, room: &mut Room, class: ObjectId, shape: &ClassShape) {
        let nothing = hotspot::NotTold::default();
        let not_told = self.of_jdk.not_told.get(&class).unwrap_or(&nothing);
        let mut types = not_told.fields.to_vec();
        let mut group = Vec::new();
        for (index, &(_, basic_type)) in shape.fields.iter().enumerate() {
            match not_told.is_in_group.get(index) {
                Some(true) => group.push(basic_type),
                _ => types.push(basic_type),
            }
        }
        if not_told.is_contended {
            room.pad();
        }
        self.place_together(room, types, class);
        if !group.is_empty() {
            room.pad();
            // No gap is filled that the first field leaves.
            group.sort_unstable_by_key(|&it| std::cmp::Reverse(self.layout.width(it)));
            for basic_type in group {
                room.end = room.end.next_multiple_of(self.layout.width(basic_type));
                room.end += self.layout.width(basic_type);
            }
            if not_told.is_contended && !self.fills_gaps {
                room.pad();
            }
            room.pad_end();
        } else if not_told.is_contended {
            room.pad_end();
        }
    }

    fn place_together(&self, room: &mut Room, types: Vec<BasicType>, class: ObjectId) {
        if self.fills_gaps {
            // As `FieldLayout::add` does: wide fields, then those narrower than a reference, then
            // references.
            let rank = |basic_type: BasicType| match self.layout.width(basic_type) {
                _ if basic_type == BasicType::Object => 2,
                width if width < self.layout.reference => 1,
                _ => 0,
            };
            let mut types = types;
            types.sort_by_key(|&it| (rank(it), std::cmp::Reverse(self.layout.width(it))));
            types
                .iter()
                .for_each(|&it| room.place(self.layout.width(it)));
        } else {
            let references_first = self.of_jdk.loader == Some(class);
            room.place_as_before_jdk_15(&types, self.layout.reference, references_first);
        }
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

    /// Leaves the room that keeps contended fields apart from others.
    fn pad(&mut self) {
        self.end += hotspot::PADDING;
        self.gaps.clear();
    }

    /// Leaves the room behind contended fields; sub-classes begin at the next word.
    fn pad_end(&mut self) {
        self.pad();
        self.end = align(self.end, 8);
    }

    /// Takes an aligned place of this width, in the smallest gap that will do, if any.
    fn place(&mut self, width: u64) {
        let fits = |&(from, to): &(u64, u64)| from.next_multiple_of(width) + width <= to;
        let fitting = (self.gaps.iter().enumerate()).filter(|(_, gap)| fits(gap));
        if let Some((index, _)) = fitting.min_by_key(|&(_, &(from, to))| to - from) {
            let (from, to) = self.gaps.swap_remove(index);
            let start = from.next_multiple_of(width);
            self.leave(from, start);
            self.leave(start + width, to);
            return;
        }
        let start = self.end.next_multiple_of(width);
        self.leave(self.end, start);
        self.end = start + width;
    }

    /// Places the fields of one class as HotSpot did up to JDK 14 (`ClassFileParser::layout_fields`
    /// with its defaults): behind those of the super class, the widest first and references last;
    /// only the gap before the first `long` is filled, by one `int`, else shorter fields, else one
    /// reference. Of classes whose fields the VM itself knew, references came first, and no gap was
    /// filled.
    fn place_as_before_jdk_15(
        &mut self,
        types: &[BasicType],
        reference: u64,
        references_first: bool,
    ) {
        let count = |width: u64| {
            let has_width = |it: &&BasicType| {
                **it != BasicType::Object && it.width(IdSize::Eight) as u64 == width
            };
            types.iter().filter(has_width).count() as u64
        };
        let [longs, mut ints, mut shorts, mut bytes] = [8, 4, 2, 1].map(count);
        let mut references = types.len() as u64 - longs - ints - shorts - bytes;
        let mut at = self.end.next_multiple_of(reference);
        if references_first {
            at += reference * references;
            references = 0;
        }
        if longs > 0 {
            let mut gap = at.next_multiple_of(8) - at;
            at += gap + 8 * longs;
            if references_first {
                gap = 0;
            }
            for (width, left) in [(4, &mut ints), (2, &mut shorts), (1, &mut bytes)] {
                let fitting = (gap / width).min(*left);
                gap -= width * fitting;
                *left -= fitting;
            }
            if gap >= reference && references > 0 {
                references -= 1;
            }
        }
        at += 4 * ints + 2 * shorts + bytes;
        at = at.next_multiple_of(reference) + reference * references;
        self.end = at;
        self.gaps.clear();
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
    fn before_jdk_15_gaps_of_super_classes_stay() {
        let old = |classes: &[&[BasicType]]| {
            let shapes = shapes(classes);
            let last = ObjectId::new(classes.len() as u64);
            let mut sizes = Sizes::new(COMPRESSED, false, &shapes);
            sizes.fills_gaps = false;
            sizes.instance(last).unwrap()
        };
        assert_eq!(old(&[&[], &[Object, Int, Byte]]), 24);
        assert_eq!(old(&[&[], &[Byte], &[Byte]]), 24);
        assert_eq!(old(&[&[], &[Long], &[Int]]), 32);
        assert_eq!(old(&[&[], &[Long, Object]]), 24);
        assert_eq!(old(&[&[], &[Long, Byte, Byte, Object]]), 32);
        assert_eq!(old(&[&[], &[Object; 4], &[Long], &[Object]]), 48);
    }

    #[test]
    fn what_was_measured_counts_for_sub_classes_too() {
        let shapes = shapes(&[&[], &[Int], &[Byte]]);
        let size = |measured: u64| {
            let (class, kid) = (ObjectId::new(2), ObjectId::new(3));
            let mut sizes = Sizes::new(COMPRESSED, false, &shapes)
                .measured([(class, measured)].into_iter().collect());
            (sizes.instance(class).unwrap(), sizes.instance(kid).unwrap())
        };
        assert_eq!(size(272), (272, 280));
        // Less than the fields take, or far more, is no measure.
        assert_eq!(size(8), (16, 24));
        assert_eq!(size(4096), (16, 24));
    }

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
