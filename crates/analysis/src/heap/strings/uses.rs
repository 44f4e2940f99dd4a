//! The first walk over a dump: which arrays strings use.

use hprof_format::binary::SubRecord;
use hprof_format::ids::ObjectId;

use super::{StringClass, StringCount, StringSource};
use crate::heap::layout::Layout;
use crate::heap::objects::number;
use crate::parallel;

/// A string's use of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Use {
    pub array: ObjectId,
    /// Units before the first and units in all.
    pub part: Option<(u32, u32)>,
    pub is_utf16: bool,
    /// The index of the string's class.
    pub class: u8,
}

/// The first walk over a dump: which arrays strings use.
pub(crate) struct StringUses {
    layout: Layout,
    id_bytes: usize,
    classes: Vec<StringClass>,
}

/// The uses that one thread has seen, and the number of strings without an array.
#[derive(Default)]
pub(crate) struct SeenUses(Vec<Use>, u64);

impl StringUses {
    pub(crate) fn new(heap: &impl StringSource) -> Self {
        Self {
            layout: heap.layout(),
            id_bytes: heap.id_bytes(),
            classes: heap.string_classes(),
        }
    }

    /// Looks at a sub-record of the dump.
    pub(crate) fn see(&self, SeenUses(uses, without): &mut SeenUses, sub_record: &SubRecord<'_>) {
        let SubRecord::Instance { class, values, .. } = sub_record else {
            return;
        };
        let mut known = self.classes.iter().zip(0..);
        let Some((string, index)) = known.find(|(string, _)| string.class == *class) else {
            return;
        };
        let int = |at: usize| values.get(at..at + 4).map(|bytes| number(bytes) as u32);
        let reference = values.get(string.value..string.value + self.id_bytes);
        match reference.map(number) {
            Some(array) if array != 0 => {
                let coder = string.coder.and_then(|at| values.get(at));
                let part = string
                    .part
                    .and_then(|(offset, count)| Some((int(offset)?, int(count)?)));
                uses.push(Use {
                    array: ObjectId::new(array),
                    part,
                    is_utf16: coder.is_some_and(|&coder| coder == 1),
                    class: index,
                });
            }
            _ => *without += 1,
        }
    }

    /// Prepares the second walk by the results of the first one.
    pub(crate) fn counting(self, parts: Vec<SeenUses>) -> StringCount<'static> {
        let without_array = parts.iter().map(|SeenUses(_, without)| without).sum();
        let mut parts = parts.into_iter().map(|SeenUses(uses, _)| uses);
        let mut uses = parts.next().unwrap_or_default();
        parts.for_each(|more| uses.extend(more));
        parallel::sort(&mut uses);
        StringCount::new(self.layout, self.classes, uses, without_array)
    }
}
