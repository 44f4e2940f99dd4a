//! Parts of a dump that tools on phones leave out.

use hprof_format::binary::BasicType;

use crate::contents::{Contents, Dump};
use crate::snapshot::Snapshot;

/// The number by which ART marks the heap of the program itself.
const APP_HEAP: u64 = b'A' as u64;
/// The objects without which a dump, made by hand perhaps, tells nothing by what it lacks. The VM alone
/// has more before a program begins.
const MIN_OBJECTS: u64 = 1000;

/// Parts of an Android dump that are not in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The elements of primitive arrays, for which zeros stand, as KOOM leaves them out.
    pub elements: bool,
    /// Primitive arrays but texts, as in the files that Matrix shrinks.
    pub arrays: bool,
    /// The objects of the zygote and image heaps, as KOOM leaves them out.
    pub system_heaps: bool,
}

impl LeftOut {
    /// Tells by the counts of objects alone, so that a small dump lacks nothing.
    pub fn of_dump(contents: &Contents, dump: &Dump) -> Self {
        let census = &dump.census;
        let elements = contents.lacks_elements;
        let objects = census.objects();
        if !contents.is_android() || objects < MIN_OBJECTS {
            return Self {
                elements,
                ..Self::default()
            };
        }
        let is_text = |element| matches!(element, BasicType::Byte | BasicType::Char);
        let of_app = (census.heaps.iter()).filter(|heap| u64::from(heap.heap) == APP_HEAP);
        Self {
            elements,
            arrays: census
                .primitive_arrays()
                .all(|(element, _)| is_text(element)),
            system_heaps: of_app.map(|heap| heap.objects).sum::<u64>() == objects,
        }
    }

    /// Tells by the objects that are referred to and missing.
    pub fn of_snapshot(snapshot: &Snapshot) -> Self {
        let graph = snapshot.graph();
        let gaps = graph.gaps();
        let mut blocks = graph.blocks().iter().filter(|block| block.objects > 0);
        Self {
            elements: snapshot.contents().lacks_elements,
            arrays: gaps.lacks_arrays,
            system_heaps: gaps.missing_objects > 0
                && snapshot.contents().format.is_android()
                && blocks.all(|block| block.heap == APP_HEAP),
        }
    }
}
