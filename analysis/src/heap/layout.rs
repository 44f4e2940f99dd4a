//! How a VM lays out objects, for sizes that agree with its own.

use hprof_format::binary::{BasicType, IdSize};
use hprof_format::ids::ObjectId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::class_shape::ClassShape;
use crate::names::Names;

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
    /// Since JDK 15 HotSpot fills the gaps that super classes have left (JDK-8237767).
    fills_gaps: bool,
    /// Fields that HotSpot adds to classes without dumping them (`javaClasses.hpp`).
    hidden: FxHashMap<ObjectId, &'static [BasicType]>,
    /// `java.lang.ClassLoader`.
    loader: Option<ObjectId>,
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
            hidden: FxHashMap::default(),
            loader: None,
            measured: FxHashMap::default(),
        }
    }

    /// Tells the version of HotSpot from its classes: `java.lang.Class` has had a field `classData`
    /// since JDK 15 (JEP 371), in which the order of fields changed.
    #[must_use]
    pub fn of_vm(mut self, names: &Names) -> Self {
        const POINTER: BasicType = BasicType::Long;
        let mut internal_error = None;
        let all = self.shapes.iter();
        for (&class, shape) in all.filter(|(_, shape)| shape.loader.is_null()) {
            let is_named = |wanted| names.class_is(class, wanted);
            let has = |wanted| {
                let mut fields = shape.fields.iter();
                fields.any(|&(field, _)| names.string_is(field, wanted))
            };
            if is_named("java/lang/Class") {
                self.fills_gaps = has("classData") || !has("cachedConstructor");
            } else if is_named("java/lang/ClassLoader") {
                self.loader = Some(class);
                self.hidden.insert(class, &[POINTER]);
            } else if is_named("java/lang/InternalError") {
                internal_error = Some(class);
            } else if is_named("java/lang/Thread") && has("holder") {
                // Since there are virtual threads (JEP 425); that of InternalError came with them.
                use BasicType::{Boolean, Int, Short};
                self.hidden.insert(class, &[POINTER, Int, Boolean, Short]);
            }
        }
        if let Some(class) = internal_error
            && self.hidden.values().any(|types| types.len() > 1)
        {
            self.hidden.insert(class, &[BasicType::Boolean]);
        }
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
            return (stated > 0).then_some(align8(stated));
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
            let mut types: Vec<BasicType> = shape.fields.iter().map(|&(_, it)| it).collect();
            let hidden = self.hidden.get(&class).copied().unwrap_or_default();
            types.extend(hidden);
            if self.fills_gaps {
                let mut widths: Vec<u64> = types.iter().map(|&it| self.layout.width(it)).collect();
                widths.sort_unstable_by(|a, b| b.cmp(a));
                widths.iter().for_each(|&width| room.place(width));
            } else {
                room.place_as_before_jdk_15(
                    &types,
                    self.layout.reference,
                    self.loader == Some(class),
                );
            }
            let size = align8(room.end);
            if let Some(&measured) = self.measured.get(&class)
                && measured > size
                && measured - size <= MOST_HIDDEN
            {
                room = Room::new(measured);
            }
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
