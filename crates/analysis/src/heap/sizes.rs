//! The sizes of instances, from the fields that a dump tells of their classes.

use hprof_format::binary::BasicType;
use hprof_format::ids::ObjectId;
use rustc_hash::FxHashMap;

use super::class_shape::ClassShape;
use super::hotspot;
use super::layout::{Layout, align};
use super::placement::Placement;
use crate::names::Names;

/// The sizes of all classes' instances, worked out once each.
#[derive(Debug)]
pub struct Sizes<'a> {
    layout: Layout,
    is_android: bool,
    shapes: &'a FxHashMap<ObjectId, ClassShape>,
    known: FxHashMap<ObjectId, Option<u64>>,
    /// Since JDK 15 HotSpot fills the gaps that super classes have left (JDK-8237767).
    fills_gaps: bool,
    /// The sizes of some classes that the dump does not record.
    of_jdk: hotspot::Classes,
    measured: FxHashMap<ObjectId, u64>,
}

/// HotSpot adds no more to any class: two gaps of 128 bytes for `@Contended`, and a few fields.
const MAX_HIDDEN: u64 = 512;

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
        let mut placement = Placement::new(self.layout.object_header);
        for &(class, shape) in hierarchy.iter().rev() {
            self.place(&mut placement, class, shape);
            let size = align(placement.end, self.layout.alignment);
            if let Some(&measured) = self.measured.get(&class)
                && measured > size
                && measured - size <= MAX_HIDDEN
            {
                placement = Placement::new(measured);
            }
        }
        Some(align(placement.end, self.layout.alignment))
    }
}

impl Sizes<'_> {
    /// Places the fields that one class declares.
    fn place(&self, placement: &mut Placement, class: ObjectId, shape: &ClassShape) {
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
            placement.pad();
        }
        self.place_together(placement, types, class);
        if !group.is_empty() {
            placement.pad();
            group.sort_unstable_by_key(|&it| std::cmp::Reverse(self.layout.width(it)));
            for basic_type in group {
                if self.of_jdk.groups_fill_gaps {
                    placement.place(self.layout.width(basic_type));
                    continue;
                }
                // No gap is filled that the first field leaves.
                placement.end = placement
                    .end
                    .next_multiple_of(self.layout.width(basic_type));
                placement.end += self.layout.width(basic_type);
            }
            if not_told.is_contended && !self.fills_gaps {
                placement.pad();
            }
            placement.pad_end();
        } else if not_told.is_contended {
            placement.pad_end();
        }
    }

    fn place_together(&self, placement: &mut Placement, types: Vec<BasicType>, class: ObjectId) {
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
                .for_each(|&it| placement.place(self.layout.width(it)));
        } else {
            let references_first = self.of_jdk.loader == Some(class);
            placement.place_as_before_jdk_15(&types, self.layout.reference, references_first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::COMPRESSED;
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
